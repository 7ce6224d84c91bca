// The plain values that the emulated machine takes and gives: sizes, launch configurations, traps, counters.
#pragma once

#include <chrono>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace ptxbench::emu {

struct Dim3 {
  std::uint32_t x = 1, y = 1, z = 1;
  std::uint64_t count() const { return std::uint64_t{x} * y * z; }
  friend bool operator==(const Dim3&, const Dim3&) = default;
};

// The GPU generation. kBlackwell is accepted as a name only: a machine for it is refused until tcgen05 is executed.
enum class Target { kHopper, kBlackwell };

// When an asynchronous operation (bulk copy, tensor copy, cp.async, wgmma) takes effect.
enum class Schedule {
  kLatest,    // when something waits for it: a missing wait shows as stale data or as a trap
  kEarliest,  // at issue
};

struct SourceLine {
  std::string file;  // from .file/.loc (nvcc -lineinfo); empty without
  std::uint32_t line = 0;
};

// A rule of the machine that the emulated program broke. Ends the launch, never the process.
enum class TrapKind {
  kDeadlock,               // nothing can run any more
  kOutOfBounds,            // an address outside every allocation or outside the window of its space
  kMisaligned,             // an address that is no multiple of the access size
  kReadOnly,               // a store to constant or parameter memory
  kBarrierNotInitialised,  // mbarrier used before mbarrier.init or after inval
  kBarrierMisuse,          // pending count or thread count out of its range
  kTransactionCount,       // mbarrier tx-count over- or underflow
  kDivergentCollective,    // an .aligned or membermask instruction without all its threads
  kInvalidDescriptor,      // wgmma descriptor or tensor map that the hardware would not take
  kInvalidOperand,         // operand value outside what the instruction allows
  kRegisterInFlight,       // a register of a pending wgmma read or written before wgmma.wait_group
  kUnstartedCta,           // shared memory of a CTA of the cluster that has not begun
  kExitedCta,              // shared memory of a CTA of the cluster that has exited
  kCopyInFlight,           // the kernel ended with a load that nothing waited for
  kRegisterBudget,         // setmaxnreg asks for more than the register file has
  kUnsupported,            // an instruction form that the emulator does not execute yet
  kAssert,                 // __assertfail
  kTrapInstruction,        // trap; or brkpt;
  kWorkLimit,              // LaunchConfig::work_limit thread instructions were spent
  kDeadline,               // LaunchConfig::deadline passed
  kLaunchConfig,           // grid, block, cluster, shared memory or parameters that the kernel cannot be launched with
};
std::string_view to_string(TrapKind kind);  // "deadlock", "out_of_bounds", ...

struct Trap {
  TrapKind kind = TrapKind::kUnsupported;
  std::string rule;         // the rule in words, and what to change
  std::string message;      // what happened: found and expected
  std::string instruction;  // PTX text; empty for launch errors
  SourceLine source;
  std::uint32_t ptx_line = 0;
  Dim3 cta{0, 0, 0};
  std::uint32_t warp = 0, lane = 0;
  std::optional<std::uint64_t> address;

  std::string format() const;  // several lines, for people
};

// Work of one instruction family ("wgmma", "tma", "mma", ...; names from the isa table).
struct FamilyCount {
  std::string family;
  std::uint64_t static_count = 0;         // instructions of the family in the kernel's text
  std::uint64_t warp_instructions = 0;    // executed with at least one predicate-true thread
  std::uint64_t thread_instructions = 0;  // predicate-true threads
  std::uint64_t flops = 0;                // 2*M*N*K per wgmma/mma really executed
  std::uint64_t bytes = 0;                // bytes that bulk and tensor copies were asked to move (whole boxes)
};

struct InstructionCount {
  std::uint32_t ptx_line = 0;
  SourceLine source;
  std::string opcode;
  std::uint64_t warp_instructions = 0;
  std::uint64_t thread_instructions = 0;
};

struct LaunchResult {
  std::optional<Trap> trap;
  std::vector<FamilyCount> families;           // those with static_count > 0
  std::vector<InstructionCount> instructions;  // in text order, of the kernel and what it calls; also after a trap
  std::uint64_t thread_instructions = 0;
  std::uint64_t warp_instructions = 0;
  std::string printf_output;  // at most 1 MiB, then a line that says so
};

enum class ModuleId : std::uint32_t {};

struct LaunchConfig {
  ModuleId module{};
  std::string function;
  Dim3 grid, block;
  Dim3 cluster{0, 0, 0};  // all zero: what the kernel's .reqnctapercluster says, else no cluster (1,1,1)
  std::uint32_t dynamic_shared = 0;
  Schedule schedule = Schedule::kLatest;
  std::uint64_t work_limit = 0;           // thread instructions; 0: no limit
  bool cooperative = false;               // every CTA must be resident at once
  std::chrono::milliseconds deadline{0};  // 0: none
};

struct ParamInfo {
  std::string name;
  std::uint32_t offset = 0, size = 0, align = 1;
};

struct FunctionInfo {
  std::string name;
  std::vector<ParamInfo> params;
  std::uint32_t param_bytes = 0;
  std::uint32_t static_shared = 0;
  std::uint32_t local_bytes = 0;     // per thread
  std::uint32_t max_threads = 1024;  // from .maxntid / .reqntid
  Dim3 max_block{0, 0, 0};           // .maxntid as written; zero if absent
  Dim3 required_block{0, 0, 0};      // .reqntid; zero if absent
  Dim3 required_cluster{0, 0, 0};    // .reqnctapercluster; zero if absent
  std::uint32_t registers = 0;       // estimate per thread (PTX has no real figure), at most 255
};

struct GlobalInfo {
  std::uint64_t address = 0;
  std::uint64_t size = 0;
  bool constant = false;
};

struct MachineConfig {
  Target target = Target::kHopper;
  std::uint64_t memory_bytes = std::uint64_t{8} << 30;  // limit on what alloc() hands out in all
  unsigned threads = 0;                                 // workers per launch; 0: one per host core
};

}  // namespace ptxbench::emu
