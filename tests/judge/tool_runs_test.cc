// The way of a tool's report into a verdict. The tools themselves need a GPU: shell scripts stand for them, which run the
// emulator as the device program and then write a report that the real tool wrote on an H200 (tests/judge/data).
#include "ptxbench/judge/tool_runs.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdlib>
#include <cstring>

#include "../shim/compile.h"
#include "ptxbench/judge/evaluate.h"
#include "ptxbench/judge/suite.h"

namespace ptxbench::judge {
namespace {

namespace fs = std::filesystem;
using schema::LayerState;
using schema::VerdictStatus;
using ::testing::HasSubstr;

const fs::path kSource = PTXBENCH_SOURCE_DIR;
const fs::path kBuild = PTXBENCH_BINARY_DIR;

// Sets a variable for the life of the object.
class Environment {
 public:
  Environment(const char* name, const std::string& value) : name_(name) {
    if (const char* before = std::getenv(name)) before_ = before;
    ::setenv(name, value.c_str(), 1);
  }
  ~Environment() { before_ ? ::setenv(name_, before_->c_str(), 1) : ::unsetenv(name_); }

 private:
  const char* name_;
  std::optional<std::string> before_;
};

void write_program(const fs::path& file, const std::string& text) {
  ASSERT_TRUE(write_file_atomic(file, text));
  fs::permissions(file, fs::perms::owner_all);
}

TEST(LocateCudaTool, PathThenCudaHome) {
  const TempDir folder = *TempDir::create();
  fs::create_directories(folder.path() / "path");
  fs::create_directories(folder.path() / "cuda/bin");
  const Environment path("PATH", "relative:" + (folder.path() / "path").string() + "::/nonexistent");
  const Environment home("CUDA_HOME", (folder.path() / "cuda").string());
  const auto none = locate_cuda_tool("ptxbench-no-such-tool");
  ASSERT_FALSE(none);
  EXPECT_THAT(none.error().message, HasSubstr("'ptxbench-no-such-tool' is not on PATH, in $CUDA_HOME/bin"));
  write_program(folder.path() / "cuda/bin/ptxbench-no-such-tool", "#!/bin/sh\n");
  EXPECT_EQ(*locate_cuda_tool("ptxbench-no-such-tool"), folder.path() / "cuda/bin/ptxbench-no-such-tool");
  // A file that cannot be started is none.
  ASSERT_TRUE(write_file_atomic(folder.path() / "path/ptxbench-no-such-tool", "text"));
  fs::permissions(folder.path() / "path/ptxbench-no-such-tool", fs::perms::owner_read);
  EXPECT_EQ(locate_cuda_tool("ptxbench-no-such-tool")->parent_path(), folder.path() / "cuda/bin");
  fs::remove(folder.path() / "path/ptxbench-no-such-tool");
  write_program(folder.path() / "path/ptxbench-no-such-tool", "#!/bin/sh\n");
  EXPECT_EQ(locate_cuda_tool("ptxbench-no-such-tool")->parent_path(), folder.path() / "path");
}

// ---- Status: prepared findings in a draft --------------------------------------------------------------------------

EvaluateRequest gemm_request() {
  static const Suite suite = *load_suite(kSource / "suites");
  EvaluateRequest request;
  request.definition = (*suite.find_task("gemm_n7168_k5120"))->definition;
  for (schema::Axis& axis : request.definition.axes)
    if (axis.name != "M") axis.constant = axis.name == "N" ? 1024 : 640;
  request.workload.uuid = "u";
  request.workload.axes = {{"M", 128}};
  request.workload.emulator = true;
  request.seed = 77;
  request.build.outcome = BuildEvidence::Outcome::kBuilt;
  request.build.artifact_hash = "a";
  return request;
}

// The three layers of a run on which everything was right.
Draft good_draft(const EvaluateRequest& request) {
  Draft draft = *Draft::create(request, "gpu");
  EXPECT_TRUE(draft.accept_build());
  RunOutcome outcome;
  wire::LaunchRecord launch;
  launch.kernel = "gemm";
  launch.families = {{"wgmma", 4, 4, 128, 2ull * 128 * 1024 * 640, 0}, {"tma", 2, 2, 2, 0, 4096}};
  outcome.launches = {launch};
  EXPECT_TRUE(draft.take_run(outcome, "hardware", 0.1));
  schema::FamilyFigures family;
  family.family = "normal";
  family.paper_applies = family.paper_passed = family.strict_passed = true;
  family.outputs = {{}};
  EXPECT_TRUE(draft.take_families({family}));
  draft.finish_correct(1);
  EXPECT_TRUE(*draft.judge_executed({outcome.launches}, {"CUPTI SASS metrics", "not counted"}));
  draft.fields().fast.state = LayerState::kNotMeasured;
  draft.fields().fast.message = "not measured";
  return draft;
}

schema::SanitizerRun memcheck_run() {
  return {"memcheck",
          true,
          "",
          0.5,
          {{"out of bounds", "warning", "harmless", "k", "k.cu", 1, {}, 1},
           {"out of bounds", "error", "Invalid write", "_Z4fillPf", "fill.cu", 5, 0x7fe36e800100, 2}}};
}

TEST(SanitizerStatus, AnErrorIsARuntimeErrorWithKernelLineAndAddress) {
  EvaluateRequest request = gemm_request();
  request.sanitize = {SanitizerTool::kMemcheck, SanitizerTool::kRacecheck};
  Draft draft = good_draft(request);
  draft.take_sanitizer(memcheck_run());
  EXPECT_TRUE(draft.ended());
  const auto verdict = draft.finish();
  ASSERT_TRUE(verdict);
  EXPECT_EQ(verdict->status(), VerdictStatus::kRuntimeError);
  EXPECT_EQ(verdict->fields().message,
            "memcheck: Invalid write, in kernel fill(float*) at fill.cu:5, address 0x7fe36e800100, 2 times");
  const schema::CorrectLayer& layer = verdict->fields().correct;
  EXPECT_EQ(layer.state, LayerState::kFailed);
  ASSERT_TRUE(layer.failure);
  EXPECT_EQ(layer.failure->what, "sanitizer");
  EXPECT_FALSE(layer.strict_passed);
  EXPECT_EQ(verdict->fields().executed.state, LayerState::kNotReached);
  // The other one has no run, and says so.
  ASSERT_EQ(layer.sanitizers.size(), 2u);
  EXPECT_EQ(layer.sanitizers[1].tool, "racecheck");
  EXPECT_FALSE(layer.sanitizers[1].complete);
  EXPECT_EQ(layer.sanitizers[1].message, "no result: the evaluation ended with RUNTIME_ERROR");
}

TEST(SanitizerStatus, WarningsAndMissingToolsDoNotChangeIt) {
  EvaluateRequest request = gemm_request();
  request.sanitize = {SanitizerTool::kMemcheck, SanitizerTool::kSynccheck};
  Draft draft = good_draft(request);
  schema::SanitizerRun run = memcheck_run();
  run.findings.pop_back();
  draft.take_sanitizer(run);
  draft.take_sanitizer({"synccheck", false, "no tool", 0, {}});
  const auto verdict = draft.finish();
  ASSERT_TRUE(verdict);
  EXPECT_EQ(verdict->status(), VerdictStatus::kPassed) << verdict->fields().message;
  EXPECT_EQ(verdict->fields().correct.sanitizers.size(), 2u);
}

TEST(SanitizerStatus, AVoidCountGivesWayToAnError) {
  const EvaluateRequest request = gemm_request();
  Draft draft = good_draft(request);
  draft.void_executed("CUPTI SASS metrics", "no permission");
  draft.take_sanitizer(memcheck_run());
  const auto verdict = draft.finish();
  ASSERT_TRUE(verdict);
  EXPECT_EQ(verdict->status(), VerdictStatus::kRuntimeError);
}

TEST(SanitizerStatus, AFailedRunKeepsItsWords) {
  EvaluateRequest request = gemm_request();
  Draft draft = *Draft::create(request, "gpu");
  ASSERT_TRUE(draft.accept_build());
  RunOutcome outcome;
  outcome.sticky_error = 700;
  outcome.sticky_message = "an illegal memory access was encountered";
  EXPECT_FALSE(draft.take_run(outcome, "hardware", 0.1));
  draft.finish_correct(2);
  const std::string words = draft.fields().message;
  draft.take_sanitizer(memcheck_run());
  const auto verdict = draft.finish();
  ASSERT_TRUE(verdict);
  EXPECT_EQ(verdict->fields().message, words);
  EXPECT_NE(verdict->fields().correct.failure->what, "sanitizer");
  EXPECT_EQ(verdict->fields().correct.sanitizers.size(), 1u);
}

TEST(SanitizerStatus, AnEvaluationThatEndsBeforeSaysSo) {
  EvaluateRequest request = gemm_request();
  request.sanitize = {SanitizerTool::kInitcheck};
  request.audit = true;
  request.build.outcome = BuildEvidence::Outcome::kCompileError;
  request.build.message = "k.cu:3: expected ';'";
  Draft draft = *Draft::create(request, "gpu");
  EXPECT_FALSE(draft.accept_build());
  ToolRuns(draft, {"/nonexistent", {}, {}, {}}).run({});
  const auto verdict = draft.finish();
  ASSERT_TRUE(verdict);
  EXPECT_EQ(verdict->fields().correct.sanitizers.at(0).message, "no result: the evaluation ended with COMPILE_ERROR");
  ASSERT_TRUE(verdict->fields().executed.audit);
  EXPECT_FALSE(verdict->fields().executed.audit->agrees);
  EXPECT_THAT(verdict->fields().executed.audit->message, HasSubstr("COMPILE_ERROR"));
}

TEST(EmulatorEvaluation, RefusesTheToolsByName) {
  EvaluateRequest request = gemm_request();
  request.sanitize = {SanitizerTool::kMemcheck};
  const Runner never = [](const RunRequest&) -> Result<RunOutcome> { return fail(ErrorKind::kUnavailable, ""); };
  EXPECT_THAT(evaluate(request, never).error().message, HasSubstr("--sanitize needs --device gpu; the emulator"));
  request.sanitize.clear();
  request.audit = true;
  EXPECT_THAT(evaluate(request, never).error().message, HasSubstr("--audit needs --device gpu; the emulator"));
}

// ---- The whole way, with scripts as tools --------------------------------------------------------------------------

// What stands for compute-sanitizer: reads the options up to the program, then does `body`, which has $report, $log and the
// program with its arguments as "$@".
std::string sanitizer_script(const std::string& body) {
  return "#!/bin/sh\n"
         "if [ \"$1\" = --version ]; then echo 'Version 2025.3.1.0 (build 36400806)'; exit; fi\n"
         "while :; do case \"$1\" in\n"
         "  --xml) shift;;\n"
         "  --save) report=$2; shift 2;;\n"
         "  --log-file) log=$2; shift 2;;\n"
         "  --*) shift 2;;\n"
         "  *) break;;\n"
         "esac; done\n" +
         body + "\n";
}
std::string sample(const std::string& name) { return (kSource / "tests/judge/data" / name).string(); }
std::string writes(const std::string& name) {
  return "\"$@\"; code=$?; cp '" + sample("sanitizer_" + name + ".h200.xml") + "' \"$report\"; exit $code";
}

class WithTools : public testing::Test {
 protected:
  void SetUp() override {
    PTXBENCH_NEEDS_NVCC();
    library_ = compile_once(kSource / "tests/shim/programs/candidate.cu",
                            {"-shared", "-Xcompiler", "-fPIC", "-lineinfo", "-I", (kSource / "include").string(),
                             "-L" + (kBuild / "lib/ptxbench/shim").string(), "-l:libcuda.so.1"},
                            {kSource / "include/ptxbench/ffi.h"});
    ASSERT_FALSE(library_.empty());
    device_.program = kBuild / "bin/ptxbench-device-emu";
    device_.arguments = {"--memory", "256", "--threads", "1"};
    device_.environment = {"PATH=/usr/bin:/bin"};
    path_.emplace("PATH", folder_.path().string() + ":" + std::getenv("PATH"));
  }
  void install(const std::string& name, const std::string& script) { write_program(folder_.path() / name, script); }

  // tests/shim/programs/candidate.cu on the emulator.
  ToolRun what(int mode) {
    ToolRun what;
    what.request.host_program = kBuild / "bin/ptxbench-host";
    what.request.shim_folder = kBuild / "lib/ptxbench/shim";
    what.request.artifact = library_;
    RunTensor in, out;
    in.name = "in";
    in.type = {0, 32, 1};
    in.shape = {8};
    in.bytes = std::as_bytes(std::span(input_));
    out = in;
    out.name = "out";
    out.bytes = {};
    out.output = true;
    RunArgument scalar;
    scalar.scalar.integer = mode;
    what.request.arguments = {{in, {}}, {out, {}}, scalar};
    what.launches = 1;
    return what;
  }

  schema::SanitizerRun sanitized(SanitizerTool tool, const ToolRun& what) {
    Result<StartedTool> started = start_sanitizer(tool, device_);
    return run_sanitizer(tool, started, what);
  }

  DeviceProgram device_;
  TempDir folder_ = *TempDir::create();
  std::optional<Environment> path_;
  fs::path library_;
  std::vector<std::int32_t> input_{1, 2, 3, 4, 5, 6, 7, 8};
};

TEST_F(WithTools, ACleanReport) {
  install("compute-sanitizer",
          sanitizer_script("echo \"$@\" > '" + (folder_.path() / "argv").string() + "'\n" + writes("clean")));
  const schema::SanitizerRun run = sanitized(SanitizerTool::kRacecheck, what(0));
  EXPECT_TRUE(run.complete) << run.message;
  EXPECT_EQ(run.tool, "racecheck");
  EXPECT_TRUE(run.findings.empty());
  EXPECT_GT(run.seconds, 0);
  // The device program stands behind the tool with all its arguments.
  EXPECT_THAT(*read_file(folder_.path() / "argv"),
              HasSubstr("bin/ptxbench-device-emu --control-fd 3 --memory 256 --threads 1"));
}

TEST_F(WithTools, FindingsOfAFaultyRun) {
  install("compute-sanitizer", sanitizer_script(writes("out_of_bounds")));
  const schema::SanitizerRun run = sanitized(SanitizerTool::kMemcheck, what(14));
  ASSERT_EQ(run.findings.size(), 1u);
  EXPECT_EQ(run.findings[0].kernel, "write_behind");
  EXPECT_EQ(run.findings[0].count, 2);
  // The kernel trapped: what would have come after it was not checked.
  EXPECT_FALSE(run.complete);
  EXPECT_THAT(run.message, HasSubstr("oob"));
}

TEST_F(WithTools, NoReportIsNoCleanReport) {
  install("compute-sanitizer", sanitizer_script("echo '========= no such GPU' > \"$log\"; \"$@\""));
  schema::SanitizerRun run = sanitized(SanitizerTool::kMemcheck, what(0));
  EXPECT_FALSE(run.complete);
  EXPECT_THAT(run.message, HasSubstr("wrote no report"));
  EXPECT_THAT(run.message, HasSubstr("no such GPU"));

  install("compute-sanitizer",
          sanitizer_script("\"$@\"; head -c 400 '" + sample("sanitizer_out_of_bounds.h200.xml") + "' > \"$report\""));
  run = sanitized(SanitizerTool::kMemcheck, what(0));
  EXPECT_FALSE(run.complete);
  EXPECT_THAT(run.message, HasSubstr("no complete report"));
  EXPECT_TRUE(run.findings.empty());
}

TEST_F(WithTools, AToolThatDiesOrDoesNotStart) {
  install("compute-sanitizer", sanitizer_script("\"$@\"; kill -9 $$"));
  schema::SanitizerRun run = sanitized(SanitizerTool::kMemcheck, what(0));
  EXPECT_FALSE(run.complete);
  EXPECT_THAT(run.message, HasSubstr("signal 9"));

  install("compute-sanitizer", sanitizer_script("echo 'unknown option' >&2; exit 1"));
  run = sanitized(SanitizerTool::kMemcheck, what(0));
  EXPECT_FALSE(run.complete);
  EXPECT_THAT(run.message, HasSubstr("exited with code 1"));
  EXPECT_THAT(run.message, HasSubstr("unknown option"));
}

TEST_F(WithTools, AMissingToolIsNamed) {
  if (fs::exists("/usr/local/cuda/bin/compute-sanitizer")) GTEST_SKIP() << "this machine has the tool";
  const Environment home("CUDA_HOME", "/nonexistent"), path("PATH", folder_.path());
  const schema::SanitizerRun run = sanitized(SanitizerTool::kMemcheck, what(0));
  EXPECT_FALSE(run.complete);
  EXPECT_THAT(run.message, HasSubstr("'compute-sanitizer' is not on PATH"));
}

TEST_F(WithTools, AKernelThatHangsUnderTheTool) {
  install("compute-sanitizer", sanitizer_script(writes("clean")));
  ToolRun hangs = what(15);
  hangs.request.limits.wall = std::chrono::milliseconds(50);
  const schema::SanitizerRun run = sanitized(SanitizerTool::kMemcheck, hangs);
  EXPECT_FALSE(run.complete);
  EXPECT_THAT(run.message, HasSubstr("did not end within 1 s under the tool"));  // 20 times as long
}

TEST_F(WithTools, ACandidateThatDoesLessUnderTheTool) {
  install("compute-sanitizer", sanitizer_script(writes("clean")));
  const schema::SanitizerRun run = sanitized(SanitizerTool::kMemcheck, what(7));  // launches nothing
  EXPECT_FALSE(run.complete);
  EXPECT_THAT(run.message, HasSubstr("launched 0 kernels, without it 1"));
}

// Writes the table of an H200 after the program has ended.
const char kNcu[] =
    "#!/bin/sh\n"
    "if [ \"$1\" = --version ]; then\n"
    "  echo 'NVIDIA (R) Nsight Compute Command Line Profiler'; echo 'Version 2025.3.1.0 (build 36398880)'; exit; fi\n"
    "while :; do case \"$1\" in\n"
    "  --csv) shift;;\n"
    "  --log-file) report=$2; shift 2;;\n"
    "  --*) shift 2;;\n"
    "  *) break;;\n"
    "esac; done\n"
    "\"$@\"; code=$?; ";

TEST_F(WithTools, AnAuditThatIsNotPossibleSaysWhy) {
  install("ncu", std::string(kNcu) + "echo '==ERROR== ERR_NVGPUCTRPERM - no permission' > \"$report\"; exit $code\n");
  const schema::Audit audit = run_audit(start_ncu(device_), what(0), {});
  EXPECT_FALSE(audit.agrees);
  EXPECT_EQ(audit.tool, "ncu");
  EXPECT_THAT(audit.message, HasSubstr("ERR_NVGPUCTRPERM"));
}

// kernels/hopper/gemm.cu with the sizes of ncu's recorded table: the emulator counts, ncu on an H200 counted.
TEST_F(WithTools, AWholeEvaluation) {
  install("compute-sanitizer", sanitizer_script(writes("clean")));
  install("ncu",
          std::string(kNcu) + "cp '" + sample("ncu_gemm_m128_n1024_k640.h200.csv") + "' \"$report\"; exit $code\n");
  EvaluateRequest request = gemm_request();
  request.build.library =
      compile_once(kSource / "kernels/hopper/gemm.cu",
                   {"-shared", "-Xcompiler", "-fPIC", "-lineinfo", "-I", (kSource / "include").string(),
                    "-L" + (kBuild / "lib/ptxbench/shim").string(), "-l:libcuda.so.1"},
                   {kSource / "include/ptxbench/ffi.h"});
  ASSERT_FALSE(request.build.library.empty());
  request.run = what(0).request;
  request.run.device_program = device_.program;
  const auto emulated = evaluate(request, run_candidate);
  ASSERT_TRUE(emulated) << emulated.error().format();
  ASSERT_EQ(emulated->status(), VerdictStatus::kPassed) << emulated->fields().message;

  request.sanitize = {SanitizerTool::kMemcheck, SanitizerTool::kSynccheck};
  request.audit = true;
  const auto plans = *plan_runs(Draft::create(request, "gpu")->problem(), request.definition.extension->families, 77);
  const auto with_tools = [&] {
    Draft draft = *Draft::create(request, "gpu");
    draft.fields() = emulated->fields();
    ToolRuns(draft, device_).run([&]() -> Result<std::vector<HostTensor>> {
      return make_inputs(draft.problem(), plans[0], draft.seed(), 0, 1).tensors;
    });
    return draft.finish();
  };
  const auto verdict = with_tools();
  ASSERT_TRUE(verdict);
  EXPECT_EQ(verdict->status(), VerdictStatus::kPassed) << verdict->fields().message;
  ASSERT_EQ(verdict->fields().correct.sanitizers.size(), 2u);
  for (const schema::SanitizerRun& run : verdict->fields().correct.sanitizers) EXPECT_TRUE(run.complete) << run.message;
  ASSERT_FALSE(verdict->fields().versions.empty());
  EXPECT_EQ(verdict->fields().versions.back().name, "compute-sanitizer");
  EXPECT_EQ(verdict->fields().versions.back().version, "2025.3.1.0");
  ASSERT_TRUE(verdict->fields().executed.audit);
  const schema::Audit& audit = *verdict->fields().executed.audit;
  EXPECT_EQ(audit.version, "2025.3.1.0");
  // The other families are PTX instructions that become several machine instructions, or none.
  for (const schema::AuditRow& row : audit.rows) {
    std::printf("%s: %ju on the emulator, %ju by ncu\n", row.family.c_str(), static_cast<std::uintmax_t>(row.counted),
                static_cast<std::uintmax_t>(row.audited));
    if (row.family == "wgmma" || row.family == "tma" || row.family == "ldmatrix") {
      EXPECT_EQ(row.counted, row.audited) << row.family;
    }
  }
  EXPECT_GE(audit.rows.size(), 3u) << audit.message;
  for (const char* name : {"sanitize memcheck", "sanitize synccheck", "audit"})
    EXPECT_TRUE(std::ranges::any_of(verdict->fields().phases, [&](const auto& p) { return p.name == name; })) << name;

  install("compute-sanitizer", sanitizer_script(writes("out_of_bounds")));
  const auto faulty = with_tools();
  ASSERT_TRUE(faulty);
  EXPECT_EQ(faulty->status(), VerdictStatus::kRuntimeError);
  EXPECT_THAT(faulty->fields().message, HasSubstr("in kernel write_behind at faults.cu:5, address 0x7fe36e800100"));
  EXPECT_THAT(faulty->fields().executed.audit->message, HasSubstr("no result"));
}

}  // namespace
}  // namespace ptxbench::judge
