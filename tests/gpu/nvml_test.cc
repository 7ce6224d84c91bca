// Telemetry is of the card that CUDA's device is, whatever numbers NVML gives its cards. Against a made-up NVML; the real
// one was asked on one H200 (docs/gpu.md).
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdlib>

#include "ptxbench/gpu/nvml.h"

namespace ptxbench::gpu {
namespace {

using testing::HasSubstr;

Identity identity(std::uint8_t last_byte_of_uuid, const char* bus) {
  Identity identity;
  identity.name = "as CUDA calls it";
  identity.uuid[15] = last_byte_of_uuid;
  identity.pci_bus_id = bus;
  return identity;
}

class Telemetry : public testing::Test {
 protected:
  // One library per process: every test of this program that opens NVML opens this one.
  void SetUp() override { ::setenv("PTXBENCH_NVIDIA_LIBRARIES", FAKE_FOLDER, 1); }
  void TearDown() override { ::unsetenv("PTXBENCH_NVIDIA_LIBRARIES"); }
};

TEST_F(Telemetry, ACardIsFoundByItsUuid) {
  const auto state = read_telemetry(identity(0x41, "0000:41:00.0"));
  ASSERT_TRUE(state) << state.error().format();
  EXPECT_EQ(state->sm_mhz, 410u);
  EXPECT_EQ(state->power_w, 410);
  EXPECT_EQ(state->uuid, "GPU-00000000-0000-0000-0000-000000000041");
  EXPECT_EQ(state->device_name, "as CUDA calls it");
  EXPECT_FALSE(state->mig);
  EXPECT_THAT(state->missing, testing::ElementsAre("power limit: Not Supported"));
}

// A slice has no clocks of its own, and its roofline is not the card's: the name must stay the slice's.
TEST_F(Telemetry, ASliceHasTheClocksOfItsCardAndANameOfItsOwn) {
  const auto state = read_telemetry(identity(0x99, "0000:61:00.0"));
  ASSERT_TRUE(state) << state.error().format();
  EXPECT_EQ(state->sm_mhz, 610u);
  EXPECT_EQ(state->uuid, "MIG-00000000-0000-0000-0000-000000000099");
  EXPECT_EQ(state->device_name, "as CUDA calls it");
  EXPECT_TRUE(state->mig);
}

TEST_F(Telemetry, ACardWithoutAKnownUuidIsFoundByItsBus) {
  const auto state = read_telemetry(identity(0x77, "0000:21:00.0"));
  ASSERT_TRUE(state) << state.error().format();
  EXPECT_EQ(state->sm_mhz, 210u);
}

TEST_F(Telemetry, AnUnknownSliceIsRefusedRatherThanTakenForItsCard) {
  const auto state = read_telemetry(identity(0x77, "0000:61:00.0"));
  ASSERT_FALSE(state);
  EXPECT_THAT(state.error().message, HasSubstr("NVML knows neither GPU-00000000-0000-0000-0000-000000000077 nor MIG-"));
  EXPECT_THAT(state.error().message, HasSubstr("0000:61:00.0 is divided into MIG slices"));
}

TEST_F(Telemetry, AnUnknownCardIsRefused) {
  const auto state = read_telemetry(identity(0x77, "0000:01:00.0"));
  ASSERT_FALSE(state);
  EXPECT_THAT(state.error().message, HasSubstr("0000:01:00.0 is unknown to it: Not Found"));
}

}  // namespace
}  // namespace ptxbench::gpu
