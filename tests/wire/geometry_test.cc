#include "ptxbench/wire/geometry.h"

#include <gtest/gtest.h>

#include "ptxbench/wire/device_table.h"

namespace ptxbench::wire {
namespace {

struct Row {
  std::uint32_t threads, shared, blocks;
};
// cudaOccupancyMaxActiveBlocksPerMultiprocessor of a kernel with few registers on an H200, from
// tests/shim/programs/api_errors.expected.
constexpr Row kMeasured[] = {{32, 0, 32},    {32, 20000, 11},   {32, 48000, 4},   {64, 113000, 2}, {128, 0, 16},
                             {256, 1000, 8}, {384, 0, 5},       {384, 20000, 5},  {512, 0, 4},     {768, 0, 2},
                             {1024, 0, 2},   {1024, 113000, 2}, {1024, 200000, 1}};

TEST(Geometry, OccupancyEqualsAnH200) {
  const DeviceInfo device = h200_info(1 << 30);
  KernelInfo kernel;
  kernel.registers = 16;
  for (const Row& row : kMeasured) {
    LaunchGeometry geometry;
    geometry.block = {row.threads, 1, 1};
    geometry.dynamic_shared = row.shared;
    EXPECT_EQ(blocks_per_multiprocessor(device, kernel, geometry), row.blocks) << row.threads << " " << row.shared;
  }
}

// The same program: clusters of CTAs that fill a multiprocessor each.
TEST(Geometry, ClustersEqualAnH200) {
  const DeviceInfo device = h200_info(1 << 30);
  KernelInfo kernel;
  kernel.registers = 16;
  constexpr std::pair<std::uint32_t, std::uint32_t> kClusters[] = {{1, 132}, {2, 66}, {4, 30}, {8, 15}, {16, 7}};
  for (const auto& [size, count] : kClusters) {
    LaunchGeometry geometry;
    geometry.block = {128, 1, 1};
    geometry.cluster = {size, 1, 1};
    geometry.dynamic_shared = 150'000;
    EXPECT_EQ(clusters_per_device(device, kernel, geometry), count) << size;
  }
}

// 255 registers: 256 threads of 8 warps take all of a quarter's 16384 registers, 64 per warp-register unit.
TEST(Geometry, RegistersLimitOccupancy) {
  const DeviceInfo device = h200_info(1 << 30);
  KernelInfo kernel;
  kernel.registers = 255;
  LaunchGeometry geometry;
  geometry.block = {256, 1, 1};
  EXPECT_EQ(blocks_per_multiprocessor(device, kernel, geometry), 1u);
  geometry.block = {1024, 1, 1};
  EXPECT_EQ(blocks_per_multiprocessor(device, kernel, geometry), 0u);
  EXPECT_EQ(check_launch(device, kernel, {}, geometry, 0).error().code, Code::kLaunchOutOfResources);
}

TEST(Geometry, MessagesNameFigureAndRemedy) {
  const DeviceInfo device = h200_info(1 << 30);
  KernelInfo kernel;
  kernel.name = "gemm";
  LaunchGeometry geometry;
  geometry.dynamic_shared = 60'000;
  const Answer<void> refused = check_launch(device, kernel, default_limits(device, kernel), geometry, 0);
  ASSERT_FALSE(refused);
  EXPECT_NE(refused.error().message.find("60000"), std::string::npos);
  EXPECT_NE(refused.error().message.find("49152"), std::string::npos);
  EXPECT_NE(refused.error().message.find("cudaFuncSetAttribute"), std::string::npos);
}

}  // namespace
}  // namespace ptxbench::wire
