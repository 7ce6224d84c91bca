// Runtime API: registration of device code by nvcc's constructors, and launches.
#include <vector>

#include <cstring>

#include "ptxbench/shim/runtime.h"

using namespace ptxbench::shim;

namespace {

struct CallConfiguration {
  ApiDim3 grid, block;
  std::size_t shared;
  void* stream;
};
thread_local std::vector<CallConfiguration> configurations;  // a kernel's arguments may launch kernels themselves

ptxbench::wire::LaunchGeometry geometry_of(ApiDim3 grid, ApiDim3 block, std::size_t shared) {
  ptxbench::wire::LaunchGeometry geometry;
  geometry.grid = {grid.x, grid.y, grid.z};
  geometry.block = {block.x, block.y, block.z};
  geometry.dynamic_shared = static_cast<std::uint32_t>(shared > UINT32_MAX ? UINT32_MAX : shared);
  return geometry;
}

int launch(const void* function, const ptxbench::wire::LaunchGeometry& geometry, void** args, void* stream) {
  Answer<Kernel*> kernel = core().kernel_of(function);
  if (!kernel) return finish(kernel);
  return finish(core().launch(*kernel, geometry, args, nullptr, 0, stream));
}

}  // namespace

// The handle is the Module. nvcc passes it back to the other registration calls only.
PTXBENCH_API_EXPORT void** __cudaRegisterFatBinary(void* wrapper) {
  const auto& fatbin = *static_cast<const ApiFatbinWrapper*>(wrapper);
  std::uint16_t header = 0;
  std::uint64_t entries = 0;
  if (fatbin.data != nullptr) {
    std::memcpy(&header, static_cast<const char*>(fatbin.data) + 6, sizeof header);
    std::memcpy(&entries, static_cast<const char*>(fatbin.data) + 8, sizeof entries);
  }
  Module* module = core().add_module(fatbin.data, header + entries);
  if (fatbin.magic != 0x466243B1 || fatbin.version != 1 || fatbin.data == nullptr) {
    module->failure = ptxbench::wire::Failure{
        Code::kNotSupported, "relocatable device code (-rdc=true): compile without it", "__cudaRegisterFatBinary"};
  }
  return reinterpret_cast<void**>(module);
}
PTXBENCH_API_EXPORT void __cudaRegisterFatBinaryEnd(void**) {}
// At exit; the device process drops everything with the connection.
PTXBENCH_API_EXPORT void __cudaUnregisterFatBinary(void**) {}

PTXBENCH_API_EXPORT void __cudaRegisterFunction(void** module, const char* stub, char*, const char* name, int, void*,
                                                void*, void*, void*, int*) {
  core().add_kernel(stub, reinterpret_cast<Module*>(module), name);
}
PTXBENCH_API_EXPORT void __cudaRegisterVar(void** module, char* host, char*, const char* name, int, std::size_t bytes,
                                           int, int) {
  core().add_variable(host, reinterpret_cast<Module*>(module), name, bytes);
}
PTXBENCH_API_EXPORT void __cudaRegisterManagedVar(void** handle, void**, char*, const char* name, int, std::size_t, int,
                                                  int) {
  const auto module = reinterpret_cast<Module*>(handle);
  module->failure =
      core().refuse("__managed__", std::string("variable '") + name + "': managed memory is not supported");
}
PTXBENCH_API_EXPORT char __cudaInitModule(void**) { return 1; }

PTXBENCH_API_EXPORT unsigned __cudaPushCallConfiguration(ApiDim3 grid, ApiDim3 block, std::size_t shared,
                                                         void* stream) {
  configurations.push_back({grid, block, shared, stream});
  return 0;
}
PTXBENCH_API_EXPORT int __cudaPopCallConfiguration(ApiDim3* grid, ApiDim3* block, std::size_t* shared, void* stream) {
  if (configurations.empty()) return finish(Code::kInvalidConfiguration);
  const CallConfiguration& top = configurations.back();
  *grid = top.grid;
  *block = top.block;
  *shared = top.shared;
  *static_cast<void**>(stream) = top.stream;
  configurations.pop_back();
  return 0;
}

PTXBENCH_API_EXPORT int __cudaGetKernel(void** handle, const void* stub) {
  Answer<Kernel*> kernel = core().kernel_of(stub);
  if (kernel) *handle = *kernel;
  return finish(kernel);
}
PTXBENCH_API_EXPORT int __cudaLaunchKernel(void* kernel, ApiDim3 grid, ApiDim3 block, void** args, std::size_t shared,
                                           void* stream) {
  return launch(kernel, geometry_of(grid, block, shared), args, stream);
}
PTXBENCH_API_ALIAS(__cudaLaunchKernel_ptsz, __cudaLaunchKernel);

PTXBENCH_API_EXPORT int cudaGetKernel(void** handle, const void* stub) { return __cudaGetKernel(handle, stub); }
PTXBENCH_API_EXPORT int cudaGetFuncBySymbol(void** handle, const void* stub) { return __cudaGetKernel(handle, stub); }

PTXBENCH_API_EXPORT int cudaLaunchKernel(const void* function, ApiDim3 grid, ApiDim3 block, void** args,
                                         std::size_t shared, void* stream) {
  return launch(function, geometry_of(grid, block, shared), args, stream);
}
PTXBENCH_API_ALIAS(cudaLaunchKernel_ptsz, cudaLaunchKernel);

PTXBENCH_API_EXPORT int cudaLaunchCooperativeKernel(const void* function, ApiDim3 grid, ApiDim3 block, void** args,
                                                    std::size_t shared, void* stream) {
  ptxbench::wire::LaunchGeometry geometry = geometry_of(grid, block, shared);
  geometry.cooperative = true;
  return launch(function, geometry, args, stream);
}
PTXBENCH_API_ALIAS(cudaLaunchCooperativeKernel_ptsz, cudaLaunchCooperativeKernel);

PTXBENCH_API_EXPORT int cudaLaunchKernelExC(const ApiLaunchConfig* config, const void* function, void** args) {
  if (config == nullptr) return finish(Code::kInvalidValue);
  ptxbench::wire::LaunchGeometry geometry = geometry_of(config->grid, config->block, config->dynamic_shared);
  if (Answer<void> ok = core().apply(config->attributes, config->attribute_count, geometry); !ok) return finish(ok);
  return launch(function, geometry, args, config->stream);
}
PTXBENCH_API_ALIAS(cudaLaunchKernelExC_ptsz, cudaLaunchKernelExC);

// Streams run in order and at once, so the function's turn is now.
PTXBENCH_API_EXPORT int cudaLaunchHostFunc(void* stream, void (*function)(void*), void* data) {
  Answer<std::uint32_t> id = core().stream_id(stream);
  if (!id) return finish(id);
  if (function == nullptr) return finish(Code::kInvalidValue);
  function(data);
  return 0;
}
PTXBENCH_API_ALIAS(cudaLaunchHostFunc_ptsz, cudaLaunchHostFunc);

PTXBENCH_API_EXPORT int cudaStreamAddCallback(void* stream, void (*function)(void*, int, void*), void* data, unsigned) {
  Answer<std::uint32_t> id = core().stream_id(stream);
  if (!id) return finish(id);
  if (function == nullptr) return finish(Code::kInvalidValue);
  function(stream, 0, data);
  return 0;
}
PTXBENCH_API_ALIAS(cudaStreamAddCallback_ptsz, cudaStreamAddCallback);
