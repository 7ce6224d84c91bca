#include "ptxbench/judge/candidate_session.h"

#include <fmt/format.h>

#include "ptxbench/base/check.h"
#include "ptxbench/judge/host_process.h"
#include "ptxbench/judge/runner_modules.h"

namespace ptxbench::judge {
namespace {

using Clock = std::chrono::steady_clock;
using std::chrono::milliseconds;

constexpr milliseconds kDeviceGrace{700};  // so that a kernel's own deadline passes before ours
constexpr milliseconds kAfterKill{3'000};  // for the device to notice that its client is gone
constexpr milliseconds kAfterHang{1'000};  // the same when the time is over already

double since(Clock::time_point start) {
  return std::chrono::duration<double, std::milli>(Clock::now() - start).count();
}

std::uint64_t tensor_bytes(const RunTensor& tensor) {
  std::uint64_t elements = 1;
  for (const std::int64_t extent : tensor.shape) elements *= static_cast<std::uint64_t>(extent);
  return (elements * tensor.type.bits * tensor.type.lanes + 7) / 8;
}

wire::HostArgument scalar_argument(const RunScalar& scalar) {
  wire::HostArgument argument;
  switch (scalar.kind) {
    case RunScalar::Kind::kInt: argument.kind = wire::ArgumentKind::kInt; break;
    case RunScalar::Kind::kFloat: argument.kind = wire::ArgumentKind::kFloat; break;
    case RunScalar::Kind::kBool: argument.kind = wire::ArgumentKind::kBool; break;
    case RunScalar::Kind::kNone: argument.kind = wire::ArgumentKind::kNone; break;
  }
  argument.integer = scalar.integer;
  argument.real = scalar.real;
  return argument;
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

}  // namespace

Result<CandidateSession> CandidateSession::open(DeviceProcess device, RunRequest request) {
  CandidateSession session(std::move(device), std::move(request));
  for (const RunArgument& argument : session.request_.arguments) PTXBENCH_TRY_STATUS(session.place(argument));
  PTXBENCH_TRY_STATUS(session.poison_outputs());
  return session;
}

Status CandidateSession::place(const RunArgument& argument) {
  if (argument.tensor) return place_tensor(*argument.tensor);
  arguments_.push_back(scalar_argument(argument.scalar));
  return {};
}

Status CandidateSession::place_tensor(const RunTensor& tensor) {
  const std::uint64_t bytes = tensor_bytes(tensor);
  const bool contents = !tensor.output && !tensor.bytes.empty();
  if (contents && tensor.bytes.size() != bytes)
    return fail(ErrorKind::kInvalidInput,
                fmt::format("tensor '{}' has {} bytes, its shape needs {}", tensor.name, tensor.bytes.size(), bytes));
  wire::HostArgument argument;
  argument.code = tensor.type.code;
  argument.bits = tensor.type.bits;
  argument.lanes = tensor.type.lanes;
  argument.shape = tensor.shape;
  if (bytes > 0) {
    PTXBENCH_TRY(const wire::AddressReply placed, device_.call(wire::Alloc{bytes}));
    argument.address = placed.address;
    if (contents) PTXBENCH_TRY_STATUS(device_.call(wire::WriteMemory{placed.address, bytes, 0}, tensor.bytes));
  }
  tensors_.push_back({tensor.name, argument.address, bytes, tensor.output, tensor.poison});
  arguments_.push_back(std::move(argument));
  return {};
}

Status CandidateSession::write_inputs(const std::vector<HostTensor>& inputs) {
  auto input = inputs.begin();
  for (const PlacedTensor& tensor : tensors_) {
    if (tensor.output) continue;
    PTXBENCH_CHECK(input != inputs.end() && input->bytes.size() == tensor.bytes, "input '{}' does not fit",
                   tensor.name);
    PTXBENCH_TRY_STATUS(device_.call(wire::WriteMemory{tensor.address, tensor.bytes, 0}, input->bytes));
    ++input;
  }
  return {};
}

std::vector<wire::BatchCommand> CandidateSession::poison() const {
  std::vector<wire::BatchCommand> commands;
  for (const PlacedTensor& tensor : tensors_) {
    if (!tensor.output || tensor.bytes == 0) continue;
    const std::uint64_t words = tensor.bytes / 4, rest = tensor.bytes % 4;
    commands.emplace_back(wire::FillMemory{tensor.address, words, tensor.poison, 4, 0});
    if (rest > 0) commands.emplace_back(wire::FillMemory{tensor.address + words * 4, rest, tensor.poison, 1, 0});
  }
  return commands;
}

Status CandidateSession::poison_outputs() {
  for (wire::BatchCommand& command : poison()) PTXBENCH_TRY_STATUS(device_.add(std::move(command)));
  return device_.flush();
}

Result<std::vector<std::vector<std::byte>>> CandidateSession::read_outputs() {
  std::vector<std::vector<std::byte>> outputs;
  for (const PlacedTensor& tensor : tensors_) {
    if (!tensor.output) continue;
    std::vector<std::byte>& bytes = outputs.emplace_back(tensor.bytes);
    PTXBENCH_TRY_STATUS(device_.call(wire::ReadMemory{tensor.address, tensor.bytes, 0}, {}, bytes));
  }
  return outputs;
}

Result<RunOutcome> CandidateSession::run() {
  RunOutcome outcome;
  PTXBENCH_TRY(std::vector<std::string> modules, module_hashes(request_.artifact));
  wire::Connection device_end, host_end;
  if (!wire::make_pair(device_end, host_end))
    return fail(ErrorKind::kUnavailable, "no socket pair: too many open files?");
  std::vector<wire::Grant> grants;
  for (const PlacedTensor& tensor : tensors_)
    if (tensor.bytes > 0) grants.push_back({tensor.address, tensor.bytes});
  PTXBENCH_TRY(const wire::HandleReply client,
               device_.call(wire::AddClient{grants, true, std::move(modules)}, {}, {}, device_end.fd()));
  device_end.close();
  const std::uint32_t deadline = static_cast<std::uint32_t>(request_.limits.wall.count());
  PTXBENCH_TRY_STATUS(device_.call(wire::BeginRun{client.handle, request_.schedule, request_.limits.work, deadline}));

  const Clock::time_point start = Clock::now();
  PTXBENCH_TRY(HostProcess host,
               start_host(request_, {request_.artifact.string(), "__tvm_ffi_" + request_.entry, arguments_}, host_end));
  host_end.close();
  const HostWait wait = wait_for_host(host, device_.child(), start, request_.limits.wall + kDeviceGrace, outcome.times);
  // After its result a host ends by itself; a candidate that does not let it is ended.
  const Exit& exit = wait.timed_out || wait.cancelled ? host.child.kill() : host.child.wait(milliseconds{1'000});
  outcome.times.run = since(start);
  if (wait.cancelled) return fail(ErrorKind::kUnavailable, "cancelled");
  if (!wait.ready && (exit.how == Ending::kExited || exit.how == Ending::kSignaled)) {
    Error error{ErrorKind::kUnavailable, "the host process did not start: it " + exit.describe(), {}, {}, {}};
    error.notes.push_back(host.child.captured_stderr().bytes);
    return fail(std::move(error));
  }
  classify(wait, exit, outcome);
  if (wait.timed_out && outcome.end == HostEnd::kHostTimeout)
    outcome.error_text = fmt::format("was still running after {:g} s", request_.limits.wall.count() / 1000.0);
  outcome.sandbox = to_string(exit.sandbox);
  outcome.candidate_stdout = host.child.captured_stdout().bytes;
  outcome.stdout_truncated = host.child.captured_stdout().truncated;
  outcome.candidate_stderr = host.child.captured_stderr().bytes;
  outcome.stderr_truncated = host.child.captured_stderr().truncated;
  PTXBENCH_TRY_STATUS(finish(wait, outcome));
  return outcome;
}

// Adds the device's part to an outcome whose host has ended.
Status CandidateSession::finish(const HostWait& wait, RunOutcome& outcome) {
  device_.set_patience(wait.timed_out ? kAfterHang : kAfterKill);
  Result<wire::RunReply> report = device_.call(wire::EndRun{});
  if (!report) {
    if (!wait.timed_out) return fail(std::move(report).error());
    outcome.end = HostEnd::kDeviceTimeout;  // still in a kernel
    device_.kill();
    return {};
  }
  take_report(std::move(*report), outcome);
  device_.reset_patience();
  return {};
}

Result<wire::RunReply> CandidateSession::replay(ReplayOrder order) {
  wire::Replay replay;
  replay.schedule = order.schedule;
  replay.work_limit = request_.limits.work;
  replay.deadline_ms = static_cast<std::uint32_t>(request_.limits.wall.count());
  replay.mode = order.mode;
  replay.flush_bytes = order.flush_bytes;
  replay.before = std::move(order.before);
  replay.after = std::move(order.after);
  device_.set_patience(request_.limits.wall + kDeviceGrace + kAfterHang);
  const Clock::time_point start = Clock::now();
  Result<wire::RunReply> reply = device_.call(replay);
  if (!reply) {
    const bool hung = since(start) >= static_cast<double>(request_.limits.wall.count());
    if (hung) {
      device_.kill();
      return fail(ErrorKind::kTimeout, "a kernel did not end in time when its commands were executed again");
    }
    return fail(std::move(reply).error());
  }
  device_.reset_patience();
  return reply;
}

}  // namespace ptxbench::judge
