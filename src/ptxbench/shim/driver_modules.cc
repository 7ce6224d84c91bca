// Driver API: modules, libraries, kernels, launches, tensor maps.
#include <cstring>

#include "ptxbench/shim/driver.h"

using namespace ptxbench::shim;

namespace {

int get_kernel(void** out, void* module, const char* name) {
  if (out == nullptr || name == nullptr) return kInvalid;
  auto known = core().module_of(module);
  if (!known) return result(known);
  return result(core().kernel_named(*known, name), out);
}

int launch(void* function, ptxbench::wire::LaunchGeometry geometry, void* stream, void** args, void** extra) {
  auto kernel = core().kernel_of(function);
  if (!kernel) return result(kernel);
  const void* packed = nullptr;
  std::size_t bytes = 0;
  // Pairs of key and value, as CU_LAUNCH_PARAM_*: 1 a packed buffer, 2 its size, 0 the end.
  for (void** item = extra; item != nullptr && *item != nullptr; item += 2) {
    const auto key = reinterpret_cast<std::uintptr_t>(*item);
    if (key == 1)
      packed = item[1];
    else if (key == 2)
      bytes = *static_cast<std::size_t*>(item[1]);
    else
      return kInvalid;
  }
  return result(core().launch(*kernel, geometry, args, packed, bytes, stream));
}

int attribute_of(const ptxbench::wire::KernelReply& reply, int attribute, int* out) {
  const ptxbench::wire::KernelInfo& info = reply.info;
  switch (attribute) {
    case 0: *out = static_cast<int>(info.max_threads); return kOk;
    case 1: *out = static_cast<int>(info.static_shared); return kOk;
    case 2: *out = 0; return kOk;  // constant bytes: those of the module are not told apart
    case 3: *out = static_cast<int>(info.local_bytes); return kOk;
    case 4: *out = static_cast<int>(info.registers); return kOk;
    case 5: *out = static_cast<int>(info.ptx_version); return kOk;
    case 6: *out = static_cast<int>(info.binary_version); return kOk;
    case 7: *out = 0; return kOk;
    case 8: *out = static_cast<int>(reply.max_dynamic_shared); return kOk;
    case 9: *out = -1; return kOk;
    case 10: *out = info.required_cluster.x != 0; return kOk;
    case 11: *out = static_cast<int>(info.required_cluster.x); return kOk;
    case 12: *out = static_cast<int>(info.required_cluster.y); return kOk;
    case 13: *out = static_cast<int>(info.required_cluster.z); return kOk;
    default: return kInvalid;
  }
}

}  // namespace

PTXBENCH_API_EXPORT int cuModuleLoadData(void** module, const void* image) {
  return result(core().load_image(image), module);
}
PTXBENCH_API_EXPORT int cuModuleLoadDataEx(void** module, const void* image, unsigned, void*, void*) {
  return cuModuleLoadData(module, image);
}
PTXBENCH_API_EXPORT int cuModuleLoadFatBinary(void** module, const void* image) {
  return cuModuleLoadData(module, image);
}
PTXBENCH_API_EXPORT int cuModuleLoad(void** module, const char* path) { return result(core().load_file(path), module); }
PTXBENCH_API_EXPORT int cuModuleUnload(void* module) { return result(core().unload(module)); }
PTXBENCH_API_EXPORT int cuModuleGetFunction(void** function, void* module, const char* name) {
  return get_kernel(function, module, name);
}
PTXBENCH_API_EXPORT int cuModuleGetGlobal_v2(DevicePointer* address, std::size_t* bytes, void* module,
                                             const char* name) {
  if (name == nullptr) return kInvalid;
  auto known = core().module_of(module);
  if (!known) return result(known);
  auto global = core().global_named(*known, name);
  if (global && address != nullptr) *address = global->address;
  if (global && bytes != nullptr) *bytes = global->bytes;
  return result(global);
}
PTXBENCH_API_EXPORT int cuModuleGetLoadingMode(int* mode) {
  if (mode == nullptr) return kInvalid;
  *mode = 2;  // lazy
  return kOk;
}

PTXBENCH_API_EXPORT int cuLibraryLoadData(void** library, const void* image, void*, void*, unsigned, void*, void*,
                                          unsigned) {
  return result(core().load_image(image), library);
}
PTXBENCH_API_EXPORT int cuLibraryLoadFromFile(void** library, const char* path, void*, void*, unsigned, void*, void*,
                                              unsigned) {
  return result(core().load_file(path), library);
}
PTXBENCH_API_ALIAS(cuLibraryUnload, cuModuleUnload);
PTXBENCH_API_ALIAS(cuLibraryGetKernel, cuModuleGetFunction);
PTXBENCH_API_ALIAS(cuLibraryGetGlobal, cuModuleGetGlobal_v2);
PTXBENCH_API_EXPORT int cuLibraryGetModule(void** module, void* library) {
  return result(core().module_of(library), module);
}
PTXBENCH_API_EXPORT int cuKernelGetFunction(void** function, void* kernel) {
  return result(core().kernel_of(kernel), function);
}

PTXBENCH_API_EXPORT int cuFuncGetAttribute(int* value, int attribute, void* function) {
  auto kernel = core().kernel_of(function);
  if (!kernel) return result(kernel);
  auto reply = core().load(*kernel);
  if (!reply) return result(reply);
  return value == nullptr ? kInvalid : attribute_of(**reply, attribute, value);
}
PTXBENCH_API_EXPORT int cuKernelGetAttribute(int* value, int attribute, void* kernel, int) {
  return cuFuncGetAttribute(value, attribute, kernel);
}
PTXBENCH_API_EXPORT int cuFuncSetAttribute(void* function, int attribute, int value) {
  auto kernel = core().kernel_of(function);
  return kernel ? result(core().set_attribute(*kernel, attribute, value)) : result(kernel);
}
PTXBENCH_API_EXPORT int cuKernelSetAttribute(int attribute, int value, void* kernel, int) {
  return cuFuncSetAttribute(kernel, attribute, value);
}
PTXBENCH_API_EXPORT int cuFuncSetCacheConfig(void*, int) { return kOk; }
PTXBENCH_API_EXPORT int cuFuncGetName(const char** name, void* function) {
  auto kernel = core().kernel_of(function);
  if (kernel && name != nullptr) *name = (*kernel)->name.c_str();
  return result(kernel);
}
PTXBENCH_API_EXPORT int cuFuncGetParamInfo(void* function, std::size_t index, std::size_t* offset, std::size_t* bytes) {
  auto kernel = core().kernel_of(function);
  if (!kernel) return result(kernel);
  auto reply = core().load(*kernel);
  if (!reply) return result(reply);
  const auto& params = (*reply)->info.params;
  if (index >= params.size()) return kInvalid;
  if (offset != nullptr) *offset = params[index].offset;
  if (bytes != nullptr) *bytes = params[index].size;
  return kOk;
}
PTXBENCH_API_ALIAS(cuKernelGetParamInfo, cuFuncGetParamInfo);
PTXBENCH_API_ALIAS(cuKernelGetName, cuFuncGetName);

PTXBENCH_API_EXPORT int cuLaunchKernel(void* function, unsigned gx, unsigned gy, unsigned gz, unsigned bx, unsigned by,
                                       unsigned bz, unsigned shared, void* stream, void** args, void** extra) {
  ptxbench::wire::LaunchGeometry geometry;
  geometry.grid = {gx, gy, gz};
  geometry.block = {bx, by, bz};
  geometry.dynamic_shared = shared;
  return launch(function, geometry, stream, args, extra);
}
PTXBENCH_API_ALIAS(cuLaunchKernel_ptsz, cuLaunchKernel);
PTXBENCH_API_EXPORT int cuLaunchCooperativeKernel(void* function, unsigned gx, unsigned gy, unsigned gz, unsigned bx,
                                                  unsigned by, unsigned bz, unsigned shared, void* stream,
                                                  void** args) {
  ptxbench::wire::LaunchGeometry geometry;
  geometry.grid = {gx, gy, gz};
  geometry.block = {bx, by, bz};
  geometry.dynamic_shared = shared;
  geometry.cooperative = true;
  return launch(function, geometry, stream, args, nullptr);
}
PTXBENCH_API_ALIAS(cuLaunchCooperativeKernel_ptsz, cuLaunchCooperativeKernel);
PTXBENCH_API_EXPORT int cuLaunchKernelEx(const ApiDriverLaunchConfig* config, void* function, void** args,
                                         void** extra) {
  if (config == nullptr) return kInvalid;
  ptxbench::wire::LaunchGeometry geometry;
  geometry.grid = {config->grid_x, config->grid_y, config->grid_z};
  geometry.block = {config->block_x, config->block_y, config->block_z};
  geometry.dynamic_shared = config->dynamic_shared;
  if (auto ok = core().apply(config->attributes, config->attribute_count, geometry); !ok) return result(ok);
  return launch(function, geometry, config->stream, args, extra);
}
PTXBENCH_API_ALIAS(cuLaunchKernelEx_ptsz, cuLaunchKernelEx);

PTXBENCH_API_EXPORT int cuOccupancyMaxActiveBlocksPerMultiprocessorWithFlags(int* blocks, void* function, int threads,
                                                                             std::size_t shared, unsigned) {
  auto kernel = core().kernel_of(function);
  if (!kernel) return result(kernel);
  auto reply = core().load(*kernel);
  if (!reply) return result(reply);
  if (blocks == nullptr || threads <= 0) return kInvalid;
  ptxbench::wire::Occupancy request;
  request.kernel = (*reply)->kernel;
  request.geometry.block.x = static_cast<std::uint32_t>(threads);
  request.geometry.dynamic_shared = static_cast<std::uint32_t>(shared);
  auto occupancy = core().call(request);
  if (occupancy) *blocks = static_cast<int>(occupancy->blocks);
  return result(occupancy);
}
PTXBENCH_API_EXPORT int cuOccupancyMaxActiveBlocksPerMultiprocessor(int* blocks, void* function, int threads,
                                                                    std::size_t shared) {
  return cuOccupancyMaxActiveBlocksPerMultiprocessorWithFlags(blocks, function, threads, shared, 0);
}

PTXBENCH_API_EXPORT int cuTensorMapEncodeTiled(void* out, unsigned type, unsigned rank, void* address,
                                               const std::uint64_t* dims, const std::uint64_t* strides,
                                               const std::uint32_t* box, const std::uint32_t* element_strides,
                                               unsigned interleave, unsigned swizzle, unsigned l2_promotion,
                                               unsigned oob_fill) {
  if (out == nullptr || dims == nullptr || box == nullptr || element_strides == nullptr || rank == 0 || rank > 5 ||
      (rank > 1 && strides == nullptr)) {
    return kInvalid;
  }
  ptxbench::wire::EncodeTiled request;
  request.map.data_type = type;
  request.map.rank = rank;
  request.map.address = reinterpret_cast<std::uint64_t>(address);
  for (unsigned i = 0; i < rank; ++i) {
    request.map.dims[i] = dims[i];
    request.map.box[i] = box[i];
    request.map.element_strides[i] = element_strides[i];
    if (i + 1 < rank) request.map.strides[i] = strides[i];
  }
  request.map.interleave = interleave;
  request.map.swizzle = swizzle;
  request.map.l2_promotion = l2_promotion;
  request.map.oob_fill = oob_fill;
  auto map = core().call(request);
  if (map) std::memcpy(out, map->map.data(), map->map.size());
  return result(map);
}
