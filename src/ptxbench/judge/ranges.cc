#include "ptxbench/judge/ranges.h"

#include <fmt/format.h>

#include <algorithm>
#include <set>

namespace ptxbench::judge {
namespace {

std::vector<std::pair<std::int64_t, std::int64_t>> runs_of(const std::vector<std::int64_t>& sorted) {
  std::vector<std::pair<std::int64_t, std::int64_t>> runs;
  for (const std::int64_t value : sorted) {
    if (!runs.empty() && runs.back().second + 1 == value) {
      runs.back().second = value;
    } else {
      runs.emplace_back(value, value);
    }
  }
  return runs;
}

// "r mod 16 in 8-15" if that describes the set exactly; else empty.
std::string as_residues(const std::vector<std::int64_t>& sorted, std::int64_t extent) {
  for (std::int64_t modulus = 2; modulus <= 256 && 2 * modulus <= extent; modulus *= 2) {
    std::set<std::int64_t> residues;
    for (const std::int64_t value : sorted) residues.insert(value % modulus);
    if (2 * static_cast<std::int64_t>(residues.size()) > modulus) continue;
    std::int64_t members = 0;
    for (const std::int64_t residue : residues) members += (extent - residue + modulus - 1) / modulus;
    if (members == static_cast<std::int64_t>(sorted.size()))
      return fmt::format("index mod {} in {}", modulus, range_list({residues.begin(), residues.end()}));
  }
  return {};
}

}  // namespace

std::string range_list(const std::vector<std::int64_t>& sorted) {
  const auto runs = runs_of(sorted);
  const std::size_t shown = runs.size() > 4 ? 3 : runs.size();
  std::string text;
  for (std::size_t i = 0; i < shown; ++i) {
    if (i > 0) text += i + 1 == runs.size() ? " and " : ", ";
    text += runs[i].first == runs[i].second ? fmt::format("{}", runs[i].first)
                                            : fmt::format("{}-{}", runs[i].first, runs[i].second);
  }
  if (shown < runs.size()) text += fmt::format(" and {} more ranges up to {}", runs.size() - shown, sorted.back());
  return text;
}

std::string describe_indices(const std::vector<std::int64_t>& sorted, std::int64_t extent, const char* singular,
                             const char* plural) {
  if (static_cast<std::int64_t>(sorted.size()) == extent) return fmt::format("all {}", plural);
  if (sorted.size() == 1) return fmt::format("{} {}", singular, sorted.front());
  if (runs_of(sorted).size() > 2)
    if (const std::string residues = as_residues(sorted, extent); !residues.empty())
      return fmt::format("{} with {}", plural, residues);
  return fmt::format("{} {}", plural, range_list(sorted));
}

}  // namespace ptxbench::judge
