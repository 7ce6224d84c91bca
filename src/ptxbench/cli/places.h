// Where the programs, the shim and the suites are, relative to this program: a build tree or an installed tree.
#pragma once

#include <filesystem>

#include "ptxbench/base/result.h"

namespace ptxbench::cli {

struct Places {
  std::filesystem::path host_program;        // ptxbench-host
  std::filesystem::path device_emu_program;  // ptxbench-device-emu
  std::filesystem::path shim_folder;         // holds libcudart.so.13 and libcuda.so.1
  std::filesystem::path suites;              // definitions/ and workloads/
};

// kUnavailable names the first piece that is missing. PTXBENCH_SUITES replaces the suites folder.
Result<Places> find_places();

}  // namespace ptxbench::cli
