#include "ptxbench/judge/time_rules.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cmath>
#include <map>

#include "ptxbench/judge/peak.h"

namespace ptxbench::judge {
namespace {

using schema::FastLayer;
using schema::TimeSeries;

// How far the two clocks may be apart. A span may exceed the events around it by their resolution only; the events
// enclose launch latency as well.
constexpr double kSpanOverWall = 1.02, kSpanSlackMs = 0.005;
constexpr double kWallOverSpan = 1.10, kWallSlackMs = 0.050;

// Linear between neighbours; values are sorted.
double quantile(const std::vector<double>& sorted, double q) {
  const double at = q * static_cast<double>(sorted.size() - 1);
  const std::size_t low = static_cast<std::size_t>(at);
  const std::size_t high = std::min(low + 1, sorted.size() - 1);
  return sorted[low] + (at - static_cast<double>(low)) * (sorted[high] - sorted[low]);
}

double median(std::vector<double> values) {
  std::sort(values.begin(), values.end());
  return quantile(values, 0.5);
}

class Reasons {
 public:
  explicit Reasons(FastLayer& layer) : layer_(layer) {}
  void add(std::string reason) {
    auto& reasons = layer_.void_reasons;
    if (std::find(reasons.begin(), reasons.end(), reason) == reasons.end()) reasons.push_back(std::move(reason));
  }
  void note(std::string text) { layer_.notes.push_back(std::move(text)); }

 private:
  FastLayer& layer_;
};

// True when every call has times, as many as the first.
bool complete(std::string_view who, const Calls& calls, int warm_ups, Reasons& reasons) {
  if (static_cast<int>(calls.size()) <= warm_ups) {
    reasons.add(fmt::format("{}: no call was timed", who));
    return false;
  }
  for (std::size_t i = 0; i < calls.size(); ++i) {
    const wire::MeasureReport& call = calls[i];
    const std::string_view kind = static_cast<int>(i) < warm_ups ? "warm-up " : "";
    if (!call.void_reason.empty()) {
      reasons.add(fmt::format("{}: {}call {} has no times: {}", who, kind, i, call.void_reason));
      return false;
    }
    if (call.times.empty() || span_ms(call) <= 0 || call.times.size() != calls[0].times.size()) {
      reasons.add(fmt::format("{}: {}call {} brought times of {} commands, the first one of {}", who, kind, i,
                              call.times.size(), calls[0].times.size()));
      return false;
    }
  }
  return true;
}

void compare_clocks(std::string_view who, const TimeSeries& series, Reasons& reasons) {
  const double span = series.median_ms, wall = series.wall_median_ms;
  if (span > kSpanOverWall * wall + kSpanSlackMs)
    reasons.add(
        fmt::format("{}: the activity records span {:.4f} ms, the events around them {:.4f} ms", who, span, wall));
  if (wall > kWallOverSpan * span + kWallSlackMs)
    reasons.add(fmt::format("{}: the device was busy for {:.4f} ms and its activity records explain {:.4f} ms", who,
                            wall, span));
  if (series.spread > kSpreadVoid)
    reasons.add(fmt::format("{}: the samples scatter by {:.0f} % (10th to 90th percentile)", who, 100 * series.spread));
  else if (series.spread > kSpreadNoted)
    reasons.note(
        fmt::format("{}: the samples scatter by {:.0f} % (10th to 90th percentile)", who, 100 * series.spread));
}

void per_kernel(const TimingData& data, FastLayer& layer) {
  std::map<std::string, std::vector<double>> times;  // of each timed call
  std::map<std::string, int> launches;
  std::vector<std::string> order;
  for (std::size_t i = static_cast<std::size_t>(data.warm_ups); i < data.candidate.size(); ++i) {
    std::map<std::string, double> sums;
    for (const wire::CommandTime& time : data.candidate[i].times) {
      std::string name = time.kind != wire::CommandKind::kLaunch ? "(copies and fills)"
                         : time.launch < data.kernels.size()     ? data.kernels[time.launch]
                                                                 : fmt::format("launch {}", time.launch);
      if (!launches.contains(name)) order.push_back(name);
      ++launches[name];
      sums[name] += static_cast<double>(time.end_ns - time.start_ns) * 1e-6;
    }
    for (const auto& [name, sum] : sums) times[name].push_back(sum);
  }
  const int calls = static_cast<int>(data.candidate.size()) - data.warm_ups;
  for (const std::string& name : order) layer.kernels.push_back({name, launches[name] / calls, median(times[name])});
}

void take_baselines(const TimingData& data, FastLayer& layer, Reasons& reasons) {
  for (const BaselineCalls& baseline : data.baselines) {
    const std::string who = "baseline " + baseline.plan.library;
    if (!complete(who, baseline.calls, data.warm_ups, reasons)) continue;
    TimeSeries series = summarise(baseline.calls, data.warm_ups);
    compare_clocks(who, series, reasons);
    layer.baselines.push_back({baseline.plan.library, baseline.plan.version, baseline.plan.description, baseline.plans,
                               false, std::move(series)});
  }
  std::stable_sort(layer.baselines.begin(), layer.baselines.end(),
                   [](const auto& a, const auto& b) { return a.time.median_ms < b.time.median_ms; });
  if (!layer.baselines.empty()) layer.baselines.front().chosen = true;
  if (data.baselines.empty())
    reasons.add(fmt::format("there is no baseline: {}",
                            data.baseline_problem.empty() ? "no library offered a plan" : data.baseline_problem));
  else if (!data.baseline_problem.empty())
    reasons.note("a library is missing: " + data.baseline_problem);
}

void hold_against_roofline(const TimingData& data, FastLayer& layer, Reasons& reasons) {
  const PeakFigures* peak = peak_figures(data.before.device_name);
  if (peak == nullptr)
    return reasons.note(fmt::format("the peak figures of '{}' are not known: times were not held against a roofline",
                                    data.before.device_name));
  schema::Roofline& roofline = layer.roofline.emplace();
  roofline.gpu = peak->name;
  roofline.peak_tflops = peak->bf16_tflops;
  roofline.peak_gb_per_s = peak->gb_per_s;
  roofline.source = peak->source;
  roofline.flop_floor_ms = flop_floor_ms(*peak, data.required_flops);
  roofline.byte_floor_ms = byte_floor_ms(*peak, data.compulsory_bytes);
  roofline.share = std::max(roofline.flop_floor_ms, roofline.byte_floor_ms) / layer.candidate->median_ms;
  const double least = std::max(flop_floor_ms(*peak, data.required_flops, data.before.max_sm_mhz),
                                byte_floor_ms(*peak, data.input_bytes));
  if (layer.candidate->min_ms < least)
    reasons.add(fmt::format("a call took {:.4f} ms, and no {} can do the task in less than {:.4f} ms",
                            layer.candidate->min_ms, peak->name, least));
}

schema::Telemetry recorded(const wire::Telemetry& from) {
  return {static_cast<double>(from.sm_mhz), static_cast<double>(from.memory_mhz), from.power_w,
          static_cast<double>(from.temperature_c), from.throttle_reasons};
}

// Slowed down for heat or supply: such a time is not the kernel's. A power cap is how these cards run heavy kernels.
bool is_fault(std::string_view reason) {
  for (const std::string_view word : {"thermal", "slowdown", "brake"})
    if (reason.find(word) != std::string_view::npos) return true;
  return false;
}

void look_at_the_card(const TimingData& data, FastLayer& layer, Reasons& reasons) {
  layer.before = recorded(data.before);
  layer.after = recorded(data.after);
  if (data.before.mig)
    reasons.note(
        "a MIG slice: clocks, power and throttle reasons are those of the whole card, whose other slices share "
        "its power and its memory's bandwidth");
  for (const wire::Telemetry* state : {&data.before, &data.after}) {
    if (state->sm_mhz == 0 || state->memory_mhz == 0)
      reasons.add(
          fmt::format("clocks and throttle reasons could not be read: {}",
                      state->missing.empty() ? "no reason given" : fmt::format("{}", fmt::join(state->missing, "; "))));
    for (const std::string& reason : state->throttle_reasons)
      if (is_fault(reason)) reasons.add(fmt::format("the card was throttled: {}", reason));
  }
  for (const std::string& reason : data.after.throttle_reasons)
    if (!is_fault(reason)) reasons.note(fmt::format("clocks were limited: {}", reason));
  const double before = data.before.sm_mhz, after = data.after.sm_mhz;
  if (before > 0 && std::abs(after / before - 1) > kClockNoted)
    reasons.note(fmt::format("the multiprocessor clock went from {:.0f} to {:.0f} MHz", before, after));
  if (data.before.memory_mhz != data.after.memory_mhz)
    reasons.add(fmt::format("the memory clock went from {} to {} MHz", data.before.memory_mhz, data.after.memory_mhz));
}

}  // namespace

double span_ms(const wire::MeasureReport& call) {
  if (call.times.empty()) return 0;
  std::uint64_t start = call.times[0].start_ns, end = call.times[0].end_ns;
  for (const wire::CommandTime& time : call.times)
    start = std::min(start, time.start_ns), end = std::max(end, time.end_ns);
  return end > start ? static_cast<double>(end - start) * 1e-6 : 0;
}

TimeSeries summarise(const Calls& calls, int warm_ups) {
  TimeSeries series;
  series.warm_ups = warm_ups;
  std::vector<double> walls;
  for (std::size_t i = static_cast<std::size_t>(warm_ups); i < calls.size(); ++i) {
    series.samples_ms.push_back(span_ms(calls[i]));
    walls.push_back(static_cast<double>(calls[i].wall_ns) * 1e-6);
  }
  std::vector<double> sorted = series.samples_ms;
  std::sort(sorted.begin(), sorted.end());
  series.min_ms = sorted.front();
  series.max_ms = sorted.back();
  series.median_ms = quantile(sorted, 0.5);
  series.p10_ms = quantile(sorted, 0.1);
  series.p90_ms = quantile(sorted, 0.9);
  series.spread = (series.p90_ms - series.p10_ms) / series.median_ms;
  series.wall_median_ms = median(std::move(walls));
  return series;
}

FastLayer judge_times(const TimingData& data) {
  FastLayer layer;
  Reasons reasons(layer);
  layer.verified_calls = data.verified_calls;
  layer.verified_rows = data.verified_rows;
  if (complete("the candidate", data.candidate, data.warm_ups, reasons)) {
    layer.candidate = summarise(data.candidate, data.warm_ups);
    layer.tflops = static_cast<double>(data.required_flops) / layer.candidate->median_ms * 1e-9;
    compare_clocks("the candidate", *layer.candidate, reasons);
    per_kernel(data, layer);
    hold_against_roofline(data, layer, reasons);
  }
  take_baselines(data, layer, reasons);
  look_at_the_card(data, layer, reasons);
  if (data.verified_calls != static_cast<int>(data.candidate.size()))
    reasons.add(fmt::format("the outputs of {} of {} calls were verified", data.verified_calls, data.candidate.size()));
  if (layer.candidate && layer.strongest() != nullptr)
    layer.speedup = layer.strongest()->time.median_ms / layer.candidate->median_ms;
  layer.state = layer.void_reasons.empty() ? schema::LayerState::kPassed : schema::LayerState::kVoid;
  if (!layer.void_reasons.empty()) layer.message = fmt::format("{}", fmt::join(layer.void_reasons, "; "));
  return layer;
}

}  // namespace ptxbench::judge
