// The shim's own declarations against the toolkit's headers.
#include <cuda.h>
#include <cuda_runtime.h>

#include <cstddef>

#include "ptxbench/shim/abi.h"

namespace s = ptxbench::shim;
#define SAME(ours, our_member, theirs, their_member)                                              \
  static_assert(offsetof(s::ours, our_member) == offsetof(theirs, their_member), #our_member);    \
  static_assert(sizeof(s::ours::our_member) == sizeof(theirs::their_member), #our_member)

static_assert(sizeof(s::ApiDim3) == sizeof(dim3));
static_assert(sizeof(s::ApiLaunchAttribute) == sizeof(cudaLaunchAttribute));
static_assert(sizeof(s::ApiLaunchAttribute) == sizeof(CUlaunchAttribute));
static_assert(sizeof(s::ApiLaunchConfig) == sizeof(cudaLaunchConfig_t));
static_assert(sizeof(s::ApiDriverLaunchConfig) == sizeof(CUlaunchConfig));
static_assert(sizeof(s::ApiFuncAttributes) == sizeof(cudaFuncAttributes));
static_assert(sizeof(s::ApiPointerAttributes) == sizeof(cudaPointerAttributes));
static_assert(sizeof(s::ApiDeviceProp) == sizeof(cudaDeviceProp));
SAME(ApiLaunchAttribute, id, cudaLaunchAttribute, id);
SAME(ApiLaunchAttribute, value, cudaLaunchAttribute, val);
SAME(ApiLaunchConfig, dynamic_shared, cudaLaunchConfig_t, dynamicSmemBytes);
SAME(ApiLaunchConfig, stream, cudaLaunchConfig_t, stream);
SAME(ApiLaunchConfig, attributes, cudaLaunchConfig_t, attrs);
SAME(ApiLaunchConfig, attribute_count, cudaLaunchConfig_t, numAttrs);
SAME(ApiDriverLaunchConfig, dynamic_shared, CUlaunchConfig, sharedMemBytes);
SAME(ApiDriverLaunchConfig, stream, CUlaunchConfig, hStream);
SAME(ApiDriverLaunchConfig, attribute_count, CUlaunchConfig, numAttrs);
SAME(ApiFuncAttributes, local_bytes, cudaFuncAttributes, localSizeBytes);
SAME(ApiFuncAttributes, registers, cudaFuncAttributes, numRegs);
SAME(ApiFuncAttributes, max_dynamic_shared, cudaFuncAttributes, maxDynamicSharedSizeBytes);
SAME(ApiFuncAttributes, cluster_must_be_set, cudaFuncAttributes, clusterDimMustBeSet);
SAME(ApiFuncAttributes, cluster_depth, cudaFuncAttributes, requiredClusterDepth);
SAME(ApiPointerAttributes, host_pointer, cudaPointerAttributes, hostPointer);
SAME(ApiDeviceProp, total_memory, cudaDeviceProp, totalGlobalMem);
SAME(ApiDeviceProp, memory_pitch, cudaDeviceProp, memPitch);
SAME(ApiDeviceProp, max_grid, cudaDeviceProp, maxGridSize);
SAME(ApiDeviceProp, multiprocessors, cudaDeviceProp, multiProcessorCount);
SAME(ApiDeviceProp, surface_alignment, cudaDeviceProp, surfaceAlignment);
SAME(ApiDeviceProp, l2_size, cudaDeviceProp, l2CacheSize);
SAME(ApiDeviceProp, shared_per_sm, cudaDeviceProp, sharedMemPerMultiprocessor);
SAME(ApiDeviceProp, shared_per_block_optin, cudaDeviceProp, sharedMemPerBlockOptin);
SAME(ApiDeviceProp, reserved_shared_per_block, cudaDeviceProp, reservedSharedMemPerBlock);
SAME(ApiDeviceProp, cluster_launch, cudaDeviceProp, clusterLaunch);
SAME(ApiDeviceProp, host_numa_multinode_ipc, cudaDeviceProp, hostNumaMultinodeIpcSupported);

int main() { return 0; }
