#include "ptxbench/judge/draft.h"

#include <fmt/chrono.h>
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <ctime>
#include <iterator>

#include "ptxbench/base/check.h"
#include "ptxbench/base/symbol.h"
#include "ptxbench/judge/compare.h"
#include "ptxbench/judge/outcome.h"

namespace ptxbench::judge {
namespace {

using schema::LayerState;
using schema::RuleSet;
using schema::VerdictStatus;

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

// One finding as a sentence for the kernel's author.
std::string describe_finding(const std::string& tool, const schema::SanitizerFinding& finding) {
  std::string text = fmt::format("{}: {}", tool, finding.message);
  if (!finding.kernel.empty()) text += ", in kernel " + demangle(finding.kernel);
  if (!finding.source_file.empty()) text += fmt::format(" at {}:{}", finding.source_file, finding.source_line);
  if (finding.address) text += fmt::format(", address 0x{:x}", *finding.address);
  if (finding.count > 1) text += fmt::format(", {} times", finding.count);
  return text;
}

bool has_normal(const schema::Definition& definition) {
  const auto& families = definition.extension->families;
  return std::find(families.begin(), families.end(), "normal") != families.end();
}

}  // namespace

Result<Draft> Draft::create(const EvaluateRequest& request, std::string device) {
  PTXBENCH_TRY(schema::AxisValues axes, schema::resolve_axes(request.definition, request.workload));
  PTXBENCH_TRY(const Problem problem, problem_from(request.definition, axes));
  if (!request.definition.extension->target_families.contains(request.target))
    return fail(ErrorKind::kInvalidInput, fmt::format("task '{}' names no instruction families for target '{}'",
                                                      request.definition.name, request.target));
  if (request.rules == RuleSet::kPaper && !has_normal(request.definition))
    return fail(ErrorKind::kUnsupported,
                fmt::format("task '{}' has no input family 'normal', which the paper's rules are for",
                            request.definition.name));
  std::uint64_t seed = 0;
  if (request.seed) {
    seed = *request.seed;
  } else {
    PTXBENCH_TRY(seed, random_seed());
  }
  Draft draft(request, std::move(axes), problem, seed);
  draft.fields_.device = std::move(device);
  return draft;
}

Draft::Draft(const EvaluateRequest& request, schema::AxisValues axes, const Problem& problem, std::uint64_t seed)
    : request_(request), axes_(std::move(axes)), problem_(problem) {
  describe();
  fields_.seed = seed;
}

Draft::PhaseTimer::~PhaseTimer() {
  const double ms = std::chrono::duration<double, std::milli>(Clock::now() - start_).count();
  std::vector<schema::Phase>& phases = draft_.fields_.phases;
  const auto it = std::find_if(phases.begin(), phases.end(), [&](const auto& phase) { return phase.name == name_; });
  if (it == phases.end())
    phases.push_back({name_, ms});
  else
    it->ms += ms;
}

void Draft::end(VerdictStatus status, std::string message) {
  fields_.status = status;
  fields_.message = std::move(message);
  ended_ = true;
}

void Draft::describe() {
  const schema::Definition& definition = request_.definition;
  fields_.task = definition.name;
  fields_.workload_uuid = request_.workload.uuid;
  for (const schema::Axis& axis : definition.axes) fields_.axes.emplace_back(axis.name, axes_.at(axis.name));
  const std::string& full = definition.extension->full_sibling;
  fields_.full_task = !request_.full_task.empty() ? request_.full_task : full.empty() ? definition.name : full;
  fields_.emulator_sized = request_.workload.emulator || !full.empty();
  fields_.target = request_.target;
  fields_.rules = request_.rules;
  fields_.timestamp = fmt::format("{:%Y-%m-%dT%H:%M:%SZ}", fmt::gmtime(std::time(nullptr)));
  fields_.artifact_hash = request_.build.artifact_hash;
  fields_.source_hash = request_.build.source_hash;
  fields_.versions = request_.build.versions;
  fields_.compile = request_.build.layer;
}

bool Draft::accept_build() {
  const BuildEvidence& build = request_.build;
  fields_.compile.state = LayerState::kFailed;
  fields_.compile.message = build.message;
  switch (build.outcome) {
    case BuildEvidence::Outcome::kBuilt:
      fields_.compile.state = LayerState::kPassed;
      fields_.compile.message.clear();
      fields_.status = VerdictStatus::kPassed;  // until something ends the evaluation
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

std::vector<RunArgument> Draft::arguments(const std::vector<HostTensor>& inputs) const {
  std::vector<RunArgument> arguments;
  const auto add = [&](const schema::TensorSpec& spec, bool output) {
    RunTensor tensor;
    tensor.name = spec.name;
    tensor.type = spec.dtype == schema::DType::kBFloat16 ? ElementType{4, 16, 1} : ElementType{2, 32, 1};
    tensor.shape = schema::extents(spec, axes_);
    tensor.output = output;
    tensor.poison = kPoison;
    if (!output && !inputs.empty()) tensor.bytes = inputs[arguments.size()].bytes;
    arguments.push_back({std::move(tensor), {}});
  };
  for (const schema::TensorSpec& input : request_.definition.inputs) add(input, false);
  for (const schema::TensorSpec& output : request_.definition.outputs) add(output, true);
  return arguments;
}

bool Draft::take_run(const RunOutcome& outcome, const std::string& schedule, double seconds) {
  schema::CorrectLayer& layer = fields_.correct;
  fields_.sandbox = outcome.sandbox;
  layer.runs.push_back({schedule, seconds, static_cast<int>(outcome.launches.size())});
  layer.candidate_output = outcome.candidate_stdout + outcome.candidate_stderr;
  auto problem = problem_of(outcome);
  if (!problem) return true;
  if (problem->status != VerdictStatus::kInfraError) {
    layer.state = LayerState::kFailed;
    layer.message = problem->message;
  }
  // Also where the device is to blame: it says which of its limits was met.
  layer.failure = std::move(problem->failure);
  end(problem->status, std::move(problem->message));
  return false;
}

bool Draft::take_families(std::vector<schema::FamilyFigures> families) {
  std::string message;
  for (const schema::FamilyFigures& family : families) {
    const bool decides = request_.rules == RuleSet::kStrict || family.paper_applies;
    const bool passed = request_.rules == RuleSet::kStrict ? family.strict_passed : family.paper_passed;
    if (decides && !passed && message.empty()) message = describe_failure(family, request_.rules);
  }
  std::move(families.begin(), families.end(), std::back_inserter(fields_.correct.families));
  if (message.empty()) return true;
  if (fields_.correct.runs.back().launches == 0)
    message += message.back() == '?' ? " No kernel was launched" : ". No kernel was launched";
  fields_.correct.state = LayerState::kFailed;
  fields_.correct.message = message;
  end(VerdictStatus::kIncorrectNumerical, std::move(message));
  return false;
}

void Draft::finish_correct(std::size_t planned) {
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

Result<bool> Draft::judge_executed(const std::vector<std::vector<wire::LaunchRecord>>& launches,
                                   const CountSource& source) {
  PTXBENCH_TRY(fields_.executed,
               join_evidence(request_.definition, axes_, request_.target, launches,
                             {request_.build.static_sass, request_.build.static_ptx}, request_.rules, source));
  if (fields_.executed.state == LayerState::kFailed) {
    end(VerdictStatus::kTargetNotExecuted, fields_.executed.message);
    return false;
  }
  fields_.executed.message.clear();
  return true;
}

void Draft::void_executed(std::string source, std::string reason) {
  schema::ExecutedLayer& layer = fields_.executed;
  layer = {};
  layer.state = LayerState::kVoid;
  layer.source = std::move(source);
  layer.message = reason;
  layer.void_reasons = {reason};
  end(VerdictStatus::kMeasurementVoid, "the executed instructions could not be counted: " + std::move(reason));
}

void Draft::void_fast(schema::FastLayer layer) {
  layer.state = LayerState::kVoid;
  if (layer.message.empty()) layer.message = fmt::format("{}", fmt::join(layer.void_reasons, "; "));
  fields_.fast = std::move(layer);
  end(VerdictStatus::kMeasurementVoid, "the time could not be measured: " + fields_.fast.message);
}

void Draft::take_sanitizer(schema::SanitizerRun run) {
  const auto error = std::find_if(run.findings.begin(), run.findings.end(),
                                  [](const auto& finding) { return finding.severity == "error"; });
  const bool sound = error == run.findings.end();
  std::string message = sound ? "" : describe_finding(run.tool, *error);
  schema::CorrectLayer& layer = fields_.correct;
  layer.sanitizers.push_back(std::move(run));
  // A run that failed by itself keeps its own words; the findings stand beside them.
  if (sound || layer.failure) return;
  take_back();
  layer.state = LayerState::kFailed;
  layer.message = message;
  layer.failure = schema::RunFailure{"sanitizer", message, {}, {}};
  end(VerdictStatus::kRuntimeError, std::move(message));
}

void Draft::note_missing_tools() {
  const std::string why = fmt::format("no result: the evaluation ended with {}", to_string(fields_.status));
  std::vector<schema::SanitizerRun>& runs = fields_.correct.sanitizers;
  for (const SanitizerTool tool : request_.sanitize) {
    const bool there =
        std::any_of(runs.begin(), runs.end(), [&](const auto& run) { return run.tool == to_string(tool); });
    if (!there) runs.push_back({std::string(to_string(tool)), false, why, 0, {}});
  }
  if (request_.audit && !fields_.executed.audit) fields_.executed.audit = schema::Audit{"ncu", "", false, why, 0, {}};
}

void Draft::take_back() {
  fields_.correct.strict_passed = fields_.correct.paper_passed = false;
  fields_.executed = {};
  fields_.fast = {};
}

Result<schema::Verdict> Draft::finish() {
  note_missing_tools();
  fields_.seconds = std::chrono::duration<double>(Clock::now() - start_).count() + fields_.compile.seconds;
  auto verdict = schema::Verdict::create(fields_);
  // Our own fault, and not the candidate's.
  PTXBENCH_CHECK(verdict.has_value(), "{}", verdict.has_value() ? "" : verdict.error().format());
  return verdict;
}

Error out_of_memory(const EvaluateRequest& request) {
  return {ErrorKind::kUnavailable,
          fmt::format("not enough memory for the inputs and references of '{}', workload {}", request.definition.name,
                      request.workload.uuid),
          "take the emulator-sized workload (--workload emu)",
          {},
          {}};
}

}  // namespace ptxbench::judge
