// Google's Gemini API, streamGenerateContent of v1beta, as server-sent events.
#include <fmt/format.h>

#include <charconv>

#include "ptxbench/agent/model/protocol.h"

namespace ptxbench::agent {
namespace {

// FinishReason of the API reference.
Outcome ending_of(std::string_view reason) {
  if (reason == "MAX_TOKENS") return Outcome::kTruncated;
  for (const std::string_view filtered :
       {"SAFETY", "RECITATION", "LANGUAGE", "BLOCKLIST", "PROHIBITED_CONTENT", "SPII", "MODEL_ARMOR"})
    if (reason == filtered) return Outcome::kContentFilter;
  return Outcome::kAnswer;  // STOP; OTHER and the malformed-call reasons come without text and so end as kEmpty
}

void read_usage(const Json& usage, StreamState& state) {
  if (usage.empty()) return;
  state.usage.input = count_at(usage, "promptTokenCount");
  state.usage.cached_input = count_at(usage, "cachedContentTokenCount");
  state.usage.reasoning = count_at(usage, "thoughtsTokenCount");
  // Thoughts are charged as output and counted beside it.
  if (const auto candidates = count_at(usage, "candidatesTokenCount"); candidates || state.usage.reasoning)
    state.usage.output = candidates.value_or(0) + state.usage.reasoning.value_or(0);
}

// google.rpc.RetryInfo among an error's details: "37s" or "1.5s".
std::optional<double> retry_delay(const Json& error) {
  const auto details = error.find("details");
  if (details == error.end() || !details->is_array()) return std::nullopt;
  for (const Json& detail : *details) {
    const std::string delay = text_at(detail, "retryDelay");
    double seconds = 0;
    const auto [end, problem] = std::from_chars(delay.data(), delay.data() + delay.size(), seconds);
    if (problem == std::errc() && end != delay.data() + delay.size() && *end == 's') return seconds;
  }
  return std::nullopt;
}

class Gemini final : public Protocol {
 public:
  std::string url(const ModelConfig& config) const override {
    return fmt::format("{}/v1beta/models/{}:streamGenerateContent?alt=sse", config.base_url, config.model);
  }

  std::vector<std::string> headers(const ModelConfig&, std::string_view key) const override {
    std::vector<std::string> headers{"Content-Type: application/json"};
    if (!key.empty()) headers.push_back(fmt::format("x-goog-api-key: {}", key));  // never in the URL, which gets logged
    return headers;
  }

  Json body(const ModelConfig& config, const std::vector<Message>& messages) const override {
    Json body;
    body["contents"] = Json::array();
    for (const Message& message : messages) {
      Json parts = Json::array({{{"text", message.text}}});
      if (message.role == Role::kSystem) {
        body["systemInstruction"] = {{"parts", std::move(parts)}};
      } else {
        const char* role = message.role == Role::kUser ? "user" : "model";
        body["contents"].push_back(Json{{"role", role}, {"parts", std::move(parts)}});
      }
    }
    Json generation = Json::object();
    put(generation, "maxOutputTokens", config.max_output_tokens);
    const Sampling& sampling = config.sampling;
    put(generation, "temperature", sampling.temperature);
    put(generation, "topP", sampling.top_p);
    put(generation, "topK", sampling.top_k);
    put(generation, "presencePenalty", sampling.presence_penalty);
    put(generation, "frequencyPenalty", sampling.frequency_penalty);
    put(generation, "seed", sampling.seed);
    if (!config.stop.empty()) generation["stopSequences"] = config.stop;
    Json thinking = Json::object();
    if (config.reasoning.show) thinking["includeThoughts"] = true;
    if (!config.reasoning.effort.empty()) thinking["thinkingLevel"] = config.reasoning.effort;
    put(thinking, "thinkingBudget", config.reasoning.budget_tokens);
    if (!thinking.empty()) generation["thinkingConfig"] = std::move(thinking);
    if (!generation.empty()) body["generationConfig"] = std::move(generation);
    return body;
  }

  void on_event(const Json& event, StreamState& state) const override {
    if (const auto error = event.find("error"); error != event.end()) {
      state.failure = on_error(0, *error);
      return;
    }
    if (state.served_model.empty()) state.served_model = text_at(event, "modelVersion");
    if (state.request_id.empty()) state.request_id = text_at(event, "responseId");
    read_usage(object_at(event, "usageMetadata"), state);
    const Json& feedback = object_at(event, "promptFeedback");
    if (const std::string reason = text_at(feedback, "blockReason"); !reason.empty()) {
      state.finish_reason = reason;
      state.ending = Outcome::kContentFilter;
      state.note = fmt::format("the prompt was blocked: {}", reason);
    }
    const auto candidates = event.find("candidates");
    if (candidates == event.end() || !candidates->is_array() || candidates->empty()) return;
    take_candidate(candidates->front(), state);
  }

  Failure on_error(int status, const Json& error) const override {
    if (const auto code = count_at(error, "code"); code && status == 0) status = static_cast<int>(*code);
    const std::string message = text_at(error, "message");
    const std::string detail = fmt::format("{}: {}", text_at(error, "status"), message);
    if (message.find("API key not valid") != std::string::npos || message.find("API key expired") != std::string::npos)
      return {Outcome::kAuthentication, detail, {}};  // comes with status 400
    return {outcome_of_error(status == 0 ? 500 : status, message), detail, retry_delay(error)};
  }

 private:
  static void take_candidate(const Json& candidate, StreamState& state) {
    const Json& content = object_at(candidate, "content");
    if (const auto parts = content.find("parts"); parts != content.end() && parts->is_array())
      for (const Json& part : *parts) {
        const auto thought = part.find("thought");
        const bool is_thought = thought != part.end() && thought->is_boolean() && thought->get<bool>();
        (is_thought ? state.reasoning_text : state.text) += text_at(part, "text");
      }
    const std::string reason = text_at(candidate, "finishReason");
    if (reason.empty()) return;
    state.finish_reason = reason;
    state.ending = ending_of(reason);
    state.note = text_at(candidate, "finishMessage");
  }
};

}  // namespace

const Protocol& gemini_protocol() {
  static const Gemini protocol;
  return protocol;
}

}  // namespace ptxbench::agent
