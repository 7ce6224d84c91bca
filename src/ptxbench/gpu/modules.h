// Loaded images and their kernels.
#pragma once

#include <map>
#include <span>
#include <string>
#include <unordered_map>

#include "ptxbench/gpu/launch.h"

namespace ptxbench::gpu {

struct Kernel {
  CUkernel handle = nullptr;
  wire::KernelInfo info;
  // The driver takes a kernel wherever it takes a function of the current context.
  CUfunction function() const { return reinterpret_cast<CUfunction>(handle); }
};

class Modules {
 public:
  explicit Modules(Context& context) : context_(context) {}

  // A fat binary container, a cubin or PTX text (compiled by the driver; its log is in the failure).
  wire::Answer<std::uint32_t> load(std::span<const std::byte> image);
  void unload(std::uint32_t module);
  // Stays valid until its module is unloaded.
  wire::Answer<const Kernel*> kernel(std::uint32_t module, std::string_view name);
  wire::Answer<wire::GlobalInfo> global(std::uint32_t module, std::string_view name);

 private:
  struct Module {
    CUlibrary library = nullptr;
    std::map<std::string, Kernel, std::less<>> kernels;
  };
  wire::Answer<Module*> find(std::uint32_t module);

  Context& context_;
  std::unordered_map<std::uint32_t, Module> modules_;
  std::uint32_t next_ = 1;
};

}  // namespace ptxbench::gpu
