// Operands of a matrix instruction laid out for the kernels of mma_kernel.h. Internal to emu/tensor.
//
// The kernels accumulate directly in the registers of the emulated warps: eight lanes of one accumulator register hold two
// rows and four columns (c, c + 2, c + 4, c + 6) of D, so a vector of A repeats each row's value four times, and B comes
// in "units" of those four columns. Unit 2g is the even and unit 2g + 1 the odd columns of the eight columns 8g.
#pragma once

#include <cstdint>

namespace ptxbench::emu {

constexpr uint32_t kGroupRows = 8;                 // rows of one group: what the 8 row groups of lanes hold
constexpr uint32_t kGroupFloats = 4 * kGroupRows;  // floats of one group at one k
constexpr uint32_t kUnitColumns = 4;

// A: for each group of 8 rows, for each k, the 8 values, each 4 times.
struct PanelA {
  float* data = nullptr;
  uint32_t k = 0;  // of the whole panel

  float* at(uint32_t group, uint32_t kk) const { return data + (group * k + kk) * kGroupFloats; }
};

// B: blocks of a few units; inside a block, for each k, the units side by side. The first `wide` blocks have
// narrow_units + 1 units, the others narrow_units.
struct PanelB {
  float* data = nullptr;
  uint32_t k = 0;
  uint32_t units = 0;
  uint32_t blocks = 0, wide = 0, narrow_units = 0;

  PanelB(float* storage, uint32_t total_k, uint32_t n, uint32_t most_units)
      : data(storage), k(total_k), units(n / kUnitColumns), blocks((units + most_units - 1) / most_units) {
    narrow_units = units / blocks;
    wide = units % blocks;
  }

  uint32_t block_units(uint32_t block) const { return narrow_units + (block < wide ? 1 : 0); }

  // Where unit `unit` at k = 0 starts, and the distance from one k to the next.
  struct Unit {
    float* start;
    uint32_t stride;
  };
  Unit unit(uint32_t index) const {
    const uint32_t wide_units = wide * (narrow_units + 1);
    const bool in_wide = index < wide_units;
    const uint32_t size = narrow_units + (in_wide ? 1 : 0);
    const uint32_t first = in_wide ? index / size * size : wide_units + (index - wide_units) / size * size;
    return {data + (first * k + (index - first)) * kUnitColumns, size * kUnitColumns};
  }
};

}  // namespace ptxbench::emu
