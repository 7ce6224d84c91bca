// ldmatrix, stmatrix, movmatrix: 8x8 matrices of 16-bit elements between shared memory and the fragments of a warp.
// PTX ISA 9.7.14.5.15-17. Thread lane holds elements (row lane / 4, columns 2 * (lane % 4) + {0, 1}) of each matrix.
#pragma once

#include <cstdint>

#include "ptxbench/emu/tensor/fault.h"
#include "ptxbench/emu/tensor/memory_view.h"

namespace ptxbench::emu {

// count: 1, 2 or 4 matrices. addresses[8 * i + r] is the shared address of row r of matrix i (16 bytes, 16-byte aligned);
// addresses of lanes past 8 * count are not looked at. d[i]: 32 lanes of destination register i; i < count.
Checked<void> ldmatrix(SharedView shared, const uint32_t* addresses, unsigned count, bool transpose,
                       uint32_t* const* d);
Checked<void> stmatrix(SharedView shared, const uint32_t* addresses, unsigned count, bool transpose,
                       const uint32_t* const* s);
// movmatrix.sync.aligned.m8n8.trans.b16; d and s must not overlap.
void movmatrix(const uint32_t* s, uint32_t* d);

}  // namespace ptxbench::emu
