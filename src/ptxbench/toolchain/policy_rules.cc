#include "ptxbench/toolchain/policy_rules.h"

namespace ptxbench::toolchain {

namespace {

struct Named {
  std::string_view name;  // with a '*' at the end: every name that begins so
  PolicyRule rule;
};

constexpr Named kSymbols[] = {
    {"cublas*", PolicyRule::kVendorLibrary},
    {"cudnn*", PolicyRule::kVendorLibrary},
    {"cufft*", PolicyRule::kVendorLibrary},
    {"curand*", PolicyRule::kVendorLibrary},
    {"cusparse*", PolicyRule::kVendorLibrary},
    {"cusolver*", PolicyRule::kVendorLibrary},
    {"cutensor*", PolicyRule::kVendorLibrary},
    {"nccl*", PolicyRule::kVendorLibrary},
    {"nvblas*", PolicyRule::kVendorLibrary},
    {"npp*", PolicyRule::kVendorLibrary},
    {"nvshmem*", PolicyRule::kVendorLibrary},
    {"nvrtc*", PolicyRule::kRuntimeCompiler},
    {"nvJitLink*", PolicyRule::kRuntimeCompiler},
    {"__nvJitLink*", PolicyRule::kRuntimeCompiler},
    {"nvPTXCompiler*", PolicyRule::kRuntimeCompiler},
    {"nvvm*", PolicyRule::kRuntimeCompiler},
    {"cuModule*", PolicyRule::kRuntimeCompiler},
    {"cuLibrary*", PolicyRule::kRuntimeCompiler},
    {"cuLink*", PolicyRule::kRuntimeCompiler},
    {"cudaLibrary*", PolicyRule::kRuntimeCompiler},
    {"dlopen", PolicyRule::kDynamicLoading},
    {"dlmopen", PolicyRule::kDynamicLoading},
    {"dlsym", PolicyRule::kDynamicLoading},
    {"dlvsym", PolicyRule::kDynamicLoading},
    {"dl_iterate_phdr", PolicyRule::kDynamicLoading},
    {"fork", PolicyRule::kProcess},
    {"vfork", PolicyRule::kProcess},
    {"_Fork", PolicyRule::kProcess},
    {"clone", PolicyRule::kProcess},
    {"system", PolicyRule::kProcess},
    {"popen", PolicyRule::kProcess},
    {"posix_spawn*", PolicyRule::kProcess},
    {"execv*", PolicyRule::kProcess},
    {"execl*", PolicyRule::kProcess},
    {"fexecve", PolicyRule::kProcess},
    {"ptrace", PolicyRule::kProcess},
    {"process_vm_*", PolicyRule::kProcess},
    {"daemon", PolicyRule::kProcess},
    {"wordexp", PolicyRule::kProcess},
    {"kill", PolicyRule::kProcess},
    {"pthread_create", PolicyRule::kThread},
    {"thrd_create", PolicyRule::kThread},
    {"_ZNSt6thread15_M_start_thread*", PolicyRule::kThread},
    {"GOMP_parallel*", PolicyRule::kThread},
    {"timer_create", PolicyRule::kThread},
    {"socket", PolicyRule::kNetwork},
    {"socketpair", PolicyRule::kNetwork},
    {"connect", PolicyRule::kNetwork},
    {"getaddrinfo", PolicyRule::kNetwork},
    {"gethostbyname*", PolicyRule::kNetwork},
    {"syscall", PolicyRule::kDirectSystemCall},
    {"io_uring*", PolicyRule::kDirectSystemCall},
};

constexpr Named kHeaders[] = {
    {"cublas*", PolicyRule::kVendorLibrary},      {"cudnn*", PolicyRule::kVendorLibrary},
    {"cufft*", PolicyRule::kVendorLibrary},       {"curand*", PolicyRule::kVendorLibrary},
    {"cusparse*", PolicyRule::kVendorLibrary},    {"cusolver*", PolicyRule::kVendorLibrary},
    {"cutensor*", PolicyRule::kVendorLibrary},    {"nccl*", PolicyRule::kVendorLibrary},
    {"nvblas*", PolicyRule::kVendorLibrary},      {"npp*", PolicyRule::kVendorLibrary},
    {"nvshmem*", PolicyRule::kVendorLibrary},     {"cutlass/*", PolicyRule::kVendorLibrary},
    {"cute/*", PolicyRule::kVendorLibrary},       {"torch/*", PolicyRule::kVendorLibrary},
    {"ATen/*", PolicyRule::kVendorLibrary},       {"nvrtc*", PolicyRule::kRuntimeCompiler},
    {"nvJitLink*", PolicyRule::kRuntimeCompiler}, {"nvPTXCompiler*", PolicyRule::kRuntimeCompiler},
    {"nvvm.h", PolicyRule::kRuntimeCompiler},
};

constexpr std::string_view kLibraries[] = {"libcudart.so.*", "libcuda.so.1", "libstdc++.so.6",       "libm.so.6",
                                           "libgcc_s.so.1",  "libc.so.6",    "ld-linux-x86-64.so.2", "libpthread.so.0",
                                           "libdl.so.2",     "librt.so.1"};

bool matches(std::string_view pattern, std::string_view name) {
  if (pattern.ends_with('*')) return name.starts_with(pattern.substr(0, pattern.size() - 1));
  return pattern == name;
}

template <std::size_t N>
std::optional<PolicyRule> find(const Named (&list)[N], std::string_view name) {
  for (const Named& entry : list)
    if (matches(entry.name, name)) return entry.rule;
  return std::nullopt;
}

}  // namespace

std::optional<PolicyRule> rule_for_symbol(std::string_view symbol) { return find(kSymbols, symbol); }
std::optional<PolicyRule> rule_for_header(std::string_view header) { return find(kHeaders, header); }

bool library_allowed(std::string_view soname) {
  for (std::string_view pattern : kLibraries)
    if (matches(pattern, soname)) return true;
  return false;
}

std::string_view readable_symbol(std::string_view symbol) {
  if (symbol.starts_with("_ZNSt6thread")) return "std::thread";
  return symbol;
}

std::string_view to_string(PolicyRule rule) {
  switch (rule) {
    case PolicyRule::kVendorLibrary: return "vendor_library";
    case PolicyRule::kRuntimeCompiler: return "runtime_compiler";
    case PolicyRule::kDynamicLoading: return "dynamic_loading";
    case PolicyRule::kProcess: return "process";
    case PolicyRule::kThread: return "thread";
    case PolicyRule::kNetwork: return "network";
    case PolicyRule::kDirectSystemCall: return "direct_system_call";
    case PolicyRule::kForeignDeviceCode: return "foreign_device_code";
    case PolicyRule::kForeignLibrary: return "foreign_library";
  }
  return "unknown";
}

std::string_view hint_for(PolicyRule rule) {
  switch (rule) {
    case PolicyRule::kVendorLibrary:
      return "write the kernel yourself; vendor libraries are what it is measured against";
    case PolicyRule::kRuntimeCompiler:
      return "compile all device code with the file; nothing may be compiled or loaded at run time";
    case PolicyRule::kDynamicLoading:
      return "call the CUDA functions directly; cudaGetDriverEntryPoint finds cuTensorMapEncodeTiled";
    case PolicyRule::kProcess: return "run() may not start or touch other processes; launch kernels instead";
    case PolicyRule::kThread: return "run() may not start threads; use streams if work should overlap";
    case PolicyRule::kNetwork: return "remove it; a candidate has no network";
    case PolicyRule::kDirectSystemCall: return "remove it; host code needs no system call of its own";
    case PolicyRule::kForeignDeviceCode: return "keep all device code as CUDA source in the file";
    case PolicyRule::kForeignLibrary: return "remove the dependency; only the CUDA, C and C++ runtimes are there";
  }
  return "";
}

}  // namespace ptxbench::toolchain
