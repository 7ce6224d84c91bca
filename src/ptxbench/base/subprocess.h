// Child processes that cannot outlive us. Every child runs under a small supervisor program (ptxbench-supervisor, found
// beside the running program): it applies the sandbox, enforces the limits, and ends the child with all descendants
// when the handle is destroyed, the deadline passes, or this process dies in any way (kill -9 included).
// Safe in a threaded program: nothing runs between fork and exec in our address space.
#pragma once

#include <chrono>
#include <cstdint>
#include <filesystem>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "ptxbench/base/result.h"
#include "ptxbench/base/sandbox.h"

namespace ptxbench {

// Where a child's stdout or stderr goes.
struct OutputTo {
  enum class Kind { kNull, kCapture, kInherit, kFd };
  Kind kind = Kind::kNull;
  std::uint64_t capture_bytes = 0;  // kCapture: keeps the first that many; what follows is read and dropped
  int fd = -1;                      // kFd: duplicated for the child; stays the caller's

  static OutputTo null() { return {}; }
  static OutputTo capture(std::uint64_t bytes = std::uint64_t{1} << 20) { return {Kind::kCapture, bytes, -1}; }
  static OutputTo inherit() { return {Kind::kInherit, 0, -1}; }
  static OutputTo to_fd(int fd) { return {Kind::kFd, 0, fd}; }
};

struct InheritedFd {
  int fd;  // ours; stays open here
  int as;  // its number in the child; 3..99, each at most once
};

struct Command {
  std::vector<std::string> argv;               // argv[0]: absolute path of the program; no PATH search
  std::vector<std::string> environment;        // "NAME=value"; exactly these, nothing of ours is passed on
  std::filesystem::path working_folder = "/";  // as the child sees it
  std::string stdin_bytes;                     // empty: end of file at once
  OutputTo stdout_to, stderr_to;
  std::vector<InheritedFd> inherited;    // all other descriptors of ours stay closed in the child
  std::optional<SandboxPolicy> sandbox;  // absent: no sandbox, but still nothing outlives us
};

enum class Ending {
  kExited,     // Exit::code
  kSignaled,   // Exit::signal
  kViolation,  // made a call that its sandbox profile forbids: Exit::detail
  kLimit,      // over a SandboxLimits value that the supervisor watches, or CPU time or file size: Exit::detail
  kTimeout,    // the deadline of wait() or run() passed
  kKilled,     // kill() or cancel_all()
};

struct Exit {
  Ending how = Ending::kExited;
  int code = 0;
  int signal = 0;
  // kViolation: the call, e.g. "clone (a new thread)"; kLimit: which, with its value, e.g. "memory (4096 MiB)".
  std::string detail;
  std::string violation_call;  // kViolation: the bare system call name, e.g. "clone"; empty if the kernel cannot tell
  double wall_seconds = 0, cpu_seconds = 0;  // CPU: the child and its ended descendants
  std::uint64_t peak_rss_bytes = 0;          // of the largest process
  SandboxKind sandbox = SandboxKind::kNone;

  bool ok() const { return how == Ending::kExited && code == 0; }
  std::string describe() const;  // "exited with code 3", "killed by signal 11 (Segmentation fault)" ...
};

struct Captured {
  std::string bytes;
  bool truncated = false;
};

// A running child. Destroying it ends the child and everything it started, and waits for that.
class Child {
 public:
  // Fails when the program or a policy path is missing (kNotFound) or no sandbox can be had (kUnavailable).
  static Result<Child> start(const Command& command);
  Child(Child&&) noexcept;
  Child& operator=(Child&&) noexcept;
  ~Child();

  // Waits until the child has ended, or the time is over: then ends it (Ending::kTimeout). Later calls return the same.
  // Not before the whole tree is gone and the captured output is complete.
  const Exit& wait(std::optional<std::chrono::milliseconds> limit = std::nullopt);
  bool running();       // does not block
  const Exit& kill();   // ends the tree and waits
  int poll_fd() const;  // becomes readable when the child has ended; for poll() only

  SandboxKind sandbox() const;
  // After wait() or kill() only.
  const Captured& captured_stdout() const;
  const Captured& captured_stderr() const;

 private:
  struct State;
  explicit Child(std::unique_ptr<State> state);
  std::unique_ptr<State> state_;
};

struct Finished {
  Exit exit;
  Captured out, err;
};
Result<Finished> run(const Command& command, std::optional<std::chrono::milliseconds> limit = std::nullopt);

// For a SIGINT/SIGTERM handler (async-signal-safe): every wait() of this process, now and later, ends its child and
// returns Ending::kKilled, so that the program unwinds and removes its temporary folders.
void cancel_all() noexcept;
bool cancelled() noexcept;

// ptxbench programs and data that are installed beside the running executable: its folder, or ../libexec/ptxbench.
Result<std::filesystem::path> find_companion(std::string_view name);

}  // namespace ptxbench
