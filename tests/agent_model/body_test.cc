// What each provider is sent, byte for byte as its public API reference wants it, and what its recorded streams mean.
// The expected bodies are written by hand from those references (docs/models.md lists them).
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "ptxbench/agent/model/client.h"
#include "server.h"

namespace ptxbench::agent {
namespace {

using Json = nlohmann::json;  // order does not matter
constexpr const char* kKey = "sk-test-0123456789abcdefghijklmnopqrstuvwxyz";

class Bodies : public ::testing::Test {
 protected:
  // The model of this TOML (without base_url) asks the scenario.
  ModelReply ask(const std::string& scenario, const std::string& settings) {
    ::setenv("PTXBENCH_TEST_KEY", kKey, 1);
    auto models = parse_models(
        "[models.t]\nkey_variable = \"PTXBENCH_TEST_KEY\"\nbase_url = \"" + server_.url(scenario) + "\"\n" + settings,
        "test.toml");
    if (!models) throw std::runtime_error(models.error().format());
    auto client = make_client(models->front());
    return (*client)->complete({{{Role::kSystem, "rules"},
                                 {Role::kUser, "write it"},
                                 {Role::kAssistant, "like this"},
                                 {Role::kUser, "once more"}},
                                {}});
  }
  void expect_sent(const std::string& path, const std::string& header, const std::string& value, const char* body) {
    const auto requests = server_.requests();
    ASSERT_EQ(requests.size(), 1u);
    EXPECT_THAT(requests[0]["path"].get<std::string>(), ::testing::EndsWith(path));
    EXPECT_EQ(requests[0]["headers"].value(header, ""), value);
    EXPECT_EQ(requests[0]["headers"]["content-type"], "application/json");
    EXPECT_EQ(Json::parse(requests[0]["body"].get<std::string>()), Json::parse(body));
    // The key is in that header and nowhere else.
    auto headers = requests[0]["headers"];
    headers.erase(header);
    EXPECT_EQ((headers.dump() + requests[0]["path"].dump() + requests[0]["body"].dump()).find(kKey), std::string::npos);
  }
  testing::MisbehavingServer server_;
};

TEST_F(Bodies, OpenAi) {
  const ModelReply reply = ask("ok", R"(
api = "openai"
model = "Qwen/Qwen3.6-27B"
max_output_tokens = 81920
output_limit_field = "max_tokens"
stop = ["<end>"]
sampling = { temperature = 1.0, top_p = 0.95, top_k = 20, min_p = 0.0, presence_penalty = 1.5, frequency_penalty = 0.5, repetition_penalty = 1.0, seed = 7 }
reasoning = { effort = "high" }
extra = { provider = { only = ["a", "b"] }, stream_options = { continuous_usage_stats = true } }
)");
  EXPECT_EQ(reply.text, "Hello, world.");
  expect_sent("/chat/completions", "authorization", std::string("Bearer ") + kKey, R"({
    "model": "Qwen/Qwen3.6-27B",
    "messages": [{"role": "system", "content": "rules"}, {"role": "user", "content": "write it"},
                 {"role": "assistant", "content": "like this"}, {"role": "user", "content": "once more"}],
    "stream": true, "stream_options": {"include_usage": true, "continuous_usage_stats": true},
    "max_tokens": 81920, "stop": ["<end>"],
    "temperature": 1.0, "top_p": 0.95, "top_k": 20, "min_p": 0.0, "presence_penalty": 1.5, "frequency_penalty": 0.5,
    "repetition_penalty": 1.0, "seed": 7, "reasoning_effort": "high", "provider": {"only": ["a", "b"]}})");
}

TEST_F(Bodies, OpenAiWithNothingSetSendsNothingElse) {
  ask("ok", "api = \"openai\"\nmodel = \"gpt-x\"\nmax_output_tokens = 100\n");
  expect_sent("/chat/completions", "authorization", std::string("Bearer ") + kKey, R"({
    "model": "gpt-x",
    "messages": [{"role": "system", "content": "rules"}, {"role": "user", "content": "write it"},
                 {"role": "assistant", "content": "like this"}, {"role": "user", "content": "once more"}],
    "stream": true, "stream_options": {"include_usage": true}, "max_completion_tokens": 100})");
}

TEST_F(Bodies, Anthropic) {
  const ModelReply reply = ask("anthropic", R"(
api = "anthropic"
model = "claude-opus-4-8"
max_output_tokens = 128000
prompt_cache = true
reasoning = { adaptive = true, effort = "xhigh" }
prices = { input = 5.0, cached_input = 0.5, cache_write = 6.25, output = 25.0 }
)");
  expect_sent("/v1/messages", "x-api-key", kKey, R"({
    "model": "claude-opus-4-8", "max_tokens": 128000, "stream": true,
    "system": [{"type": "text", "text": "rules", "cache_control": {"type": "ephemeral"}}],
    "messages": [{"role": "user", "content": "write it"}, {"role": "assistant", "content": "like this"},
                 {"role": "user", "content": [{"type": "text", "text": "once more", "cache_control": {"type": "ephemeral"}}]}],
    "thinking": {"type": "adaptive", "display": "summarized"}, "output_config": {"effort": "xhigh"}})");
  EXPECT_EQ(server_.requests()[0]["headers"]["anthropic-version"], "2023-06-01");
  EXPECT_EQ(reply.outcome, Outcome::kAnswer) << reply.detail;
  EXPECT_EQ(reply.text, "Hello");
  EXPECT_EQ(reply.reasoning_text, "think ");
  EXPECT_EQ(reply.finish_reason, "end_turn");
  EXPECT_EQ(reply.served_model, "claude-x");
  // Anthropic counts 3 fresh, 20 written and 100 read apart.
  EXPECT_EQ(reply.usage.input, 123);
  EXPECT_EQ(reply.usage.cached_input, 100);
  EXPECT_EQ(reply.usage.cache_write, 20);
  EXPECT_EQ(reply.usage.output, 40);
  EXPECT_EQ(reply.usage.reasoning, 30);
  EXPECT_NEAR(reply.cost_usd.value(), (3 * 5.0 + 20 * 6.25 + 100 * 0.5 + 40 * 25.0) * 1e-6, 1e-12);
}

TEST_F(Bodies, AnthropicOlderModels) {
  ask("anthropic", R"(
api = "anthropic"
model = "claude-sonnet-4-5"
max_output_tokens = 64000
stop = ["<end>"]
sampling = { temperature = 1.0, top_p = 0.95, top_k = 40 }
reasoning = { budget_tokens = 32000 }
)");
  expect_sent("/v1/messages", "x-api-key", kKey, R"({
    "model": "claude-sonnet-4-5", "max_tokens": 64000, "stream": true, "system": "rules",
    "messages": [{"role": "user", "content": "write it"}, {"role": "assistant", "content": "like this"},
                 {"role": "user", "content": "once more"}],
    "temperature": 1.0, "top_p": 0.95, "top_k": 40, "stop_sequences": ["<end>"],
    "thinking": {"type": "enabled", "budget_tokens": 32000}})");
}

TEST_F(Bodies, Gemini) {
  const ModelReply reply = ask("gemini", R"(
api = "gemini"
model = "gemini-3.1-pro-preview"
max_output_tokens = 65536
stop = ["<end>"]
sampling = { temperature = 1.0, top_p = 0.95, top_k = 64, presence_penalty = 0.1, frequency_penalty = 0.2, seed = 3 }
reasoning = { effort = "high" }
prices = { input = 2.0, output = 12.0, up_to_input_tokens = 200000 }
)");
  expect_sent("/v1beta/models/gemini-3.1-pro-preview:streamGenerateContent?alt=sse", "x-goog-api-key", kKey, R"({
    "systemInstruction": {"parts": [{"text": "rules"}]},
    "contents": [{"role": "user", "parts": [{"text": "write it"}]}, {"role": "model", "parts": [{"text": "like this"}]},
                 {"role": "user", "parts": [{"text": "once more"}]}],
    "generationConfig": {"maxOutputTokens": 65536, "temperature": 1.0, "topP": 0.95, "topK": 64, "presencePenalty": 0.1,
      "frequencyPenalty": 0.2, "seed": 3, "stopSequences": ["<end>"],
      "thinkingConfig": {"includeThoughts": true, "thinkingLevel": "high"}}})");
  EXPECT_EQ(reply.outcome, Outcome::kAnswer) << reply.detail;
  EXPECT_EQ(reply.text, "Hello");
  EXPECT_EQ(reply.reasoning_text, "plan");
  EXPECT_EQ(reply.served_model, "gemini-x");
  EXPECT_EQ(reply.usage.input, 8);
  EXPECT_EQ(reply.usage.output, 25);  // 5 of the answer and 20 of thoughts
  EXPECT_EQ(reply.usage.reasoning, 20);
  EXPECT_NEAR(reply.cost_usd.value(), (8 * 2.0 + 25 * 12.0) * 1e-6, 1e-12);
}

TEST_F(Bodies, GeminiBudget) {
  ask("gemini", R"(
api = "gemini"
model = "gemini-2.5-pro"
reasoning = { budget_tokens = -1, show = false }
)");
  expect_sent("/v1beta/models/gemini-2.5-pro:streamGenerateContent?alt=sse", "x-goog-api-key", kKey, R"({
    "systemInstruction": {"parts": [{"text": "rules"}]},
    "contents": [{"role": "user", "parts": [{"text": "write it"}]}, {"role": "model", "parts": [{"text": "like this"}]},
                 {"role": "user", "parts": [{"text": "once more"}]}],
    "generationConfig": {"thinkingConfig": {"thinkingBudget": -1}}})");
}

TEST_F(Bodies, BrokenUtf8InAMessageIsSentAsReplacement) {
  ::setenv("PTXBENCH_TEST_KEY", kKey, 1);
  ModelConfig config;
  config.model = "m";
  config.base_url = server_.url("ok");
  auto client = make_client(config);
  EXPECT_EQ((*client)->complete({{{Role::kUser, "a\xF0\x9F z"}}, {}}).text, "Hello, world.");
  EXPECT_EQ(Json::parse(server_.requests()[0]["body"].get<std::string>())["messages"][0]["content"], "a\uFFFD z");
}

}  // namespace
}  // namespace ptxbench::agent
