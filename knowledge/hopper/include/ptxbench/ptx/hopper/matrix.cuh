// Matrices of 8 x 8 16-bit elements between registers and shared memory, packing of BF16, the 128-byte swizzle by hand.
#pragma once

#include <cstdint>

namespace ptxbench::ptx {

// "cvt.rn.bf16x2.f32": two FP32 to two BF16, to nearest even; `low` goes to the lower half (the smaller column).
__device__ __forceinline__ uint32_t pack_bf16(float low, float high) {
  uint32_t packed;
  asm("cvt.rn.bf16x2.f32 %0, %1, %2;" : "=r"(packed) : "f"(high), "f"(low));
  return packed;
}

// Byte offset of 16-byte chunk `chunk` (0 .. 7) of row `row` in a tile of 128-byte rows with 128-byte swizzle.
__device__ __forceinline__ uint32_t swizzle_128(int row, int chunk) {
  return static_cast<uint32_t>(row * 128 + (chunk ^ row % 8) * 16);
}

// "stmatrix": stores 8 x 8 matrices. Lane l gives the address of row l % 8 of matrix l / 8 (x2: lanes 0-15, x4: all); a
// multiple of 16 bytes. Register j of lane l holds row l / 4, columns 2(l % 4) and + 1 of matrix j: as wgmma leaves sums.
__device__ __forceinline__ void stmatrix_x2(uint32_t row_address, uint32_t r0, uint32_t r1) {
  asm volatile("stmatrix.sync.aligned.m8n8.x2.shared::cta.b16 [%0], {%1, %2};" ::"r"(row_address), "r"(r0), "r"(r1)
               : "memory");
}
__device__ __forceinline__ void stmatrix_x4(uint32_t row_address, uint32_t r0, uint32_t r1, uint32_t r2, uint32_t r3) {
  asm volatile("stmatrix.sync.aligned.m8n8.x4.shared::cta.b16 [%0], {%1, %2, %3, %4};" ::"r"(row_address), "r"(r0),
               "r"(r1), "r"(r2), "r"(r3)
               : "memory");
}
// Each matrix transposed on the way: register j holds column l / 4, rows 2(l % 4) and + 1.
__device__ __forceinline__ void stmatrix_x4_transposed(uint32_t row_address, uint32_t r0, uint32_t r1, uint32_t r2,
                                                       uint32_t r3) {
  asm volatile("stmatrix.sync.aligned.m8n8.x4.trans.shared::cta.b16 [%0], {%1, %2, %3, %4};" ::"r"(row_address),
               "r"(r0), "r"(r1), "r"(r2), "r"(r3)
               : "memory");
}

// "ldmatrix": the way back, with the same addresses and fragments. Four matrices are also the A fragment of a wgmma.
__device__ __forceinline__ void ldmatrix_x4(uint32_t row_address, uint32_t (&r)[4]) {
  asm volatile("ldmatrix.sync.aligned.m8n8.x4.shared::cta.b16 {%0, %1, %2, %3}, [%4];"
               : "=r"(r[0]), "=r"(r[1]), "=r"(r[2]), "=r"(r[3])
               : "r"(row_address)
               : "memory");
}

}  // namespace ptxbench::ptx
