// Anthropic's Messages API, version 2023-06-01.
#include <fmt/format.h>

#include "ptxbench/agent/model/protocol.h"

namespace ptxbench::agent {
namespace {

Outcome ending_of(std::string_view reason) {
  if (reason == "max_tokens" || reason == "model_context_window_exceeded") return Outcome::kTruncated;
  if (reason == "refusal") return Outcome::kRefusal;
  return Outcome::kAnswer;  // end_turn, stop_sequence
}

// The status that goes with an error's type, for errors inside a stream.
int status_of(std::string_view type) {
  if (type == "invalid_request_error") return 400;
  if (type == "authentication_error") return 401;
  if (type == "billing_error") return 402;
  if (type == "permission_error") return 403;
  if (type == "not_found_error") return 404;
  if (type == "request_too_large") return 413;
  if (type == "rate_limit_error") return 429;
  return 500;  // api_error, timeout_error, overloaded_error
}

// Anthropic counts fresh, cache-written and cache-read input apart; message_delta repeats what it has.
void read_usage(const Json& usage, StreamState& state) {
  const auto fresh = count_at(usage, "input_tokens");
  if (fresh) {
    state.usage.cache_write = count_at(usage, "cache_creation_input_tokens");
    state.usage.cached_input = count_at(usage, "cache_read_input_tokens");
    state.usage.input = *fresh + state.usage.cache_write.value_or(0) + state.usage.cached_input.value_or(0);
  }
  if (const auto output = count_at(usage, "output_tokens")) state.usage.output = output;
  if (const auto thinking = count_at(object_at(usage, "output_tokens_details"), "thinking_tokens"))
    state.usage.reasoning = thinking;
}

Json cached_text(const std::string& text) {
  return Json::array({{{"type", "text"}, {"text", text}, {"cache_control", {{"type", "ephemeral"}}}}});
}

class Anthropic final : public Protocol {
 public:
  std::string url(const ModelConfig& config) const override { return config.base_url + "/v1/messages"; }

  std::vector<std::string> headers(const ModelConfig&, std::string_view key) const override {
    std::vector<std::string> headers{"Content-Type: application/json", "Accept: text/event-stream",
                                     "anthropic-version: 2023-06-01"};
    if (!key.empty()) headers.push_back(fmt::format("x-api-key: {}", key));
    return headers;
  }

  Json body(const ModelConfig& config, const std::vector<Message>& messages) const override {
    Json body;
    body["model"] = config.model;
    put(body, "max_tokens", config.max_output_tokens);
    body["stream"] = true;
    body["messages"] = Json::array();
    for (const Message& message : messages) {
      const bool cache = config.prompt_cache && (message.role == Role::kSystem || &message == &messages.back());
      Json content = cache ? cached_text(message.text) : Json(message.text);
      if (message.role == Role::kSystem) {
        body["system"] = std::move(content);
      } else {
        body["messages"].push_back(Json{{"role", to_string(message.role)}, {"content", std::move(content)}});
      }
    }
    const Sampling& sampling = config.sampling;
    put(body, "temperature", sampling.temperature);
    put(body, "top_p", sampling.top_p);
    put(body, "top_k", sampling.top_k);
    if (!config.stop.empty()) body["stop_sequences"] = config.stop;
    put_reasoning(config.reasoning, body);
    return body;
  }

  void on_event(const Json& event, StreamState& state) const override {
    const std::string type = text_at(event, "type");
    if (type == "error") {
      state.failure = on_error(0, object_at(event, "error"));
    } else if (type == "message_start") {
      const Json& message = object_at(event, "message");
      state.served_model = text_at(message, "model");
      state.request_id = text_at(message, "id");
      read_usage(object_at(message, "usage"), state);
    } else if (type == "content_block_start") {
      take_block(object_at(event, "content_block"), state);
    } else if (type == "content_block_delta") {
      take_block(object_at(event, "delta"), state);
    } else if (type == "message_delta") {
      finish(object_at(event, "delta"), state);
      read_usage(object_at(event, "usage"), state);
    } else if (type == "message_stop") {
      state.end_mark = true;
    } else if (type == "message") {  // not streamed
      state.served_model = text_at(event, "model");
      if (const auto content = event.find("content"); content != event.end() && content->is_array())
        for (const Json& block : *content) take_block(block, state);
      finish(event, state);
      read_usage(object_at(event, "usage"), state);
    }  // ping, content_block_stop, and what is new
  }

  Failure on_error(int status, const Json& error) const override {
    const std::string type = text_at(error, "type"), message = text_at(error, "message");
    if (status == 0) status = status_of(type);
    return {outcome_of_error(status, fmt::format("{} {}", type, message)), fmt::format("{}: {}", type, message), {}};
  }

 private:
  static void put_reasoning(const Reasoning& reasoning, Json& body) {
    Json thinking;
    if (reasoning.adaptive) thinking["type"] = "adaptive";
    if (reasoning.budget_tokens) {
      thinking["type"] = "enabled";
      thinking["budget_tokens"] = *reasoning.budget_tokens;
    }
    if (!thinking.is_null()) {
      // Newer models leave the text out unless asked; the older ones give the same summary by default.
      if (reasoning.adaptive) thinking["display"] = reasoning.show ? "summarized" : "omitted";
      body["thinking"] = std::move(thinking);
    }
    if (!reasoning.effort.empty()) body["output_config"] = {{"effort", reasoning.effort}};
  }

  // A content block, or one delta of it.
  static void take_block(const Json& block, StreamState& state) {
    state.text += text_at(block, "text");
    state.reasoning_text += text_at(block, "thinking");
  }

  static void finish(const Json& holder, StreamState& state) {
    const std::string reason = text_at(holder, "stop_reason");
    if (reason.empty()) return;
    state.finish_reason = reason;
    state.ending = ending_of(reason);
    state.note = text_at(object_at(holder, "stop_details"), "explanation");
  }
};

}  // namespace

const Protocol& anthropic_protocol() {
  static const Anthropic protocol;
  return protocol;
}

}  // namespace ptxbench::agent
