// Error numbers and the words for them.
#include "ptxbench/gpu/faults.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace ptxbench::gpu {
namespace {

using testing::HasSubstr;
using wire::Code;

// Only what describe() calls.
Driver words_only() {
  Driver driver;
  driver.error_name = [](CUresult, const char** out) {
    *out = "CUDA_ERROR_X";
    return CUDA_SUCCESS;
  };
  driver.error_string = [](CUresult, const char**) { return CUDA_ERROR_INVALID_VALUE; };
  return driver;
}

// cudaError_t of the CUDA runtime API reference.
TEST(Codes, AreTheRuntimesNumbers) {
  EXPECT_EQ(code_of(CUDA_ERROR_INVALID_VALUE), Code::kInvalidValue);
  EXPECT_EQ(code_of(CUDA_ERROR_OUT_OF_MEMORY), Code::kMemoryAllocation);
  EXPECT_EQ(code_of(CUDA_ERROR_NO_BINARY_FOR_GPU), Code::kNoKernelImageForDevice);
  EXPECT_EQ(code_of(CUDA_ERROR_ILLEGAL_ADDRESS), Code::kIllegalAddress);
  EXPECT_EQ(code_of(CUDA_ERROR_LAUNCH_FAILED), Code::kLaunchFailure);
  EXPECT_EQ(code_of(CUDA_ERROR_INVALID_CLUSTER_SIZE), Code::kInvalidClusterSize);
  // Where the two differ: the driver's 3 and 101.
  EXPECT_EQ(code_of(CUDA_ERROR_NOT_INITIALIZED), Code::kInitializationError);
  EXPECT_EQ(code_of(CUDA_ERROR_INVALID_DEVICE), Code::kInvalidDevice);
}

TEST(Codes, OnlyWhatAKernelLeavesBehindIsAFault) {
  for (const int fault : {700, 702, 710, 714, 715, 716, 717, 718, 719, 721}) {
    EXPECT_TRUE(is_fault(static_cast<CUresult>(fault))) << fault;
  }
  // Refusals of a call: the context goes on.
  for (const int refusal : {0, 1, 2, 98, 200, 209, 400, 500, 600, 701, 720, 800, 801, 912}) {
    EXPECT_FALSE(is_fault(static_cast<CUresult>(refusal))) << refusal;
  }
}

TEST(Traps, HaveTheEmulatorsNamesWhereTheFaultIsTheSame) {
  const Driver driver = words_only();
  const auto kind = [&](CUresult result) {
    return trap_of({Context::End::kFault, result}, std::chrono::milliseconds(10), driver, "here").kind;
  };
  EXPECT_EQ(kind(CUDA_ERROR_ILLEGAL_ADDRESS), "out_of_bounds");
  EXPECT_EQ(kind(CUDA_ERROR_MISALIGNED_ADDRESS), "misaligned");
  EXPECT_EQ(kind(CUDA_ERROR_ASSERT), "assert");
  EXPECT_EQ(kind(CUDA_ERROR_LAUNCH_TIMEOUT), "deadline");
  EXPECT_EQ(kind(CUDA_ERROR_LAUNCH_FAILED), "launch_failure");
}

TEST(Traps, NameTheLaunchAndTheLimit) {
  wire::LaunchGeometry geometry;
  geometry.grid = {7, 1, 1};
  const wire::TrapRecord trap =
      trap_of({Context::End::kDeadline, CUDA_ERROR_LAUNCH_TIMEOUT}, std::chrono::milliseconds(250), words_only(),
              describe_launch("my_kernel", geometry));
  EXPECT_EQ(trap.kind, "deadline");
  EXPECT_THAT(trap.message, HasSubstr("250 ms"));
  for (const std::string& text : {trap.message, trap.text}) {
    EXPECT_THAT(text, HasSubstr("my_kernel"));
    EXPECT_THAT(text, HasSubstr("(7, 1, 1)"));
  }
  EXPECT_THAT(words_only().describe(CUDA_ERROR_ILLEGAL_ADDRESS), HasSubstr("CUDA_ERROR_X (700)"));
}

}  // namespace
}  // namespace ptxbench::gpu
