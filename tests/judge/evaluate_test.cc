#include "ptxbench/judge/evaluate.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "model.h"
#include "ptxbench/judge/suite.h"

namespace ptxbench::judge {
namespace {

using schema::LayerState;
using schema::RuleSet;
using schema::VerdictStatus;
using ::testing::HasSubstr;

// A small GEMM with the real one's extension.
schema::Definition small_gemm() {
  static const Suite suite = *load_suite(std::filesystem::path(PTXBENCH_SOURCE_DIR) / "suites");
  schema::Definition definition = (*suite.find_task("gemm_n7168_k5120"))->definition;
  for (schema::Axis& axis : definition.axes)
    if (axis.name != "M") axis.constant = axis.name == "N" ? 96 : 128;
  return definition;
}

schema::Definition small_attention() {
  static const Suite suite = *load_suite(std::filesystem::path(PTXBENCH_SOURCE_DIR) / "suites");
  return (*suite.find_task("mha_with_lse_b1_h4_d64"))->definition;
}

EvaluateRequest gemm_request() {
  EvaluateRequest request;
  request.definition = small_gemm();
  request.workload.uuid = "u";
  request.workload.axes = {{"M", 80}};
  request.workload.emulator = true;
  request.seed = 77;
  request.build.outcome = BuildEvidence::Outcome::kBuilt;
  request.build.artifact_hash = "a";
  request.build.library = "/nonexistent/kernel.so";
  return request;
}

constexpr std::uint64_t kFlops = 2ull * 80 * 96 * 128;

// Reads the tensors of a request back into the judge's form, so that a model can compute from them.
InputSet inputs_of(const RunRequest& request) {
  InputSet set;
  for (const RunArgument& argument : request.arguments)
    if (!argument.tensor->output)
      set.tensors.push_back({{argument.tensor->bytes.begin(), argument.tensor->bytes.end()}});
  return set;
}

RunOutcome honest_outcome(std::vector<model::Bytes> outputs, std::uint64_t flops = kFlops) {
  RunOutcome outcome;
  outcome.outputs = std::move(outputs);
  wire::LaunchRecord launch;
  launch.kernel = "gemm";
  launch.families = {{"wgmma", 4, 4, 128, flops, 0}, {"tma", 2, 2, 2, 0, 4096}};
  outcome.launches = {launch};
  outcome.sandbox = "none: synthetic";
  return outcome;
}

Runner gemm_runner(model::Faults faults, std::function<void(RunOutcome&)> change = {}) {
  return [=](const RunRequest& request) -> Result<RunOutcome> {
    const Problem problem = model::gemm_problem(80, 96, 128);
    RunOutcome outcome = honest_outcome(model::gemm(problem, inputs_of(request), faults));
    if (change) change(outcome);
    return outcome;
  };
}

schema::Verdict judge(const EvaluateRequest& request, const Runner& runner) {
  auto verdict = evaluate(request, runner);
  EXPECT_TRUE(verdict) << (verdict ? "" : verdict.error().format());
  return *verdict;
}

TEST(Evaluate, AnHonestKernelPasses) {
  std::vector<RunRequest> seen;
  const Runner honest = gemm_runner({});
  const Runner runner = [&](const RunRequest& request) {
    seen.push_back(request);
    return honest(request);
  };
  const schema::Verdict verdict = judge(gemm_request(), runner);
  EXPECT_EQ(verdict.status(), VerdictStatus::kPassed) << verdict->message;
  EXPECT_EQ(verdict->correct.runs.size(), 2u);
  EXPECT_EQ(verdict->correct.runs[0].schedule, "latest");
  EXPECT_EQ(verdict->correct.runs[1].schedule, "earliest");
  EXPECT_TRUE(verdict->correct.strict_passed);
  EXPECT_TRUE(verdict->correct.paper_passed);
  EXPECT_EQ(verdict->correct.families.size(), 6u);
  EXPECT_EQ(verdict->fast.state, LayerState::kNotMeasured);
  EXPECT_EQ(verdict->fast.message, "not measured: no GPU");
  EXPECT_EQ(verdict->executed.target_flops_share, 1);
  EXPECT_EQ(verdict->seed, 77u);
  EXPECT_TRUE(verdict->emulator_sized);
  EXPECT_EQ(verdict->sandbox, "none: synthetic");
  EXPECT_EQ(schema::exit_code(verdict.status()), 0);
  // What the candidate is given: inputs in definition order, then outputs, which hold poison.
  ASSERT_EQ(seen.size(), 2u);
  ASSERT_EQ(seen[0].arguments.size(), 3u);
  EXPECT_EQ(seen[0].arguments[1].tensor->name, "B");
  EXPECT_EQ(seen[0].arguments[1].tensor->shape, (std::vector<std::int64_t>{96, 128}));
  EXPECT_EQ(seen[0].arguments[0].tensor->type, (ElementType{4, 16, 1}));
  EXPECT_TRUE(seen[0].arguments[2].tensor->output);
  EXPECT_TRUE(seen[0].arguments[2].tensor->bytes.empty());
  EXPECT_EQ(seen[0].arguments[2].tensor->poison, kPoison);
  EXPECT_EQ(seen[0].schedule, wire::Schedule::kLatest);
  EXPECT_EQ(seen[1].schedule, wire::Schedule::kEarliest);
}

TEST(Evaluate, SeedsReproduceAndDiffer) {
  std::vector<std::vector<std::byte>> a;
  const Runner honest = gemm_runner({});
  const Runner runner = [&](const RunRequest& request) {
    a.emplace_back(request.arguments[0].tensor->bytes.begin(), request.arguments[0].tensor->bytes.end());
    return honest(request);
  };
  EvaluateRequest request = gemm_request();
  judge(request, runner), judge(request, runner);
  EXPECT_EQ(a[0], a[2]);
  EXPECT_EQ(a[1], a[3]);
  EXPECT_NE(a[0], a[1]);
  request.seed.reset();
  const schema::Verdict first = judge(request, runner), second = judge(request, runner);
  EXPECT_NE(a[4], a[6]);
  EXPECT_NE(first->seed, second->seed);
  EXPECT_LT(*first->seed, 1ull << 53);
}

TEST(Evaluate, CompileErrorsAndPolicyComeFirst) {
  const Runner never = [](const RunRequest&) -> Result<RunOutcome> {
    ADD_FAILURE() << "a candidate that was not built must not run";
    return fail(ErrorKind::kUnavailable, "");
  };
  EvaluateRequest request = gemm_request();
  request.build.outcome = BuildEvidence::Outcome::kCompileError;
  request.build.message = "k.cu:3: expected ';'";
  const schema::Verdict compile = judge(request, never);
  EXPECT_EQ(compile.status(), VerdictStatus::kCompileError);
  EXPECT_EQ(compile->compile.state, LayerState::kFailed);
  EXPECT_EQ(compile->correct.state, LayerState::kNotReached);
  EXPECT_EQ(compile->message, "k.cu:3: expected ';'");
  request.build.outcome = BuildEvidence::Outcome::kPolicyViolation;
  request.build.layer.policy = {{"vendor_library", "k.cu:1", "includes cublas"}};
  EXPECT_EQ(judge(request, never).status(), VerdictStatus::kPolicyViolation);
  request.build.outcome = BuildEvidence::Outcome::kInfrastructure;
  EXPECT_EQ(judge(request, never).status(), VerdictStatus::kInfraError);
}

struct EndCase {
  const char* name;
  std::function<void(RunOutcome&)> change;
  VerdictStatus status;
  const char* message;
};

wire::TrapRecord trap(const char* kind) {
  wire::TrapRecord record;
  record.kind = kind;
  record.rule = "wait for the barrier before reading";
  record.message = "read of 16 bytes at 0x10, outside every allocation";
  record.file = "gemm.cu";
  record.line = 42;
  record.address = 0x10;
  return record;
}

TEST(Evaluate, HowARunEndsDecidesTheStatus) {
  const auto ended = [](HostEnd end) { return [end](RunOutcome& o) { o.end = end, o.outputs.clear(); }; };
  const auto trapped = [](const char* kind) {
    return [kind](RunOutcome& o) {
      o.launches[0].trap = trap(kind), o.return_code = 719, o.error_text = "launch failure";
    };
  };
  const auto trapped_and = [](const char* kind, HostEnd end) {
    return [kind, end](RunOutcome& o) { o.launches[0].trap = trap(kind), o.end = end, o.outputs.clear(); };
  };
  const EndCase cases[] = {
      {"trap", trapped("out_of_bounds"), VerdictStatus::kRuntimeError,
       "out_of_bounds in kernel gemm at gemm.cu:42: read of 16 bytes at 0x10"},
      {"deadlock", trapped("deadlock"), VerdictStatus::kRuntimeError, "wait for the barrier before reading"},
      {"work limit", trapped("work_limit"), VerdictStatus::kTimeout, "work_limit in kernel gemm"},
      {"deadline", trapped("deadline"), VerdictStatus::kTimeout, "deadline in kernel gemm"},
      {"not emulated", trapped("unsupported_instruction"), VerdictStatus::kInfraError,
       "the emulator cannot execute this kernel"},
      // What many programs do when a CUDA call fails.
      {"trap and exit(1)", trapped_and("out_of_bounds", HostEnd::kExited), VerdictStatus::kRuntimeError,
       "out_of_bounds in kernel gemm at gemm.cu:42: read of 16 bytes at 0x10"},
      {"trap and exit(1), in full", trapped_and("out_of_bounds", HostEnd::kExited), VerdictStatus::kRuntimeError,
       "; then the host code ended its process with exit code 0"},
      {"trap and abort", trapped_and("deadlock", HostEnd::kSignalled), VerdictStatus::kRuntimeError,
       "deadlock in kernel"},
      {"trap and host loop", trapped_and("trap", HostEnd::kHostTimeout), VerdictStatus::kRuntimeError,
       "; then the host code did not return from run() in time"},
      {"not emulated and exit(1)", trapped_and("unsupported_instruction", HostEnd::kExited), VerdictStatus::kInfraError,
       "the emulator cannot execute this kernel"},
      {"trap and fork", trapped_and("out_of_bounds", HostEnd::kForbidden), VerdictStatus::kPolicyViolation,
       "the host code tried what a candidate may not do"},
      {"trap and protocol", trapped_and("out_of_bounds", HostEnd::kProtocol), VerdictStatus::kRuntimeError,
       "no message of the device protocol"},
      {"error", [](RunOutcome& o) { o.return_code = 1, o.error_text = "no luck"; }, VerdictStatus::kRuntimeError,
       "run() returned the error 1: no luck"},
      {"sticky", [](RunOutcome& o) { o.sticky_error = 700, o.sticky_message = "illegal address"; },
       VerdictStatus::kRuntimeError, "CUDA error 700: illegal address"},
      {"exit(0)", ended(HostEnd::kExited), VerdictStatus::kRuntimeError, "exit code 0 instead of returning from run()"},
      {"signal", ended(HostEnd::kSignalled), VerdictStatus::kRuntimeError, "died of signal"},
      {"load", ended(HostEnd::kLoadFailed), VerdictStatus::kRuntimeError, "could not be loaded"},
      {"host loop", ended(HostEnd::kHostTimeout), VerdictStatus::kTimeout, "did not return from run() in time"},
      {"host loop and its limit",
       [](RunOutcome& o) { o.end = HostEnd::kHostTimeout, o.error_text = "was still running after 5 s"; },
       VerdictStatus::kTimeout, "did not return from run() in time: it was still running after 5 s"},
      {"device loop", ended(HostEnd::kDeviceTimeout), VerdictStatus::kTimeout, "a kernel did not end in time"},
      {"protocol", ended(HostEnd::kProtocol), VerdictStatus::kRuntimeError, "no message of the device protocol"},
      {"fork", [](RunOutcome& o) { o.end = HostEnd::kForbidden, o.forbidden = "clone3: starting a thread or process"; },
       VerdictStatus::kPolicyViolation, "clone3: starting a thread"},
      {"refused call",
       [](RunOutcome& o) {
         o.return_code = 801, o.error_text = "not supported", o.refusals = {{"cudaGraphCreate", "graphs"}};
       },
       VerdictStatus::kRuntimeError, "refused: cudaGraphCreate (graphs)"},
      {"foreign module",
       [](RunOutcome& o) {
         o.return_code = 1, o.error_text = "no module", o.refusals = {{std::string(wire::kForeignModule), "made up"}};
       },
       VerdictStatus::kPolicyViolation, "load of a module: made up"},
      {"foreign module, error swallowed",
       [](RunOutcome& o) {
         o.refusals = {{std::string(wire::kForeignModule), "made up"}};
       },
       VerdictStatus::kPolicyViolation, "load of a module: made up"},
      {"outputs missing", [](RunOutcome& o) { o.outputs.clear(); }, VerdictStatus::kInfraError, "brought 0 outputs"},
      {"outputs short", [](RunOutcome& o) { o.outputs[0].pop_back(); }, VerdictStatus::kInfraError, "expected 15360"},
  };
  for (const EndCase& c : cases) {
    const schema::Verdict verdict = judge(gemm_request(), gemm_runner({}, c.change));
    EXPECT_EQ(verdict.status(), c.status) << c.name << ": " << verdict->message;
    EXPECT_THAT(verdict->message, HasSubstr(c.message)) << c.name;
    EXPECT_EQ(verdict->executed.state, LayerState::kNotReached) << c.name;
    EXPECT_FALSE(verdict->correct.strict_passed) << c.name;
    // What the emulator cannot execute is told to the author too, though nobody blames the kernel for it.
    const bool told = c.status != VerdictStatus::kInfraError || std::string_view(c.name).starts_with("not emulated");
    EXPECT_EQ(verdict->correct.failure.has_value(), told) << c.name;
    EXPECT_TRUE(schema::verdict_from_json(schema::to_json(verdict))) << c.name;
  }
}

TEST(Evaluate, ATrapKeepsItsPlace) {
  const schema::Verdict verdict =
      judge(gemm_request(), gemm_runner({}, [](RunOutcome& o) { o.launches[0].trap = trap("out_of_bounds"); }));
  const schema::TrapRecord& record = *verdict->correct.failure->trap;
  EXPECT_EQ(record.kernel, "gemm");
  EXPECT_EQ(record.source_line, 42);
  EXPECT_EQ(record.address, 0x10u);
  EXPECT_EQ(verdict->correct.runs.size(), 1u) << "no further run after a failure";
}

TEST(Evaluate, ABrokenRunnerIsInfrastructure) {
  const schema::Verdict verdict = judge(gemm_request(), [](const RunRequest&) -> Result<RunOutcome> {
    return fail(ErrorKind::kUnavailable, "ptxbench-device-emu does not start");
  });
  EXPECT_EQ(verdict.status(), VerdictStatus::kInfraError);
  EXPECT_EQ(verdict->message, "ptxbench-device-emu does not start");
  EXPECT_EQ(schema::exit_code(verdict.status()), 3);
}

TEST(Evaluate, WrongOutputsFailWithAReasonAndStopEarly) {
  const schema::Verdict verdict = judge(gemm_request(), gemm_runner({.drop_k = 16}));
  EXPECT_EQ(verdict.status(), VerdictStatus::kIncorrectNumerical);
  EXPECT_EQ(verdict->correct.runs.size(), 1u);
  EXPECT_THAT(verdict->message, HasSubstr("C is wrong on input family 'integer' (all)"));
  EXPECT_THAT(verdict->message, HasSubstr("lacks the products of k = 112-127"));
}

TEST(Evaluate, OutputsThatWereNeverWritten) {
  const auto poison = [](RunOutcome& outcome) {
    for (std::size_t i = 0; i < outcome.outputs[0].size(); ++i)
      outcome.outputs[0][i] = reinterpret_cast<const std::byte*>(&kPoison)[i % 4];
    outcome.launches.clear();
    outcome.candidate_stdout = "PASSED\n{\"status\": \"PASSED\"}\n";
  };
  const schema::Verdict verdict = judge(gemm_request(), gemm_runner({}, poison));
  EXPECT_EQ(verdict.status(), VerdictStatus::kIncorrectNumerical);
  EXPECT_THAT(verdict->message, HasSubstr("7680 of 7680 elements were never written"));
  EXPECT_THAT(verdict->message, HasSubstr("No kernel was launched"));
  EXPECT_THAT(verdict->correct.candidate_output, HasSubstr("PASSED")) << "shown, never read";
}

TEST(Evaluate, RightOutputsWithoutTheTargetFail) {
  const auto decoy = [](RunOutcome& outcome) {
    outcome.launches[0].families = {
        {"wgmma", 1, 4, 128, 2 * 64 * 8 * 16, 0}, {"tma", 1, 1, 1, 0, 64}, {"mma", 8, 100, 3200, kFlops, 0}};
  };
  EvaluateRequest request = gemm_request();
  const schema::Verdict strict = judge(request, gemm_runner({}, decoy));
  EXPECT_EQ(strict.status(), VerdictStatus::kTargetNotExecuted);
  EXPECT_EQ(strict->correct.state, LayerState::kPassed);
  EXPECT_THAT(strict->message, HasSubstr("mma did 100.0 % of it"));
  EXPECT_EQ(strict->fast.state, LayerState::kNotReached);
  request.rules = RuleSet::kPaper;
  EXPECT_EQ(judge(request, gemm_runner({}, decoy)).status(), VerdictStatus::kPassed);
  const auto unlaunched = [](RunOutcome& outcome) {
    outcome.launches[0].families = {{"mma", 8, 100, 3200, kFlops, 0}};
  };
  EXPECT_EQ(judge(request, gemm_runner({}, unlaunched)).status(), VerdictStatus::kTargetNotExecuted);
}

// 0.5 % too large passes the paper's rule and not the strict one; both are on record whichever decides.
TEST(Evaluate, TheChosenRulesDecideAndBothAreRecorded) {
  EvaluateRequest request = gemm_request();
  request.rules = RuleSet::kPaper;
  const schema::Verdict paper = judge(request, gemm_runner({.output = 1.005}));
  EXPECT_EQ(paper.status(), VerdictStatus::kPassed) << paper->message;
  EXPECT_TRUE(paper->correct.paper_passed);
  EXPECT_FALSE(paper->correct.strict_passed);
  request.rules = RuleSet::kStrict;
  const schema::Verdict strict = judge(request, gemm_runner({.output = 1.005}));
  EXPECT_EQ(strict.status(), VerdictStatus::kIncorrectNumerical);
}

TEST(Evaluate, AttentionRunsEveryFamily) {
  EvaluateRequest request = gemm_request();
  request.definition = small_attention();
  request.workload.axes = {{"S", 192}};
  const Problem problem = model::attention_problem({1, 4, 4, 192, 64, false}, false);
  const auto runner = [&](model::Faults faults) {
    return [=](const RunRequest& run) -> Result<RunOutcome> {
      return honest_outcome(model::forward(problem, inputs_of(run), faults), 4ull * 4 * 192 * 192 * 64);
    };
  };
  const schema::Verdict good = judge(request, runner({}));
  EXPECT_EQ(good.status(), VerdictStatus::kPassed) << good->message;
  EXPECT_EQ(good->correct.families.size(), 5u);
  EXPECT_EQ(good->full_task, "mha_with_lse_d64");
  const schema::Verdict base2 = judge(request, runner({.lse_base2 = true}));
  EXPECT_EQ(base2.status(), VerdictStatus::kIncorrectNumerical);
  EXPECT_THAT(base2->message, HasSubstr("it is log2, the task wants ln"));
}

TEST(Evaluate, BadRequestsAreTheCallersErrors) {
  EvaluateRequest request = gemm_request();
  request.target = "ampere";
  EXPECT_THAT(evaluate(request, gemm_runner({})).error().message,
              HasSubstr("no instruction families for target 'ampere'"));
  request = gemm_request();
  request.workload.axes.clear();
  EXPECT_FALSE(evaluate(request, gemm_runner({})));
  request = gemm_request();
  request.definition.extension.reset();
  EXPECT_EQ(evaluate(request, gemm_runner({})).error().kind, ErrorKind::kUnsupported);
}

}  // namespace
}  // namespace ptxbench::judge
