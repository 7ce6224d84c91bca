// Attention forward made of the code blocks of patterns/attention.md; see gemm.cu. What the text only describes is here:
// the producer, the epilogue into the rows of Q, the kernel, the launch.
#include <cuda_bf16.h>
#include <cuda_runtime.h>

#include <cmath>

#include <ptxbench/ptx/hopper/math.cuh>
#include <ptxbench/ptx/hopper/matrix.cuh>
#include <ptxbench/ptx/hopper/mbarrier.cuh>
#include <ptxbench/ptx/hopper/sync.cuh>
#include <ptxbench/ptx/hopper/tensor_map.cuh>
#include <ptxbench/ptx/hopper/thread.cuh>
#include <ptxbench/ptx/hopper/tma.cuh>
#include <ptxbench/ptx/hopper/wgmma.cuh>

namespace {
using namespace ptxbench::ptx;
extern __shared__ __align__(1024) uint8_t dynamic_shared[];
constexpr bool kCausal = false;

// @blocks hopper/patterns/attention.md

__device__ void load_tile(uint8_t (&tile)[2][128 * 128], const CUtensorMap* map, int row, int head, uint64_t* full) {
  mbarrier_arrive_expect_tx(full, 2 * 128 * 128);
  for (int panel = 0; panel < 2; ++panel) tma_load_3d(tile[panel], map, panel * 64, row, head, full);
}

__device__ void produce(Shared& shared, const CUtensorMap* map_q, const CUtensorMap* map_k, const CUtensorMap* map_v,
                        int query, int head, int tiles) {
  load_tile(shared.q, map_q, query, head, &shared.q_full);
  Ring<kStages> ring;
  for (int tile = tiles - 1; tile >= 0; --tile, ring.advance()) {
    mbarrier_wait(&shared.k_empty[ring.stage], ring.parity ^ 1);
    load_tile(shared.k[ring.stage], map_k, tile * 128, head, &shared.k_full[ring.stage]);
    mbarrier_wait(&shared.v_empty[ring.stage], ring.parity ^ 1);
    load_tile(shared.v[ring.stage], map_v, tile * 128, head, &shared.v_full[ring.stage]);
  }
}

__device__ __forceinline__ void store_output(Shared& shared, const CUtensorMap* map_o, int consumer, int query,
                                             int head, const float (&o)[kSums]) {
  const int thread = threadIdx.x % 128;
#pragma unroll
  for (int column = 0; column < 128; column += 16) {
    const float* d = o + column / 2;
    const uint32_t rows = shared_address(shared.q[column / 64]) + consumer * 64 * 128;
    stmatrix_x4(rows + swizzle_128(thread / 32 * 16 + thread % 16, column % 64 / 8 + thread % 32 / 16),
                pack_bf16(d[0], d[1]), pack_bf16(d[2], d[3]), pack_bf16(d[4], d[5]), pack_bf16(d[6], d[7]));
  }
  fence_proxy_async();
  named_barrier_sync(1 + consumer, 128);
  if (thread == 0) {
    for (int panel = 0; panel < 2; ++panel)
      tma_store_3d(map_o, panel * 64, query, head, shared.q[panel] + consumer * 64 * 128);
    tma_store_commit();
    tma_store_wait_read<0>();
  }
}

__global__ void __launch_bounds__(384, 1)
    attention(const __grid_constant__ CUtensorMap map_q, const __grid_constant__ CUtensorMap map_k,
              const __grid_constant__ CUtensorMap map_v, const __grid_constant__ CUtensorMap map_o, float* lse,
              int sequence, float scale_log2) {
  Shared& shared = *reinterpret_cast<Shared*>(dynamic_shared);
  if (threadIdx.x == 0) {
    mbarrier_init(&shared.q_full, 1);
    for (int stage = 0; stage < kStages; ++stage) {
      mbarrier_init(&shared.k_full[stage], 1), mbarrier_init(&shared.v_full[stage], 1);
      mbarrier_init(&shared.k_empty[stage], 8), mbarrier_init(&shared.v_empty[stage], 8);
    }
    fence_mbarrier_init();
  }
  __syncthreads();
  const int block = kCausal ? gridDim.x - 1 - blockIdx.x : blockIdx.x;
  const int tiles = kCausal ? block + 1 : (sequence + 127) / 128;
  const int head = blockIdx.y;
  if (warpgroup_index() == 0) {
    decrease_registers<24>();
    if (threadIdx.x == 0) produce(shared, &map_q, &map_k, &map_v, block * 128, head, tiles);
  } else {
    increase_registers<240>();
    const int consumer = warpgroup_index() - 1;
    const int query = block * 128 + consumer * 64;
    RowState state;
    float o[kSums];
    attend<kCausal>(shared, consumer, query, tiles, sequence, scale_log2, state, o);
    finish(state, scale_log2, o, lse + static_cast<int64_t>(head) * sequence, query, sequence);
    store_output(shared, &map_o, consumer, query, head, o);
  }
}

void check(cudaError_t error, const char* what) {
  if (error != cudaSuccess) throw ptxbench::ffi::Failure("RuntimeError", "%s: %s", what, cudaGetErrorString(error));
}
}  // namespace

void run(ptxbench::Tensor<__nv_bfloat16> q, ptxbench::Tensor<__nv_bfloat16> k, ptxbench::Tensor<__nv_bfloat16> v,
         ptxbench::Tensor<__nv_bfloat16> o, ptxbench::Tensor<float> lse) {
  const int64_t heads = q.size(0) * q.size(1), sequence = q.size(2);
  const auto map = [&](const auto& tensor, int rows) {
    return make_tensor_map_3d(tensor.data(), heads, sequence, 128, rows, 64);
  };
  check(cudaFuncSetAttribute(attention, cudaFuncAttributeMaxDynamicSharedMemorySize, sizeof(Shared)), "shared memory");
  const dim3 grid(static_cast<unsigned>((sequence + 127) / 128), static_cast<unsigned>(heads));
  attention<<<grid, 384, sizeof(Shared), static_cast<cudaStream_t>(ptxbench::current_stream())>>>(
      map(q, 128), map(k, 128), map(v, 128), map(o, 64), lse.data(), static_cast<int>(sequence),
      static_cast<float>(std::log2(std::exp(1.0)) / std::sqrt(128.0)));
  check(cudaGetLastError(), "launch");
}
PTXBENCH_EXPORT(run)
