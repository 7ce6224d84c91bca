// What a candidate may not contain. The binary decides: a name in the source is a hint that tells where, and macros or
// encodings hide it; the sandbox stands behind both.
#pragma once

#include <filesystem>
#include <string>
#include <string_view>
#include <vector>

#include "ptxbench/base/result.h"
#include "ptxbench/base/sandbox.h"

namespace ptxbench::toolchain {

enum class PolicyRule {
  kVendorLibrary,    // cuBLAS, cuDNN, cuFFT ...: their headers, calls or libraries
  kRuntimeCompiler,  // NVRTC, nvJitLink, loading modules from memory or files
  kDynamicLoading,   // dlopen, dlsym
  kProcess,          // fork, exec, system, popen, ptrace
  kThread,
  kNetwork,
  kDirectSystemCall,   // syscall(), the syscall instruction
  kForeignDeviceCode,  // device code that is not from this compilation
  kForeignLibrary,     // linked against a library outside the allowed set
};
std::string_view to_string(PolicyRule rule);  // "vendor_library" ...

struct PolicyFinding {
  PolicyRule rule;
  std::string what;   // "calls dlopen"
  std::string where;  // "gemm.cu:12" or "kernel.so"
  std::string hint;   // what to do
};

// Before the compiler runs: #include lines of vendor libraries and runtime compilers, which would only end in a
// confusing compile error. Comments and strings do not count.
std::vector<PolicyFinding> check_source(std::string_view source, const std::string& name);

// After it: what the library at `path` imports, needs and embeds. `fatbins`: the containers of this compilation,
// whose bytes must be the only device code in it. `source` tells where a forbidden call stands.
Result<std::vector<PolicyFinding>> check_library(const std::filesystem::path& path,
                                                 const std::vector<std::string>& fatbins, std::string_view source,
                                                 const std::string& name, SandboxMode mode);

// The finding for a call that the sandbox stopped at run time (Exit::violation_call and Exit::detail), so that it reads
// like the others.
PolicyFinding finding_for_system_call(const std::string& call, const std::string& detail);

}  // namespace ptxbench::toolchain
