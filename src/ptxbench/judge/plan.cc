// Which families run, and on which parts of the tensors.
#include <fmt/format.h>
#include <fmt/ranges.h>
#include <sys/random.h>

#include <algorithm>
#include <cmath>

#include "ptxbench/judge/inputs.h"
#include "ptxbench/judge/philox.h"

namespace ptxbench::judge {
namespace {

using schema::Operation;

struct FamilyRow {
  Family family;
  std::string_view name;
  bool gemm, forward, backward;  // where it makes sense
};

constexpr FamilyRow kFamilies[] = {
    {Family::kNormal, "normal", true, true, true},        {Family::kInteger, "integer", true, false, false},
    {Family::kOffset, "offset", true, true, true},        {Family::kSpikes, "spikes", true, true, false},
    {Family::kScaled, "scaled", true, false, false},      {Family::kWide, "wide", false, true, true},
    {Family::kSignature, "signature", true, true, false}, {Family::kImpulse, "impulse", false, false, true},
};

bool belongs(const FamilyRow& row, Operation operation) {
  switch (operation) {
    case Operation::kGemmNt: return row.gemm;
    case Operation::kAttentionForward: return row.forward;
    case Operation::kAttentionBackward: return row.backward;
  }
  return false;
}

Result<std::vector<Family>> families_for(Operation operation, const std::vector<std::string>& names) {
  std::vector<Family> families;
  for (const std::string& name : names) {
    PTXBENCH_TRY(const Family family, family_from(name));
    for (const FamilyRow& row : kFamilies)
      if (row.family == family && !belongs(row, operation))
        return fail(ErrorKind::kUnsupported,
                    fmt::format("input family '{}' does not belong to {}", name, to_string(operation)));
    if (std::find(families.begin(), families.end(), family) == families.end()) families.push_back(family);
  }
  if (families.empty()) return fail(ErrorKind::kInvalidInput, "no input family is named");
  return families;
}

// Rows of A in blocks, every other block normal, so that one run holds all families that can share B.
std::vector<Family> mixed_rows(const Problem& problem, const std::vector<Family>& mixed, const PhiloxStream& random) {
  std::vector<Family> others;
  for (const Family family : mixed)
    if (family != Family::kNormal) others.push_back(family);
  const bool normal = others.size() < mixed.size();
  const std::int64_t parts = static_cast<std::int64_t>(others.size()) * (normal ? 2 : 1);
  const std::int64_t block = std::clamp<std::int64_t>(problem.m / std::max<std::int64_t>(1, 2 * parts), 1, 8);
  const std::uint64_t turn = random.below(0, 1u << 16);
  std::vector<Family> rows(problem.m, Family::kNormal);
  for (std::int64_t row = 0; row < problem.m && !others.empty(); ++row) {
    const std::uint64_t index = static_cast<std::uint64_t>(row / block) + turn;
    if (!normal || index % 2 == 1) rows[row] = others[(normal ? index / 2 : index) % others.size()];
  }
  return rows;
}

}  // namespace

std::string_view to_string(Family family) {
  for (const FamilyRow& row : kFamilies)
    if (row.family == family) return row.name;
  return "unknown";
}

Result<Family> family_from(std::string_view name) {
  std::vector<std::string_view> known;
  for (const FamilyRow& row : kFamilies) {
    if (row.name == name) return row.family;
    known.push_back(row.name);
  }
  return fail(ErrorKind::kUnsupported,
              fmt::format("'{}' is not an input family (known: {})", name, fmt::join(known, ", ")));
}

Result<std::vector<RunPlan>> plan_runs(const Problem& problem, const std::vector<std::string>& names,
                                       std::uint64_t seed) {
  PTXBENCH_TRY(const std::vector<Family> families, families_for(problem.operation, names));
  const bool gemm = problem.operation == Operation::kGemmNt;
  const PhiloxStream random(seed, 0);
  const std::int64_t units = problem.units();
  std::vector<RunPlan> plans;
  std::vector<Family> mixed;
  for (const Family family : families) {
    if (family == (gemm ? Family::kInteger : Family::kNormal)) {
      plans.insert(plans.begin(), {wire::Schedule::kLatest, std::vector<Family>(units, family)});
    } else {
      mixed.push_back(family);
    }
  }
  if (gemm && !mixed.empty()) plans.push_back({wire::Schedule::kLatest, mixed_rows(problem, mixed, random)});
  if (!gemm) {
    const std::int64_t count = mixed.size();
    const std::int64_t turn = count > 0 ? static_cast<std::int64_t>(random.below(1, count)) : 0;
    for (std::int64_t done = 0; done < count; done += units) {
      RunPlan plan{wire::Schedule::kLatest, {}};
      for (std::int64_t unit = 0; unit < units; ++unit)
        plan.family_of_unit.push_back(mixed[(turn + done + unit) % count]);
      plans.push_back(std::move(plan));
    }
  }
  for (std::size_t i = 1; i < plans.size(); i += 2) plans[i].schedule = wire::Schedule::kEarliest;
  return plans;
}

std::int64_t integer_amplitude(std::int64_t k) {
  // An integer that is uniform in [-a, a] has the variance a (a + 1) / 3, a product of two the square of that, and a
  // sum of k products k times as much.
  for (std::int64_t a = 255; a > 1; a /= 2) {
    const double sigma = std::sqrt(static_cast<double>(k)) * static_cast<double>(a * (a + 1)) / 3;
    if (8 * sigma < 0x1p24) return a;
  }
  return 1;
}

Result<std::uint64_t> random_seed() {
  std::uint64_t seed = 0;
  if (getrandom(&seed, sizeof seed, 0) != static_cast<ssize_t>(sizeof seed))
    return fail(ErrorKind::kUnavailable, "the system's random source gives nothing (getrandom)", "pass --seed N");
  return seed >> 11;
}

}  // namespace ptxbench::judge
