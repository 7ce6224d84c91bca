// What the layers that measure must hold: Verdict::create()'s rules for executed and fast.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "ptxbench/schema/contradictions.h"
#include "ptxbench/schema/verdict.h"

namespace ptxbench::schema {
namespace {

void check_void(std::string_view layer, LayerState state, const std::vector<std::string>& reasons,
                Contradictions& found) {
  found.require((state == LayerState::kVoid) == !reasons.empty(),
                fmt::format("layer {} is {} {} reasons for being void", layer, to_string(state),
                            reasons.empty() ? "without" : "with"));
}

void check_series(std::string_view what, const TimeSeries& series, Contradictions& found) {
  if (series.samples_ms.empty()) return found.require(false, fmt::format("{} has no samples", what));
  const auto [low, high] = std::minmax_element(series.samples_ms.begin(), series.samples_ms.end());
  const bool ordered = *low == series.min_ms && series.min_ms <= series.p10_ms && series.p10_ms <= series.median_ms &&
                       series.median_ms <= series.p90_ms && series.p90_ms <= series.max_ms && *high == series.max_ms;
  found.require(ordered && series.min_ms > 0, fmt::format("{}: its figures are not those of its samples", what));
}

void check_times(const FastLayer& layer, Contradictions& found) {
  const BaselineTime* strongest = layer.strongest();
  found.require(layer.candidate.has_value(), "layer fast passed without times of the candidate");
  found.require(strongest != nullptr, "layer fast passed without a chosen baseline");
  if (!layer.candidate || strongest == nullptr) return;
  check_series("the candidate", *layer.candidate, found);
  for (const BaselineTime& baseline : layer.baselines) {
    check_series(baseline.library, baseline.time, found);
    found.require(baseline.time.median_ms >= strongest->time.median_ms,
                  fmt::format("baseline {} is faster than the chosen one", baseline.library));
  }
  const double ratio = strongest->time.median_ms / layer.candidate->median_ms;
  found.require(layer.speedup && std::abs(*layer.speedup / ratio - 1) < 1e-6,
                "the speed-up is not the ratio of the medians");
  const int calls = layer.candidate->warm_ups + static_cast<int>(layer.candidate->samples_ms.size());
  found.require(layer.verified_calls == calls,
                fmt::format("{} of {} timed calls were verified", layer.verified_calls, calls));
}

}  // namespace

void check_executed(const VerdictFields& fields, Contradictions& found) {
  const ExecutedLayer& layer = fields.executed;
  const bool deciding = fields.rules == RuleSet::kStrict ? layer.strict_passed : layer.paper_passed;
  if (layer.state == LayerState::kPassed)
    found.require(deciding, fmt::format("layer executed passed, but not under the {} rules", to_string(fields.rules)));
  if (layer.state == LayerState::kFailed)
    found.require(!deciding, fmt::format("layer executed failed, but meets the {} rules", to_string(fields.rules)));
  bool target_ran = false;
  for (const InstructionCount& count : layer.families) target_ran |= count.target && count.thread_instructions > 0;
  found.require(target_ran || (!layer.paper_passed && !layer.strict_passed),
                "layer executed claims its rules without a predicate-true target instruction");
  check_void("executed", layer.state, layer.void_reasons, found);
}

void check_fast(const VerdictFields& fields, Contradictions& found) {
  check_void("fast", fields.fast.state, fields.fast.void_reasons, found);
  if (fields.fast.state == LayerState::kPassed) check_times(fields.fast, found);
}

}  // namespace ptxbench::schema
