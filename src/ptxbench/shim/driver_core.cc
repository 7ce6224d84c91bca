// The process's Core, and driver functions by name.
#include <dlfcn.h>

#include <cstring>
#include <string>

#include "ptxbench/shim/core.h"
#include "ptxbench/shim/driver_entry.h"
#include "ptxbench/shim/refused.h"
#include "ptxbench/shim/shared_core.h"

namespace ptxbench::shim {

// Never destroyed: code that runs at exit may still call the API.
Core& core() {
  static Core* instance = new Core;
  return *instance;
}

int refused(const char* api) {
  if (std::strcmp(api, "cuGetExportTable") == 0) {
    return static_cast<int>(
        core().refuse(api, "the program is linked with the static CUDA runtime; link it with -cudart shared").code);
  }
  return static_cast<int>(core().refuse(api, "not supported by ptxbench's CUDA driver").code);
}

namespace {

#define PTXBENCH_API(name) #name,
constexpr const char* kNames[] = {
#include "ptxbench/shim/cuda_names.def"
};
#undef PTXBENCH_API

bool exported(const std::string& name) {
  for (const char* known : kNames) {
    if (name == known) return true;
  }
  return false;
}

}  // namespace

void* driver_entry(const char* name) {
  // The unversioned names are old signatures; headers map them to the newest.
  std::string found = name;
  if (!exported(found)) return nullptr;
  for (const char* suffix : {"_v2", "_v3", "_v4"}) {
    if (exported(name + std::string(suffix))) found = name + std::string(suffix);
  }
  static void* self = [] {
    Dl_info info;
    return ::dladdr(reinterpret_cast<void*>(&ptxbench_shim_core), &info) != 0
               ? ::dlopen(info.dli_fname, RTLD_LAZY | RTLD_NOLOAD)
               : nullptr;
  }();
  return self == nullptr ? nullptr : ::dlsym(self, found.c_str());
}

}  // namespace ptxbench::shim

PTXBENCH_API_EXPORT ptxbench::shim::Core* ptxbench_shim_core() { return &ptxbench::shim::core(); }
PTXBENCH_API_EXPORT void* ptxbench_shim_driver_entry(const char* name) { return ptxbench::shim::driver_entry(name); }
