// Runtime API: the device and its properties, settings that are only hints.
#include <algorithm>
#include <cstring>

#include "ptxbench/shim/runtime.h"

using namespace ptxbench::shim;

namespace {

constexpr int kRuntimeVersion = 13000;

// cudaDeviceAttr numbers of maxTexture1D ... maxTextureCubemapLayered and maxSurface1D ... maxSurfaceCubemapLayered, in the
// order of cudaDeviceProp.
constexpr int kTextureAttributes[25] = {21, 77, 22, 23, 73, 74, 70, 71, 72, 45, 46, 24, 25,
                                        26, 47, 48, 49, 52, 42, 43, 27, 28, 29, 53, 54};
constexpr int kSurfaceAttributes[14] = {55, 56, 57, 58, 59, 60, 61, 62, 63, 64, 65, 66, 67, 68};

}  // namespace

PTXBENCH_API_EXPORT int cudaGetDeviceProperties(ApiDeviceProp* out, int device) {
  if (out == nullptr) return finish(Code::kInvalidValue);
  if (!is_device_zero(device)) return finish(Code::kInvalidDevice);
  Answer<const ptxbench::wire::DeviceInfo*> found = core().device();
  if (!found) return finish(found);
  const ptxbench::wire::DeviceInfo& info = **found;
  const auto a = [&](std::size_t number) { return number < info.attributes.size() ? info.attributes[number] : 0; };
  ApiDeviceProp p;
  std::memset(&p, 0, sizeof p);
  std::memcpy(p.name, info.name.data(), std::min(info.name.size(), sizeof p.name - 1));
  std::memcpy(p.uuid, "ptxbench-device0", sizeof p.uuid);
  p.total_memory = info.total_memory;
  p.shared_per_block = static_cast<std::size_t>(a(8)), p.registers_per_block = a(12), p.warp_size = a(10);
  p.memory_pitch = static_cast<std::size_t>(a(11)), p.max_threads_per_block = a(1);
  for (std::size_t i = 0; i < 3; ++i) p.max_threads_dim[i] = a(2 + i), p.max_grid[i] = a(5 + i);
  p.total_const = static_cast<std::size_t>(a(9)), p.major = static_cast<int>(info.compute_major);
  p.minor = static_cast<int>(info.compute_minor);
  p.texture_alignment = static_cast<std::size_t>(a(14)), p.texture_pitch_alignment = static_cast<std::size_t>(a(51));
  p.multiprocessors = a(16), p.integrated = a(18), p.can_map_host = a(19);
  for (std::size_t i = 0; i < 25; ++i) p.max_texture[i] = a(static_cast<std::size_t>(kTextureAttributes[i]));
  for (std::size_t i = 0; i < 14; ++i) p.max_surface[i] = a(static_cast<std::size_t>(kSurfaceAttributes[i]));
  p.surface_alignment = static_cast<std::size_t>(a(30)), p.concurrent_kernels = a(31), p.ecc = a(32), p.tcc = a(35);
  p.async_engines = a(40), p.unified_addressing = a(41), p.bus_width = a(37), p.l2_size = a(38),
  p.persisting_l2_max = a(108);
  p.max_threads_per_sm = a(39), p.stream_priorities = a(78), p.global_l1 = a(79), p.local_l1 = a(80);
  p.shared_per_sm = static_cast<std::size_t>(a(81)), p.registers_per_sm = a(82), p.managed = a(83);
  p.multi_gpu_board = a(84), p.multi_gpu_group = a(85), p.host_native_atomics = a(86), p.pageable_access = a(88);
  p.concurrent_managed = a(89), p.compute_preemption = a(90), p.host_pointer_for_registered = a(91);
  p.cooperative_launch = a(95), p.shared_per_block_optin = static_cast<std::size_t>(a(97));
  p.pageable_uses_host_tables = a(100), p.direct_managed_from_host = a(101), p.max_blocks_per_sm = a(106);
  p.access_policy_window = a(109), p.reserved_shared_per_block = static_cast<std::size_t>(a(111));
  p.host_register = a(99), p.sparse_array = a(112), p.host_register_read_only = a(113), p.timeline_semaphore = a(114);
  p.memory_pools = a(115), p.gpu_direct_rdma = a(116), p.rdma_flush_options = static_cast<unsigned>(a(117));
  p.rdma_writes_ordering = a(118), p.pool_handle_types = static_cast<unsigned>(a(119)),
  p.deferred_mapping_array = a(121);
  p.ipc_event = a(122), p.cluster_launch = a(120), p.unified_function_pointers = a(129), p.numa_config = a(130);
  p.numa_id = a(131), p.mps = a(133), p.host_numa_id = a(134), p.host_numa_multinode_ipc = a(143);
  *out = p;
  return 0;
}

PTXBENCH_API_EXPORT int cudaDeviceGetAttribute(int* value, int attribute, int device) {
  if (!is_device_zero(device)) return finish(Code::kInvalidDevice);
  Answer<const ptxbench::wire::DeviceInfo*> info = core().device();
  if (!info) return finish(info);
  if (value == nullptr || attribute < 1 || static_cast<std::size_t>(attribute) >= (*info)->attributes.size()) {
    return finish(Code::kInvalidValue);
  }
  *value = (*info)->attributes[static_cast<std::size_t>(attribute)];
  return 0;
}

PTXBENCH_API_EXPORT int cudaGetDeviceCount(int* count) {
  if (count == nullptr) return finish(Code::kInvalidValue);
  *count = 1;
  return 0;
}
PTXBENCH_API_EXPORT int cudaGetDevice(int* device) {
  if (device == nullptr) return finish(Code::kInvalidValue);
  *device = 0;
  return 0;
}
PTXBENCH_API_EXPORT int cudaSetDevice(int device) {
  return finish(is_device_zero(device) ? Code::kSuccess : Code::kInvalidDevice);
}
PTXBENCH_API_EXPORT int cudaInitDevice(int device, unsigned, unsigned) { return cudaSetDevice(device); }
PTXBENCH_API_EXPORT int cudaSetValidDevices(int*, int) { return 0; }
PTXBENCH_API_EXPORT int cudaChooseDevice(int* device, const void*) { return cudaGetDevice(device); }
PTXBENCH_API_EXPORT int cudaSetDeviceFlags(unsigned) { return 0; }
PTXBENCH_API_EXPORT int cudaGetDeviceFlags(unsigned* flags) {
  if (flags == nullptr) return finish(Code::kInvalidValue);
  *flags = 0;
  return 0;
}
PTXBENCH_API_EXPORT int cudaDeviceCanAccessPeer(int* can, int, int) {
  if (can == nullptr) return finish(Code::kInvalidValue);
  *can = 0;
  return 0;
}
PTXBENCH_API_EXPORT int cudaRuntimeGetVersion(int* version) {
  if (version == nullptr) return finish(Code::kInvalidValue);
  *version = kRuntimeVersion;
  return 0;
}
PTXBENCH_API_ALIAS(cudaDriverGetVersion, cudaRuntimeGetVersion);
// The process ends soon after; handles stay valid until then.
PTXBENCH_API_EXPORT int cudaDeviceReset() { return finish(core().synchronize()); }

// Hints: they change speed, not results.
PTXBENCH_API_EXPORT int cudaDeviceSetCacheConfig(int) { return 0; }
PTXBENCH_API_EXPORT int cudaDeviceGetCacheConfig(int* config) {
  if (config == nullptr) return finish(Code::kInvalidValue);
  *config = 0;
  return 0;
}
PTXBENCH_API_EXPORT int cudaDeviceSetSharedMemConfig(int) { return 0; }
PTXBENCH_API_EXPORT int cudaFuncSetCacheConfig(const void*, int) { return 0; }
PTXBENCH_API_EXPORT int cudaFuncSetSharedMemConfig(const void*, int) { return 0; }
PTXBENCH_API_EXPORT int cudaCtxResetPersistingL2Cache() { return 0; }
PTXBENCH_API_EXPORT int cudaProfilerStart() { return 0; }
PTXBENCH_API_EXPORT int cudaProfilerStop() { return 0; }

// The emulator needs no stack or printf buffer of a chosen size. Other limits change what a kernel can do.
PTXBENCH_API_EXPORT int cudaDeviceSetLimit(int limit, std::size_t) {
  constexpr int kStack = 0, kPrintf = 1, kL2Fetch = 5, kPersistingL2 = 6;
  if (limit == kStack || limit == kPrintf || limit == kL2Fetch || limit == kPersistingL2) return 0;
  return finish(core().refuse("cudaDeviceSetLimit", "limit " + std::to_string(limit)).code);
}
