// The CUDA driver API through a table of the functions that we use, so that nothing is linked against libcuda.
#pragma once

#include <cuda.h>

#include <string>

#include "ptxbench/base/result.h"

namespace ptxbench::gpu {

// cuda.h renames functions to their current versions by macros, so each row yields the member's name, the type of the
// current version and (expanded) the name of its symbol.
#define PTXBENCH_DRIVER_FUNCTIONS(X)                               \
  X(init, cuInit)                                                  \
  X(driver_version, cuDriverGetVersion)                            \
  X(error_name, cuGetErrorName)                                    \
  X(error_string, cuGetErrorString)                                \
  X(device_count, cuDeviceGetCount)                                \
  X(device_get, cuDeviceGet)                                       \
  X(device_name, cuDeviceGetName)                                  \
  X(device_pci_bus_id, cuDeviceGetPCIBusId)                        \
  X(device_uuid, cuDeviceGetUuid)                                  \
  X(device_total_memory, cuDeviceTotalMem)                         \
  X(device_attribute, cuDeviceGetAttribute)                        \
  X(primary_context_retain, cuDevicePrimaryCtxRetain)              \
  X(context_set_current, cuCtxSetCurrent)                          \
  X(context_reset_persisting_l2, cuCtxResetPersistingL2Cache)      \
  X(memory_info, cuMemGetInfo)                                     \
  X(memory_alloc, cuMemAlloc)                                      \
  X(memory_free, cuMemFree)                                        \
  X(host_alloc, cuMemHostAlloc)                                    \
  X(copy_to_device, cuMemcpyHtoDAsync)                             \
  X(copy_to_host, cuMemcpyDtoHAsync)                               \
  X(copy_on_device, cuMemcpyDtoDAsync)                             \
  X(fill8, cuMemsetD8Async)                                        \
  X(fill16, cuMemsetD16Async)                                      \
  X(fill32, cuMemsetD32Async)                                      \
  X(ipc_get, cuIpcGetMemHandle)                                    \
  X(ipc_open, cuIpcOpenMemHandle)                                  \
  X(ipc_close, cuIpcCloseMemHandle)                                \
  X(stream_create, cuStreamCreate)                                 \
  X(stream_query, cuStreamQuery)                                   \
  X(stream_synchronize, cuStreamSynchronize)                       \
  X(event_create, cuEventCreate)                                   \
  X(event_record, cuEventRecord)                                   \
  X(event_elapsed, cuEventElapsedTime)                             \
  X(library_load, cuLibraryLoadData)                               \
  X(library_unload, cuLibraryUnload)                               \
  X(library_kernel, cuLibraryGetKernel)                            \
  X(library_global, cuLibraryGetGlobal)                            \
  X(kernel_attribute, cuKernelGetAttribute)                        \
  X(kernel_set_attribute, cuKernelSetAttribute)                    \
  X(kernel_param, cuKernelGetParamInfo)                            \
  X(occupancy_blocks, cuOccupancyMaxActiveBlocksPerMultiprocessor) \
  X(occupancy_clusters, cuOccupancyMaxActiveClusters)              \
  X(launch, cuLaunchKernelEx)                                      \
  X(encode_tiled, cuTensorMapEncodeTiled)

struct Driver {
#define PTXBENCH_MEMBER(member, function) decltype(&::function) member = nullptr;
  PTXBENCH_DRIVER_FUNCTIONS(PTXBENCH_MEMBER)
#undef PTXBENCH_MEMBER
  int version = 0;   // 13000 for CUDA 13.0
  std::string path;  // of libcuda.so.1

  // "CUDA_ERROR_ILLEGAL_ADDRESS (700): an illegal memory access was encountered"
  std::string describe(CUresult code) const;
};

// Opens libcuda.so.1 and initialises it, once per process. kUnavailable: no driver, none that has the functions that
// we need (older than CUDA 12.8), or one that does not start (no device, no permission).
Result<const Driver*> open_driver();

}  // namespace ptxbench::gpu
