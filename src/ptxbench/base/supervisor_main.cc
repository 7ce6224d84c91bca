// ptxbench-supervisor: starts one payload program in its sandbox and watches it. Not for use by hand: subprocess.cc
// starts it with a specification in descriptor kSpecFd and a packet socket in kChannelFd.
//
// It is a program of its own, so that what happens between fork and exec happens in a small single-threaded process
// without the caller's memory (which holds reference results) and descriptors.
// With namespaces there are two: the outer one only waits; the inner one is process 1 of the pid namespace, so that its
// end, however it comes, ends every process inside. Without, the payload's descendants are found as children: the
// supervisor is their subreaper.
#include <fcntl.h>
#include <fmt/format.h>
#include <poll.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/signalfd.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>

#include "ptxbench/base/seccomp_filters.h"
#include "ptxbench/base/supervisor_isolation.h"
#include "ptxbench/base/supervisor_spec.h"
#include "ptxbench/base/supervisor_watch.h"

namespace ptxbench::supervisor {
namespace {

void send_packet(const std::string& packet) { (void)!::send(kChannelFd, packet.data(), packet.size(), MSG_NOSIGNAL); }

Result<Spec> read_spec() {
  std::string bytes;
  char buffer[65536];
  for (ssize_t got; (got = ::read(kSpecFd, buffer, sizeof(buffer))) > 0;)
    bytes.append(buffer, static_cast<std::size_t>(got));
  ::close(kSpecFd);
  return decode(bytes);
}

// Closes what the caller's other threads or libraries leaked into us.
void close_unnamed(const std::vector<int>& named) {
  std::vector<int> keep = named;
  keep.insert(keep.end(), {0, 1, 2, kSpecFd, kChannelFd});
  std::sort(keep.begin(), keep.end());
  unsigned next = 0;
  for (int fd : keep) {
    if (static_cast<unsigned>(fd) > next) ::close_range(next, static_cast<unsigned>(fd) - 1, 0);
    next = static_cast<unsigned>(fd) + 1;
  }
  ::close_range(next, ~0U, 0);
}

Status resolve_paths(Spec& spec) {
  SandboxPolicy& policy = *spec.sandbox;
  policy.read_only.emplace_back(spec.argv[0]);
  for (auto* list : {&policy.read_only, &policy.writable})
    for (auto& path : *list) {
      if (!path.is_absolute())
        return fail(ErrorKind::kInvalidInput, fmt::format("sandbox path '{}' is not absolute", path.string()));
      path = path.lexically_normal();
      struct stat info {};
      if (::stat(path.c_str(), &info) != 0)
        return fail(ErrorKind::kNotFound,
                    fmt::format("cannot show '{}' in the sandbox: {}", path.string(), std::strerror(errno)));
    }
  return {};
}

struct Payload {
  pid_t pid = -1;
  int control = -1;  // our end of the candidate's control socket
};

// Runs in the payload's process; returns only on failure.
Error become_payload(const Spec& spec, SandboxKind kind) {
  if (spec.sandbox) {
    if (auto status = set_resource_limits(spec.sandbox->limits); !status) return status.error();
    if (auto status = drop_capabilities(); !status) return status.error();
    if (kind == SandboxKind::kLandlock)
      if (auto status = restrict_with_landlock(*spec.sandbox); !status) return status.error();
  }
  // After the credentials have changed, which would clear it.
  ::prctl(PR_SET_PDEATHSIG, SIGKILL);
  if (::chdir(spec.working_folder.c_str()) != 0)
    return {ErrorKind::kNotFound,
            fmt::format("cannot enter '{}': {}", spec.working_folder, std::strerror(errno)),
            {},
            {},
            {}};
  std::vector<char*> argv, environment;
  for (const std::string& arg : spec.argv) argv.push_back(const_cast<char*>(arg.c_str()));
  for (const std::string& entry : spec.environment) environment.push_back(const_cast<char*>(entry.c_str()));
  argv.push_back(nullptr);
  environment.push_back(nullptr);
  if (spec.sandbox && spec.sandbox->profile == SandboxProfile::kCompiler)
    if (auto status = load_compiler_filter(); !status) return status.error();
  sigset_t none;
  ::sigemptyset(&none);
  ::sigprocmask(SIG_SETMASK, &none, nullptr);
  ::execve(argv[0], argv.data(), environment.data());
  const ErrorKind error = errno == ENOENT || errno == ENOTDIR ? ErrorKind::kNotFound : ErrorKind::kUnavailable;
  return {error, fmt::format("cannot run '{}': {}", spec.argv[0], std::strerror(errno)), {}, {}, {}};
}

// Forks the payload and waits for its exec. On failure the Error it met.
Result<Payload> start_payload(const Spec& spec, SandboxKind kind) {
  Payload payload;
  int failure[2];
  int control[2] = {-1, -1};
  const bool candidate = spec.sandbox && spec.sandbox->profile == SandboxProfile::kCandidate;
  if (::pipe2(failure, O_CLOEXEC) != 0 ||
      (candidate && ::socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, control) != 0))
    return fail(ErrorKind::kUnavailable, fmt::format("cannot create a pipe: {}", std::strerror(errno)));
  payload.pid = ::fork();
  if (payload.pid < 0) return fail(ErrorKind::kUnavailable, fmt::format("cannot fork: {}", std::strerror(errno)));
  if (payload.pid == 0) {
    if (candidate) ::dup2(control[1], kSandboxControlFd);
    const std::string message = encode_error(become_payload(spec, kind));
    (void)!::write(failure[1], message.data(), std::min<std::size_t>(message.size(), 4096));
    ::_exit(127);
  }
  ::close(failure[1]);
  if (candidate) ::close(control[1]);
  payload.control = control[0];
  std::string error(4096, '\0');
  const ssize_t got = ::read(failure[0], error.data(), error.size());
  ::close(failure[0]);
  if (got > 0) {
    ::waitpid(payload.pid, nullptr, 0);
    return fail(decode_started({error.data(), static_cast<std::size_t>(got)}).error());
  }
  return payload;
}

// Our copies of the payload's streams would keep its readers waiting.
void release_payload_descriptors(const std::vector<int>& inherited) {
  const int null = ::open("/dev/null", O_RDWR | O_CLOEXEC);
  for (int fd : {0, 1, 2}) null >= 0 ? ::dup2(null, fd) : ::close(fd);
  for (int fd : inherited) ::close(fd);
}

int supervise(const Spec& spec, SandboxKind kind) {
  sigset_t child_signal;
  ::sigemptyset(&child_signal);
  ::sigaddset(&child_signal, SIGCHLD);
  ::sigprocmask(SIG_BLOCK, &child_signal, nullptr);
  ::prctl(PR_SET_CHILD_SUBREAPER, 1);
  const int signals = ::signalfd(-1, &child_signal, SFD_CLOEXEC | SFD_NONBLOCK);
  auto payload = start_payload(spec, kind);
  if (!payload) {
    send_packet(encode_error(payload.error()));
    return 1;
  }
  release_payload_descriptors(spec.inherited);
  send_packet(encode_started({kind}));
  Watch watch(payload->pid, payload->control, signals,
              spec.sandbox ? spec.sandbox->limits : SandboxLimits{0, 0, 0, 0, 0, 0});
  const Exit exit = watch.run();
  if (kind != SandboxKind::kNamespaces) watch.kill_tree();  // process 1 takes its namespace along by ending
  send_packet(encode_exit(exit));
  return 0;
}

// The exit status; kNoNamespaces if nothing was started because namespaces are not to be had (`why` says it).
int supervise_in_namespaces(const Spec& spec, Error& why) {
  int report[2];
  if (::pipe2(report, O_CLOEXEC) != 0) return kNoNamespaces;
  const auto inner = fork_into_namespaces();
  if (!inner) return why = inner.error(), kNoNamespaces;
  if (*inner == 0) {
    ::prctl(PR_SET_PDEATHSIG, SIGKILL);
    open_process_folder();
    if (auto status = build_root(*spec.sandbox); !status) {
      const std::string message = encode_error(status.error());
      (void)!::write(report[1], message.data(), std::min<std::size_t>(message.size(), 4096));
      ::_exit(kNoNamespaces);
    }
    ::close(report[1]);
    ::_exit(supervise(spec, SandboxKind::kNamespaces));
  }
  ::close(report[1]);
  std::string message(4096, '\0');
  const ssize_t got =
      ::read(report[0], message.data(), message.size());  // ends when the tree stands, or with the reason
  ::close(report[0]);
  if (got > 0)
    why = decode_started({message.data(), static_cast<std::size_t>(got)}).error();
  else
    release_payload_descriptors(spec.inherited);
  int status = 0;
  while (::waitpid(*inner, &status, 0) < 0 && errno == EINTR) {
  }
  return WIFEXITED(status) ? WEXITSTATUS(status) : 1;
}

int start() {
  auto spec = read_spec();
  if (!spec) {
    send_packet(encode_error(spec.error()));
    return 1;
  }
  close_unnamed(spec->inherited);
  ::fcntl(kChannelFd, F_SETFD, FD_CLOEXEC);
  ::signal(SIGPIPE, SIG_DFL);
  if (!spec->sandbox) {
    open_process_folder();
    return supervise(*spec, SandboxKind::kNone);
  }
  if (auto status = resolve_paths(*spec); !status) {
    send_packet(encode_error(status.error()));
    return 1;
  }
  if (spec->sandbox->mode != SandboxMode::kLandlock) {
    Error why{ErrorKind::kUnavailable, "no namespaces", {}, {}, {}};
    const int status = supervise_in_namespaces(*spec, why);
    if (status != kNoNamespaces) return status;
    if (spec->sandbox->mode == SandboxMode::kNamespaces || !landlock_available()) {
      send_packet(encode_error(why));
      return 1;
    }
  }
  open_process_folder();
  return supervise(*spec, SandboxKind::kLandlock);
}

}  // namespace
}  // namespace ptxbench::supervisor

int main() {
  struct stat info {};
  if (::fstat(ptxbench::supervisor::kChannelFd, &info) != 0 || !S_ISSOCK(info.st_mode)) {
    constexpr char kMessage[] = "ptxbench-supervisor is started by the other ptxbench programs, not by hand\n";
    (void)!::write(2, kMessage, sizeof(kMessage) - 1);
    return 2;
  }
  return ptxbench::supervisor::start();
}
