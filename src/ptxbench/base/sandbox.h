// What a child process may see and do. The policy is applied by the supervisor program (supervisor_main.cc) before the
// payload starts; subprocess.h starts both.
//
// Two ways, reported by the outcome:
//   namespaces  own user, mount, pid, network, IPC and UTS namespaces and a file tree of only the named paths, + seccomp
//   landlock    where namespaces are forbidden (many containers): Landlock file rules + seccomp; paths outside the
//               policy can be named but not opened
// Neither available: the start fails (kUnavailable); nothing runs without a sandbox that was asked for.
#pragma once

#include <cstdint>
#include <filesystem>
#include <string>
#include <string_view>
#include <vector>

#include "ptxbench/base/result.h"

namespace ptxbench {

enum class SandboxKind { kNone, kNamespaces, kLandlock };
std::string_view to_string(SandboxKind kind);

enum class SandboxMode { kAuto, kNamespaces, kLandlock };  // kAuto: namespaces, else Landlock

enum class SandboxProfile {
  // Programs of ours or of the toolkit on hostile input: may fork, exec and use threads; no sockets, mounts, ptrace,
  // keyrings, perf, bpf ...: those calls fail with EPERM.
  kCompiler,
  // ptxbench-host: files, namespaces and limits from the start; all calls allowed until it calls
  // apply_candidate_seccomp(), from when on only file reads, memory and calls on descriptors already open work. Any
  // other call ends the process with Ending::kViolation, which names it.
  kCandidate,
};

struct SandboxLimits {                                  // 0: no limit
  std::uint64_t cpu_seconds = 60;                       // per process
  std::uint64_t memory_bytes = std::uint64_t{4} << 30;  // address space of each process; resident memory of the tree
  std::uint64_t processes = 64;                         // processes and threads in the tree; checked every 50 ms
  std::uint64_t file_bytes = std::uint64_t{256} << 20;  // size of each file written
  std::uint64_t open_files = 256;                       // per process
  std::uint64_t tmp_bytes = std::uint64_t{256} << 20;   // the private /tmp (namespaces only; Landlock has no /tmp)
};

struct SandboxPolicy {
  SandboxProfile profile = SandboxProfile::kCompiler;
  SandboxMode mode = SandboxMode::kAuto;
  // Absolute paths of files or folders (with all below), visible under their own names. A path that does not exist is
  // an error. System folders that programs need (/lib, /usr/lib ...) must be named: system_library_paths() has them.
  std::vector<std::filesystem::path> read_only;
  std::vector<std::filesystem::path> writable;  // folders
  SandboxLimits limits;
};

// The folders a dynamically linked program needs to start: those of /lib, /lib64, /usr/lib, /etc/ld.so.cache that exist.
std::vector<std::filesystem::path> system_library_paths();

// Descriptor under which the supervisor's control socket is open in a kCandidate payload until it locks itself.
inline constexpr int kSandboxControlFd = 100;

// The late lock of a kCandidate payload. Call it when everything of ours is loaded and before any code of the candidate
// runs, so before dlopen of its library (constructors are code): opening files for reading stays possible.
// Not undoable. Needs a single-threaded process started under SandboxProfile::kCandidate; fails with kUnavailable else.
// Afterwards: no new processes, threads, sockets, files for writing, mounts, ptrace, signals to others, timers that
// outlive the process, or unknown calls. Read, write, send and receive on open descriptors, memory mapping, clocks,
// sleeping and exit work; ioctl answers ENOTTY.
Status apply_candidate_seccomp();

}  // namespace ptxbench
