// The sum of Hopper's tensor core, bit for bit. Internal to emu/tensor.
//
// What it computes, found from and compared with recordings of an H200 (tests/captures: wgmma_numerics, wgmma_types, mma):
// one instruction adds its k products and the accumulator in one fixed-point sum. An addend's exponent is that of its factors
// added (1 to 4 for the product of significands, denormals with the exponent of the smallest normal number), not normalised.
// With e the largest exponent of all addends that are not zero, each addend is cut (towards zero) to a multiple of
// 2^(e - fraction_bits); these are added exactly, and the sum is cut (towards zero) to `result_bits` bits after the leading
// one: 25 and 23 for f16, bf16 and tf32, 13 and 13 for the 8-bit floats. f16 accumulators round that sum to nearest even.
// Every NaN is 0x7fffffff, a zero result is +0, too large a sum is infinity.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "ptxbench/emu/tensor/mma_kernel.h"
#include "ptxbench/emu/tensor/mma_panel.h"
#include "ptxbench/emu/tensor/wgmma.h"

namespace ptxbench::emu {

struct HopperSum {
  uint32_t k = 16;  // products of one instruction; a panel may hold several instructions
  int fraction_bits = 25;
  int result_bits = 23;
  int least_a = -126, least_b = -126, least_c = -126;  // exponents of the smallest normal numbers
  bool f16_result = false;  // the last bit of an inexact result is set, so that it can be rounded to f16 correctly
};
HopperSum hopper_sum(MmaType a, MmaType b, MmaAccumulator accumulator, uint32_t k);

// D += A * B as the hardware adds; the arguments are those of MmaKernel::run. Works for every SimdLevel, with equal results.
void hopper_run(const HopperSum& sum, std::span<const WarpAccumulators> warps, const PanelA& a, const PanelB& b,
                bool clear, numeric::SimdLevel level);

// The sum for one element: c + sum of a[i] * b[i], as a binary32 pattern.
uint32_t hopper_dot(const HopperSum& sum, const float* a, uint32_t a_stride, const float* b, uint32_t b_stride,
                    float c);

}  // namespace ptxbench::emu
