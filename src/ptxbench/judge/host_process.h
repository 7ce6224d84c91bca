// The candidate's host code in its sandboxed process: starts it, waits for its word, and says how it ended.
#pragma once

#include <chrono>
#include <optional>
#include <string>

#include "ptxbench/judge/device_process.h"
#include "ptxbench/judge/runner.h"
#include "ptxbench/wire/host_orders.h"

namespace ptxbench::judge {

struct HostProcess {
  Child child;
  wire::Connection orders;
};

// With its orders on the way. device_end: its connection to the device.
Result<HostProcess> start_host(const RunRequest& request, const wire::HostOrders& orders,
                               const wire::Connection& device_end);

struct HostWait {
  bool ready = false;
  bool timed_out = false;
  bool cancelled = false;
  bool bad_message = false;
  std::optional<wire::HostResult> result;
};

// Until the host reports, the host or the device ends, or the time since `start` is over. Sets times.host_start.
HostWait wait_for_host(HostProcess& host, Child& device, std::chrono::steady_clock::time_point start,
                       std::chrono::milliseconds limit, RunTimes& times);

// How the host ended, into outcome.
void classify(const HostWait& wait, const Exit& exit, RunOutcome& outcome);

}  // namespace ptxbench::judge
