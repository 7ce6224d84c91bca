#include "ptxbench/wire/device_environment.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdlib>

namespace ptxbench::wire {
namespace {

using testing::Contains;
using testing::Not;
using testing::StartsWith;

TEST(DeviceEnvironment, LibrariesAndVisibleDevicesArePassedOn) {
  for (const char* name : {"PTXBENCH_NVIDIA_LIBRARIES", "LD_LIBRARY_PATH", "CUDA_HOME", "CUDA_VISIBLE_DEVICES",
                           "CUDA_DEVICE_ORDER", "NVIDIA_VISIBLE_DEVICES", "PATH", "VIRTUAL_ENV"}) {
    EXPECT_TRUE(passed_to_device(name)) << name;
  }
}

TEST(DeviceEnvironment, NothingThatLoadsForeignCodeOrCarriesSecrets) {
  for (const char* name : {"LD_PRELOAD", "LD_AUDIT", "CUDA_INJECTION64_PATH", "OPENAI_API_KEY", "PTXBENCH_DEVICE_FD"}) {
    EXPECT_FALSE(passed_to_device(name)) << name;
  }
}

TEST(DeviceEnvironment, HasTheValues) {
  ::setenv("CUDA_VISIBLE_DEVICES", "1,0", 1);
  ::setenv("LD_PRELOAD_NOT", "x", 1);
  const std::vector<std::string> passed = device_environment();
  EXPECT_THAT(passed, Contains("CUDA_VISIBLE_DEVICES=1,0"));
  EXPECT_THAT(passed, Not(Contains(StartsWith("LD_PRELOAD"))));
  ::unsetenv("CUDA_VISIBLE_DEVICES");
  ::unsetenv("LD_PRELOAD_NOT");
}

}  // namespace
}  // namespace ptxbench::wire
