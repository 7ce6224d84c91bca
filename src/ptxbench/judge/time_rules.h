// What measured calls amount to: statistics, and the rules under which a measurement is void. No device is touched here.
//
// The times are void, each with its reason, when
// - a call brought no times (no profiler, no permission), or calls differ in their number of commands;
// - the device's own two clocks disagree: the span of the activity records is longer than the time between the events
//   around them, or the events enclose much more than the records explain (work that no record shows);
// - a call was faster than the GPU can be: the task's FLOPs at the highest clock, or its inputs read once from memory
//   (outputs may still be in the L2);
// - the card slowed down for its temperature or supply, changed its memory clock, or could not be asked;
// - a call of the candidate was not verified, there is no baseline, or the samples scatter by more than half.
// A power cap, a changed multiprocessor clock and a wide spread are notes: they hit candidate and baseline alike, because
// the calls alternate.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "ptxbench/schema/fast_layer.h"
#include "ptxbench/wire/records.h"

namespace ptxbench::judge {

inline constexpr double kSpreadNoted = 0.1, kSpreadVoid = 0.5;
inline constexpr double kClockNoted = 0.05;  // relative change of the multiprocessor clock

// Calls of one side, warm-ups first.
using Calls = std::vector<wire::MeasureReport>;

struct BaselineCalls {
  wire::BaselinePlan plan;
  int plans = 1;  // of its library that were tried
  Calls calls;
  std::uint32_t number = 0;  // the plan's, among all that were offered
};

struct TimingData {
  int warm_ups = 0;  // of each series
  Calls candidate;
  std::vector<BaselineCalls> baselines;
  std::string baseline_problem;      // why a library is missing; empty: none is
  std::vector<std::string> kernels;  // by launch index, readable
  int verified_calls = 0;
  std::int64_t verified_rows = 0;
  wire::Telemetry before, after;
  std::uint64_t required_flops = 0, compulsory_bytes = 0, input_bytes = 0;
};

// First start to last end of a call's commands, in milliseconds; 0 without times.
double span_ms(const wire::MeasureReport& call);

// Of the calls behind the warm-ups; all calls must have times.
schema::TimeSeries summarise(const Calls& calls, int warm_ups);

// The layer with its state: passed or void. method is left to the caller.
schema::FastLayer judge_times(const TimingData& data);

}  // namespace ptxbench::judge
