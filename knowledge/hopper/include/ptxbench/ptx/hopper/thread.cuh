// Where a thread stands, addresses in shared memory, one thread out of a warp.
#pragma once

#include <cstdint>

namespace ptxbench::ptx {

constexpr int kWarpgroupThreads = 128;

// PTX operands in .shared take 32-bit addresses inside the shared window, not generic pointers.
__device__ __forceinline__ uint32_t shared_address(const void* pointer) {
  return static_cast<uint32_t>(__cvta_generic_to_shared(pointer));
}

__device__ __forceinline__ int lane_index() { return static_cast<int>(threadIdx.x % 32); }

// The same value in all threads of a warp, and known to the compiler as such (a uniform register). A warp-wide shuffle: call
// them where the whole warp is, not inside a branch of one lane.
__device__ __forceinline__ int warp_index() { return __shfl_sync(0xffffffff, static_cast<int>(threadIdx.x / 32), 0); }
__device__ __forceinline__ int warpgroup_index() { return warp_index() / 4; }

// "elect.sync": true in exactly one lane. All 32 lanes must execute it; use it to pick the thread that issues TMA copies.
__device__ __forceinline__ bool elect_one() {
  uint32_t elected;
  asm volatile(
      "{\n"
      ".reg .pred p;\n"
      "elect.sync _|p, 0xffffffff;\n"
      "selp.u32 %0, 1, 0, p;\n"
      "}\n"
      : "=r"(elected));
  return elected != 0;
}

}  // namespace ptxbench::ptx
