#include "ptxbench/wire/geometry.h"

#include <fmt/format.h>

#include <algorithm>

namespace ptxbench::wire {
namespace {

constexpr std::uint32_t kPortableClusterSize = 8;
constexpr std::uint32_t kMaxClusterSize = 16;

std::string show(const Dim3& d) { return fmt::format("({}, {}, {})", d.x, d.y, d.z); }
bool is_zero(const Dim3& d) { return d.x == 0 && d.y == 0 && d.z == 0; }
std::uint64_t round_up(std::uint64_t value, std::uint64_t unit) { return (value + unit - 1) / unit * unit; }

Answer<void> check_block(const DeviceInfo& device, const KernelInfo& kernel, const LaunchGeometry& geometry) {
  const Dim3& block = geometry.block;
  const Dim3& grid = geometry.grid;
  if (block.x == 0 || block.y == 0 || block.z == 0 || grid.x == 0 || grid.y == 0 || grid.z == 0) {
    return refuse(Code::kInvalidValue, fmt::format("grid {} and block {} must have no zero", show(grid), show(block)));
  }
  if (block.x > attribute(device, Attr::kMaxBlockX) || block.y > attribute(device, Attr::kMaxBlockY) ||
      block.z > attribute(device, Attr::kMaxBlockZ) || block.count() > attribute(device, Attr::kMaxThreadsPerBlock)) {
    return refuse(
        Code::kInvalidValue,
        fmt::format("block {} has {} threads; a CTA has at most {}, and at most ({}, {}, {}) per axis", show(block),
                    block.count(), attribute(device, Attr::kMaxThreadsPerBlock), attribute(device, Attr::kMaxBlockX),
                    attribute(device, Attr::kMaxBlockY), attribute(device, Attr::kMaxBlockZ)));
  }
  if (grid.x > attribute(device, Attr::kMaxGridX) || grid.y > attribute(device, Attr::kMaxGridY) ||
      grid.z > attribute(device, Attr::kMaxGridZ)) {
    return refuse(
        Code::kInvalidValue,
        fmt::format("grid {} is over the limit of ({}, {}, {})", show(grid), attribute(device, Attr::kMaxGridX),
                    attribute(device, Attr::kMaxGridY), attribute(device, Attr::kMaxGridZ)));
  }
  if (block.count() > kernel.max_threads) {
    return refuse(
        Code::kInvalidValue,
        fmt::format("block {} has {} threads, but kernel '{}' was compiled for at most {} (__launch_bounds__)",
                    show(block), block.count(), kernel.name, kernel.max_threads));
  }
  return {};
}

Answer<void> check_shared(const DeviceInfo& device, const KernelInfo& kernel, const KernelLimits& limits,
                          const LaunchGeometry& geometry) {
  if (geometry.dynamic_shared > limits.max_dynamic_shared) {
    return refuse(
        Code::kInvalidValue,
        fmt::format("kernel '{}' was launched with {} bytes of dynamic shared memory; its limit is {}. Raise it "
                    "with cudaFuncSetAttribute(kernel, cudaFuncAttributeMaxDynamicSharedMemorySize, bytes), at "
                    "most {} less the kernel's static {}",
                    kernel.name, geometry.dynamic_shared, limits.max_dynamic_shared,
                    attribute(device, Attr::kMaxSharedOptin), kernel.static_shared));
  }
  return {};
}

Answer<void> check_cluster(const DeviceInfo& device, const KernelInfo& kernel, const KernelLimits& limits,
                           const LaunchGeometry& geometry) {
  if (!is_zero(kernel.required_cluster) && !is_zero(geometry.cluster) &&
      !(kernel.required_cluster == geometry.cluster)) {
    return refuse(Code::kInvalidClusterSize,
                  fmt::format("kernel '{}' is compiled for cluster {} (__cluster_dims__), but "
                              "the launch asks for {}",
                              kernel.name, show(kernel.required_cluster), show(geometry.cluster)));
  }
  const Dim3 cluster = effective_cluster(kernel, geometry);
  const Dim3& grid = geometry.grid;
  if (cluster.x == 0 || cluster.y == 0 || cluster.z == 0) {
    return refuse(Code::kInvalidClusterSize, fmt::format("cluster {} has a zero", show(cluster)));
  }
  const std::uint32_t most = limits.non_portable_cluster ? kMaxClusterSize : kPortableClusterSize;
  if (cluster.count() > most) {
    return refuse(Code::kInvalidClusterSize,
                  fmt::format("cluster {} has {} CTAs; at most {}{}", show(cluster), cluster.count(), most,
                              limits.non_portable_cluster
                                  ? ""
                                  : " unless cudaFuncAttributeNonPortableClusterSizeAllowed is set for the kernel"));
  }
  if (grid.x % cluster.x != 0 || grid.y % cluster.y != 0 || grid.z % cluster.z != 0) {
    return refuse(Code::kInvalidClusterSize,
                  fmt::format("grid {} is no multiple of cluster {}", show(grid), show(cluster)));
  }
  if (geometry.cooperative) {
    const std::uint64_t fit =
        std::uint64_t{blocks_per_multiprocessor(device, kernel, geometry)} * attribute(device, Attr::kMultiprocessors);
    if (grid.count() > fit) {
      return refuse(
          Code::kCooperativeLaunchTooLarge,
          fmt::format("a cooperative launch of {} CTAs, but only {} fit on the device at once", grid.count(), fit));
    }
  }
  return {};
}

}  // namespace

std::uint32_t attribute(const DeviceInfo& device, Attr which) {
  const std::size_t index = static_cast<std::size_t>(which);
  return index < device.attributes.size() ? static_cast<std::uint32_t>(device.attributes[index]) : 0;
}

KernelLimits default_limits(const DeviceInfo& device, const KernelInfo& kernel) {
  const std::uint32_t whole = attribute(device, Attr::kMaxSharedPerBlock);
  return {whole > kernel.static_shared ? whole - kernel.static_shared : 0, false};
}

Dim3 effective_cluster(const KernelInfo& kernel, const LaunchGeometry& geometry) {
  if (!is_zero(geometry.cluster)) return geometry.cluster;
  if (!is_zero(kernel.required_cluster)) return kernel.required_cluster;
  return {1, 1, 1};
}

Answer<void> check_launch(const DeviceInfo& device, const KernelInfo& kernel, const KernelLimits& limits,
                          const LaunchGeometry& geometry, std::uint64_t param_bytes) {
  if (Answer<void> block = check_block(device, kernel, geometry); !block) return block;
  if (Answer<void> shared = check_shared(device, kernel, limits, geometry); !shared) return shared;
  if (param_bytes != kernel.param_bytes) {
    return refuse(Code::kInvalidValue, fmt::format("kernel '{}' takes {} bytes of parameters, the launch has {}",
                                                   kernel.name, kernel.param_bytes, param_bytes));
  }
  if (blocks_per_multiprocessor(device, kernel, geometry) == 0) {
    return refuse(
        Code::kLaunchOutOfResources,
        fmt::format("one CTA of kernel '{}' needs more registers or shared memory than a multiprocessor has: {} "
                    "threads of {} registers, {} bytes of shared memory",
                    kernel.name, geometry.block.count(), kernel.registers,
                    std::uint64_t{kernel.static_shared} + geometry.dynamic_shared));
  }
  return check_cluster(device, kernel, limits, geometry);
}

std::uint32_t blocks_per_multiprocessor(const DeviceInfo& device, const KernelInfo& kernel,
                                        const LaunchGeometry& geometry) {
  const std::uint64_t threads = geometry.block.count();
  if (threads == 0 || threads > attribute(device, Attr::kMaxThreadsPerBlock)) return 0;
  const std::uint64_t warps = (threads + 31) / 32;
  const std::uint64_t shared = round_up(std::uint64_t{kernel.static_shared} + geometry.dynamic_shared, 128) +
                               attribute(device, Attr::kReservedShared);
  // Warps are spread over four sub-partitions, each with a quarter of the registers.
  const std::uint64_t registers_per_warp = round_up(std::uint64_t{std::max(kernel.registers, 1u)} * 32, 256);
  const std::uint64_t warps_by_registers = attribute(device, Attr::kMaxRegistersPerSm) / 4 / registers_per_warp * 4;
  const std::uint64_t fit =
      std::min({std::uint64_t{attribute(device, Attr::kMaxBlocksPerSm)},
                std::uint64_t{attribute(device, Attr::kMaxThreadsPerSm)} / 32 / warps, warps_by_registers / warps,
                std::uint64_t{attribute(device, Attr::kMaxSharedPerSm)} / shared});
  return static_cast<std::uint32_t>(fit);
}

std::uint32_t clusters_per_device(const DeviceInfo& device, const KernelInfo& kernel, const LaunchGeometry& geometry) {
  const std::uint64_t size = effective_cluster(kernel, geometry).count();
  const std::uint64_t blocks = blocks_per_multiprocessor(device, kernel, geometry);
  if (size == 0) return 0;
  std::uint64_t clusters = 0;
  for (const std::uint32_t multiprocessors : device.gpcs) clusters += multiprocessors * blocks / size;
  return static_cast<std::uint32_t>(clusters);
}

}  // namespace ptxbench::wire
