// A verdict while it is being found: the steps that every device path shares. Each step that can end the evaluation says
// whether it goes on.
#pragma once

#include <chrono>
#include <cstddef>
#include <string>
#include <utility>
#include <vector>

#include "ptxbench/judge/evaluate.h"
#include "ptxbench/judge/evidence.h"
#include "ptxbench/judge/inputs.h"
#include "ptxbench/judge/problem.h"

namespace ptxbench::judge {

class Draft {
 public:
  // An Error is the caller's: a definition that the judge has no reference for, a workload that does not fit it, an
  // unknown target. `request` must outlive the draft. device: VerdictFields::device.
  static Result<Draft> create(const EvaluateRequest& request, std::string device);

  // Compile layer and policy. False when the evaluation ends here.
  bool accept_build();
  // How a run ended. False when the outputs do not count.
  bool take_run(const RunOutcome& outcome, const std::string& schedule, double seconds);
  // Figures of a run. False when a family fails under the chosen rules.
  bool take_families(std::vector<schema::FamilyFigures> families);
  // Both rule sets over everything that ran; a rule set is met only if all planned runs were compared.
  void finish_correct(std::size_t planned);
  // launches[r]: those of run r. False when the target instructions did not do the work.
  Result<bool> judge_executed(const std::vector<std::vector<wire::LaunchRecord>>& launches, const CountSource& source);
  // A layer whose measurement failed: MEASUREMENT_VOID.
  void void_executed(std::string source, std::string reason);
  void void_fast(schema::FastLayer layer);
  // What a sanitizer found. An error makes a run that had ended well a failed one: RUNTIME_ERROR.
  void take_sanitizer(schema::SanitizerRun run);
  // Layers 1 and 2 had been met; a later call says otherwise. What they claimed is taken back.
  void take_back();
  void end(schema::VerdictStatus status, std::string message);

  // Tools that the request asks for and that gave no result get a record that says so.
  Result<schema::Verdict> finish();

  bool ended() const { return ended_; }
  schema::VerdictFields& fields() { return fields_; }
  const EvaluateRequest& request() const { return request_; }
  const schema::AxisValues& axes() const { return axes_; }
  const Problem& problem() const { return problem_; }
  std::uint64_t seed() const { return *fields_.seed; }

  // The candidate's arguments: inputs in the definition's order, then poisoned outputs. Without `inputs` their contents
  // are left for somebody else to write.
  std::vector<RunArgument> arguments(const std::vector<HostTensor>& inputs) const;

  void say(const std::string& what) const {
    if (request_.progress) request_.progress(what);
  }
  // Adds the wall time of body() to the phase of that name.
  template <class Body>
  auto phase(const char* name, Body&& body) {
    const PhaseTimer timer(*this, name);
    return body();
  }

 private:
  using Clock = std::chrono::steady_clock;
  class PhaseTimer {
   public:
    PhaseTimer(Draft& draft, const char* name) : draft_(draft), name_(name) {}
    ~PhaseTimer();
    PhaseTimer(const PhaseTimer&) = delete;
    PhaseTimer& operator=(const PhaseTimer&) = delete;

   private:
    Draft& draft_;
    const char* name_;
    Clock::time_point start_ = Clock::now();
  };
  Draft(const EvaluateRequest& request, schema::AxisValues axes, const Problem& problem, std::uint64_t seed);
  void describe();
  void note_missing_tools();

  const EvaluateRequest& request_;
  const schema::AxisValues axes_;
  const Problem problem_;
  const Clock::time_point start_ = Clock::now();
  schema::VerdictFields fields_;
  bool ended_ = false;
};

// For evaluations that ran out of this process's memory.
Error out_of_memory(const EvaluateRequest& request);

}  // namespace ptxbench::judge
