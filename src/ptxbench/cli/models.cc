// ptxbench models: the models of a models file, and whether one of them answers.
#include <fmt/format.h>

#include <cstdlib>

#include "ptxbench/agent/model/client.h"
#include "ptxbench/cli/command.h"

namespace ptxbench::cli {
namespace {

using namespace ptxbench::agent;

struct Options {
  std::string file, probe, prompt = "Answer with one word: which colour has the sky?";
};

std::string key_state(const ModelConfig& model) {
  if (model.key_variable.empty()) return "no key needed";
  const char* key = std::getenv(model.key_variable.c_str());
  return fmt::format("${} is {}set", model.key_variable, key == nullptr || *key == '\0' ? "not " : "");
}

int list(const std::vector<ModelConfig>& models) {
  for (const ModelConfig& model : models)
    fmt::print("{:<20} {:<10} {}  {}  ({})\n", model.name, to_string(model.api), model.model, model.base_url,
               key_state(model));
  return kExitPassed;
}

std::string count(const std::optional<std::int64_t>& tokens) { return tokens ? fmt::format("{}", *tokens) : "unknown"; }
std::string seconds(const std::optional<double>& time) { return time ? fmt::format("{:.3f} s", *time) : "-"; }

int probe(ModelConfig model, const std::string& prompt) {
  model.retry.attempts = 1;  // the question is whether it answers now
  auto client = make_client(model);
  if (!client) return report(client.error());
  const ModelReply reply = (*client)->complete({{{Role::kUser, prompt}}, {}});
  fmt::print("{}: {}{}{}\n", model.name, to_string(reply.outcome), reply.detail.empty() ? "" : ": ", reply.detail);
  for (const Attempt& attempt : reply.attempts)
    fmt::print("  attempt    HTTP {}, {} in {:.3f} s, {} bytes{}{}\n", attempt.http_status, to_string(attempt.outcome),
               attempt.duration_s, attempt.received_bytes, attempt.request_id.empty() ? "" : ", id ",
               attempt.request_id);
  fmt::print("  time       connected {}, first byte {}, first token {}, in all {:.3f} s\n",
             seconds(reply.timings.connected_s), seconds(reply.timings.first_byte_s),
             seconds(reply.timings.first_token_s), reply.timings.total_s);
  fmt::print("  tokens     input {} (cached {}), output {} (reasoning {})\n", count(reply.usage.input),
             count(reply.usage.cached_input), count(reply.usage.output), count(reply.usage.reasoning));
  fmt::print("  cost       {}\n", reply.cost_usd ? fmt::format("${:.6f}", *reply.cost_usd) : "unknown");
  if (!reply.served_model.empty()) fmt::print("  served by  {}\n", reply.served_model);
  if (!reply.reasoning_text.empty()) fmt::print("  reasoning\n{}\n", reply.reasoning_text);
  if (!reply.text.empty()) fmt::print("  answer\n{}\n", reply.text);
  if (is_turn(reply.outcome)) return kExitPassed;
  return may_pass_later(reply.outcome) ? kExitInfrastructure : kExitUsage;
}

int models(const Options& options) {
  std::filesystem::path file = options.file;
  if (file.empty()) {
    auto found = default_models_file();
    if (!found) return report(found.error());
    file = *found;
  }
  auto loaded = load_models(file);
  if (!loaded) return report(loaded.error());
  if (options.probe.empty()) return list(*loaded);
  auto model = find_model(*loaded, options.probe);
  return model ? probe(*model, options.prompt) : report(model.error());
}

}  // namespace

void add_models(CLI::App& app, int& exit_code) {
  CLI::App* command = add_command(app, "models", "Lists the models that can be asked, or asks one of them",
                                  "ptxbench models --probe qwen3.6-27b");
  auto options = std::make_shared<Options>();
  command->add_option("--models", options->file,
                      "The models file (default: $PTXBENCH_MODELS, or the one that is shipped)");
  command->add_option("--probe", options->probe,
                      "Sends one prompt to this model and shows outcome, time, tokens and cost");
  command->add_option("--prompt", options->prompt, "The prompt of --probe");
  command->callback([&exit_code, options] { exit_code = models(*options); });
}

}  // namespace ptxbench::cli
