// Runs a candidate once, its host code in a sandboxed process and its kernels in a device process of their own, and
// reports how that ended, what the outputs hold and what was executed. Nothing that the candidate prints is read as a
// result. Both processes are gone when run_candidate returns; they die with the calling process as well.
#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "ptxbench/base/result.h"
#include "ptxbench/wire/records.h"

namespace ptxbench::judge {

// DLPack's element type {code, bits, lanes}: codes 0 int, 1 uint, 2 float, 4 bfloat, 10 float8_e4m3fn.
struct ElementType {
  std::uint8_t code = 2, bits = 32;
  std::uint16_t lanes = 1;
  friend bool operator==(const ElementType&, const ElementType&) = default;
};

// An argument of run(): a tensor in device memory (compact, row-major) or a scalar. In call order.
struct RunTensor {
  std::string name;
  ElementType type;
  std::vector<std::int64_t> shape;
  // The contents of an input; must stay alive during run_candidate. Empty for an output, which is filled with `poison`
  // and read back.
  std::span<const std::byte> bytes;
  bool output = false;
  std::uint32_t poison = 0xFFFFFFFF;  // 32-bit pattern; all ones is a NaN in every floating type
};
struct RunScalar {
  enum class Kind { kInt, kFloat, kBool, kNone } kind = Kind::kInt;
  std::int64_t integer = 0;  // kInt, kBool
  double real = 0;           // kFloat
};
struct RunArgument {
  std::optional<RunTensor> tensor;  // set: a tensor; else `scalar` counts
  RunScalar scalar;
};

struct RunLimits {
  std::chrono::milliseconds wall{60'000};  // from the start of the host process to the end of the last kernel
  std::chrono::seconds host_cpu{30};       // CPU time of the host process
  std::uint64_t host_memory = std::uint64_t{2} << 30;  // bytes of address space
  std::uint64_t device_memory = std::uint64_t{8} << 30;
  std::uint64_t work = 0;               // thread instructions per launch; 0: none
  std::size_t output_bytes = 64 << 10;  // kept of each of stdout and stderr
};

struct RunRequest {
  std::filesystem::path artifact;        // kernel.so
  std::filesystem::path device_program;  // ptxbench-device-emu
  std::filesystem::path host_program;    // ptxbench-host
  std::filesystem::path shim_folder;     // holds libcudart.so.13 and libcuda.so.1
  std::string entry = "run";             // __tvm_ffi_<entry>
  std::vector<RunArgument> arguments;
  wire::Schedule schedule = wire::Schedule::kLatest;
  RunLimits limits;
  unsigned device_threads = 0;  // emulator workers; 0: one per core
};

// The programs and the shim folder as they lie beside the running program: bin/ and lib/ptxbench/shim/ of a build or
// install tree. Fills device_program, host_program and shim_folder. kUnavailable names the first one missing.
Status locate_programs(RunRequest& request);

// The folder with libcudart.so.13 and libcuda.so.1, as above.
Result<std::filesystem::path> locate_shim_folder();

// How the candidate's host code ended. Only kReturned with code 0 lets the outputs count.
enum class HostEnd {
  kReturned,       // run() came back: return_code, and error_text if it is not 0
  kLoadFailed,     // the .so could not be loaded or has no entry: error_text
  kExited,         // it ended its process itself: exit_code
  kSignalled,      // it died of a signal: signal
  kForbidden,      // it tried what the sandbox forbids (fork, exec, thread, socket, ...): forbidden names it
  kHostTimeout,    // wall or CPU time spent in host code
  kDeviceTimeout,  // wall time or work limit spent in a kernel; the trap, if there is one, says where
  kHostLimit,      // over its memory or another limit: error_text names it
  kProtocol,       // it sent what is no message of the device protocol: error_text
};
std::string_view to_string(HostEnd end);

struct RunTimes {  // milliseconds
  double device_start = 0, upload = 0, host_start = 0, run = 0, download = 0, total = 0;
};

struct RunOutcome {
  HostEnd end = HostEnd::kReturned;
  int return_code = 0;
  std::string error_text;  // the candidate's own words where there are any: show, never parse
  int exit_code = 0;
  int signal = 0;
  std::string forbidden;                     // "clone3: starting a thread or process"
  std::vector<wire::Refusal> refusals;       // API calls that were answered cudaErrorNotSupported, and policy refusals
  std::vector<wire::ApiFailure> failures;    // API calls that failed, with reasons that the API does not tell
  std::vector<wire::LaunchRecord> launches;  // in execution order; a trap is in the last one
  std::vector<wire::CommandRecord> commands;
  std::int32_t sticky_error = 0;  // the CUDA error that the device ended with; 0: none
  std::string sticky_message;
  std::vector<std::vector<std::byte>> outputs;     // of the output tensors, in call order; empty if the device died
  std::string candidate_stdout, candidate_stderr;  // capped
  bool stdout_truncated = false, stderr_truncated = false;
  std::string sandbox;  // what enclosed the host process: "namespaces+seccomp", "landlock+seccomp"
  RunTimes times;

  // The trap that ended the run, if one did.
  const wire::TrapRecord* trap() const;
};

// An Error means that the infrastructure failed (no device program, no memory, a device process that broke down);
// whatever the candidate does is an outcome.
Result<RunOutcome> run_candidate(const RunRequest& request);

}  // namespace ptxbench::judge
