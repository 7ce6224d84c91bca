#include "ptxbench/gpu/activity.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstdlib>
#include <mutex>

namespace ptxbench::gpu {
namespace {

constexpr std::size_t kBufferBytes = 256 << 10;  // about 1000 records
constexpr CUpti_ActivityKind kKinds[] = {CUPTI_ACTIVITY_KIND_CONCURRENT_KERNEL, CUPTI_ACTIVITY_KIND_MEMCPY,
                                         CUPTI_ACTIVITY_KIND_MEMSET};

// CUPTI's callbacks have no user pointer and come from a thread of its own.
struct Received {
  std::mutex mutex;
  const Cupti* cupti = nullptr;
  std::vector<Activity> activities;
  std::size_t dropped = 0;
};
Received& received() {
  static Received instance;
  return instance;
}

wire::CommandKind kind_of(std::uint8_t copy) {
  switch (copy) {
    case CUPTI_ACTIVITY_MEMCPY_KIND_HTOD: return wire::CommandKind::kHostWrite;
    case CUPTI_ACTIVITY_MEMCPY_KIND_DTOH: return wire::CommandKind::kHostRead;
    default: return wire::CommandKind::kCopy;
  }
}

void add(const CUpti_Activity* record, std::vector<Activity>& out) {
  switch (record->kind) {
    case CUPTI_ACTIVITY_KIND_CONCURRENT_KERNEL: {
      // Version 9 is a prefix of what CUPTI 13 writes (version 10) and what CUPTI 12.8 writes.
      const auto* kernel = reinterpret_cast<const CUpti_ActivityKernel9*>(record);
      out.push_back({kernel->correlationId, wire::CommandKind::kLaunch, kernel->start, kernel->end});
      break;
    }
    case CUPTI_ACTIVITY_KIND_MEMCPY: {
      const auto* copy = reinterpret_cast<const CUpti_ActivityMemcpy5*>(record);
      out.push_back({copy->correlationId, kind_of(copy->copyKind), copy->start, copy->end});
      break;
    }
    case CUPTI_ACTIVITY_KIND_MEMSET: {
      const auto* fill = reinterpret_cast<const CUpti_ActivityMemset4*>(record);
      out.push_back({fill->correlationId, wire::CommandKind::kFill, fill->start, fill->end});
      break;
    }
    default: break;
  }
}

void CUPTIAPI buffer_requested(std::uint8_t** buffer, std::size_t* size, std::size_t* max_records) {
  *buffer = static_cast<std::uint8_t*>(std::aligned_alloc(64, kBufferBytes));
  *size = *buffer == nullptr ? 0 : kBufferBytes;
  *max_records = 0;  // as many as fit
}

void CUPTIAPI buffer_completed(CUcontext context, std::uint32_t stream, std::uint8_t* buffer, std::size_t,
                               std::size_t valid) {
  Received& sink = received();
  const std::lock_guard lock(sink.mutex);
  CUpti_Activity* record = nullptr;
  while (sink.cupti->activity_next(buffer, valid, &record) == CUPTI_SUCCESS) add(record, sink.activities);
  std::size_t dropped = 0;
  if (sink.cupti->activity_dropped(context, stream, &dropped) == CUPTI_SUCCESS) sink.dropped += dropped;
  std::free(buffer);
}

}  // namespace

std::vector<Activity> in_call_order(std::vector<Activity> activities) {
  std::ranges::sort(activities, {}, [](const Activity& a) { return std::pair(a.correlation, a.start_ns); });
  std::vector<Activity> joined;
  for (const Activity& next : activities) {
    if (!joined.empty() && joined.back().correlation == next.correlation) {
      joined.back().end_ns = std::max(joined.back().end_ns, next.end_ns);
    } else {
      joined.push_back(next);
    }
  }
  return joined;
}

Status ActivityTracer::start() {
  if (running_) return {};
  {
    const std::lock_guard lock(received().mutex);
    received().cupti = &cupti_;
    received().activities.clear();
    received().dropped = 0;
  }
  PTXBENCH_TRY_STATUS(
      cupti_.check(cupti_.activity_callbacks(buffer_requested, buffer_completed), "cuptiActivityRegisterCallbacks"));
  for (const CUpti_ActivityKind kind : kKinds) {
    if (Status on = cupti_.check(cupti_.activity_enable(kind), "cuptiActivityEnable"); !on) {
      running_ = true;  // so that stop() turns off what is on
      stop();
      return on;
    }
  }
  running_ = true;
  return {};
}

void ActivityTracer::stop() {
  if (!running_) return;
  running_ = false;
  for (const CUpti_ActivityKind kind : kKinds) cupti_.activity_disable(kind);
  cupti_.activity_flush(CUPTI_ACTIVITY_FLAG_FLUSH_FORCED);
}

Result<std::vector<Activity>> ActivityTracer::take() {
  PTXBENCH_TRY_STATUS(cupti_.check(cupti_.activity_flush(0), "cuptiActivityFlushAll"));
  const std::lock_guard lock(received().mutex);
  if (received().dropped > 0) {
    return fail(ErrorKind::kUnavailable, fmt::format("CUPTI dropped {} activity records", received().dropped));
  }
  return std::exchange(received().activities, {});
}

}  // namespace ptxbench::gpu
