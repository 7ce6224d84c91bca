// One case per file in golden/, found by glob. The lines at the end that start with '//!' are what the parser, then the validator
// must say; '//! ok' for a good module. PTXBENCH_REBASE=1 rewrites them; a rebase is reviewed like code.
#include <gtest/gtest.h>

#include <algorithm>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <sstream>

#include "ptxbench/base/file.h"
#include "ptxbench/ptx/parse.h"
#include "ptxbench/ptx/print.h"
#include "ptxbench/ptx/validate.h"

namespace ptxbench::ptx {
namespace {

const std::filesystem::path kFolder = PTXBENCH_SOURCE_DIR "/tests/ptx/golden";

std::vector<std::filesystem::path> cases() {
  std::vector<std::filesystem::path> files;
  for (const auto& entry : std::filesystem::directory_iterator(kFolder)) {
    if (entry.path().extension() == ".ptx") files.push_back(entry.path());
  }
  std::sort(files.begin(), files.end());
  return files;
}

// The text before the first '//!' line, and those lines without their mark.
std::pair<std::string, std::string> split(const std::string& text) {
  const auto mark = text.starts_with("//!") ? 0 : text.find("\n//!");
  if (mark == std::string::npos) return {text, ""};
  std::string source = text.substr(0, mark + 1);
  std::string expected;
  std::istringstream lines(text.substr(mark + 1));
  for (std::string line; std::getline(lines, line);) expected += (line.size() > 4 ? line.substr(4) : "") + "\n";
  return {source, expected};
}

std::string marked(const std::string& text) {
  std::string result;
  std::istringstream lines(text);
  for (std::string line; std::getline(lines, line);) result += line.empty() ? "//!\n" : "//! " + line + "\n";
  return result;
}

std::string verdict(const std::string& source, const std::string& name) {
  ParseOutcome outcome = parse_all(source, name);
  std::vector<Error> errors = std::move(outcome.errors);
  if (errors.empty()) errors = validate_all(outcome.module, source);
  if (errors.empty()) return "ok\n";
  std::string text;
  for (const Error& error : errors) text += error.format() + "\n";
  return text;
}

class GoldenTest : public testing::TestWithParam<std::filesystem::path> {};

TEST_P(GoldenTest, SaysWhatIsWritten) {
  const std::string text = read_file(GetParam()).value();
  const auto [source, expected] = split(text);
  const std::string found = verdict(source, GetParam().filename().string());
  if (std::getenv("PTXBENCH_REBASE") != nullptr)
    std::ofstream(GetParam()) << source << marked(found);
  else
    EXPECT_EQ(found, expected);
  EXPECT_EQ(found != "ok\n", GetParam().filename().string().starts_with("bad-"));
}

TEST_P(GoldenTest, PrintedTextParsesToTheSame) {
  const auto [source, expected] = split(read_file(GetParam()).value());
  const ParseOutcome outcome = parse_all(source, "first.ptx");
  if (!outcome.errors.empty()) return;  // not a module
  const std::string printed = print(outcome.module);
  const ParseOutcome again = parse_all(printed, "printed.ptx");
  ASSERT_TRUE(again.errors.empty()) << again.errors[0].format() << "\n" << printed;
  EXPECT_EQ(print(again.module), printed);
  ASSERT_EQ(again.module.functions.size(), outcome.module.functions.size());
  std::size_t first = 0;
  std::size_t second = 0;
  for (const Function& function : outcome.module.functions) first += function.instructions.size();
  for (const Function& function : again.module.functions) second += function.instructions.size();
  EXPECT_EQ(first, second);
}

INSTANTIATE_TEST_SUITE_P(Files, GoldenTest, testing::ValuesIn(cases()), [](const auto& info) {
  std::string name = info.param.stem().string();
  std::replace(name.begin(), name.end(), '-', '_');
  return name;
});

}  // namespace
}  // namespace ptxbench::ptx
