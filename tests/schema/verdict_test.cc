#include "ptxbench/schema/verdict.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <functional>
#include <limits>

namespace ptxbench::schema {
namespace {

using ::testing::Contains;
using ::testing::HasSubstr;
using ::testing::Not;

// A record of a kernel that passed everything that was measured.
VerdictFields passed() {
  VerdictFields fields;
  fields.status = VerdictStatus::kPassed;
  fields.task = "gemm_n7168_k5120";
  fields.workload_uuid = "u1";
  fields.axes = {{"M", 128}, {"N", 7168}, {"K", 5120}};
  fields.artifact_hash = "ab";
  fields.seed = 9007199254740993;  // 2^53 + 1: not a double
  fields.compile.state = LayerState::kPassed;
  fields.compile.kernels = {{"gemm", 168, 0, 0, 0, 1024}};
  OutputFigures output;
  output.output = "C";
  output.elements = 128 * 7168;
  output.strict_measure = "row relative L2";
  output.strict_limit = 8e-3;
  output.worst = WorstElement{{3, 4}, 1.5, 1.4921875};
  fields.correct.state = LayerState::kPassed;
  fields.correct.strict_passed = fields.correct.paper_passed = true;
  fields.correct.runs = {{"latest", 0.5, 1}};
  fields.correct.families = {{"normal", "N(0,1)", 0, "all", true, true, true, {output}, {}}};
  fields.executed.state = LayerState::kPassed;
  fields.executed.strict_passed = fields.executed.paper_passed = true;
  fields.executed.families = {{"wgmma", true, 4, std::nullopt, 100, 3200, 9395240960u, 0}};
  fields.executed.launches = {
      {0, "gemm", {56, 1, 1}, {384, 1, 1}, {1, 1, 1}, 200000, 1234567, fields.executed.families}};
  fields.fast.state = LayerState::kNotMeasured;
  fields.fast.message = "not measured: no GPU";
  return fields;
}

VerdictFields failed(VerdictStatus status) {
  VerdictFields fields = passed();
  fields.status = status;
  fields.message = "because";
  const auto not_reached = [](auto& layer) { layer = {}; };
  not_reached(fields.fast);
  not_reached(fields.executed);
  switch (status) {
    case VerdictStatus::kPolicyViolation:
      fields.compile.policy = {{"vendor-library", "k.cu:3", "includes cublas"}};
      [[fallthrough]];
    case VerdictStatus::kCompileError:
      not_reached(fields.correct);
      fields.compile.state = LayerState::kFailed;
      fields.compile.message = "because";
      break;
    case VerdictStatus::kTargetNotExecuted:
      fields.executed.state = LayerState::kFailed;
      fields.executed.message = "because";
      break;
    default:
      fields.correct.state = LayerState::kFailed;
      fields.correct.message = "because";
      fields.correct.strict_passed = fields.correct.paper_passed = false;
      fields.correct.families[0].strict_passed = false;
      fields.correct.families[0].outputs[0].strict_failing = 1;
      if (status != VerdictStatus::kIncorrectNumerical) fields.correct.failure = RunFailure{"trap", "m", {}, {}};
  }
  return fields;
}

TimeSeries series(double median) {
  TimeSeries times;
  times.samples_ms = {median, median / 2, median * 2};
  times.median_ms = times.p10_ms = times.p90_ms = median;
  times.min_ms = median / 2, times.max_ms = median * 2;
  times.warm_ups = 10;
  return times;
}

// The same with times: 0.8 ms of the strongest library beside 1.6 ms of the candidate.
VerdictFields timed() {
  VerdictFields fields = passed();
  FastLayer& fast = fields.fast;
  fast.state = LayerState::kPassed;
  fast.message.clear();
  fast.candidate = series(1.6);
  fast.baselines = {{"cuBLASLt", "13.1.0", "plan 3", 8, true, series(0.8)},
                    {"other", "1", "plan 0", 1, false, series(0.9)}};
  fast.speedup = 0.5;
  fast.verified_calls = 13;
  return fields;
}

VerdictFields voided(bool evidence) {
  VerdictFields fields = timed();
  fields.status = VerdictStatus::kMeasurementVoid;
  fields.message = "because";
  if (evidence) fields.fast = {}, fields.executed.strict_passed = fields.executed.paper_passed = false;
  auto blame = [](auto& layer) { layer.state = LayerState::kVoid, layer.message = "m", layer.void_reasons = {"r"}; };
  evidence ? blame(fields.executed) : blame(fields.fast);
  return fields;
}

TEST(Verdict, TimedAndVoidRecordsAreAccepted) {
  for (const VerdictFields& fields : {timed(), voided(true), voided(false)}) {
    const auto verdict = Verdict::create(fields);
    ASSERT_TRUE(verdict) << verdict.error().format();
    const std::string json = to_json(*verdict);
    const auto back = verdict_from_json(json);
    ASSERT_TRUE(back) << back.error().format();
    EXPECT_EQ(to_json(*back), json);
  }
  EXPECT_EQ(exit_code(VerdictStatus::kMeasurementVoid), 3);
}

TEST(Verdict, TimesThatContradictThemselvesAreRefused) {
  struct Case {
    const char* note;
    std::function<void(VerdictFields&)> change;
  };
  const Case cases[] = {
      {"without times of the candidate", [](auto& f) { f.fast.candidate.reset(); }},
      {"without a chosen baseline", [](auto& f) { f.fast.baselines[0].chosen = false; }},
      {"baseline other is faster than the chosen one", [](auto& f) { f.fast.baselines[1].time = series(0.7); }},
      {"not the ratio of the medians", [](auto& f) { f.fast.speedup = 2; }},
      {"12 of 13 timed calls were verified", [](auto& f) { f.fast.verified_calls = 12; }},
      {"the candidate has no samples", [](auto& f) { f.fast.candidate->samples_ms.clear(); }},
      {"not those of its samples", [](auto& f) { f.fast.candidate->min_ms = 0.1; }},
      {"layer fast is passed with reasons for being void", [](auto& f) { f.fast.void_reasons = {"clock"}; }},
      {"layer fast is void without reasons", [](auto& f) { f = voided(false), f.fast.void_reasons.clear(); }},
      {"with layer fast void: expected passed", [](auto& f) { f = voided(false), f.status = VerdictStatus::kPassed; }},
      {"with layer fast failed: expected void",
       [](auto& f) { f = voided(false), f.fast.state = LayerState::kFailed, f.fast.void_reasons.clear(); }},
      {"with a finding of memcheck",
       [](auto& f) {
         f.correct.sanitizers = {{"memcheck", true, "", 0.5, {{"InvalidWrite", "error", "m", "k", "k.cu", 3, 16, 1}}}};
       }},
  };
  for (const Case& c : cases) {
    VerdictFields fields = timed();
    c.change(fields);
    const auto verdict = Verdict::create(fields);
    ASSERT_FALSE(verdict) << c.note;
    EXPECT_THAT(verdict.error().notes, Contains(HasSubstr(c.note)));
  }
}

TEST(Verdict, ConsistentRecordsAreAccepted) {
  EXPECT_TRUE(Verdict::create(passed()));
  for (const VerdictStatus status :
       {VerdictStatus::kCompileError, VerdictStatus::kPolicyViolation, VerdictStatus::kRuntimeError,
        VerdictStatus::kTimeout, VerdictStatus::kIncorrectNumerical, VerdictStatus::kTargetNotExecuted}) {
    const auto verdict = Verdict::create(failed(status));
    EXPECT_TRUE(verdict) << to_string(status) << verdict.error().format();
  }
}

TEST(Verdict, ContradictionsAreRefused) {
  struct Case {
    const char* note;
    std::function<void(VerdictFields&)> change;
  };
  const Case cases[] = {
      {"layer correct not_reached: expected passed", [](auto& f) { f.correct.state = LayerState::kNotReached; }},
      {"layer executed not_measured: expected passed",
       [](auto& f) { f.executed.state = LayerState::kNotMeasured, f.executed.message = "x"; }},
      {"layer fast failed", [](auto& f) { f.fast.state = LayerState::kFailed; }},
      {"with a message", [](auto& f) { f.message = "but"; }},
      {"does not say why", [](auto& f) { f.fast.message = ""; }},
      {"not under the strict rules", [](auto& f) { f.correct.strict_passed = false; }},
      {"without figures that meet them", [](auto& f) { f.correct.families.clear(); }},
      {"disagrees with the figures", [](auto& f) { f.correct.families[0].outputs[0].strict_failing = 3; }},
      {"non-finite or unwritten", [](auto& f) { f.correct.families[0].outputs[0].non_finite = 1; }},
      {"names run 1 of 1", [](auto& f) { f.correct.families[0].run = 1; }},
      {"without a predicate-true target instruction", [](auto& f) { f.executed.families[0].thread_instructions = 0; }},
      {"without an artifact hash", [](auto& f) { f.artifact_hash = ""; }},
      {"status INFRA_ERROR without a message", [](auto& f) { f.status = VerdictStatus::kInfraError; }},
      {"COMPILE_ERROR with layer compile passed: expected failed",
       [](auto& f) { f.status = VerdictStatus::kCompileError; }},
      {"RUNTIME_ERROR without a failed run",
       [](auto& f) { f = failed(VerdictStatus::kRuntimeError), f.correct.failure.reset(); }},
      {"POLICY_VIOLATION without a finding",
       [](auto& f) { f = failed(VerdictStatus::kPolicyViolation), f.compile.policy.clear(); }},
      {"INCORRECT_NUMERICAL without a failing family",
       [](auto& f) { f = failed(VerdictStatus::kIncorrectNumerical), f.rules = RuleSet::kPaper; }},
      {"layer executed failed, but meets the strict rules",
       [](auto& f) {
         const auto executed = f.executed;
         f = failed(VerdictStatus::kTargetNotExecuted), f.executed = executed;
         f.executed.state = LayerState::kFailed, f.executed.message = "because";
       }},
  };
  for (const Case& c : cases) {
    VerdictFields fields = passed();
    c.change(fields);
    const auto verdict = Verdict::create(std::move(fields));
    ASSERT_FALSE(verdict) << c.note;
    EXPECT_THAT(verdict.error().notes, Contains(HasSubstr(c.note)));
  }
}

TEST(Verdict, ExitCodes) {
  EXPECT_EQ(exit_code(VerdictStatus::kPassed), 0);
  EXPECT_EQ(exit_code(VerdictStatus::kIncorrectNumerical), 1);
  EXPECT_EQ(exit_code(VerdictStatus::kTimeout), 1);
  EXPECT_EQ(exit_code(VerdictStatus::kInfraError), 3);
}

TEST(Verdict, JsonRoundTripIsExact) {
  VerdictFields fields = failed(VerdictStatus::kIncorrectNumerical);
  OutputFigures& output = fields.correct.families[0].outputs[0];
  output.max_abs_error = std::numeric_limits<double>::quiet_NaN();
  output.max_rel_error = std::numeric_limits<double>::infinity();
  output.rel_l2 = 0.1;  // not a short binary fraction
  output.first_never_written = {0, 64};
  output.non_finite = output.never_written = output.paper_failing = 7;
  fields.correct.families[0].paper_passed = false;
  fields.correct.failure = RunFailure{
      "trap", "m", TrapRecord{"deadlock", "r", "m", "k", "i", "k.cu", 3, 9, {1, 2, 3}, 4, 5, 0xffffffffffffffff}, {}};
  const auto verdict = Verdict::create(fields);
  ASSERT_TRUE(verdict) << verdict.error().format();
  const std::string text = to_json(*verdict);
  const auto again = verdict_from_json(text);
  ASSERT_TRUE(again) << again.error().format();
  EXPECT_EQ(to_json(*again), text);
  const OutputFigures& read = (*again)->correct.families[0].outputs[0];
  EXPECT_TRUE(std::isnan(read.max_abs_error));
  EXPECT_TRUE(std::isinf(read.max_rel_error));
  EXPECT_EQ(read.rel_l2, 0.1);
  EXPECT_EQ((*again)->seed, 9007199254740993u);
  EXPECT_EQ((*again)->correct.failure->trap->address, 0xffffffffffffffffu);
  EXPECT_EQ(to_json(*verdict, Audience::kJudge, -1).find('\n'), std::string::npos);
}

TEST(Verdict, TheSeedIsForTheJudgeOnly) {
  const auto verdict = Verdict::create(passed());
  ASSERT_TRUE(verdict);
  EXPECT_THAT(to_json(*verdict), HasSubstr("9007199254740993"));
  const std::string shown = to_json(*verdict, Audience::kCandidate);
  EXPECT_THAT(shown, Not(HasSubstr("9007199254740993")));
  EXPECT_THAT(shown, Not(HasSubstr("seed")));
}

TEST(Verdict, ReadingIsStrict) {
  const std::string text = to_json(*Verdict::create(passed()));
  const auto broken = [&](std::string_view from, std::string_view to) {
    std::string changed = text;
    changed.replace(changed.find(from), from.size(), to);
    const auto verdict = verdict_from_json(changed, "v.json");
    EXPECT_FALSE(verdict) << to;
    return verdict ? std::string() : verdict.error().format();
  };
  EXPECT_THAT(broken("\"PASSED\"", "\"OK\""), HasSubstr("status: 'OK' is not one of the known values"));
  EXPECT_THAT(broken("\"task\"", "\"tusk\""), HasSubstr("task: missing"));
  EXPECT_THAT(broken("\"registers\": 168", "\"registers\": \"many\""),
              HasSubstr("layers.compile.kernels[0].registers: found a string, expected an integer"));
  EXPECT_THAT(broken("ptxbench.verdict.v1", "ptxbench.verdict.v2"), HasSubstr("expected 'ptxbench.verdict.v1'"));
  EXPECT_THAT(broken("\"passed\"", "\"failed\""), HasSubstr("contradicts itself"));
}

TEST(Verdict, AnyBytesOfACandidateAreWritten) {
  VerdictFields fields = passed();
  fields.correct.candidate_output = "PASSED \xff\xfe\x01\x00 \xf0\x9f";
  const std::string text = to_json(*Verdict::create(std::move(fields)));
  EXPECT_TRUE(verdict_from_json(text));
}

}  // namespace
}  // namespace ptxbench::schema
