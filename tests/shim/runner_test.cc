// run_candidate() with candidates that do what candidates should not do. The device has native kernels
// (tests/wire/fake_device.h); the same candidates run on the emulator in emulator_test.cc.
#include "ptxbench/judge/runner.h"

#include <gtest/gtest.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <csignal>
#include <thread>

#include <cstring>

#include "compile.h"

namespace ptxbench::judge {
namespace {

namespace fs = std::filesystem;

// Orphans of our children become our own children, so that none is missed.
bool any_child_left() {
  const auto deadline = std::chrono::steady_clock::now() + std::chrono::seconds(10);
  while (std::chrono::steady_clock::now() < deadline) {
    const pid_t ended = ::waitpid(-1, nullptr, WNOHANG);
    if (ended < 0 && errno == ECHILD) return false;
    if (ended == 0) std::this_thread::sleep_for(std::chrono::milliseconds(20));
  }
  return true;
}

class Runner : public testing::Test {
 protected:
  static void SetUpTestSuite() {
    if (!find_nvcc()) return;
    folder_ = new TempDir(*TempDir::create());
    const fs::path source = PTXBENCH_SOURCE_DIR;
    const fs::path built =
        compile_once(source / "tests/shim/programs/candidate.cu",
                     {"-shared", "-Xcompiler", "-fPIC", "-lineinfo", "-I", (source / "include").string(),
                      "-L" + (fs::path(PTXBENCH_BINARY_DIR) / "lib/ptxbench/shim").string(), "-l:libcuda.so.1"},
                     {source / "include/ptxbench/ffi.h"});
    std::error_code error;
    library_ = folder_->path() / "candidate.so";
    compiled_ = !built.empty() && fs::copy_file(built, library_, error);
  }
  static void TearDownTestSuite() {
    delete folder_;
    folder_ = nullptr;
  }
  void SetUp() override {
    PTXBENCH_NEEDS_NVCC();
    ASSERT_TRUE(compiled_);
    ASSERT_EQ(::prctl(PR_SET_CHILD_SUBREAPER, 1), 0);
  }
  void TearDown() override { EXPECT_FALSE(any_child_left()) << "a host, device or supervisor process was left behind"; }

  RunRequest request(int mode) {
    RunRequest request;
    const fs::path build = PTXBENCH_BINARY_DIR;
    request.host_program = build / "bin/ptxbench-host";
    request.shim_folder = build / "lib/ptxbench/shim";
    request.device_program = build / "bin" / device_;
    request.artifact = library_;
    request.limits.wall = std::chrono::milliseconds(4'000);
    request.limits.host_memory = std::uint64_t{1} << 30;
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
    request.arguments = {{in, {}}, {out, {}}, scalar};
    return request;
  }
  RunOutcome run(int mode) {
    const Result<RunOutcome> outcome = run_candidate(request(mode));
    EXPECT_TRUE(outcome.has_value()) << (outcome ? "" : outcome.error().format());
    if (outcome) RecordProperty("sandbox", outcome->sandbox);
    return outcome ? *outcome : RunOutcome{};
  }
  static std::vector<std::int32_t> ints(const std::vector<std::byte>& bytes) {
    std::vector<std::int32_t> values(bytes.size() / 4);
    std::memcpy(values.data(), bytes.data(), values.size() * 4);
    return values;
  }

  static inline TempDir* folder_ = nullptr;
  static inline fs::path library_;
  static inline bool compiled_ = false;
  std::vector<std::int32_t> input_{1, 2, 3, 4, 5, 6, 7, 8};
  const char* device_ = "ptxbench-device-fake";
};

TEST_F(Runner, AnHonestCandidateReturnsItsOutput) {
  const RunOutcome outcome = run(0);
  EXPECT_EQ(outcome.end, HostEnd::kReturned) << outcome.error_text << outcome.candidate_stderr;
  EXPECT_EQ(outcome.return_code, 0) << outcome.error_text;
  ASSERT_EQ(outcome.outputs.size(), 1u);
  EXPECT_EQ(ints(outcome.outputs[0]), (std::vector<std::int32_t>{6, 7, 8, 9, 10, 11, 12, 13}));
  ASSERT_EQ(outcome.launches.size(), 1u);
  EXPECT_NE(outcome.launches[0].kernel.find("add"), std::string::npos);
  EXPECT_EQ(outcome.launches[0].module_sha256.size(), 64u);
  EXPECT_TRUE(outcome.refusals.empty());
  EXPECT_FALSE(outcome.sandbox.empty());
  std::printf("device start %.1f ms, upload %.2f ms, host ready %.1f ms, run %.1f ms, total %.1f ms, %s\n",
              outcome.times.device_start, outcome.times.upload, outcome.times.host_start, outcome.times.run,
              outcome.times.total, outcome.sandbox.c_str());
}

TEST_F(Runner, AnUntouchedOutputKeepsItsPoison) {
  const RunOutcome outcome = run(7);
  EXPECT_EQ(outcome.end, HostEnd::kReturned);
  ASSERT_EQ(outcome.outputs.size(), 1u);
  EXPECT_EQ(ints(outcome.outputs[0]), std::vector<std::int32_t>(8, -1));
  EXPECT_EQ(outcome.candidate_stdout, "PASSED\n");
  EXPECT_EQ(outcome.candidate_stderr, "all layers passed\n");
  EXPECT_TRUE(outcome.launches.empty());
}

TEST_F(Runner, ErrorsAndExceptionsAreItsOwnWords) {
  const RunOutcome thrown = run(1);
  EXPECT_EQ(thrown.end, HostEnd::kReturned);
  EXPECT_EQ(thrown.return_code, -1);
  EXPECT_NE(thrown.error_text.find("bad luck"), std::string::npos) << thrown.error_text;
  const RunOutcome odd = run(23);
  EXPECT_NE(odd.return_code, 0);
  EXPECT_NE(odd.error_text, "");
  const RunOutcome wrong = run(1000);
  EXPECT_NE(wrong.error_text.find("no such mode"), std::string::npos);
}

TEST_F(Runner, LeavingTheProcessIsNotReturning) {
  const RunOutcome exited = run(2);
  EXPECT_EQ(exited.end, HostEnd::kExited);
  EXPECT_EQ(exited.exit_code, 0);
  const RunOutcome aborted = run(3);
  EXPECT_EQ(aborted.end, HostEnd::kSignalled);
  EXPECT_EQ(aborted.signal, SIGABRT);
  const RunOutcome crashed = run(8);
  EXPECT_EQ(crashed.end, HostEnd::kSignalled);
  EXPECT_EQ(crashed.signal, SIGSEGV);
  const RunOutcome mute = run(21);
  EXPECT_NE(mute.end, HostEnd::kReturned);
}

TEST_F(Runner, WhatTheSandboxForbidsIsNamed) {
  struct Case {
    int mode;
    const char* word;
  };
  for (const Case& c :
       {Case{4, "process"}, {5, "thread"}, {10, "writing"}, {11, "socket"}, {12, "program"}, {20, "kill"}}) {
    const RunOutcome outcome = run(c.mode);
    EXPECT_EQ(outcome.end, HostEnd::kForbidden) << c.mode << " " << to_string(outcome.end) << " " << outcome.error_text;
    EXPECT_NE(outcome.forbidden.find(c.word), std::string::npos) << c.mode << ": " << outcome.forbidden;
  }
}

TEST_F(Runner, ThereIsNothingToSee) {
  ASSERT_TRUE(write_file_atomic(folder_->path() / "secret.txt", "seed 1"));
  const RunOutcome files = run(9);
  EXPECT_EQ(files.end, HostEnd::kReturned);
  EXPECT_EQ(files.return_code, 0) << files.error_text;
  const RunOutcome vendor = run(22);
  EXPECT_EQ(vendor.return_code, 0) << vendor.error_text;
}

TEST_F(Runner, EndlessHostCodeRunsOutOfTime) {
  RunRequest busy = request(6);
  busy.limits.host_cpu = std::chrono::seconds(1);
  busy.limits.wall = std::chrono::seconds(20);
  const Result<RunOutcome> cpu = run_candidate(busy);
  ASSERT_TRUE(cpu) << cpu.error().format();
  EXPECT_EQ(cpu->end, HostEnd::kHostTimeout);
  RunRequest idle = request(26);
  idle.limits.wall = std::chrono::milliseconds(500);
  const Result<RunOutcome> wall = run_candidate(idle);
  ASSERT_TRUE(wall) << wall.error().format();
  EXPECT_EQ(wall->end, HostEnd::kHostTimeout);
}

TEST_F(Runner, EndlessKernelsRunOutOfTime) {
  RunRequest spinning = request(15);
  spinning.limits.wall = std::chrono::milliseconds(500);
  const Result<RunOutcome> outcome = run_candidate(spinning);
  ASSERT_TRUE(outcome) << outcome.error().format();
  EXPECT_EQ(outcome->end, HostEnd::kDeviceTimeout) << to_string(outcome->end) << outcome->error_text;
}

TEST_F(Runner, MemoryIsLimited) {
  const RunOutcome outcome = run(13);
  const bool limited =
      outcome.end == HostEnd::kHostLimit || (outcome.end == HostEnd::kReturned && outcome.return_code != 0);
  EXPECT_TRUE(limited) << to_string(outcome.end) << outcome.error_text;
}

TEST_F(Runner, ATrapIsReportedWithItsKernel) {
  const RunOutcome outcome = run(14);
  EXPECT_EQ(outcome.end, HostEnd::kReturned);
  EXPECT_NE(outcome.error_text.find("cudaErrorIllegalAddress"), std::string::npos) << outcome.error_text;
  EXPECT_EQ(outcome.sticky_error, 700);
  ASSERT_NE(outcome.trap(), nullptr);
  EXPECT_EQ(outcome.trap()->kind, "out_of_bounds");
}

TEST_F(Runner, RefusedCallsAreNamed) {
  const RunOutcome graph = run(16);
  EXPECT_NE(graph.error_text.find("cudaErrorNotSupported"), std::string::npos);
  ASSERT_EQ(graph.refusals.size(), 1u);
  EXPECT_EQ(graph.refusals[0].call, "cudaGraphCreate");
  const RunOutcome made_up = run(17);
  EXPECT_NE(made_up.error_text.find("800"), std::string::npos) << made_up.error_text;
  ASSERT_EQ(made_up.refusals.size(), 1u);
  EXPECT_EQ(made_up.refusals[0].call, wire::kForeignModule);
  const RunOutcome shared = run(24);
  ASSERT_EQ(shared.failures.size(), 1u);
  EXPECT_NE(shared.failures[0].message.find("100000 bytes of dynamic shared memory"), std::string::npos);
}

TEST_F(Runner, ForgedMessagesEndTheRun) {
  EXPECT_EQ(run(18).end, HostEnd::kProtocol);
  EXPECT_NE(run(27).return_code, 0);
}

TEST_F(Runner, OutputIsCapped) {
  const RunOutcome outcome = run(19);
  EXPECT_EQ(outcome.end, HostEnd::kReturned);
  EXPECT_EQ(outcome.candidate_stdout.size(), RunLimits{}.output_bytes);
  EXPECT_TRUE(outcome.stdout_truncated);
}

// Headers of the apache-tvm-ffi wheel: $PTXBENCH_TVM_FFI_INCLUDE or where the set-up script puts them.
std::optional<fs::path> find_tvm_headers() {
  std::error_code error;
  if (const char* named = std::getenv("PTXBENCH_TVM_FFI_INCLUDE")) return named;
  const fs::path set_up = fs::path(PTXBENCH_SOURCE_DIR) / ".toolchain";
  for (auto it = fs::recursive_directory_iterator(set_up, error); !error && it != fs::recursive_directory_iterator();
       ++it) {
    if (it->path().filename() == "c_api.h" && it->path().string().ends_with("tvm/ffi/c_api.h")) {
      return it->path().parent_path().parent_path().parent_path();
    }
  }
  return std::nullopt;
}

TEST_F(Runner, LibrariesOfTheRealTvmFfiHeadersRunWithoutItsLibrary) {
  const std::optional<fs::path> headers = find_tvm_headers();
  if (!headers) GTEST_SKIP() << "no apache-tvm-ffi headers: scripts/setup installs them";
  const fs::path library = folder_->path() / "tvm_candidate.so";
  ASSERT_TRUE(compile(fs::path(PTXBENCH_SOURCE_DIR) / "tests/shim/programs/tvm_candidate.cu", library,
                      {"-shared", "-Xcompiler", "-fPIC", "-I", headers->string()}));
  RunRequest honest = request(5);
  honest.artifact = library;
  const Result<RunOutcome> outcome = run_candidate(honest);
  ASSERT_TRUE(outcome) << outcome.error().format();
  EXPECT_EQ(outcome->return_code, 0) << outcome->error_text;
  EXPECT_EQ(ints(outcome->outputs.at(0)), (std::vector<std::int32_t>{6, 7, 8, 9, 10, 11, 12, 13}));

  RunRequest refused = request(13);
  refused.artifact = library;
  const Result<RunOutcome> thrown = run_candidate(refused);
  ASSERT_TRUE(thrown) << thrown.error().format();
  EXPECT_NE(thrown->return_code, 0);
  EXPECT_EQ(thrown->error_text, "ValueError: thirteen is refused");

  RunRequest wrong = request(5);
  wrong.artifact = library;
  wrong.arguments.pop_back();
  const Result<RunOutcome> arity = run_candidate(wrong);
  ASSERT_TRUE(arity) << arity.error().format();
  EXPECT_NE(arity->error_text.find("Mismatched number of arguments"), std::string::npos) << arity->error_text;
}

TEST_F(Runner, NothingOutlivesAKilledJudge) {
  for (const int mode : {15, 26}) {  // in a kernel, and in host code
    const pid_t judge = ::fork();
    if (judge == 0) {
      static_cast<void>(run_candidate(request(mode)));
      ::_exit(0);
    }
    std::this_thread::sleep_for(std::chrono::milliseconds(500));
    ::kill(judge, SIGKILL);
    ::waitpid(judge, nullptr, 0);
    EXPECT_FALSE(any_child_left()) << mode;
  }
}

TEST_F(Runner, MissingPiecesAreErrorsThatNameThem) {
  RunRequest no_library = request(0);
  no_library.artifact = "/nonexistent/kernel.so";
  const Result<RunOutcome> first = run_candidate(no_library);
  ASSERT_FALSE(first);
  EXPECT_NE(first.error().message.find("/nonexistent/kernel.so"), std::string::npos);
  RunRequest no_device = request(0);
  no_device.device_program = "/nonexistent/device";
  EXPECT_FALSE(run_candidate(no_device));
  RunRequest no_entry = request(0);
  no_entry.entry = "other";
  const Result<RunOutcome> outcome = run_candidate(no_entry);
  ASSERT_TRUE(outcome);
  EXPECT_EQ(outcome->end, HostEnd::kLoadFailed);
  EXPECT_NE(outcome->error_text.find("__tvm_ffi_other"), std::string::npos);
  RunRequest short_input = request(0);
  short_input.arguments[0].tensor->shape = {9};
  EXPECT_EQ(run_candidate(short_input).error().kind, ErrorKind::kInvalidInput);
}

}  // namespace
}  // namespace ptxbench::judge
