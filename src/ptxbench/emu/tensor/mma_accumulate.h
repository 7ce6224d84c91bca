// D += A * B for every accumulator type, from packed operands. Internal to emu/tensor.
#pragma once

#include <cstdint>
#include <span>

#include "ptxbench/emu/tensor/mma_kernel.h"
#include "ptxbench/emu/tensor/mma_panel.h"
#include "ptxbench/emu/tensor/wgmma.h"

namespace ptxbench::emu {

// What is multiplied and how it is added.
struct MmaArithmeticForm {
  MmaType a_type = MmaType::kBF16, b_type = MmaType::kBF16;
  MmaAccumulator accumulator = MmaAccumulator::kF32;
  bool saturate = false;
  uint32_t k = 16;  // of one instruction: the panels may hold several, for f32 accumulators
};

// The registers of each warp hold n columns of 16 rows: n / 2 registers of f32 or s32, or n / 4 of packed f16. f16 rounds once,
// at the end; s32 wraps or saturates. `clear`: D counts as zero. Floats are added as mma_arithmetic() says.
void mma_accumulate(const MmaArithmeticForm& form, std::span<const WarpAccumulators> warps, const PanelA& a,
                    const PanelB& b, bool clear);

}  // namespace ptxbench::emu
