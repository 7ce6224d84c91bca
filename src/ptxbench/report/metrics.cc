#include "ptxbench/report/metrics.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>

#include "ptxbench/base/check.h"
#include "ptxbench/schema/enum_text.h"

namespace ptxbench::report {
namespace {

using schema::TurnRecord;

constexpr std::pair<Attribute, std::string_view> kAttributes[] = {
    {Attribute::kRun, "run"},           {Attribute::kModel, "model"},       {Attribute::kTarget, "target"},
    {Attribute::kTask, "task"},         {Attribute::kWorkload, "workload"}, {Attribute::kPack, "pack"},
    {Attribute::kLanguage, "language"}, {Attribute::kFamily, "family"},     {Attribute::kHeadDim, "head_dim"},
    {Attribute::kHeads, "heads"},
};

// Three-valued: none means not known.
using Truth = std::optional<bool>;

Truth correct_of(const TurnRecord& turn, schema::RuleSet rules) {
  return rules == schema::RuleSet::kStrict ? turn.correct_strict : turn.correct_paper;
}

// Correct and with the target's instructions.
Truth target_of(const TurnRecord& turn, schema::RuleSet rules) {
  const Truth correct = correct_of(turn, rules);
  const Truth target = rules == schema::RuleSet::kStrict ? turn.target_strict : turn.target_paper;
  if (correct == false || target == false) return false;
  return correct && target ? Truth(true) : std::nullopt;
}

void add(Rate& rate, Truth truth) {
  if (!truth) {
    ++rate.unknown;
    return;
  }
  ++rate.n;
  rate.successes += *truth;
}

// At least one turn is true.
Truth either(Truth a, Truth b) {
  if (a == true || b == true) return true;
  return a && b ? Truth(false) : std::nullopt;
}

void keep_best(std::optional<double>& best, double value) { best = best ? std::max(*best, value) : value; }

template <class T>
void add(Total& total, const std::optional<T>& value) {
  if (!value) return;
  total.sum += static_cast<double>(*value);
  ++total.turns;
}

// The speed-ups behind the medians of one group, per k.
struct Speedups {
  std::vector<double> correct, final;
};

bool wanted(const schema::Observations& data, std::uint32_t trajectory, const std::vector<Condition>& where) {
  return std::all_of(where.begin(), where.end(), [&](const Condition& condition) {
    const auto& values = condition.values;
    return std::find(values.begin(), values.end(), value_of(data, trajectory, condition.attribute)) != values.end();
  });
}

class Measuring {
 public:
  Measuring(const MetricsRequest& request, Group& group) : request_(request), group_(group) {
    group_.within.resize(static_cast<std::size_t>(request.max_turns));
    speedups_.resize(group_.within.size());
    for (int k = 1; k <= request.max_turns; ++k) group_.within[static_cast<std::size_t>(k) - 1].k = k;
  }

  void add_trajectory(std::span<const TurnRecord> turns, const schema::TrajectoryInfo& info) {
    for (std::size_t i = 0; i < turns.size(); ++i) count(turns, i);
    for (WithinTurns& within : group_.within)
      add_within(within, turns, std::min(within.k, info.planned_turns), info.open);
  }

  void finish() {
    for (std::size_t i = 0; i < speedups_.size(); ++i) {
      group_.within[i].median_speedup = quantile(std::move(speedups_[i].correct), 0.5);
      group_.within[i].final_speedup = quantile(std::move(speedups_[i].final), 0.5);
    }
  }

 private:
  void count(std::span<const TurnRecord> turns, std::size_t i) {
    const TurnRecord& turn = turns[i];
    const auto status = static_cast<std::size_t>(turn.status);
    ++group_.turns;
    ++group_.statuses[status];
    const bool last = i + 1 == turns.size();
    ++group_.transitions[status][last ? schema::kTurnStatuses : static_cast<std::size_t>(turns[i + 1].status)];
    add(group_.input_tokens, turn.input_tokens);
    add(group_.output_tokens, turn.output_tokens);
    add(group_.reasoning_tokens, turn.reasoning_tokens);
    add(group_.cost_usd, turn.cost_usd);
    add(group_.seconds, turn.seconds);
  }

  void add_within(WithinTurns& within, std::span<const TurnRecord> turns, int planned, bool open) {
    Speedups& speedups = speedups_[static_cast<std::size_t>(within.k) - 1];
    Truth any_correct = false, any_target = false;
    const TurnRecord* final = nullptr;
    std::int64_t present = 0;
    for (const TurnRecord& turn : turns) {
      if (turn.turn > within.k) break;
      final = &turn;
      ++present;
      const Truth correct = correct_of(turn, request_.rules), target = target_of(turn, request_.rules);
      any_correct = either(any_correct, correct);
      any_target = either(any_target, target);
      add(within.turn_correct, correct);
      add(within.turn_target, target);
      if (correct != true || !turn.speedup) continue;
      speedups.correct.push_back(*turn.speedup);
      keep_best(within.best_speedup, *turn.speedup);
      if (target == true) keep_best(within.best_target_speedup, *turn.speedup);
    }
    within.planned_turns += planned;
    within.present_turns += present;
    // Turns that never came: planned, and no success. Those that may still come are not known.
    const std::int64_t missing = std::max<std::int64_t>(0, planned - present);
    for (Rate* rate : {&within.turn_correct, &within.turn_target}) (open ? rate->unknown : rate->n) += missing;
    if (open && missing > 0) {
      any_correct = either(any_correct, std::nullopt);
      any_target = either(any_target, std::nullopt);
    }
    add(within.trajectory_correct, any_correct);
    add(within.trajectory_target, any_target);
    if (final != nullptr && correct_of(*final, request_.rules) == true && final->speedup)
      speedups.final.push_back(*final->speedup);
  }

  const MetricsRequest& request_;
  Group& group_;
  std::vector<Speedups> speedups_;
};

}  // namespace

std::string_view to_string(Attribute attribute) { return schema::enum_to_text(kAttributes, attribute); }
std::optional<Attribute> attribute_from(std::string_view text) { return schema::enum_from_text(kAttributes, text); }

std::string attribute_names() {
  std::string names;
  for (const auto& [attribute, name] : kAttributes) names += fmt::format("{}{}", names.empty() ? "" : ", ", name);
  return names;
}

std::string value_of(const schema::Observations& data, std::uint32_t trajectory, Attribute attribute) {
  const schema::TrajectoryInfo& info = data.trajectories[trajectory];
  const schema::Cell& cell = data.cells[info.cell];
  switch (attribute) {
    case Attribute::kRun: return cell.run;
    case Attribute::kModel: return cell.model;
    case Attribute::kTarget: return cell.target;
    case Attribute::kTask: return cell.task;
    case Attribute::kWorkload: return cell.workload;
    case Attribute::kPack: return info.pack;
    case Attribute::kLanguage: return cell.language;
    case Attribute::kFamily: return schema::traits_of(cell.task).family;
    case Attribute::kHeadDim: return schema::traits_of(cell.task).head_dim;
    case Attribute::kHeads: return schema::traits_of(cell.task).heads;
  }
  internal_error(__FILE__, __LINE__, "a known attribute", "a value outside its enum");
}

std::optional<double> Rate::rate() const {
  if (n == 0) return std::nullopt;
  return static_cast<double>(successes) / static_cast<double>(n);
}

std::vector<Group> measure(const schema::Observations& data, const MetricsRequest& request) {
  std::vector<Group> groups;
  std::map<std::vector<std::string>, std::size_t> index;
  constexpr std::size_t kLeftOut = SIZE_MAX;
  std::vector<std::size_t> group_of(data.trajectories.size(), kLeftOut);
  for (std::uint32_t t = 0; t < data.trajectories.size(); ++t) {
    if (!wanted(data, t, request.where)) continue;
    std::vector<std::string> key;
    for (const Attribute attribute : request.by) key.push_back(value_of(data, t, attribute));
    const auto [place, is_new] = index.emplace(key, groups.size());
    if (is_new) groups.push_back({std::move(key), {}, {}, {}, {}, {}, {}, {}, {}, {}, 0, false});
    group_of[t] = place->second;
    groups[place->second].trajectories.push_back(t);
    groups[place->second].recording |= data.cells[data.trajectories[t].cell].recording;
  }
  std::vector<Measuring> measuring;
  measuring.reserve(groups.size());
  for (Group& group : groups) measuring.emplace_back(request, group);
  std::size_t begin = 0;
  for (std::uint32_t t = 0; t < data.trajectories.size(); ++t) {
    std::size_t end = begin;
    while (end < data.turns.size() && data.turns[end].trajectory == t) ++end;
    if (group_of[t] != kLeftOut)
      measuring[group_of[t]].add_trajectory(std::span(data.turns).subspan(begin, end - begin), data.trajectories[t]);
    begin = end;
  }
  for (Measuring& one : measuring) one.finish();
  return groups;
}

std::optional<double> pass_at(const Group& group, int k, std::int64_t j) {
  const Rate& rate = group.within.at(static_cast<std::size_t>(k) - 1).trajectory_correct;
  return pass_at_k(rate.n, rate.successes, j);
}

}  // namespace ptxbench::report
