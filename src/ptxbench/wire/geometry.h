// Launch limits and occupancy, from a device's attributes and a kernel's needs. Pure arithmetic.
#pragma once

#include <cstdint>

#include "ptxbench/wire/answer.h"

namespace ptxbench::wire {

// Numbers of cudaDeviceAttr that these rules read.
enum class Attr : std::uint32_t {
  kMaxThreadsPerBlock = 1,
  kMaxBlockX = 2,
  kMaxBlockY,
  kMaxBlockZ,
  kMaxGridX = 5,
  kMaxGridY,
  kMaxGridZ,
  kMaxSharedPerBlock = 8,
  kMultiprocessors = 16,
  kMaxThreadsPerSm = 39,
  kMaxSharedPerSm = 81,
  kMaxRegistersPerSm = 82,
  kMaxSharedOptin = 97,
  kMaxBlocksPerSm = 106,
  kReservedShared = 111,
};
// 0 for an attribute the device does not list.
std::uint32_t attribute(const DeviceInfo& device, Attr which);

struct KernelLimits {
  std::uint32_t max_dynamic_shared = 0;  // bytes, as cudaFuncSetAttribute left it
  bool non_portable_cluster = false;     // clusters of more than 8 CTAs are allowed
};

// The limits that a kernel starts with: 48 KiB of shared memory less its static part.
KernelLimits default_limits(const DeviceInfo& device, const KernelInfo& kernel);

// The cluster of a launch: the geometry's, else the kernel's own, else 1x1x1.
Dim3 effective_cluster(const KernelInfo& kernel, const LaunchGeometry& geometry);

// Everything that a driver refuses before it launches, with the error numbers that an H200 gave
// (tests/shim/programs/api_errors.expected); the message names the figure and the limit.
Answer<void> check_launch(const DeviceInfo& device, const KernelInfo& kernel, const KernelLimits& limits,
                          const LaunchGeometry& geometry, std::uint64_t param_bytes);

// CTAs of this geometry that one multiprocessor can hold (CUDA C++ programming guide, "Compute Capabilities": register
// allocation in units of 256 per warp, shared memory in units of 128 bytes plus what the system reserves per CTA).
std::uint32_t blocks_per_multiprocessor(const DeviceInfo& device, const KernelInfo& kernel,
                                        const LaunchGeometry& geometry);

// Co-resident clusters: each lies in one processing cluster (GPC) of the device.
std::uint32_t clusters_per_device(const DeviceInfo& device, const KernelInfo& kernel, const LaunchGeometry& geometry);

}  // namespace ptxbench::wire
