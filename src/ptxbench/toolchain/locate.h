// Finds the tools and headers that builds need, and knows what each is for and how to get it (for `doctor`).
#pragma once

#include <filesystem>
#include <optional>
#include <string>
#include <vector>

#include "ptxbench/base/result.h"

namespace ptxbench::toolchain {

struct Tool {
  std::string name;      // "nvcc"
  std::string purpose;   // "compiles candidates"
  bool required = true;  // false: something is then reported as not available
  bool found = false;
  std::filesystem::path path;  // the file, or the folder for headers
  std::string version;         // "13.0.88"; empty if unknown
  std::string problem;         // why it was not taken: "version 12.4 is older than 13.0"
  std::string how_to_get;
  std::string without;  // what works without it; for those that are not required
};

// Every tool and header set, found or not, in a fixed order. Looks in $PTXBENCH_TOOLCHAIN and the checkout's .toolchain
// folder, $CUDA_HOME, $CUDA_PATH, PATH and /usr/local/cuda*.
std::vector<Tool> locate_all();

// The pieces of one working CUDA compiler; kUnavailable names what is missing and how to get it.
struct Toolkit {
  std::filesystem::path root;  // has bin/nvcc, include/cuda_runtime.h, nvvm/
  std::filesystem::path nvcc, ptxas, host_compiler;
  std::filesystem::path tvm_ffi_include;   // empty if not installed
  std::filesystem::path ptxbench_include;  // has ptxbench/ffi.h
  std::string version;
};
Result<Toolkit> locate_toolkit();

// What a CUDA tool answers to --version, behind `marker`: ", V" for the compiler's tools, "Version " for ncu and
// compute-sanitizer. An Error says why it has no answer.
Result<std::string> tool_version(const std::filesystem::path& tool, const std::string& marker);

// nvdisasm, if there is one.
std::optional<std::filesystem::path> locate_nvdisasm();

}  // namespace ptxbench::toolchain
