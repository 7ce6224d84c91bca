// Inline PTX as hand-written Hopper kernels have it: mbarriers, tensor copies, wgmma, and what nvcc puts around them.
#include <cstdint>

struct alignas(64) Map { char bytes[128]; };

__device__ __forceinline__ void wait(uint32_t bar, uint32_t parity) {
  asm volatile(
      "{\n"
      ".reg .pred                P1;\n"
      "LAB_WAIT:\n"
      "mbarrier.try_wait.parity.shared::cta.b64 P1, [%0], %1;\n"
      "@P1                       bra.uni DONE;\n"
      "bra.uni                   LAB_WAIT;\n"
      "DONE:\n"
      "}\n" ::"r"(bar), "r"(parity));
}

template <int kTransposeB>
__device__ __forceinline__ void multiply(float (&d)[4], uint64_t a, uint64_t b, int scale) {
  asm volatile(
      "{\n.reg .pred p;\nsetp.ne.b32 p, %6, 0;\n"
      "wgmma.mma_async.sync.aligned.m64n8k16.f32.bf16.bf16 {%0, %1, %2, %3}, %4, %5, p, 1, 1, 0, %7;\n}\n"
      : "+f"(d[0]), "+f"(d[1]), "+f"(d[2]), "+f"(d[3])
      : "l"(a), "l"(b), "r"(scale), "n"(kTransposeB));
}

__global__ void __cluster_dims__(2, 1, 1) __launch_bounds__(128, 1) hopper(const __grid_constant__ Map map, float* out, int steps) {
  extern __shared__ __align__(1024) char smem[];
  __shared__ uint64_t bar[2];
  const uint32_t tile = static_cast<uint32_t>(__cvta_generic_to_shared(smem));
  const uint32_t full = static_cast<uint32_t>(__cvta_generic_to_shared(&bar[0]));
  if (threadIdx.x == 0) {
    asm volatile("mbarrier.init.shared::cta.b64 [%0], %1;" ::"r"(full), "r"(1));
    asm volatile("fence.mbarrier_init.release.cluster;");
  }
  asm volatile("barrier.cluster.arrive.release.aligned;\nbarrier.cluster.wait.acquire.aligned;");
  float d[4] = {};
  for (int step = 0; step < steps; ++step) {
    uint32_t elected;
    asm volatile("{\n.reg .pred P;\nelect.sync _|P, 0xffffffff;\nselp.u32 %0, 1, 0, P;\n}\n" : "=r"(elected));
    if (elected) {
      asm volatile("mbarrier.arrive.expect_tx.shared::cta.b64 _, [%0], %1;" ::"r"(full), "r"(4096));
      asm volatile("cp.async.bulk.tensor.2d.shared::cluster.global.mbarrier::complete_tx::bytes [%0], [%1, {%3, %4}], [%2];" ::"r"(tile), "l"(&map), "r"(full),
                   "r"(step * 64), "r"(0)
                   : "memory");
    }
    wait(full, step & 1);
    asm volatile("wgmma.fence.sync.aligned;");
    multiply<0>(d, tile >> 4, (tile + 2048) >> 4, step);
    asm volatile("wgmma.commit_group.sync.aligned;\nwgmma.wait_group.sync.aligned 0;" ::: "memory");
  }
  asm volatile("setmaxnreg.dec.sync.aligned.u32 40;");
  for (int i = 0; i < 4; ++i) out[threadIdx.x * 4 + i] = d[i];
}
