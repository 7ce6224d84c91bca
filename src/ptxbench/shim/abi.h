// The parts of the CUDA 13 runtime and driver ABI that the shim's functions take and give, declared here so that the
// shim builds without a CUDA toolkit. tests/shim/abi_test.cu compares sizes and offsets with the toolkit's headers.
#pragma once

#include <cstddef>
#include <cstdint>

#define PTXBENCH_API_EXPORT extern "C" __attribute__((visibility("default")))
// A second exported name for a function of this file.
#define PTXBENCH_API_ALIAS(alias_name, name) \
  extern "C" __attribute__((visibility("default"), alias(#name))) decltype(name) alias_name

namespace ptxbench::shim {

struct ApiDim3 {
  unsigned x, y, z;
};

// cudaLaunchAttribute and CUlaunchAttribute
struct ApiLaunchAttribute {
  std::uint32_t id;
  std::uint32_t pad;
  union {
    char bytes[64];
    int number;
    ApiDim3 dims;
  } value;
};
static_assert(sizeof(ApiLaunchAttribute) == 72);

// cudaLaunchConfig_t
struct ApiLaunchConfig {
  ApiDim3 grid, block;
  std::size_t dynamic_shared;
  void* stream;
  ApiLaunchAttribute* attributes;
  unsigned attribute_count;
};

// CUlaunchConfig
struct ApiDriverLaunchConfig {
  unsigned grid_x, grid_y, grid_z, block_x, block_y, block_z, dynamic_shared;
  void* stream;
  ApiLaunchAttribute* attributes;
  unsigned attribute_count;
};

// cudaFuncAttributes
struct ApiFuncAttributes {
  std::size_t shared_bytes, const_bytes, local_bytes;
  int max_threads, registers, ptx_version, binary_version, cache_mode_ca, max_dynamic_shared, carveout;
  int cluster_must_be_set, cluster_width, cluster_height, cluster_depth, cluster_scheduling, non_portable_cluster;
  int reserved[16];
};

// cudaPointerAttributes
struct ApiPointerAttributes {
  int type;  // 0 unregistered, 1 host, 2 device, 3 managed
  int device;
  void* device_pointer;
  void* host_pointer;
  long reserved[8];
};

// cudaDeviceProp of CUDA 13
struct ApiDeviceProp {
  char name[256];
  char uuid[16];
  char luid[8];
  unsigned luid_node_mask;
  std::size_t total_memory, shared_per_block;
  int registers_per_block, warp_size;
  std::size_t memory_pitch;
  int max_threads_per_block, max_threads_dim[3], max_grid[3];
  std::size_t total_const;
  int major, minor;
  std::size_t texture_alignment, texture_pitch_alignment;
  int multiprocessors, integrated, can_map_host;
  int max_texture[25];  // maxTexture1D ... maxTextureCubemapLayered
  int max_surface[14];  // maxSurface1D ... maxSurfaceCubemapLayered
  std::size_t surface_alignment;
  int concurrent_kernels, ecc, pci_bus, pci_device, pci_domain, tcc, async_engines, unified_addressing, bus_width,
      l2_size, persisting_l2_max, max_threads_per_sm, stream_priorities, global_l1, local_l1;
  std::size_t shared_per_sm;
  int registers_per_sm, managed, multi_gpu_board, multi_gpu_group, host_native_atomics, pageable_access,
      concurrent_managed, compute_preemption, host_pointer_for_registered, cooperative_launch;
  std::size_t shared_per_block_optin;
  int pageable_uses_host_tables, direct_managed_from_host, max_blocks_per_sm, access_policy_window;
  std::size_t reserved_shared_per_block;
  int host_register, sparse_array, host_register_read_only, timeline_semaphore, memory_pools, gpu_direct_rdma;
  unsigned rdma_flush_options;
  int rdma_writes_ordering;
  unsigned pool_handle_types;
  int deferred_mapping_array, ipc_event, cluster_launch, unified_function_pointers, numa_config, numa_id, mps,
      host_numa_id;
  unsigned pci_device_id, pci_subsystem_id;
  int host_numa_multinode_ipc, reserved[56];
};

// What __cudaRegisterFatBinary receives.
struct ApiFatbinWrapper {
  std::uint32_t magic;  // 0x466243B1
  std::uint32_t version;
  const void* data;
  const void* linked;
};

enum class CopyKind : int { kHostToHost, kHostToDevice, kDeviceToHost, kDeviceToDevice, kDefault };

}  // namespace ptxbench::shim
