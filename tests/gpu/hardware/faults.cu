// Small kernels that go wrong, or do one thing, for hardware_check.
//   nvcc -arch=sm_90a -fatbin -o faults.fatbin faults.cu   (sm_100a likewise)
#include <cassert>
#include <cstdint>
#include <cstdio>

extern "C" {

__global__ void fill(uint32_t* out, uint32_t n, uint32_t value) {
  for (uint32_t i = blockIdx.x * blockDim.x + threadIdx.x; i < n; i += gridDim.x * blockDim.x) out[i] = value + i;
}
// Never ends: nobody else writes `stop`.
__global__ void hang(volatile uint32_t* stop) {
  while (*stop != 0x600DF00D) {
  }
}
__global__ void out_of_bounds(uint32_t* out) { out[uint64_t{1} << 40] = threadIdx.x; }
__global__ void misaligned(uint8_t* out) { *reinterpret_cast<volatile uint32_t*>(out + 1) = 7; }
__global__ void failed_assert(uint32_t* out) { assert(out == nullptr); }
__global__ void trap_instruction(uint32_t*) { asm volatile("trap;"); }
__global__ void print(uint32_t n) {
  if (threadIdx.x == 0) printf("block %u of %u\n", blockIdx.x, n);
}
// Each CTA writes its rank in the cluster, read from the hardware.
__global__ void cluster_rank(uint32_t* out) {
  uint32_t rank;
  asm volatile("mov.u32 %0, %%cluster_ctarank;" : "=r"(rank));
  if (threadIdx.x == 0) out[blockIdx.x] = rank;
}
__constant__ uint32_t limit;
__device__ uint32_t counter;
__global__ void globals(uint32_t* out) {
  if (threadIdx.x == 0) atomicAdd(&counter, limit), out[0] = limit;
}
}
