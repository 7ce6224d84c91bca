#include "ptxbench/gpu/meter.h"

#include <fmt/format.h>

#include <cmath>

#include "ptxbench/gpu/activity.h"
#include "ptxbench/gpu/faults.h"

namespace ptxbench::gpu {

using wire::Answer;
using wire::Code;

Meter::Meter(Context& context) : context_(context) {}
Meter::~Meter() = default;

Status Meter::start_tracing() {
  if (!tracer_) {
    PTXBENCH_TRY(const Cupti* cupti, open_cupti());
    tracer_ = std::make_unique<ActivityTracer>(*cupti);
  }
  PTXBENCH_TRY_STATUS(tracer_->start());
  // What other commands left behind.
  PTXBENCH_TRY([[maybe_unused]] const std::vector<Activity> old, tracer_->take());
  return {};
}

Status Meter::make_way_for_counting() {
  if (!tracer_) PTXBENCH_TRY_STATUS(start_tracing());
  tracer_->stop();
  return {};
}

Answer<void> Meter::flush_l2(std::uint64_t bytes) {
  const Driver& driver = context_.driver();
  if (const CUresult r = driver.context_reset_persisting_l2(); r != CUDA_SUCCESS && r != CUDA_ERROR_NOT_SUPPORTED) {
    return context_.failure(r, "cuCtxResetPersistingL2Cache");
  }
  flushes_ = 0;
  if (bytes < 4) return {};
  Answer<std::uint64_t> block = context_.scratch("L2 flush", bytes);
  if (!block) return tl::unexpected(block.error());
  if (const CUresult r = driver.fill32(*block, ++flush_pattern_, bytes / 4, context_.stream()); r != CUDA_SUCCESS) {
    return context_.failure(r, "cuMemsetD32Async of the L2 flush");
  }
  flushes_ = 1;
  return {};
}

Answer<void> Meter::begin(const wire::MeasureOrder& order) {
  order_ = order;
  void_reason_.clear();
  timing_ = false;
  if (auto ok = context_.usable(); !ok) return ok;
  if (order.mode != wire::ReplayMode::kTime) return {};
  const Driver& driver = context_.driver();
  for (CUevent* event : {&start_, &end_}) {
    if (*event != nullptr) continue;
    if (const CUresult r = driver.event_create(event, CU_EVENT_DEFAULT); r != CUDA_SUCCESS) {
      return context_.failure(r, "cuEventCreate");
    }
  }
  if (Status traced = start_tracing(); !traced) void_reason_ = traced.error().format();
  if (auto flushed = flush_l2(order.flush_bytes); !flushed) return flushed;
  if (const CUresult r = driver.event_record(start_, context_.stream()); r != CUDA_SUCCESS) {
    return context_.failure(r, "cuEventRecord");
  }
  timing_ = true;
  return {};
}

Answer<wire::MeasureResult> Meter::end(const std::vector<Command>* commands) {
  wire::MeasureResult result;
  const bool timed = std::exchange(timing_, false);
  if (!context_.usable()) return result;  // a launch has told already, and waiting again would take as long again
  if (timed) context_.driver().event_record(end_, context_.stream());  // a fault shows in the wait
  const Context::Wait wait = context_.wait(order_.deadline);
  if (wait.end != Context::End::kDone) {
    result.trap = trap_of(wait, order_.deadline, context_.driver(), "one of the commands of a replay");
    result.code = code_of(wait.result);
    return result;
  }
  if (!timed) return result;
  float milliseconds = 0;
  if (const CUresult r = context_.driver().event_elapsed(&milliseconds, start_, end_); r != CUDA_SUCCESS) {
    return context_.failure(r, "cuEventElapsedTime");
  }
  result.report.wall_ns = static_cast<std::uint64_t>(std::llround(double{milliseconds} * 1e6));
  if (void_reason_.empty()) {
    if (Result<std::vector<Activity>> records = tracer_->take()) {
      result.report = match_times(in_call_order(std::move(*records)), flushes_, commands, result.report.wall_ns);
    } else {
      void_reason_ = records.error().format();
    }
  }
  if (!void_reason_.empty()) result.report.void_reason = void_reason_;
  return result;
}

wire::MeasureReport match_times(const std::vector<Activity>& records, std::size_t flushes,
                                const std::vector<Meter::Command>* commands, std::uint64_t wall_ns) {
  wire::MeasureReport report;
  report.wall_ns = wall_ns;
  const std::size_t found = records.size() < flushes ? 0 : records.size() - flushes;
  if (records.size() < flushes || (commands != nullptr && found != commands->size()) || found == 0) {
    report.void_reason = fmt::format("CUPTI gave {} activity records for {} commands", records.size(),
                                     flushes + (commands == nullptr ? 1 : commands->size()));
    return report;
  }
  std::uint32_t kernels = 0;
  for (std::size_t i = 0; i < found; ++i) {
    const Activity& record = records[flushes + i];
    const bool kernel = record.kind == wire::CommandKind::kLaunch;
    if (commands != nullptr && (*commands)[i].kind != record.kind) {
      report.times.clear();
      report.void_reason = fmt::format("CUPTI's record {} is of another kind than command {}", flushes + i, i);
      return report;
    }
    const std::uint32_t launch = commands != nullptr ? (*commands)[i].launch : kernel ? kernels : 0;
    kernels += kernel;
    report.times.push_back({launch, record.start_ns, record.end_ns, record.kind});
  }
  return report;
}

Answer<wire::MeasureReport> Meter::measure(const wire::MeasureOrder& order,
                                           const std::function<Answer<void>()>& enqueue) {
  if (auto begun = begin(order); !begun) return tl::unexpected(begun.error());
  const Answer<void> enqueued = enqueue();
  Answer<wire::MeasureResult> ended = end(nullptr);
  if (!enqueued) return tl::unexpected(enqueued.error());
  if (!ended) return tl::unexpected(ended.error());
  if (ended->trap) return wire::refuse(ended->code, ended->trap->text);
  if (auto ok = context_.usable(); !ok) return tl::unexpected(ok.error());
  return std::move(ended->report);
}

}  // namespace ptxbench::gpu
