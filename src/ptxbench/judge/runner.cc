#include "ptxbench/judge/runner.h"

#include <fmt/format.h>
#include <poll.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>

#include "ptxbench/base/subprocess.h"
#include "ptxbench/judge/runner_modules.h"
#include "ptxbench/wire/client.h"
#include "ptxbench/wire/host_orders.h"

namespace ptxbench::judge {
namespace {

using Clock = std::chrono::steady_clock;
using std::chrono::milliseconds;

constexpr int kFirstFd = 3, kSecondFd = 4;   // numbers of the sockets in the children
constexpr int kDeviceAnswerMs = 20'000;      // a device that is not in a kernel answers within this time
constexpr milliseconds kDeviceGrace{1'000};  // so that a kernel's own deadline passes before ours
constexpr milliseconds kAfterKill{3'000};    // for the device to notice that its client is gone

double since(Clock::time_point start) {
  return std::chrono::duration<double, std::milli>(Clock::now() - start).count();
}

std::uint64_t tensor_bytes(const RunTensor& tensor) {
  std::uint64_t elements = 1;
  for (const std::int64_t extent : tensor.shape) elements *= static_cast<std::uint64_t>(extent);
  return (elements * tensor.type.bits * tensor.type.lanes + 7) / 8;
}

// One candidate's device process and our control connection to it.
class Device {
 public:
  static Result<Device> start(const RunRequest& request) {
    wire::Connection ours, theirs;
    if (!wire::make_pair(ours, theirs)) return fail(ErrorKind::kUnavailable, "no socket pair: too many open files?");
    Command command;
    command.argv = {request.device_program.string(),
                    "--control-fd",
                    std::to_string(kFirstFd),
                    "--memory",
                    std::to_string(std::max<std::uint64_t>(request.limits.device_memory >> 20, 1)),
                    "--threads",
                    std::to_string(request.device_threads)};
    command.stderr_to = OutputTo::capture(64 << 10);
    command.inherited = {{theirs.fd(), kFirstFd}};
    PTXBENCH_TRY(Child child, Child::start(command));
    ours.set_timeout(kDeviceAnswerMs);
    Device device{std::move(child), std::make_unique<wire::Client>(std::move(ours))};
    PTXBENCH_TRY_STATUS(device.call(wire::Hello{"judge"}));
    return device;
  }

  // A Failure of the control connection is an Error: the judge makes no mistakes that a device could forgive.
  template <class Request>
  Result<typename Request::Reply> call(const Request& request, std::span<const std::byte> out = {},
                                       std::span<std::byte> in = {}, int pass_fd = -1) {
    wire::Answer<typename Request::Reply> answer = client->call(request, out, in, pass_fd);
    if (answer) return std::move(*answer);
    Error error;
    error.kind = answer.error().code == wire::Code::kMemoryAllocation ? ErrorKind::kUnavailable : ErrorKind::kProtocol;
    error.message = "device process: " + answer.error().message;
    if (client->broken()) {
      const Exit& exit = child.wait(milliseconds{500});
      error.message += " (it " + exit.describe() + ")";
      if (!child.captured_stderr().bytes.empty()) error.notes.push_back(child.captured_stderr().bytes);
    }
    return fail(std::move(error));
  }

  Child child;
  std::unique_ptr<wire::Client> client;
};

struct Prepared {
  std::vector<wire::HostArgument> arguments;
  std::vector<wire::Grant> grants;
  struct Output {
    std::uint64_t address = 0, bytes = 0;
  };
  std::vector<Output> outputs;
};

Status place_tensor(Device& device, const RunTensor& tensor, Prepared& prepared) {
  const std::uint64_t bytes = tensor_bytes(tensor);
  if (!tensor.output && tensor.bytes.size() != bytes) {
    return fail(ErrorKind::kInvalidInput,
                fmt::format("tensor '{}' has {} bytes, its shape needs {}", tensor.name, tensor.bytes.size(), bytes));
  }
  wire::HostArgument argument;
  argument.code = tensor.type.code;
  argument.bits = tensor.type.bits;
  argument.lanes = tensor.type.lanes;
  argument.shape = tensor.shape;
  if (bytes > 0) {
    PTXBENCH_TRY(const wire::AddressReply placed, device.call(wire::Alloc{bytes}));
    argument.address = placed.address;
    prepared.grants.push_back({placed.address, bytes});
    if (tensor.output) {
      PTXBENCH_TRY_STATUS(device.call(wire::FillMemory{placed.address, bytes / 4, tensor.poison, 4, 0}));
      PTXBENCH_TRY_STATUS(
          device.call(wire::FillMemory{placed.address + bytes / 4 * 4, bytes % 4, tensor.poison, 1, 0}));
    } else {
      PTXBENCH_TRY_STATUS(device.call(wire::WriteMemory{placed.address, bytes, 0}, tensor.bytes));
    }
  }
  if (tensor.output) prepared.outputs.push_back({argument.address, bytes});
  prepared.arguments.push_back(std::move(argument));
  return {};
}

Result<Prepared> place_arguments(Device& device, const RunRequest& request) {
  Prepared prepared;
  for (const RunArgument& argument : request.arguments) {
    if (argument.tensor) {
      PTXBENCH_TRY_STATUS(place_tensor(device, *argument.tensor, prepared));
      continue;
    }
    wire::HostArgument scalar;
    switch (argument.scalar.kind) {
      case RunScalar::Kind::kInt: scalar.kind = wire::ArgumentKind::kInt; break;
      case RunScalar::Kind::kFloat: scalar.kind = wire::ArgumentKind::kFloat; break;
      case RunScalar::Kind::kBool: scalar.kind = wire::ArgumentKind::kBool; break;
      case RunScalar::Kind::kNone: scalar.kind = wire::ArgumentKind::kNone; break;
    }
    scalar.integer = argument.scalar.integer;
    scalar.real = argument.scalar.real;
    prepared.arguments.push_back(scalar);
  }
  return prepared;
}

struct Host {
  Child child;
  wire::Connection orders;
};

// The host process in its sandbox, with its orders on the way.
Result<Host> start_host(const RunRequest& request, wire::HostOrders orders, const wire::Connection& device_end) {
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
  command.argv = {request.host_program.string(), "--orders-fd", std::to_string(kFirstFd)};
  command.environment = {"LD_LIBRARY_PATH=" + request.shim_folder.string(),
                         "PTXBENCH_DEVICE_FD=" + std::to_string(kSecondFd), "LC_ALL=C.UTF-8"};
  command.stdout_to = OutputTo::capture(request.limits.output_bytes);
  command.stderr_to = OutputTo::capture(request.limits.output_bytes);
  command.inherited = {{theirs.fd(), kFirstFd}, {device_end.fd(), kSecondFd}};
  command.sandbox = policy;
  PTXBENCH_TRY(Child child, Child::start(command));

  wire::Header header;
  header.type = static_cast<std::uint16_t>(wire::HostMessage::kOrders);
  const std::string payload = wire::encode(orders);
  if (payload.size() > wire::kMaxHostPayload) return fail(ErrorKind::kTooLarge, "too many arguments for one call");
  ours.send(header, payload);  // a host that is gone already shows in its exit
  ours.set_timeout(1'000);     // a candidate may stop in the middle of a message
  return Host{std::move(child), std::move(ours)};
}

struct Wait {
  bool ready = false;
  bool timed_out = false;
  bool cancelled = false;
  bool bad_message = false;
  std::optional<wire::HostResult> result;
};

// Reads one message of the host. False: there is no more to come.
bool take_message(Host& host, Wait& wait) {
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

// Until the host reports, ends, or the time is over.
Wait wait_for_host(Host& host, Child& device, Clock::time_point start, milliseconds limit, RunTimes& times) {
  Wait wait;
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

void classify(const Wait& wait, const Exit& exit, RunOutcome& outcome) {
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

void take_report(wire::RunReply report, RunOutcome& outcome) {
  outcome.commands = std::move(report.commands);
  outcome.launches = std::move(report.launches);
  outcome.refusals = std::move(report.refusals);
  outcome.failures = std::move(report.failures);
  outcome.sticky_error = report.sticky_code;
  outcome.sticky_message = std::move(report.sticky_message);
  if (!report.client_fault.empty() && outcome.end != HostEnd::kForbidden) {
    outcome.end = HostEnd::kProtocol;
    outcome.error_text = std::move(report.client_fault);
  }
  const bool waited = outcome.end == HostEnd::kReturned || outcome.end == HostEnd::kHostTimeout;
  if (const wire::TrapRecord* trap = outcome.trap();
      waited && trap != nullptr && (trap->kind == "deadline" || trap->kind == "work_limit")) {
    outcome.end = HostEnd::kDeviceTimeout;
  }
}

Status download(Device& device, const Prepared& prepared, RunOutcome& outcome) {
  for (const Prepared::Output& output : prepared.outputs) {
    std::vector<std::byte>& bytes = outcome.outputs.emplace_back(output.bytes);
    PTXBENCH_TRY_STATUS(device.call(wire::ReadMemory{output.address, output.bytes, 0}, {}, bytes));
  }
  return {};
}

// Adds the device's part to an outcome whose host has ended.
Status finish(Device& device, const Prepared& prepared, const Wait& wait, RunOutcome& outcome) {
  const Clock::time_point start = Clock::now();
  device.client->connection().set_timeout(static_cast<int>(kAfterKill.count()));
  Result<wire::RunReply> report = device.call(wire::EndRun{});
  if (!report) {
    if (!wait.timed_out) return fail(std::move(report).error());
    outcome.end = HostEnd::kDeviceTimeout;  // still in a kernel
    return {};
  }
  take_report(std::move(*report), outcome);
  device.client->connection().set_timeout(kDeviceAnswerMs);
  PTXBENCH_TRY_STATUS(download(device, prepared, outcome));
  static_cast<void>(device.call(wire::Shutdown{}));
  device.child.wait(milliseconds{2'000});
  outcome.times.download = since(start);
  return {};
}

}  // namespace

std::string_view to_string(HostEnd end) {
  switch (end) {
    case HostEnd::kReturned: return "returned";
    case HostEnd::kLoadFailed: return "load_failed";
    case HostEnd::kExited: return "exited";
    case HostEnd::kSignalled: return "signalled";
    case HostEnd::kForbidden: return "forbidden";
    case HostEnd::kHostTimeout: return "host_timeout";
    case HostEnd::kDeviceTimeout: return "device_timeout";
    case HostEnd::kHostLimit: return "host_limit";
    case HostEnd::kProtocol: return "protocol";
  }
  return "unknown";
}

const wire::TrapRecord* RunOutcome::trap() const {
  return launches.empty() || !launches.back().trap ? nullptr : &*launches.back().trap;
}

Status locate_programs(RunRequest& request) {
  PTXBENCH_TRY(request.device_program, find_companion("ptxbench-device-emu"));
  PTXBENCH_TRY(request.host_program, find_companion("ptxbench-host"));
  PTXBENCH_TRY(request.shim_folder, locate_shim_folder());
  return {};
}

Result<std::filesystem::path> locate_shim_folder() {
  namespace fs = std::filesystem;
  std::error_code error;
  const fs::path self = fs::read_symlink("/proc/self/exe", error);
  const fs::path folder = self.parent_path().parent_path() / "lib/ptxbench/shim";
  for (const char* library : {"libcudart.so.13", "libcuda.so.1"}) {
    if (!fs::exists(folder / library, error)) {
      return fail(ErrorKind::kUnavailable, fmt::format("'{}' does not exist", (folder / library).string()),
                  "build all programs (cmake --build --preset dev), or install the archive as a whole");
    }
  }
  return folder;
}

Result<RunOutcome> run_candidate(const RunRequest& request) {
  RunOutcome outcome;
  const Clock::time_point start = Clock::now();
  PTXBENCH_TRY(std::vector<std::string> modules, module_hashes(request.artifact));
  PTXBENCH_TRY(Device device, Device::start(request));
  outcome.times.device_start = since(start);

  const Clock::time_point upload = Clock::now();
  PTXBENCH_TRY(const Prepared prepared, place_arguments(device, request));
  outcome.times.upload = since(upload);

  wire::Connection device_end, host_end;
  if (!wire::make_pair(device_end, host_end))
    return fail(ErrorKind::kUnavailable, "no socket pair: too many open files?");
  PTXBENCH_TRY(const wire::HandleReply client,
               device.call(wire::AddClient{prepared.grants, true, std::move(modules)}, {}, {}, device_end.fd()));
  device_end.close();
  PTXBENCH_TRY_STATUS(device.call(wire::BeginRun{client.handle, request.schedule, request.limits.work,
                                                 static_cast<std::uint32_t>(request.limits.wall.count())}));

  const Clock::time_point run = Clock::now();
  PTXBENCH_TRY(
      Host host,
      start_host(request, {request.artifact.string(), "__tvm_ffi_" + request.entry, prepared.arguments}, host_end));
  host_end.close();
  const Wait wait = wait_for_host(host, device.child, run, request.limits.wall + kDeviceGrace, outcome.times);
  // After its result a host ends by itself; a candidate that does not let it is ended.
  const Exit& exit = wait.timed_out || wait.cancelled ? host.child.kill() : host.child.wait(milliseconds{1'000});
  outcome.times.run = since(run);
  if (wait.cancelled) return fail(ErrorKind::kUnavailable, "cancelled");
  if (!wait.ready && (exit.how == Ending::kExited || exit.how == Ending::kSignaled)) {
    Error error{ErrorKind::kUnavailable, "the host process did not start: it " + exit.describe(), {}, {}, {}};
    error.notes.push_back(host.child.captured_stderr().bytes);
    return fail(std::move(error));
  }
  classify(wait, exit, outcome);
  if (wait.timed_out && outcome.end == HostEnd::kHostTimeout)
    outcome.error_text = fmt::format("was still running after {:g} s", request.limits.wall.count() / 1000.0);
  outcome.sandbox = to_string(exit.sandbox);
  outcome.candidate_stdout = host.child.captured_stdout().bytes;
  outcome.stdout_truncated = host.child.captured_stdout().truncated;
  outcome.candidate_stderr = host.child.captured_stderr().bytes;
  outcome.stderr_truncated = host.child.captured_stderr().truncated;
  PTXBENCH_TRY_STATUS(finish(device, prepared, wait, outcome));
  outcome.times.total = since(start);
  return outcome;
}

}  // namespace ptxbench::judge
