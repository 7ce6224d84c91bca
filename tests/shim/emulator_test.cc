// CUDA programs and candidates on the emulator, through shim, wire and device process.
#include <gtest/gtest.h>

#include <cstring>
#include <sstream>

#include "compile.h"
#include "ptxbench/judge/runner.h"
#include "ptxbench/wire/emulate.h"

namespace ptxbench {
namespace {

namespace fs = std::filesystem;
const fs::path kSource = PTXBENCH_SOURCE_DIR;
const fs::path kBuild = PTXBENCH_BINARY_DIR;
const fs::path kPrograms = kSource / "tests/shim/programs";

std::string emulate(const fs::path& program, const fs::path& folder, wire::EmulateOutcome& outcome) {
  wire::EmulateRequest request;
  const fs::path out = folder / "stdout";
  request.argv = {"/bin/sh", "-c", "exec \"$0\" hello > \"$1\"", program.string(), out.string()};
  request.device_program = kBuild / "bin/ptxbench-device-emu";
  request.shim_folder = kBuild / "lib/ptxbench/shim";
  Result<wire::EmulateOutcome> result = wire::emulate(request);
  EXPECT_TRUE(result.has_value()) << (result ? "" : result.error().format());
  if (result) outcome = std::move(*result);
  return read_file(out).value_or("");
}

TEST(Emulator, RunsAnOrdinaryProgram) {
  PTXBENCH_NEEDS_NVCC();
  const TempDir folder = *TempDir::create();
  ASSERT_TRUE(compile(kPrograms / "pipeline.cu", folder.path() / "pipeline"));
  wire::EmulateOutcome outcome;
  const std::string output = emulate(folder.path() / "pipeline", folder.path(), outcome);
  EXPECT_EQ(outcome.exit_code, 7) << outcome.report.sticky_message;
  EXPECT_EQ(output, "1 arguments, sum 12000.0 of 8 blocks, time passes 1\ndevice says 12000.0\ncudaSuccess hello\n");
  EXPECT_EQ(outcome.report.launches.size(), 3u);
  EXPECT_TRUE(outcome.used_device);
}

// The same program ran on an H200; every answer of the API must be the same, line by line.
TEST(Emulator, ApiAnswersAreThoseOfAnH200) {
  PTXBENCH_NEEDS_NVCC();
  const TempDir folder = *TempDir::create();
  ASSERT_TRUE(compile(kPrograms / "api_errors.cu", folder.path() / "api_errors",
                      {"-L" + (kBuild / "lib/ptxbench/shim").string(), "-l:libcuda.so.1"}));
  wire::EmulateOutcome outcome;
  std::istringstream got(emulate(folder.path() / "api_errors", folder.path(), outcome));
  std::istringstream want(*read_file(kPrograms / "api_errors.expected"));
  std::string a, b;
  int lines = 0;
  for (; std::getline(want, b); ++lines) {
    ASSERT_TRUE(std::getline(got, a)) << "nothing for: " << b;
    EXPECT_EQ(a, b);
  }
  EXPECT_GT(lines, 150);
  EXPECT_EQ(outcome.exit_code, 0);
}

class EmulatedCandidate : public testing::Test {
 protected:
  Result<judge::RunOutcome> run(int mode) {
    const fs::path library =
        compile_once(kPrograms / "candidate.cu",
                     {"-shared", "-Xcompiler", "-fPIC", "-lineinfo", "-I", (kSource / "include").string(),
                      "-L" + (kBuild / "lib/ptxbench/shim").string(), "-l:libcuda.so.1"},
                     {kSource / "include/ptxbench/ffi.h"});
    if (library.empty()) return fail(ErrorKind::kUnavailable, "nvcc failed");
    judge::RunRequest request;
    PTXBENCH_TRY_STATUS(judge::locate_programs(request));
    request.artifact = library;
    request.limits.wall = std::chrono::seconds(20);
    request.limits.work = 1'000'000;
    judge::RunTensor tensor;
    tensor.name = "in";
    tensor.type = {0, 32, 1};
    tensor.shape = {8};
    tensor.bytes = std::as_bytes(std::span(input_));
    judge::RunArgument in{tensor, {}};
    tensor.name = "out";
    tensor.bytes = {};
    tensor.output = true;
    judge::RunArgument out{tensor, {}}, scalar;
    scalar.scalar.integer = mode;
    request.arguments = {in, out, scalar};
    return judge::run_candidate(request);
  }

  std::vector<std::int32_t> input_{1, 2, 3, 4, 5, 6, 7, 8};
};

TEST_F(EmulatedCandidate, HonestOne) {
  PTXBENCH_NEEDS_NVCC();
  const Result<judge::RunOutcome> outcome = run(0);
  ASSERT_TRUE(outcome) << outcome.error().format();
  EXPECT_EQ(outcome->return_code, 0) << outcome->error_text;
  std::vector<std::int32_t> values(8);
  ASSERT_EQ(outcome->outputs.at(0).size(), 32u);
  std::memcpy(values.data(), outcome->outputs[0].data(), 32);
  EXPECT_EQ(values, (std::vector<std::int32_t>{6, 7, 8, 9, 10, 11, 12, 13}));
  EXPECT_GT(outcome->launches.at(0).thread_instructions, 8u);
}

TEST_F(EmulatedCandidate, OutOfBoundsNamesTheLine) {
  PTXBENCH_NEEDS_NVCC();
  const Result<judge::RunOutcome> outcome = run(14);
  ASSERT_TRUE(outcome) << outcome.error().format();
  EXPECT_EQ(outcome->sticky_error, 700);
  ASSERT_NE(outcome->trap(), nullptr);
  EXPECT_EQ(outcome->trap()->kind, "out_of_bounds");
  EXPECT_EQ(fs::path(outcome->trap()->file).filename(), "candidate.cu");
  std::istringstream source(*read_file(kPrograms / "candidate.cu"));
  std::string line;
  for (std::uint32_t i = 0; i < outcome->trap()->line; ++i) std::getline(source, line);
  EXPECT_NE(line.find("__global__ void oob"), std::string::npos) << line;
}

TEST_F(EmulatedCandidate, EndlessKernelSpendsItsWork) {
  PTXBENCH_NEEDS_NVCC();
  const Result<judge::RunOutcome> outcome = run(15);
  ASSERT_TRUE(outcome) << outcome.error().format();
  EXPECT_EQ(outcome->end, judge::HostEnd::kDeviceTimeout);
  ASSERT_NE(outcome->trap(), nullptr);
  EXPECT_EQ(outcome->trap()->kind, "work_limit");
}

}  // namespace
}  // namespace ptxbench
