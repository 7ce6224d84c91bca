// The AVX2 variants of packing. Internal to emu/tensor; to be called only where simd_level() >= kAvx2.
#pragma once

#include <cstdint>

#include "ptxbench/emu/tensor/mma_pack.h"

namespace ptxbench::emu {

void pack_a_avx2(const SharedOperand& operand, SharedView shared, const PanelA& panel, uint32_t k_start);
void pack_b_avx2(const SharedOperand& operand, SharedView shared, const PanelB& panel, uint32_t k_start);
// 16-bit types.
void pack_a_registers_avx2(MmaType type, bool negate, const uint32_t* const* registers, uint32_t count, uint32_t warp,
                           const PanelA& panel, uint32_t k_start);
// The two f16 halves of 32 register words to binary32 patterns and back (round to nearest even, NaN becomes 0x7fff).
void widen_pairs_avx2(const uint32_t* pairs, uint32_t* low, uint32_t* high);
void narrow_pairs_avx2(const uint32_t* low, const uint32_t* high, uint32_t* pairs);

}  // namespace ptxbench::emu
