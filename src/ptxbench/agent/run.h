// A whole run: its folder, its trajectories in parallel, its end.
#pragma once

#include <filesystem>
#include <stop_token>
#include <vector>

#include "ptxbench/agent/evaluator.h"
#include "ptxbench/agent/judge_queue.h"
#include "ptxbench/agent/loop.h"
#include "ptxbench/agent/plan.h"
#include "ptxbench/base/unique_fd.h"
#include "ptxbench/schema/run_folder.h"

namespace ptxbench::agent {

// Writes the folder of a new run: prompts, recordings, experiment.toml, models.toml, and run.json last. kInvalidInput when the
// folder holds anything already.
Status create_run(const std::filesystem::path& folder, const Experiment& experiment, const RunPlan& plan);

// The plan of a folder that create_run() wrote, with its own copies of models and recordings. The packs' headers must still be
// those of the plan: kInvalidInput otherwise.
Result<RunPlan> reopen_run(const std::filesystem::path& folder, const PackSet& packs);

// Held while a run goes on; a second ptxbench run on the same folder is refused (kUnavailable).
Result<UniqueFd> lock_run(const std::filesystem::path& folder);

struct RunOptions {
  int parallel = 1;                    // trajectories at a time, each in a thread that mostly waits
  std::optional<double> max_cost_usd;  // instead of the experiment's
  Patience patience;
  Observer observer;
  std::stop_token stop, give_up;  // loop.h
};

// Every trajectory that is not over, in plan order, then summary.json. What became of them is in the folder. An Error only when
// folder or logs fail; trajectories that failed alone are in `failures`.
struct RunResult {
  schema::Run run;  // as it is on disk now
  std::vector<std::string> failures;
  bool complete() const;
};
Result<RunResult> run_all(const std::filesystem::path& folder, const RunPlan& plan, Evaluator& evaluator,
                          const RunOptions& options);

}  // namespace ptxbench::agent
