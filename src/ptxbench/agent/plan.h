// From an experiment to the run's plan: every trajectory with its prompts, and the most that it can cost.
#pragma once

#include <filesystem>
#include <map>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "ptxbench/agent/evaluator.h"
#include "ptxbench/agent/experiment.h"
#include "ptxbench/agent/model/config.h"
#include "ptxbench/agent/packs.h"
#include "ptxbench/agent/replay.h"
#include "ptxbench/schema/trajectory.h"

namespace ptxbench::agent {

// A model that the experiment names: a row of the models file, or a recording.
struct PlannedModel {
  ModelConfig config;
  std::optional<Recording> recording;
  std::string recording_json;  // the file's bytes
};

// Rows of the models file by name, recordings read. Keys are not looked at.
Result<std::vector<PlannedModel>> find_models(const Experiment& experiment);

struct RunPlan {
  schema::RunManifest manifest;
  std::vector<PlannedModel> models;            // as manifest.models
  std::map<std::string, std::string> prompts;  // SHA-256 -> text
  // (target, pack) -> folders of the pack's headers.
  std::map<std::pair<std::string, std::string>, std::vector<std::filesystem::path>> include_folders;

  const PlannedModel& model(const std::string& name) const;
  // Upper bound in dollars of the trajectory's `turns`: every byte that the model reads counted as a token, every answer
  // and feedback as long as it may be. None: the model has no prices or no output limit.
  std::optional<double> cost_bound(const schema::TrajectoryPlan& trajectory) const;
};

// Order: task, target, model, pack, repeat. Errors are the evaluator's (no such task, a target that the device does not
// execute), the packs' (a level that the target does not have), or a budget that cannot be kept because a model has no prices.
Result<RunPlan> plan_run(const Experiment& experiment, Evaluator& evaluator, const PackSet& packs);

}  // namespace ptxbench::agent
