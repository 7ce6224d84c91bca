#include "ptxbench/agent/experiment.h"

#include <fmt/format.h>

#include <toml++/toml.h>
#include <algorithm>
#include <cmath>
#include <set>

#include "ptxbench/agent/replay.h"
#include "ptxbench/base/file.h"
#include "ptxbench/schema/device_name.h"

namespace ptxbench::agent {
namespace {

std::string kind_of(const toml::node& node) {
  switch (node.type()) {
    case toml::node_type::string: return "a string";
    case toml::node_type::integer: return "an integer";
    case toml::node_type::floating_point: return "a fraction";
    case toml::node_type::boolean: return "a boolean";
    case toml::node_type::array: return "an array";
    case toml::node_type::table: return "a table";
    default: return "something else";
  }
}

// Reads the keys of one table. The first error is kept.
class Reader {
 public:
  Reader(const toml::table& table, std::string file) : table_(table), file_(std::move(file)) {}

  void text(const char* key, std::string& value) {
    if (const toml::node* node = take(key)) {
      if (const auto found = node->value_exact<std::string>())
        value = *found;
      else
        wrong(key, *node, kind_of(*node), "a string");
    }
  }
  void texts(const char* key, std::vector<std::string>& values) {
    const toml::node* node = take(key);
    if (node == nullptr) return;
    const toml::array* array = node->as_array();
    if (array == nullptr) return wrong(key, *node, kind_of(*node), "an array of strings");
    values.clear();
    for (const toml::node& element : *array) {
      const auto found = element.value_exact<std::string>();
      if (!found) return wrong(key, element, kind_of(element), "strings only");
      values.push_back(*found);
    }
    if (values.empty()) wrong(key, *node, "an empty array", "at least one");
  }
  template <class Integer>
  void integer(const char* key, Integer& value, std::int64_t least, std::int64_t most) {
    const toml::node* node = take(key);
    if (node == nullptr) return;
    const auto found = node->value_exact<std::int64_t>();
    const std::string expected = fmt::format("an integer from {} to {}", least, most);
    if (!found) return wrong(key, *node, kind_of(*node), expected);
    if (*found < least || *found > most) return wrong(key, *node, std::to_string(*found), expected);
    value = static_cast<Integer>(*found);
  }
  void positive(const char* key, std::optional<double>& value) {
    const toml::node* node = take(key);
    if (node == nullptr) return;
    const auto found = node->is_number() ? node->value<double>() : std::nullopt;
    if (!found) return wrong(key, *node, kind_of(*node), "a number above 0");
    if (!std::isfinite(*found) || *found <= 0) return wrong(key, *node, fmt::format("{}", *found), "a number above 0");
    value = *found;
  }
  // One of a closed set; parse gives none for a word that is not in it.
  template <class Value, class Parse>
  void choice(const char* key, Value& value, Parse&& parse, std::string_view allowed) {
    const toml::node* node = take(key);
    if (node == nullptr) return;
    const auto found = node->value_exact<std::string>();
    const auto parsed = found ? parse(*found) : decltype(parse(*found)){};
    if (!parsed) return wrong(key, *node, found ? fmt::format("'{}'", *found) : kind_of(*node), allowed);
    value = *parsed;
  }

  Status finish() {
    for (const auto& [key, node] : table_)
      if (!known_.contains(std::string(key.str())) && !error_)
        error_ = Error{ErrorKind::kInvalidInput,
                       fmt::format("unknown key '{}'", key.str()),
                       fmt::format("known are: {}", fmt::join(known_, ", ")),
                       {file_, static_cast<int>(key.source().begin.line), static_cast<int>(key.source().begin.column)},
                       {}};
    if (error_) return fail(std::move(*error_));
    return {};
  }

 private:
  const toml::node* take(const char* key) {
    known_.insert(key);
    return table_.get(key);
  }
  void wrong(const char* key, const toml::node& node, std::string_view found, std::string_view expected) {
    if (error_) return;
    error_ = Error{ErrorKind::kInvalidInput,
                   fmt::format("{}: found {}, expected {}", key, found, expected),
                   "",
                   {file_, static_cast<int>(node.source().begin.line), static_cast<int>(node.source().begin.column)},
                   {}};
  }

  const toml::table& table_;
  std::string file_;
  std::set<std::string> known_;
  std::optional<Error> error_;
};

std::optional<std::string> device_from(const std::string& text) {
  if (text == "auto" || text == "emu" || schema::gpu_number(text)) return text;
  return std::nullopt;
}

// A recording's path as seen from the experiment file's folder.
std::string resolved(const std::string& model, const std::filesystem::path& folder) {
  const std::string path = replay_path(model);
  return path.empty() ? model : "replay:" + (folder / path).lexically_normal().string();
}

Status check_list(std::string_view key, const std::vector<std::string>& values) {
  if (values.empty()) return fail(ErrorKind::kInvalidInput, fmt::format("{}: none given, expected at least one", key));
  std::set<std::string> seen;
  for (const std::string& value : values)
    if (value.empty() || !seen.insert(value).second)
      return fail(ErrorKind::kInvalidInput, fmt::format("{}: '{}' stands twice or is empty", key, value),
                  "equal trajectories are asked for by `trajectories`");
  return {};
}

std::string list(const std::vector<std::string>& values) {
  std::vector<std::string> quoted;
  for (const std::string& value : values) {
    std::string escaped;
    for (const char c : value) {
      if (c == '"' || c == '\\') escaped += '\\';
      escaped += c;
    }
    quoted.push_back('"' + escaped + '"');
  }
  return fmt::format("[{}]", fmt::join(quoted, ", "));
}

}  // namespace

Experiment default_experiment() {
  Experiment experiment;
  experiment.record.name = "experiment";
  experiment.record.tasks = {"gemm_n7168_k5120"};
  experiment.record.targets = {"hopper"};
  experiment.record.packs = {"L3"};
  experiment.record.workload = "emu";
  experiment.record.device = "auto";
  return experiment;
}

Result<Experiment> parse_experiment(std::string_view text, const std::filesystem::path& file) {
  Experiment experiment = default_experiment();
  experiment.record.name = file.stem().string();
  toml::table table;
  try {
    table = toml::parse(text, file.string());
  } catch (const toml::parse_error& error) {
    const auto& where = error.source().begin;
    return fail(Error{ErrorKind::kInvalidInput,
                      fmt::format("not TOML: {}", error.description()),
                      "",
                      {file.string(), static_cast<int>(where.line), static_cast<int>(where.column)},
                      {}});
  }
  Reader reader(table, file.string());
  schema::ExperimentRecord& record = experiment.record;
  std::string models_file;
  reader.text("name", record.name);
  reader.texts("models", record.models);
  reader.texts("tasks", record.tasks);
  reader.texts("targets", record.targets);
  reader.texts("packs", record.packs);
  reader.integer("trajectories", record.trajectories, 1, kMostTrajectories);
  reader.integer("turns", record.turns, 1, kMostTurns);
  reader.positive("target_speedup", record.target_speedup);
  reader.choice("context", record.context, schema::context_policy_from, "full, latest-pair or single-user");
  reader.choice("rules", record.rules, schema::rule_set_from, "strict or paper");
  reader.text("workload", record.workload);
  reader.choice("device", record.device, device_from, "auto, emu, gpu or gpu:N");
  reader.positive("max_cost_usd", record.max_cost_usd);
  reader.text("models_file", models_file);
  if (table.contains("seed")) reader.integer("seed", experiment.seed.emplace(), 0, INT64_MAX);
  std::optional<std::uint64_t> unused;  // "seed" is a known key also where it is absent
  if (!table.contains("seed")) reader.integer("seed", unused.emplace(), 0, INT64_MAX);
  PTXBENCH_TRY_STATUS(reader.finish());
  for (std::string& model : record.models) model = resolved(model, file.parent_path());
  if (!models_file.empty()) experiment.models_file = (file.parent_path() / models_file).lexically_normal();
  return experiment;
}

Result<Experiment> load_experiment(const std::filesystem::path& file) {
  PTXBENCH_TRY(const std::string text, read_file(file, std::uint64_t{1} << 20));
  return parse_experiment(text, file);
}

Status check(const Experiment& experiment) {
  const schema::ExperimentRecord& record = experiment.record;
  PTXBENCH_TRY_STATUS(check_list("models", record.models));
  PTXBENCH_TRY_STATUS(check_list("tasks", record.tasks));
  PTXBENCH_TRY_STATUS(check_list("targets", record.targets));
  return check_list("packs", record.packs);
}

std::string to_toml(const Experiment& experiment) {
  const schema::ExperimentRecord& record = experiment.record;
  std::string text = fmt::format("name = {}\nmodels = {}\ntasks = {}\ntargets = {}\npacks = {}\n",
                                 list({record.name}).substr(1, list({record.name}).size() - 2), list(record.models),
                                 list(record.tasks), list(record.targets), list(record.packs));
  text += fmt::format("trajectories = {}\nturns = {}\n", record.trajectories, record.turns);
  if (record.target_speedup) text += fmt::format("target_speedup = {}\n", *record.target_speedup);
  text +=
      fmt::format("context = \"{}\"\nrules = \"{}\"\nworkload = \"{}\"\ndevice = \"{}\"\n",
                  schema::to_string(record.context), schema::to_string(record.rules), record.workload, record.device);
  if (record.max_cost_usd) text += fmt::format("max_cost_usd = {}\n", *record.max_cost_usd);
  if (experiment.seed) text += fmt::format("seed = {}\n", *experiment.seed);
  return text;
}

}  // namespace ptxbench::agent
