#include "ptxbench/agent/plan.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstring>
#include <random>

#include "ptxbench/agent/budget.h"
#include "ptxbench/agent/event_writer.h"
#include "ptxbench/agent/feedback.h"
#include "ptxbench/agent/prompt.h"
#include "ptxbench/base/check.h"
#include "ptxbench/base/file.h"
#include "ptxbench/base/hash.h"

namespace ptxbench::agent {
namespace {

std::string text_of(std::optional<double> value) { return value ? fmt::format("{}", *value) : "-"; }
std::string text_of(std::optional<std::int64_t> value) { return value ? fmt::format("{}", *value) : "-"; }

// Everything that decides what is sent and therefore what may come back; not prices, time limits and retries.
std::string settings_hash(const PlannedModel& model) {
  if (model.recording) return sha256_hex(model.recording_json);
  const ModelConfig& c = model.config;
  return sha256_hex(fmt::format("{}\n{}\n{}\n{}\n{}\n{} {} {} {} {} {} {} {}\n{} {} {} {}\n{}\n{}", to_string(c.api),
                                c.model, c.base_url, text_of(c.context_tokens), text_of(c.max_output_tokens),
                                text_of(c.sampling.temperature), text_of(c.sampling.top_p), text_of(c.sampling.min_p),
                                text_of(c.sampling.presence_penalty), text_of(c.sampling.frequency_penalty),
                                text_of(c.sampling.repetition_penalty), text_of(c.sampling.top_k),
                                text_of(c.sampling.seed), c.reasoning.effort, text_of(c.reasoning.budget_tokens),
                                c.reasoning.adaptive, c.reasoning.show, fmt::join(c.stop, "\n"), c.extra_body));
}

Result<PlannedModel> read_replay(const std::string& name) {
  PlannedModel model;
  PTXBENCH_TRY(model.recording_json, read_file(replay_path(name), std::uint64_t{256} << 20));
  PTXBENCH_TRY(model.recording, read_recording(model.recording_json, replay_path(name)));
  model.config.name = name;
  model.config.api = Api::kReplay;
  model.config.model = "recording";
  // Nothing is sent: the recorded answers cost nothing again.
  model.config.prices.input = model.config.prices.output = 0;
  model.config.max_output_tokens = 0;
  model.config.retry.paid_repeats = 0;
  return model;
}

std::uint64_t random_seed() {
  std::random_device device;
  return (static_cast<std::uint64_t>(device()) << 32 | device()) >> 1;  // fits the integers of JSON and TOML
}

Status check_budget(const RunPlan& plan) {
  if (!plan.manifest.experiment.max_cost_usd) return {};
  for (const PlannedModel& model : plan.models)
    if (!cost_bound(model.config, 0))
      return fail(ErrorKind::kInvalidInput,
                  fmt::format("model '{}' has no prices or no max_output_tokens in the models file: a budget of {} USD "
                              "cannot be kept",
                              model.config.name, *plan.manifest.experiment.max_cost_usd),
                  "add them (0 for a server of your own), or leave the budget out");
  return {};
}

class Planner {
 public:
  Planner(const Experiment& experiment, Evaluator& evaluator, const PackSet& packs)
      : experiment_(experiment), evaluator_(evaluator), packs_(packs) {}

  Result<RunPlan> plan() {
    schema::RunManifest& manifest = plan_.manifest;
    manifest.experiment = experiment_.record;
    manifest.seed = experiment_.seed.value_or(random_seed());
    manifest.created = utc_now();
    manifest.versions = evaluator_.versions();
    PTXBENCH_TRY(plan_.models, find_models(experiment_));
    for (const PlannedModel& model : plan_.models)
      manifest.models.push_back({model.config.name, std::string(to_string(model.config.api)), model.config.model,
                                 settings_hash(model), model.recording.has_value()});
    for (const std::string& target : experiment_.record.targets)
      for (const std::string& level : experiment_.record.packs) PTXBENCH_TRY_STATUS(add_pack(target, level));
    for (const std::string& task : experiment_.record.tasks)
      for (const std::string& target : experiment_.record.targets) PTXBENCH_TRY_STATUS(add_task(task, target));
    PTXBENCH_TRY_STATUS(check_budget(plan_));
    return std::move(plan_);
  }

 private:
  std::string keep_prompt(std::string text) {
    std::string hash = sha256_hex(text);
    plan_.prompts.emplace(hash, std::move(text));
    return hash;
  }

  Status add_pack(const std::string& target, const std::string& level) {
    PTXBENCH_TRY(PackPrompt pack, packs_.prompt(target, level));
    plan_.manifest.packs.push_back({target, level, pack.sha256, pack.tokens});
    systems_[{target, level}] = keep_prompt(system_prompt(target, pack.text, experiment_.record.turns));
    plan_.include_folders[{target, level}] = std::move(pack.include_folders);
    return {};
  }

  Status add_task(const std::string& task, const std::string& target) {
    PTXBENCH_TRY(const TaskInfo info, evaluator_.task(task, target, experiment_.record.workload));
    schema::TrajectoryPlan trajectory;
    trajectory.task = task;
    trajectory.target = target;
    trajectory.judged_task = info.definition.name;
    for (const schema::Workload& workload : info.workloads) trajectory.workloads.push_back(workload.uuid);
    trajectory.task_sha256 = keep_prompt(task_prompt(info, target, experiment_.record));
    for (const PlannedModel& model : plan_.models)
      for (const std::string& level : experiment_.record.packs)
        for (int repeat = 1; repeat <= experiment_.record.trajectories; ++repeat) {
          trajectory.id = fmt::format("{:03}", plan_.manifest.trajectories.size() + 1);
          trajectory.model = model.config.name;
          trajectory.pack = level;
          trajectory.repeat = repeat;
          trajectory.system_sha256 = systems_[{target, level}];
          plan_.manifest.trajectories.push_back(trajectory);
        }
    return {};
  }

  const Experiment& experiment_;
  Evaluator& evaluator_;
  const PackSet& packs_;
  RunPlan plan_;
  std::map<std::pair<std::string, std::string>, std::string> systems_;
};

}  // namespace

Result<std::vector<PlannedModel>> find_models(const Experiment& experiment) {
  std::vector<PlannedModel> models;
  std::optional<std::vector<ModelConfig>> rows;
  for (const std::string& name : experiment.record.models) {
    if (!replay_path(name).empty()) {
      PTXBENCH_TRY(PlannedModel model, read_replay(name));
      models.push_back(std::move(model));
      continue;
    }
    if (!rows) {
      std::filesystem::path file = experiment.models_file;
      if (file.empty()) {
        PTXBENCH_TRY(file, default_models_file());
      }
      PTXBENCH_TRY(rows, load_models(file));
    }
    PlannedModel model;
    PTXBENCH_TRY(model.config, find_model(*rows, name));
    models.push_back(std::move(model));
  }
  return models;
}

const PlannedModel& RunPlan::model(const std::string& name) const {
  for (const PlannedModel& model : models)
    if (model.config.name == name) return model;
  internal_error(__FILE__, __LINE__, "model in plan", name);
}

std::optional<double> RunPlan::cost_bound(const schema::TrajectoryPlan& trajectory) const {
  const ModelConfig& config = model(trajectory.model).config;
  const std::size_t first = prompts.at(trajectory.system_sha256).size() + prompts.at(trajectory.task_sha256).size();
  const std::int64_t per_turn = config.max_output_tokens.value_or(0) + token_bound(kLargestFeedback, 2);
  double total = 0;
  for (int turn = 0; turn < manifest.experiment.turns; ++turn) {
    const int shown = manifest.experiment.context == schema::ContextPolicy::kLatestPair ? std::min(turn, 1) : turn;
    const auto bound = agent::cost_bound(config, token_bound(first, 2) + shown * per_turn);
    if (!bound) return std::nullopt;
    total += *bound;
  }
  return total;
}

Result<RunPlan> plan_run(const Experiment& experiment, Evaluator& evaluator, const PackSet& packs) {
  PTXBENCH_TRY_STATUS(check(experiment));
  return Planner(experiment, evaluator, packs).plan();
}

}  // namespace ptxbench::agent
