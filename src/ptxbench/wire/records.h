// Values that several messages carry: launch geometry, kernel facts, traps, counters, device properties.
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace ptxbench::wire {

struct Dim3 {
  std::uint32_t x = 1, y = 1, z = 1;
  std::uint64_t count() const { return std::uint64_t{x} * y * z; }
  friend bool operator==(const Dim3&, const Dim3&) = default;
  template <class V>
  void fields(V& v) {
    v(x, y, z);
  }
};

// When asynchronous operations of an emulated kernel take effect; a real GPU ignores it.
enum class Schedule : std::uint8_t { kLatest, kEarliest };
constexpr bool in_range(Schedule s) { return s <= Schedule::kEarliest; }

// How a client wants a kernel launched. All zero cluster: what the kernel itself requires, else none.
struct LaunchGeometry {
  Dim3 grid, block;
  Dim3 cluster{0, 0, 0};
  std::uint32_t dynamic_shared = 0;  // bytes
  bool cooperative = false;
  bool programmatic_serialization = false;
  template <class V>
  void fields(V& v) {
    v(grid, block, cluster, dynamic_shared, cooperative, programmatic_serialization);
  }
};

struct KernelParam {
  std::uint32_t offset = 0, size = 0;  // bytes in the parameter buffer
  template <class V>
  void fields(V& v) {
    v(offset, size);
  }
};

// What a device knows of a kernel.
struct KernelInfo {
  std::string name;
  std::vector<KernelParam> params;
  std::uint32_t param_bytes = 0;
  std::uint32_t static_shared = 0;
  std::uint32_t local_bytes = 0;  // per thread
  std::uint32_t max_threads = 1024;
  std::uint32_t registers = 0;       // per thread; the emulator's is an estimate
  Dim3 required_cluster{0, 0, 0};    // zero: none
  std::uint32_t ptx_version = 0;     // 90 for PTX 9.0
  std::uint32_t binary_version = 0;  // 90 for sm_90
  template <class V>
  void fields(V& v) {
    v(name, params, param_bytes, static_shared, local_bytes, max_threads, registers, required_cluster, ptx_version,
      binary_version);
  }
};

struct GlobalInfo {
  std::uint64_t address = 0;
  std::uint64_t bytes = 0;
  bool constant = false;
  template <class V>
  void fields(V& v) {
    v(address, bytes, constant);
  }
};

// A rule of the machine that a kernel broke.
struct TrapRecord {
  std::string kind;     // "deadlock", "out_of_bounds", ...: the emulator's names
  std::string rule;     // the rule in words, and what to change
  std::string message;  // found and expected
  std::string instruction;
  std::string file;  // source file and line, if the candidate was compiled with -lineinfo
  std::uint32_t line = 0;
  std::uint32_t ptx_line = 0;
  Dim3 cta{0, 0, 0};
  std::uint32_t warp = 0, lane = 0;
  std::optional<std::uint64_t> address;
  std::string text;  // all of it for people, several lines
  template <class V>
  void fields(V& v) {
    v(kind, rule, message, instruction, file, line, ptx_line, cta, warp, lane, address, text);
  }
};

// Work of one instruction family in one launch; the names come from the isa table.
struct FamilyRecord {
  std::string family;
  std::uint64_t static_count = 0, warp_instructions = 0, thread_instructions = 0, flops = 0, bytes = 0;
  template <class V>
  void fields(V& v) {
    v(family, static_count, warp_instructions, thread_instructions, flops, bytes);
  }
};

// One instruction of a launch. The emulator knows the PTX line and opcode; the GPU counts machine code by its offset, and
// whoever has the disassembly of the same cubin names it.
struct InstructionRecord {
  std::uint32_t ptx_line = 0;
  std::string opcode, file;
  std::uint32_t line = 0;
  std::uint64_t warp_instructions = 0, thread_instructions = 0;  // threads whose predicate was true
  std::uint32_t offset = 0;               // bytes from the start of `function`'s machine code; 0 on the emulator
  std::string function;                   // GPU: symbol that holds the instruction, if it is not the kernel itself
  std::uint64_t active_instructions = 0;  // GPU: threads that were active, whatever their predicate
  template <class V>
  void fields(V& v) {
    v(ptx_line, opcode, file, line, warp_instructions, thread_instructions, offset, function, active_instructions);
  }
};

// One launch as it was executed: the evidence of the second layer.
struct LaunchRecord {
  std::string kernel;
  std::string module_sha256;  // of the image that the kernel came from
  LaunchGeometry geometry;
  std::uint64_t params_hash = 0;  // FNV-1a of the parameter bytes: equal launches have equal hashes
  std::vector<FamilyRecord> families;
  std::vector<InstructionRecord> instructions;
  std::uint64_t thread_instructions = 0, warp_instructions = 0;
  std::optional<TrapRecord> trap;
  template <class V>
  void fields(V& v) {
    v(kernel, module_sha256, geometry, params_hash, families, instructions, thread_instructions, warp_instructions,
      trap);
  }
};

// An API call that failed, with the reason that the API itself cannot tell the caller.
struct ApiFailure {
  std::int32_t code = 0;  // cudaError_t
  std::string message;
  template <class V>
  void fields(V& v) {
    v(code, message);
  }
};

// An API call that the shim or the device refused by name.
struct Refusal {
  std::string call;  // "cudaGraphCreate"
  std::string why;
  template <class V>
  void fields(V& v) {
    v(call, why);
  }
};

// Refusal.call of a module that the artifact does not hold: the one refusal that is no missing feature of ours but a
// broken rule.
inline constexpr std::string_view kForeignModule = "load of a module";

// One command of a run, for reports and for replay.
enum class CommandKind : std::uint8_t { kAlloc, kFree, kHostWrite, kHostRead, kCopy, kFill, kLaunch };
constexpr bool in_range(CommandKind k) { return k <= CommandKind::kLaunch; }
struct CommandRecord {
  CommandKind kind = CommandKind::kLaunch;
  std::uint32_t stream = 0;
  std::uint64_t address = 0, source = 0, bytes = 0;  // destination, source (kCopy), length
  std::uint32_t launch = 0;                          // kLaunch: index of its LaunchRecord
  template <class V>
  void fields(V& v) {
    v(kind, stream, address, source, bytes, launch);
  }
};

// What a replay is for.
enum class ReplayMode : std::uint8_t {
  kCheck,  // one command at a time; a fault names its launch
  kTime,   // all commands at once, measured
  kCount,  // instruction counts of every launch
};
constexpr bool in_range(ReplayMode m) { return m <= ReplayMode::kCount; }

// When one command ran, on the device's clock (GPU: CUPTI activity records).
struct CommandTime {
  std::uint32_t launch = 0;  // kLaunch: index of its LaunchRecord
  std::uint64_t start_ns = 0, end_ns = 0;
  CommandKind kind = CommandKind::kLaunch;  // else kHostWrite, kCopy or kFill
  template <class V>
  void fields(V& v) {
    v(launch, start_ns, end_ns, kind);
  }
};

// A measured sequence of commands.
struct MeasureReport {
  std::vector<CommandTime> times;  // in command order; empty if void_reason is set
  // From the end of the L2 flush to the end of the last command, by two events on the stream: an independent bound of
  // what `times` claim, launch gaps included.
  std::uint64_t wall_ns = 0;
  std::string void_reason;  // no times or counts, and why: profiler busy, no permission, driver too old
  template <class V>
  void fields(V& v) {
    v(times, wall_ns, void_reason);
  }
};

using ShareHandle = std::array<std::uint8_t, 64>;  // CUipcMemHandle
struct SharedBlock {
  std::uint64_t address = 0;
  ShareHandle handle{};
  template <class V>
  void fields(V& v) {
    v(address, handle);
  }
};

enum class Operation : std::uint8_t { kGemmNt, kAttentionForward, kAttentionBackward };
constexpr bool in_range(Operation o) { return o <= Operation::kAttentionBackward; }

// A task as a vendor library is asked to do it: bf16 tensors, compact, in the order of the task's definition (inputs,
// then outputs).
struct BaselineProblem {
  Operation operation = Operation::kGemmNt;
  std::uint32_t m = 0, n = 0, k = 0;                                                        // GEMM
  std::uint32_t batch = 0, heads_q = 0, heads_kv = 0, seq_q = 0, seq_kv = 0, head_dim = 0;  // attention
  bool causal = false;
  float scale = 1;
  std::vector<std::uint64_t> tensors;  // device addresses
  template <class V>
  void fields(V& v) {
    v(operation, m, n, k, batch, heads_q, heads_kv, seq_q, seq_kv, head_dim, causal, scale, tensors);
  }
};
struct BaselinePlan {
  std::string library, version, description;
  std::uint64_t workspace_bytes = 0;
  template <class V>
  void fields(V& v) {
    v(library, version, description, workspace_bytes);
  }
};

// State of the card, from NVML. What could not be read is 0 or empty, and `missing` names it with the reason.
struct Telemetry {
  std::uint32_t sm_mhz = 0, memory_mhz = 0, max_sm_mhz = 0, max_memory_mhz = 0;
  double power_w = 0, power_limit_w = 0;
  std::uint32_t temperature_c = 0;
  std::vector<std::string> throttle_reasons;  // "power cap", "thermal", ...; empty: full speed
  std::string device_name, uuid, pci_bus_id, driver_version, cuda_driver_version;
  bool ecc = false;
  bool mig = false;  // a MIG slice: clocks, power, temperature and throttle reasons are those of the whole card
  std::uint64_t l2_bytes = 0;
  std::vector<std::string> missing;
  template <class V>
  void fields(V& v) {
    v(sm_mhz, memory_mhz, max_sm_mhz, max_memory_mhz, power_w, power_limit_w, temperature_c, throttle_reasons,
      device_name, uuid, pci_bus_id, driver_version, cuda_driver_version, ecc, mig, l2_bytes, missing);
  }
};

// Description of a tiled tensor map, as cuTensorMapEncodeTiled takes it. Enumerations keep the driver API's numbers.
struct TiledMap {
  std::uint32_t data_type = 0;
  std::uint32_t rank = 0;
  std::uint64_t address = 0;
  std::array<std::uint64_t, 5> dims{};     // elements, innermost first
  std::array<std::uint64_t, 4> strides{};  // bytes, of dimensions 1..rank-1
  std::array<std::uint32_t, 5> box{};
  std::array<std::uint32_t, 5> element_strides{};
  std::uint32_t interleave = 0, swizzle = 0, l2_promotion = 0, oob_fill = 0;
  template <class V>
  void fields(V& v) {
    v(data_type, rank, address, dims, strides, box, element_strides, interleave, swizzle, l2_promotion, oob_fill);
  }
};

// What the host API can ask about a device.
struct DeviceInfo {
  std::string name;
  std::string uuid;  // of the card or its MIG slice: "6f1c2a4e-..."; empty: emulated
  std::uint32_t compute_major = 9, compute_minor = 0;
  std::uint64_t total_memory = 0;
  std::vector<std::int32_t> attributes;  // indexed by the number of cudaDeviceAttr; see device_table.h
  std::vector<std::uint32_t> gpcs;       // multiprocessors of each processing cluster; a CTA cluster stays in one
  template <class V>
  void fields(V& v) {
    v(name, uuid, compute_major, compute_minor, total_memory, attributes, gpcs);
  }
};

}  // namespace ptxbench::wire
