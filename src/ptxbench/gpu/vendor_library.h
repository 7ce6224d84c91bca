// Opens NVIDIA's libraries where this machine has them. ptxbench is linked with none of them, so that the same programs
// start on machines without a GPU.
#pragma once

#include <filesystem>
#include <string>
#include <vector>

#include "ptxbench/base/result.h"

namespace ptxbench::gpu {

// An opened library. It stays loaded until the process ends: vendor libraries keep threads and exit handlers.
class VendorLibrary {
 public:
  // By soname ("libcublasLt.so.13"). kUnavailable says where it was looked for.
  static Result<VendorLibrary> open(const std::string& soname);

  // nullptr if the library has no such symbol.
  void* symbol(const char* name) const;
  // Binds `function` to the symbol of that name; kUnavailable names library and symbol.
  template <class F>
  Status bind(F*& function, const char* name) const {
    PTXBENCH_TRY(void* const address, require(name));
    function = reinterpret_cast<F*>(address);
    return {};
  }

  void* handle() const { return handle_; }
  const std::filesystem::path& path() const { return path_; }  // the file that the loader took

 private:
  VendorLibrary(void* handle, std::string soname);
  Result<void*> require(const char* name) const;

  void* handle_;
  std::string soname_;
  std::filesystem::path path_;
};

// Where open() looks after the loader's own path (LD_LIBRARY_PATH, ld.so.cache): $PTXBENCH_NVIDIA_LIBRARIES comes first of
// all; then the toolkits of $CUDA_HOME, $CUDA_PATH and /usr/local/cuda; then NVIDIA's pip packages beside the python3 that
// $VIRTUAL_ENV or PATH names.
std::vector<std::filesystem::path> vendor_library_folders();

}  // namespace ptxbench::gpu
