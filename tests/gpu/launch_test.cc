// From the protocol's launches to the driver's.
#include "ptxbench/gpu/launch.h"

#include <gtest/gtest.h>

namespace ptxbench::gpu {
namespace {

// Three tensor maps, a struct of two ints and an int, as kernels/hopper/gemm.cu takes them: PTX puts them at 0, 128, 256,
// 384, 392. An H200's driver (580.159) counts from 112.
const std::vector<wire::KernelParam> kAsTheDriverSays = {{112, 128}, {240, 128}, {368, 128}, {496, 8}, {504, 4}};

TEST(Params, TheGapBeforeTheFirstParameterIsTheDriversOwn) {
  const auto params = without_gap(kAsTheDriverSays);
  std::vector<std::uint32_t> offsets;
  for (const wire::KernelParam& param : params) offsets.push_back(param.offset);
  EXPECT_EQ(offsets, (std::vector<std::uint32_t>{0, 128, 256, 384, 392}));
  EXPECT_EQ(buffer_bytes(params), 396u);
  EXPECT_TRUE(without_gap({}).empty());
  EXPECT_EQ(buffer_bytes({}), 0u);
}

TEST(LaunchSetup, ArgumentsPointIntoTheParameterBuffer) {
  wire::KernelInfo kernel;
  kernel.params = {{0, 8}, {8, 4}, {16, 8}};
  const std::vector<std::byte> params(24);
  wire::LaunchGeometry geometry;
  geometry.grid = {2, 3, 4};
  geometry.block = {32, 5, 6};
  geometry.dynamic_shared = 4096;
  LaunchSetup setup(kernel, geometry, params, nullptr);
  EXPECT_EQ(setup.arguments()[0], params.data());
  EXPECT_EQ(setup.arguments()[1], params.data() + 8);
  EXPECT_EQ(setup.arguments()[2], params.data() + 16);
  const CUlaunchConfig& config = setup.config();
  EXPECT_EQ(config.gridDimX * 100 + config.gridDimY * 10 + config.gridDimZ, 234u);
  EXPECT_EQ(config.blockDimX * 100 + config.blockDimY * 10 + config.blockDimZ, 3256u);
  EXPECT_EQ(config.sharedMemBytes, 4096u);
  EXPECT_EQ(config.numAttrs, 0u);  // none asked for: not even a cluster of one
}

TEST(LaunchSetup, AttributesAreThoseOfTheLaunch) {
  wire::LaunchGeometry geometry;
  geometry.cluster = {4, 2, 1};
  geometry.cooperative = true;
  geometry.programmatic_serialization = true;
  const LaunchSetup setup({}, geometry, {}, nullptr);
  const CUlaunchConfig& config = setup.config();
  ASSERT_EQ(config.numAttrs, 3u);
  EXPECT_EQ(config.attrs[0].id, CU_LAUNCH_ATTRIBUTE_CLUSTER_DIMENSION);
  EXPECT_EQ(config.attrs[0].value.clusterDim.x * 100 + config.attrs[0].value.clusterDim.y * 10 +
                config.attrs[0].value.clusterDim.z,
            421u);
  EXPECT_EQ(config.attrs[1].id, CU_LAUNCH_ATTRIBUTE_COOPERATIVE);
  EXPECT_EQ(config.attrs[1].value.cooperative, 1);
  EXPECT_EQ(config.attrs[2].id, CU_LAUNCH_ATTRIBUTE_PROGRAMMATIC_STREAM_SERIALIZATION);
  EXPECT_EQ(config.attrs[2].value.programmaticStreamSerializationAllowed, 1);
}

}  // namespace
}  // namespace ptxbench::gpu
