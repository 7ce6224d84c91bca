// From the protocol's launches and kernels to the driver's, and back. Pure but for describe_kernel.
#pragma once

#include <cuda.h>

#include <array>
#include <cstddef>
#include <span>
#include <vector>

#include "ptxbench/gpu/context.h"
#include "ptxbench/wire/device_handler.h"

namespace ptxbench::gpu {

// A driver's launch. Self-referential, so built in place and not copied.
class LaunchSetup {
 public:
  // `params` is the parameter buffer in the layout of `kernel`.params; both must outlive the launch. A cluster of all
  // zeros gives no cluster attribute.
  LaunchSetup(const wire::KernelInfo& kernel, const wire::LaunchGeometry& geometry, std::span<const std::byte> params,
              CUstream stream);
  LaunchSetup(const LaunchSetup&) = delete;
  LaunchSetup& operator=(const LaunchSetup&) = delete;

  const CUlaunchConfig& config() const { return config_; }
  void** arguments() { return arguments_.data(); }

 private:
  CUlaunchConfig config_{};
  std::array<CUlaunchAttribute, 3> attributes_{};
  std::vector<void*> arguments_;
};

// The parameters in PTX's own layout. The driver counts from the start of its buffer, where parameters of large
// alignment begin behind a gap (112 bytes for a tensor map on sm_90); PTX's first parameter is always at 0.
std::vector<wire::KernelParam> without_gap(std::vector<wire::KernelParam> params);

// The bytes of the parameter buffer: the end of the last parameter.
std::uint32_t buffer_bytes(const std::vector<wire::KernelParam>& params);

// What the driver knows of a kernel.
wire::Answer<wire::KernelInfo> describe_kernel(Context& context, CUkernel kernel, std::string_view name);

}  // namespace ptxbench::gpu
