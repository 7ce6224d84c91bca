#include "ptxbench/judge/runner.h"

#include <fmt/format.h>

#include <algorithm>

#include "ptxbench/base/subprocess.h"
#include "ptxbench/judge/candidate_session.h"

namespace ptxbench::judge {
namespace {

using Clock = std::chrono::steady_clock;

double since(Clock::time_point start) {
  return std::chrono::duration<double, std::milli>(Clock::now() - start).count();
}

DeviceProgram emulator(const RunRequest& request) {
  DeviceProgram program;
  program.program = request.device_program;
  program.arguments = {"--memory", std::to_string(std::max<std::uint64_t>(request.limits.device_memory >> 20, 1)),
                       "--threads", std::to_string(request.device_threads)};
  return program;
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
  const Clock::time_point start = Clock::now();
  PTXBENCH_TRY(DeviceProcess device, DeviceProcess::start(emulator(request)));
  const double device_start = since(start);
  PTXBENCH_TRY(CandidateSession session, CandidateSession::open(std::move(device), request));
  const double upload = since(start) - device_start;
  PTXBENCH_TRY(RunOutcome outcome, session.run());
  outcome.times.device_start = device_start;
  outcome.times.upload = upload;
  if (!session.device().broken()) {
    const Clock::time_point download = Clock::now();
    PTXBENCH_TRY(outcome.outputs, session.read_outputs());
    session.close();
    outcome.times.download = since(download);
  }
  outcome.times.total = since(start);
  return outcome;
}

}  // namespace ptxbench::judge
