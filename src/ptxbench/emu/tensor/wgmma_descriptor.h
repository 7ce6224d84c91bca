// The 64-bit shared-memory matrix descriptor of wgmma and the addresses that it means.
// PTX ISA 9.0, 9.7.15.5.1: "Shared Memory Matrix Layout", "Strides", "Canonical Layouts", "Matrix Descriptor Format".
#pragma once

#include <cstdint>

#include "ptxbench/emu/tensor/fault.h"
#include "ptxbench/emu/tensor/swizzle.h"

namespace ptxbench::emu {

// Bits 0-13 start address >> 4, 16-29 leading dimension byte offset >> 4, 32-45 stride dimension byte offset >> 4,
// 49-51 base offset, 62-63 swizzle (0 none, 1 128B, 2 64B, 3 32B). The other bits must be zero.
struct MatrixDescriptor {
  uint32_t start_address = 0;  // bytes, below 2^18
  uint32_t leading_byte_offset = 0;
  uint32_t stride_byte_offset = 0;
  Swizzle swizzle = Swizzle::kNone;
};

// Faults: kBadDescriptor for reserved bits, kUnsupported for a base offset other than zero.
Checked<MatrixDescriptor> decode_matrix_descriptor(uint64_t bits);

enum class Major : uint8_t { kK, kMN };  // which dimension is contiguous in memory

// Where the 16-byte chunk lies that holds elements `chunk` of the contiguous dimension, `row` of the other.
// K-major: row = m or n index, chunk = k / (16 / element size). MN-major: row = k index, chunk = mn / (16 / element size).
uint32_t chunk_address(const MatrixDescriptor& descriptor, Major major, uint32_t row, uint32_t chunk);

}  // namespace ptxbench::emu
