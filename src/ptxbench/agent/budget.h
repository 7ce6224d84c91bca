// Money: a run never spends more than its limit, because the upper bound of a request's cost is set aside before it is
// sent and given back when the true cost is known.
#pragma once

#include <condition_variable>
#include <cstdint>
#include <mutex>
#include <optional>
#include <stop_token>

#include "ptxbench/agent/model/config.h"

namespace ptxbench::agent {

// The most that one request can cost, repetitions of lost answers included: every byte of the messages a token, the
// whole limit of output tokens used. None when the model has no prices or no output
// limit, or the messages may be longer than its prices hold for.
std::optional<double> cost_bound(const ModelConfig& model, std::int64_t input_tokens);

// Tokens that a request's messages have at most: a token is at least one byte; the provider's template adds some per
// message.
std::int64_t token_bound(std::size_t bytes, std::size_t messages);

class Budget {
 public:
  // spent: what the run has cost so far, requests that were lost counted in full.
  Budget(std::optional<double> limit, double spent) : limit_(limit), spent_(spent) {}

  // Waits while requests in flight hold what is missing. False: it would go over the limit, or stop was requested.
  bool reserve(double bound, std::stop_token stop);
  void settle(double bound, double actual);

  bool limited() const { return limit_.has_value(); }
  double spent() const;

 private:
  std::optional<double> limit_;
  mutable std::mutex mutex_;
  std::condition_variable_any returned_;
  double spent_ = 0, reserved_ = 0;
  int in_flight_ = 0;
};

}  // namespace ptxbench::agent
