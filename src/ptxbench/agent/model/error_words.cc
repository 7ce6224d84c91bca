// What servers mean by their errors. Codes differ and many servers send only a sentence, so the sentences are read:
// sources in docs/models.md, "How outcomes are recognised".
#include <algorithm>
#include <initializer_list>

#include "ptxbench/agent/model/protocol.h"

namespace ptxbench::agent {
namespace {

bool has_any(std::string_view message, std::initializer_list<std::string_view> phrases) {
  std::string lower(message);
  for (char& c : lower)
    if (c >= 'A' && c <= 'Z') c = static_cast<char>(c - 'A' + 'a');
  return std::any_of(phrases.begin(), phrases.end(),
                     [&](std::string_view phrase) { return lower.find(phrase) != std::string::npos; });
}

}  // namespace

bool says_context_overflow(std::string_view message) {
  return has_any(message, {
                              "context_length_exceeded",            // OpenAI, DeepSeek
                              "maximum context length",             // OpenAI, vLLM, OpenRouter, SGLang
                              "maximum model length",               // vLLM
                              "longer than the model's context",    // SGLang
                              "exceeds the available context",      // llama.cpp
                              "exceed_context_size",                // llama.cpp
                              "exceed context window",              // llama-cpp-python
                              "prompt is too long",                 // Anthropic
                              "exceed context limit",               // Anthropic
                              "request_too_large",                  // Anthropic
                              "input token count",                  // Gemini
                              "`inputs` tokens + `max_new_tokens`"  // Together, TGI
                          });
}

bool says_content_filter(std::string_view message) {
  return has_any(message, {"content_filter", "content filtering policy", "content_policy_violation",
                           "content management policy", "requires moderation", "flagged as potentially violating"});
}

bool says_no_money(std::string_view message) {
  return has_any(message,
                 {"insufficient_quota", "credit balance is too low", "insufficient credits", "insufficient balance",
                  "billing_error", "requires more credits", "exceeded your current quota, please check your plan"});
}

Outcome outcome_of_error(int status, std::string_view message) {
  if (status == 402 || says_no_money(message)) return Outcome::kQuota;
  if (status == 429) return Outcome::kRateLimited;
  if (says_content_filter(message)) return Outcome::kContentFilter;
  if (status == 413 || says_context_overflow(message)) return Outcome::kContextOverflow;
  if (status == 401 || status == 403) return Outcome::kAuthentication;
  if (status == 408 || status >= 500) return Outcome::kServerError;
  return Outcome::kRefusedRequest;
}

std::string text_at(const Json& object, const char* key) {
  if (!object.is_object()) return {};
  const auto found = object.find(key);
  return found != object.end() && found->is_string() ? found->get<std::string>() : std::string();
}

std::optional<std::int64_t> count_at(const Json& object, const char* key) {
  if (!object.is_object()) return std::nullopt;
  const auto found = object.find(key);
  if (found == object.end() || !found->is_number_integer()) return std::nullopt;
  return found->get<std::int64_t>();
}

const Json& object_at(const Json& object, const char* key) {
  static const Json kEmpty = Json::object();
  if (!object.is_object()) return kEmpty;
  const auto found = object.find(key);
  return found != object.end() && found->is_object() ? *found : kEmpty;
}

}  // namespace ptxbench::agent
