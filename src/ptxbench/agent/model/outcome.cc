#include <utility>

#include "ptxbench/agent/model/client.h"
#include "ptxbench/schema/enum_text.h"

namespace ptxbench::agent {
namespace {

constexpr std::pair<Outcome, std::string_view> kOutcomes[] = {
    {Outcome::kAnswer, "answer"},
    {Outcome::kTruncated, "truncated"},
    {Outcome::kRefusal, "refusal"},
    {Outcome::kContentFilter, "content_filter"},
    {Outcome::kContextOverflow, "context_overflow"},
    {Outcome::kEmpty, "empty"},
    {Outcome::kAuthentication, "authentication"},
    {Outcome::kQuota, "quota"},
    {Outcome::kRateLimited, "rate_limited"},
    {Outcome::kRefusedRequest, "refused_request"},
    {Outcome::kServerError, "server_error"},
    {Outcome::kTransport, "transport"},
    {Outcome::kMalformed, "malformed"},
    {Outcome::kTimeoutConnect, "timeout_connect"},
    {Outcome::kTimeoutFirstToken, "timeout_first_token"},
    {Outcome::kTimeoutSilence, "timeout_silence"},
    {Outcome::kTimeoutTotal, "timeout_total"},
    {Outcome::kCancelled, "cancelled"},
};

constexpr std::pair<Api, std::string_view> kApis[] = {
    {Api::kOpenAi, "openai"}, {Api::kAnthropic, "anthropic"}, {Api::kGemini, "gemini"}, {Api::kReplay, "replay"}};

}  // namespace

std::string_view to_string(Outcome outcome) { return schema::enum_to_text(kOutcomes, outcome); }
std::optional<Outcome> outcome_from_text(std::string_view text) { return schema::enum_from_text(kOutcomes, text); }
std::string_view to_string(Api api) { return schema::enum_to_text(kApis, api); }
std::optional<Api> api_from_text(std::string_view text) { return schema::enum_from_text(kApis, text); }

std::string_view to_string(Role role) {
  switch (role) {
    case Role::kSystem: return "system";
    case Role::kUser: return "user";
    case Role::kAssistant: return "assistant";
  }
  return "user";
}

bool may_pass_later(Outcome outcome) {
  switch (outcome) {
    case Outcome::kRateLimited:
    case Outcome::kServerError:
    case Outcome::kTransport:
    case Outcome::kMalformed:
    case Outcome::kTimeoutConnect:
    case Outcome::kTimeoutFirstToken:
    case Outcome::kTimeoutSilence:
    case Outcome::kTimeoutTotal: return true;
    default: return false;
  }
}

std::optional<double> cost_of(const Usage& usage, const Prices& prices) {
  if (!usage.input || !usage.output || !prices.input || !prices.output) return std::nullopt;
  if (prices.up_to_input_tokens && *usage.input > *prices.up_to_input_tokens) return std::nullopt;
  const std::int64_t cached = usage.cached_input.value_or(0), written = usage.cache_write.value_or(0);
  if ((cached > 0 && !prices.cached_input) || (written > 0 && !prices.cache_write)) return std::nullopt;
  const double fresh = static_cast<double>(*usage.input - cached - written);
  return 1e-6 * (fresh * *prices.input + static_cast<double>(cached) * prices.cached_input.value_or(0) +
                 static_cast<double>(written) * prices.cache_write.value_or(0) +
                 static_cast<double>(*usage.output) * *prices.output);
}

}  // namespace ptxbench::agent
