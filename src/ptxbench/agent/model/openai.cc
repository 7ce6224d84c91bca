// Chat completions as OpenAI defined them and vLLM, SGLang, llama.cpp, OpenRouter, Together and others speak them.
#include <fmt/format.h>

#include "ptxbench/agent/model/protocol.h"

namespace ptxbench::agent {
namespace {

Outcome ending_of(std::string_view reason) {
  if (reason == "length") return Outcome::kTruncated;
  if (reason == "content_filter" || reason == "sensitive") return Outcome::kContentFilter;  // the latter: Z.ai
  if (reason == "refusal") return Outcome::kRefusal;
  if (reason == "model_context_window_exceeded") return Outcome::kTruncated;  // Z.ai
  return Outcome::kAnswer;  // "stop", and what servers invent for it ("eos", "stop_sequence")
}

// The server gave up on an answer that it had begun.
bool is_broken(std::string_view reason) {
  return reason == "error" || reason == "abort" || reason == "network_error" ||
         reason == "insufficient_system_resource";
}

void read_usage(const Json& usage, StreamState& state) {
  if (usage.empty()) return;
  state.usage.input = count_at(usage, "prompt_tokens");
  state.usage.output = count_at(usage, "completion_tokens");
  state.usage.cached_input = count_at(object_at(usage, "prompt_tokens_details"), "cached_tokens");
  state.usage.reasoning = count_at(object_at(usage, "completion_tokens_details"), "reasoning_tokens");
  if (!state.usage.reasoning) state.usage.reasoning = count_at(usage, "reasoning_tokens");  // SGLang
  if (const auto cost = usage.find("cost"); cost != usage.end() && cost->is_number())       // OpenRouter
    state.provider_cost_usd = cost->get<double>();
}

class OpenAi final : public Protocol {
 public:
  std::string url(const ModelConfig& config) const override { return config.base_url + "/chat/completions"; }

  std::vector<std::string> headers(const ModelConfig&, std::string_view key) const override {
    std::vector<std::string> headers{"Content-Type: application/json", "Accept: text/event-stream"};
    if (!key.empty()) headers.push_back(fmt::format("Authorization: Bearer {}", key));
    return headers;
  }

  Json body(const ModelConfig& config, const std::vector<Message>& messages) const override {
    Json body;
    body["model"] = config.model;
    body["messages"] = Json::array();
    for (const Message& message : messages)
      body["messages"].push_back(Json{{"role", to_string(message.role)}, {"content", message.text}});
    body["stream"] = true;
    body["stream_options"] = {{"include_usage", true}};
    put(body, config.output_limit_field.c_str(), config.max_output_tokens);
    const Sampling& sampling = config.sampling;
    put(body, "temperature", sampling.temperature);
    put(body, "top_p", sampling.top_p);
    put(body, "top_k", sampling.top_k);
    put(body, "min_p", sampling.min_p);
    put(body, "presence_penalty", sampling.presence_penalty);
    put(body, "frequency_penalty", sampling.frequency_penalty);
    put(body, "repetition_penalty", sampling.repetition_penalty);
    put(body, "seed", sampling.seed);
    if (!config.stop.empty()) body["stop"] = config.stop;
    if (!config.reasoning.effort.empty()) body["reasoning_effort"] = config.reasoning.effort;
    return body;
  }

  void on_event(const Json& event, StreamState& state) const override {
    if (const auto error = event.find("error"); error != event.end() && !error->is_null()) {
      state.failure = on_error(0, *error);
      return;
    }
    if (state.served_model.empty()) state.served_model = text_at(event, "model");
    if (state.request_id.empty()) state.request_id = text_at(event, "id");
    read_usage(object_at(event, "usage"), state);
    const auto choices = event.find("choices");
    if (choices == event.end() || !choices->is_array() || choices->empty()) return;
    const Json& choice = choices->front();
    const Json& delta = choice.contains("delta") ? object_at(choice, "delta") : object_at(choice, "message");
    state.text += text_at(delta, "content");
    // vLLM, SGLang, llama.cpp, DeepSeek: reasoning_content; OpenRouter and newer vLLM: reasoning. Some send both.
    const std::string reasoning = text_at(delta, "reasoning_content");
    state.reasoning_text += reasoning.empty() ? text_at(delta, "reasoning") : reasoning;
    if (const std::string refusal = text_at(delta, "refusal"); !refusal.empty()) {
      state.text += refusal;
      state.ending = Outcome::kRefusal;
    }
    finish(text_at(choice, "finish_reason"), state);
  }

  Failure on_error(int status, const Json& error) const override {
    if (error.is_string()) {
      const std::string message = error.get<std::string>();
      return {outcome_of_error(status == 0 ? 500 : status, message), message, {}};
    }
    const std::string code = text_at(error, "code"), type = text_at(error, "type");
    const std::string message = text_at(error, "message");
    if (const auto number = count_at(error, "code"); number && status == 0) status = static_cast<int>(*number);
    const std::string words = fmt::format("{} {} {}", code, type, message);
    if (code == "invalid_prompt") return {Outcome::kContentFilter, message, {}};  // OpenAI: a flagged prompt
    if (status == 0) status = type == "invalid_request_error" ? 400 : 500;
    // OpenRouter answers 403 for a prompt that its moderation flagged.
    if (status == 403 && object_at(error, "metadata").contains("flagged_input"))
      return {Outcome::kContentFilter, message, {}};
    return {outcome_of_error(status, words), message.empty() ? words : message, {}};
  }

 private:
  static void finish(const std::string& reason, StreamState& state) {
    if (reason.empty()) return;
    state.finish_reason = reason;
    if (is_broken(reason)) {
      state.failure =
          Failure{Outcome::kServerError, fmt::format("the server ended the answer with \"{}\"", reason), {}};
    } else if (state.ending != Outcome::kRefusal) {
      state.ending = ending_of(reason);
    }
  }
};

}  // namespace

const Protocol& openai_protocol() {
  static const OpenAi protocol;
  return protocol;
}

}  // namespace ptxbench::agent
