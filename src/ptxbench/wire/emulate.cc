#include "ptxbench/wire/emulate.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <csignal>
#include <cstdlib>
#include <cstring>

#include "ptxbench/base/subprocess.h"
#include "ptxbench/wire/client.h"

extern char** environ;

namespace ptxbench::wire {
namespace {

constexpr int kControlFd = 3;
constexpr int kAnswerMs = 20'000;

std::vector<std::string> program_environment(const std::filesystem::path& shim_folder, int device_fd) {
  std::string libraries = shim_folder.string();
  std::vector<std::string> environment;
  for (char** item = environ; *item != nullptr; ++item) {
    const std::string_view entry(*item);
    if (entry.starts_with("LD_LIBRARY_PATH=")) {
      libraries += ":" + std::string(entry.substr(std::strlen("LD_LIBRARY_PATH=")));
    } else if (!entry.starts_with("PTXBENCH_DEVICE_FD=")) {
      environment.emplace_back(entry);
    }
  }
  environment.push_back("LD_LIBRARY_PATH=" + libraries);
  environment.push_back(fmt::format("PTXBENCH_DEVICE_FD={}", device_fd));
  return environment;
}

std::vector<char*> pointers(const std::vector<std::string>& strings) {
  std::vector<char*> list;
  for (const std::string& text : strings) list.push_back(const_cast<char*>(text.c_str()));
  list.push_back(nullptr);
  return list;
}

// The program's process; it dies with us. Between fork and exec only calls that are safe in a threaded process.
Result<pid_t> spawn(const std::vector<std::string>& argv, const std::vector<std::string>& environment, int device_fd) {
  const std::vector<char*> arguments = pointers(argv), variables = pointers(environment);
  int report[2];
  if (::pipe2(report, O_CLOEXEC) != 0) return fail(ErrorKind::kUnavailable, "no pipe: too many open files?");
  const pid_t child = ::fork();
  if (child == 0) {
    ::prctl(PR_SET_PDEATHSIG, SIGKILL);
    sigset_t none;
    ::sigemptyset(&none);
    ::sigprocmask(SIG_SETMASK, &none, nullptr);
    ::fcntl(device_fd, F_SETFD, 0);
    ::execvpe(arguments[0], arguments.data(), variables.data());
    const int error = errno;
    static_cast<void>(!::write(report[1], &error, sizeof error));
    ::_exit(127);
  }
  ::close(report[1]);
  int error = child < 0 ? errno : 0;
  if (child > 0) static_cast<void>(!::read(report[0], &error, sizeof error));
  ::close(report[0]);
  if (error == 0) return child;
  if (child > 0) ::waitpid(child, nullptr, 0);
  return fail(ErrorKind::kNotFound, fmt::format("cannot run '{}': {}", argv[0], std::strerror(error)));
}

int wait_for(pid_t child) {
  int status = 0;
  while (::waitpid(child, &status, 0) < 0 && errno == EINTR) {
  }
  return WIFSIGNALED(status) ? 128 + WTERMSIG(status) : WEXITSTATUS(status);
}

Error device_error(const Failure& failure) {
  return {ErrorKind::kUnavailable, "device process: " + failure.message, {}, {}, {}};
}

}  // namespace

Result<EmulateOutcome> emulate(const EmulateRequest& request) {
  if (request.argv.empty()) return fail(ErrorKind::kInvalidInput, "no program to run");
  Connection control, control_end, device_end, program_end;
  if (!make_pair(control, control_end) || !make_pair(device_end, program_end)) {
    return fail(ErrorKind::kUnavailable, "no socket pair: too many open files?");
  }
  Command command;
  command.argv = {request.device_program.string(),
                  "--control-fd",
                  std::to_string(kControlFd),
                  "--memory",
                  std::to_string(std::max<std::uint64_t>(request.device_memory >> 20, 1)),
                  "--threads",
                  std::to_string(request.device_threads)};
  command.stderr_to = OutputTo::inherit();
  // The one setting of the device's that is its user's to choose: how tensor core sums are rounded.
  if (const char* sums = std::getenv("PTXBENCH_MMA"))
    command.environment.push_back(fmt::format("PTXBENCH_MMA={}", sums));
  command.inherited = {{control_end.fd(), kControlFd}};
  PTXBENCH_TRY(Child device, Child::start(command));
  control_end.close();
  control.set_timeout(kAnswerMs);
  Client client(std::move(control));
  const auto host = client.call(AddClient{}, {}, {}, device_end.fd());
  if (!host) return fail(device_error(host.error()));
  device_end.close();
  const auto begun = client.call(BeginRun{host->handle, request.schedule, request.work_limit, request.deadline_ms});
  if (!begun) return fail(device_error(begun.error()));

  PTXBENCH_TRY(const pid_t program,
               spawn(request.argv, program_environment(request.shim_folder, program_end.fd()), program_end.fd()));
  program_end.close();
  EmulateOutcome outcome;
  outcome.exit_code = wait_for(program);
  auto report = client.call(EndRun{});
  if (!report) return fail(device_error(report.error()));
  outcome.report = std::move(*report);
  outcome.used_device = outcome.report.client_connected;
  static_cast<void>(client.call(Shutdown{}));
  return outcome;
}

}  // namespace ptxbench::wire
