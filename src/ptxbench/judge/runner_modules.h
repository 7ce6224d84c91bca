// Names of the device code that an artifact's host library carries.
#pragma once

#include <filesystem>
#include <string>
#include <vector>

#include "ptxbench/base/result.h"

namespace ptxbench::judge {

// SHA-256 of each fat binary container in the library's .nv_fatbin section, as the device process computes it for what
// the library registers. A candidate may load these and nothing else.
Result<std::vector<std::string>> module_hashes(const std::filesystem::path& library);

}  // namespace ptxbench::judge
