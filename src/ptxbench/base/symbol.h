// Names of symbols as their author wrote them.
#pragma once

#include <string>

namespace ptxbench {

// "gemm_kernel(int)" for the Itanium ABI's "_Z11gemm_kerneli"; what is no mangled name comes back as it is.
std::string demangle(const std::string& name);

}  // namespace ptxbench
