// Measures what is enqueued on a context's stream between begin() and end(): times by CUPTI activity records. One
// measurement at a time.
#pragma once

#include <functional>
#include <memory>
#include <span>
#include <vector>

#include "ptxbench/gpu/context.h"

namespace ptxbench::gpu {

class ActivityTracer;
struct Activity;

class Meter {
 public:
  explicit Meter(Context& context);
  ~Meter();

  // kTime: the L2 is emptied by a write of order.flush_bytes (and persisting lines are reset), enqueued before what is
  // measured; then an event marks the start. A profiler that cannot be had does not fail here.
  wire::Answer<void> begin(const wire::MeasureOrder& order);
  bool timing() const { return timing_; }

  // A command that was enqueued, in order.
  struct Command {
    wire::CommandKind kind = wire::CommandKind::kLaunch;
    std::uint32_t launch = 0;
  };
  // Waits at most the order's deadline, then reads the records. With `commands`, each record must match its command, or
  // the report is void; without (a library's own launches), kernels are numbered as they come.
  wire::Answer<wire::MeasureResult> end(const std::vector<Command>* commands);

  // begin, enqueue, end in one: for baselines. A trap becomes a Failure.
  wire::Answer<wire::MeasureReport> measure(const wire::MeasureOrder& order,
                                            const std::function<wire::Answer<void>()>& enqueue);

  // Before instructions are counted: tracing has to be off, and to have been on once (see counters.h).
  Status make_way_for_counting();

 private:
  Status start_tracing();
  wire::Answer<void> flush_l2(std::uint64_t bytes);

  Context& context_;
  std::unique_ptr<ActivityTracer> tracer_;
  wire::MeasureOrder order_;
  bool timing_ = false;
  std::size_t flushes_ = 0;  // records before the measured ones
  std::uint32_t flush_pattern_ = 0;
  std::string void_reason_;
  CUevent start_ = nullptr, end_ = nullptr;
};

// The report from activity records in call order, the first `flushes` of which are not part of what is measured. Void
// unless there is one record per command and of its kind. Pure, for Meter.
wire::MeasureReport match_times(const std::vector<Activity>& records, std::size_t flushes,
                                const std::vector<Meter::Command>* commands, std::uint64_t wall_ns);

}  // namespace ptxbench::gpu
