// TMA: asynchronous copies of boxes between global and shared memory, described by a tensor map (tensor_map.cuh).
// PTX manual: "Data Movement and Conversion Instructions: cp.async.bulk.tensor". One thread issues a copy; it runs in the
// async proxy. Shared addresses are multiples of 128 bytes (1024 with the 128-byte swizzle). Contracts: tma.md.
#pragma once

#include <cuda.h>

#include <cstdint>

#include <ptxbench/ptx/hopper/thread.cuh>

namespace ptxbench::ptx {

// The map is a kernel parameter: `const __grid_constant__ CUtensorMap map`; pass &map.
__device__ __forceinline__ void prefetch_tensor_map(const CUtensorMap* map) {
  asm volatile("prefetch.tensormap [%0];" ::"l"(map) : "memory");
}

// Copies the box whose first element is at (x, y) into shared memory and completes its bytes on `barrier`. Elements, the
// innermost dimension first; may be negative or beyond the end: such elements are zero and count as bytes.
__device__ __forceinline__ void tma_load_2d(void* destination, const CUtensorMap* map, int x, int y,
                                            uint64_t* barrier) {
  asm volatile(
      "cp.async.bulk.tensor.2d.shared::cluster.global.tile.mbarrier::complete_tx::bytes [%0], [%1, {%2, %3}], [%4];" ::
          "r"(shared_address(destination)),
      "l"(map), "r"(x), "r"(y), "r"(shared_address(barrier))
      : "memory");
}

__device__ __forceinline__ void tma_load_3d(void* destination, const CUtensorMap* map, int x, int y, int z,
                                            uint64_t* barrier) {
  asm volatile(
      "cp.async.bulk.tensor.3d.shared::cluster.global.tile.mbarrier::complete_tx::bytes [%0], [%1, {%2, %3, %4}], "
      "[%5];" ::"r"(shared_address(destination)),
      "l"(map), "r"(x), "r"(y), "r"(z), "r"(shared_address(barrier))
      : "memory");
}

// The way back. Elements outside the tensor are not written. Before it: fence_proxy_async() in the threads that wrote the
// buffer, then a barrier. After it, in the same thread: tma_store_commit() and a wait.
__device__ __forceinline__ void tma_store_2d(const CUtensorMap* map, int x, int y, const void* source) {
  asm volatile("cp.async.bulk.tensor.2d.global.shared::cta.tile.bulk_group [%0, {%1, %2}], [%3];" ::"l"(map), "r"(x),
               "r"(y), "r"(shared_address(source))
               : "memory");
}

__device__ __forceinline__ void tma_store_3d(const CUtensorMap* map, int x, int y, int z, const void* source) {
  asm volatile("cp.async.bulk.tensor.3d.global.shared::cta.tile.bulk_group [%0, {%1, %2, %3}], [%4];" ::"l"(map),
               "r"(x), "r"(y), "r"(z), "r"(shared_address(source))
               : "memory");
}

// "cp.async.bulk.commit_group": this thread's stores since the last commit form one group.
__device__ __forceinline__ void tma_store_commit() { asm volatile("cp.async.bulk.commit_group;" ::: "memory"); }

// "cp.async.bulk.wait_group.read": at most kPending of this thread's groups still read shared memory; the buffers of the
// older ones may be written again.
template <int kPending>
__device__ __forceinline__ void tma_store_wait_read() {
  asm volatile("cp.async.bulk.wait_group.read %0;" ::"n"(kPending) : "memory");
}

// At most kPending groups are incomplete; the others are in global memory.
template <int kPending>
__device__ __forceinline__ void tma_store_wait() {
  asm volatile("cp.async.bulk.wait_group %0;" ::"n"(kPending) : "memory");
}

}  // namespace ptxbench::ptx
