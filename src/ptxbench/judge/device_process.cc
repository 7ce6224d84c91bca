#include "ptxbench/judge/device_process.h"

#include <algorithm>

namespace ptxbench::judge {
namespace {

using std::chrono::milliseconds;

constexpr int kControlFd = 3;              // its number in the child
constexpr milliseconds kPatience{20'000};  // a device that is not in a kernel answers within this time
constexpr milliseconds kShutdownLimit{2'000};

}  // namespace

Result<DeviceProcess> DeviceProcess::start(const DeviceProgram& program) {
  wire::Connection ours, theirs;
  if (!wire::make_pair(ours, theirs)) return fail(ErrorKind::kUnavailable, "no socket pair: too many open files?");
  Command command;
  command.argv = program.wrapper;
  command.argv.push_back(program.program.string());
  command.argv.push_back("--control-fd");
  command.argv.push_back(std::to_string(kControlFd));
  command.argv.insert(command.argv.end(), program.arguments.begin(), program.arguments.end());
  command.environment = program.environment;
  command.stderr_to = OutputTo::capture(64 << 10);
  command.inherited = {{theirs.fd(), kControlFd}};
  PTXBENCH_TRY(Child child, Child::start(command));
  theirs.close();  // so that the end of the process is the end of the connection
  DeviceProcess device(std::move(child), std::make_unique<wire::Client>(std::move(ours)));
  device.set_patience(program.start_limit);
  PTXBENCH_TRY(device.hello_, device.call(wire::Hello{"judge"}));
  device.reset_patience();
  return device;
}

Error DeviceProcess::explain(const wire::Failure& failure) {
  Error error;
  error.kind = failure.code == wire::Code::kMemoryAllocation ? ErrorKind::kUnavailable : ErrorKind::kProtocol;
  error.message = "device process: " + failure.message;
  if (!client_->broken()) return error;
  const Exit& exit = child_.wait(milliseconds{500});
  error.message += " (it " + exit.describe() + ")";
  if (!child_.captured_stderr().bytes.empty()) error.notes.push_back(child_.captured_stderr().bytes);
  return error;
}

void DeviceProcess::set_patience(milliseconds limit) {
  client_->connection().set_timeout(static_cast<int>(limit.count()));
}

void DeviceProcess::reset_patience() { set_patience(kPatience); }

void DeviceProcess::shut_down() {
  if (!client_->broken()) static_cast<void>(client_->call(wire::Shutdown{}));
  child_.wait(kShutdownLimit);
}

void DeviceProcess::kill() { child_.kill(); }

void DevicePool::prepare(const DeviceProgram& program) {
  const bool there =
      std::any_of(spares_.begin(), spares_.end(), [&](const Spare& spare) { return spare.program == program; });
  if (there) return;
  spares_.push_back({program, std::async(std::launch::async, [program] { return DeviceProcess::start(program); })});
}

Result<DeviceProcess> DevicePool::take(const DeviceProgram& program) {
  const auto it =
      std::find_if(spares_.begin(), spares_.end(), [&](const Spare& spare) { return spare.program == program; });
  if (it == spares_.end()) return DeviceProcess::start(program);
  Result<DeviceProcess> process = it->process.get();
  spares_.erase(it);
  // One that ended while it waited (an idle card that fell asleep, an operator's kill) is no reason to fail.
  if (process && !process->child().running()) return DeviceProcess::start(program);
  return process;
}

}  // namespace ptxbench::judge
