// Lines as nvcc 13.0, gcc 12 and ptxas 13.0 print them.
#include "ptxbench/toolchain/compiler_log.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace ptxbench::toolchain {
namespace {

using testing::HasSubstr;

TEST(CompilerLog, FrontEnd) {
  const auto found = parse_diagnostics(
      "/candidate/gemm.cu(10): error: identifier \"y\" is undefined\n"
      "    int x = y;\n            ^\n\n"
      "/candidate/gemm.cu(10): error: identifier \"y\" is undefined\n"
      "/candidate/gemm.cu(12): warning #177-D: variable \"z\" was declared but never referenced\n"
      "2 errors detected in the compilation of \"kernel.cu\".\n",
      "");
  ASSERT_EQ(found.size(), 2u);
  EXPECT_EQ(found[0].file, "gemm.cu");
  EXPECT_EQ(found[0].line, 10);
  EXPECT_TRUE(found[0].is_error);
  EXPECT_EQ(found[0].message, "identifier \"y\" is undefined");
  EXPECT_EQ(found[1].line, 12);
  EXPECT_FALSE(found[1].is_error);
}

TEST(CompilerLog, HostCompiler) {
  const auto found =
      parse_diagnostics("/candidate/gemm.cu:3:10: fatal error: no_such.h: No such file or directory\n", "");
  ASSERT_EQ(found.size(), 1u);
  EXPECT_EQ(found[0].file, "gemm.cu");
  EXPECT_EQ(found[0].line, 3);
  EXPECT_EQ(found[0].column, 10);
  EXPECT_TRUE(found[0].is_error);
}

TEST(CompilerLog, AssemblerLinesBecomeSourceLines) {
  const std::string ptx =
      ".version 9.0\n"
      ".entry k() {\n"
      "\t.loc\t1 7 2\n"
      "\tadd.s32 %r1, %r1, 1;\n"
      "\t.loc\t1 9 4\n"
      "\twgmma.nonsense;\n"  // line 6
      "}\n"
      "\t.file\t1 \"/candidate/gemm.cu\"\n";
  const auto found = parse_diagnostics(
      "ptxas keep/kernel.ptx, line 6; error   : Unknown modifier '.nonsense'\n"
      "ptxas fatal   : Ptx assembly aborted due to errors\n",
      ptx);
  ASSERT_EQ(found.size(), 2u);
  EXPECT_EQ(found[0].file, "gemm.cu");
  EXPECT_EQ(found[0].line, 9);
  EXPECT_THAT(found[0].message, HasSubstr("Unknown modifier '.nonsense'"));
  EXPECT_EQ(found[1].file, "");
}

TEST(CompilerLog, KernelResources) {
  const auto kernels = parse_kernel_resources(
      "ptxas info    : 0 bytes gmem\n"
      "ptxas info    : Compiling entry function '_Z3addPKfS0_Pfi' for 'sm_90a'\n"
      "ptxas info    : Function properties for helper\n"
      "    8 bytes stack frame, 9 bytes spill stores, 9 bytes spill loads\n"
      "ptxas info    : Function properties for _Z3addPKfS0_Pfi\n"
      "    16 bytes stack frame, 4 bytes spill stores, 12 bytes spill loads\n"
      "ptxas info    : Used 168 registers, used 2 barriers, 16 bytes cumulative stack size, 1024 bytes smem, 556 bytes "
      "cmem[0]\n"
      "ptxas info    : Compile time = 2.612 ms\n"
      "ptxas info    : Compiling entry function 'second' for 'sm_90a'\n"
      "ptxas info    : Function properties for second\n"
      "    0 bytes stack frame, 0 bytes spill stores, 0 bytes spill loads\n"
      "ptxas info    : Used 12 registers, used 0 barriers\n");
  ASSERT_EQ(kernels.size(), 2u);
  EXPECT_EQ(kernels[0].name, "_Z3addPKfS0_Pfi");
  EXPECT_EQ(kernels[0].registers, 168u);
  EXPECT_EQ(kernels[0].barriers, 2u);
  EXPECT_EQ(kernels[0].stack_bytes, 16u);
  EXPECT_EQ(kernels[0].spill_store_bytes, 4u);
  EXPECT_EQ(kernels[0].spill_load_bytes, 12u);
  EXPECT_EQ(kernels[0].static_shared_bytes, 1024u);
  EXPECT_EQ(kernels[0].constant_bytes, 556u);
  EXPECT_EQ(kernels[1].name, "second");
  EXPECT_EQ(kernels[1].registers, 12u);
}

TEST(CompilerLog, TidyLogIsCappedAndAnonymous) {
  const std::string log =
      "/candidate/gemm.cu(1): error: x\nptxas info    : Used 12 registers\n" + std::string(5000, 'y') + "\nrest\n";
  const std::string tidy = tidy_log(log, 1000);
  EXPECT_THAT(tidy, testing::StartsWith("gemm.cu(1): error: x\nyyy"));
  EXPECT_THAT(tidy, testing::EndsWith("... (cut)\n"));
  EXPECT_LT(tidy.size(), 1100u);
}

}  // namespace
}  // namespace ptxbench::toolchain
