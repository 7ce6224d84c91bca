#include "ptxbench/agent/extract.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace ptxbench::agent {
namespace {

using ::testing::HasSubstr;

const std::string kKernel = "__global__ void k() {}\nPTXBENCH_EXPORT(run)\n";

TEST(Extract, EveryUsualFence) {
  for (const char* fence : {"```cpp", "```cuda", "```c++", "```cu", "```c", "```", "```CUDA", "``` cuda",
                            "```cuda title=a", "````cuda", "~~~cuda", "``` {.cpp .numberLines}"}) {
    const std::string mark = std::string(fence).substr(0, std::string(fence).find_first_not_of(fence[0]));
    const Extraction found = extract_kernel("Here:\n" + std::string(fence) + "\n" + kKernel + mark + "\nDone.\n");
    ASSERT_TRUE(found.source) << fence << ": " << found.report;
    EXPECT_EQ(*found.source, kKernel) << fence;
    EXPECT_TRUE(found.as_asked) << fence;
  }
}

TEST(Extract, IndentedFenceLosesItsIndent) {
  const Extraction found = extract_kernel(
      "1. So:\n   ```cuda\n   __global__ void k() {\n     int x;\n   }\n   PTXBENCH_EXPORT(run)\n   ```\n");
  ASSERT_TRUE(found.source);
  EXPECT_EQ(*found.source, "__global__ void k() {\n  int x;\n}\nPTXBENCH_EXPORT(run)\n");
}

TEST(Extract, CrLf) {
  const Extraction found = extract_kernel("```cuda\r\n__global__ void k() {}\r\nPTXBENCH_EXPORT(run)\r\n```\r\n");
  ASSERT_TRUE(found.source);
  EXPECT_EQ(*found.source, kKernel);
}

TEST(Extract, MissingLastFenceIsSaid) {
  const Extraction found = extract_kernel("```cuda\n" + kKernel);
  ASSERT_TRUE(found.source);
  EXPECT_EQ(*found.source, kKernel);
  EXPECT_FALSE(found.as_asked);
  EXPECT_THAT(found.report, HasSubstr("no closing fence"));
}

TEST(Extract, LastCompleteKernelWins) {
  const std::string second = "__global__ void second() {}\nPTXBENCH_EXPORT(run)\n";
  const Extraction found =
      extract_kernel("```cuda\n" + kKernel + "```\n```cuda\n" + second +
                     "```\nCompile with\n```bash\nnvcc\n```\nand note\n```cpp\nint snippet;\n```\n");
  ASSERT_TRUE(found.source);
  EXPECT_EQ(*found.source, second);
  EXPECT_THAT(found.report, HasSubstr("Of 2 complete kernels"));
}

TEST(Extract, NewFenceEndsOneThatWasNotClosed) {
  const Extraction found = extract_kernel("```cuda\nint half;\n```cuda\n" + kKernel + "```\n");
  ASSERT_TRUE(found.source);
  EXPECT_EQ(*found.source, kKernel);
}

TEST(Extract, SaysWhatIsMissing) {
  const Extraction found =
      extract_kernel("```cuda\n// PTXBENCH_EXPORT(run)\n__global__ void k() {}\n```\n```python\nx\n```\n");
  EXPECT_FALSE(found.source);
  EXPECT_THAT(found.report, HasSubstr("None of the 2 code blocks"));
  EXPECT_THAT(found.report, HasSubstr("line 1 (```cuda, 2 lines): no PTXBENCH_EXPORT(run)"));
  EXPECT_THAT(found.report, HasSubstr("not a language of CUDA sources"));
}

TEST(Extract, CommentMarksInStringsAreNoComments) {
  const Extraction found =
      extract_kernel("```cuda\nconst char* url = \"http://x\"; __global__ void k() {}\nPTXBENCH_EXPORT(run)\n```\n");
  EXPECT_TRUE(found.source) << found.report;
}

TEST(Extract, BareSource) {
  const Extraction found = extract_kernel("Sure!\n#include <cuda.h>\n" + kKernel);
  ASSERT_TRUE(found.source) << found.report;
  EXPECT_EQ(*found.source, "#include <cuda.h>\n" + kKernel);
  EXPECT_THAT(found.report, HasSubstr("from line 2"));
  EXPECT_FALSE(extract_kernel("I cannot do that.").source);
  EXPECT_FALSE(extract_kernel("").source);
}

TEST(Extract, ThoughtsAreNoAnswer) {
  EXPECT_FALSE(extract_kernel("<think>```cuda\n" + kKernel + "```").source);
  EXPECT_THAT(extract_kernel("<think>```cuda\n" + kKernel + "```").report, HasSubstr("<think>"));
  const Extraction found = extract_kernel("<think>```cuda\nint draft;\n```</think>\n```cuda\n" + kKernel + "```\n");
  ASSERT_TRUE(found.source);
  EXPECT_EQ(*found.source, kKernel);
}

TEST(Extract, HugeOrBinaryTextIsRefused) {
  EXPECT_FALSE(extract_kernel("```cuda\n" + kKernel + std::string(kLargestKernel, 'x') + "\n```\n").source);
  EXPECT_FALSE(extract_kernel("```cuda\n" + kKernel + std::string(1, '\0') + "\n```\n").source);
}

}  // namespace
}  // namespace ptxbench::agent
