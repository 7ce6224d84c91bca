// Program: one kernel and the functions it calls, decoded for execution. Immutable while it runs.
//
// A register is an array over the 32 lanes of a warp. A Ref is the place of such an array: either in the warp's frame or,
// for immediates, in the program's constant pool, where the value stands 32 times. Layouts by register width:
//   1 (predicate)  one uint32_t, a bit per lane
//   8, 16, 32      uint32_t[32]; narrow values are zero-extended
//   64             uint64_t[32]
//   128            uint64_t[32] low halves, then uint64_t[32] high halves
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "ptxbench/emu/types.h"
#include "ptxbench/isa/form.h"

namespace ptxbench::ptx {
struct Function;
struct Instruction;
struct Module;
}  // namespace ptxbench::ptx

namespace ptxbench::emu {

inline constexpr unsigned kLanes = 32;
using Mask = std::uint32_t;  // a bit per lane
inline constexpr Mask kAllLanes = 0xffffffffu;

using Ref = std::uint32_t;  // bit 31: constant pool, else frame; the other bits: byte offset
inline constexpr Ref kNoRef = 0xffffffffu;
inline constexpr Ref kConstantBit = 0x80000000u;

struct Warp;
struct Op;

// What the warp's loop does after an operation.
enum class Flow : std::uint8_t {
  kNext,   // go on with the next operation
  kJump,   // the operation changed the fragment (pc, mask); go on there
  kStop,   // executed; the current fragment cannot go on now (waits, parked, ended)
  kRetry,  // not executed: the current fragment waits and then executes this operation again
};

using ExecFn = Flow (*)(Warp&, const Op&, Mask);

// Whatever an operation needs beyond its fixed fields; the exec functions know the type.
struct OpExtra {
  virtual ~OpExtra() = default;
};

struct alignas(64) Op {
  ExecFn fn = nullptr;
  Ref d = kNoRef, a = kNoRef, b = kNoRef, c = kNoRef;
  Ref guard = kNoRef;       // predicate; kNoRef: always
  Mask guard_flip = 0;      // kAllLanes for @!p
  std::uint32_t site = 0;   // index into Program::sites
  std::uint32_t small = 0;  // operation-specific: jump target, reconvergence, byte count
  std::int64_t imm = 0;     // operation-specific: address offset, immediate
  const OpExtra* extra = nullptr;
};
static_assert(sizeof(Op) == 64);

inline constexpr std::uint32_t kNoPc = 0xffffffffu;

// Where an operation comes from, and how it is counted. Several operations may share a site (register copies for
// special-register operands); only one of them counts.
struct Site {
  const ptx::Function* function = nullptr;
  const ptx::Instruction* instruction = nullptr;  // nullptr: an operation that the decoder inserted
  bool counted = false;
  std::uint32_t counted_pc = 0;  // the operation whose executions are the instruction's
  isa::Family family = isa::Family::kNone;
};

struct Program {
  const ptx::Module* module = nullptr;
  const ptx::Function* entry = nullptr;
  std::vector<Op> ops;
  std::vector<Site> sites;
  std::vector<std::unique_ptr<OpExtra>> extras;
  std::vector<std::byte> constants;  // 64-byte aligned start is arranged by constant_base()
  std::uint32_t frame_bytes = 0;     // registers of one warp, predicates included
  std::uint32_t local_bytes = 0;     // per thread: .local variables and call parameters
  std::uint32_t register_estimate = 0;
  std::uint32_t static_shared = 0;
  std::uint32_t wgmma_issues = 0;  // static count; 0: warps need no wgmma state

  const std::byte* constant_base() const {
    const auto start = reinterpret_cast<std::uintptr_t>(constants.data());
    return constants.data() + ((64 - start % 64) % 64);
  }
  std::string text(std::uint32_t site) const;  // PTX text of the instruction
  SourceLine source(std::uint32_t site) const;
  std::uint32_t ptx_line(std::uint32_t site) const;
  // Of the first instruction at or after the operation.
  std::uint32_t ptx_line_at(std::uint32_t pc) const;
};

}  // namespace ptxbench::emu
