#include "ptxbench/agent/model/config.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "ptxbench/agent/model/client.h"

namespace ptxbench::agent {
namespace {

using ::testing::HasSubstr;
using ::testing::Not;

constexpr const char* kMinimal = "[models.m]\napi = \"openai\"\nmodel = \"x\"\nbase_url = \"https://h/v1/\"\n";

std::string error_of(const std::string& toml) {
  const auto models = parse_models(toml, "f.toml");
  return models ? "" : models.error().format();
}

TEST(ModelsFile, ShippedFileHoldsThePapersFourModels) {
  const auto models = load_models(PTXBENCH_SOURCE_DIR "/models.toml");
  ASSERT_TRUE(models) << models.error().format();
  // Route and settings: section 13 of the facts read from the paper's public implementation.
  const ModelConfig claude = find_model(*models, "claude-opus-4.8").value();
  EXPECT_EQ(claude.api, Api::kAnthropic);
  EXPECT_TRUE(claude.reasoning.adaptive);
  EXPECT_EQ(claude.reasoning.effort, "xhigh");
  EXPECT_EQ(claude.max_output_tokens, 128000);
  const ModelConfig gemini = find_model(*models, "gemini-3.1-pro").value();
  EXPECT_EQ(gemini.api, Api::kGemini);
  EXPECT_EQ(gemini.max_output_tokens, 65536);
  const ModelConfig glm = find_model(*models, "glm-5.2").value();
  EXPECT_EQ(glm.max_output_tokens, 131072);
  EXPECT_EQ(glm.extra_body, R"({"provider":{"only":["z-ai/fp8","fireworks"]}})");
  const ModelConfig qwen = find_model(*models, "qwen3.6-27b").value();
  EXPECT_EQ(qwen.max_output_tokens, 81920);
  EXPECT_EQ(qwen.sampling.temperature, 1.0);
  EXPECT_EQ(qwen.sampling.top_p, 0.95);
  EXPECT_EQ(qwen.sampling.presence_penalty, 1.5);
  EXPECT_EQ(qwen.sampling.top_k, 20);
  EXPECT_EQ(qwen.sampling.min_p, 0.0);
  EXPECT_EQ(qwen.sampling.repetition_penalty, 1.0);
  for (const ModelConfig& model : *models) EXPECT_TRUE(model.context_tokens) << model.name;
}

TEST(ModelsFile, DefaultsAndOrder) {
  const auto models = parse_models(
      std::string("[models.z]\napi = \"openai\"\nmodel = \"y\"\nbase_url = \"http://localhost:1\"\n") + kMinimal,
      "f.toml");
  ASSERT_TRUE(models) << models.error().format();
  ASSERT_EQ(models->size(), 2u);
  EXPECT_EQ((*models)[0].name, "z");
  EXPECT_EQ((*models)[1].base_url, "https://h/v1");
  EXPECT_EQ((*models)[1].extra_body, "{}");
  EXPECT_EQ((*models)[1].output_limit_field, "max_completion_tokens");
  EXPECT_EQ((*models)[1].sampling.temperature, std::nullopt);
}

TEST(ModelsFile, LimitsAndRetry) {
  const auto models =
      parse_models(std::string(kMinimal) +
                       "limits = { connect_s = 1, first_token_s = 2.5, silence_s = 3, total_s = 4 }\n"
                       "retry = { attempts = 9, paid_repeats = 0, first_wait_s = 0.5, longest_wait_s = 7 }\n",
                   "f.toml");
  ASSERT_TRUE(models) << models.error().format();
  const ModelConfig& model = models->front();
  EXPECT_EQ(model.limits.connect.count(), 1000);
  EXPECT_EQ(model.limits.first_token.count(), 2500);
  EXPECT_EQ(model.limits.silence.count(), 3000);
  EXPECT_EQ(model.limits.total.count(), 4000);
  EXPECT_EQ(model.retry.attempts, 9);
  EXPECT_EQ(model.retry.paid_repeats, 0);
  EXPECT_EQ(model.retry.first_wait.count(), 500);
  EXPECT_EQ(model.retry.longest_wait.count(), 7000);
}

TEST(ModelsFile, WhatIsWrongIsNamedWithItsPlace) {
  const std::string m = kMinimal;
  EXPECT_THAT(error_of(m + "tempreature = 1\n"),
              HasSubstr("f.toml:5:1: error: 'models.m.tempreature' is not a known setting"));
  EXPECT_THAT(error_of(m + "sampling = { temperature = \"hot\" }\n"),
              HasSubstr("'models.m.sampling.temperature': found a string, expected a number"));
  EXPECT_THAT(error_of(m + "sampling = { heat = 1 }\n"), HasSubstr("'models.m.sampling.heat' is not a known setting"));
  EXPECT_THAT(error_of(m + "sampling = { temperature = 3 }\n"), HasSubstr("is 3, expected 0 to 2"));
  EXPECT_THAT(error_of(m + "max_output_tokens = 0\n"), HasSubstr("is 0, expected 1 to"));
  EXPECT_THAT(error_of(m + "retry = { attempts = 0 }\n"), HasSubstr("expected 1 to 100"));
  EXPECT_THAT(error_of(m + "output_limit_field = \"limit\"\n"), HasSubstr("expected \"max_completion_tokens\""));
  EXPECT_THAT(error_of(m + "extra = { messages = [] }\n"), HasSubstr("'messages' is ptxbench's own to send"));
  EXPECT_THAT(error_of(m + "extra = { when = 2026-01-01 }\n"), HasSubstr("JSON has no dates"));
  EXPECT_THAT(error_of("[model.m]\n"), HasSubstr("'model' is not a known setting"));
  EXPECT_THAT(error_of("[models.m]\napi = \"grpc\"\nmodel = \"x\"\n"),
              HasSubstr("is \"grpc\", expected openai, anthropic"));
  EXPECT_THAT(error_of("[models.m]\napi = \"openai\"\n"), HasSubstr("'models.m.model' is missing"));
  EXPECT_THAT(error_of("[models.m]\napi = \"openai\"\n"), HasSubstr("'models.m.base_url' is missing"));
  EXPECT_THAT(error_of("[models.\"a b\"]\n"), HasSubstr("is no model name"));
  EXPECT_THAT(error_of("[models.m\n"), HasSubstr("f.toml:1:"));
}

TEST(ModelsFile, SettingsThatTheApiHasNotAreRefused) {
  const std::string anthropic = "[models.m]\napi = \"anthropic\"\nmodel = \"x\"\nbase_url = \"https://h\"\n";
  EXPECT_THAT(error_of(anthropic), HasSubstr("'models.m.max_output_tokens' is missing"));
  const std::string a = anthropic + "max_output_tokens = 5\n";
  EXPECT_EQ(error_of(a), "");
  EXPECT_THAT(error_of(a + "sampling = { seed = 1 }\n"),
              HasSubstr("'models.m.sampling.seed': api \"anthropic\" has no such"));
  EXPECT_THAT(error_of(a + "sampling = { min_p = 0.1 }\n"), HasSubstr("has no such setting"));
  EXPECT_THAT(error_of(a + "reasoning = { adaptive = true, budget_tokens = 5 }\n"), HasSubstr("excludes adaptive"));
  const std::string gemini = "[models.m]\napi = \"gemini\"\nmodel = \"x\"\nbase_url = \"https://h\"\n";
  EXPECT_THAT(error_of(gemini + "reasoning = { effort = \"low\", budget_tokens = 5 }\n"), HasSubstr("excludes effort"));
  EXPECT_THAT(error_of(gemini + "prompt_cache = true\n"), HasSubstr("api \"gemini\" has no such setting"));
  EXPECT_THAT(error_of(std::string(kMinimal) + "reasoning = { budget_tokens = 5 }\n"),
              HasSubstr("api \"openai\" has no such"));
}

TEST(ModelsFile, KeysHaveNoPlaceInIt) {
  const std::string m = kMinimal;
  EXPECT_THAT(error_of(m + "api_key = \"sk-0123456789\"\n"), HasSubstr("keys do not belong into a file"));
  const std::string pasted = error_of(m + "key_variable = \"sk-0123456789\"\n");
  EXPECT_THAT(pasted, HasSubstr("no name of an environment variable"));
  EXPECT_THAT(pasted, Not(HasSubstr("0123456789")));
  const std::string in_url =
      error_of("[models.m]\napi = \"openai\"\nmodel = \"x\"\nbase_url = \"https://u:sk-0123456789@h\"\n");
  EXPECT_THAT(in_url, HasSubstr("has a user, a query or a fragment"));
  EXPECT_THAT(in_url, Not(HasSubstr("0123456789")));
}

TEST(ModelsFile, NoKeyGoesUnencryptedOverANetwork) {
  const auto with = [](const char* url, const char* more) {
    return error_of(std::string("[models.m]\napi = \"openai\"\nmodel = \"x\"\nkey_variable = \"K\"\nbase_url = \"") +
                    url + "\"\n" + more);
  };
  EXPECT_THAT(with("http://gpu7:8000/v1", ""), HasSubstr("would send the key unencrypted"));
  EXPECT_EQ(with("http://gpu7:8000/v1", "allow_plain_http = true\n"), "");
  EXPECT_EQ(with("http://127.0.0.1:8000/v1", ""), "");
  EXPECT_EQ(with("https://gpu7:8000/v1", ""), "");
  EXPECT_THAT(with("http://localhost.example.com/v1", ""), HasSubstr("would send the key unencrypted"));
  EXPECT_THAT(with("http://127.evil.example/v1", ""), HasSubstr("would send the key unencrypted"));
}

TEST(Client, MissingAndUnusableKeys) {
  ModelConfig config;
  config.name = "m";
  config.key_variable = "PTXBENCH_NO_SUCH_KEY";
  auto missing = make_client(config);
  ASSERT_FALSE(missing);
  EXPECT_EQ(missing.error().kind, ErrorKind::kUnavailable);
  EXPECT_THAT(missing.error().format(), HasSubstr("$PTXBENCH_NO_SUCH_KEY is not set"));
  ::setenv("PTXBENCH_BAD_KEY", "sk-0123456789\n", 1);
  config.key_variable = "PTXBENCH_BAD_KEY";
  auto unusable = make_client(config);
  ASSERT_FALSE(unusable);
  EXPECT_THAT(unusable.error().format(), Not(HasSubstr("0123456789")));
  config.api = Api::kReplay;
  EXPECT_EQ(make_client(config).error().kind, ErrorKind::kUnsupported);
}

TEST(Client, UnknownModelNamesTheOthers) {
  const auto models = parse_models(kMinimal, "f.toml").value();
  EXPECT_THAT(find_model(models, "n").error().format(), HasSubstr("it has: m"));
}

}  // namespace
}  // namespace ptxbench::agent
