// The names behind the policy's rules, as data.
#pragma once

#include <optional>
#include <string_view>

#include "ptxbench/toolchain/policy.h"

namespace ptxbench::toolchain {

// The rule that forbids importing this symbol (without version), if any.
std::optional<PolicyRule> rule_for_symbol(std::string_view symbol);

// The rule that forbids this header ("cublas_v2.h", "cudnn/..."), if any.
std::optional<PolicyRule> rule_for_header(std::string_view header);

// Whether a candidate may need this library: the two CUDA ones that we replace, the C and C++ runtimes.
bool library_allowed(std::string_view soname);

// A readable name: "cublasGemmEx" stays, "_ZNSt6thread15_M_start_threadE..." becomes "std::thread".
std::string_view readable_symbol(std::string_view symbol);

std::string_view hint_for(PolicyRule rule);

}  // namespace ptxbench::toolchain
