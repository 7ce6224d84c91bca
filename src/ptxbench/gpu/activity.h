// CUPTI's activity records: when each kernel, copy and fill ran on the device.
#pragma once

#include <cstdint>
#include <vector>

#include "ptxbench/gpu/cupti.h"
#include "ptxbench/wire/records.h"

namespace ptxbench::gpu {

// One API call's work on the device.
struct Activity {
  std::uint32_t correlation = 0;                        // grows with each API call
  wire::CommandKind kind = wire::CommandKind::kLaunch;  // kLaunch, kCopy (on the device), kHostWrite, kHostRead, kFill
  std::uint64_t start_ns = 0, end_ns = 0;
};

// Sorted by correlation; the pieces of one call (a large copy from pageable memory has several) joined.
std::vector<Activity> in_call_order(std::vector<Activity> activities);

// One per process at a time: CUPTI has one set of callbacks.
class ActivityTracer {
 public:
  explicit ActivityTracer(const Cupti& cupti) : cupti_(cupti) {}
  ActivityTracer(const ActivityTracer&) = delete;
  ActivityTracer& operator=(const ActivityTracer&) = delete;
  ~ActivityTracer() { stop(); }

  Status start();  // does nothing if it runs
  void stop();
  // What has been recorded since the last call. The device must be idle.
  Result<std::vector<Activity>> take();

 private:
  const Cupti& cupti_;
  bool running_ = false;
};

}  // namespace ptxbench::gpu
