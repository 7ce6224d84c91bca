// Core: modules, kernels, variables, launches.
#include <elf.h>

#include <cstdio>
#include <cstring>

#include "ptxbench/shim/core.h"

namespace ptxbench::shim {
namespace {

constexpr std::uint32_t kFatbinMagic = 0xBA55ED50;
constexpr std::uint32_t kWrapperMagic = 0x466243B1;

tl::unexpected<wire::Failure> fail(Code code, std::string message) { return wire::refuse(code, std::move(message)); }

// The size of an image that the API passes without one. It lies in this program's own memory, so what it says of
// itself is as good as the pointer; the device checks every byte again.
std::uint64_t image_bytes(const void* image) {
  std::uint32_t magic = 0;
  std::memcpy(&magic, image, sizeof magic);
  const char* bytes = static_cast<const char*>(image);
  if (magic == kFatbinMagic) {
    std::uint16_t header = 0;
    std::uint64_t entries = 0;
    std::memcpy(&header, bytes + 6, sizeof header);
    std::memcpy(&entries, bytes + 8, sizeof entries);
    return header + entries;
  }
  if (std::memcmp(bytes, ELFMAG, SELFMAG) == 0) {
    Elf64_Ehdr header;
    std::memcpy(&header, bytes, sizeof header);
    return std::max(header.e_shoff + std::uint64_t{header.e_shnum} * header.e_shentsize,
                    header.e_phoff + std::uint64_t{header.e_phnum} * header.e_phentsize);
  }
  return std::strlen(bytes);
}

}  // namespace

Module* Core::add_module(const void* image, std::uint64_t bytes) {
  std::lock_guard lock(mutex_);
  modules_.push_back(std::make_unique<Module>());
  modules_.back()->image = image;
  modules_.back()->bytes = bytes;
  return modules_.back().get();
}

Answer<Module*> Core::load_image(const void* image) {
  if (image == nullptr) return fail(Code::kInvalidValue, "no module image");
  std::uint32_t magic = 0;
  std::memcpy(&magic, image, sizeof magic);
  if (magic == kWrapperMagic) image = static_cast<const ApiFatbinWrapper*>(image)->data;
  Module* module = add_module(image, image_bytes(image));
  Answer<std::uint32_t> handle = load(module);
  if (!handle) {
    static_cast<void>(unload(module));
    return tl::unexpected(handle.error());
  }
  return module;
}

Answer<Module*> Core::load_file(const char* path) {
  std::FILE* file = path == nullptr ? nullptr : std::fopen(path, "rb");
  if (file == nullptr) return fail(static_cast<Code>(301), "the module file cannot be opened");  // file not found
  std::string bytes;
  char buffer[65536];
  for (std::size_t got; (got = std::fread(buffer, 1, sizeof buffer, file)) > 0;) bytes.append(buffer, got);
  std::fclose(file);
  Module* module = add_module(nullptr, 0);
  module->owned = std::move(bytes);
  module->image = module->owned.data();
  module->bytes = module->owned.size();
  Answer<std::uint32_t> handle = load(module);
  if (!handle) return tl::unexpected(handle.error());
  return module;
}

Answer<Module*> Core::module_of(const void* handle) {
  std::lock_guard lock(mutex_);
  for (const auto& module : modules_) {
    if (module.get() == handle) return module.get();
  }
  return fail(Code::kInvalidResourceHandle, "not a module of this program");
}

Answer<void> Core::unload(void* handle) {
  std::lock_guard lock(mutex_);
  Answer<Module*> module = module_of(handle);
  if (!module) return tl::unexpected(module.error());
  Answer<wire::Empty> done = wire::Empty{};
  if ((*module)->handle) done = call(wire::UnloadModule{*(*module)->handle});
  std::erase_if(kernels_by_name_, [&](const auto& item) { return item.first.first == *module; });
  std::erase_if(stubs_, [&](const auto& item) { return item.second->module == *module; });
  std::erase_if(variables_, [&](const auto& item) { return item.second.module == *module; });
  std::erase_if(kernels_, [&](const auto& item) { return item.second->module == *module; });
  std::erase_if(modules_, [&](const auto& item) { return item.get() == handle; });
  if (!done) return tl::unexpected(done.error());
  return {};
}

Answer<std::uint32_t> Core::load(Module* module) {
  std::lock_guard lock(mutex_);
  if (module->handle) return *module->handle;
  if (module->failure) return tl::unexpected(*module->failure);
  auto loaded = call(wire::LoadModule{module->bytes}, {static_cast<const std::byte*>(module->image), module->bytes});
  if (!loaded) {
    module->failure = loaded.error();
    return tl::unexpected(loaded.error());
  }
  module->handle = loaded->handle;
  return loaded->handle;
}

void Core::add_kernel(const void* stub, Module* module, const char* name) {
  std::lock_guard lock(mutex_);
  auto kernel = std::make_unique<Kernel>();
  kernel->module = module;
  kernel->name = name;
  stubs_[stub] = kernel.get();
  kernels_by_name_[{module, name}] = kernel.get();
  const void* handle = kernel.get();
  kernels_[handle] = std::move(kernel);
}

void Core::add_variable(const void* host_address, Module* module, const char* name, std::uint64_t bytes) {
  std::lock_guard lock(mutex_);
  variables_[host_address] = {module, name, bytes};
}

Answer<Kernel*> Core::kernel_named(Module* module, const std::string& name) {
  std::lock_guard lock(mutex_);
  const auto known = kernels_by_name_.find({module, name});
  if (known != kernels_by_name_.end()) return known->second;
  auto kernel = std::make_unique<Kernel>();
  kernel->module = module;
  kernel->name = name;
  Answer<const wire::KernelReply*> reply = load(kernel.get());
  if (!reply) return tl::unexpected(reply.error());
  Kernel* handle = kernel.get();
  kernels_by_name_[{module, name}] = handle;
  kernels_[handle] = std::move(kernel);
  return handle;
}

Answer<Kernel*> Core::kernel_of(const void* stub_or_handle) {
  std::lock_guard lock(mutex_);
  if (const auto stub = stubs_.find(stub_or_handle); stub != stubs_.end()) return stub->second;
  if (const auto handle = kernels_.find(stub_or_handle); handle != kernels_.end()) return handle->second.get();
  if (stub_or_handle == nullptr) return fail(Code::kInvalidDeviceFunction, "no kernel was given");
  return fail(Code::kInvalidResourceHandle, "not a kernel of this program");
}

Answer<const wire::KernelReply*> Core::load(Kernel* kernel) {
  std::lock_guard lock(mutex_);
  if (!kernel->reply) {
    Answer<std::uint32_t> module = load(kernel->module);
    if (!module) return tl::unexpected(module.error());
    auto reply = call(wire::GetKernel{*module, kernel->name});
    if (!reply) return tl::unexpected(reply.error());
    kernel->reply = std::move(*reply);
  }
  return &*kernel->reply;
}

Answer<wire::GlobalInfo> Core::global_named(Module* module, const std::string& name) {
  Answer<std::uint32_t> handle = load(module);
  if (!handle) return tl::unexpected(handle.error());
  return call(wire::GetGlobal{*handle, name});
}

Answer<wire::GlobalInfo> Core::symbol(const void* host_address) {
  std::lock_guard lock(mutex_);
  const auto found = variables_.find(host_address);
  if (found == variables_.end()) return fail(Code::kInvalidSymbol, "not a device variable of this program");
  return global_named(found->second.module, found->second.name);
}

Answer<void> Core::set_attribute(Kernel* kernel, int attribute, int value) {
  Answer<const wire::KernelReply*> loaded = load(kernel);
  if (!loaded) return tl::unexpected(loaded.error());
  const auto which = static_cast<wire::KernelAttribute>(attribute);
  if (!wire::in_range(which)) {
    return tl::unexpected(refuse("cudaFuncSetAttribute", "attribute " + std::to_string(attribute)));
  }
  auto done = call(wire::SetKernelAttribute{(*loaded)->kernel, which, value});
  if (!done) return tl::unexpected(done.error());
  std::lock_guard lock(mutex_);
  if (which == wire::KernelAttribute::kMaxDynamicShared) {
    kernel->reply->max_dynamic_shared = static_cast<std::uint32_t>(value);
  }
  return {};
}

Answer<void> Core::launch(Kernel* kernel, const wire::LaunchGeometry& geometry, void* const* args, const void* packed,
                          std::size_t packed_bytes, void* stream) {
  Answer<std::uint32_t> id = stream_id(stream);
  if (!id) return tl::unexpected(id.error());
  Answer<const wire::KernelReply*> loaded = load(kernel);
  if (!loaded) return tl::unexpected(loaded.error());
  const wire::KernelInfo& info = (*loaded)->info;

  wire::Launch launch;
  launch.kernel = (*loaded)->kernel;
  launch.stream = *id;
  launch.geometry = geometry;
  launch.params.resize(info.param_bytes);
  if (packed != nullptr) {
    if (packed_bytes < info.param_bytes) {
      return fail(Code::kInvalidValue, "kernel '" + info.name + "' takes more bytes of parameters than were given");
    }
    std::memcpy(launch.params.data(), packed, info.param_bytes);
  } else {
    if (args == nullptr && !info.params.empty()) {
      return fail(Code::kInvalidValue, "kernel '" + info.name + "' was launched without its arguments");
    }
    for (std::size_t i = 0; i < info.params.size(); ++i) {
      const wire::KernelParam& param = info.params[i];
      if (args[i] == nullptr) return fail(Code::kInvalidValue, "an argument of kernel '" + info.name + "' is null");
      if (param.offset > launch.params.size() || param.size > launch.params.size() - param.offset) {
        return fail(Code::kUnknown, "the device described kernel '" + info.name + "' wrongly");
      }
      std::memcpy(launch.params.data() + param.offset, args[i], param.size);
    }
  }
  auto done = call(launch);
  if (!done) return tl::unexpected(done.error());
  return {};
}

Answer<void> Core::apply(const ApiLaunchAttribute* attributes, unsigned count, wire::LaunchGeometry& geometry) {
  if (count > 0 && attributes == nullptr) return fail(Code::kInvalidValue, "launch attributes are missing");
  for (unsigned i = 0; i < count; ++i) {
    const ApiLaunchAttribute& attribute = attributes[i];
    switch (attribute.id) {
      case 0: break;  // ignore
      case 2: geometry.cooperative = attribute.value.number != 0; break;
      case 4: geometry.cluster = {attribute.value.dims.x, attribute.value.dims.y, attribute.value.dims.z}; break;
      case 6: geometry.programmatic_serialization = attribute.value.number != 0; break;
      // Hints that do not change what a kernel computes: cache window, synchronisation policy, cluster scheduling,
      // priority, memory domains, preferred cluster (the plain cluster stays allowed), carve-out, NVLink scheduling.
      case 1:
      case 3:
      case 5:
      case 8:
      case 9:
      case 10:
      case 11:
      case 14:
      case 16: break;
      default:
        return tl::unexpected(
            refuse("cudaLaunchKernelEx", "launch attribute " + std::to_string(attribute.id) +
                                             " (programmatic events, device-updatable graph nodes and "
                                             "unknown attributes are not supported)"));
    }
  }
  return {};
}

}  // namespace ptxbench::shim
