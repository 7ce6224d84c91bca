// Real compiler output must parse, validate and survive printing; ptxas must take the printed text.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <sstream>

#include "cuda_tool.h"
#include "ptxbench/base/file.h"
#include "ptxbench/ptx/parse.h"
#include "ptxbench/ptx/print.h"
#include "ptxbench/ptx/validate.h"

namespace ptxbench::ptx {
namespace {

std::string without_blanks_and_comments(const std::string& text) {
  std::string result;
  std::istringstream lines(text);
  for (std::string line; std::getline(lines, line);) {
    line = line.substr(0, line.find("//"));
    const auto start = line.find_first_not_of(" \t");
    result += (start == std::string::npos ? "" : line.substr(start)) + "\n";
  }
  return result + '\0';
}

TEST(NvccTest, RealOutputParses) {
  const std::string nvcc = find_tool("nvcc");
  const std::string ptxas = find_tool("ptxas");
  if (nvcc.empty() || ptxas.empty()) GTEST_SKIP() << "no nvcc and ptxas on this machine";
  const auto folder = TempDir::create("ptxbench-nvcc").value();
  for (const char* name : {"intrinsics", "hopper", "library"}) {
    const auto file = folder.path() / (std::string(name) + ".ptx");
    ASSERT_EQ(std::system(fmt::format("{} --ptx -std=c++17 -arch=sm_90a -lineinfo {}/tests/ptx/snippets/{}.cu -o {}",
                                      nvcc, PTXBENCH_SOURCE_DIR, name, file.string())
                              .c_str()),
              0);
    const std::string text = read_file(file).value();
    const ParseOutcome outcome = parse_all(text, file.string());
    ASSERT_TRUE(outcome.errors.empty()) << outcome.errors[0].format();
    const Status valid = validate(outcome.module, text);
    ASSERT_TRUE(valid.has_value()) << valid.error().format();
    const std::string printed = print(outcome.module);
    const ParseOutcome again = parse_all(printed, "printed.ptx");
    ASSERT_TRUE(again.errors.empty()) << again.errors[0].format();
    EXPECT_EQ(print(again.module), printed);
    std::ofstream(file) << printed;
    EXPECT_EQ(std::system(fmt::format("{} -O0 -arch=sm_90a {} -o {}/out >/dev/null 2>&1", ptxas, file.string(),
                                      folder.path().string())
                              .c_str()),
              0)
        << printed;
    // The embedded text is the same without comments and indentation.
    const ParseOutcome stripped = parse_all(without_blanks_and_comments(text), "stripped.ptx");
    ASSERT_TRUE(stripped.errors.empty()) << stripped.errors[0].format();
    EXPECT_EQ(print(stripped.module), printed);
  }
}

}  // namespace
}  // namespace ptxbench::ptx
