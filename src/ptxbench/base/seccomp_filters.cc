#include "ptxbench/base/seccomp_filters.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <linux/sched.h>
#include <seccomp.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <memory>

namespace ptxbench::supervisor {

namespace {

using Filter = std::unique_ptr<void, void (*)(scmp_filter_ctx)>;

Filter make_filter(std::uint32_t default_action) { return Filter(seccomp_init(default_action), seccomp_release); }

// Calls that neither a compiler nor a loader needs and that widen what hostile input could reach. Names that the
// installed libseccomp does not know yet are skipped: the namespaces or Landlock still stand behind them.
constexpr const char* kRefusedForCompilers[] = {
    "socket",
    "ptrace",
    "process_vm_readv",
    "process_vm_writev",
    "process_madvise",
    "kcmp",
    "pidfd_getfd",
    "mount",
    "umount2",
    "pivot_root",
    "chroot",
    "unshare",
    "setns",
    "fsopen",
    "fsconfig",
    "fsmount",
    "fspick",
    "open_tree",
    "move_mount",
    "mount_setattr",
    "name_to_handle_at",
    "open_by_handle_at",
    "mknod",
    "mknodat",
    "bpf",
    "perf_event_open",
    "userfaultfd",
    "io_uring_setup",
    "io_uring_enter",
    "io_uring_register",
    "add_key",
    "request_key",
    "keyctl",
    "kexec_load",
    "kexec_file_load",
    "init_module",
    "finit_module",
    "delete_module",
    "swapon",
    "swapoff",
    "reboot",
    "ioperm",
    "iopl",
    "quotactl",
    "quotactl_fd",
    "acct",
    "settimeofday",
    "clock_settime",
    "clock_adjtime",
    "adjtimex",
    "sethostname",
    "setdomainname",
    "syslog",
    "fanotify_init",
    "lookup_dcookie",
    "move_pages",
    "migrate_pages",
    "vmsplice",
    "memfd_secret",
    "modify_ldt",
    "nfsservctl",
    "vhangup",
    "uselib",
    "ustat",
    "sysfs",
};

Status libseccomp_failed(const char* doing, int code) {
  return fail(ErrorKind::kUnavailable, fmt::format("cannot {} the system call filter: {}", doing, std::strerror(-code)),
              "the kernel must allow seccomp filters (CONFIG_SECCOMP_FILTER)");
}

constexpr std::uint64_t kNewNamespaceFlags =
    CLONE_NEWUSER | CLONE_NEWNS | CLONE_NEWPID | CLONE_NEWNET | CLONE_NEWIPC | CLONE_NEWUTS | CLONE_NEWCGROUP;

// What a locked candidate may call. Everything here works on memory, clocks, its own state or descriptors that are
// already open; files can be opened for reading only, and the sandbox decides which exist.
constexpr const char* kAllowedForCandidates[] = {
    "read",
    "write",
    "readv",
    "writev",
    "pread64",
    "preadv",
    "lseek",
    "close",
    "close_range",
    "fstat",
    "newfstatat",
    "stat",
    "lstat",
    "statx",
    "access",
    "faccessat",
    "faccessat2",
    "readlink",
    "readlinkat",
    "getcwd",
    "getdents64",
    "poll",
    "ppoll",
    "select",
    "pselect6",
    "recvmsg",
    "recvfrom",
    "sendmsg",
    "sendto",
    "shutdown",
    "dup",
    "dup2",
    "dup3",
    "mmap",
    "munmap",
    "mprotect",
    "mremap",
    "madvise",
    "msync",
    "brk",
    "futex",
    "rt_sigaction",
    "rt_sigprocmask",
    "rt_sigreturn",
    "sigaltstack",
    "gettid",
    "getpid",
    "getppid",
    "getuid",
    "geteuid",
    "getgid",
    "getegid",
    "getpgrp",
    "clock_gettime",
    "clock_getres",
    "gettimeofday",
    "time",
    "nanosleep",
    "clock_nanosleep",
    "sched_yield",
    "sched_getaffinity",
    "getcpu",
    "getrusage",
    "getrlimit",
    "getrandom",
    "uname",
    "sysinfo",
    "exit",
    "exit_group",
    "restart_syscall",
    "set_robust_list",
    "get_robust_list",
    "set_tid_address",
    "rseq",
    "arch_prctl",
    "membarrier",
    "fadvise64",
};

// Calls that libraries try and do without: answered with an error instead of a verdict. clone3 passes its flags in
// memory, which a filter cannot read; with ENOSYS the C library uses clone, whose flags tell a thread from a process.
struct Refusal {
  const char* name;
  int error;
};
constexpr Refusal kRefusedForCandidates[] = {
    {"ioctl", ENOTTY},      {"prctl", EPERM},          {"clone3", ENOSYS},
    {"openat2", ENOSYS},    {"mlock", EPERM},          {"statfs", EPERM},
    {"fstatfs", EPERM},     {"sched_getparam", EPERM}, {"sched_getscheduler", EPERM},
    {"getpriority", EPERM}, {"getxattr", EPERM},       {"map_shadow_stack", ENOSYS},
};

constexpr std::uint64_t kWritingFlags = O_ACCMODE | O_CREAT | O_TRUNC | O_APPEND | (O_TMPFILE & ~O_DIRECTORY);

int add_by_name(scmp_filter_ctx filter, std::uint32_t action, const char* name) {
  const int number = seccomp_syscall_resolve_name(name);
  if (number == __NR_SCMP_ERROR) return 0;
  const int code = seccomp_rule_add(filter, action, number, 0);
  return code == -EDOM ? 0 : code;  // not a call of this architecture
}

int add_compiler_rules(scmp_filter_ctx filter) {
  for (const char* name : kRefusedForCompilers)
    if (int code = add_by_name(filter, SCMP_ACT_ERRNO(EPERM), name)) return code;
  if (int code = add_by_name(filter, SCMP_ACT_ERRNO(ENOSYS), "clone3")) return code;
  for (std::uint64_t flag = 1; flag != 0; flag <<= 1)
    if (flag & kNewNamespaceFlags)
      if (int code = seccomp_rule_add(filter, SCMP_ACT_ERRNO(EPERM), SCMP_SYS(clone), 1,
                                      SCMP_A0(SCMP_CMP_MASKED_EQ, flag, flag)))
        return code;
  // Typing into the terminal that started us.
  return seccomp_rule_add(filter, SCMP_ACT_ERRNO(EPERM), SCMP_SYS(ioctl), 1,
                          SCMP_A1(SCMP_CMP_MASKED_EQ, 0xFFFFFFFF, TIOCSTI));
}

int add_candidate_rules(scmp_filter_ctx filter) {
  for (const char* name : kAllowedForCandidates)
    if (int code = add_by_name(filter, SCMP_ACT_ALLOW, name)) return code;
  for (const Refusal& refusal : kRefusedForCandidates)
    if (int code = add_by_name(filter, SCMP_ACT_ERRNO(static_cast<std::uint32_t>(refusal.error)), refusal.name))
      return code;
  if (int code =
          seccomp_rule_add(filter, SCMP_ACT_ALLOW, SCMP_SYS(open), 1, SCMP_A1(SCMP_CMP_MASKED_EQ, kWritingFlags, 0)))
    return code;
  if (int code =
          seccomp_rule_add(filter, SCMP_ACT_ALLOW, SCMP_SYS(openat), 1, SCMP_A2(SCMP_CMP_MASKED_EQ, kWritingFlags, 0)))
    return code;
  // abort() and raise(): signals to itself only.
  const auto self = static_cast<scmp_datum_t>(::getpid());
  if (int code = seccomp_rule_add(filter, SCMP_ACT_ALLOW, SCMP_SYS(tgkill), 1, SCMP_A0(SCMP_CMP_EQ, self))) return code;
  // Reading limits (glibc's sysconf), not setting them.
  if (int code = seccomp_rule_add(filter, SCMP_ACT_ALLOW, SCMP_SYS(prlimit64), 1, SCMP_A2(SCMP_CMP_EQ, 0))) return code;
  for (int command : {F_GETFD, F_SETFD, F_GETFL, F_SETFL, F_DUPFD, F_DUPFD_CLOEXEC})
    if (int code = seccomp_rule_add(filter, SCMP_ACT_ALLOW, SCMP_SYS(fcntl), 1,
                                    SCMP_A1(SCMP_CMP_EQ, static_cast<scmp_datum_t>(command))))
      return code;
  return 0;
}

// Loads the allow list with `other` for every other call.
int load_candidate_rules(std::uint32_t other, int& listener) {
  const Filter filter = make_filter(other);
  if (!filter) return -ENOMEM;
  // 32-bit and x32 calls have numbers of their own and would pass a filter of the native ones.
  seccomp_attr_set(filter.get(), SCMP_FLTATR_ACT_BADARCH, SCMP_ACT_KILL_PROCESS);
  seccomp_attr_set(filter.get(), SCMP_FLTATR_CTL_OPTIMIZE, 2);
  if (int code = add_candidate_rules(filter.get())) return code;
  if (int code = seccomp_load(filter.get())) return code;
  listener = other == SCMP_ACT_NOTIFY ? seccomp_notify_fd(filter.get()) : -1;
  return 0;
}

const char* meaning_of(std::string_view name, const std::uint64_t args[6]) {
  if (name == "clone") return args[0] & CLONE_THREAD ? "a new thread" : "a new process";
  if (name == "fork" || name == "vfork") return "a new process";
  if (name == "execve" || name == "execveat") return "running a program";
  if (name == "socket" || name == "socketpair" || name == "connect" || name == "bind")
    return "a network or local socket";
  if (name == "open" || name == "openat" || name == "creat") return "opening a file for writing";
  if (name == "kill" || name == "tkill" || name == "tgkill") return "a signal to another process";
  if (name == "ptrace" || name == "process_vm_readv" || name == "process_vm_writev") return "reading another process";
  if (name == "unlink" || name == "unlinkat" || name == "rename" || name == "mkdir") return "changing files";
  return "not allowed for candidates";
}

}  // namespace

Status load_compiler_filter() {
  const Filter filter = make_filter(SCMP_ACT_ALLOW);
  if (!filter) return libseccomp_failed("create", -ENOMEM);
  seccomp_attr_set(filter.get(), SCMP_FLTATR_ACT_BADARCH, SCMP_ACT_KILL_PROCESS);
  if (int code = add_compiler_rules(filter.get())) return libseccomp_failed("build", code);
  if (int code = seccomp_load(filter.get())) return libseccomp_failed("load", code);
  return {};
}

Result<int> load_candidate_filter() {
  int listener = -1;
  int code = load_candidate_rules(SCMP_ACT_NOTIFY, listener);
  // No announcements here (old kernel, or a container manager already listens): kill without naming the call.
  if (code != 0) code = load_candidate_rules(SCMP_ACT_KILL_PROCESS, listener);
  if (code != 0) return fail(libseccomp_failed("load", code).error());
  return listener;
}

std::string describe_call(int number, const std::uint64_t args[6], std::string& bare_name) {
  char* name = seccomp_syscall_resolve_num_arch(SCMP_ARCH_NATIVE, number);
  bare_name = name ? name : fmt::format("system call {}", number);
  std::free(name);
  return fmt::format("{} ({})", bare_name, meaning_of(bare_name, args));
}

bool receive_violation(int listener, std::string& description, std::string& bare_name) {
  seccomp_notif* request = nullptr;
  seccomp_notif_resp* response = nullptr;
  if (seccomp_notify_alloc(&request, &response) != 0) return false;
  std::memset(request, 0, sizeof(*request));
  const bool received = seccomp_notify_receive(listener, request) == 0;
  if (received) {
    std::uint64_t args[6];
    for (int i = 0; i < 6; ++i) args[i] = request->data.args[i];
    description = describe_call(request->data.nr, args, bare_name);
  }
  seccomp_notify_free(request, response);
  return received;
}

}  // namespace ptxbench::supervisor
