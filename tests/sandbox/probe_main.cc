// sandbox_probe [--lock] ACTION [ARG]: does one thing and exits with 0 if the system let it, else with 1 and the reason
// on stdout. --lock: calls apply_candidate_seccomp() first, as ptxbench-host does.
#include <fcntl.h>
#include <linux/perf_event.h>
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <spawn.h>
#include <sys/mman.h>
#include <sys/mount.h>
#include <sys/ptrace.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <functional>
#include <map>
#include <string>
#include <thread>
#include <vector>

#include "ptxbench/base/sandbox.h"

extern char** environ;

namespace {

std::string argument;
bool always(long code) { return code >= 0; }

void* nothing(void*) { return nullptr; }

bool start_thread() {
  pthread_t thread;
  if (int code = ::pthread_create(&thread, nullptr, nothing, nullptr)) return errno = code, false;
  return ::pthread_join(thread, nullptr) == 0;
}

bool fork_once() {
  const pid_t child = ::fork();
  if (child == 0) ::_exit(0);
  return child > 0 && ::waitpid(child, nullptr, 0) == child;
}

bool spawn_true() {
  char name[] = "/bin/true";
  char* argv[] = {name, nullptr};
  pid_t pid;
  if (int code = ::posix_spawn(&pid, name, nullptr, nullptr, argv, environ)) return errno = code, false;
  return true;
}

bool open_with(int flags) {
  const int fd = ::open(argument.c_str(), flags | O_CLOEXEC, 0644);
  if (fd >= 0 && (flags & O_ACCMODE) == O_RDONLY) {
    char byte;
    if (::read(fd, &byte, 1) < 0) return false;
  }
  return fd >= 0;
}

bool write_file(std::size_t bytes) {
  const int fd = ::open(argument.c_str(), O_WRONLY | O_CREAT | O_TRUNC, 0644);
  if (fd < 0) return false;
  std::vector<char> block(1 << 20, 'x');
  for (std::size_t done = 0; done < bytes; done += block.size())
    if (::write(fd, block.data(), block.size()) != static_cast<ssize_t>(block.size())) return false;
  return true;
}

bool peek_parent() {
  long word = 0;
  iovec local{&word, sizeof(word)}, remote{reinterpret_cast<void*>(0x400000), sizeof(word)};
  return always(::process_vm_readv(::getppid(), &local, 1, &remote, 1, 0));
}

bool allocate(std::size_t bytes) {
  char* memory = static_cast<char*>(::mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0));
  if (memory == MAP_FAILED) return false;
  for (std::size_t i = 0; i < bytes; i += 4096) memory[i] = 1;
  return true;
}

bool open_many() {
  for (int i = 0; i < 4096; ++i)
    if (::open("/dev/null", O_RDONLY) < 0) return false;
  return true;
}

bool many_processes() {
  for (int i = 0; i < 200; ++i) {
    const pid_t child = ::fork();
    if (child < 0) return false;
    if (child == 0) {
      ::pause();
      ::_exit(0);
    }
  }
  ::sleep(30);
  return true;
}

[[noreturn]] void spin() {
  for (;;) asm volatile("");
}

// A child in a session of its own that would live on, with its number on stdout.
bool leave_orphan() {
  const pid_t child = ::fork();
  if (child == 0) {
    ::setsid();
    ::close(1);
    if (::fork() == 0) ::sleep(600);
    ::sleep(600);
    ::_exit(0);
  }
  std::printf("%d\n", child);
  std::fflush(stdout);
  return true;
}

const std::map<std::string, std::function<bool()>> kActions = {
    {"nothing", [] { return true; }},
    {"thread", start_thread},
    {"fork", fork_once},
    {"vfork-exec", spawn_true},
    {"exec", [] { return ::execl("/bin/true", "true", nullptr) == 0; }},
    {"system", [] { return std::system("true") == 0; }},
    {"socket", [] { return always(::socket(AF_INET, SOCK_STREAM, 0)); }},
    {"unix-socket", [] { return always(::socket(AF_UNIX, SOCK_STREAM, 0)); }},
    {"ptrace", [] { return always(::ptrace(PTRACE_ATTACH, ::getppid(), nullptr, nullptr)); }},
    {"peek", peek_parent},
    {"kill-parent", [] { return ::kill(::getppid(), SIGTERM) == 0; }},
    {"mount", [] { return ::mount("none", "/", "tmpfs", 0, nullptr) == 0; }},
    {"unshare", [] { return ::unshare(CLONE_NEWUSER) == 0; }},
    {"clone-namespace", [] { return always(::syscall(SYS_clone, CLONE_NEWUSER | SIGCHLD, 0, 0, 0, 0)); }},
    {"perf",
     [] {
       perf_event_attr attr{};
       attr.size = sizeof(attr);
       return always(::syscall(SYS_perf_event_open, &attr, 0, -1, -1, 0));
     }},
    {"bpf", [] { return always(::syscall(SYS_bpf, 5, nullptr, 0)); }},
    {"userfaultfd", [] { return always(::syscall(SYS_userfaultfd, 1)); }},
    {"io_uring", [] { return always(::syscall(SYS_io_uring_setup, 4, std::vector<char>(256).data())); }},
    {"keyctl", [] { return always(::syscall(SYS_keyctl, 0, -3, 1)); }},
    {"memfd", [] { return always(::memfd_create("x", 0)); }},
    {"chmod", [] { return ::chmod(argument.c_str(), 0777) == 0; }},
    {"unlink", [] { return ::unlink(argument.c_str()) == 0; }},
    {"mknod", [] { return ::mknod(argument.c_str(), S_IFCHR | 0666, 0x101) == 0; }},
    {"chroot", [] { return ::chroot("/") == 0; }},
    {"int80",
     [] {
       long result = 20;  // getpid of the 32-bit table
       asm volatile("int $0x80" : "+a"(result)::"memory");
       return result > 0;
     }},
    {"read", [] { return open_with(O_RDONLY); }},
    {"write", [] { return open_with(O_WRONLY); }},
    {"create", [] { return open_with(O_WRONLY | O_CREAT); }},
    {"exists", [] { return ::access(argument.c_str(), F_OK) == 0; }},
    {"fill", [] { return write_file(std::size_t{64} << 20); }},
    {"allocate", [] { return allocate(std::size_t{1} << 30); }},
    {"open-many", open_many},
    {"many-processes", many_processes},
    {"spin",
     [] {
       spin();
       return false;
     }},
    {"sleep", [] { return ::sleep(600) == 0; }},
    {"orphan", leave_orphan},
    {"segv",
     [] {
       ::raise(SIGSEGV);
       return false;
     }},
    {"abort",
     [] {
       std::abort();
       return false;
     }},
    {"exit3",
     [] {
       std::exit(3);
       return false;
     }},
    {"flood",
     [] {
       for (int i = 0; i < 4096; ++i) std::fwrite(std::string(4096, 'a').data(), 1, 4096, stdout);
       return true;
     }},
    {"echo",
     [] {
       char text[64];
       const ssize_t got = ::read(0, text, 64);
       return ::write(1, text, static_cast<std::size_t>(got)) == got;
     }},
    {"environment",
     [] {
       for (char** e = environ; *e; ++e) std::printf("%s\n", *e);
       return true;
     }},
    {"descriptors",
     [] {
       for (int fd = 0; fd < 1024; ++fd)
         if (::fcntl(fd, F_GETFD) >= 0) std::printf("%d ", fd);
       return true;
     }},
    {"say", [] { return ::write(std::atoi(argument.c_str()), "hello", 5) == 5; }},
    {"block-sigsys-fork",
     [] {  // a handler or a mask must not hide a forbidden call
       ::signal(SIGSYS, SIG_IGN);
       sigset_t all;
       ::sigfillset(&all);
       ::sigprocmask(SIG_BLOCK, &all, nullptr);
       return fork_once();
     }},
    {"capabilities",
     [] {
       std::FILE* status = std::fopen("/proc/self/status", "r");
       char line[256];
       while (status && std::fgets(line, sizeof(line), status))
         if (std::strncmp(line, "CapEff", 6) == 0) std::fputs(line, stdout);
       return status != nullptr;
     }},
};

}  // namespace

int main(int argc, char** argv) {
  int next = 1;
  const bool lock = argc > 1 && std::string(argv[1]) == "--lock";
  if (lock) ++next;
  if (next >= argc || !kActions.count(argv[next])) {
    std::fprintf(stderr, "unknown action\n");
    return 99;
  }
  if (next + 1 < argc) argument = argv[next + 1];
  if (lock) {
    if (auto status = ptxbench::apply_candidate_seccomp(); !status) {
      std::fprintf(stderr, "%s\n", status.error().format().c_str());
      return 98;
    }
  }
  if (kActions.at(argv[next])()) return 0;
  std::printf("%s\n", std::strerror(errno));
  return 1;
}
