#include "ptxbench/gpu/launch.h"

#include <fmt/format.h>

namespace ptxbench::gpu {

using wire::Answer;

LaunchSetup::LaunchSetup(const wire::KernelInfo& kernel, const wire::LaunchGeometry& geometry,
                         std::span<const std::byte> params, CUstream stream) {
  config_.gridDimX = geometry.grid.x, config_.gridDimY = geometry.grid.y, config_.gridDimZ = geometry.grid.z;
  config_.blockDimX = geometry.block.x, config_.blockDimY = geometry.block.y, config_.blockDimZ = geometry.block.z;
  config_.sharedMemBytes = geometry.dynamic_shared;
  config_.hStream = stream;
  config_.attrs = attributes_.data();
  if (!(geometry.cluster == wire::Dim3{0, 0, 0})) {
    CUlaunchAttribute& attribute = attributes_[config_.numAttrs++];
    attribute.id = CU_LAUNCH_ATTRIBUTE_CLUSTER_DIMENSION;
    attribute.value.clusterDim.x = geometry.cluster.x;
    attribute.value.clusterDim.y = geometry.cluster.y;
    attribute.value.clusterDim.z = geometry.cluster.z;
  }
  if (geometry.cooperative) {
    CUlaunchAttribute& attribute = attributes_[config_.numAttrs++];
    attribute.id = CU_LAUNCH_ATTRIBUTE_COOPERATIVE;
    attribute.value.cooperative = 1;
  }
  if (geometry.programmatic_serialization) {
    CUlaunchAttribute& attribute = attributes_[config_.numAttrs++];
    attribute.id = CU_LAUNCH_ATTRIBUTE_PROGRAMMATIC_STREAM_SERIALIZATION;
    attribute.value.programmaticStreamSerializationAllowed = 1;
  }
  for (const wire::KernelParam& param : kernel.params) {
    // The driver reads through these pointers and never writes.
    arguments_.push_back(const_cast<std::byte*>(params.data() + param.offset));
  }
  arguments_.push_back(nullptr);  // never an empty array
}

std::vector<wire::KernelParam> without_gap(std::vector<wire::KernelParam> params) {
  const std::uint32_t gap = params.empty() ? 0 : params.front().offset;
  for (wire::KernelParam& param : params) param.offset -= gap;
  return params;
}

std::uint32_t buffer_bytes(const std::vector<wire::KernelParam>& params) {
  return params.empty() ? 0 : params.back().offset + params.back().size;
}

Answer<wire::KernelInfo> describe_kernel(Context& context, CUkernel kernel, std::string_view name) {
  const Driver& driver = context.driver();
  wire::KernelInfo info;
  info.name = name;
  CUresult failed = CUDA_SUCCESS;
  const auto attribute = [&](CUfunction_attribute which) {
    int value = 0;
    if (const CUresult r = driver.kernel_attribute(&value, which, kernel, context.device()); r != CUDA_SUCCESS) {
      failed = r;
    }
    return static_cast<std::uint32_t>(value);
  };
  info.static_shared = attribute(CU_FUNC_ATTRIBUTE_SHARED_SIZE_BYTES);
  info.local_bytes = attribute(CU_FUNC_ATTRIBUTE_LOCAL_SIZE_BYTES);
  info.max_threads = attribute(CU_FUNC_ATTRIBUTE_MAX_THREADS_PER_BLOCK);
  info.registers = attribute(CU_FUNC_ATTRIBUTE_NUM_REGS);
  info.ptx_version = attribute(CU_FUNC_ATTRIBUTE_PTX_VERSION);
  info.binary_version = attribute(CU_FUNC_ATTRIBUTE_BINARY_VERSION);
  info.required_cluster = {attribute(CU_FUNC_ATTRIBUTE_REQUIRED_CLUSTER_WIDTH),
                           attribute(CU_FUNC_ATTRIBUTE_REQUIRED_CLUSTER_HEIGHT),
                           attribute(CU_FUNC_ATTRIBUTE_REQUIRED_CLUSTER_DEPTH)};
  if (failed != CUDA_SUCCESS) return context.failure(failed, fmt::format("cuKernelGetAttribute of '{}'", name));
  // One past the last parameter is CUDA_ERROR_INVALID_VALUE.
  for (std::size_t i = 0;; ++i) {
    std::size_t offset = 0, size = 0;
    const CUresult r = driver.kernel_param(kernel, i, &offset, &size);
    if (r == CUDA_ERROR_INVALID_VALUE) break;
    if (r != CUDA_SUCCESS) return context.failure(r, fmt::format("cuKernelGetParamInfo of '{}'", name));
    info.params.push_back({static_cast<std::uint32_t>(offset), static_cast<std::uint32_t>(size)});
  }
  info.params = without_gap(std::move(info.params));
  info.param_bytes = buffer_bytes(info.params);
  return info;
}

}  // namespace ptxbench::gpu
