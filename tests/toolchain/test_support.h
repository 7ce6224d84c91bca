// Sources and shortcuts that the toolchain tests share.
#pragma once

#include <gtest/gtest.h>

#include <filesystem>
#include <string>

#include "ptxbench/base/file.h"
#include "ptxbench/toolchain/build.h"
#include "ptxbench/toolchain/locate.h"

namespace ptxbench::toolchain {

// A candidate with one kernel; the parts of it can be changed by the caller.
inline std::string candidate(const std::string& kernel_body = "c[i] = a[i] + b[i];", const std::string& host_body = "",
                             const std::string& before = "") {
  return "#include <ptxbench/ffi.h>\n" + before +
         "__global__ void add(const float* a, const float* b, float* c) {\n"
         "  const int i = blockIdx.x * blockDim.x + threadIdx.x;\n  " +
         kernel_body +
         "\n}\n"
         "void run(ptxbench::Tensor<float> a, ptxbench::Tensor<float> b, ptxbench::Tensor<float> c) {\n  " +
         host_body +
         "\n  add<<<1, 32>>>(a.data(), b.data(), c.data());\n"
         "}\n"
         "PTXBENCH_EXPORT(run)\n";
}

class BuildTest : public testing::Test {
 protected:
  void SetUp() override {
    auto made = TempDir::create("ptxbench");
    ASSERT_TRUE(made);
    folder_.emplace(std::move(*made));
    request_.cache_folder = folder_->path() / "cache";
    request_.source = folder_->path() / "gemm.cu";
  }

  Result<BuildOutcome> build_text(const std::string& text) {
    EXPECT_TRUE(write_file_atomic(request_.source, text));
    return build(request_);
  }
  Built built(const std::string& text) {
    auto outcome = build_text(text);
    EXPECT_TRUE(outcome) << outcome.error().format();
    if (!outcome) return {};
    if (auto* failure = std::get_if<CompileFailure>(&*outcome))
      ADD_FAILURE() << failure->summary << "\n" << failure->log;
    if (auto* violation = std::get_if<PolicyViolation>(&*outcome)) ADD_FAILURE() << violation->findings[0].what;
    auto* result = std::get_if<Built>(&*outcome);
    return result ? *result : Built{};
  }
  CompileFailure failure(const std::string& text) {
    auto outcome = build_text(text);
    EXPECT_TRUE(outcome) << outcome.error().format();
    if (!outcome || !std::holds_alternative<CompileFailure>(*outcome)) {
      ADD_FAILURE() << "expected a compile failure";
      return {};
    }
    return std::get<CompileFailure>(*outcome);
  }
  PolicyFinding violation(const std::string& text) {
    auto outcome = build_text(text);
    EXPECT_TRUE(outcome) << outcome.error().format();
    if (!outcome || !std::holds_alternative<PolicyViolation>(*outcome)) {
      if (outcome)
        if (auto* failed = std::get_if<CompileFailure>(&*outcome)) ADD_FAILURE() << failed->summary << failed->log;
      ADD_FAILURE() << "expected a policy violation";
      return {};
    }
    return std::get<PolicyViolation>(*outcome).findings.at(0);
  }

  std::optional<TempDir> folder_;
  BuildRequest request_;
};

}  // namespace ptxbench::toolchain
