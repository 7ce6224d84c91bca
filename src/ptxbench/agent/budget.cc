#include "ptxbench/agent/budget.h"

#include <algorithm>

namespace ptxbench::agent {

std::int64_t token_bound(std::size_t bytes, std::size_t messages) {
  constexpr std::size_t kTemplateTokens = 16;
  return static_cast<std::int64_t>(bytes + kTemplateTokens * messages);
}

std::optional<double> cost_bound(const ModelConfig& model, std::int64_t input_tokens) {
  if (!model.prices.input || !model.prices.output || !model.max_output_tokens) return std::nullopt;
  if (model.context_tokens) input_tokens = std::min(input_tokens, *model.context_tokens);
  if (model.prices.up_to_input_tokens && input_tokens > *model.prices.up_to_input_tokens) return std::nullopt;
  const double input_price = std::max(*model.prices.input, model.prices.cache_write.value_or(0));
  const double once = (static_cast<double>(input_tokens) * input_price +
                       static_cast<double>(*model.max_output_tokens) * *model.prices.output) /
                      1e6;
  return once * (1 + model.retry.paid_repeats);
}

bool Budget::reserve(double bound, std::stop_token stop) {
  std::unique_lock lock(mutex_);
  if (limit_) {
    const auto decided = [&] {
      return spent_ + reserved_ + bound <= *limit_ || in_flight_ == 0 || spent_ + bound > *limit_;
    };
    if (!returned_.wait(lock, stop, decided)) return false;
    if (spent_ + reserved_ + bound > *limit_) return false;
  }
  reserved_ += bound;
  ++in_flight_;
  return true;
}

void Budget::settle(double bound, double actual) {
  const std::lock_guard lock(mutex_);
  reserved_ = --in_flight_ == 0 ? 0.0 : reserved_ - bound;
  spent_ += actual;
  returned_.notify_all();
}

double Budget::spent() const {
  const std::lock_guard lock(mutex_);
  return spent_;
}

}  // namespace ptxbench::agent
