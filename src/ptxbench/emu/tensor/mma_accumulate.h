// D += A * B for every accumulator type, from packed operands. Internal to emu/tensor.
#pragma once

#include <cstdint>
#include <span>

#include "ptxbench/emu/tensor/mma_kernel.h"
#include "ptxbench/emu/tensor/mma_panel.h"
#include "ptxbench/emu/tensor/wgmma.h"

namespace ptxbench::emu {

// The registers of each warp hold n columns of 16 rows: n / 2 registers of f32 or s32, or n / 4 of packed f16. f16 rounds once,
// at the end; s32 wraps or saturates. `clear`: D counts as zero.
void mma_accumulate(MmaAccumulator type, bool saturate, std::span<const WarpAccumulators> warps, const PanelA& a,
                    const PanelB& b, bool clear);

}  // namespace ptxbench::emu
