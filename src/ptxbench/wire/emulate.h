// Runs any CUDA program that is linked with the shared runtime (nvcc -cudart shared) on an emulated device: its calls
// go to our libcudart.so.13 and libcuda.so.1. No sandbox: the program is the user's own. Its stdin, stdout, stderr,
// environment and folder are the caller's.
#pragma once

#include <filesystem>
#include <string>
#include <vector>

#include "ptxbench/base/result.h"
#include "ptxbench/wire/messages.h"

namespace ptxbench::wire {

struct EmulateRequest {
  std::vector<std::string> argv;         // argv[0]: searched in PATH unless it has a slash
  std::filesystem::path device_program;  // ptxbench-device-emu
  std::filesystem::path shim_folder;
  std::uint64_t device_memory = std::uint64_t{8} << 30;
  unsigned device_threads = 0;  // 0: one per core
  Schedule schedule = Schedule::kLatest;
  std::uint64_t work_limit = 0;   // thread instructions per launch; 0: none
  std::uint32_t deadline_ms = 0;  // in kernels, altogether; 0: none
};

struct EmulateOutcome {
  int exit_code = 0;         // the program's; 128 + signal if one killed it
  bool used_device = false;  // false: it never called CUDA, or is linked with the static runtime
  RunReply report;           // launches, traps, refused calls
};

// kNotFound: no such program. kUnavailable: no device process.
Result<EmulateOutcome> emulate(const EmulateRequest& request);

}  // namespace ptxbench::wire
