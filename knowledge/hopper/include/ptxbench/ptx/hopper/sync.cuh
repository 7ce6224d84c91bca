// Barriers of the CTA, the fence between the generic and the async proxy, and the register split between warpgroups.
#pragma once

#include <cstdint>

namespace ptxbench::ptx {

// "bar / barrier": named barrier `id` (1 .. 15; 0 is __syncthreads) among `threads` threads, a multiple of 32. Orders the
// memory accesses of all that take part.
__device__ __forceinline__ void named_barrier_sync(int id, int threads) {
  asm volatile("barrier.sync.aligned %0, %1;" ::"r"(id), "r"(threads) : "memory");
}

// Arrives and goes on. `threads` counts those that sync and those that arrive.
__device__ __forceinline__ void named_barrier_arrive(int id, int threads) {
  asm volatile("barrier.arrive.aligned %0, %1;" ::"r"(id), "r"(threads) : "memory");
}

// "Async proxy" / "fence.proxy.async": makes this thread's ordinary accesses to shared memory visible to TMA and wgmma.
// The writer executes it, before the barrier behind which another thread starts the TMA or wgmma.
__device__ __forceinline__ void fence_proxy_async() { asm volatile("fence.proxy.async.shared::cta;" ::: "memory"); }

// "setmaxnreg": registers per thread of this warpgroup, 24 .. 256 in steps of 8. All four warps execute the same one.
// increase blocks until other warpgroups have given enough back. The kernel needs __launch_bounds__ with its exact block.
template <int kRegisters>
__device__ __forceinline__ void decrease_registers() {
  static_assert(kRegisters >= 24 && kRegisters <= 256 && kRegisters % 8 == 0, "24 .. 256, a multiple of 8");
  asm volatile("setmaxnreg.dec.sync.aligned.u32 %0;" ::"n"(kRegisters));
}
template <int kRegisters>
__device__ __forceinline__ void increase_registers() {
  static_assert(kRegisters >= 24 && kRegisters <= 256 && kRegisters % 8 == 0, "24 .. 256, a multiple of 8");
  asm volatile("setmaxnreg.inc.sync.aligned.u32 %0;" ::"n"(kRegisters));
}

}  // namespace ptxbench::ptx
