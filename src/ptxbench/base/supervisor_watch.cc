#include "ptxbench/base/supervisor_watch.h"

#include <dirent.h>
#include <fcntl.h>
#include <fmt/format.h>
#include <poll.h>
#include <signal.h>
#include <sys/resource.h>
#include <sys/signalfd.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <charconv>
#include <cstring>
#include <string>

#include "ptxbench/base/seccomp_filters.h"
#include "ptxbench/base/supervisor_spec.h"

namespace ptxbench::supervisor {

namespace {

constexpr int kTickMs = 50;
int process_folder = -1;

std::string read_process_file(const std::string& name) {
  std::string text;
  const int fd = ::openat(process_folder, name.c_str(), O_RDONLY | O_CLOEXEC);
  if (fd < 0) return text;
  char buffer[4096];
  for (ssize_t got; (got = ::read(fd, buffer, sizeof(buffer))) > 0;) text.append(buffer, static_cast<std::size_t>(got));
  ::close(fd);
  return text;
}

// "12 34 56 " → numbers.
std::vector<std::uint64_t> numbers(const std::string& text) {
  std::vector<std::uint64_t> result;
  const char* at = text.data();
  const char* end = at + text.size();
  while (at < end) {
    std::uint64_t value = 0;
    const auto parsed = std::from_chars(at, end, value);
    if (parsed.ec == std::errc{}) result.push_back(value);
    at = std::max(parsed.ptr, at + 1);
  }
  return result;
}

std::uint64_t field_of_status(const std::string& status, const char* name) {
  const std::size_t at = status.find(name);
  if (at == std::string::npos) return 0;
  const auto found = numbers(status.substr(at + std::strlen(name), 32));
  return found.empty() ? 0 : found[0];
}

// Children of all threads of the process "self" or a number, in outer process numbers.
std::vector<std::uint64_t> children_of(const std::string& process) {
  std::vector<std::uint64_t> children;
  const int tasks = ::openat(process_folder, (process + "/task").c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC);
  DIR* folder = tasks < 0 ? nullptr : ::fdopendir(tasks);
  if (!folder) return children;
  // Only the thread that forked a child lists it.
  while (const dirent* entry = ::readdir(folder)) {
    const auto more = numbers(read_process_file(fmt::format("{}/task/{}/children", process, entry->d_name)));
    children.insert(children.end(), more.begin(), more.end());
  }
  ::closedir(folder);
  return children;
}

std::vector<std::uint64_t> descendants() {
  std::vector<std::uint64_t> found = children_of("self");
  for (std::size_t i = 0; i < found.size() && found.size() < 100000; ++i) {
    const auto more = children_of(fmt::format("{}", found[i]));
    found.insert(found.end(), more.begin(), more.end());
  }
  return found;
}

}  // namespace

void open_process_folder() { process_folder = ::open("/proc", O_PATH | O_DIRECTORY | O_CLOEXEC); }

Watch::Watch(pid_t payload, int control, int signals, const SandboxLimits& limits)
    : payload_(payload), control_(control), signals_(signals), limits_(limits) {}

Watch::Usage Watch::measure() const {
  Usage usage;
  const auto page = static_cast<std::uint64_t>(::sysconf(_SC_PAGESIZE));
  for (std::uint64_t process : descendants()) {
    usage.processes += field_of_status(read_process_file(fmt::format("{}/status", process)), "Threads:");
    const auto sizes = numbers(read_process_file(fmt::format("{}/statm", process)));
    if (sizes.size() > 2)
      usage.resident_bytes += (sizes[1] - std::min(sizes[1], sizes[2])) * page;  // without shared pages
  }
  return usage;
}

void Watch::end_payload(Ending how, std::string detail) {
  if (!verdict_) {
    exit_.how = how;
    exit_.detail = std::move(detail);
    verdict_ = true;
  }
  ::kill(payload_, SIGKILL);
}

bool Watch::reap() {
  signalfd_siginfo info;
  while (::read(signals_, &info, sizeof(info)) > 0) {
  }
  int status = 0;
  rusage usage{};
  for (pid_t pid; (pid = ::wait4(-1, &status, WNOHANG, &usage)) > 0;) {
    if (pid != payload_) continue;  // an orphan of the payload
    exit_.cpu_seconds = static_cast<double>(usage.ru_utime.tv_sec + usage.ru_stime.tv_sec) +
                        1e-6 * static_cast<double>(usage.ru_utime.tv_usec + usage.ru_stime.tv_usec);
    exit_.peak_rss_bytes = static_cast<std::uint64_t>(usage.ru_maxrss) * 1024;
    exit_.code = WIFEXITED(status) ? WEXITSTATUS(status) : 0;
    exit_.signal = WIFSIGNALED(status) ? WTERMSIG(status) : 0;
    if (verdict_) return true;
    exit_.how = exit_.signal ? Ending::kSignaled : Ending::kExited;
    if (exit_.signal == SIGSYS)
      exit_ = {Ending::kViolation,   0, SIGSYS, "a forbidden system call", "", 0, exit_.cpu_seconds,
               exit_.peak_rss_bytes, {}};
    const bool out_of_time = exit_.signal == SIGXCPU || (exit_.signal == SIGKILL && limits_.cpu_seconds &&
                                                         exit_.cpu_seconds >= static_cast<double>(limits_.cpu_seconds));
    if (out_of_time) exit_.how = Ending::kLimit, exit_.detail = fmt::format("CPU time ({} s)", limits_.cpu_seconds);
    if (exit_.signal == SIGXFSZ)
      exit_.how = Ending::kLimit, exit_.detail = fmt::format("file size ({} MiB)", limits_.file_bytes >> 20);
    return true;
  }
  return false;
}

void Watch::receive_listener() {
  char byte = 0;
  iovec data{&byte, 1};
  alignas(cmsghdr) char control[CMSG_SPACE(sizeof(int))];
  msghdr message{};
  message.msg_iov = &data;
  message.msg_iovlen = 1;
  message.msg_control = control;
  message.msg_controllen = sizeof(control);
  if (::recvmsg(control_, &message, MSG_CMSG_CLOEXEC | MSG_DONTWAIT) == 1) {
    const cmsghdr* header = CMSG_FIRSTHDR(&message);
    if (header && header->cmsg_type == SCM_RIGHTS) std::memcpy(&listener_, CMSG_DATA(header), sizeof(int));
    (void)!::send(control_, &byte, 1, MSG_NOSIGNAL);
  }
  ::close(control_);
  control_ = -1;
}

void Watch::check_limits() {
  if (!limits_.processes && !limits_.memory_bytes) return;
  const Usage usage = measure();
  if (limits_.processes && usage.processes > limits_.processes)
    end_payload(Ending::kLimit, fmt::format("processes ({})", limits_.processes));
  if (limits_.memory_bytes && usage.resident_bytes > limits_.memory_bytes)
    end_payload(Ending::kLimit, fmt::format("memory ({} MiB)", limits_.memory_bytes >> 20));
}

Exit Watch::run() {
  for (;;) {
    // A negative descriptor is skipped by poll.
    pollfd fds[] = {{kChannelFd, POLLIN, 0}, {signals_, POLLIN, 0}, {control_, POLLIN, 0}, {listener_, POLLIN, 0}};
    const int ready = ::poll(fds, 4, limits_.processes || limits_.memory_bytes ? kTickMs : -1);
    if (ready < 0 && errno != EINTR) end_payload(Ending::kKilled, "the supervisor failed");
    // Announcements first: the caller waits in the kernel, so its end cannot have been reaped before.
    if (fds[3].revents & POLLIN) {
      std::string what, name;
      if (receive_violation(listener_, what, name)) {
        if (!verdict_) exit_.violation_call = name;
        end_payload(Ending::kViolation, what);
      }
    } else if (fds[3].revents) {
      ::close(listener_);  // all that the filter covered are gone
      listener_ = -1;
    }
    if (fds[2].revents) receive_listener();
    if (fds[1].revents && reap()) return exit_;
    if (fds[0].revents) end_payload(Ending::kKilled, "");  // the caller asked by closing its side, or died
    if (ready == 0) check_limits();
  }
}

void Watch::kill_tree() {
  for (int round = 0; round < 1000; ++round) {
    const auto alive = descendants();
    // All at once stopped first, so that a process that forks cannot outrun us for long.
    for (std::uint64_t process : alive) ::kill(static_cast<pid_t>(process), SIGSTOP);
    for (std::uint64_t process : alive) ::kill(static_cast<pid_t>(process), SIGKILL);
    while (::waitpid(-1, nullptr, WNOHANG) > 0) {
    }
    if (::waitpid(-1, nullptr, WNOHANG) < 0 && errno == ECHILD) return;
    ::poll(nullptr, 0, 1);
  }
}

}  // namespace ptxbench::supervisor
