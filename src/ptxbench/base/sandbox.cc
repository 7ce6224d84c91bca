#include "ptxbench/base/sandbox.h"

#include <fmt/format.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>

#include "ptxbench/base/seccomp_filters.h"

namespace ptxbench {

std::string_view to_string(SandboxKind kind) {
  switch (kind) {
    case SandboxKind::kNone: return "none";
    case SandboxKind::kNamespaces: return "namespaces";
    case SandboxKind::kLandlock: return "landlock";
  }
  return "unknown";
}

std::vector<std::filesystem::path> system_library_paths() {
  std::vector<std::filesystem::path> present;
  std::error_code ignored;
  for (const char* path : {"/lib", "/lib64", "/usr/lib", "/usr/lib64", "/etc/ld.so.cache"})
    if (std::filesystem::exists(path, ignored)) present.emplace_back(path);
  // The libraries that an installed copy brings along.
  const std::filesystem::path self = std::filesystem::read_symlink("/proc/self/exe", ignored);
  std::filesystem::path own = self.parent_path().parent_path() / "lib/ptxbench";
  if (std::filesystem::exists(own, ignored)) present.push_back(std::move(own));
  return present;
}

namespace {

// Hands the descriptor of the filter's announcements to the supervisor, so that the candidate never holds it.
Status send_listener(int listener) {
  char byte = listener >= 0 ? 'L' : 'K';
  iovec data{&byte, 1};
  alignas(cmsghdr) char control[CMSG_SPACE(sizeof(int))] = {};
  msghdr message{};
  message.msg_iov = &data;
  message.msg_iovlen = 1;
  if (listener >= 0) {
    message.msg_control = control;
    message.msg_controllen = sizeof(control);
    cmsghdr* header = CMSG_FIRSTHDR(&message);
    header->cmsg_level = SOL_SOCKET;
    header->cmsg_type = SCM_RIGHTS;
    header->cmsg_len = CMSG_LEN(sizeof(int));
    std::memcpy(CMSG_DATA(header), &listener, sizeof(int));
  }
  if (::sendmsg(kSandboxControlFd, &message, MSG_NOSIGNAL) != 1)
    return fail(ErrorKind::kUnavailable, fmt::format("cannot reach the supervisor: {}", std::strerror(errno)));
  // Wait for its answer: from here on every forbidden call has a reader.
  if (::read(kSandboxControlFd, &byte, 1) != 1)
    return fail(ErrorKind::kUnavailable, "the supervisor did not accept the system call filter");
  return {};
}

}  // namespace

Status apply_candidate_seccomp() {
  struct stat info {};
  if (::fstat(kSandboxControlFd, &info) != 0 || !S_ISSOCK(info.st_mode))
    return fail(ErrorKind::kUnavailable, "this process was not started in the candidate sandbox",
                "start it with Child::start and SandboxProfile::kCandidate");
  PTXBENCH_TRY(const int listener, supervisor::load_candidate_filter());
  const Status sent = send_listener(listener);
  if (listener >= 0) ::close(listener);
  ::close(kSandboxControlFd);
  return sent;
}

}  // namespace ptxbench
