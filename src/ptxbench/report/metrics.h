// Rates, speed-ups and costs of groups of trajectories, within the first k turns. Everything is counted from turns;
// evidence that is missing is counted apart and enters no rate.
//
// By trajectory: at least one turn within k is a success. By planned turn: successes over trajectories x k, so that a
// turn that never came (a trajectory that ended early) counts as none; this is the kind that the PTXBench paper quotes.
// The missing turns of a trajectory that is not over are unknown instead.
// A trajectory that ends at its first success has fewer turns than planned: read its turn rate together with `present`.
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "ptxbench/report/stats.h"
#include "ptxbench/schema/observations.h"
#include "ptxbench/schema/verdict.h"

namespace ptxbench::report {

// The last three come from the task's name (schema::TaskTraits).
enum class Attribute { kRun, kModel, kTarget, kTask, kWorkload, kPack, kLanguage, kFamily, kHeadDim, kHeads };
std::string_view to_string(Attribute attribute);  // "run", "model", ...
std::optional<Attribute> attribute_from(std::string_view text);
std::string attribute_names();  // "run, model, ..."
std::string value_of(const schema::Observations& data, std::uint32_t trajectory, Attribute attribute);

struct Rate {
  std::int64_t successes = 0;
  std::int64_t n = 0;        // without the unknown ones
  std::int64_t unknown = 0;  // could be either: the evidence is missing
  std::optional<double> rate() const;
  Interval interval() const { return wilson(successes, n); }
};

struct WithinTurns {
  int k = 0;
  std::int64_t planned_turns = 0, present_turns = 0;
  Rate trajectory_correct, trajectory_target, turn_correct, turn_target;
  std::optional<double> best_speedup;         // of correct turns
  std::optional<double> best_target_speedup;  // of turns that are correct with the target's instructions
  std::optional<double> median_speedup;       // of correct turns that were timed
  std::optional<double> final_speedup;  // median over the trajectories whose last turn within k is correct and timed
};

// From one turn's status to the next turn's in the same trajectory; the last column: no next turn.
using Transitions = std::array<std::array<std::int64_t, schema::kTurnStatuses + 1>, schema::kTurnStatuses>;

// Totals that are known for `turns` of all turns; a sum over fewer is a lower bound.
struct Total {
  double sum = 0;
  std::int64_t turns = 0;
};

struct Group {
  std::vector<std::string> key;  // one value per attribute that was grouped by
  std::vector<std::uint32_t> trajectories;
  std::vector<WithinTurns> within;                             // k = 1 ... max_turns
  std::array<std::int64_t, schema::kTurnStatuses> statuses{};  // of all turns
  Transitions transitions{};
  Total input_tokens, output_tokens, reasoning_tokens, cost_usd, seconds;
  std::int64_t turns = 0;
  bool recording = false;  // holds answers that come from a recording
};

// Only trajectories whose attribute has one of these values.
struct Condition {
  Attribute attribute = Attribute::kModel;
  std::vector<std::string> values;
};

struct MetricsRequest {
  std::vector<Condition> where;  // all of them
  std::vector<Attribute> by{Attribute::kModel, Attribute::kTarget, Attribute::kTask};
  schema::RuleSet rules = schema::RuleSet::kPaper;
  int max_turns = 8;
};

// Groups in the order of their first trajectory. Time grows linearly with the number of turns.
std::vector<Group> measure(const schema::Observations& data, const MetricsRequest& request);

// The group's correct trajectories within k as samples of pass@j.
std::optional<double> pass_at(const Group& group, int k, std::int64_t j);

}  // namespace ptxbench::report
