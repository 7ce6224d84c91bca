#include <fcntl.h>
#include <fmt/format.h>
#include <sched.h>
#include <signal.h>
#include <sys/mount.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <filesystem>
#include <vector>

#include "ptxbench/base/supervisor_isolation.h"

// This file uses glibc's <sys/mount.h> for mount_setattr; <linux/mount.h> must not be included beside it.

namespace ptxbench::supervisor {
namespace fs = std::filesystem;

namespace {

// The uid inside. Not 0, so that exec gives no capabilities back.
constexpr int kInsideId = 1000;

tl::unexpected<Error> fail_errno(std::string doing) {
  return fail(ErrorKind::kUnavailable, fmt::format("cannot {}: {}", doing, std::strerror(errno)),
              "the system must allow user namespaces with mounts, or offer Landlock (Linux 5.13 or later)");
}

bool write_proc(const char* path, const std::string& text) {
  const int fd = ::open(path, O_WRONLY | O_CLOEXEC);
  if (fd < 0) return false;
  const bool done = ::write(fd, text.data(), text.size()) == static_cast<ssize_t>(text.size());
  ::close(fd);
  return done;
}

constexpr unsigned long kNamespaces = CLONE_NEWNS | CLONE_NEWPID | CLONE_NEWNET | CLONE_NEWIPC | CLONE_NEWUTS;

Status make_parents(const fs::path& path) {
  std::error_code error;
  fs::create_directories(path.parent_path(), error);
  if (error)
    return fail(ErrorKind::kUnavailable, fmt::format("cannot create '{}': {}", path.string(), error.message()));
  return {};
}

// An empty file or folder at `target`, for a mount of `source` over it.
Status make_mount_point(const fs::path& source, const fs::path& target) {
  PTXBENCH_TRY_STATUS(make_parents(target));
  std::error_code error;
  if (fs::is_directory(source, error)) {
    fs::create_directories(target, error);
    if (error)
      return fail(ErrorKind::kUnavailable, fmt::format("cannot create '{}': {}", target.string(), error.message()));
    return {};
  }
  // There already: below a folder that is mounted read-only, or named twice.
  if (fs::exists(target, error)) return {};
  const int fd = ::open(target.c_str(), O_WRONLY | O_CREAT | O_CLOEXEC, 0644);
  if (fd < 0) return fail_errno(fmt::format("create '{}'", target.string()));
  ::close(fd);
  return {};
}

Status bind(const fs::path& source, const fs::path& target, std::uint64_t attributes) {
  PTXBENCH_TRY_STATUS(make_mount_point(source, target));
  if (::mount(source.c_str(), target.c_str(), nullptr, MS_BIND | MS_REC, nullptr) != 0)
    return fail_errno(fmt::format("mount '{}'", target.string()));
  mount_attr attr{};
  attr.attr_set = attributes;
  if (::mount_setattr(AT_FDCWD, target.c_str(), AT_RECURSIVE, &attr, sizeof(attr)) != 0)
    return fail_errno(fmt::format("protect '{}'", target.string()));
  return {};
}

Status mount_tmpfs(const fs::path& target, std::uint64_t bytes, const char* mode) {
  std::error_code ignored;
  fs::create_directories(target, ignored);
  const std::string options = fmt::format("mode={},size={},nr_inodes=65536", mode, bytes);
  if (::mount("tmpfs", target.c_str(), "tmpfs", MS_NOSUID | MS_NODEV, options.c_str()) != 0)
    return fail_errno(fmt::format("mount a memory file system on '{}'", target.string()));
  return {};
}

struct Bind {
  fs::path path;  // inside
  fs::path real;  // outside, without links
  std::uint64_t attributes;
};

// Called while the outer tree is still the root, in which links can be followed.
std::vector<Bind> plan_binds(const SandboxPolicy& policy) {
  constexpr std::uint64_t kCommon = MOUNT_ATTR_NOSUID | MOUNT_ATTR_NODEV;
  std::vector<Bind> binds;
  const auto add = [&binds](const fs::path& path, std::uint64_t attributes) {
    std::error_code error;
    fs::path real = fs::canonical(path, error);
    binds.push_back({path, error ? path : std::move(real), attributes});
  };
  for (const fs::path& path : policy.read_only) add(path, kCommon | MOUNT_ATTR_RDONLY);
  for (const fs::path& path : policy.writable) add(path, kCommon);
  // A parent first, so that what lies below it is mounted over it and not hidden by it.
  std::stable_sort(binds.begin(), binds.end(),
                   [](const Bind& a, const Bind& b) { return a.path.native().size() < b.path.native().size(); });
  return binds;
}

Status bind_all(const std::vector<Bind>& binds) {
  for (const Bind& entry : binds)
    PTXBENCH_TRY_STATUS(bind(fs::path("/old") / entry.real.relative_path(),
                             fs::path("/new") / entry.path.relative_path(), entry.attributes));
  for (const char* device : {"dev/null", "dev/zero", "dev/urandom"})
    PTXBENCH_TRY_STATUS(
        bind(fs::path("/old") / device, fs::path("/new") / device, MOUNT_ATTR_NOSUID | MOUNT_ATTR_NOEXEC));
  return {};
}

Status switch_root(const char* new_root, const char* put_old) {
  if (::syscall(SYS_pivot_root, new_root, put_old) != 0 || ::chdir("/") != 0)
    return fail_errno("change the root folder");
  return {};
}

}  // namespace

Result<pid_t> fork_into_namespaces() {
  const uid_t uid = ::geteuid();
  const gid_t gid = ::getegid();
  bool own_user = true;
  auto child = static_cast<pid_t>(::syscall(SYS_clone, SIGCHLD | CLONE_NEWUSER | kNamespaces, 0, 0, 0, 0));
  if (child < 0) {
    // Privileged, and user namespaces are switched off: capabilities are dropped before exec all the same.
    own_user = false;
    child = static_cast<pid_t>(::syscall(SYS_clone, SIGCHLD | kNamespaces, 0, 0, 0, 0));
  }
  if (child < 0) return fail_errno("create namespaces");
  if (child > 0 || !own_user) return child;
  write_proc("/proc/self/setgroups", "deny");
  if (!write_proc("/proc/self/uid_map", fmt::format("{} {} 1", kInsideId, uid)) ||
      !write_proc("/proc/self/gid_map", fmt::format("{} {} 1", kInsideId, gid)))
    ::_exit(kNoNamespaces);
  return child;
}

Status build_root(const SandboxPolicy& policy) {
  const std::vector<Bind> binds = plan_binds(policy);
  if (::mount(nullptr, "/", nullptr, MS_REC | MS_PRIVATE, nullptr) != 0) return fail_errno("make mounts private");
  // /tmp exists everywhere; the memory file system over it becomes the root, first with the old tree below it.
  PTXBENCH_TRY_STATUS(mount_tmpfs("/tmp", std::uint64_t{1} << 20, "0755"));
  ::umask(022);
  if (::mkdir("/tmp/old", 0755) != 0 || ::mkdir("/tmp/new", 0755) != 0) return fail_errno("prepare the root folder");
  PTXBENCH_TRY_STATUS(switch_root("/tmp", "/tmp/old"));
  PTXBENCH_TRY_STATUS(mount_tmpfs("/new", std::uint64_t{4} << 20, "0755"));
  if (policy.profile == SandboxProfile::kCompiler && policy.limits.tmp_bytes > 0)
    PTXBENCH_TRY_STATUS(mount_tmpfs("/new/tmp", policy.limits.tmp_bytes, "0700"));
  PTXBENCH_TRY_STATUS(bind_all(binds));
  if (::mount(nullptr, "/new", nullptr, MS_REMOUNT | MS_BIND | MS_RDONLY | MS_NOSUID | MS_NODEV, nullptr) != 0)
    return fail_errno("make the root folder read-only");
  if (::umount2("/old", MNT_DETACH) != 0) return fail_errno("detach the old tree");
  if (::chdir("/new") != 0) return fail_errno("enter the root folder");
  PTXBENCH_TRY_STATUS(switch_root(".", "."));
  if (::umount2(".", MNT_DETACH) != 0) return fail_errno("detach the outer root");
  if (::chdir("/") != 0) return fail_errno("enter the root folder");
  ::sethostname("ptxbench", 8);
  return {};
}

}  // namespace ptxbench::supervisor
