// A warpgroup's registers and shared memory for tests of wgmma. Layouts are written down here from the figures of the PTX
// manual (9.7.15.5.1), as "row r, 16-byte chunk c lies at chunk c ^ f(r)", not with the address formulas under test.
#pragma once

#include <cstdint>
#include <cstring>
#include <functional>
#include <vector>

#include "ptxbench/emu/tensor/swizzle.h"
#include "ptxbench/emu/tensor/wgmma.h"

namespace ptxbench::emu::test {

// Which chunk of its swizzle row chunk c of line r moves to; lines are swizzle_row_bytes wide. From the manual's figures
// "128B / 64B / 32B swizzling": eight, four and two different patterns that change every 1, 2 and 4 lines.
inline uint32_t swizzled_chunk(Swizzle swizzle, uint32_t line, uint32_t chunk) {
  switch (swizzle) {
    case Swizzle::k128B: return chunk ^ (line % 8);
    case Swizzle::k64B: return chunk ^ (line / 2 % 4);
    case Swizzle::k32B: return chunk ^ (line / 4 % 2);
    case Swizzle::kNone: return chunk;
  }
  return chunk;
}

inline uint32_t layout_code(Swizzle swizzle) {
  switch (swizzle) {
    case Swizzle::kNone: return 0;
    case Swizzle::k128B: return 1;
    case Swizzle::k64B: return 2;
    case Swizzle::k32B: return 3;
  }
  return 0;
}

inline uint64_t make_descriptor(uint32_t start, uint32_t leading, uint32_t stride, Swizzle swizzle) {
  return uint64_t{start >> 4 & 0x3fff} | uint64_t{leading >> 4} << 16 | uint64_t{stride >> 4} << 32 |
         uint64_t{layout_code(swizzle)} << 62;
}

// How one operand lies in shared memory.
struct Layout {
  Swizzle swizzle = Swizzle::kNone;
  bool mn_major = false;
  uint32_t start = 0;    // byte address; a multiple of the pattern plus a k step inside the atom
  uint32_t leading = 0;  // bytes
  uint32_t stride = 0;

  uint64_t descriptor() const { return make_descriptor(start, leading, stride, swizzle); }

  // Byte address of element (mn, k) of `size` bytes.
  uint32_t address(uint32_t mn, uint32_t k, uint32_t size) const {
    const uint32_t per_chunk = 16 / size;
    const uint32_t width = swizzle == Swizzle::k128B  ? 128
                           : swizzle == Swizzle::k64B ? 64
                           : swizzle == Swizzle::k32B ? 32
                                                      : 16;
    if (swizzle == Swizzle::kNone) {
      // Core matrices of 8 lines x 16 bytes, packed; `leading` apart along k, `stride` apart along m or n.
      const uint32_t line = mn_major ? k % 8 : mn % 8;
      const uint32_t core_mn = mn_major ? mn / per_chunk : mn / 8, core_k = mn_major ? k / 8 : k / per_chunk;
      const uint32_t inside = (mn_major ? mn : k) % per_chunk * size;
      return start + core_mn * stride + core_k * leading + line * 16 + inside;
    }
    const uint32_t atom = start / (width * 8) * (width * 8);  // where the pattern starts
    const uint32_t skipped = (start - atom) / 16;             // chunks: a k step inside a K-major row
    if (!mn_major) {
      const uint32_t line = mn % 8, chunk = skipped + k / per_chunk;
      return atom + mn / 8 * stride + line * width + swizzled_chunk(swizzle, line, chunk) * 16 + k % per_chunk * size;
    }
    const uint32_t wide = width / size;  // elements of m or n in one line
    const uint32_t line = k % 8, chunk = mn % wide / per_chunk;
    return atom + mn / wide * leading + k / 8 * stride + line * width + swizzled_chunk(swizzle, line, chunk) * 16 +
           mn % per_chunk * size;
  }
};

// Registers of 4 warps: d and a of each.
class Warpgroup {
 public:
  explicit Warpgroup(uint32_t d_registers) : count_(d_registers), words_(4 * (d_registers + 4) * 32) {
    for (uint32_t w = 0; w < 4; ++w) {
      for (uint32_t i = 0; i < d_registers + 4; ++i)
        pointers_.push_back(words_.data() + (w * (d_registers + 4) + i) * 32);
    }
    for (uint32_t w = 0; w < 4; ++w) {
      uint32_t** first = pointers_.data() + w * (d_registers + 4);
      warps_.push_back({first, first + d_registers});
    }
  }
  Warpgroup(const Warpgroup&) = delete;

  const std::vector<WgmmaWarp>& warps() const { return warps_; }
  uint32_t& d(uint32_t thread, uint32_t reg) { return pointers_[thread / 32 * (count_ + 4) + reg][thread % 32]; }
  uint32_t& a(uint32_t thread, uint32_t reg) {
    return pointers_[thread / 32 * (count_ + 4) + count_ + reg][thread % 32];
  }
  const std::vector<uint32_t>& words() const { return words_; }
  std::vector<uint32_t>& words() { return words_; }

 private:
  uint32_t count_;
  std::vector<uint32_t> words_;
  std::vector<uint32_t*> pointers_;
  std::vector<WgmmaWarp> warps_;
};

// Calls visit(thread, register, row, column) for all of a 32-bit accumulator: PTX ISA figure "WGMMA .m64nNk16 register
// fragment layout for accumulator matrix D".
inline void for_each_d(uint32_t n, const std::function<void(uint32_t, uint32_t, uint32_t, uint32_t)>& visit) {
  for (uint32_t thread = 0; thread < 128; ++thread) {
    for (uint32_t i = 0; i < n / 2; ++i) {
      const uint32_t row = 16 * (thread / 32) + thread % 32 / 4 + (i % 4 >= 2 ? 8 : 0);
      visit(thread, i, row, 8 * (i / 4) + thread % 4 * 2 + (i & 1));
    }
  }
}

}  // namespace ptxbench::emu::test
