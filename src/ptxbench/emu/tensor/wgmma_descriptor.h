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
  uint32_t base_offset = 0;  // lines of 128 bytes

  // Where the byte of linear address `address` really lies.
  uint32_t place(uint32_t address) const { return apply_swizzle(swizzle, address, base_offset); }
};

// Fault kBadDescriptor if reserved bits are set.
Checked<MatrixDescriptor> decode_matrix_descriptor(uint64_t bits);

enum class Major : uint8_t { kK, kMN };  // which dimension is contiguous in memory

// A core matrix: 8 lines of 16 bytes. K-major: lines are 8 consecutive m or n, 16 bytes of k each. MN-major: lines are 8
// consecutive k, 16 bytes of m or n each. `outer` counts core matrices along m or n, `k` along k.
// Line i is at descriptor.place(address + i * pitch). The layouts, in units of 16 bytes ("Canonical Layouts"):
//   K-major   none ((8,m),(1,2)):((1,SBO),(-,LBO))    swizzled, W lines wide ((8,m),2):((W,SBO),1)
//   MN-major  none ((1,m),(8,k)):((-,SBO),(1,LBO))    swizzled ((W,m),(8,k)):((1,LBO),(W,SBO))
struct CoreMatrix {
  uint32_t address = 0;  // linear shared address of line 0, before the swizzle
  uint32_t pitch = 0;    // bytes between lines
};
CoreMatrix core_matrix(const MatrixDescriptor& descriptor, Major major, uint32_t outer, uint32_t k);

}  // namespace ptxbench::emu
