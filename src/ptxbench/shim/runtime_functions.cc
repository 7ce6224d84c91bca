// Runtime API: facts and attributes of kernels, occupancy, driver entry points, libraries.
#include <dlfcn.h>

#include <cstring>

#include "ptxbench/shim/driver_entry.h"
#include "ptxbench/shim/runtime.h"

using namespace ptxbench::shim;

namespace {

Answer<Kernel*> loaded(const void* function) {
  Answer<Kernel*> kernel = core().kernel_of(function);
  if (!kernel) return kernel;
  if (auto reply = core().load(*kernel); !reply) return tl::unexpected(reply.error());
  return kernel;
}

Answer<ptxbench::wire::OccupancyReply> occupancy(const void* function, const ptxbench::wire::LaunchGeometry& geometry) {
  Answer<Kernel*> kernel = loaded(function);
  if (!kernel) return tl::unexpected(kernel.error());
  return core().call(ptxbench::wire::Occupancy{(*kernel)->reply->kernel, geometry});
}

}  // namespace

PTXBENCH_API_EXPORT int cudaFuncGetAttributes(ApiFuncAttributes* out, const void* function) {
  if (out == nullptr) return finish(Code::kInvalidValue);
  Answer<Kernel*> kernel = loaded(function);
  if (!kernel) return finish(kernel);
  const ptxbench::wire::KernelInfo& info = (*kernel)->reply->info;
  std::memset(out, 0, sizeof *out);
  out->shared_bytes = info.static_shared;
  out->local_bytes = info.local_bytes;
  out->max_threads = static_cast<int>(info.max_threads);
  out->registers = static_cast<int>(info.registers);
  out->ptx_version = static_cast<int>(info.ptx_version);
  out->binary_version = static_cast<int>(info.binary_version);
  out->max_dynamic_shared = static_cast<int>((*kernel)->reply->max_dynamic_shared);
  out->carveout = -1;
  out->cluster_must_be_set = info.required_cluster.x != 0;
  out->cluster_width = static_cast<int>(info.required_cluster.x);
  out->cluster_height = static_cast<int>(info.required_cluster.y);
  out->cluster_depth = static_cast<int>(info.required_cluster.z);
  return 0;
}

PTXBENCH_API_EXPORT int cudaFuncSetAttribute(const void* function, int attribute, int value) {
  Answer<Kernel*> kernel = core().kernel_of(function);
  if (!kernel) return finish(kernel);
  return finish(core().set_attribute(*kernel, attribute, value));
}

PTXBENCH_API_EXPORT int cudaFuncGetName(const char** name, const void* function) {
  if (name == nullptr) return finish(Code::kInvalidValue);
  Answer<Kernel*> kernel = core().kernel_of(function);
  if (kernel) *name = (*kernel)->name.c_str();
  return finish(kernel);
}

PTXBENCH_API_EXPORT int cudaFuncGetParamInfo(const void* function, std::size_t index, std::size_t* offset,
                                             std::size_t* bytes) {
  Answer<Kernel*> kernel = loaded(function);
  if (!kernel) return finish(kernel);
  const auto& params = (*kernel)->reply->info.params;
  if (index >= params.size()) return finish(Code::kInvalidValue);
  if (offset != nullptr) *offset = params[index].offset;
  if (bytes != nullptr) *bytes = params[index].size;
  return 0;
}

PTXBENCH_API_EXPORT int cudaOccupancyMaxActiveBlocksPerMultiprocessorWithFlags(int* blocks, const void* function,
                                                                               int threads, std::size_t shared,
                                                                               unsigned) {
  if (blocks == nullptr || threads <= 0) return finish(Code::kInvalidValue);
  ptxbench::wire::LaunchGeometry geometry;
  geometry.block.x = static_cast<std::uint32_t>(threads);
  geometry.dynamic_shared = static_cast<std::uint32_t>(shared);
  auto reply = occupancy(function, geometry);
  if (reply) *blocks = static_cast<int>(reply->blocks);
  return finish(reply);
}
PTXBENCH_API_EXPORT int cudaOccupancyMaxActiveBlocksPerMultiprocessor(int* blocks, const void* function, int threads,
                                                                      std::size_t shared) {
  return cudaOccupancyMaxActiveBlocksPerMultiprocessorWithFlags(blocks, function, threads, shared, 0);
}
PTXBENCH_API_EXPORT int cudaOccupancyMaxActiveClusters(int* clusters, const void* function,
                                                       const ApiLaunchConfig* config) {
  if (clusters == nullptr || config == nullptr) return finish(Code::kInvalidValue);
  ptxbench::wire::LaunchGeometry geometry;
  geometry.grid = {config->grid.x, config->grid.y, config->grid.z};
  geometry.block = {config->block.x, config->block.y, config->block.z};
  geometry.dynamic_shared = static_cast<std::uint32_t>(config->dynamic_shared);
  if (Answer<void> ok = core().apply(config->attributes, config->attribute_count, geometry); !ok) return finish(ok);
  auto reply = occupancy(function, geometry);
  if (reply) *clusters = static_cast<int>(reply->clusters);
  return finish(reply);
}

PTXBENCH_API_EXPORT int cudaGetDriverEntryPointByVersion(const char* name, void** function, unsigned,
                                                         unsigned long long, int* result) {
  if (name == nullptr || function == nullptr) return finish(Code::kInvalidValue);
  *function = driver_entry(name);
  if (result != nullptr) *result = *function != nullptr ? 0 : 1;  // found, or symbol not found
  return 0;
}
PTXBENCH_API_ALIAS(cudaGetDriverEntryPointByVersion_ptsz, cudaGetDriverEntryPointByVersion);
PTXBENCH_API_EXPORT int cudaGetDriverEntryPoint(const char* name, void** function, unsigned long long flags,
                                                int* result) {
  return cudaGetDriverEntryPointByVersion(name, function, 13000, flags, result);
}
PTXBENCH_API_ALIAS(cudaGetDriverEntryPoint_ptsz, cudaGetDriverEntryPoint);

// Options (JIT and library) are hints to a compiler that is not there.
PTXBENCH_API_EXPORT int cudaLibraryLoadData(void** library, const void* image, void*, void*, unsigned, void*, void*,
                                            unsigned) {
  return finish(core().load_image(image), library);
}
PTXBENCH_API_EXPORT int cudaLibraryLoadFromFile(void** library, const char* path, void*, void*, unsigned, void*, void*,
                                                unsigned) {
  return finish(core().load_file(path), library);
}
PTXBENCH_API_EXPORT int cudaLibraryUnload(void* library) { return finish(core().unload(library)); }
PTXBENCH_API_EXPORT int cudaLibraryGetKernel(void** kernel, void* library, const char* name) {
  if (kernel == nullptr || name == nullptr) return finish(Code::kInvalidValue);
  Answer<Module*> module = core().module_of(library);
  if (!module) return finish(module);
  Answer<Kernel*> found = core().kernel_named(*module, name);
  if (!found && found.error().code == Code::kInvalidDeviceFunction) return finish(Code::kSymbolNotFound);
  return finish(found, kernel);
}
PTXBENCH_API_EXPORT int cudaLibraryGetGlobal(void** address, std::size_t* bytes, void* library, const char* name) {
  if (name == nullptr) return finish(Code::kInvalidValue);
  Answer<Module*> module = core().module_of(library);
  if (!module) return finish(module);
  auto global = core().global_named(*module, name);
  if (!global) return finish(global.error().code == Code::kInvalidSymbol ? Code::kSymbolNotFound : global.error().code);
  if (address != nullptr) *address = reinterpret_cast<void*>(global->address);
  if (bytes != nullptr) *bytes = global->bytes;
  return 0;
}
