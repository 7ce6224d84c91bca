// The third layer of a verdict: device time beside that of the vendor's libraries. All times are milliseconds, and span
// the first kernel's start to the last kernel's end of one call.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "ptxbench/schema/record_basics.h"

namespace ptxbench::schema {

struct TimeSeries {
  double median_ms = 0, min_ms = 0, max_ms = 0, p10_ms = 0, p90_ms = 0;
  double spread = 0;          // (p90 - p10) / median
  double wall_median_ms = 0;  // submission to completion by the device process's clock: never shorter than the span
  int warm_ups = 0;           // calls before the first sample
  std::vector<double> samples_ms;  // in the order they were taken
};

// One kernel of a call, when there are several.
struct KernelTime {
  std::string kernel;
  int launches = 0;  // per call
  double median_ms = 0;
};

struct BaselineTime {
  std::string library, version;  // "cuBLASLt", "13.1.0"
  std::string algorithm;         // of the plan that was timed
  int plans = 0;                 // plans of this library that were tried; the fastest is this one
  bool chosen = false;           // the strongest baseline: the one that speedup refers to
  TimeSeries time;
};

// What no kernel can beat on this GPU.
struct Roofline {
  std::string gpu;                              // the table's name for it: "H200 SXM"
  double peak_tflops = 0, peak_gb_per_s = 0;    // dense, of the operand type; memory
  std::string source;                           // where these figures are from
  double flop_floor_ms = 0, byte_floor_ms = 0;  // the task's FLOPs and compulsory bytes at these rates
  double share = 0;                             // max(floors) / candidate median
};

struct Telemetry {
  double sm_mhz = 0, memory_mhz = 0, power_w = 0, temperature_c = 0;
  std::vector<std::string> throttle_reasons;
};

struct FastLayer {
  LayerState state = LayerState::kNotReached;
  std::string message;  // "not measured: no GPU"
  std::string method;   // "CUPTI kernel times, 10 warm-ups + 50 calls, ..."
  std::optional<TimeSeries> candidate;
  std::vector<KernelTime> kernels;
  std::vector<BaselineTime> baselines;  // strongest first
  std::optional<double> speedup;        // median of the strongest baseline / median of the candidate
  std::optional<double> tflops;         // the task's FLOPs / candidate median
  std::optional<Roofline> roofline;     // none: peak figures of this GPU are not known
  std::optional<Telemetry> before, after;
  int verified_calls = 0;                 // of the candidate's warm-up and timed calls, outputs checked
  std::int64_t verified_rows = 0;         // rows compared with exact values, over all of these calls
  std::vector<std::string> notes;         // what a reader should know and what does not void the times
  std::vector<std::string> void_reasons;  // kVoid only

  const BaselineTime* strongest() const {
    for (const BaselineTime& baseline : baselines)
      if (baseline.chosen) return &baseline;
    return nullptr;
  }
};

}  // namespace ptxbench::schema
