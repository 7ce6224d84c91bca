// wgmma.mma_async: D(64 x N) = A(64 x K) * B(K x N) + D, one warpgroup. PTX ISA 9.7.15.5, "Asynchronous Warpgroup Level Matrix
// Multiply-Accumulate Operation using wgmma.mma_async".
//
// Arithmetic. Integers are exact. For floats there are two ways, of which a process chooses one:
// - kHopper: the sum of the tensor core of Hopper, bit for bit (see mma_hopper.h for what it is and how it is known).
// - kFast (default): binary32 fused multiply-adds in the order k = 0, 1, 2, ..., starting from D; f16 accumulators are widened, and rounded
//   once to f16. It differs from the hardware by a few units in the last place of the largest partial sum (8-bit floats by
//   more: the hardware keeps 13 bits). Sums that are exact in binary32, such as small integers, agree bit for bit.
#pragma once

#include <cstdint>
#include <span>

#include "ptxbench/emu/tensor/fault.h"
#include "ptxbench/emu/tensor/memory_view.h"

namespace ptxbench::emu {

enum class MmaType : uint8_t { kF16, kBF16, kTF32, kE4M3, kE5M2, kS8, kU8 };
enum class MmaAccumulator : uint8_t { kF32, kF16, kS32 };

enum class MmaArithmetic : uint8_t { kFast, kHopper };
// For wgmma and mma.sync of the whole process. The environment variable PTXBENCH_MMA=fast|hopper sets the start value.
MmaArithmetic mma_arithmetic();
void set_mma_arithmetic(MmaArithmetic arithmetic);

// What an instruction says once and for all.
struct WgmmaForm {
  MmaType a_type = MmaType::kBF16;
  MmaType b_type = MmaType::kBF16;
  MmaAccumulator accumulator = MmaAccumulator::kF32;
  uint16_t n = 8;  // 8..256 in steps of 8
  bool a_in_registers = false;
  bool negate_a = false;  // imm-scale-a = -1
  bool negate_b = false;
  bool transpose_a = false;  // MN-major; 16-bit types from shared memory only
  bool transpose_b = false;
  bool saturate = false;  // .satfinite, integers only
};

// K of one instruction: 32 bytes of an operand row (16 for 16-bit types, 8 for tf32, 32 for 8-bit types).
uint32_t wgmma_k(MmaType type);
// Accumulator registers of one thread: n / 2, and n / 4 for f16.
uint32_t wgmma_accumulator_registers(const WgmmaForm& form);
constexpr uint32_t kWgmmaARegisters = 4;

// Fault if the combination is not one the manual lists. Call once per instruction when a module is loaded.
Checked<void> check_wgmma_form(const WgmmaForm& form);

// A register of a warp: 32 lanes, uint32_t each. d[i] points at register i of the accumulator, i < accumulator registers.
struct WgmmaWarp {
  uint32_t* const* d = nullptr;
  const uint32_t* const* a = nullptr;  // 4 registers if a_in_registers
};

// What one issue adds.
struct WgmmaStep {
  uint64_t a_descriptor = 0;  // unused if a_in_registers
  uint64_t b_descriptor = 0;
  bool scale_d = true;  // false: D = A * B
};

// warps.size() == 4, warp 0 of the warpgroup first. The form must have passed check_wgmma_form.
Checked<void> wgmma_compute(const WgmmaForm& form, const WgmmaStep& step, std::span<const WgmmaWarp> warps,
                            SharedView shared);

// Several instructions of one form on the same D, in order, none with A in registers: the result is that of single calls, bit for bit;
// D is loaded and stored once, which is what a K loop over one swizzle atom wants. All descriptors are checked first.
Checked<void> wgmma_compute_chain(const WgmmaForm& form, std::span<const WgmmaStep> steps,
                                  std::span<const WgmmaWarp> warps, SharedView shared);

// The name of the SIMD variant in use: "generic", "avx2" or "avx512".
const char* wgmma_kernel_name();

// Where an element of D and of a register A lives. For tests, and for diagnosis of races on registers.
struct FragmentPlace {
  uint32_t warp, lane, reg, half;  // half: which half (or byte) of the register, 0 for 32-bit elements
};
FragmentPlace wgmma_d_place(const WgmmaForm& form, uint32_t row, uint32_t column);
FragmentPlace wgmma_a_place(MmaType type, uint32_t row, uint32_t k);

}  // namespace ptxbench::emu
