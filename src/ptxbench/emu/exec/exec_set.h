// ExecSet: the hot exec functions, compiled once per SIMD level; the decoder takes them from the set that the CPU can run.
// Everything in exec/simd/ is inside PTXBENCH_EXEC_NAMESPACE so that no inline function is shared between the variants.
#pragma once

#include "ptxbench/emu/program.h"
#include "ptxbench/isa/types.h"
#include "ptxbench/ptx/ast.h"

namespace ptxbench::emu {

// Operands of a load, store or atomic.
struct MemoryExtra : OpExtra {
  std::vector<Ref> registers;  // elements of the vector; kNoRef: '_'
  isa::Space space = isa::Space::kGeneric;
  std::uint8_t bytes = 4;           // of one element
  std::uint8_t register_bytes = 4;  // of one element's register: 4, 8 or 16
  bool sign_extend = false;
  bool strong = false;                   // volatile, relaxed, acquire, release
  bool base_is_64 = false;               // width of the address register in op.a (kNoRef: the address is op.imm)
  bool adds_shared_base = false;         // the address comes from a shared variable: add the CTA's window base
  std::uint32_t range = 0;               // index of the instruction's RangeCache
  Ref value = kNoRef, compare = kNoRef;  // atomics
  isa::Mod operation = isa::Mod::kNone;
  isa::Type type = isa::Type::kNone;
};

struct ExecSet {
  // Lane-wise forms whose operands are op.d, op.a, op.b, op.c in the order of the form. nullptr: not implemented.
  ExecFn (*alu)(const ptx::Instruction& instruction);
  // cvt: needs the width of the destination register, and op.imm = convert_descriptor(instruction).
  ExecFn (*convert)(const ptx::Instruction& instruction, unsigned destination_bits);
  std::int64_t (*convert_descriptor)(const ptx::Instruction& instruction);
  // setp: destinations op.d and op.small (kNoRef: none), op.imm the Boolean operation, op.c its operand.
  ExecFn (*compare)(const ptx::Instruction& instruction);
  ExecFn move32, move64, move_predicate;
  ExecFn load_param;  // op.imm offset; MemoryExtra
  ExecFn (*load)(const MemoryExtra& extra);
  ExecFn (*store)(const MemoryExtra& extra);
  ExecFn (*shuffle)(const ptx::Instruction& instruction);
};

// The best that this CPU has.
const ExecSet& exec_set();

// Not SIMD: one function for all lanes, in exec/*.cc. nullptr: not implemented.
ExecFn atomic_function(const MemoryExtra& extra, bool returns);
// add, sub, mul, fma, div, rcp, sqrt and int-to-float conversions with .rz, .rm or .rp.
ExecFn directed_rounding_function(const ptx::Instruction& instruction);

}  // namespace ptxbench::emu
