#include "ptxbench/judge/evaluate.h"

#include <fmt/chrono.h>
#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <cmath>
#include <future>
#include <new>

#include "ptxbench/base/check.h"
#include "ptxbench/judge/compare.h"
#include "ptxbench/judge/evidence.h"
#include "ptxbench/judge/inputs.h"
#include "ptxbench/judge/outcome.h"
#include "ptxbench/judge/problem.h"

namespace ptxbench::judge {
namespace {

using schema::LayerState;
using schema::RuleSet;
using schema::VerdictFields;
using schema::VerdictStatus;
using Clock = std::chrono::steady_clock;

double seconds_since(Clock::time_point start) { return std::chrono::duration<double>(Clock::now() - start).count(); }

// Everything that one evaluation carries along.
class Evaluation {
 public:
  Evaluation(const EvaluateRequest& request, const Runner& runner, schema::AxisValues axes, Problem problem)
      : request_(request), runner_(runner), axes_(std::move(axes)), problem_(problem) {}

  Result<schema::Verdict> run();

 private:
  void describe();
  bool accept_build();
  void run_candidates(const std::vector<RunPlan>& plans);
  bool run_once(const RunPlan& plan, int run);
  RunRequest make_request(const RunPlan& plan, const InputSet& inputs) const;
  Result<std::vector<OutputView>> output_views(const RunOutcome& outcome,
                                               const std::vector<std::vector<double>>& expected) const;
  bool take_families(std::vector<schema::FamilyFigures> families);
  void finish_correct(std::size_t planned);
  Status judge_executed();
  void end(VerdictStatus status, std::string message);
  void say(const std::string& what) const {
    if (request_.progress) request_.progress(what);
  }

  const EvaluateRequest& request_;
  const Runner& runner_;
  const schema::AxisValues axes_;
  const Problem problem_;
  VerdictFields fields_;
  bool ended_ = false;
  std::vector<std::vector<wire::LaunchRecord>> launches_;
};

void Evaluation::end(VerdictStatus status, std::string message) {
  fields_.status = status;
  fields_.message = std::move(message);
  ended_ = true;
}

void Evaluation::describe() {
  const schema::Definition& definition = request_.definition;
  fields_.task = definition.name;
  fields_.workload_uuid = request_.workload.uuid;
  for (const schema::Axis& axis : definition.axes) fields_.axes.emplace_back(axis.name, axes_.at(axis.name));
  const std::string& full = definition.extension->full_sibling;
  fields_.full_task = !request_.full_task.empty() ? request_.full_task : full.empty() ? definition.name : full;
  fields_.emulator_sized = request_.workload.emulator || !full.empty();
  fields_.target = request_.target;
  fields_.device = request_.device;
  fields_.rules = request_.rules;
  fields_.timestamp = fmt::format("{:%Y-%m-%dT%H:%M:%SZ}", fmt::gmtime(std::time(nullptr)));
  fields_.artifact_hash = request_.build.artifact_hash;
  fields_.source_hash = request_.build.source_hash;
  fields_.versions = request_.build.versions;
  fields_.compile = request_.build.layer;
}

// False when the evaluation ends here.
bool Evaluation::accept_build() {
  const BuildEvidence& build = request_.build;
  fields_.compile.state = LayerState::kFailed;
  fields_.compile.message = build.message;
  switch (build.outcome) {
    case BuildEvidence::Outcome::kBuilt:
      fields_.compile.state = LayerState::kPassed;
      fields_.compile.message.clear();
      return true;
    case BuildEvidence::Outcome::kCompileError: end(VerdictStatus::kCompileError, build.message); break;
    case BuildEvidence::Outcome::kPolicyViolation: end(VerdictStatus::kPolicyViolation, build.message); break;
    case BuildEvidence::Outcome::kInfrastructure:
      fields_.compile.state = LayerState::kNotReached;
      end(VerdictStatus::kInfraError, build.message);
      break;
  }
  return false;
}

RunRequest Evaluation::make_request(const RunPlan& plan, const InputSet& inputs) const {
  RunRequest run = request_.run;
  run.artifact = request_.build.library;
  run.schedule = plan.schedule;
  run.arguments.clear();
  const auto argument = [&](const schema::TensorSpec& spec, const HostTensor* contents) {
    RunTensor tensor;
    tensor.name = spec.name;
    tensor.type = spec.dtype == schema::DType::kBFloat16 ? ElementType{4, 16, 1} : ElementType{2, 32, 1};
    tensor.shape = schema::extents(spec, axes_);
    tensor.output = contents == nullptr;
    tensor.poison = kPoison;
    if (contents != nullptr) tensor.bytes = contents->bytes;
    run.arguments.push_back({std::move(tensor), {}});
  };
  for (std::size_t i = 0; i < request_.definition.inputs.size(); ++i)
    argument(request_.definition.inputs[i], &inputs.tensors[i]);
  for (const schema::TensorSpec& output : request_.definition.outputs) argument(output, nullptr);
  return run;
}

Result<std::vector<OutputView>> Evaluation::output_views(const RunOutcome& outcome,
                                                         const std::vector<std::vector<double>>& expected) const {
  const auto& specs = request_.definition.outputs;
  if (outcome.outputs.size() != specs.size())
    return fail(ErrorKind::kProtocol,
                fmt::format("the runner brought {} outputs, expected {}", outcome.outputs.size(), specs.size()));
  std::vector<OutputView> views;
  for (std::size_t i = 0; i < specs.size(); ++i) {
    views.push_back({specs[i].name, specs[i].dtype, schema::extents(specs[i], axes_), outcome.outputs[i], expected[i]});
    const std::size_t bytes = expected[i].size() * static_cast<std::size_t>(schema::bit_width(specs[i].dtype)) / 8;
    if (outcome.outputs[i].size() != bytes)
      return fail(ErrorKind::kProtocol,
                  fmt::format("output {} has {} bytes, expected {}", specs[i].name, outcome.outputs[i].size(), bytes));
  }
  return views;
}

// What a family's failure means, in one sentence.
std::string describe_failure(const schema::FamilyFigures& family, RuleSet rules) {
  for (const schema::OutputFigures& output : family.outputs) {
    const std::int64_t failing = rules == RuleSet::kStrict ? output.strict_failing : output.paper_failing;
    if (failing == 0) continue;
    std::string text =
        fmt::format("{} is wrong on input family '{}' ({}): ", output.output, family.family, family.part);
    if (output.never_written > 0) {
      text += fmt::format("{} of {} elements were never written", output.never_written, output.elements);
    } else if (output.non_finite > 0) {
      text += fmt::format("{} of {} elements are NaN or infinite", output.non_finite, output.elements);
    } else if (rules == RuleSet::kPaper) {
      text +=
          fmt::format("{} of {} elements have an absolute and a relative error above 1e-2", failing, output.elements);
    } else if (output.strict_measure == "exact bits") {
      text += fmt::format("{} of {} elements differ from the one right bit pattern (the limit is 0)", failing,
                          output.elements);
    } else {
      text +=
          fmt::format("{} of {} rows exceed the limit, the worst with {} error of {:.3g} (limit {:.3g})", failing,
                      output.rows, output.strict_measure == "absolute" ? "an absolute" : "a " + output.strict_measure,
                      output.strict_worst, output.strict_limit);
    }
    if (output.worst && output.non_finite == 0)
      text += fmt::format("; at [{}] expected {:.6g}, got {:.6g}", fmt::join(output.worst->index, ", "),
                          output.worst->expected, output.worst->got);
    for (const std::string& hint : family.hints) text += (text.back() == '?' ? " " : ". ") + hint;
    return text;
  }
  return {};
}

// False when a family fails under the chosen rules.
bool Evaluation::take_families(std::vector<schema::FamilyFigures> families) {
  std::string message;
  for (const schema::FamilyFigures& family : families) {
    const bool decides = request_.rules == RuleSet::kStrict || family.paper_applies;
    const bool passed = request_.rules == RuleSet::kStrict ? family.strict_passed : family.paper_passed;
    if (decides && !passed && message.empty()) message = describe_failure(family, request_.rules);
  }
  std::move(families.begin(), families.end(), std::back_inserter(fields_.correct.families));
  if (message.empty()) return true;
  if (launches_.back().empty())
    message += message.back() == '?' ? " No kernel was launched" : ". No kernel was launched";
  fields_.correct.state = LayerState::kFailed;
  fields_.correct.message = message;
  end(VerdictStatus::kIncorrectNumerical, std::move(message));
  return false;
}

// False when the evaluation ends with this run.
bool Evaluation::run_once(const RunPlan& plan, int run) {
  say("inputs");
  const std::uint64_t seed = *fields_.seed;
  const InputSet inputs = make_inputs(problem_, plan, seed, run, request_.threads);
  // The candidate's process waits for its device most of the time, so the reference is made meanwhile.
  auto reference = std::async(std::launch::async, [&] { return make_reference(problem_, inputs, request_.threads); });
  const RunRequest run_request = make_request(plan, inputs);
  const Clock::time_point start = Clock::now();
  const Result<RunOutcome> outcome = runner_(run_request);
  const double run_seconds = seconds_since(start);
  const std::vector<std::vector<double>> expected = reference.get();
  if (!outcome) {
    end(VerdictStatus::kInfraError, outcome.error().message);
    return false;
  }
  fields_.sandbox = outcome->sandbox;
  fields_.correct.runs.push_back({plan.schedule == wire::Schedule::kLatest ? "latest" : "earliest", run_seconds,
                                  static_cast<int>(outcome->launches.size())});
  fields_.correct.candidate_output = outcome->candidate_stdout + outcome->candidate_stderr;
  launches_.push_back(outcome->launches);
  if (auto problem = problem_of(*outcome)) {
    if (problem->status != VerdictStatus::kInfraError) {
      fields_.correct.state = LayerState::kFailed;
      fields_.correct.message = problem->message;
    }
    // Also where the device is to blame: it says which of its limits was met.
    fields_.correct.failure = std::move(problem->failure);
    end(problem->status, std::move(problem->message));
    return false;
  }
  const auto views = output_views(*outcome, expected);
  if (!views) {
    end(VerdictStatus::kInfraError, views.error().message);
    return false;
  }
  return take_families(compare_run(problem_, plan, inputs, *views, run));
}

void Evaluation::run_candidates(const std::vector<RunPlan>& plans) {
  for (std::size_t run = 0; run < plans.size() && !ended_; ++run) {
    say(fmt::format("run {} of {}", run + 1, plans.size()));
    if (!run_once(plans[run], static_cast<int>(run))) break;
  }
  finish_correct(plans.size());
}

// Both rule sets over everything that ran; a rule set is met only if all planned runs were compared.
void Evaluation::finish_correct(std::size_t planned) {
  schema::CorrectLayer& layer = fields_.correct;
  const bool complete = layer.runs.size() == planned && !layer.failure && fields_.status != VerdictStatus::kInfraError;
  bool strict = complete && !layer.families.empty(), paper = false, paper_good = complete;
  for (const schema::FamilyFigures& family : layer.families) {
    strict &= family.strict_passed;
    if (family.paper_applies) paper = true, paper_good &= family.paper_passed;
  }
  layer.strict_passed = strict;
  layer.paper_passed = paper && paper_good;
  if (!ended_) layer.state = LayerState::kPassed;
}

Status Evaluation::judge_executed() {
  PTXBENCH_TRY(fields_.executed,
               join_evidence(request_.definition, axes_, request_.target, launches_,
                             {request_.build.static_sass, request_.build.static_ptx}, request_.rules));
  if (fields_.executed.state == LayerState::kFailed) {
    end(VerdictStatus::kTargetNotExecuted, fields_.executed.message);
    return {};
  }
  fields_.executed.message.clear();
  fields_.fast.state = LayerState::kNotMeasured;
  fields_.fast.message = "not measured: no GPU";
  fields_.status = VerdictStatus::kPassed;
  return {};
}

Result<schema::Verdict> Evaluation::run() {
  const Clock::time_point start = Clock::now();
  describe();
  if (request_.seed) {
    fields_.seed = *request_.seed;
  } else {
    PTXBENCH_TRY(fields_.seed, random_seed());
  }
  PTXBENCH_TRY(const std::vector<RunPlan> plans,
               plan_runs(problem_, request_.definition.extension->families, *fields_.seed));
  if (accept_build()) {
    fields_.status = VerdictStatus::kPassed;  // until something ends the evaluation
    run_candidates(plans);
    if (!ended_) PTXBENCH_TRY_STATUS(judge_executed());
  }
  fields_.seconds = seconds_since(start) + fields_.compile.seconds;
  auto verdict = schema::Verdict::create(fields_);
  // Our own fault, and not the candidate's.
  PTXBENCH_CHECK(verdict.has_value(), "{}", verdict.has_value() ? "" : verdict.error().format());
  return verdict;
}

bool has_normal(const schema::Definition& definition) {
  const auto& families = definition.extension->families;
  return std::find(families.begin(), families.end(), "normal") != families.end();
}

}  // namespace

Result<schema::Verdict> evaluate(const EvaluateRequest& request, const Runner& runner) {
  PTXBENCH_TRY(schema::AxisValues axes, schema::resolve_axes(request.definition, request.workload));
  PTXBENCH_TRY(const Problem problem, problem_from(request.definition, axes));
  const auto& targets = request.definition.extension->target_families;
  if (!targets.contains(request.target))
    return fail(ErrorKind::kInvalidInput, fmt::format("task '{}' names no instruction families for target '{}'",
                                                      request.definition.name, request.target));
  if (request.rules == RuleSet::kPaper && !has_normal(request.definition))
    return fail(ErrorKind::kUnsupported,
                fmt::format("task '{}' has no input family 'normal', which the paper's rules are for",
                            request.definition.name));
  try {
    return Evaluation(request, runner, std::move(axes), problem).run();
  } catch (const std::bad_alloc&) {
    return fail(ErrorKind::kUnavailable,
                fmt::format("not enough memory for the inputs and references of '{}', workload {}",
                            request.definition.name, request.workload.uuid),
                "take the emulator-sized workload (--workload emu)");
  }
}

}  // namespace ptxbench::judge
