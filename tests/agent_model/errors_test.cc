// What servers' error answers mean. The bodies are those of the providers' documentation and source code
// (docs/models.md names them), shortened.
#include <gtest/gtest.h>

#include "ptxbench/agent/model/protocol.h"

namespace ptxbench::agent {
namespace {

struct Case {
  const char* what;
  const Protocol& protocol;
  int status;
  const char* error;  // the object under "error"
  Outcome outcome;
};

const Case kCases[] = {
    {"OpenAI, too long", openai_protocol(), 400,
     R"({"message": "This model's maximum context length is 128000 tokens. However, your messages resulted in 130031 tokens.", "type": "invalid_request_error", "param": "messages", "code": "context_length_exceeded"})",
     Outcome::kContextOverflow},
    {"vLLM, too long", openai_protocol(), 400,
     R"({"message": "This model's maximum context length is 4096 tokens. However, you requested 5000 tokens (4900 in the messages, 100 in the completion).", "type": "BadRequestError", "param": null, "code": 400})",
     Outcome::kContextOverflow},
    {"SGLang, too long", openai_protocol(), 400,
     R"({"message": "The input (9000 tokens) is longer than the model's context length (8192 tokens).", "type": "BadRequestError", "code": 400})",
     Outcome::kContextOverflow},
    {"llama.cpp, too long", openai_protocol(), 400,
     R"({"code": 400, "message": "request (9000 tokens) exceeds the available context size (8192 tokens), try increasing it", "type": "exceed_context_size_error", "n_prompt_tokens": 9000, "n_ctx": 8192})",
     Outcome::kContextOverflow},
    {"OpenRouter, too long", openai_protocol(), 400,
     R"({"code": 400, "message": "This endpoint's maximum context length is 131072 tokens. However, you requested about 140000 tokens."})",
     Outcome::kContextOverflow},
    {"OpenAI, output limit over the model's: a wrong setting", openai_protocol(), 400,
     R"({"message": "max_tokens is too large: 200000. This model supports at most 128000 completion tokens, whereas you provided 200000.", "type": "invalid_request_error", "param": "max_tokens", "code": "invalid_value"})",
     Outcome::kRefusedRequest},
    {"OpenAI, unknown parameter", openai_protocol(), 400,
     R"({"message": "Unrecognized request argument supplied: top_k", "type": "invalid_request_error", "param": null, "code": null})",
     Outcome::kRefusedRequest},
    {"OpenAI, flagged prompt", openai_protocol(), 400,
     R"({"message": "Invalid prompt: your prompt was flagged as potentially violating our usage policy.", "type": "invalid_request_error", "param": null, "code": "invalid_prompt"})",
     Outcome::kContentFilter},
    {"OpenAI, no quota", openai_protocol(), 429,
     R"({"message": "You exceeded your current quota, please check your plan and billing details.", "type": "insufficient_quota", "param": null, "code": "insufficient_quota"})",
     Outcome::kQuota},
    {"OpenAI, rate", openai_protocol(), 429,
     R"({"message": "Rate limit reached for gpt-x on tokens per min (TPM): Limit 30000, Used 29000, Requested 2000.", "type": "tokens", "param": null, "code": "rate_limit_exceeded"})",
     Outcome::kRateLimited},
    {"OpenRouter, credits", openai_protocol(), 402, R"({"code": 402, "message": "Insufficient credits."})",
     Outcome::kQuota},
    {"OpenRouter, moderation", openai_protocol(), 403,
     R"({"code": 403, "message": "Input was flagged", "metadata": {"reasons": ["violence"], "flagged_input": "..."}})",
     Outcome::kContentFilter},
    {"OpenRouter, inside the stream", openai_protocol(), 0, R"({"code": 429, "message": "Provider returned error"})",
     Outcome::kRateLimited},
    {"OpenRouter, inside the stream, by word", openai_protocol(), 0,
     R"({"code": "server_error", "message": "Provider disconnected unexpectedly"})", Outcome::kServerError},
    {"vLLM, wrong key", openai_protocol(), 401, R"("Unauthorized")", Outcome::kAuthentication},
    {"Anthropic, too long", anthropic_protocol(), 400,
     R"({"type": "invalid_request_error", "message": "prompt is too long: 1000201 tokens > 1000000 maximum"})",
     Outcome::kContextOverflow},
    {"Anthropic, with the output", anthropic_protocol(), 400,
     R"({"type": "invalid_request_error", "message": "input length and `max_tokens` exceed context limit: 188240 + 21333 > 200000"})",
     Outcome::kContextOverflow},
    {"Anthropic, bytes", anthropic_protocol(), 413,
     R"({"type": "request_too_large", "message": "Request exceeds the maximum size"})", Outcome::kContextOverflow},
    {"Anthropic, filter", anthropic_protocol(), 400,
     R"({"type": "invalid_request_error", "message": "Output blocked by content filtering policy"})",
     Outcome::kContentFilter},
    {"Anthropic, money", anthropic_protocol(), 400,
     R"({"type": "invalid_request_error", "message": "Your credit balance is too low to access the Anthropic API."})",
     Outcome::kQuota},
    {"Anthropic, key", anthropic_protocol(), 401, R"({"type": "authentication_error", "message": "invalid x-api-key"})",
     Outcome::kAuthentication},
    {"Anthropic, overloaded", anthropic_protocol(), 529, R"({"type": "overloaded_error", "message": "Overloaded"})",
     Outcome::kServerError},
    {"Anthropic, overloaded inside the stream", anthropic_protocol(), 0,
     R"({"type": "overloaded_error", "message": "Overloaded"})", Outcome::kServerError},
    {"Anthropic, rate inside the stream", anthropic_protocol(), 0,
     R"({"type": "rate_limit_error", "message": "This request would exceed your rate limit"})", Outcome::kRateLimited},
    {"Gemini, too long", gemini_protocol(), 400,
     R"({"code": 400, "status": "INVALID_ARGUMENT", "message": "The input token count (1200000) exceeds the maximum number of tokens allowed (1048576)."})",
     Outcome::kContextOverflow},
    {"Gemini, key", gemini_protocol(), 400,
     R"({"code": 400, "status": "INVALID_ARGUMENT", "message": "API key not valid. Please pass a valid API key."})",
     Outcome::kAuthentication},
    {"Gemini, overloaded", gemini_protocol(), 503,
     R"({"code": 503, "status": "UNAVAILABLE", "message": "The model is overloaded. Please try again later."})",
     Outcome::kServerError},
    {"Gemini, unknown model", gemini_protocol(), 404,
     R"({"code": 404, "status": "NOT_FOUND", "message": "models/x is not found for API version v1beta"})",
     Outcome::kRefusedRequest},
};

TEST(Errors, MeanWhatTheProvidersSay) {
  for (const Case& c : kCases)
    EXPECT_EQ(to_string(c.protocol.on_error(c.status, Json::parse(c.error)).outcome), to_string(c.outcome)) << c.what;
}

TEST(Errors, GeminiSaysHowLongToWaitInTheBody) {
  const Failure failure = gemini_protocol().on_error(429, Json::parse(R"({"code": 429, "status": "RESOURCE_EXHAUSTED",
    "message": "You exceeded your current quota.", "details": [
      {"@type": "type.googleapis.com/google.rpc.QuotaFailure"},
      {"@type": "type.googleapis.com/google.rpc.RetryInfo", "retryDelay": "37.5s"}]})"));
  EXPECT_EQ(failure.outcome, Outcome::kRateLimited);
  EXPECT_EQ(failure.retry_after_s, 37.5);
}

StreamState after(const Protocol& protocol, std::initializer_list<const char*> events) {
  StreamState state;
  for (const char* event : events) protocol.on_event(Json::parse(event), state);
  return state;
}

TEST(Endings, Gemini) {
  for (const char* reason : {"SAFETY", "RECITATION", "BLOCKLIST", "PROHIBITED_CONTENT", "SPII", "LANGUAGE"})
    EXPECT_EQ(
        after(gemini_protocol(), {(std::string(R"({"candidates": [{"finishReason": ")") + reason + "\"}]}").c_str()})
            .ending,
        Outcome::kContentFilter);
  EXPECT_EQ(after(gemini_protocol(), {R"({"candidates": [{"finishReason": "MAX_TOKENS"}]})"}).ending,
            Outcome::kTruncated);
  const StreamState blocked =
      after(gemini_protocol(), {R"({"promptFeedback": {"blockReason": "PROHIBITED_CONTENT"}})"});
  EXPECT_EQ(blocked.ending, Outcome::kContentFilter);
  EXPECT_EQ(blocked.note, "the prompt was blocked: PROHIBITED_CONTENT");
}

TEST(Endings, Anthropic) {
  const auto ending = [](const std::string& reason) {
    const std::string event = R"({"type": "message_delta", "delta": {"stop_reason": ")" + reason + "\"}}";
    return after(anthropic_protocol(), {event.c_str()}).ending;
  };
  EXPECT_EQ(ending("end_turn"), Outcome::kAnswer);
  EXPECT_EQ(ending("stop_sequence"), Outcome::kAnswer);
  EXPECT_EQ(ending("max_tokens"), Outcome::kTruncated);
  EXPECT_EQ(ending("model_context_window_exceeded"), Outcome::kTruncated);
  EXPECT_EQ(ending("refusal"), Outcome::kRefusal);
}

TEST(Streams, ReasoningUnderEveryName) {
  EXPECT_EQ(after(openai_protocol(), {R"({"choices": [{"delta": {"reasoning_content": "a"}}]})",
                                      R"({"choices": [{"delta": {"reasoning": "b"}}]})",
                                      R"({"choices": [{"delta": {"reasoning": "c", "reasoning_content": "c"}}]})"})
                .reasoning_text,
            "abc");
}

TEST(Streams, CostOfTheRouterGoesFirst) {
  const StreamState state = after(
      openai_protocol(), {R"({"choices": [], "usage": {"prompt_tokens": 1, "completion_tokens": 2, "cost": 0.25}})"});
  EXPECT_EQ(state.provider_cost_usd, 0.25);
}

TEST(Streams, StrangeTypesArePassedOver) {
  for (const Protocol* protocol : {&openai_protocol(), &anthropic_protocol(), &gemini_protocol()})
    for (
        const char* event :
        {R"({})", R"({"choices": 7, "usage": "many", "candidates": {}, "type": 3})",
         R"({"choices": [7], "candidates": [7]})",
         R"({"choices": [{"delta": [], "finish_reason": 1}], "candidates": [{"content": {"parts": [1, {"text": 5}]}}]})",
         R"({"type": "content_block_delta", "delta": "x"})", R"({"type": "message_start", "message": {"usage": 3}})",
         R"({"usage": {"prompt_tokens": 1.5, "completion_tokens": "two", "prompt_tokens_details": null}})"}) {
      const StreamState state = after(*protocol, {event});
      EXPECT_EQ(state.text, "") << event;
      EXPECT_EQ(state.usage.input, std::nullopt) << event;
    }
}

TEST(Outcomes, HaveNamesBothWays) {
  for (int i = 0; i <= static_cast<int>(Outcome::kCancelled); ++i) {
    const auto outcome = static_cast<Outcome>(i);
    EXPECT_EQ(outcome_from_text(to_string(outcome)), outcome);
    EXPECT_FALSE(is_turn(outcome) && may_pass_later(outcome));
  }
}

TEST(Cost, NeedsEveryPriceThatIsUsed) {
  const Usage usage{1000, 400, 100, 50, {}};
  const Prices all{10, 1, 12.5, 100, {}};
  EXPECT_NEAR(cost_of(usage, all).value(), (500 * 10 + 400 * 1 + 100 * 12.5 + 50 * 100) * 1e-6, 1e-12);
  for (std::optional<double> Prices::*price :
       {&Prices::input, &Prices::cached_input, &Prices::cache_write, &Prices::output}) {
    Prices some = all;
    some.*price = std::nullopt;
    EXPECT_EQ(cost_of(usage, some), std::nullopt);
  }
  Prices tiered = all;
  tiered.up_to_input_tokens = 999;
  EXPECT_EQ(cost_of(usage, tiered), std::nullopt);
  EXPECT_EQ(cost_of({1000, {}, {}, {}, {}}, all), std::nullopt);
}

}  // namespace
}  // namespace ptxbench::agent
