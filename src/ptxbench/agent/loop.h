// One trajectory: ask, take the kernel out of the answer, judge, tell; until the target, the turns, or a stop.
#pragma once

#include <filesystem>
#include <functional>
#include <memory>
#include <stop_token>
#include <string>

#include "ptxbench/agent/budget.h"
#include "ptxbench/agent/judge_queue.h"
#include "ptxbench/agent/model/client.h"
#include "ptxbench/agent/plan.h"
#include "ptxbench/schema/trajectory.h"

namespace ptxbench::agent {

// What a run tells while it goes on.
struct Progress {
  enum class Step { kAsking, kAnswered, kJudged, kFinished, kSuspended, kEvaluatorIll, kEvaluatorWell };
  Step step = Step::kAsking;
  const schema::TrajectoryPlan* trajectory = nullptr;  // none for the evaluator's steps
  int turn = 0;
  std::string text;  // the reply's outcome, the turn's result, the reason
  double seconds = 0;
};
using Observer = std::function<void(const Progress&)>;  // from any thread, one call at a time

// What the trajectories of a run share.
struct LoopShared {
  const std::filesystem::path folder;  // of the run
  const RunPlan& plan;
  Budget& budget;
  JudgeQueue& queue;
  // A client for a trajectory that has had `answers` answers already.
  std::function<Result<std::shared_ptr<ModelClient>>(const schema::TrajectoryPlan&, std::size_t answers)> client;
  Observer observer;
  std::stop_token stop;     // no new request or evaluation begins; those in flight end
  std::stop_token give_up;  // requests in flight are cancelled too
};

// Goes on where the log ends: a reply that was not judged is judged, a request without a reply is sent again. Returns when the
// trajectory is over or suspended, both in its log. An Error: its log or folder cannot be read or written.
Status run_trajectory(const LoopShared& shared, const schema::TrajectoryPlan& plan);

// The inputs' seed of one evaluation: from the run's seed and what is judged, so that a repetition gives the same verdict.
std::uint64_t evaluation_seed(std::uint64_t run_seed, const std::string& trajectory, int turn,
                              const std::string& workload);

}  // namespace ptxbench::agent
