// What a models file (TOML, docs/models.md) says about one model: where it is, how it is asked, what it costs.
#pragma once

#include <chrono>
#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "ptxbench/base/result.h"

namespace ptxbench::agent {

// Which protocol the server speaks.
enum class Api {
  kOpenAi,     // POST {base_url}/chat/completions: OpenAI, vLLM, SGLang, llama.cpp, OpenRouter, Together, ...
  kAnthropic,  // POST {base_url}/v1/messages
  kGemini,     // POST {base_url}/v1beta/models/{model}:streamGenerateContent
  kReplay,     // no server: a recorded trajectory's answers (agent/replay.h)
};
std::string_view to_string(Api api);
std::optional<Api> api_from_text(std::string_view text);

// US dollars per million tokens. An absent price makes every cost that needs it unknown; it never counts as 0.
struct Prices {
  std::optional<double> input, cached_input, cache_write, output;
  std::optional<std::int64_t>
      up_to_input_tokens;  // these prices hold up to there; the cost of a longer prompt is unknown
};

// Sampling; an absent value is not sent, so that the provider's default holds.
struct Sampling {
  std::optional<double> temperature, top_p, min_p, presence_penalty, frequency_penalty, repetition_penalty;
  std::optional<std::int64_t> top_k, seed;
};

// What the model is told about thinking. Each client sends it under its provider's names (docs/models.md) and
// load_models() refuses what the provider has no name for.
struct Reasoning {
  std::string effort;                         // "none", "low", "high", "xhigh", ...; empty: not sent
  std::optional<std::int64_t> budget_tokens;  // -1 on Gemini: the model decides
  bool adaptive = false;                      // Anthropic: thinking {"type": "adaptive"}
  bool show = true;                           // ask for the reasoning's text (or its summary) where that is an option
};

struct TimeLimits {
  std::chrono::milliseconds connect{10'000};       // name look-up, TCP and TLS
  std::chrono::milliseconds first_token{600'000};  // from the sent request to the first token of reasoning or answer
  std::chrono::milliseconds silence{300'000};      // without a single byte, after the first token
  std::chrono::milliseconds total{3'600'000};      // the whole call, with retries and the waits between them
};

struct RetryPolicy {
  int attempts = 6;  // in all, the first one included
  // Of these, repetitions after an attempt that the provider may charge for: it was accepted, then lost half way.
  int paid_repeats = 1;
  std::chrono::milliseconds first_wait{1'000};  // doubled each time, with jitter between half and all of it
  std::chrono::milliseconds longest_wait{120'000};
};

struct ModelConfig {
  std::string name;  // the table's key: what experiments and commands call it
  Api api = Api::kOpenAi;
  std::string model;         // what the provider calls it
  std::string base_url;      // without a trailing slash
  std::string key_variable;  // the environment variable with the key; empty: the server wants none
  std::optional<std::int64_t> context_tokens;
  std::optional<std::int64_t> max_output_tokens;  // reasoning included; Anthropic needs it
  std::string output_limit_field =
      "max_completion_tokens";  // kOpenAi: or "max_tokens", for servers that know only that
  bool prompt_cache = false;    // kAnthropic: mark the system text and the last message for the provider's cache
  Sampling sampling;
  Reasoning reasoning;
  std::vector<std::string> stop;
  std::string extra_body = "{}";  // JSON object, merged into the request's body as it is (e.g. a router's "provider")
  Prices prices;
  TimeLimits limits;
  RetryPolicy retry;
};

// Every model of a models file, in the file's order. Unknown keys, wrong types, settings that the model's api cannot
// carry and two models of one name are errors that name the place.
Result<std::vector<ModelConfig>> load_models(const std::filesystem::path& file);
Result<std::vector<ModelConfig>> parse_models(std::string_view toml, const std::string& file_name);

// The model of that name; kNotFound lists the names that exist.
Result<ModelConfig> find_model(const std::vector<ModelConfig>& models, const std::string& name);

// Whether a URL's host is this machine, by the whole host: localhost.example.com and 127.example.com are elsewhere.
bool is_loopback(std::string_view url);

// The models file that is used when none is named: $PTXBENCH_MODELS, or models.toml beside the program's data.
Result<std::filesystem::path> default_models_file();

}  // namespace ptxbench::agent
