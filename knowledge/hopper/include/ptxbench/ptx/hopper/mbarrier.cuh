// mbarrier: an 8-byte object in shared memory that counts arrivals and bytes of asynchronous copies, phase by phase.
// PTX manual: "Parallel Synchronization and Communication Instructions: mbarrier". Contracts: mbarrier.md.
#pragma once

#include <cstdint>

#include <ptxbench/ptx/hopper/thread.cuh>

namespace ptxbench::ptx {

// "mbarrier.init": a phase completes after `arrivals` (1 .. 2^20 - 1) arrivals, once no announced byte is outstanding.
// One thread initialises, then fence_mbarrier_init(), then __syncthreads(), then everybody may use it.
__device__ __forceinline__ void mbarrier_init(uint64_t* barrier, uint32_t arrivals) {
  asm volatile("mbarrier.init.shared::cta.b64 [%0], %1;" ::"r"(shared_address(barrier)), "r"(arrivals) : "memory");
}

// "membar / fence": makes initialised barriers visible to the async proxy (TMA) and the cluster.
__device__ __forceinline__ void fence_mbarrier_init() {
  asm volatile("fence.mbarrier_init.release.cluster;" ::: "memory");
}

// "mbarrier.inval": needed before the 8 bytes are used for anything else.
__device__ __forceinline__ void mbarrier_invalidate(uint64_t* barrier) {
  asm volatile("mbarrier.inval.shared::cta.b64 [%0];" ::"r"(shared_address(barrier)) : "memory");
}

// "mbarrier.arrive": one arrival on the current phase; releases this thread's earlier writes.
__device__ __forceinline__ void mbarrier_arrive(uint64_t* barrier) {
  asm volatile("mbarrier.arrive.shared::cta.b64 _, [%0];" ::"r"(shared_address(barrier)) : "memory");
}

// "mbarrier.arrive.expect_tx": first announces `bytes` for the current phase, then arrives once.
// `bytes` is the sum of all copies that this phase will see: whole boxes, also where they reach outside the tensor.
__device__ __forceinline__ void mbarrier_arrive_expect_tx(uint64_t* barrier, uint32_t bytes) {
  asm volatile("mbarrier.arrive.expect_tx.shared::cta.b64 _, [%0], %1;" ::"r"(shared_address(barrier)), "r"(bytes)
               : "memory");
}

// "mbarrier.expect_tx": announces bytes without arriving.
__device__ __forceinline__ void mbarrier_expect_tx(uint64_t* barrier, uint32_t bytes) {
  asm volatile("mbarrier.expect_tx.relaxed.cta.shared::cta.b64 [%0], %1;" ::"r"(shared_address(barrier)), "r"(bytes)
               : "memory");
}

// "mbarrier.try_wait": has the phase with this parity completed? May sleep for a while before it says no.
__device__ __forceinline__ bool mbarrier_try_wait(uint64_t* barrier, uint32_t parity) {
  uint32_t complete;
  asm volatile(
      "{\n"
      ".reg .pred p;\n"
      "mbarrier.try_wait.parity.shared::cta.b64 p, [%1], %2;\n"
      "selp.u32 %0, 1, 0, p;\n"
      "}\n"
      : "=r"(complete)
      : "r"(shared_address(barrier)), "r"(parity)
      : "memory");
  return complete != 0;
}

// Waits until phase n completes, for parity = n % 2; acquires what the arrivals released and the copies wrote.
// On a fresh barrier parity 1 passes at once (the phase "before the first" counts as complete), parity 0 waits.
__device__ __forceinline__ void mbarrier_wait(uint64_t* barrier, uint32_t parity) {
  while (!mbarrier_try_wait(barrier, parity)) {
  }
}

// A place in a ring of stages, with the parity of the phase that its barriers are in. Consumers wait for full[stage]
// with `parity`, producers for empty[stage] with `parity ^ 1`, which passes in the first round.
template <int kStages>
struct Ring {
  int stage = 0;
  uint32_t parity = 0;

  __device__ __forceinline__ void advance() {
    if (++stage == kStages) {
      stage = 0;
      parity ^= 1;
    }
  }
};

}  // namespace ptxbench::ptx
