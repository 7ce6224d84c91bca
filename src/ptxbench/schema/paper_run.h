// Files of a run of the paper's own implementation (repository zhang677/PTXBench), as its published code writes them. No
// such run is public: the layout follows that code.
//   plan.json                   {config, plan: [{exp_index, num_turns, prompt_tag, definition, test_path, ...}]}
//   trajectories/exp_NNN.json   {info: {config: {model: {model_name}}, exit_status}, messages, trajectory_format}; messages
//                               have the roles system, user, (assistant, user) x turns, exit
// Fields that are not read here may hold anything; those that are read are checked, with the line in every error.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "ptxbench/base/result.h"

namespace ptxbench::schema {

struct PaperPlanItem {
  int index = 0;  // exp_NNN
  int turns = 0;
  std::string prompt_tag, definition, test_path;
  int line = 0;  // in plan.json
};

struct PaperTrace {
  std::string workload;           // UUID; empty: the trace does not name it
  std::string status;             // of the evaluation
  std::optional<double> speedup;  // absent: not timed
  std::string evaluation;         // JSON object with "status" and "workload" first
};

struct PaperTurn {
  std::string answer, reasoning, feedback;
  std::string event;  // "evaluation", "test_failed", "no_code", "cublas_banned", ...; empty: not given
  std::vector<PaperTrace> traces;
  std::optional<double> min_speedup;
  std::optional<std::int64_t> input_tokens, output_tokens, reasoning_tokens;
  std::optional<double> cost_usd;
  std::optional<double> seconds;  // since the feedback before; none for the first turn
};

struct PaperTrajectory {
  std::string model;                       // as the implementation's library names it: "anthropic/claude-opus-4-8"
  std::string system;                      // the first message
  std::optional<std::string> exit_status;  // none: the trajectory is not over
  std::vector<PaperTurn> turns;            // answers that got feedback
};

// In the order of the file. kInvalidInput when an index stands twice.
Result<std::vector<PaperPlanItem>> paper_plan_from_json(std::string_view text, const std::string& file_name);

Result<PaperTrajectory> paper_trajectory_from_json(std::string_view text, const std::string& file_name);

}  // namespace ptxbench::schema
