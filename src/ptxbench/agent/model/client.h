// Asking a language model: one request, one reply with a typed outcome. How it went over the network, what it cost
// and what was tried before is part of the reply; nothing here throws, and nothing holds a key.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <stop_token>
#include <string>
#include <string_view>
#include <vector>

#include "ptxbench/agent/model/config.h"
#include "ptxbench/base/result.h"

namespace ptxbench::agent {

enum class Role { kSystem, kUser, kAssistant };
std::string_view to_string(Role role);

struct Message {
  Role role = Role::kUser;
  std::string text;  // UTF-8, not empty
};

// How a call ended. kAnswer to kEmpty are the model's doing (is_turn()): they make a turn. The others are not, and
// the turn is still to be had.
enum class Outcome {
  kAnswer,           // finished by itself
  kTruncated,        // stopped at the limit of output tokens; what came is in text
  kRefusal,          // the model declined
  kContentFilter,    // the provider's filter stopped prompt or answer
  kContextOverflow,  // the messages do not fit the model's context
  kEmpty,            // finished without a word of answer (it may have reasoned)

  kAuthentication,     // key missing, wrong or without the right; no attempt can help
  kQuota,              // the account has no money or monthly quota left
  kRateLimited,        // still told to wait when attempts or time were used up
  kRefusedRequest,     // the server refuses this request: unknown model, wrong parameter, redirect
  kServerError,        // 5xx, or an error event inside the stream
  kTransport,          // no connection, TLS failure, or the stream was cut
  kMalformed,          // the server answered something that is not its protocol
  kTimeoutConnect,     // TimeLimits, by name
  kTimeoutFirstToken,  //
  kTimeoutSilence,     //
  kTimeoutTotal,       //
  kCancelled,          // ModelRequest::cancel
};
std::string_view to_string(Outcome outcome);  // "answer", "truncated", ... "timeout_first_token"
std::optional<Outcome> outcome_from_text(std::string_view text);

constexpr bool is_turn(Outcome outcome) { return outcome <= Outcome::kEmpty; }
// The same call may work later (pause the model's queue); the other non-turns need somebody to change something.
bool may_pass_later(Outcome outcome);

// Tokens as the provider counted them; absent when it did not say.
struct Usage {
  std::optional<std::int64_t> input;         // all of the prompt, cached part included
  std::optional<std::int64_t> cached_input;  // part of input read from the provider's cache
  std::optional<std::int64_t> cache_write;   // part of input written to it at a price of its own
  std::optional<std::int64_t> output;        // reasoning included
  std::optional<std::int64_t> reasoning;     // part of output
};

// Dollars, or none when a token count or price that it needs is unknown.
std::optional<double> cost_of(const Usage& usage, const Prices& prices);

// One HTTP exchange.
struct Attempt {
  Outcome outcome = Outcome::kTransport;
  int http_status = 0;     // 0: no answer
  std::string detail;      // for people: what the server or the network said, key removed, <= 2000 bytes
  std::string request_id;  // the provider's, for its support
  std::int64_t started_unix_ms = 0;
  double duration_s = 0;
  std::optional<double> retry_after_s;  // what the server asked for
  double wait_s = 0;                    // waited after it, before the next one
  std::uint64_t received_bytes = 0;
  bool may_be_charged = false;  // accepted by the provider, and lost before its usage was known
};

// Seconds from the start of the last attempt; absent when it did not get that far.
struct Timings {
  std::optional<double> connected_s, first_byte_s, first_token_s;
  double total_s = 0;  // the whole call
};

struct ModelReply {
  Outcome outcome = Outcome::kTransport;
  std::string detail;                // why, in one sentence; empty for kAnswer
  std::string text;                  // the answer, valid UTF-8; partial where the outcome says so
  std::string reasoning_text;        // as far as the provider shows it
  std::string finish_reason;         // the provider's own word
  std::string served_model;          // the model that the server says answered
  Usage usage;                       // of the last attempt
  std::optional<double> cost_usd;    // of the last attempt: the provider's own figure, else from ModelConfig::prices
  bool cost_is_lower_bound = false;  // an attempt that brought no whole answer may have been charged as well
  std::uint64_t repaired_bytes = 0;  // bytes that were not UTF-8 and stand as U+FFFD in the texts
  Timings timings;
  std::vector<Attempt> attempts;
};

struct ModelRequest {
  std::vector<Message> messages;  // at most one system message, first
  // Ends the call at once with kCancelled, also between attempts. A request_stop() from any thread will do.
  std::stop_token cancel;
};

class ModelClient {
 public:
  virtual ~ModelClient() = default;
  // Blocks without using the processor. May be called from many threads at once: all clients share one connection pool
  // and one thread for the network.
  virtual ModelReply complete(const ModelRequest& request) = 0;
};

// A client for the model. Takes the key from the environment now; kUnavailable, naming the variable, when it is not
// there; kUnsupported for Api::kReplay.
Result<std::unique_ptr<ModelClient>> make_client(const ModelConfig& config);

}  // namespace ptxbench::agent
