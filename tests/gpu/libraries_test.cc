// Libraries that are not there, or not new enough, and the program's own complaints.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdlib>

#include "device_program.h"
#include "ptxbench/gpu/cupti.h"

namespace ptxbench::gpu {
namespace {

using testing::HasSubstr;

const std::vector<std::string> kTooOld = {"PTXBENCH_NVIDIA_LIBRARIES=" TOO_OLD_FOLDER "/cuda"};

TEST(DeviceGpu, ADriverThatIsTooOldIsNamedWithItsMissingFunction) {
  const Finished probe = run_device({"--probe"}, kTooOld);
  EXPECT_EQ(probe.exit.code, 3) << probe.exit.describe();
  EXPECT_THAT(probe.out.bytes, HasSubstr(TOO_OLD_FOLDER "/cuda/libcuda.so.1 is too old: it has no cuInit"));
  EXPECT_THAT(probe.out.bytes, HasSubstr("get it: install NVIDIA's driver"));
  const Finished health = run_device({"--health"}, kTooOld);
  EXPECT_EQ(health.exit.code, 3) << health.exit.describe();
  EXPECT_THAT(health.err.bytes, HasSubstr("is too old"));
}

TEST(Cupti, OneThatIsTooOldIsNamedWithItsMissingFunction) {
  ::setenv("PTXBENCH_NVIDIA_LIBRARIES", TOO_OLD_FOLDER "/cupti", 1);
  const Result<const Cupti*> cupti = open_cupti();
  ::unsetenv("PTXBENCH_NVIDIA_LIBRARIES");
  ASSERT_FALSE(cupti);
  EXPECT_THAT(cupti.error().message, HasSubstr(TOO_OLD_FOLDER "/cupti/libcupti.so.13 is too old: it has no cupti"));
  EXPECT_THAT(cupti.error().hint, HasSubstr("CUDA toolkit"));
}

TEST(DeviceGpu, WithoutASocketItSaysHowItIsStarted) {
  const Finished none = run_device({});
  EXPECT_EQ(none.exit.code, 2);
  EXPECT_THAT(none.err.bytes, HasSubstr("ptxbench starts this program itself"));
  EXPECT_EQ(run_device({"--control-fd", "1"}).exit.code, 2);
  EXPECT_NE(run_device({"--device", "-1"}).exit.code, 0);
}

TEST(DeviceGpu, HelpNamesEveryOption) {
  const Finished help = run_device({"--help"});
  EXPECT_EQ(help.exit.code, 0);
  for (const char* option : {"--control-fd", "--device", "--memory", "--probe", "--json", "--usable", "--health"}) {
    EXPECT_THAT(help.out.bytes, HasSubstr(option));
  }
}

}  // namespace
}  // namespace ptxbench::gpu
