// for_active: a loop over the lanes of a mask, for exec functions that are not worth SIMD.
#pragma once

#include <bit>

#include "ptxbench/emu/program.h"

namespace ptxbench::emu {

template <class F>
inline void for_active(Mask mask, F body) {
  for (; mask != 0; mask &= mask - 1) body(unsigned(std::countr_zero(mask)));
}
inline unsigned first_lane(Mask mask) { return unsigned(std::countr_zero(mask)) & 31; }

}  // namespace ptxbench::emu
