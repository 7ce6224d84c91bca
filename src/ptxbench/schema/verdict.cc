#include "ptxbench/schema/verdict.h"

#include "ptxbench/schema/contradictions.h"
#include "ptxbench/schema/enum_text.h"

namespace ptxbench::schema {
namespace {

constexpr std::pair<VerdictStatus, std::string_view> kStatuses[] = {
    {VerdictStatus::kPassed, "PASSED"},
    {VerdictStatus::kCompileError, "COMPILE_ERROR"},
    {VerdictStatus::kPolicyViolation, "POLICY_VIOLATION"},
    {VerdictStatus::kRuntimeError, "RUNTIME_ERROR"},
    {VerdictStatus::kTimeout, "TIMEOUT"},
    {VerdictStatus::kIncorrectShape, "INCORRECT_SHAPE"},
    {VerdictStatus::kIncorrectDtype, "INCORRECT_DTYPE"},
    {VerdictStatus::kIncorrectNumerical, "INCORRECT_NUMERICAL"},
    {VerdictStatus::kTargetNotExecuted, "TARGET_NOT_EXECUTED"},
    {VerdictStatus::kMeasurementVoid, "MEASUREMENT_VOID"},
    {VerdictStatus::kInfraError, "INFRA_ERROR"},
};

constexpr std::pair<LayerState, std::string_view> kStates[] = {
    {LayerState::kPassed, "passed"},
    {LayerState::kFailed, "failed"},
    {LayerState::kVoid, "void"},
    {LayerState::kNotMeasured, "not_measured"},
    {LayerState::kNotReached, "not_reached"},
};

constexpr std::pair<RuleSet, std::string_view> kRuleSets[] = {
    {RuleSet::kStrict, "strict"},
    {RuleSet::kPaper, "paper"},
};

// The layer that a failing status blames: 0 compile, 1 correct, 2 executed, 3 fast; -1 for none. Policy is broken in the
// code or, later, by what the host process tries.
int blamed_layer(const VerdictFields& fields) {
  switch (fields.status) {
    case VerdictStatus::kCompileError: return 0;
    case VerdictStatus::kPolicyViolation: return fields.correct.failure ? 1 : 0;
    case VerdictStatus::kRuntimeError:
    case VerdictStatus::kTimeout:
    case VerdictStatus::kIncorrectShape:
    case VerdictStatus::kIncorrectDtype:
    case VerdictStatus::kIncorrectNumerical: return 1;
    case VerdictStatus::kTargetNotExecuted: return 2;
    case VerdictStatus::kMeasurementVoid: return fields.executed.state == LayerState::kVoid ? 2 : 3;
    case VerdictStatus::kPassed:
    case VerdictStatus::kInfraError: return -1;
  }
  return -1;
}

constexpr std::array<std::string_view, 4> kLayerNames = {"compile", "correct", "executed", "fast"};

void check_states(const VerdictFields& fields, Contradictions& found) {
  const std::array<LayerState, 4> states = {fields.compile.state, fields.correct.state, fields.executed.state,
                                            fields.fast.state};
  const int blamed = blamed_layer(fields);
  for (int i = 0; i < 4; ++i) {
    const LayerState state = states[i];
    const auto say = [&](std::string_view expected) {
      return fmt::format("status {} with layer {} {}: expected {}", to_string(fields.status), kLayerNames[i],
                         to_string(state), expected);
    };
    if (fields.status == VerdictStatus::kPassed) {
      const bool measured = state == LayerState::kPassed || (i == 3 && state == LayerState::kNotMeasured);
      found.require(measured, say(i == 3 ? "passed or not_measured" : "passed"));
    } else if (fields.status == VerdictStatus::kInfraError) {
      found.require(state != LayerState::kFailed && state != LayerState::kVoid, say("no failed layer"));
    } else if (i < blamed) {
      found.require(state == LayerState::kPassed, say("passed"));
    } else if (i == blamed) {
      const bool is_void = fields.status == VerdictStatus::kMeasurementVoid;
      found.require(state == (is_void ? LayerState::kVoid : LayerState::kFailed), say(is_void ? "void" : "failed"));
    } else {
      found.require(state == LayerState::kNotReached || state == LayerState::kNotMeasured,
                    say("not_reached or not_measured"));
    }
  }
}

void check_messages(const VerdictFields& fields, Contradictions& found) {
  found.require(
      (fields.status == VerdictStatus::kPassed) == fields.message.empty(),
      fmt::format("status {} {} a message", to_string(fields.status), fields.message.empty() ? "without" : "with"));
  const std::array<std::pair<LayerState, const std::string*>, 4> layers = {
      {{fields.compile.state, &fields.compile.message},
       {fields.correct.state, &fields.correct.message},
       {fields.executed.state, &fields.executed.message},
       {fields.fast.state, &fields.fast.message}}};
  for (int i = 0; i < 4; ++i) {
    const bool needs = layers[i].first != LayerState::kPassed && layers[i].first != LayerState::kNotReached;
    found.require(!needs || !layers[i].second->empty(),
                  fmt::format("layer {} is {} and does not say why", kLayerNames[i], to_string(layers[i].first)));
  }
}

bool family_decides(const FamilyFigures& family, RuleSet rules) {
  return rules == RuleSet::kStrict || family.paper_applies;
}

void check_correct(const VerdictFields& fields, Contradictions& found) {
  const CorrectLayer& layer = fields.correct;
  bool paper = true, strict = true, any_paper = false;
  for (const FamilyFigures& family : layer.families) {
    bool family_paper = true, family_strict = true;
    for (const OutputFigures& output : family.outputs) {
      family_paper &= output.paper_failing == 0;
      family_strict &= output.strict_failing == 0;
      const bool bad = output.non_finite > 0 || output.never_written > 0;
      found.require(!bad || (output.paper_failing > 0 && output.strict_failing > 0),
                    fmt::format("output {} of family {} has non-finite or unwritten elements and no failing ones",
                                output.output, family.family));
    }
    found.require(family_paper == family.paper_passed && family_strict == family.strict_passed,
                  fmt::format("family {} disagrees with the figures of its outputs", family.family));
    strict &= family.strict_passed;
    if (family.paper_applies) paper &= family.paper_passed, any_paper = true;
    found.require(family.run >= 0 && family.run < static_cast<int>(layer.runs.size()),
                  fmt::format("family {} names run {} of {}", family.family, family.run, layer.runs.size()));
  }
  const bool deciding = fields.rules == RuleSet::kStrict ? layer.strict_passed : layer.paper_passed;
  found.require(!layer.strict_passed || (strict && !layer.families.empty()),
                "layer correct claims the strict rules without figures that meet them");
  found.require(!layer.paper_passed || (paper && any_paper),
                "layer correct claims the paper's rules without figures that meet them");
  if (layer.state == LayerState::kPassed) {
    found.require(deciding, fmt::format("layer correct passed, but not under the {} rules", to_string(fields.rules)));
    found.require(!layer.failure, "layer correct passed with a failed run");
    for (const SanitizerRun& run : layer.sanitizers)
      for (const SanitizerFinding& finding : run.findings)
        found.require(finding.severity != "error", fmt::format("layer correct passed with a finding of {}", run.tool));
  }
  if (fields.status == VerdictStatus::kIncorrectNumerical) {
    bool any_failing = false;
    for (const FamilyFigures& family : layer.families)
      if (family_decides(family, fields.rules))
        any_failing |= fields.rules == RuleSet::kStrict ? !family.strict_passed : !family.paper_passed;
    found.require(any_failing, "INCORRECT_NUMERICAL without a failing family");
  }
  if (fields.status == VerdictStatus::kRuntimeError || fields.status == VerdictStatus::kTimeout)
    found.require(layer.failure.has_value(), fmt::format("{} without a failed run", to_string(fields.status)));
}

}  // namespace

std::string_view to_string(VerdictStatus status) { return enum_to_text(kStatuses, status); }
std::optional<VerdictStatus> verdict_status_from(std::string_view text) { return enum_from_text(kStatuses, text); }
std::string_view to_string(LayerState state) { return enum_to_text(kStates, state); }
std::optional<LayerState> layer_state_from(std::string_view text) { return enum_from_text(kStates, text); }
std::string_view to_string(RuleSet rules) { return enum_to_text(kRuleSets, rules); }
std::optional<RuleSet> rule_set_from(std::string_view text) { return enum_from_text(kRuleSets, text); }

int exit_code(VerdictStatus status) {
  switch (status) {
    case VerdictStatus::kPassed: return 0;
    case VerdictStatus::kMeasurementVoid:
    case VerdictStatus::kInfraError: return 3;
    default: return 1;
  }
}

Result<Verdict> Verdict::create(VerdictFields fields) {
  Contradictions found;
  check_states(fields, found);
  check_messages(fields, found);
  check_correct(fields, found);
  check_executed(fields, found);
  check_fast(fields, found);
  found.require(
      fields.status != VerdictStatus::kPolicyViolation || !fields.compile.policy.empty() || fields.correct.failure,
      "POLICY_VIOLATION without a finding");
  found.require(!fields.task.empty() && !fields.workload_uuid.empty(), "no task or workload named");
  found.require(fields.compile.state != LayerState::kPassed || !fields.artifact_hash.empty(),
                "layer compile passed without an artifact hash");
  std::vector<std::string> notes = found.take();
  if (notes.empty()) return Verdict(std::move(fields));
  Error error;
  error.message =
      fmt::format("the verdict contradicts itself in {} place{}", notes.size(), notes.size() == 1 ? "" : "s");
  error.notes = std::move(notes);
  return fail(std::move(error));
}

}  // namespace ptxbench::schema
