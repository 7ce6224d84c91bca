// The AVX2 variant of hopper_run. Internal to emu/tensor; only where simd_level() >= kAvx2.
#pragma once

#include <span>

#include "ptxbench/emu/tensor/mma_hopper.h"

namespace ptxbench::emu {

void hopper_run_avx2(const HopperSum& sum, std::span<const WarpAccumulators> warps, const PanelA& a, const PanelB& b,
                     bool clear);

}  // namespace ptxbench::emu
