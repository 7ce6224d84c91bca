#include "ptxbench/judge/host_process.h"

#include <poll.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>

namespace ptxbench::judge {
namespace {

using Clock = std::chrono::steady_clock;
using std::chrono::milliseconds;

constexpr int kOrdersFd = 3, kDeviceFd = 4;  // numbers of the sockets in the child

double since(Clock::time_point start) {
  return std::chrono::duration<double, std::milli>(Clock::now() - start).count();
}

// Reads one message of the host. False: there is no more to come.
bool take_message(HostProcess& host, HostWait& wait) {
  wire::Header header;
  std::string payload;
  switch (host.orders.receive(header, payload, wire::kMaxHostPayload)) {
    case wire::Connection::Receive::kClosed: return false;
    case wire::Connection::Receive::kMalformed: wait.bad_message = true; return false;
    case wire::Connection::Receive::kMessage: break;
  }
  if (header.type == static_cast<std::uint16_t>(wire::HostMessage::kReady)) {
    wait.ready = true;
    return true;
  }
  wire::HostResult result;
  wait.bad_message =
      header.type != static_cast<std::uint16_t>(wire::HostMessage::kResult) || !wire::decode(payload, result);
  if (!wait.bad_message) wait.result = std::move(result);
  return false;
}

}  // namespace

Result<HostProcess> start_host(const RunRequest& request, const wire::HostOrders& orders,
                               const wire::Connection& device_end) {
  wire::Connection ours, theirs;
  if (!wire::make_pair(ours, theirs)) return fail(ErrorKind::kUnavailable, "no socket pair: too many open files?");
  SandboxPolicy policy;
  policy.profile = SandboxProfile::kCandidate;
  policy.read_only = system_library_paths();
  policy.read_only.push_back(request.shim_folder);
  policy.read_only.push_back(request.artifact);
  policy.read_only.push_back(request.host_program);
  policy.limits.cpu_seconds = static_cast<std::uint64_t>(request.limits.host_cpu.count());
  policy.limits.memory_bytes = request.limits.host_memory;
  policy.limits.open_files = 64;

  Command command;
  command.argv = {request.host_program.string(), "--orders-fd", std::to_string(kOrdersFd)};
  command.environment = {"LD_LIBRARY_PATH=" + request.shim_folder.string(),
                         "PTXBENCH_DEVICE_FD=" + std::to_string(kDeviceFd), "LC_ALL=C.UTF-8"};
  command.stdout_to = OutputTo::capture(request.limits.output_bytes);
  command.stderr_to = OutputTo::capture(request.limits.output_bytes);
  command.inherited = {{theirs.fd(), kOrdersFd}, {device_end.fd(), kDeviceFd}};
  command.sandbox = policy;
  PTXBENCH_TRY(Child child, Child::start(command));

  wire::Header header;
  header.type = static_cast<std::uint16_t>(wire::HostMessage::kOrders);
  const std::string payload = wire::encode(orders);
  if (payload.size() > wire::kMaxHostPayload) return fail(ErrorKind::kTooLarge, "too many arguments for one call");
  ours.send(header, payload);  // a host that is gone already shows in its exit
  ours.set_timeout(1'000);     // a candidate may stop in the middle of a message
  return HostProcess{std::move(child), std::move(ours)};
}

HostWait wait_for_host(HostProcess& host, Child& device, Clock::time_point start, milliseconds limit, RunTimes& times) {
  HostWait wait;
  const Clock::time_point deadline = start + limit;
  bool listening = true;
  while (true) {
    const auto left = std::chrono::duration_cast<milliseconds>(deadline - Clock::now()).count();
    wait.timed_out = left <= 0;
    wait.cancelled = cancelled();
    if (wait.timed_out || wait.cancelled) return wait;
    pollfd watched[3] = {{host.child.poll_fd(), POLLIN, 0},
                         {device.poll_fd(), POLLIN, 0},
                         {listening ? host.orders.fd() : -1, POLLIN, 0}};
    // In slices, so that cancel_all() is seen soon.
    if (::poll(watched, 3, static_cast<int>(std::min<std::int64_t>(left, 100))) < 0 && errno != EINTR) return wait;
    if (watched[2].revents != 0) {
      const bool was_ready = wait.ready;
      listening = take_message(host, wait);
      if (!was_ready && wait.ready) times.host_start = since(start);
      if (wait.result || wait.bad_message) return wait;
      continue;  // messages before the news that their sender has ended
    }
    if (watched[0].revents != 0 || watched[1].revents != 0) return wait;
  }
}

void classify(const HostWait& wait, const Exit& exit, RunOutcome& outcome) {
  if (wait.result) {
    outcome.end = wait.result->loaded ? HostEnd::kReturned : HostEnd::kLoadFailed;
    outcome.return_code = wait.result->return_code;
    outcome.error_text = wait.result->error_text;
  }
  // What the system saw outweighs what the candidate's process said.
  switch (exit.how) {
    case Ending::kViolation:
      outcome.end = HostEnd::kForbidden;
      outcome.forbidden = exit.detail;
      return;
    case Ending::kLimit:
      outcome.end = exit.detail.starts_with("CPU") ? HostEnd::kHostTimeout : HostEnd::kHostLimit;
      outcome.error_text = exit.describe();
      return;
    case Ending::kSignaled:
      if (wait.result) return;
      outcome.end = HostEnd::kSignalled;
      outcome.signal = exit.signal;
      return;
    case Ending::kExited:
      if (wait.result) return;
      outcome.end = wait.bad_message ? HostEnd::kProtocol : HostEnd::kExited;
      outcome.exit_code = exit.code;
      if (wait.bad_message) outcome.error_text = "it wrote to the judge's socket";
      return;
    case Ending::kTimeout:
    case Ending::kKilled:
      if (wait.result) return;
      outcome.end = wait.bad_message ? HostEnd::kProtocol : HostEnd::kHostTimeout;
      if (wait.bad_message) outcome.error_text = "it wrote to the judge's socket";
      return;
  }
}

}  // namespace ptxbench::judge
