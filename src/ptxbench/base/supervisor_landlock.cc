// Landlock through its three system calls: C libraries have no wrappers, and Debian 12's kernel headers lack the later
// rights, so they are spelled out here (Documentation/userspace-api/landlock.rst in the kernel).
#include <fcntl.h>
#include <fmt/format.h>
#include <linux/capability.h>
#include <linux/securebits.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>

#include "ptxbench/base/supervisor_isolation.h"

namespace ptxbench::supervisor {
namespace fs = std::filesystem;

namespace {

struct RulesetAttr {
  std::uint64_t handled_access_fs;
  std::uint64_t handled_access_net;  // ABI 4
  std::uint64_t scoped;              // ABI 6
};
struct __attribute__((packed)) PathBeneathAttr {
  std::uint64_t allowed_access;
  std::int32_t parent_fd;
};
constexpr int kRulePathBeneath = 1;
constexpr std::uint32_t kCreateRulesetVersion = 1;

constexpr std::uint64_t kExecute = 1 << 0, kWriteFile = 1 << 1, kReadFile = 1 << 2, kReadDir = 1 << 3;
constexpr std::uint64_t kAllAbi1 = (1 << 13) - 1;  // the above, and removing and making of every kind of file
constexpr std::uint64_t kRefer = 1 << 13, kTruncate = 1 << 14, kIoctlDev = 1 << 15;
constexpr std::uint64_t kBindTcp = 1 << 0, kConnectTcp = 1 << 1;
constexpr std::uint64_t kScopeAbstractSocket = 1 << 0, kScopeSignal = 1 << 1;

long abi_version() { return ::syscall(SYS_landlock_create_ruleset, nullptr, 0, kCreateRulesetVersion); }

std::uint64_t handled_rights(long abi) {
  std::uint64_t rights = kAllAbi1;
  if (abi >= 2) rights |= kRefer;
  if (abi >= 3) rights |= kTruncate;
  if (abi >= 5) rights |= kIoctlDev;
  return rights;
}

tl::unexpected<Error> fail_errno(std::string doing) {
  return fail(ErrorKind::kUnavailable, fmt::format("cannot {}: {}", doing, std::strerror(errno)));
}

Status allow(int ruleset, const fs::path& path, std::uint64_t rights) {
  const int fd = ::open(path.c_str(), O_PATH | O_CLOEXEC);
  if (fd < 0) return fail_errno(fmt::format("open '{}'", path.string()));
  struct stat info {};
  ::fstat(fd, &info);
  if (!S_ISDIR(info.st_mode)) rights &= kExecute | kWriteFile | kReadFile | kTruncate | kIoctlDev;
  const PathBeneathAttr attr{rights, fd};
  const long code = ::syscall(SYS_landlock_add_rule, ruleset, kRulePathBeneath, &attr, 0);
  const int saved = errno;
  ::close(fd);
  errno = saved;
  if (code != 0) return fail_errno(fmt::format("allow '{}' in Landlock", path.string()));
  return {};
}

Status allow_policy(int ruleset, const SandboxPolicy& policy, std::uint64_t handled) {
  for (const fs::path& path : policy.read_only)
    PTXBENCH_TRY_STATUS(allow(ruleset, path, kExecute | kReadFile | kReadDir));
  for (const fs::path& path : policy.writable) PTXBENCH_TRY_STATUS(allow(ruleset, path, handled & ~kIoctlDev));
  for (const char* device : {"/dev/null", "/dev/zero", "/dev/urandom"})
    PTXBENCH_TRY_STATUS(allow(ruleset, device, (kReadFile | kWriteFile | kTruncate) & handled));
  return {};
}

}  // namespace

bool landlock_available() { return abi_version() >= 1; }

Status restrict_with_landlock(const SandboxPolicy& policy) {
  const long abi = abi_version();
  if (abi < 1) return fail_errno("use Landlock");
  RulesetAttr attr{handled_rights(abi), abi >= 4 ? kBindTcp | kConnectTcp : 0,
                   abi >= 6 ? kScopeAbstractSocket | kScopeSignal : 0};
  // Older kernels refuse a larger structure only if its tail is not zero.
  const int ruleset = static_cast<int>(::syscall(SYS_landlock_create_ruleset, &attr, sizeof(attr), 0));
  if (ruleset < 0) return fail_errno("create a Landlock rule set");
  Status status = allow_policy(ruleset, policy, attr.handled_access_fs);
  if (status && ::prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) != 0) status = fail_errno("forbid new privileges");
  if (status && ::syscall(SYS_landlock_restrict_self, ruleset, 0) != 0) status = fail_errno("enforce Landlock");
  ::close(ruleset);
  return status;
}

Status drop_capabilities() {
  for (int cap = 0; ::prctl(PR_CAPBSET_READ, cap, 0, 0, 0) >= 0; ++cap) ::prctl(PR_CAPBSET_DROP, cap, 0, 0, 0);
  ::prctl(PR_CAP_AMBIENT, PR_CAP_AMBIENT_CLEAR_ALL, 0, 0, 0);
  // Without these bits exec would give a root user its capabilities back. Needs CAP_SETPCAP; others have none to lose.
  ::prctl(PR_SET_SECUREBITS, SECBIT_NOROOT | SECBIT_NOROOT_LOCKED | SECBIT_NO_SETUID_FIXUP |
                                 SECBIT_NO_SETUID_FIXUP_LOCKED | SECBIT_NO_CAP_AMBIENT_RAISE |
                                 SECBIT_NO_CAP_AMBIENT_RAISE_LOCKED);
  __user_cap_header_struct header{_LINUX_CAPABILITY_VERSION_3, 0};
  __user_cap_data_struct none[2] = {};
  if (::syscall(SYS_capset, &header, none) != 0) return fail_errno("drop capabilities");
  if (::prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) != 0) return fail_errno("forbid new privileges");
  return {};
}

Status set_resource_limits(const SandboxLimits& limits) {
  const auto set = [](__rlimit_resource resource, std::uint64_t soft, std::uint64_t hard) {
    rlimit current{};
    ::getrlimit(resource, &current);
    const rlimit wanted{std::min<rlim_t>(soft, current.rlim_max), std::min<rlim_t>(hard, current.rlim_max)};
    return ::setrlimit(resource, &wanted) == 0;
  };
  bool good = set(RLIMIT_CORE, 0, 0);
  if (limits.cpu_seconds) good = good && set(RLIMIT_CPU, limits.cpu_seconds, limits.cpu_seconds + 1);
  if (limits.file_bytes) good = good && set(RLIMIT_FSIZE, limits.file_bytes, limits.file_bytes);
  if (limits.open_files) good = good && set(RLIMIT_NOFILE, limits.open_files, limits.open_files);
    // A sanitizer's shadow memory is terabytes of address space; the tree's resident memory is watched in any case.
#if !defined(__SANITIZE_ADDRESS__) && !defined(__SANITIZE_THREAD__)
  if (limits.memory_bytes) good = good && set(RLIMIT_AS, limits.memory_bytes, limits.memory_bytes);
#endif
  if (!good) return fail_errno("set resource limits");
  return {};
}

}  // namespace ptxbench::supervisor
