// One task in full.
#pragma once

#include <string>

namespace ptxbench::cli {

// Prints shapes, reference and workloads; the command's exit code.
int show_task(const std::string& name);

}  // namespace ptxbench::cli
