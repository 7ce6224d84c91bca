// The multiply-accumulate kernels: D += A * B on register arrays of warps. Internal to emu/tensor.
#pragma once

#include <cstdint>
#include <span>

#include "ptxbench/emu/tensor/mma_panel.h"
#include "ptxbench/numeric/simd.h"

namespace ptxbench::emu {

// D of one warp: d[i] points at the 32 lanes of accumulator register i, binary32 patterns. Register 4g + 2h + p, lanes 4r + c:
// row 8h + r, column 8g + 2c + p. (PTX ISA, "Matrix fragments": the same for wgmma and for mma.m16n8.)
using WarpAccumulators = uint32_t* const*;

struct MmaKernel {
  const char* name;
  uint32_t most_units;  // for PanelB: the widest block that `run` takes
  // Adds to each element, in the order k = 0, 1, ..., by fused multiply-add, starting from D, or from 0 if `clear`.
  // Warp w takes the row groups 2w and 2w + 1 of A.
  void (*run)(std::span<const WarpAccumulators> warps, const PanelA& a, const PanelB& b, bool clear);
};

// The kernel of a level; levels that were not compiled in give the next lower one.
const MmaKernel& mma_kernel(numeric::SimdLevel level);
// The one for this CPU.
const MmaKernel& mma_kernel();

}  // namespace ptxbench::emu
