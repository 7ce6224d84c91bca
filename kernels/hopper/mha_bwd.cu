// Attention backward for Hopper (sm_90a), BF16, head dimension 128. From Q, K, V, the forward pass's O and LSE, and the
// gradient dO of a loss with respect to O:
//
//   P = exp(Q K^T / sqrt(128) - LSE)     delta = rowsum(dO * O)     dP = dO V^T     dS = P * (dP - delta)
//   dV = P^T dO                          dK = dS^T Q / sqrt(128)    dQ = dS K / sqrt(128)
//
// Q, O, dO, dQ are [batch, heads, sequence, 128], K, V, dK, dV are [batch, kv_heads, sequence, 128], all BF16; LSE is
// [batch, heads, sequence] in FP32. heads / kv_heads consecutive query heads share one head of K and V. Three kernels:
//
//   1. prepare: delta of every query row, LSE to base 2, and zeros where dQ will be summed up.
//   2. backward: five matrix products for each pair of 128 keys and 64 queries. A CTA holds 128 keys and walks over the
//      queries that see them. dK and dV stay in registers; the part of dQ that these keys give is added to FP32 sums in
//      global memory, which all CTAs of a head share.
//   3. finish: dQ from FP32 to BF16.
//
// The second kernel has two warpgroups, each with 64 of the CTA's keys, and no producer: all 255 registers are needed, and
// the warpgroups meet in every step anyway, after which one thread starts the TMA copies of Q and dO two steps ahead.
//   - S^T = K Q^T and dP^T = V dO^T, 64 keys x 64 queries, have both operands in shared memory. Rows are keys, so P^T and
//     dS^T lie in registers as wgmma wants a left operand: dV += P^T dO and dK += dS^T Q take them from there.
//   - dQ sums over keys, those of both warpgroups. Both write dS^T to shared memory, and each then computes 64 of the 128
//     columns of dQ.
//   - Exponentials, differences and additions run while the tensor cores are busy: the order of the products in `step`
//     leaves one of them behind each wait.
//
// Any sequence length works: the TMA fills what lies behind the end with zeros and does not write it; queries behind the
// end have P = 0 because their LSE is set to infinity, keys behind the end are masked. mha_bwd_causal.cu is this file with
// kCausal = true.
//
// The FP32 sums of dQ are added up in whatever order the CTAs come, so dQ may differ in the last bit of its BF16 from
// run to run. dK and dV always have the same bits.
//
// Names in quotes in the comments are sections of NVIDIA's PTX ISA manual (version 9.0).

#include <cuda.h>
#include <cuda_runtime.h>

#include <cstdint>

#include <ptxbench/ffi.h>

namespace {

// Causal: query i sees the keys 0 .. i. The only line in which mha_bwd.cu and mha_bwd_causal.cu differ:
constexpr bool kCausal = false;

// ---- Shape of the work. Lengths are in elements unless the name says bytes.

constexpr int kHeadDim = 128;
constexpr int kTileKeys = 128;  // keys per CTA: 64 for each warpgroup
constexpr int kTileQ = 64;      // queries per step
constexpr int kStages = 3;      // tiles of Q and of dO: the last, this and the next step's
constexpr int kWgmmaM = 64;     // every wgmma has 64 rows
constexpr int kWgmmaK = 16;     // and 16 BF16 along the summed dimension
constexpr int kWarpgroups = kTileKeys / kWgmmaM;
constexpr int kWarpgroup = 128;  // threads
constexpr int kThreads = kWarpgroups * kWarpgroup;
constexpr int kPanel = 64;                            // 64 BF16 = 128 bytes = one row of the 128-byte swizzle
constexpr int kPanels = kHeadDim / kPanel;            // a tile is stored as panels of [rows][64]
constexpr int kSums = kWgmmaM * kTileQ / kWarpgroup;  // FP32 per thread of a 64 x 64 result: S^T, dP^T, half of dQ
constexpr int kWideSums = kWgmmaM * kHeadDim / kWarpgroup;  // of a 64 x 128 result: dK, dV
static_assert(kTileQ == kPanel && kHeadDim == kWarpgroups * kPanel, "each warpgroup computes one panel of dQ");

constexpr float kScale = 0.0883883476483184f;  // 1 / sqrt(128)
constexpr float kLog2e = 1.44269504088896f;    // for powers of 2 instead of e

constexpr uint32_t kKeyPanelBytes = kTileKeys * kPanel * 2;
constexpr uint32_t kQueryPanelBytes = kTileQ * kPanel * 2;
constexpr uint32_t kKeyTileBytes = kPanels * kKeyPanelBytes;
constexpr uint32_t kQueryTileBytes = kPanels * kQueryPanelBytes;

// What the first kernel leaves for the second about 64 queries: one bulk copy.
struct RowFigures {
  float minus_lse[kTileQ];  // base 2; minus infinity behind the end of the sequence, so that P is 0 there
  float delta[kTileQ];      // rowsum(dO * O)
};

// dQ of 64 queries as it is summed up, in the order in which the threads hold it: [warpgroup][8 columns][thread][4].
// So each addition of a warp touches 512 contiguous bytes.
constexpr int kQuerySums = kTileQ * kHeadDim;
constexpr int kWarpgroupSums = kQuerySums / kWarpgroups;

// Dynamic shared memory. Every panel must start at a multiple of 1024 bytes: the 128-byte swizzle repeats every 8
// rows of 128 bytes, and wgmma computes it from the address bits.
struct SharedStorage {
  alignas(1024) uint8_t k[kPanels][kKeyPanelBytes];  // at the end dK goes the same way back,
  alignas(1024) uint8_t v[kPanels][kKeyPanelBytes];  // and dV
  alignas(1024) uint8_t q[kStages][kPanels][kQueryPanelBytes];
  alignas(1024) uint8_t d_o[kStages][kPanels][kQueryPanelBytes];
  alignas(1024) uint8_t d_s[2][kKeyPanelBytes];  // dS^T: [128 keys][64 queries]
  alignas(16) RowFigures rows[kStages];
  alignas(8) uint64_t keys_full;              // K and V
  alignas(8) uint64_t queries_full[kStages];  // Q, dO and their figures
};
static_assert(sizeof(SharedStorage) <= 232448, "a Hopper CTA can have 227 KiB of shared memory");

// ---- PTX in small wrappers; mha_fwd.cu says more about those that are there as well. Shared-memory addresses are 32-bit
// addresses inside the shared window.

__device__ __forceinline__ uint32_t shared_address(const void* pointer) {
  return static_cast<uint32_t>(__cvta_generic_to_shared(pointer));
}

// "mbarrier.init", and a fence that shows the new barrier to the TMA. A phase is complete after one arrival and all bytes.
__device__ __forceinline__ void mbarrier_init(uint64_t* barrier) {
  asm volatile("mbarrier.init.shared.b64 [%0], 1;\n fence.mbarrier_init.release.cluster;" ::"r"(shared_address(barrier))
               : "memory");
}

// "mbarrier.arrive" with expect_tx: the arrival, and how many bytes the TMA will report.
__device__ __forceinline__ void mbarrier_arrive_expect_tx(uint64_t* barrier, uint32_t bytes) {
  asm volatile("mbarrier.arrive.expect_tx.shared::cta.b64 _, [%0], %1;" ::"r"(shared_address(barrier)), "r"(bytes)
               : "memory");
}

// "mbarrier.test_wait / try_wait": waits until the phase with this parity is complete.
__device__ __forceinline__ void mbarrier_wait(uint64_t* barrier, uint32_t parity) {
  asm volatile(
      "{\n"
      ".reg .pred complete;\n"
      "WAIT:\n"
      "mbarrier.try_wait.parity.shared.b64 complete, [%0], %1;\n"
      "@!complete bra WAIT;\n"
      "}\n" ::"r"(shared_address(barrier)),
      "r"(parity)
      : "memory");
}

// "cp.async.bulk.tensor": copies a box of a tensor; what reaches outside the tensor is filled with zeros.
__device__ __forceinline__ void tma_load(void* destination, const CUtensorMap* map, int x, int y, int z,
                                         uint64_t* barrier) {
  asm volatile(
      "cp.async.bulk.tensor.3d.shared::cluster.global.mbarrier::complete_tx::bytes [%0], [%1, {%2, %3, %4}], [%5];" ::
          "r"(shared_address(destination)),
      "l"(map), "r"(x), "r"(y), "r"(z), "r"(shared_address(barrier))
      : "memory");
}

// "cp.async.bulk": contiguous bytes, a multiple of 16, without a tensor map.
__device__ __forceinline__ void bulk_load(void* destination, const void* source, uint32_t bytes, uint64_t* barrier) {
  asm volatile("cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes [%0], [%1], %2, [%3];" ::"r"(
                   shared_address(destination)),
               "l"(source), "r"(bytes), "r"(shared_address(barrier))
               : "memory");
}

// The way back; what reaches outside the tensor is not written.
__device__ __forceinline__ void tma_store(const CUtensorMap* map, int x, int y, int z, uint32_t source) {
  asm volatile("cp.async.bulk.tensor.3d.global.shared::cta.bulk_group [%0, {%1, %2, %3}], [%4];" ::"l"(map), "r"(x),
               "r"(y), "r"(z), "r"(source)
               : "memory");
}

// Waits until all stores of this thread are in global memory.
__device__ __forceinline__ void tma_store_wait_all() {
  asm volatile("cp.async.bulk.commit_group;\n cp.async.bulk.wait_group 0;" ::: "memory");
}

// "Async proxy": makes the ordinary stores of this thread to shared memory visible to TMA and wgmma.
__device__ __forceinline__ void fence_async_proxy() { asm volatile("fence.proxy.async.shared::cta;" ::: "memory"); }

// "barrier": a named barrier; 0 is __syncthreads'.
__device__ __forceinline__ void named_barrier_sync(int id, int threads) {
  asm volatile("barrier.sync.aligned %0, %1;" ::"r"(id), "r"(threads) : "memory");
}

// "Asynchronous warpgroup level matrix shared memory layout" / "Matrix descriptor format": where an operand
// lies and how.
//   bits  0-13  start address / 16
//   bits 16-29  leading dimension byte offset / 16
//   bits 32-45  stride dimension byte offset / 16
//   bits 62-63  swizzle: 1 = 128 bytes. It must be what the tensor map said when the TMA wrote the tile.
// K-major: rows of 64 contiguous elements of the summed dimension. The stride offset leads from one group of 8 rows to the
// next, 8 * 128 bytes; the leading offset is not used.
// MN-major: the summed dimension is the row, and contiguous are 64 rows or columns of the product. The stride offset leads
// from 8 rows to the next 8, the leading offset from one panel to the next.
__device__ __forceinline__ uint64_t matrix_descriptor(const void* tile, uint32_t panel_bytes) {
  return (shared_address(tile) & 0x3FFFF) >> 4 | uint64_t{panel_bytes >> 4} << 16 | uint64_t{1024 >> 4} << 32 |
         uint64_t{1} << 62;
}

// The same operand further on. The sum stays within the address bits.
__device__ __forceinline__ uint64_t advance(uint64_t descriptor, uint32_t bytes) { return descriptor + (bytes >> 4); }

// "wgmma.fence": orders earlier accesses to the registers of a wgmma before it. "wgmma.commit_group": ends a group.
__device__ __forceinline__ void wgmma_fence() { asm volatile("wgmma.fence.sync.aligned;" ::: "memory"); }
__device__ __forceinline__ void wgmma_commit() { asm volatile("wgmma.commit_group.sync.aligned;" ::: "memory"); }

// "wgmma.wait_group": waits until at most kPending groups are still running.
template <int kPending>
__device__ __forceinline__ void wgmma_wait() {
  asm volatile("wgmma.wait_group.sync.aligned %0;" ::"n"(kPending) : "memory");
}

// Statements without instructions that "use and change" registers of wgmmas which the compiler believes to be over, so that
// nothing that reads or reuses them moves above the wait in front.
template <int kCount>
__device__ __forceinline__ void registers_change_here(float (&sums)[kCount]) {
#pragma unroll
  for (int i = 0; i < kCount; ++i) asm volatile("" : "+f"(sums[i])::"memory");
}
template <int kCount>
__device__ __forceinline__ void registers_change_here(uint32_t (&fragments)[kCount]) {
#pragma unroll
  for (int i = 0; i < kCount; ++i) asm volatile("" : "+r"(fragments[i])::"memory");
}

// The operands d[i], d[i + 1], ... of an asm statement.
#define FOUR(i) "+f"(d[i]), "+f"(d[i + 1]), "+f"(d[i + 2]), "+f"(d[i + 3])
#define SIXTEEN(i) FOUR(i), FOUR(i + 4), FOUR(i + 8), FOUR(i + 12)
#define THIRTY_TWO(i) SIXTEEN(i), SIXTEEN(i + 16)

constexpr int kKMajor = 0, kMnMajor = 1;  // how operands lie in shared memory: immediates of wgmma

// "wgmma.mma_async": d[64,64] = a[64,16] * b[64,16]^T + (accumulate ? d : 0), for a warpgroup, asynchronously.
// Both operands in shared memory. The first two of the last four immediates: +a, +b.
// "Register fragments": lane l of warp w holds rows 16w + l/4 and 8 below, and of each 8 columns the two at 2(l%4):
//   d[4j], d[4j+1] in the upper row, d[4j+2], d[4j+3] in the lower one, at columns 8j + 2(l%4) and one further.
template <int kMajor>
__device__ __forceinline__ void wgmma_shared(float (&d)[kSums], uint64_t a, uint64_t b, bool accumulate) {
  asm volatile(
      "{\n"
      ".reg .pred accumulate;\n"
      "setp.ne.b32 accumulate, %34, 0;\n"
      "wgmma.mma_async.sync.aligned.m64n64k16.f32.bf16.bf16 "
      "{%0, %1, %2, %3, %4, %5, %6, %7, %8, %9, %10, %11, %12, %13, %14, %15,"
      " %16, %17, %18, %19, %20, %21, %22, %23, %24, %25, %26, %27, %28, %29, %30, %31}, "
      "%32, %33, accumulate, 1, 1, %35, %35;\n"
      "}\n"
      : THIRTY_TWO(0)
      : "l"(a), "l"(b), "r"(static_cast<int>(accumulate)), "n"(kMajor));
}

// d[64,128] += a[64,16] * b[16,128] with a in registers: a0 and a2 are columns 2(l%4) and 8 further of the upper row, a1
// and a3 of the lower row, two BF16 in each. The last immediate says that b is MN-major: [16][128] with 128 contiguous.
__device__ __forceinline__ void wgmma_registers(float (&d)[kWideSums], const uint32_t* a, uint64_t b, bool accumulate) {
  asm volatile(
      "{\n"
      ".reg .pred accumulate;\n"
      "setp.ne.b32 accumulate, %69, 0;\n"
      "wgmma.mma_async.sync.aligned.m64n128k16.f32.bf16.bf16 "
      "{%0, %1, %2, %3, %4, %5, %6, %7, %8, %9, %10, %11, %12, %13, %14, %15,"
      " %16, %17, %18, %19, %20, %21, %22, %23, %24, %25, %26, %27, %28, %29, %30, %31,"
      " %32, %33, %34, %35, %36, %37, %38, %39, %40, %41, %42, %43, %44, %45, %46, %47,"
      " %48, %49, %50, %51, %52, %53, %54, %55, %56, %57, %58, %59, %60, %61, %62, %63}, "
      "{%64, %65, %66, %67}, %68, accumulate, 1, 1, 1;\n"
      "}\n"
      : THIRTY_TWO(0), THIRTY_TWO(32)
      : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "l"(b), "r"(static_cast<int>(accumulate)));
}

// "cvt": two FP32 to two BF16; `low` goes to the lower half.
__device__ __forceinline__ uint32_t pack_bf16(float low, float high) {
  uint32_t packed;
  asm("cvt.rn.bf16x2.f32 %0, %1, %2;" : "=r"(packed) : "f"(high), "f"(low));
  return packed;
}

// "ex2": 2 to the power of x.
__device__ __forceinline__ float exp2_approx(float x) {
  float y;
  asm("ex2.approx.ftz.f32 %0, %1;" : "=f"(y) : "f"(x));
  return y;
}

// "stmatrix": stores four 8 x 8 matrices. Lane l gives the address of row l%8 of matrix l/8.
__device__ __forceinline__ void stmatrix_x4(uint32_t row_address, uint32_t r0, uint32_t r1, uint32_t r2, uint32_t r3) {
  asm volatile("stmatrix.sync.aligned.m8n8.x4.shared::cta.b16 [%0], {%1, %2, %3, %4};" ::"r"(row_address), "r"(r0),
               "r"(r1), "r"(r2), "r"(r3)
               : "memory");
}

// "red": adds four FP32 to global memory. Each is added atomically, in no particular order.
__device__ __forceinline__ void add_to_global(float* address, float x0, float x1, float x2, float x3) {
  asm volatile("red.relaxed.gpu.global.add.v4.f32 [%0], {%1, %2, %3, %4};" ::"l"(address), "f"(x0), "f"(x1), "f"(x2),
               "f"(x3)
               : "memory");
}

// ---- The first kernel: figures of the rows

constexpr int kHelperThreads = 256;  // of the first and third kernel; each CTA has 64 queries

// The sum of products of eight pairs of BF16. A BF16 is the upper half of an FP32.
__device__ __forceinline__ float dot8(uint4 a, uint4 b) {
  const uint32_t x[4] = {a.x, a.y, a.z, a.w};
  const uint32_t y[4] = {b.x, b.y, b.z, b.w};
  float sum = 0;
#pragma unroll
  for (int i = 0; i < 4; ++i) {
    sum = fmaf(__uint_as_float(x[i] << 16), __uint_as_float(y[i] << 16), sum);
    sum = fmaf(__uint_as_float(x[i] & 0xffff0000), __uint_as_float(y[i] & 0xffff0000), sum);
  }
  return sum;
}

__global__ void __launch_bounds__(kHelperThreads) prepare_kernel(const uint4* o, const uint4* d_o, const float* lse,
                                                                 RowFigures* rows, float4* dq_sums, int sequence) {
  const int64_t tile = static_cast<int64_t>(blockIdx.y) * gridDim.x + blockIdx.x;
  const int64_t head_row = static_cast<int64_t>(blockIdx.y) * sequence;
  constexpr int kLanes = kHeadDim / 8;  // threads for a row, eight elements each
#pragma unroll
  for (int row = threadIdx.x / kLanes; row < kTileQ; row += kHelperThreads / kLanes) {
    const int query = blockIdx.x * kTileQ + row;
    const int64_t chunk = (head_row + query) * kLanes + threadIdx.x % kLanes;
    float delta = query < sequence ? dot8(o[chunk], d_o[chunk]) : 0;
#pragma unroll
    for (int distance = kLanes / 2; distance > 0; distance /= 2) delta += __shfl_xor_sync(0xffffffff, delta, distance);
    if (threadIdx.x % kLanes == 0) {
      rows[tile].minus_lse[row] = query < sequence ? -kLog2e * lse[head_row + query] : -INFINITY;
      rows[tile].delta[row] = delta;
    }
  }
#pragma unroll
  for (int i = threadIdx.x; i < kQuerySums / 4; i += kHelperThreads) {
    dq_sums[tile * (kQuerySums / 4) + i] = float4{0, 0, 0, 0};
  }
}

// ---- The second kernel

struct Arguments {
  CUtensorMap q, k, v, d_o, d_k, d_v;
  const RowFigures* rows;
  float* dq_sums;
  int group, sequence;  // query heads that share a head of K and V; length
};

// Which stage comes next, and the parity of its phase: it flips each time the ring comes round.
struct RingPosition {
  int stage = 0;
  uint32_t parity = 0;

  __device__ __forceinline__ void advance() {
    if (++stage == kStages) {
      stage = 0;
      parity ^= 1;
    }
  }
};

// The tiles of 64 queries that a CTA visits, head by head of those that share its keys. It starts with the queries of its
// own keys, where causal queries begin to see them; without a mask it goes round from the end to the beginning. So the
// CTAs of a head add to different parts of dQ at a time.
struct QueryWalk {
  int head, tile;
  int first, tiles;  // where it starts in each head, how many there are in all

  // How many of them it visits.
  __device__ __forceinline__ int steps() const { return kCausal ? tiles - first : tiles; }

  __device__ __forceinline__ void advance() {
    if (++tile == tiles) tile = kCausal ? first : 0;
    if (tile == first) ++head;
  }
  __device__ __forceinline__ int64_t index() const { return static_cast<int64_t>(head) * tiles + tile; }
};

// Loads a tile of some rows, panel by panel.
template <uint32_t kPanelBytes>
__device__ __forceinline__ void load_tile(uint8_t (&tile)[kPanels][kPanelBytes], const CUtensorMap* map, int row,
                                          int head, uint64_t* full) {
#pragma unroll
  for (int panel = 0; panel < kPanels; ++panel) tma_load(tile[panel], map, panel * kPanel, row, head, full);
}

// Starts the copies that one step needs.
__device__ __forceinline__ void load_queries(SharedStorage& shared, const Arguments& arguments, const QueryWalk& walk,
                                             int stage) {
  uint64_t* const full = &shared.queries_full[stage];
  mbarrier_arrive_expect_tx(full, 2 * kQueryTileBytes + sizeof(RowFigures));
  load_tile(shared.q[stage], &arguments.q, walk.tile * kTileQ, walk.head, full);
  load_tile(shared.d_o[stage], &arguments.d_o, walk.tile * kTileQ, walk.head, full);
  bulk_load(&shared.rows[stage], arguments.rows + walk.index(), sizeof(RowFigures), full);
}

// Starts product = keys queries^T for this warpgroup's 64 keys: S^T from K and Q, dP^T from V and dO. 8 steps of 16
// along the head dimension, 4 in each panel.
__device__ __forceinline__ void start_scores(const uint8_t (&keys)[kPanels][kKeyPanelBytes],
                                             const uint8_t (&queries)[kPanels][kQueryPanelBytes], int warpgroup,
                                             float (&product)[kSums]) {
  const uint64_t a = matrix_descriptor(keys[0] + warpgroup * kWgmmaM * kPanel * 2, kKeyPanelBytes);
  const uint64_t b = matrix_descriptor(queries[0], kQueryPanelBytes);
  wgmma_fence();
#pragma unroll
  for (int k = 0; k < kHeadDim / kWgmmaK; ++k) {
    const int panel = k / (kPanel / kWgmmaK);
    // 16 elements further along a row are 32 bytes further: the swizzle is applied to the final address.
    const uint32_t offset = k % (kPanel / kWgmmaK) * kWgmmaK * 2;
    wgmma_shared<kKMajor>(product, advance(a, panel * kKeyPanelBytes + offset),
                          advance(b, panel * kQueryPanelBytes + offset), k > 0);
  }
  wgmma_commit();
}

// Starts sums (+)= fragments * queries: dV from P^T and dO, dK from dS^T and Q. 4 steps of 16 queries, 16 rows of 128
// bytes in each panel.
__device__ __forceinline__ void start_key_gradient(const uint32_t (&fragments)[kSums / 2],
                                                   const uint8_t (&queries)[kPanels][kQueryPanelBytes], bool accumulate,
                                                   float (&sums)[kWideSums]) {
  const uint64_t b = matrix_descriptor(queries[0], kQueryPanelBytes);
  wgmma_fence();
#pragma unroll
  for (int k = 0; k < kTileQ / kWgmmaK; ++k) {
    wgmma_registers(sums, fragments + 4 * k, advance(b, k * kWgmmaK * kPanel * 2), accumulate || k > 0);
  }
  wgmma_commit();
}

// Starts product = dS K for one panel of 64 columns: 8 steps of 16 keys. dS lies in shared memory as dS^T, so both
// operands are MN-major.
__device__ __forceinline__ void start_query_gradient(const uint8_t (&d_s)[kKeyPanelBytes],
                                                     const uint8_t (&keys)[kKeyPanelBytes], float (&product)[kSums]) {
  const uint64_t a = matrix_descriptor(d_s, kKeyPanelBytes);
  const uint64_t b = matrix_descriptor(keys, kKeyPanelBytes);
  wgmma_fence();
#pragma unroll
  for (int k = 0; k < kTileKeys / kWgmmaK; ++k) {
    const uint32_t rows = k * kWgmmaK * kPanel * 2;
    wgmma_shared<kMnMajor>(product, advance(a, rows), advance(b, rows), k > 0);
  }
  wgmma_commit();
}

// Sets scores to minus infinity where there is no key or, if causal, where the key comes after the query.
__device__ __forceinline__ void mask(float (&scores)[kSums], int first_key, int first_query, int sequence) {
  const int row = first_key + threadIdx.x % kWarpgroup / 32 * 16 + threadIdx.x % 32 / 4;
  const int column = first_query + threadIdx.x % 4 * 2;
#pragma unroll
  for (int i = 0; i < kSums; ++i) {
    const int query = column + i / 4 * 8 + i % 2;
    const int key = row + i / 2 % 2 * 8;
    if (key >= sequence || (kCausal && key > query)) scores[i] = -INFINITY;
  }
}

// The figures of the two queries that a thread has among each 8 columns.
__device__ __forceinline__ float2 figures_of(const float (&row)[kTileQ], int group) {
  return *reinterpret_cast<const float2*>(&row[group * 8 + threadIdx.x % 4 * 2]);
}

// P^T from S^T, in place: exp(s / sqrt(128) - lse) = exp2(s * log2(e) / sqrt(128) - lse_2), one multiply-add and one ex2.
__device__ __forceinline__ void probabilities(float (&scores)[kSums], const RowFigures& rows) {
#pragma unroll
  for (int i = 0; i < kSums; i += 4) {
    const float2 minus_lse = figures_of(rows.minus_lse, i / 4);
#pragma unroll
    for (int j = 0; j < 4; ++j) {
      scores[i + j] = exp2_approx(fmaf(scores[i + j], kScale * kLog2e, j % 2 == 0 ? minus_lse.x : minus_lse.y));
    }
  }
}

// dS^T = P^T * (dP^T - delta), in place of dP^T.
__device__ __forceinline__ void score_gradient(const float (&p)[kSums], const RowFigures& rows, float (&d_p)[kSums]) {
#pragma unroll
  for (int i = 0; i < kSums; i += 4) {
    const float2 delta = figures_of(rows.delta, i / 4);
#pragma unroll
    for (int j = 0; j < 4; ++j) d_p[i + j] = p[i + j] * (d_p[i + j] - (j % 2 == 0 ? delta.x : delta.y));
  }
}

// A product, rounded to BF16, is laid out as the left operand of the next.
__device__ __forceinline__ void pack(const float (&sums)[kSums], uint32_t (&fragments)[kSums / 2]) {
#pragma unroll
  for (int i = 0; i < kSums / 2; ++i) fragments[i] = pack_bf16(sums[2 * i], sums[2 * i + 1]);
}

// Writes 16 columns of this warpgroup's 64 rows to a panel whose rows begin at `rows`. fragments: as of wgmma, 4 per 16
// columns.
__device__ __forceinline__ void store_columns(uint32_t rows, int column, uint32_t r0, uint32_t r1, uint32_t r2,
                                              uint32_t r3) {
  // The row and the 16-byte chunk whose address this lane gives to stmatrix: matrices 0 and 1 are the upper and lower
  // 8 rows of the left 8 columns, 2 and 3 those of the right 8 columns.
  const int row = threadIdx.x % kWarpgroup / 32 * 16 + threadIdx.x % 16;
  const int chunk = threadIdx.x % 32 / 16;
  // 128-byte swizzle by hand ("Swizzling modes"): the 16-byte chunk number is XORed with the row number modulo 8.
  const uint32_t swizzled = static_cast<uint32_t>((column / 8 + chunk) ^ (row % 8));
  stmatrix_x4(rows + row * kPanel * 2 + swizzled * 16, r0, r1, r2, r3);
}

// What a thread keeps from step to step.
struct State {
  float d_k[kWideSums];
  float d_v[kWideSums];
  float scores[kSums];      // S^T, then P^T
  float gradient[kSums];    // dP^T, then dS^T, then dQ
  uint32_t p[kSums / 2];    // left operands of running wgmmas: P^T
  uint32_t d_s[kSums / 2];  // and dS^T
  RingPosition ring;
  QueryWalk walk;   // the queries of this step
  QueryWalk ahead;  // and those that are loaded next
};

// One tile of queries; S^T of it is there when the step begins. Behind each wait one product is still running:
//
//   runs                 meanwhile
//   dK (before), dP      P from S
//   dV                   dS from dP
//   dV, S of the next    meeting the other warpgroup
//   dK                   addition of dQ, and the next step's P
template <bool kLast>
__device__ __forceinline__ void step(SharedStorage& shared, const Arguments& arguments, int warpgroup, int index,
                                     int steps, State& c) {
  const int stage = c.ring.stage;
  start_scores(shared.v, shared.d_o[stage], warpgroup, c.gradient);

  const int first_key = blockIdx.x * kTileKeys;
  const int first_query = c.walk.tile * kTileQ;
  if (first_key + kTileKeys > (kCausal ? min(first_query, arguments.sequence) : arguments.sequence)) {
    mask(c.scores, first_key + warpgroup * kWgmmaM, first_query, arguments.sequence);
  }
  probabilities(c.scores, shared.rows[stage]);
  pack(c.scores, c.p);
  start_key_gradient(c.p, shared.d_o[stage], index > 0, c.d_v);

  wgmma_wait<1>();  // dP is there, and dK of the step before; dV may still run
  registers_change_here(c.gradient);
  registers_change_here(c.d_s);
  score_gradient(c.scores, shared.rows[stage], c.gradient);
  pack(c.gradient, c.d_s);
  // The other warpgroup may still read what was written a step ago, but not two steps ago: it has met this one since.
  auto& d_s = shared.d_s[index % 2];
#pragma unroll
  for (int column = 0; column < kTileQ; column += 16) {
    const uint32_t* fragments = c.d_s + column / 4;
    store_columns(shared_address(d_s) + warpgroup * kWgmmaM * kPanel * 2, column, fragments[0], fragments[1],
                  fragments[2], fragments[3]);
  }
  fence_async_proxy();

  c.ring.advance();
  if (!kLast) {
    mbarrier_wait(&shared.queries_full[c.ring.stage], c.ring.parity);
    start_scores(shared.k, shared.q[c.ring.stage], warpgroup, c.scores);
  }
  // Now dS of all 128 keys is written, and nobody reads Q and dO of the step before any more.
  named_barrier_sync(1, kThreads);
  start_query_gradient(d_s, shared.k[warpgroup], c.gradient);
  start_key_gradient(c.d_s, shared.q[stage], index > 0, c.d_k);
  if (threadIdx.x == 0 && index + 2 < steps) {
    load_queries(shared, arguments, c.ahead, (stage + 2) % kStages);
  }
  c.ahead.advance();

  wgmma_wait<1>();  // dV, S and dQ are there, dK may still run
  registers_change_here(c.scores);
  registers_change_here(c.gradient);
  registers_change_here(c.p);
  float* sums =
      arguments.dq_sums + c.walk.index() * kQuerySums + warpgroup * kWarpgroupSums + threadIdx.x % kWarpgroup * 4;
#pragma unroll
  for (int i = 0; i < kSums; i += 4) {
    const float* d_q = c.gradient + i;
    add_to_global(sums + i * kWarpgroup, d_q[0], d_q[1], d_q[2], d_q[3]);
  }
  c.walk.advance();
}

// Rounds 64 x 128 sums to BF16 and stores them by way of `tile`, of whose rows nobody has any more need.
__device__ __forceinline__ void store_gradient(const float (&sums)[kWideSums], float scale, int warpgroup,
                                               uint8_t (&tile)[kPanels][kKeyPanelBytes], const CUtensorMap* map,
                                               int sequence) {
  const int first_row = blockIdx.x * kTileKeys + warpgroup * kWgmmaM;
  const uint32_t rows = warpgroup * kWgmmaM * kPanel * 2;
#pragma unroll
  for (int column = 0; column < kHeadDim; column += 16) {
    const float* d = sums + column / 8 * 4;
    store_columns(shared_address(tile[column / kPanel]) + rows, column % kPanel, pack_bf16(d[0] * scale, d[1] * scale),
                  pack_bf16(d[2] * scale, d[3] * scale), pack_bf16(d[4] * scale, d[5] * scale),
                  pack_bf16(d[6] * scale, d[7] * scale));
  }
  fence_async_proxy();
  named_barrier_sync(2 + warpgroup, kWarpgroup);
  if (threadIdx.x % kWarpgroup == 0 && first_row < sequence) {
#pragma unroll
    for (int panel = 0; panel < kPanels; ++panel) {
      tma_store(map, panel * kPanel, first_row, blockIdx.y, shared_address(tile[panel]) + rows);
    }
  }
}

__global__ void __launch_bounds__(kThreads, 1) backward_kernel(const __grid_constant__ Arguments arguments) {
  extern __shared__ __align__(1024) uint8_t raw_shared[];
  SharedStorage& shared = *reinterpret_cast<SharedStorage*>(raw_shared);
  // The shuffle tells the compiler that a warp has only one: what depends on it then costs one register per warp.
  const int warpgroup = __shfl_sync(0xffffffff, threadIdx.x / kWarpgroup, 0);
  const int first_key = blockIdx.x * kTileKeys;
  const int kv_head = blockIdx.y;
  State c;
  c.walk.first = c.walk.tile = blockIdx.x * (kTileKeys / kTileQ);
  c.walk.tiles = (arguments.sequence + kTileQ - 1) / kTileQ;
  c.walk.head = kv_head * arguments.group;
  c.ahead = c.walk;
  c.ahead.advance();
  const int steps = c.walk.steps() * arguments.group;

  if (threadIdx.x == 0) {
    mbarrier_init(&shared.keys_full);
    for (int stage = 0; stage < kStages; ++stage) mbarrier_init(&shared.queries_full[stage]);
    mbarrier_arrive_expect_tx(&shared.keys_full, 2 * kKeyTileBytes);
    load_tile(shared.k, &arguments.k, first_key, kv_head, &shared.keys_full);
    load_queries(shared, arguments, c.walk, 0);
    load_tile(shared.v, &arguments.v, first_key, kv_head, &shared.keys_full);
    if (steps > 1) load_queries(shared, arguments, c.ahead, 1);
  }
  c.ahead.advance();
  __syncthreads();

  mbarrier_wait(&shared.keys_full, 0);
  mbarrier_wait(&shared.queries_full[0], 0);
  start_scores(shared.k, shared.q[0], warpgroup, c.scores);
  wgmma_wait<0>();
  registers_change_here(c.scores);
  for (int index = 0; index < steps - 1; ++index) step<false>(shared, arguments, warpgroup, index, steps, c);
  step<true>(shared, arguments, warpgroup, steps - 1, steps, c);
  wgmma_wait<0>();
  registers_change_here(c.d_k);
  registers_change_here(c.d_v);

  __syncthreads();  // both warpgroups have read all of K
  store_gradient(c.d_v, 1, warpgroup, shared.v, &arguments.d_v, arguments.sequence);
  store_gradient(c.d_k, kScale, warpgroup, shared.k, &arguments.d_k, arguments.sequence);
  if (threadIdx.x % kWarpgroup == 0) tma_store_wait_all();  // shared memory must outlive the stores that read it
}

// ---- The third kernel: dQ to BF16, in rows again

__global__ void __launch_bounds__(kHelperThreads) finish_kernel(const float4* dq_sums, uint4* d_q, int sequence) {
  const int64_t tile = static_cast<int64_t>(blockIdx.y) * gridDim.x + blockIdx.x;
  const float4* sums = dq_sums + tile * (kQuerySums / 4);
  constexpr int kChunks = kHeadDim / 8;  // 16-byte chunks of a row; neighbouring threads write neighbouring ones
  const int chunk = threadIdx.x % kChunks;
  // Four lanes held 8 columns of two rows: a quad of 32.
#pragma unroll
  for (int quad = threadIdx.x / kChunks; quad < kTileQ / 2; quad += kHelperThreads / kChunks) {
    float4 part[4];
#pragma unroll
    for (int i = 0; i < 4; ++i) part[i] = sums[chunk * kWarpgroup + quad * 4 + i];
    const int query = blockIdx.x * kTileQ + quad / 8 * 16 + quad % 8;
    const int64_t row = static_cast<int64_t>(blockIdx.y) * sequence + query;
    uint4 upper, lower;
    uint32_t* const words[2] = {&upper.x, &lower.x};
#pragma unroll
    for (int i = 0; i < 4; ++i) {
      words[0][i] = pack_bf16(part[i].x * kScale, part[i].y * kScale);
      words[1][i] = pack_bf16(part[i].z * kScale, part[i].w * kScale);
    }
    if (query < sequence) d_q[row * kChunks + chunk] = upper;
    if (query + 8 < sequence) d_q[(row + 8) * kChunks + chunk] = lower;
  }
}

// ---- Host side

void check(cudaError_t error, const char* what) {
  if (error != cudaSuccess) throw ptxbench::ffi::Failure("RuntimeError", "%s: %s", what, cudaGetErrorString(error));
}

// cuTensorMapEncodeTiled belongs to the driver; asking the runtime for it saves linking libcuda.
using EncodeTiled = decltype(&cuTensorMapEncodeTiled);

EncodeTiled find_encode_tiled() {
  void* function = nullptr;
  cudaDriverEntryPointQueryResult found;
  check(cudaGetDriverEntryPointByVersion("cuTensorMapEncodeTiled", &function, 12000, cudaEnableDefault, &found),
        "finding cuTensorMapEncodeTiled");
  if (found != cudaDriverEntryPointSuccess) throw ptxbench::ffi::Failure("RuntimeError", "no cuTensorMapEncodeTiled");
  return reinterpret_cast<EncodeTiled>(function);
}

// Describes a [heads, sequence, 128] tensor in BF16 and the box of it, [1, box_rows, 64], that one TMA instruction
// moves. The innermost dimension comes first. Three dimensions rather than two, so that a box cannot reach into the
// next head.
CUtensorMap make_map(void* data, uint64_t heads, uint64_t sequence, uint32_t box_rows) {
  static const EncodeTiled encode = find_encode_tiled();
  const cuuint64_t sizes[3] = {kHeadDim, sequence, heads};
  const cuuint64_t stride_bytes[2] = {kHeadDim * 2, sequence * kHeadDim * 2};
  const cuuint32_t box[3] = {kPanel, box_rows, 1};
  const cuuint32_t every_element[3] = {1, 1, 1};
  CUtensorMap map;
  const CUresult result = encode(&map, CU_TENSOR_MAP_DATA_TYPE_BFLOAT16, 3, data, sizes, stride_bytes, box,
                                 every_element, CU_TENSOR_MAP_INTERLEAVE_NONE, CU_TENSOR_MAP_SWIZZLE_128B,
                                 CU_TENSOR_MAP_L2_PROMOTION_L2_256B, CU_TENSOR_MAP_FLOAT_OOB_FILL_NONE);
  if (result != CUDA_SUCCESS)
    throw ptxbench::ffi::Failure("RuntimeError", "cuTensorMapEncodeTiled: error %d", static_cast<int>(result));
  return map;
}

// Device memory for what one kernel leaves for the next, kept from call to call.
void* scratch(size_t bytes) {
  static void* memory = nullptr;
  static size_t size = 0;
  if (size < bytes) {
    check(cudaFree(memory), "cudaFree");
    size = 0;
    check(cudaMalloc(&memory, bytes), "cudaMalloc");
    size = bytes;
  }
  return memory;
}

}  // namespace

using Bf16Tensor = ptxbench::Tensor<__nv_bfloat16>;

void run(Bf16Tensor q, Bf16Tensor k, Bf16Tensor v, Bf16Tensor o, Bf16Tensor d_o, ptxbench::Tensor<float> lse,
         Bf16Tensor d_q, Bf16Tensor d_k, Bf16Tensor d_v) {
  const int64_t heads = q.size(0) * q.size(1);  // heads of all batches in one dimension
  const int64_t kv_heads = k.size(0) * k.size(1);
  const int64_t sequence = q.size(2);
  if (q.size(3) != kHeadDim) throw ptxbench::ffi::Failure("ValueError", "the head dimension must be 128");

  const int64_t tiles = (sequence + kTileQ - 1) / kTileQ;
  const size_t sums = heads * tiles * kQuerySums;
  float* const dq_sums = static_cast<float*>(scratch(sums * sizeof(float) + heads * tiles * sizeof(RowFigures)));
  RowFigures* const rows = reinterpret_cast<RowFigures*>(dq_sums + sums);
  const Arguments arguments = {make_map(q.data(), heads, sequence, kTileQ),
                               make_map(k.data(), kv_heads, sequence, kTileKeys),
                               make_map(v.data(), kv_heads, sequence, kTileKeys),
                               make_map(d_o.data(), heads, sequence, kTileQ),
                               make_map(d_k.data(), kv_heads, sequence, kWgmmaM),
                               make_map(d_v.data(), kv_heads, sequence, kWgmmaM),
                               rows,
                               dq_sums,
                               static_cast<int>(heads / kv_heads),
                               static_cast<int>(sequence)};

  check(cudaFuncSetAttribute(backward_kernel, cudaFuncAttributeMaxDynamicSharedMemorySize, sizeof(SharedStorage)),
        "cudaFuncSetAttribute");
  const auto stream = static_cast<cudaStream_t>(ptxbench::current_stream());
  const dim3 query_grid(static_cast<unsigned>(tiles), static_cast<unsigned>(heads));
  const dim3 key_grid(static_cast<unsigned>((sequence + kTileKeys - 1) / kTileKeys), static_cast<unsigned>(kv_heads));
  prepare_kernel<<<query_grid, kHelperThreads, 0, stream>>>(
      reinterpret_cast<const uint4*>(o.data()), reinterpret_cast<const uint4*>(d_o.data()), lse.data(), rows,
      reinterpret_cast<float4*>(dq_sums), arguments.sequence);
  check(cudaGetLastError(), "launching prepare_kernel");
  backward_kernel<<<key_grid, kThreads, sizeof(SharedStorage), stream>>>(arguments);
  check(cudaGetLastError(), "launching backward_kernel");
  finish_kernel<<<query_grid, kHelperThreads, 0, stream>>>(reinterpret_cast<const float4*>(dq_sums),
                                                           reinterpret_cast<uint4*>(d_q.data()), arguments.sequence);
  check(cudaGetLastError(), "launching finish_kernel");
}

PTXBENCH_EXPORT(run)
