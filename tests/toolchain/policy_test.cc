#include "ptxbench/toolchain/policy.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "ptxbench/toolchain/policy_rules.h"

namespace ptxbench::toolchain {
namespace {

using testing::HasSubstr;

TEST(Policy, HeadersOfVendorLibrariesByLine) {
  const auto findings = check_source("#include <cuda.h>\n  #  include \"cublas_v2.h\"\n#include <nvrtc.h>\n", "a.cu");
  ASSERT_EQ(findings.size(), 2u);
  EXPECT_EQ(findings[0].rule, PolicyRule::kVendorLibrary);
  EXPECT_EQ(findings[0].where, "a.cu:2");
  EXPECT_THAT(findings[0].what, HasSubstr("cublas_v2.h"));
  EXPECT_FALSE(findings[0].hint.empty());
  EXPECT_EQ(findings[1].rule, PolicyRule::kRuntimeCompiler);
  EXPECT_EQ(findings[1].where, "a.cu:3");
}

TEST(Policy, CommentsAndStringsDoNotCount) {
  EXPECT_TRUE(
      check_source(
          "// #include <cublas_v2.h>\n/*\n#include <cudnn.h>\n*/\nconst char* s = R\"(\n#include <nvrtc.h>\n)\";\n",
          "a.cu")
          .empty());
}

TEST(Policy, SymbolsByRule) {
  EXPECT_EQ(rule_for_symbol("cublasGemmEx"), PolicyRule::kVendorLibrary);
  EXPECT_EQ(rule_for_symbol("cudnnCreate"), PolicyRule::kVendorLibrary);
  EXPECT_EQ(rule_for_symbol("nvrtcCompileProgram"), PolicyRule::kRuntimeCompiler);
  EXPECT_EQ(rule_for_symbol("cuModuleLoadData"), PolicyRule::kRuntimeCompiler);
  EXPECT_EQ(rule_for_symbol("dlsym"), PolicyRule::kDynamicLoading);
  EXPECT_EQ(rule_for_symbol("_ZNSt6thread15_M_start_threadESt10unique_ptrINS_6_StateESt14default_deleteIS1_EEPFvvE"),
            PolicyRule::kThread);
  for (const char* fine : {"cudaMalloc", "cuTensorMapEncodeTiled", "__cudaLaunchKernel", "printf", "memcpy", "forkful",
                           "cudaGetDriverEntryPointByVersion"})
    EXPECT_FALSE(rule_for_symbol(fine)) << fine;
}

TEST(Policy, RunTimeCallsReadAlike) {
  EXPECT_EQ(finding_for_system_call("clone", "clone (a new thread)").rule, PolicyRule::kThread);
  EXPECT_EQ(finding_for_system_call("clone", "clone (a new process)").rule, PolicyRule::kProcess);
  EXPECT_EQ(finding_for_system_call("socket", "socket (a network or local socket)").rule, PolicyRule::kNetwork);
  EXPECT_EQ(finding_for_system_call("bpf", "bpf (not allowed for candidates)").rule, PolicyRule::kDirectSystemCall);
}

}  // namespace
}  // namespace ptxbench::toolchain
