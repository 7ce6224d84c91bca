// nvcc and ptxas for the tests, which may not use the toolchain layer.
#pragma once

#include <cstdlib>
#include <filesystem>
#include <string>

namespace ptxbench::ptx {

// A program that starts, or "": of $PATH, of what scripts/setup fetched, or of the usual folder.
inline std::string find_tool(const std::string& name) {
  for (const std::string& candidate :
       {name, PTXBENCH_SOURCE_DIR "/.toolchain/cuda/bin/" + name, "/usr/local/cuda/bin/" + name})
    if (std::system((candidate + " --version >/dev/null 2>&1").c_str()) == 0) return candidate;
  return {};
}

}  // namespace ptxbench::ptx
