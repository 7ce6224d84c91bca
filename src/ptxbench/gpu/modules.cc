#include "ptxbench/gpu/modules.h"

#include <fmt/format.h>

namespace ptxbench::gpu {

using wire::Answer;
using wire::Code;

Answer<std::uint32_t> Modules::load(std::span<const std::byte> image) {
  if (auto ok = context_.usable(); !ok) return tl::unexpected(ok.error());
  // PTX text has to end with a zero; it does no harm behind anything else.
  std::string bytes(reinterpret_cast<const char*>(image.data()), image.size());
  std::string log(8192, '\0');
  CUjit_option options[] = {CU_JIT_ERROR_LOG_BUFFER, CU_JIT_ERROR_LOG_BUFFER_SIZE_BYTES};
  void* values[] = {log.data(), reinterpret_cast<void*>(log.size())};
  Module module;
  const CUresult r =
      context_.driver().library_load(&module.library, bytes.data(), options, values, 2, nullptr, nullptr, 0);
  if (r != CUDA_SUCCESS) {
    tl::unexpected<wire::Failure> failed = context_.failure(r, "cuLibraryLoadData");
    log.resize(log.find('\0') == std::string::npos ? log.size() : log.find('\0'));
    if (!log.empty()) failed.value().message += "\n" + log;
    return failed;
  }
  modules_[next_] = std::move(module);
  return next_++;
}

void Modules::unload(std::uint32_t module) {
  const auto found = modules_.find(module);
  if (found == modules_.end()) return;
  if (context_.usable()) context_.driver().library_unload(found->second.library);
  modules_.erase(found);
}

Answer<Modules::Module*> Modules::find(std::uint32_t module) {
  if (auto ok = context_.usable(); !ok) return tl::unexpected(ok.error());
  const auto found = modules_.find(module);
  if (found == modules_.end()) return wire::refuse(Code::kInvalidResourceHandle, fmt::format("no module {}", module));
  return &found->second;
}

Answer<const Kernel*> Modules::kernel(std::uint32_t module, std::string_view name) {
  Answer<Module*> in = find(module);
  if (!in) return tl::unexpected(in.error());
  if (const auto known = (*in)->kernels.find(name); known != (*in)->kernels.end()) return &known->second;
  Kernel kernel;
  const std::string text(name);
  const CUresult r = context_.driver().library_kernel(&kernel.handle, (*in)->library, text.c_str());
  if (r == CUDA_ERROR_NOT_FOUND) {
    return wire::refuse(Code::kInvalidDeviceFunction, fmt::format("the module has no kernel '{}'", name));
  }
  if (r != CUDA_SUCCESS) return context_.failure(r, fmt::format("cuLibraryGetKernel of '{}'", name));
  Answer<wire::KernelInfo> info = describe_kernel(context_, kernel.handle, name);
  if (!info) return tl::unexpected(info.error());
  kernel.info = std::move(*info);
  return &(*in)->kernels.emplace(text, std::move(kernel)).first->second;
}

Answer<wire::GlobalInfo> Modules::global(std::uint32_t module, std::string_view name) {
  Answer<Module*> in = find(module);
  if (!in) return tl::unexpected(in.error());
  CUdeviceptr address = 0;
  std::size_t bytes = 0;
  const CUresult r = context_.driver().library_global(&address, &bytes, (*in)->library, std::string(name).c_str());
  if (r == CUDA_ERROR_NOT_FOUND) {
    return wire::refuse(Code::kInvalidSymbol, fmt::format("the module has no variable '{}'", name));
  }
  if (r != CUDA_SUCCESS) return context_.failure(r, fmt::format("cuLibraryGetGlobal of '{}'", name));
  return wire::GlobalInfo{address, bytes, false};  // the driver does not tell constant memory apart
}

}  // namespace ptxbench::gpu
