// Pack headers in a build: what they hold is part of its identity, and a folder that is missing is said to be.
#include <gtest/gtest.h>

#include "ptxbench/base/file.h"
#include "ptxbench/toolchain/build.h"

namespace ptxbench::toolchain {
namespace {

TEST(PackHeaders, TheHashFollowsNamesAndContents) {
  const auto folder = TempDir::create();
  ASSERT_TRUE(folder);
  const auto hash = [&] { return headers_sha256({folder->path()}); };
  ASSERT_TRUE(write_file_atomic(folder->path() / "a.cuh", "// one"));
  const std::string first = hash();
  EXPECT_EQ(first.size(), 64u);
  EXPECT_EQ(first, hash());
  ASSERT_TRUE(write_file_atomic(folder->path() / "a.cuh", "// two"));
  const std::string second = hash();
  EXPECT_NE(first, second);
  ASSERT_TRUE(write_file_atomic(folder->path() / "b.cuh", ""));
  EXPECT_NE(second, hash());
  EXPECT_EQ(headers_sha256({}), "");
}

TEST(PackHeaders, AMissingFolderIsNamed) {
  const auto folder = TempDir::create();
  ASSERT_TRUE(folder);
  ASSERT_TRUE(write_file_atomic(folder->path() / "kernel.cu", "int main() {}"));
  BuildRequest request;
  request.source = folder->path() / "kernel.cu";
  request.include_folders = {folder->path() / "nowhere"};
  const auto outcome = build(request);
  ASSERT_FALSE(outcome);
  EXPECT_EQ(outcome.error().kind, ErrorKind::kNotFound);
  EXPECT_NE(outcome.error().message.find("nowhere"), std::string::npos);
}

}  // namespace
}  // namespace ptxbench::toolchain
