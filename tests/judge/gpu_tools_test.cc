// evaluate_on_gpu() with --sanitize and --audit, against a device process that stands for a GPU (fake_gpu_main.cc) and a script
// that stands for compute-sanitizer.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cstdlib>

#include "compile.h"
#include "ptxbench/judge/evaluate_gpu.h"
#include "ptxbench/judge/quarantine.h"
#include "ptxbench/judge/suite.h"
#include "ptxbench/judge/turn.h"

namespace ptxbench::judge {
namespace {

namespace fs = std::filesystem;
using schema::VerdictStatus;

class GpuToolsTest : public testing::Test {
 protected:
  void SetUp() override {
    PTXBENCH_NEEDS_NVCC();
    const fs::path source = PTXBENCH_SOURCE_DIR, build = PTXBENCH_BINARY_DIR;
    program_.program = build / "bin/ptxbench-device-fake-gpu";
    program_.environment = {"PTXBENCH_FAKE_SHARED=" + folder_.path().string(), "PATH=/usr/bin:/bin"};
    const Suite suite = *load_suite(source / "suites");
    request_.definition = (*suite.find_task("gemm_n7168_k5120"))->definition;
    for (schema::Axis& axis : request_.definition.axes)
      if (axis.name != "M") axis.constant = 64;
    request_.workload.uuid = "u";
    request_.workload.axes = {{"M", 16}};
    request_.workload.emulator = true;
    request_.build.outcome = BuildEvidence::Outcome::kBuilt;
    request_.build.artifact_hash = "a";
    build_candidate("-DHONEST");
    request_.run.host_program = build / "bin/ptxbench-host";
    request_.run.shim_folder = build / "lib/ptxbench/shim";
    ::setenv("PATH", (folder_.path().string() + ":" + std::getenv("PATH")).c_str(), 1);
  }
  void build_candidate(const char* define) {
    const fs::path source = PTXBENCH_SOURCE_DIR;
    request_.build.library =
        compile_once(source / "tests/judge/programs/timed_gemm.cu",
                     {"-shared", "-Xcompiler", "-fPIC", define, "-I", (source / "include").string()},
                     {source / "include/ptxbench/ffi.h"});
    ASSERT_FALSE(request_.build.library.empty());
  }
  // Runs the device program, then writes a report of the real tool.
  void install_sanitizer(const std::string& report) {
    const fs::path script = folder_.path() / "compute-sanitizer";
    const fs::path data = fs::path(PTXBENCH_SOURCE_DIR) / "tests/judge/data";
    ASSERT_TRUE(write_file_atomic(script,
                                  "#!/bin/sh\n"
                                  "while :; do case \"$1\" in\n"
                                  "  --version) exit;;\n"
                                  "  --xml) shift;;\n"
                                  "  --save) report=$2; shift 2;;\n"
                                  "  --*) shift 2;;\n"
                                  "  *) break;;\n"
                                  "esac; done\n"
                                  "\"$@\"; cp '" +
                                      (data / report).string() + "' \"$report\"\n"));
    fs::permissions(script, fs::perms::owner_all);
  }
  schema::VerdictFields judge() {
    GpuStation station(program_);
    EXPECT_TRUE(station.ready());
    const auto verdict = evaluate_on_gpu(request_, station);
    EXPECT_TRUE(verdict) << verdict.error().format();
    return verdict ? verdict->fields() : schema::VerdictFields{};
  }
  static bool has_phase(const schema::VerdictFields& fields, const char* name) {
    return std::ranges::any_of(fields.phases, [&](const schema::Phase& phase) { return phase.name == name; });
  }

  TempDir folder_ = *TempDir::create();
  DeviceProgram program_;
  EvaluateRequest request_;
};

// There is no machine code to join counts with, so without the tools the verdict is void.
TEST_F(GpuToolsTest, ToolsRunAlsoWhereTheCountIsVoid) {
  install_sanitizer("sanitizer_clean.h200.xml");
  request_.sanitize = {SanitizerTool::kMemcheck, SanitizerTool::kInitcheck};
  request_.audit = true;
  const schema::VerdictFields fields = judge();
  EXPECT_EQ(fields.status, VerdictStatus::kMeasurementVoid) << fields.message;
  EXPECT_EQ(fields.correct.state, schema::LayerState::kPassed);
  ASSERT_EQ(fields.correct.sanitizers.size(), 2u);
  for (const schema::SanitizerRun& run : fields.correct.sanitizers) EXPECT_TRUE(run.complete) << run.message;
  EXPECT_TRUE(has_phase(fields, "sanitize memcheck") && has_phase(fields, "sanitize initcheck"));
  // Nothing to compare with.
  EXPECT_FALSE(has_phase(fields, "audit"));
  ASSERT_TRUE(fields.executed.audit);
  EXPECT_THAT(fields.executed.audit->message,
              testing::HasSubstr("no result: the evaluation ended with MEASUREMENT_VOID"));
}

TEST_F(GpuToolsTest, AnErrorFoundIsTheVerdict) {
  install_sanitizer("sanitizer_out_of_bounds.h200.xml");
  request_.sanitize = {SanitizerTool::kMemcheck};
  const schema::VerdictFields fields = judge();
  EXPECT_EQ(fields.status, VerdictStatus::kRuntimeError);
  EXPECT_EQ(fields.correct.failure->what, "sanitizer");
  EXPECT_THAT(fields.message, testing::HasSubstr("write_behind at faults.cu:5, address 0x7fe36e800100"));
  EXPECT_FALSE(has_phase(fields, "timing"));
}

// Also where no device was needed to say no.
TEST_F(GpuToolsTest, TheVerdictOnABrokenBuildNamesTheDevice) {
  request_.build.outcome = BuildEvidence::Outcome::kCompileError;
  request_.build.message = "kernel.cu(1): error: expected a declaration";
  const schema::VerdictFields fields = judge();
  EXPECT_EQ(fields.status, VerdictStatus::kCompileError);
  EXPECT_EQ(fields.device, "gpu: NVIDIA H200");
}

// After a hang the GPU is asked whether it is in order.
TEST_F(GpuToolsTest, AHangOnAHealthyGpuIsTheCandidatesFault) {
  ::setenv("PTXBENCH_CACHE", folder_.path().c_str(), 1);
  build_candidate("-DHANG");
  request_.run.limits.wall = std::chrono::milliseconds(500);
  const schema::VerdictFields fields = judge();
  EXPECT_EQ(fields.status, VerdictStatus::kTimeout) << fields.message;
  EXPECT_TRUE(quarantined_cards().empty());
}

TEST_F(GpuToolsTest, AGpuThatIsIllAfterAHangIsQuarantined) {
  ::setenv("PTXBENCH_CACHE", folder_.path().c_str(), 1);
  build_candidate("-DHANG");
  request_.run.limits.wall = std::chrono::milliseconds(500);
  program_.environment.push_back("PTXBENCH_FAKE_ILL=1");
  const schema::VerdictFields fields = judge();
  EXPECT_EQ(fields.status, VerdictStatus::kInfraError);
  EXPECT_EQ(schema::exit_code(fields.status), 3);
  EXPECT_THAT(fields.message, testing::HasSubstr("failed its health check and is quarantined: the GPU computed 1"));
  ASSERT_EQ(quarantined_cards().size(), 1u);
  GpuStation station(program_);
  EXPECT_TRUE(station.ready());
  const auto refused = evaluate_on_gpu(request_, station);
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().kind, ErrorKind::kUnavailable);
  EXPECT_THAT(refused.error().hint, testing::HasSubstr("ptxbench doctor --clear-quarantine"));
  EXPECT_EQ(clear_quarantine(), 1);
  EXPECT_TRUE(check_quarantine(station.card()));
}

// Another process's evaluation on the same card is waited for: each would be in the other's times.
TEST_F(GpuToolsTest, EvaluationsTakeTurns) {
  ::setenv("PTXBENCH_CACHE", folder_.path().c_str(), 1);
  GpuStation station(program_);
  ASSERT_TRUE(station.ready());
  std::optional<UniqueFd> other = *take_turn(station.card(), {});
  std::vector<std::string> said;
  request_.progress = [&](std::string_view what) {
    said.emplace_back(what);
    other.reset();
  };
  const auto verdict = evaluate_on_gpu(request_, station);
  ASSERT_TRUE(verdict) << verdict.error().format();
  EXPECT_EQ(verdict->fields().correct.state, schema::LayerState::kPassed);
  ASSERT_FALSE(said.empty());
  EXPECT_EQ(said.front(), "waiting for another evaluation on this GPU");
}

}  // namespace
}  // namespace ptxbench::judge
