// ptxas is the judge of what is PTX: every line that the table can make, and mutations of it, must be accepted or refused by
// both. Differences that are known and meant are listed with their reason, and the list must stay exact.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cstdlib>
#include <fstream>
#include <map>
#include <regex>
#include <set>

#include "cuda_tool.h"
#include "ptxbench/base/file.h"
#include "ptxbench/ptx/parse.h"
#include "ptxbench/ptx/validate.h"
#include "spellings.h"

namespace ptxbench::ptx {
namespace {

// Lines of the text that ptxas refuses, with its words. A syntax error stops it, so refused lines are blanked and it is asked
// again until it is content.
std::map<std::uint32_t, std::string> ask_ptxas(const std::string& ptxas, std::string text, const std::string& target,
                                               const std::filesystem::path& folder) {
  std::map<std::uint32_t, std::string> refused;
  const auto planted = static_cast<std::uint32_t>(std::count(text.begin(), text.end(), '\n')) - 2;
  static const std::regex kMessage(
      R"((?:uses 32-bit address on )?line '?(\d+)(?:; (?:error|fatal)\s*: |' which is )(.*))");
  while (true) {
    const auto file = folder / "lines.ptx";
    const auto log = folder / "log.txt";
    std::ofstream(file) << text;
    [[maybe_unused]] const int status = std::system(fmt::format("{} -O0 -arch={} {} -o {} >{} 2>&1", ptxas, target,
                                                                file.string(), (folder / "out").string(), log.string())
                                                        .c_str());
    const std::string output = read_file(log).value();
    const std::size_t before = refused.size();
    for (auto match = std::sregex_iterator(output.begin(), output.end(), kMessage); match != std::sregex_iterator();
         ++match) {
      refused.emplace(static_cast<std::uint32_t>(std::stoul((*match)[1])), (*match)[2]);
    }
    // Only the planted line is left.
    if (refused.size() == before && refused.contains(planted)) {
      refused.erase(planted);
      return refused;
    }
    if (refused.size() == before) throw std::runtime_error(output);
    std::string blanked;
    std::uint32_t number = 1;
    for (std::size_t start = 0; start < text.size(); ++number) {
      const std::size_t end = text.find('\n', start) + 1;
      blanked += refused.contains(number) && number != planted ? "\n" : text.substr(start, end - start);
      start = end;
    }
    text = std::move(blanked);
  }
}

// Some lines crash ptxas or make it fail without naming a line; halving finds them, and such a line counts as refused.
void ask_halves(const std::string& ptxas, std::span<const Spelling> batch, std::uint32_t first_line,
                const std::string& target, const std::filesystem::path& folder,
                std::map<std::uint32_t, std::string>& refused) {
  const OracleModule module = oracle_module(batch, {9, 0}, target);
  try {
    for (const auto& [line, message] : ask_ptxas(ptxas, module.text, target, folder))
      refused.emplace(line - module.first_line + first_line, message);
    return;
  } catch (const std::runtime_error& error) {
    if (batch.size() == 1) {
      refused.emplace(first_line, fmt::format("fails: {}", error.what()));
      return;
    }
  }
  const std::size_t half = batch.size() / 2;
  ask_halves(ptxas, batch.first(half), first_line, target, folder, refused);
  ask_halves(ptxas, batch.subspan(half), first_line + static_cast<std::uint32_t>(half), target, folder, refused);
}

std::map<std::uint32_t, std::string> ask_ours(const std::string& text) {
  std::map<std::uint32_t, std::string> refused;
  const ParseOutcome outcome = parse_all(text, "lines.ptx", 1u << 20);
  for (const Error& error : outcome.errors) refused.emplace(error.where.line, error.message);
  for (const Error& error : validate_all(outcome.module, text, 1u << 20))
    refused.emplace(error.where.line, error.message);
  return refused;
}

struct Exception {
  std::string text;
  std::regex forms;
  std::regex line;
  bool used = false;
};

std::vector<Exception> read_exceptions() {
  std::vector<Exception> exceptions;
  std::ifstream file(PTXBENCH_SOURCE_DIR "/tests/ptx/oracle_exceptions.txt");
  for (std::string line; std::getline(file, line);) {
    if (line.empty() || line[0] == '#') continue;
    const auto first = line.find(" ; ");
    const auto second = line.find(" ; ", first + 3);
    exceptions.push_back(
        {line, std::regex(line.substr(0, first)), std::regex(line.substr(first + 3, second - first - 3)), false});
  }
  return exceptions;
}

bool excepted(std::vector<Exception>& exceptions, const Spelling& spelling) {
  for (Exception& exception : exceptions) {
    if (!std::regex_match(std::string(isa::form(spelling.form).name), exception.forms) ||
        !std::regex_search(spelling.text, exception.line))
      continue;
    exception.used = true;
    return true;
  }
  return false;
}

// Compares all lines for one target; differences without an exception fail the test.
void compare(const std::string& ptxas, const std::string& target, const std::filesystem::path& folder,
             std::vector<Exception>& exceptions) {
  std::size_t total = 0;
  std::size_t accepted = 0;
  std::size_t excused = 0;
  std::vector<Spelling> batch;
  const auto ask = [&] {
    const OracleModule module = oracle_module(batch, {9, 0}, target);
    std::map<std::uint32_t, std::string> theirs;
    ask_halves(ptxas, batch, module.first_line, target, folder, theirs);
    const auto ours = ask_ours(module.text);
    for (std::uint32_t i = 0; i < batch.size(); ++i) {
      const auto their = theirs.find(module.first_line + i);
      const auto our = ours.find(module.first_line + i);
      ++total;
      accepted += their == theirs.end() && our == ours.end();
      if ((their == theirs.end()) == (our == ours.end())) continue;
      if (excepted(exceptions, batch[i])) {
        ++excused;
        continue;
      }
      ADD_FAILURE() << fmt::format("{}: {}: {} | ptxas: {} | ours: {}", target, isa::form(batch[i].form).name,
                                   batch[i].text, their == theirs.end() ? "accepts" : their->second,
                                   our == ours.end() ? "accepts" : our->second);
    }
    batch.clear();
  };
  for (const isa::Form& form : isa::forms()) {
    for (Spelling& spelling : spellings(form.id)) batch.push_back(std::move(spelling));
    if (batch.size() >= 150) ask();
  }
  if (!batch.empty()) ask();
  fmt::print("{}: {} lines, {} accepted by both, {} known differences\n", target, total, accepted, excused);
  EXPECT_GT(accepted, total / 4);
}

TEST(OracleTest, AgreesWithPtxas) {
  const std::string ptxas = find_tool("ptxas");
  if (ptxas.empty()) GTEST_SKIP() << "no ptxas on this machine (it comes with nvcc)";
  const auto folder = TempDir::create("ptxbench-oracle");
  ASSERT_TRUE(folder.has_value());
  std::vector<Exception> exceptions = read_exceptions();
  ASSERT_FALSE(exceptions.empty());
  for (const char* target : {"sm_90a", "sm_100a"}) compare(ptxas, target, folder->path(), exceptions);
  for (const Exception& exception : exceptions) EXPECT_TRUE(exception.used) << "no longer needed: " << exception.text;
}

}  // namespace
}  // namespace ptxbench::ptx
