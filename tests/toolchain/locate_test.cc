#include "ptxbench/toolchain/locate.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>

namespace ptxbench::toolchain {
namespace {

TEST(Locate, EveryToolIsFoundOrSaysHowToGetIt) {
  const std::vector<Tool> tools = locate_all();
  std::vector<std::string> names;
  for (const Tool& tool : tools) {
    names.push_back(tool.name);
    EXPECT_FALSE(tool.purpose.empty()) << tool.name;
    if (tool.found)
      EXPECT_TRUE(std::filesystem::exists(tool.path)) << tool.name;
    else
      EXPECT_FALSE(tool.how_to_get.empty()) << tool.name;
  }
  EXPECT_THAT(names, testing::IsSupersetOf({"nvcc", "ptxas", "nvdisasm", "cuobjdump", "CUDA headers", "host compiler",
                                            "tvm-ffi headers", "sandbox"}));
}

TEST(Locate, ToolkitIsNewEnough) {
  const auto toolkit = locate_toolkit();
  ASSERT_TRUE(toolkit) << toolkit.error().format();
  EXPECT_GE(std::stod(toolkit->version), 13.0);
  EXPECT_TRUE(std::filesystem::exists(toolkit->ptxbench_include / "ptxbench/ffi.h"));
}

}  // namespace
}  // namespace ptxbench::toolchain
