// The shared-memory swizzles that TMA and wgmma share. They permute 16-byte chunks by XOR of address bits, on the
// absolute shared address (PTX ISA, "Tensor swizzling modes"; wgmma "Shared Memory Matrix Layout").
#pragma once

#include <cstdint>

namespace ptxbench::emu {

enum class Swizzle : uint8_t { kNone, k32B, k64B, k128B };

// Bytes of one swizzled row; 0 for kNone.
constexpr uint32_t swizzle_row_bytes(Swizzle swizzle) {
  switch (swizzle) {
    case Swizzle::kNone: return 0;
    case Swizzle::k32B: return 32;
    case Swizzle::k64B: return 64;
    case Swizzle::k128B: return 128;
  }
  return 0;
}

// Bytes after which the pattern repeats: 8 swizzled rows (1024, 512, 256); a 16-byte chunk where nothing moves.
constexpr uint32_t swizzle_pattern_bytes(Swizzle swizzle) {
  return swizzle == Swizzle::kNone ? 16 : swizzle_row_bytes(swizzle) * 8;
}

// Which of address bits 7, 8, 9 are XORed into bits 4, 5, 6.
constexpr uint32_t swizzle_mask(Swizzle swizzle) {
  return swizzle == Swizzle::kNone ? 0 : swizzle_row_bytes(swizzle) - 16;
}

// Where the byte of linear address `address` really lies. `base_offset` (bits 49-51 of a matrix descriptor, 0 elsewhere) says by
// how many 128-byte lines after a multiple of the pattern it starts (recorded on an H200: captures wgmma_layout).
constexpr uint32_t apply_swizzle(Swizzle swizzle, uint32_t address, uint32_t base_offset = 0) {
  return address ^ ((((address >> 7) - base_offset) << 4) & swizzle_mask(swizzle));
}

}  // namespace ptxbench::emu
