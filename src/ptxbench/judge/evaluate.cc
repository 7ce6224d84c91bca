#include "ptxbench/judge/evaluate.h"

#include <fmt/format.h>

#include <chrono>
#include <future>
#include <new>

#include "ptxbench/judge/compare.h"
#include "ptxbench/judge/draft.h"
#include "ptxbench/judge/inputs.h"

namespace ptxbench::judge {
namespace {

using schema::VerdictStatus;
using Clock = std::chrono::steady_clock;

// One evaluation whose runs are made by a Runner, each in processes of its own.
class Evaluation {
 public:
  Evaluation(const Runner& runner, Draft& draft) : runner_(runner), draft_(draft), request_(draft.request()) {}
  Status run();

 private:
  bool run_once(const RunPlan& plan, int run);
  Result<std::vector<OutputView>> output_views(const RunOutcome& outcome,
                                               const std::vector<std::vector<double>>& expected) const;

  const Runner& runner_;
  Draft& draft_;
  const EvaluateRequest& request_;
  std::vector<std::vector<wire::LaunchRecord>> launches_;
};

Result<std::vector<OutputView>> Evaluation::output_views(const RunOutcome& outcome,
                                                         const std::vector<std::vector<double>>& expected) const {
  const auto& specs = request_.definition.outputs;
  if (outcome.outputs.size() != specs.size())
    return fail(ErrorKind::kProtocol,
                fmt::format("the runner brought {} outputs, expected {}", outcome.outputs.size(), specs.size()));
  std::vector<OutputView> views;
  for (std::size_t i = 0; i < specs.size(); ++i) {
    views.push_back(
        {specs[i].name, specs[i].dtype, schema::extents(specs[i], draft_.axes()), outcome.outputs[i], expected[i]});
    const std::size_t bytes = expected[i].size() * static_cast<std::size_t>(schema::bit_width(specs[i].dtype)) / 8;
    if (outcome.outputs[i].size() != bytes)
      return fail(ErrorKind::kProtocol,
                  fmt::format("output {} has {} bytes, expected {}", specs[i].name, outcome.outputs[i].size(), bytes));
  }
  return views;
}

// False when the evaluation ends with this run.
bool Evaluation::run_once(const RunPlan& plan, int run) {
  draft_.say("inputs");
  const Problem& problem = draft_.problem();
  const InputSet inputs =
      draft_.phase("inputs", [&] { return make_inputs(problem, plan, draft_.seed(), run, request_.threads); });
  // The candidate's process waits for its device most of the time, so the reference is made meanwhile.
  auto reference = std::async(std::launch::async, [&] { return make_reference(problem, inputs, request_.threads); });
  RunRequest run_request = request_.run;
  run_request.artifact = request_.build.library;
  run_request.schedule = plan.schedule;
  run_request.arguments = draft_.arguments(inputs.tensors);
  const Clock::time_point start = Clock::now();
  const Result<RunOutcome> outcome = draft_.phase("candidate", [&] { return runner_(run_request); });
  const double seconds = std::chrono::duration<double>(Clock::now() - start).count();
  const std::vector<std::vector<double>> expected = draft_.phase("reference", [&] { return reference.get(); });
  if (!outcome) {
    draft_.end(VerdictStatus::kInfraError, outcome.error().message);
    return false;
  }
  launches_.push_back(outcome->launches);
  const char* schedule = plan.schedule == wire::Schedule::kLatest ? "latest" : "earliest";
  if (!draft_.take_run(*outcome, schedule, seconds)) return false;
  const auto views = output_views(*outcome, expected);
  if (!views) {
    draft_.end(VerdictStatus::kInfraError, views.error().message);
    return false;
  }
  if (request_.keep_outputs) request_.keep_outputs(run, outcome->outputs);
  return draft_.phase("comparison",
                      [&] { return draft_.take_families(compare_run(problem, plan, inputs, *views, run)); });
}

Status Evaluation::run() {
  PTXBENCH_TRY(const std::vector<RunPlan> plans,
               plan_runs(draft_.problem(), request_.definition.extension->families, draft_.seed()));
  if (!draft_.accept_build()) return {};
  for (std::size_t run = 0; run < plans.size(); ++run) {
    draft_.say(fmt::format("run {} of {}", run + 1, plans.size()));
    if (!run_once(plans[run], static_cast<int>(run))) break;
  }
  draft_.finish_correct(plans.size());
  if (draft_.ended()) return {};
  PTXBENCH_TRY(const bool executed, draft_.judge_executed(launches_, {"emulator", ""}));
  if (!executed) return {};
  draft_.fields().fast.state = schema::LayerState::kNotMeasured;
  draft_.fields().fast.message = "not measured: no GPU";
  return {};
}

}  // namespace

Status refuse_tools(const EvaluateRequest& request) {
  if (!request.sanitize.empty())
    return fail(ErrorKind::kUnsupported,
                "--sanitize needs --device gpu; the emulator checks accesses and barriers itself",
                "leave --sanitize out, or use --device gpu");
  if (request.audit)
    return fail(
        ErrorKind::kUnsupported,
        "--audit needs --device gpu; the emulator counts what it executes, and there is nothing to compare it with",
        "leave --audit out, or use --device gpu; --device both compares the two devices");
  return {};
}

Result<schema::Verdict> evaluate(const EvaluateRequest& request, const Runner& runner) {
  PTXBENCH_TRY_STATUS(refuse_tools(request));
  PTXBENCH_TRY(Draft draft, Draft::create(request, "emu"));
  try {
    PTXBENCH_TRY_STATUS(Evaluation(runner, draft).run());
    return draft.finish();
  } catch (const std::bad_alloc&) {
    return fail(out_of_memory(request));
  }
}

}  // namespace ptxbench::judge
