#include "ptxbench/agent/model/config.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cstdlib>
#include <nlohmann/json.hpp>

#include "ptxbench/agent/model/toml_table.h"
#include "ptxbench/base/file.h"

namespace ptxbench::agent {
namespace {

using Json = nlohmann::ordered_json;
using std::chrono::milliseconds;

// Which api knows a setting.
enum Apis : unsigned { kO = 1, kA = 2, kG = 4, kServers = 7 };
unsigned bit_of(Api api) {
  switch (api) {
    case Api::kOpenAi: return kO;
    case Api::kAnthropic: return kA;
    case Api::kGemini: return kG;
    case Api::kReplay: return 0;
  }
  return 0;
}

class ModelReader {
 public:
  ModelReader(const toml::table& table, const std::string& name, TomlErrors& errors)
      : errors_(errors), path_("models." + name), top_(table, path_, errors) {
    config_.name = name;
  }

  ModelConfig read() {
    read_api();
    top_.read("model", config_.model);
    top_.require("model");
    if (config_.api != Api::kReplay) read_server();
    setting(top_, "context_tokens", config_.context_tokens, kServers, 1, 1e9);
    setting(top_, "max_output_tokens", config_.max_output_tokens, kServers, 1, 1e9);
    if (config_.api == Api::kAnthropic) top_.require("max_output_tokens");
    setting(top_, "output_limit_field", config_.output_limit_field, kO);
    if (config_.output_limit_field != "max_completion_tokens" && config_.output_limit_field != "max_tokens")
      top_.complain("output_limit_field", "expected \"max_completion_tokens\" or \"max_tokens\"");
    setting(top_, "prompt_cache", config_.prompt_cache, kA);
    setting(top_, "stop", config_.stop, kServers);
    nested("sampling", [&](TomlTable& table) { read_sampling(table); });
    nested("reasoning", [&](TomlTable& table) { read_reasoning(table); });
    nested("prices", [&](TomlTable& table) { read_prices(table); });
    nested("limits", [&](TomlTable& table) { read_limits(table); });
    nested("retry", [&](TomlTable& table) { read_retry(table); });
    read_extra();
    top_.refuse_unknown();
    return std::move(config_);
  }

 private:
  // Reads a setting, or says that this api has no such thing.
  template <class T>
  void setting(TomlTable& table, std::string_view key, T& value, unsigned apis) {
    if (table.has(key) && (apis & bit_of(config_.api)) == 0)
      table.complain(key, fmt::format("api \"{}\" has no such setting", to_string(config_.api)));
    table.read(key, value);
  }
  template <class T>
  void setting(TomlTable& table, std::string_view key, std::optional<T>& value, unsigned apis, double least,
               double most) {
    setting(table, key, value, apis);
    if (value && !(static_cast<double>(*value) >= least && static_cast<double>(*value) <= most))
      table.complain(key, fmt::format("is {}, expected {} to {}", *value, least, most));
  }

  template <class Body>
  void nested(const char* key, Body&& body) {
    const toml::table* table = top_.table(key);
    if (table == nullptr) return;
    TomlTable reader(*table, fmt::format("{}.{}", path_, key), errors_);
    body(reader);
    reader.refuse_unknown();
  }

  void read_api() {
    std::string text;
    top_.read("api", text);
    top_.require("api");
    if (const auto api = api_from_text(text)) {
      config_.api = *api;
    } else if (!text.empty()) {
      top_.complain("api", fmt::format("is \"{}\", expected openai, anthropic, gemini or replay", text));
    }
  }

  void read_server() {
    top_.read("base_url", config_.base_url);
    top_.require("base_url");
    check_url();
    for (const char* key : {"key", "api_key", "token"})
      if (top_.has(key))
        top_.complain(key, "keys do not belong into a file", "name an environment variable in key_variable");
    top_.read("key_variable", config_.key_variable);
    const bool is_name = std::all_of(config_.key_variable.begin(), config_.key_variable.end(), [](char c) {
      return (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_';
    });
    // The value is not quoted: it may be a key that somebody put here.
    if (!is_name) top_.complain("key_variable", "is no name of an environment variable (A-Z, 0-9, _)");
    bool allow_plain_http = false;
    top_.read("allow_plain_http", allow_plain_http);
    if (!config_.key_variable.empty() && config_.base_url.starts_with("http://") && !is_loopback(config_.base_url) &&
        !allow_plain_http)
      top_.complain("base_url", "would send the key unencrypted",
                    "use https, or set allow_plain_http = true on a network that you trust");
  }

  void check_url() {
    std::string& url = config_.base_url;
    while (url.ends_with('/')) url.pop_back();
    if (url.empty()) return;
    if (!url.starts_with("http://") && !url.starts_with("https://"))
      top_.complain("base_url", "expected http:// or https:// in front");
    if (url.find_first_of("@?#") != std::string::npos) {
      url.clear();
      top_.complain("base_url", "has a user, a query or a fragment",
                    "only scheme, host, port and path; keys go into key_variable");
    }
  }

  void read_sampling(TomlTable& table) {
    Sampling& sampling = config_.sampling;
    setting(table, "temperature", sampling.temperature, kServers, 0, 2);
    setting(table, "top_p", sampling.top_p, kServers, 0, 1);
    setting(table, "top_k", sampling.top_k, kServers, -1, 1e6);
    setting(table, "min_p", sampling.min_p, kO, 0, 1);
    setting(table, "presence_penalty", sampling.presence_penalty, kO | kG, -2, 2);
    setting(table, "frequency_penalty", sampling.frequency_penalty, kO | kG, -2, 2);
    setting(table, "repetition_penalty", sampling.repetition_penalty, kO, 0, 2);
    setting(table, "seed", sampling.seed, kO | kG, 0, 2147483647);
  }

  void read_reasoning(TomlTable& table) {
    Reasoning& reasoning = config_.reasoning;
    setting(table, "effort", reasoning.effort, kServers);
    setting(table, "budget_tokens", reasoning.budget_tokens, kA | kG, -1, 1e9);
    setting(table, "adaptive", reasoning.adaptive, kA);
    setting(table, "show", reasoning.show, kA | kG);
    if (reasoning.adaptive && reasoning.budget_tokens)
      table.complain("budget_tokens", "excludes adaptive", "leave one of the two out");
    if (config_.api == Api::kGemini && !reasoning.effort.empty() && reasoning.budget_tokens)
      table.complain("budget_tokens", "excludes effort (thinkingBudget and thinkingLevel)", "leave one of the two out");
  }

  void read_prices(TomlTable& table) {
    constexpr double kMost = 1e6;
    setting(table, "input", config_.prices.input, kServers, 0, kMost);
    setting(table, "cached_input", config_.prices.cached_input, kServers, 0, kMost);
    setting(table, "cache_write", config_.prices.cache_write, kServers, 0, kMost);
    setting(table, "output", config_.prices.output, kServers, 0, kMost);
    setting(table, "up_to_input_tokens", config_.prices.up_to_input_tokens, kServers, 1, 1e9);
  }

  void seconds(TomlTable& table, std::string_view key, milliseconds& value) {
    std::optional<double> number;
    setting(table, key, number, kServers, 0.001, 1e6);
    if (number) value = milliseconds(static_cast<std::int64_t>(*number * 1000));
  }

  void read_limits(TomlTable& table) {
    seconds(table, "connect_s", config_.limits.connect);
    seconds(table, "first_token_s", config_.limits.first_token);
    seconds(table, "silence_s", config_.limits.silence);
    seconds(table, "total_s", config_.limits.total);
  }

  void read_retry(TomlTable& table) {
    table.read("attempts", config_.retry.attempts);
    if (config_.retry.attempts < 1 || config_.retry.attempts > 100) table.complain("attempts", "expected 1 to 100");
    table.read("paid_repeats", config_.retry.paid_repeats);
    seconds(table, "first_wait_s", config_.retry.first_wait);
    seconds(table, "longest_wait_s", config_.retry.longest_wait);
  }

  void read_extra() {
    const toml::table* table = top_.table("extra");
    if (table == nullptr) return;
    for (const char* key : {"model", "messages", "contents", "system", "systemInstruction", "stream"})
      if (table->contains(key)) top_.complain("extra", fmt::format("'{}' is ptxbench's own to send", key));
    config_.extra_body = json_of(*table).dump();
  }

  Json json_of(const toml::node& node) {
    if (const auto* table = node.as_table()) {
      Json object = Json::object();
      for (const auto& [key, value] : *table) object[std::string(key.str())] = json_of(value);
      return object;
    }
    if (const auto* array = node.as_array()) {
      Json list = Json::array();
      for (const toml::node& element : *array) list.push_back(json_of(element));
      return list;
    }
    if (const auto* text = node.as_string()) return text->get();
    if (const auto* boolean = node.as_boolean()) return boolean->get();
    if (const auto* integer = node.as_integer()) return integer->get();
    if (const auto* number = node.as_floating_point()) return number->get();
    errors_.add(&node, fmt::format("'{}.extra': JSON has no dates", path_));
    return nullptr;
  }

  TomlErrors& errors_;
  std::string path_;
  TomlTable top_;
  ModelConfig config_;
};

bool is_model_name(std::string_view name) {
  return !name.empty() && name.front() != '.' &&
         name.find_first_not_of(
             "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ"
             "0123456789._-") == std::string_view::npos;
}

}  // namespace

bool is_loopback(std::string_view url) {
  const std::size_t scheme = url.find("://");
  std::string_view host = scheme == std::string_view::npos ? url : url.substr(scheme + 3);
  host = host.substr(0, host.find('/'));
  if (host == "[::1]" || host.starts_with("[::1]:")) return true;
  host = host.substr(0, host.find(':'));
  return host == "localhost" ||
         (host.starts_with("127.") && host.find_first_not_of("0123456789.") == std::string_view::npos);
}

Result<std::vector<ModelConfig>> parse_models(std::string_view text, const std::string& file_name) {
  PTXBENCH_TRY(const toml::table root, parse_toml(text, file_name));
  TomlErrors errors{file_name, {}};
  TomlTable top(root, "", errors);
  std::vector<std::pair<int, ModelConfig>> models;  // toml++ sorts by name; the file's order is told by the lines
  if (const toml::table* table = top.table("models")) {
    for (const auto& [key, node] : *table) {
      const std::string name(key.str());
      if (!is_model_name(name)) {
        errors.add(&node, fmt::format("'{}' is no model name: letters, digits, '.', '_' and '-' only", name),
                   "quote names with a dot: [models.\"glm-5.2\"]");
      } else if (const toml::table* model = node.as_table()) {
        models.emplace_back(static_cast<int>(key.source().begin.line), ModelReader(*model, name, errors).read());
      } else {
        errors.add(&node, fmt::format("'models.{}' is no table", name));
      }
    }
  }
  top.refuse_unknown();
  if (!errors.errors.empty()) return fail(errors.take());
  std::stable_sort(models.begin(), models.end(), [](const auto& a, const auto& b) { return a.first < b.first; });
  std::vector<ModelConfig> sorted;
  for (auto& [line, model] : models) sorted.push_back(std::move(model));
  return sorted;
}

Result<std::vector<ModelConfig>> load_models(const std::filesystem::path& file) {
  PTXBENCH_TRY(const std::string text, read_file(file, 1 << 20));
  return parse_models(text, file.string());
}

Result<ModelConfig> find_model(const std::vector<ModelConfig>& models, const std::string& name) {
  std::vector<std::string> names;
  for (const ModelConfig& model : models) {
    if (model.name == name) return model;
    names.push_back(model.name);
  }
  return fail(ErrorKind::kNotFound, fmt::format("no model '{}' in the models file", name),
              names.empty() ? "the file has none" : fmt::format("it has: {}", fmt::join(names, ", ")));
}

Result<std::filesystem::path> default_models_file() {
  namespace fs = std::filesystem;
  if (const char* named = std::getenv("PTXBENCH_MODELS"); named != nullptr && *named != '\0') return fs::path(named);
  std::error_code error;
  std::vector<std::string> candidates;
  const fs::path program = fs::read_symlink("/proc/self/exe", error);
  if (!error) candidates.push_back(program.parent_path().parent_path() / "share/ptxbench/models.toml");
  candidates.emplace_back(PTXBENCH_MODELS_FILE);
  for (const std::string& candidate : candidates)
    if (fs::is_regular_file(candidate, error)) return fs::path(candidate);
  return fail(ErrorKind::kNotFound, fmt::format("no models file: looked in {}", fmt::join(candidates, " and ")),
              "set PTXBENCH_MODELS to a file as docs/models.md describes");
}

}  // namespace ptxbench::agent
