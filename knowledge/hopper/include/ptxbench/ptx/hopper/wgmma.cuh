// wgmma: D[64][N] (+)= A[64][16] * B[16][N] in BF16 with FP32 sums, by the 128 threads of a warpgroup, asynchronously.
// PTX manual: "Asynchronous Warpgroup Level Matrix Multiply-Accumulate Instructions". Contracts and layouts: wgmma.md.
#pragma once

#include <cstdint>

#include <ptxbench/ptx/hopper/detail/wgmma_shapes.cuh>

namespace ptxbench::ptx {

// Which dimension of an operand is contiguous in shared memory: the summed one, or M (of A) / N (of B).
enum class Major { kK = 0, kMN = 1 };

// Values of bits 62-63 of a descriptor; the tensor map that filled the tile must have the same.
enum class Swizzle : uint64_t { kNone = 0, k128 = 1, k64 = 2, k32 = 3 };

// "Matrix descriptor format": 18-bit byte address, byte offsets, all stored divided by 16.
//   bits 0-13 address, 16-29 leading offset, 32-45 stride offset, 49-51 base offset (0: tiles on 1024-byte boundaries),
//   62-63 swizzle
__device__ __forceinline__ uint64_t matrix_descriptor(uint32_t address, uint32_t leading_bytes, uint32_t stride_bytes,
                                                      Swizzle swizzle) {
  return uint64_t{(address & 0x3FFFF) >> 4} | uint64_t{leading_bytes >> 4} << 16 | uint64_t{stride_bytes >> 4} << 32 |
         static_cast<uint64_t>(swizzle) << 62;
}

// K-major tile [rows][64] of BF16 with 128-byte rows and 128-byte swizzle, on a 1024-byte boundary. A step of 16 along K is
// 32 bytes: pass address + 32 * step. Rows 64w .. of a taller tile: address + 64 * w * 128.
__device__ __forceinline__ uint64_t k_major_descriptor(uint32_t address) {
  return matrix_descriptor(address, 16, 1024, Swizzle::k128);
}

// MN-major: panels [K rows][64] with 128-byte rows and 128-byte swizzle; `panel_bytes` from one panel of 64 columns to the
// next (ignored if N or M is at most 64). A step of 16 along K is 16 rows: pass address + 2048 * step.
__device__ __forceinline__ uint64_t mn_major_descriptor(uint32_t address, uint32_t panel_bytes) {
  return matrix_descriptor(address, panel_bytes, 1024, Swizzle::k128);
}

// "wgmma.fence": before the first wgmma, and whenever registers (sums or A) were touched since the last one.
__device__ __forceinline__ void wgmma_fence() { asm volatile("wgmma.fence.sync.aligned;" ::: "memory"); }

// "wgmma.commit_group": the wgmmas since the last commit form one group.
__device__ __forceinline__ void wgmma_commit() { asm volatile("wgmma.commit_group.sync.aligned;" ::: "memory"); }

// "wgmma.wait_group": at most kPending of the newest groups still run.
template <int kPending>
__device__ __forceinline__ void wgmma_wait() {
  asm volatile("wgmma.wait_group.sync.aligned %0;" ::"n"(kPending) : "memory");
}

// No instruction. Tells the compiler that the registers change here: put it behind wgmma_wait for every array of sums (and
// of A fragments) that the finished group used, so that nothing that reads or reuses them moves above the wait.
template <int kCount>
__device__ __forceinline__ void registers_change_here(float (&values)[kCount]) {
#pragma unroll
  for (int i = 0; i < kCount; ++i) asm volatile("" : "+f"(values[i])::"memory");
}
template <int kCount>
__device__ __forceinline__ void registers_change_here(uint32_t (&values)[kCount]) {
#pragma unroll
  for (int i = 0; i < kCount; ++i) asm volatile("" : "+r"(values[i])::"memory");
}

// Both operands in shared memory. N = 2 * kSums, a multiple of 8 up to 256, follows from the array: float d[N / 2].
// `accumulate` false starts from zero; the same in all 128 threads.
template <Major kMajorA = Major::kK, Major kMajorB = Major::kK, int kSums>
__device__ __forceinline__ void wgmma(float (&d)[kSums], uint64_t a, uint64_t b, bool accumulate) {
  static_assert(kSums % 4 == 0 && kSums >= 4 && kSums <= 128, "float d[N / 2] with N = 8, 16, ... 256");
  detail::wgmma_shared<static_cast<int>(kMajorA), static_cast<int>(kMajorB)>(d, a, b, static_cast<int>(accumulate));
}

// A in registers: a[0] .. a[3] hold the fragment of a 64 x 16 tile, two BF16 each.
template <Major kMajorB = Major::kK, int kSums>
__device__ __forceinline__ void wgmma(float (&d)[kSums], const uint32_t* a, uint64_t b, bool accumulate) {
  static_assert(kSums % 4 == 0 && kSums >= 4 && kSums <= 128, "float d[N / 2] with N = 8, 16, ... 256");
  detail::wgmma_registers<static_cast<int>(kMajorB)>(d, a, b, static_cast<int>(accumulate));
}

// "Register fragments": d[i] of this thread is row sum_row(i), column sum_column(i) of the warpgroup's 64 x N result.
__device__ __forceinline__ int sum_row(int i) {
  return static_cast<int>(threadIdx.x % 128 / 32 * 16 + threadIdx.x % 32 / 4) + i / 2 % 2 * 8;
}
__device__ __forceinline__ int sum_column(int i) { return i / 4 * 8 + static_cast<int>(threadIdx.x % 4) * 2 + i % 2; }

}  // namespace ptxbench::ptx
