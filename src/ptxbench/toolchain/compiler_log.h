// Reads what nvcc, the host compiler and ptxas print.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "ptxbench/schema/artifact.h"
#include "ptxbench/toolchain/build.h"

namespace ptxbench::toolchain {

// Errors and warnings with their places. ptxas names lines of the PTX file: with its text (may be empty) they become
// lines of the source, through the nearest .loc before.
std::vector<Diagnostic> parse_diagnostics(std::string_view log, std::string_view ptx);

// The figures of --ptxas-options=-v, one per kernel, in the log's order.
std::vector<schema::KernelResources> parse_kernel_resources(std::string_view log);

// The author's view of the log: the marker path is removed, ptxas's figures are left out, at most max_bytes.
std::string tidy_log(std::string_view log, std::uint64_t max_bytes);

// The folder that #line puts before the author's file name, so that no path of this machine gets into the build.
inline constexpr std::string_view kMarkerFolder = "/candidate/";

}  // namespace ptxbench::toolchain
