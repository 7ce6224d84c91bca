// NVIDIA's libraries are opened at run time and never linked: one build runs with and without a GPU.
#pragma once

#include <filesystem>
#include <string>
#include <string_view>
#include <vector>

#include "ptxbench/base/result.h"

namespace ptxbench::gpu {

// A shared library that stays open until the process ends (the driver and CUPTI do not survive being closed).
class Library {
 public:
  // By name as the dynamic linker finds it (LD_LIBRARY_PATH, system folders), then in nvidia_library_folders(). `names`
  // are tried in order, e.g. {"libcupti.so.13", "libcupti.so.12"}; `wheel` as there. kNotFound names what was tried;
  // `how_to_get` becomes its hint.
  static Result<Library> open(const std::vector<std::string>& names, std::string_view wheel,
                              std::string_view how_to_get);

  // nullptr if the library has no such symbol.
  void* symbol(const char* name) const;
  // The file that was opened.
  std::filesystem::path path() const;

 private:
  Library(void* handle, std::string name) : handle_(handle), name_(std::move(name)) {}
  void* handle_;
  std::string name_;
};

// Where NVIDIA's libraries lie: lib folders of the toolkits (CUDA_HOME, CUDA_PATH, /usr/local/cuda, /usr/local/cuda-*,
// .../extras/CUPTI/lib64) and of the Python packages nvidia/<wheel>/lib and nvidia/cu13/lib of the python3 on PATH.
// Existing folders only. `wheel`: "cuda_cupti", "cudnn", "cublas", or empty for the toolkits alone.
std::vector<std::filesystem::path> nvidia_library_folders(std::string_view wheel);

}  // namespace ptxbench::gpu
