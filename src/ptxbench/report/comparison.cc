#include "ptxbench/report/comparison.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <cmath>
#include <map>

namespace ptxbench::report {
namespace {

constexpr std::int64_t kSmall = 10;  // trajectories per side; intervals are wider than half of the scale below it

const Rate& success(const Group& group, int k, bool target) {
  const WithinTurns& within = group.within.at(static_cast<std::size_t>(k) - 1);
  return target ? within.trajectory_target : within.trajectory_correct;
}

std::optional<double> best(const Group& group, int k, bool target) {
  const WithinTurns& within = group.within.at(static_cast<std::size_t>(k) - 1);
  return target ? within.best_target_speedup : within.best_speedup;
}

void add(Rate& sum, const Rate& one) {
  sum.successes += one.successes;
  sum.n += one.n;
  sum.unknown += one.unknown;
}

// The side's groups by what can be shared with the other side.
using Side = std::map<std::vector<std::string>, Group>;

// What must be equal for two trajectories to be compared. Packs need not be: who compares models that ran different packs
// compares the settings as they are. Nor must tasks when the difference is in what a task's name says.
std::vector<Attribute> strata(Attribute differs) {
  const bool shape = differs == Attribute::kHeadDim || differs == Attribute::kHeads;
  std::vector<Attribute> by;
  for (const Attribute attribute : shape ? std::vector{Attribute::kModel, Attribute::kTarget, Attribute::kFamily,
                                                       Attribute::kHeadDim, Attribute::kHeads, Attribute::kLanguage}
                                         : std::vector{Attribute::kModel, Attribute::kTarget, Attribute::kTask,
                                                       Attribute::kWorkload, Attribute::kLanguage})
    if (attribute != differs) by.push_back(attribute);
  return by;
}

Result<Side> side_of(const schema::Observations& data, MetricsRequest request, const Pair& pair,
                     const std::string& value) {
  request.by = strata(pair.attribute);
  request.where.push_back({pair.attribute, {value}});
  Side side;
  for (Group& group : measure(data, request)) side.emplace(group.key, std::move(group));
  if (side.empty())
    return fail(ErrorKind::kInvalidInput, fmt::format("no trajectory has {} '{}'", to_string(pair.attribute), value),
                fmt::format("`ptxbench report RUN --by {}` lists the values", to_string(pair.attribute)));
  return side;
}

void warn(Comparison& c) {
  if (c.a.n < kSmall || c.b.n < kSmall)
    c.warnings.push_back(fmt::format("few trajectories ({} and {}): only large differences can show", c.a.n, c.b.n));
  if (c.a.unknown + c.b.unknown > 0)
    c.warnings.push_back(
        fmt::format("{} and {} trajectories are left out: their evidence is missing", c.a.unknown, c.b.unknown));
  if (c.left_out_a + c.left_out_b > 0)
    c.warnings.push_back(fmt::format("{} and {} trajectories are left out: the other side has not run these tasks",
                                     c.left_out_a, c.left_out_b));
  if (c.speedup_pairs > kMaxPairs)
    c.warnings.push_back(fmt::format("speed-ups on {} shared settings: an exact test is made of at most {}",
                                     c.speedup_pairs, kMaxPairs));
  if (c.speedup_pairs > 0 && c.speedup_pairs < 6)
    c.warnings.push_back(fmt::format("speed-ups on {} shared setting{}: no p below {:.3g} is possible", c.speedup_pairs,
                                     c.speedup_pairs == 1 ? "" : "s",
                                     std::pow(2.0, 1 - static_cast<double>(c.speedup_pairs))));
}

}  // namespace

Result<Comparison> compare(const schema::Observations& data, const MetricsRequest& request, const Pair& pair, int k,
                           bool target) {
  PTXBENCH_TRY(const Side a, side_of(data, request, pair, pair.a));
  PTXBENCH_TRY(const Side b, side_of(data, request, pair, pair.b));
  Comparison c;
  c.pair = pair;
  c.k = k;
  c.target = target;
  std::vector<Stratum> strata;
  std::vector<double> logs;
  for (const auto& [key, group] : a) {
    const auto other = b.find(key);
    if (other == b.end()) {
      c.left_out_a += static_cast<std::int64_t>(group.trajectories.size());
      continue;
    }
    const Rate &rate_a = success(group, k, target), &rate_b = success(other->second, k, target);
    c.shared.push_back(fmt::format("{}", fmt::join(key, " ")));
    strata.push_back({rate_a.successes, rate_a.n, rate_b.successes, rate_b.n});
    add(c.a, rate_a);
    add(c.b, rate_b);
    const auto best_a = best(group, k, target), best_b = best(other->second, k, target);
    if (best_a && best_b && *best_a > 0 && *best_b > 0) logs.push_back(std::log(*best_a / *best_b));
  }
  for (const auto& [key, group] : b)
    if (!a.contains(key)) c.left_out_b += static_cast<std::int64_t>(group.trajectories.size());
  if (c.shared.empty())
    return fail(ErrorKind::kInvalidInput, fmt::format("'{}' and '{}' share no task", pair.a, pair.b),
                "compare groups that ran the same tasks, target and workloads");
  c.p = exact_stratified_p(strata);
  c.speedup_pairs = static_cast<std::int64_t>(logs.size());
  if (!logs.empty()) {
    double sum = 0;
    for (const double one : logs) sum += one;
    c.speedup_ratio = std::exp(sum / static_cast<double>(logs.size()));
    c.speedup_p = sign_flip_p(logs);
  }
  warn(c);
  return c;
}

std::vector<double> holm(const std::vector<Comparison>& comparisons) {
  std::vector<double> ps;
  for (const Comparison& one : comparisons) ps.push_back(one.p);
  return holm_adjusted(ps);
}

schema::Table comparison_table(const std::vector<Comparison>& comparisons) {
  schema::Table table{"comparisons",
                      "Differences between groups, on what they share",
                      {{"attribute", ""},
                       {"a", ""},
                       {"b", ""},
                       {"k", ""},
                       {"success", ""},
                       {"shared", "settings: what both sides ran"},
                       {"a_successes", "trajectories"},
                       {"a_n", ""},
                       {"b_successes", ""},
                       {"b_n", ""},
                       {"p", "exact, two-sided, stratified by what is shared"},
                       {"p_holm", "p, corrected for the number of comparisons in this table (Holm)"},
                       {"speedup_pairs", ""},
                       {"speedup_ratio", "geometric mean of best A / best B"},
                       {"speedup_p", "sign-flip test"},
                       {"warnings", ""}},
                      {}};
  const auto maybe = [](const std::optional<double>& v) { return v ? schema::TableValue(*v) : schema::TableValue(); };
  const std::vector<double> adjusted = holm(comparisons);
  for (std::size_t i = 0; i < comparisons.size(); ++i) {
    const Comparison& c = comparisons[i];
    table.rows.push_back({std::string(to_string(c.pair.attribute)), c.pair.a, c.pair.b, std::int64_t{c.k},
                          std::string(c.target ? "target" : "correct"), static_cast<std::int64_t>(c.shared.size()),
                          c.a.successes, c.a.n, c.b.successes, c.b.n, c.p, adjusted[i], c.speedup_pairs,
                          maybe(c.speedup_ratio), maybe(c.speedup_p), fmt::format("{}", fmt::join(c.warnings, "; "))});
  }
  return table;
}

std::string render(const Comparison& c) {
  const auto rate = [](const Rate& r) {
    const Interval i = r.interval();
    return fmt::format("{}/{} = {:.1f} % [{:.1f}, {:.1f}]", r.successes, r.n, 100 * r.rate().value_or(0), 100 * i.low,
                       100 * i.high);
  };
  std::string text = fmt::format(
      "{} against {} ({}), {} within {} turns, {} shared setting{}\n  {}   {}\n  p = {:.3g}: {}\n", c.pair.a, c.pair.b,
      to_string(c.pair.attribute), c.target ? "correct by the target's instructions" : "correct", c.k, c.shared.size(),
      c.shared.size() == 1 ? "" : "s", rate(c.a), rate(c.b), c.p,
      c.p < 0.05 ? "more than chance at the 5 % level" : "may be chance");
  if (c.speedup_ratio) {
    text += fmt::format("  best speed-up, A / B over {} shared settings: {:.3g}", c.speedup_pairs, *c.speedup_ratio);
    text += c.speedup_p ? fmt::format(" (p = {:.3g})\n", *c.speedup_p) : "\n";
  }
  for (const std::string& warning : c.warnings) text += "  careful: " + warning + "\n";
  return text;
}

}  // namespace ptxbench::report
