// The timed calls against device processes that stand for a GPU (fake_gpu_main.cc): real kernels, a real candidate in its
// sandbox, made-up times.
#include "ptxbench/judge/timed_calls.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "compile.h"
#include "ptxbench/base/file.h"

namespace ptxbench::judge {
namespace {

namespace fs = std::filesystem;

constexpr std::uint64_t kSeed = 77;
constexpr std::int64_t kM = 16, kN = 64, kK = 64;

class TimedCallsTest : public testing::Test {
 protected:
  void SetUp() override {
    PTXBENCH_NEEDS_NVCC();
    folder_.emplace(std::move(*TempDir::create()));
    program_.program = fs::path(PTXBENCH_BINARY_DIR) / "bin/ptxbench-device-fake-gpu";
    program_.environment = {"PTXBENCH_FAKE_SHARED=" + folder_->path().string()};
    problem_.m = kM, problem_.n = kN, problem_.k = kK;
  }

  // Runs the candidate once, then two warm-ups and four timed calls.
  Result<TimedCallsOutcome> time(const char* define) {
    const fs::path source = PTXBENCH_SOURCE_DIR;
    const fs::path library =
        compile_once(source / "tests/judge/programs/timed_gemm.cu",
                     {"-shared", "-Xcompiler", "-fPIC", define, "-I", (source / "include").string()},
                     {source / "include/ptxbench/ffi.h"});
    EXPECT_FALSE(library.empty());
    RunRequest request;
    const fs::path build = PTXBENCH_BINARY_DIR;
    request.host_program = build / "bin/ptxbench-host";
    request.shim_folder = build / "lib/ptxbench/shim";
    request.artifact = library;
    const auto add = [&](const char* name, std::vector<std::int64_t> shape, bool output) {
      RunTensor tensor;
      tensor.name = name;
      tensor.type = {4, 16, 1};
      tensor.shape = std::move(shape);
      tensor.output = output;
      tensor.poison = kPoison;
      request.arguments.push_back({std::move(tensor), {}});
    };
    add("A", {kM, kK}, false), add("B", {kN, kK}, false), add("C", {kM, kN}, true);

    PTXBENCH_TRY(DeviceProcess trusted, DeviceProcess::start(program_));
    PTXBENCH_TRY(const fs::path kernels, locate_trusted_kernels());
    PTXBENCH_TRY(const std::string image, read_file(kernels));
    PTXBENCH_TRY(const auto bench, DeviceWorkbench::create(trusted.queue(), std::as_bytes(std::span(image))));
    PTXBENCH_TRY(DeviceProcess device, DeviceProcess::start(program_));
    PTXBENCH_TRY(CandidateSession session, CandidateSession::open(std::move(device), std::move(request)));
    PTXBENCH_TRY(DeviceLink link, DeviceLink::open(session, trusted));
    const InputSet inputs =
        make_inputs(problem_, {wire::Schedule::kLatest, std::vector<Family>(kM, Family::kNormal)}, kSeed, 0, 1);
    PTXBENCH_TRY_STATUS(session.write_inputs(inputs.tensors));
    PTXBENCH_TRY(const RunOutcome outcome, session.run());
    EXPECT_EQ(outcome.end, HostEnd::kReturned) << outcome.error_text;
    const std::vector<OutputShape> outputs = {{"C", schema::DType::kBFloat16, {kM, kN}}};
    PTXBENCH_TRY(DeviceProcess libraries, DeviceProcess::start(program_));
    PTXBENCH_TRY(Baseline baseline,
                 Baseline::prepare(libraries, problem_, link.input_blocks(), {kM * kK * 2, kN * kK * 2}, outputs));
    TimedCallsOrder order{problem_, outputs, kSeed};
    order.warm_ups = 2, order.calls = 4;
    PTXBENCH_TRY(TimedCallsOutcome timed, time_calls(order, session, link, trusted, *bench, baseline));
    baseline.close();
    link.close();
    return timed;
  }

  std::optional<TempDir> folder_;
  DeviceProgram program_;
  Problem problem_;
};

TEST_F(TimedCallsTest, AnHonestKernelIsTimedAndVerifiedInEveryCall) {
  const auto timed = time("-DHONEST");
  ASSERT_TRUE(timed) << timed.error().format();
  EXPECT_FALSE(timed->wrong || timed->fault || timed->hung);
  EXPECT_EQ(timed->data.verified_calls, 6);
  EXPECT_EQ(timed->data.verified_rows, 6 * 64);
  EXPECT_EQ(timed->data.candidate.size(), 6u);
  ASSERT_EQ(timed->data.kernels.size(), 2u);
  EXPECT_THAT(timed->data.kernels[0], testing::HasSubstr("gemm"));
  EXPECT_THAT(timed->data.kernels[1], testing::HasSubstr("count"));
  // Two kernels of 1 ms with 1 us between them.
  EXPECT_DOUBLE_EQ(span_ms(timed->data.candidate[0]), 2.001);
  // One series per library, of its fastest plan.
  ASSERT_EQ(timed->data.baselines.size(), 2u);
  EXPECT_EQ(timed->data.baselines[1].plan.description, "good plan");
  EXPECT_EQ(timed->data.baselines[1].plans, 2);
  EXPECT_EQ(timed->data.baselines[1].calls.size(), 6u);
  EXPECT_DOUBLE_EQ(span_ms(timed->data.baselines[1].calls[0]), 0.9);
}

TEST_F(TimedCallsTest, AKernelThatStopsWorkingAfterItsCheckIsFound) {
  const auto timed = time("-DLAZY");
  ASSERT_TRUE(timed) << timed.error().format();
  ASSERT_TRUE(timed->wrong);
  EXPECT_EQ(timed->wrong->part, "timed call 2");  // the fourth launch of gemm: one run and two calls came before
  EXPECT_EQ(timed->wrong->outputs[0].never_written, kM * kN);
  EXPECT_EQ(timed->data.verified_calls, 2);
}

TEST_F(TimedCallsTest, AResultThatIsHandedOutAgainIsFound) {
  const auto timed = time("-DREPLAY");
  ASSERT_TRUE(timed) << timed.error().format();
  ASSERT_TRUE(timed->wrong);
  EXPECT_EQ(timed->wrong->part, "timed call 0");
  EXPECT_EQ(timed->wrong->outputs[0].never_written, 0);
  EXPECT_GT(timed->wrong->outputs[0].strict_failing, 0);
  EXPECT_FALSE(timed->wrong->strict_passed);
}

}  // namespace
}  // namespace ptxbench::judge
