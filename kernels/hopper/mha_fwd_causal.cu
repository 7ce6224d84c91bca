// Attention forward for Hopper (sm_90a), BF16, head dimension 128:
//
//   S = Q K^T / sqrt(128)    P = softmax(S) row by row    O = P V    LSE = ln(sum(exp(S))) row by row
//
// Q, K, V, O are [batch, heads, sequence, 128] in BF16, LSE is [batch, heads, sequence] in FP32. S and P are never
// stored: a CTA holds 128 query rows and walks over the keys in tiles of 128, keeping for each row the largest score
// so far, the sum of exponentials and the unnormalised output ("online softmax"). When a tile brings a larger
// maximum, what has been summed up is scaled down to it.
//
// Who does what:
//   - Warpgroup 0 is the producer: one thread starts the TMA copies of Q, and of K and V into rings of two stages.
//   - Warpgroups 1 and 2 are the consumers. Each has 64 query rows: 64 x 128 scores and 64 x 128 outputs in
//   registers, 64 of
//     each per thread.
//   - Q K^T is a wgmma with both operands in shared memory. Its sums lie in registers just as a wgmma wants its left
//   operand,
//     so P goes into P V straight from registers.
//   - The scores of the next tile are computed while the output of the last one is still being summed: the softmax in
//     between, which uses no tensor core, then overlaps with P V.
//
// Any sequence length works: the TMA fills what lies behind the end with zeros and does not write it, and keys
// behind the end are masked. mha_fwd_causal.cu is this file with kCausal = true.
//
// Names in quotes in the comments are sections of NVIDIA's PTX ISA manual (version 9.0).

#include <cuda.h>
#include <cuda_runtime.h>

#include <cstdint>

#include <ptxbench/ffi.h>

namespace {

// Causal: query i sees the keys 0 .. i. The only line in which mha_fwd.cu and mha_fwd_causal.cu differ:
constexpr bool kCausal = true;

// ---- Shape of the work. Lengths are in elements unless the name says bytes.

constexpr int kHeadDim = 128;
constexpr int kTileQ = 128;                   // query rows per CTA: 64 for each consumer warpgroup
constexpr int kTileKeys = 128;                // keys per step
constexpr int kStages = 2;                    // tiles of K, and of V, in flight
constexpr int kWgmmaM = 64;                   // every wgmma has 64 rows
constexpr int kWgmmaK = 16;                   // and 16 BF16 along the summed dimension
constexpr int kConsumers = kTileQ / kWgmmaM;  // consumer warpgroups
constexpr int kWarpgroup = 128;               // threads
constexpr int kThreads = (1 + kConsumers) * kWarpgroup;
constexpr int kPanel = 64;                  // 64 BF16 = 128 bytes = one row of the 128-byte swizzle
constexpr int kPanels = kHeadDim / kPanel;  // a tile is stored as panels of [rows][64]
constexpr int kSums = 64;                   // FP32 per thread of a 64 x 128 result
static_assert(kTileKeys == kHeadDim && kSums == kWgmmaM * kHeadDim / kWarpgroup,
              "scores and output have the same shape");

constexpr uint32_t kPanelBytes = kTileKeys * kPanel * 2;
constexpr uint32_t kTileBytes = kPanels * kPanelBytes;

// Dynamic shared memory. Every panel must start at a multiple of 1024 bytes: the 128-byte swizzle repeats every 8
// rows of 128 bytes, and wgmma computes it from the address bits.
struct SharedStorage {
  alignas(1024) uint8_t q[kPanels][kPanelBytes];  // at the end the output goes the same way back
  alignas(1024) uint8_t k[kStages][kPanels][kPanelBytes];
  alignas(1024) uint8_t v[kStages][kPanels][kPanelBytes];
  alignas(8) uint64_t q_full;
  alignas(8) uint64_t k_full[kStages];
  alignas(8) uint64_t k_empty[kStages];
  alignas(8) uint64_t v_full[kStages];
  alignas(8) uint64_t v_empty[kStages];
};
static_assert(sizeof(SharedStorage) <= 232448, "a Hopper CTA can have 227 KiB of shared memory");

// ---- PTX in small wrappers. Shared-memory addresses are 32-bit addresses inside the shared window.

__device__ __forceinline__ uint32_t shared_address(const void* pointer) {
  return static_cast<uint32_t>(__cvta_generic_to_shared(pointer));
}

// "mbarrier.init": one phase is complete after `arrivals` arrivals and after all expected bytes have landed.
__device__ __forceinline__ void mbarrier_init(uint64_t* barrier, uint32_t arrivals) {
  asm volatile("mbarrier.init.shared.b64 [%0], %1;" ::"r"(shared_address(barrier)), "r"(arrivals) : "memory");
}

// "membar / fence": makes the initialised barriers visible to the TMA (which signals them) before anyone uses them.
__device__ __forceinline__ void fence_mbarrier_init() { asm volatile("fence.mbarrier_init.release.cluster;" ::: "memory"); }

// "mbarrier.arrive" with expect_tx: this is one arrival, and the phase also waits for `bytes` from the TMA.
__device__ __forceinline__ void mbarrier_arrive_expect_tx(uint64_t* barrier, uint32_t bytes) {
  asm volatile("mbarrier.arrive.expect_tx.shared::cta.b64 _, [%0], %1;" ::"r"(shared_address(barrier)), "r"(bytes)
               : "memory");
}

__device__ __forceinline__ void mbarrier_arrive(uint64_t* barrier) {
  asm volatile("mbarrier.arrive.shared::cta.b64 _, [%0];" ::"r"(shared_address(barrier)) : "memory");
}

// "mbarrier.test_wait / try_wait": waits until the phase with this parity is complete. Phases count 0, 1, 2, ... and
// the parity is the lowest bit. A fresh barrier is in phase 0, and the phase before it, of parity 1, counts as
// complete. try_wait gives up after a time that the hardware chooses, hence the loop.
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

// "cp.async.bulk.tensor": copies the box at (x, y, z) of the tensor behind `map` to shared memory. It runs on its
// own and reports the bytes to `barrier`. Boxes that reach outside the tensor are filled with zeros.
__device__ __forceinline__ void tma_load(void* destination, const CUtensorMap* map, int x, int y, int z,
                                         uint64_t* barrier) {
  asm volatile(
      "cp.async.bulk.tensor.3d.shared::cluster.global.mbarrier::complete_tx::bytes [%0], [%1, {%2, %3, %4}], [%5];" ::
          "r"(shared_address(destination)),
      "l"(map), "r"(x), "r"(y), "r"(z), "r"(shared_address(barrier))
      : "memory");
}

// The way back. Stores are tracked in groups of the thread that issued them, not by an mbarrier.
__device__ __forceinline__ void tma_store(const CUtensorMap* map, int x, int y, int z, uint32_t source) {
  asm volatile("cp.async.bulk.tensor.3d.global.shared::cta.bulk_group [%0, {%1, %2, %3}], [%4];" ::"l"(map), "r"(x),
               "r"(y), "r"(z), "r"(source)
               : "memory");
}

__device__ __forceinline__ void tma_store_commit() { asm volatile("cp.async.bulk.commit_group;" ::: "memory"); }

// Waits until all of this thread's stores are in global memory.
__device__ __forceinline__ void tma_store_wait_all() { asm volatile("cp.async.bulk.wait_group 0;" ::: "memory"); }

// "Async proxy": ordinary stores to shared memory and the TMA use different paths. This fence makes the stores of
// this thread visible to the TMA; it comes before the barrier after which another thread starts the TMA.
__device__ __forceinline__ void fence_async_proxy() { asm volatile("fence.proxy.async.shared::cta;" ::: "memory"); }

// Loads the descriptor into the cache ahead of its first use.
__device__ __forceinline__ void prefetch_tensor_map(const CUtensorMap* map) {
  asm volatile("prefetch.tensormap [%0];" ::"l"(map) : "memory");
}

// "barrier": a named barrier among `threads` threads; 0 is __syncthreads'.
__device__ __forceinline__ void named_barrier_sync(int id, int threads) {
  asm volatile("barrier.sync.aligned %0, %1;" ::"r"(id), "r"(threads) : "memory");
}

// "setmaxnreg": the producer gives registers back, the consumers take them. All warps of a warpgroup execute it.
template <int kRegisters>
__device__ __forceinline__ void decrease_registers() {
  asm volatile("setmaxnreg.dec.sync.aligned.u32 %0;" ::"n"(kRegisters));
}
template <int kRegisters>
__device__ __forceinline__ void increase_registers() {
  asm volatile("setmaxnreg.inc.sync.aligned.u32 %0;" ::"n"(kRegisters));
}

// "Asynchronous warpgroup level matrix shared memory layout" / "Matrix descriptor format": where an operand
// lies and how.
//   bits  0-13  start address / 16
//   bits 16-29  leading dimension byte offset / 16
//   bits 32-45  stride dimension byte offset / 16
//   bits 62-63  swizzle: 1 = 128 bytes. It must be what the tensor map said when the TMA wrote the tile.
__device__ __forceinline__ uint64_t matrix_descriptor(uint32_t address, uint32_t leading_bytes, uint32_t stride_bytes) {
  return (address & 0x3FFFF) >> 4 | uint64_t{leading_bytes >> 4} << 16 | uint64_t{stride_bytes >> 4} << 32 |
         uint64_t{1} << 62;
}

// Q and K: rows of 64 contiguous elements of the summed dimension ("K-major"). The stride offset leads from one
// group of 8 rows to the next, 8 * 128 bytes; the leading offset is not used.
__device__ __forceinline__ uint64_t k_major_descriptor(uint32_t address) {
  return matrix_descriptor(address, 16, 1024);
}

// V: the summed dimension is the key, but contiguous are the 64 output columns of a panel ("MN-major"). The stride
// offset leads from 8 keys to the next 8, the leading offset from one panel of 64 columns to the next.
__device__ __forceinline__ uint64_t mn_major_descriptor(uint32_t address) {
  return matrix_descriptor(address, kPanelBytes, 1024);
}

// "wgmma.fence": orders this warp's earlier accesses to the registers of a wgmma (sums, and P) before that wgmma.
__device__ __forceinline__ void wgmma_fence() { asm volatile("wgmma.fence.sync.aligned;" ::: "memory"); }

// "wgmma.commit_group": the wgmmas since the last commit form one group.
__device__ __forceinline__ void wgmma_commit() { asm volatile("wgmma.commit_group.sync.aligned;" ::: "memory"); }

// "wgmma.wait_group": waits until at most kPending groups are still running.
template <int kPending>
__device__ __forceinline__ void wgmma_wait() {
  asm volatile("wgmma.wait_group.sync.aligned %0;" ::"n"(kPending) : "memory");
}

// For the compiler, a wgmma is over with its statement. These statements without instructions "use and change"
// registers of running wgmmas, so that nothing that reads or reuses them can move above the wait in front.
__device__ __forceinline__ void registers_change_here(float (&sums)[kSums]) {
#pragma unroll
  for (int i = 0; i < kSums; ++i) asm volatile("" : "+f"(sums[i])::"memory");
}
__device__ __forceinline__ void registers_change_here(uint32_t (&fragments)[kSums / 2]) {
#pragma unroll
  for (int i = 0; i < kSums / 2; ++i) asm volatile("" : "+r"(fragments[i])::"memory");
}

// The operands d[i], d[i + 1], ... of an asm statement.
#define FOUR(i) "+f"(d[i]), "+f"(d[i + 1]), "+f"(d[i + 2]), "+f"(d[i + 3])
#define SIXTEEN(i) FOUR(i), FOUR(i + 4), FOUR(i + 8), FOUR(i + 12)
#define SIXTY_FOUR(i) SIXTEEN(i), SIXTEEN(i + 16), SIXTEEN(i + 32), SIXTEEN(i + 48)

// "wgmma.mma_async": d[64,128] = a[64,16] * b[128,16]^T + (accumulate ? d : 0), for a warpgroup, asynchronously.
// Both operands in shared memory. The last four immediates: +a, +b, a is K-major, b is K-major.
// "Register fragments": lane l of warp w holds rows 16w + l/4 and 8 below, and of each 8 columns the two at 2(l%4):
//   d[4j], d[4j+1] in the upper row, d[4j+2], d[4j+3] in the lower one, at columns 8j + 2(l%4) and one further.
__device__ __forceinline__ void wgmma_shared(float (&d)[kSums], uint64_t a, uint64_t b, bool accumulate) {
  asm volatile(
      "{\n"
      ".reg .pred accumulate;\n"
      "setp.ne.b32 accumulate, %66, 0;\n"
      "wgmma.mma_async.sync.aligned.m64n128k16.f32.bf16.bf16 "
      "{%0, %1, %2, %3, %4, %5, %6, %7, %8, %9, %10, %11, %12, %13, %14, %15,"
      " %16, %17, %18, %19, %20, %21, %22, %23, %24, %25, %26, %27, %28, %29, %30, %31,"
      " %32, %33, %34, %35, %36, %37, %38, %39, %40, %41, %42, %43, %44, %45, %46, %47,"
      " %48, %49, %50, %51, %52, %53, %54, %55, %56, %57, %58, %59, %60, %61, %62, %63}, "
      "%64, %65, accumulate, 1, 1, 0, 0;\n"
      "}\n"
      : SIXTY_FOUR(0)
      : "l"(a), "l"(b), "r"(static_cast<int>(accumulate)));
}

// The same with a[64,16] in registers: a0 and a2 are columns 2(l%4) and 8 further of the upper row, a1 and a3 of the
// lower row, two BF16 in each. The last immediate says that b is MN-major, that is [16][128] with 128 contiguous.
__device__ __forceinline__ void wgmma_registers(float (&d)[kSums], const uint32_t* a, uint64_t b, bool accumulate) {
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
      : SIXTY_FOUR(0)
      : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "l"(b), "r"(static_cast<int>(accumulate)));
}

// "cvt": two FP32 to two BF16 in one register, rounded to nearest even; `low` goes to the lower half.
__device__ __forceinline__ uint32_t pack_bf16(float low, float high) {
  uint32_t packed;
  asm("cvt.rn.bf16x2.f32 %0, %1, %2;" : "=r"(packed) : "f"(high), "f"(low));
  return packed;
}

// "ex2" and "lg2": powers and logarithms to base 2 are what the hardware has.
__device__ __forceinline__ float exp2_approx(float x) {
  float y;
  asm("ex2.approx.ftz.f32 %0, %1;" : "=f"(y) : "f"(x));
  return y;
}
__device__ __forceinline__ float log2_approx(float x) {
  float y;
  asm("lg2.approx.ftz.f32 %0, %1;" : "=f"(y) : "f"(x));
  return y;
}

// "stmatrix": stores four 8 x 8 matrices of 16-bit elements. Lane l gives the address of row l%8 of matrix l/8; the
// registers hold the matrices in the layout in which wgmma leaves its sums.
__device__ __forceinline__ void stmatrix_x4(uint32_t row_address, uint32_t r0, uint32_t r1, uint32_t r2, uint32_t r3) {
  asm volatile("stmatrix.sync.aligned.m8n8.x4.shared::cta.b16 [%0], {%1, %2, %3, %4};" ::"r"(row_address), "r"(r0),
               "r"(r1), "r"(r2), "r"(r3)
               : "memory");
}

// ---- The kernel

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

// Loads one tile of 128 rows, panel by panel.
__device__ __forceinline__ void load_tile(uint8_t (&tile)[kPanels][kPanelBytes], const CUtensorMap* map, int row,
                                          int head, uint64_t* full) {
  mbarrier_arrive_expect_tx(full, kTileBytes);
#pragma unroll
  for (int panel = 0; panel < kPanels; ++panel) tma_load(tile[panel], map, panel * kPanel, row, head, full);
}

// Runs in one thread. Key tiles go from the last to the first: the tile that needs a mask comes first, outside the
// loop.
__device__ __forceinline__ void produce(SharedStorage& shared, const CUtensorMap* map_q, const CUtensorMap* map_k,
                                        const CUtensorMap* map_v, int query, int head, int tiles) {
  load_tile(shared.q, map_q, query, head, &shared.q_full);
  RingPosition ring;
  for (int tile = tiles - 1; tile >= 0; --tile) {
    // In the first round nobody has used the stage: the parity before the current one is "complete" on a fresh
    // barrier.
    mbarrier_wait(&shared.k_empty[ring.stage], ring.parity ^ 1);
    load_tile(shared.k[ring.stage], map_k, tile * kTileKeys, head, &shared.k_full[ring.stage]);
    mbarrier_wait(&shared.v_empty[ring.stage], ring.parity ^ 1);
    load_tile(shared.v[ring.stage], map_v, tile * kTileKeys, head, &shared.v_full[ring.stage]);
    ring.advance();
  }
}

// Starts scores = Q K^T for this warpgroup's 64 rows: 8 steps of 16 along the head dimension, 4 in each panel.
__device__ __forceinline__ void start_scores(SharedStorage& shared, int consumer, int stage, float (&scores)[kSums]) {
  wgmma_fence();
#pragma unroll
  for (int k = 0; k < kHeadDim / kWgmmaK; ++k) {
    const int panel = k / (kPanel / kWgmmaK);
    // 16 elements further along a row are 32 bytes further: the swizzle is applied to the final address.
    const uint32_t offset = k % (kPanel / kWgmmaK) * kWgmmaK * 2;
    const uint64_t q = k_major_descriptor(shared_address(shared.q[panel]) + consumer * kWgmmaM * kPanel * 2 + offset);
    const uint64_t keys = k_major_descriptor(shared_address(shared.k[stage][panel]) + offset);
    wgmma_shared(scores, q, keys, k > 0);
  }
  wgmma_commit();
}

// Starts output (+)= P V: 8 steps of 16 keys, 16 rows of 128 bytes in each panel.
__device__ __forceinline__ void start_output(SharedStorage& shared, int stage, const uint32_t (&p)[kSums / 2],
                                             bool accumulate, float (&output)[kSums]) {
  wgmma_fence();
#pragma unroll
  for (int k = 0; k < kTileKeys / kWgmmaK; ++k) {
    const uint64_t values = mn_major_descriptor(shared_address(shared.v[stage][0]) + k * kWgmmaK * kPanel * 2);
    wgmma_registers(output, p + 4 * k, values, accumulate || k > 0);
  }
  wgmma_commit();
}

// What the online softmax keeps for the two rows of a thread. The four lanes of a quad hold the same rows; their
// maxima are equal, their sums cover their own columns and are added up at the end.
struct RowState {
  float maximum[2] = {-INFINITY, -INFINITY};
  float sum[2] = {0, 0};
};

// Sets scores to minus infinity where there is no key or, if causal, where the key comes after the query.
__device__ __forceinline__ void mask(float (&scores)[kSums], int first_query, int first_key, int sequence) {
  const int row = first_query + threadIdx.x % kWarpgroup / 32 * 16 + threadIdx.x % 32 / 4;
  const int column = first_key + threadIdx.x % 4 * 2;
#pragma unroll
  for (int i = 0; i < kSums; ++i) {
    const int key = column + i / 4 * 8 + i % 2;
    const int query = row + i / 2 % 2 * 8;
    if (key >= sequence || (kCausal && key > query)) scores[i] = -INFINITY;
  }
}

// Turns scores into unnormalised probabilities exp(scale * (score - maximum)), in place, and updates the row state.
// `shrink` is what earlier sums and outputs of each row must be multiplied by. Every row of the first tile has at
// least one key that is not masked, so the maximum is finite from then on.
__device__ __forceinline__ void softmax_step(float (&scores)[kSums], RowState& state, float scale_log2,
                                             float (&shrink)[2]) {
#pragma unroll
  for (int row = 0; row < 2; ++row) {
    float maximum = state.maximum[row];
#pragma unroll
    for (int i = 0; i < kSums; i += 4) maximum = fmaxf(maximum, fmaxf(scores[i + 2 * row], scores[i + 2 * row + 1]));
    maximum = fmaxf(maximum, __shfl_xor_sync(0xffffffff, maximum, 1));
    maximum = fmaxf(maximum, __shfl_xor_sync(0xffffffff, maximum, 2));
    shrink[row] = exp2_approx((state.maximum[row] - maximum) * scale_log2);
    state.maximum[row] = maximum;
    // exp(s * scale) = exp2(s * scale * log2(e)): one multiply-add and one ex2 per score.
    const float offset = -maximum * scale_log2;
    float sum = 0;
#pragma unroll
    for (int i = 0; i < kSums; i += 4) {
#pragma unroll
      for (int j = 0; j < 2; ++j) {
        float& score = scores[i + 2 * row + j];
        score = exp2_approx(fmaf(score, scale_log2, offset));
        sum += score;
      }
    }
    state.sum[row] = state.sum[row] * shrink[row] + sum;
  }
}

// The sums of Q K^T, rounded to BF16, are already laid out as the left operand of P V.
__device__ __forceinline__ void pack(const float (&scores)[kSums], uint32_t (&p)[kSums / 2]) {
#pragma unroll
  for (int i = 0; i < kSums / 2; ++i) p[i] = pack_bf16(scores[2 * i], scores[2 * i + 1]);
}

__device__ __forceinline__ void scale_rows(float (&output)[kSums], const float (&factor)[2]) {
#pragma unroll
  for (int i = 0; i < kSums; ++i) output[i] *= factor[i / 2 % 2];
}

// Divides by the sums, writes 64 x 128 outputs to O and 64 values to LSE.
__device__ __forceinline__ void finish(SharedStorage& shared, const CUtensorMap* map_o, float* lse, int consumer,
                                       int first_query, int head, int sequence, float scale_log2, RowState& state,
                                       float (&output)[kSums]) {
  const int thread = threadIdx.x % kWarpgroup;
  const int lane = thread % 32;
  float inverse[2];
#pragma unroll
  for (int row = 0; row < 2; ++row) {
    float sum = state.sum[row];
    sum += __shfl_xor_sync(0xffffffff, sum, 1);
    sum += __shfl_xor_sync(0xffffffff, sum, 2);
    inverse[row] = 1 / sum;
    const int query = first_query + thread / 32 * 16 + lane / 4 + row * 8;
    constexpr float kLn2 = 0.693147180559945f;  // back from base 2 to the natural logarithm
    if (lane % 4 == 0 && query < sequence) {
      lse[static_cast<int64_t>(head) * sequence + query] = (state.maximum[row] * scale_log2 + log2_approx(sum)) * kLn2;
    }
  }
  scale_rows(output, inverse);

  // This warpgroup's rows of Q have been read for the last time, so their place holds the output. The row and the
  // 16-byte chunk whose address this lane gives to stmatrix: matrices 0 and 1 are the upper and lower 8 rows of the
  // left 8 columns, 2 and 3 those of the right 8 columns.
  const uint32_t rows = consumer * kWgmmaM * kPanel * 2;
  const int row = thread / 32 * 16 + lane % 16;
  const int chunk = lane / 16;
#pragma unroll
  for (int column = 0; column < kHeadDim; column += 16) {
    const float* d = output + column / 8 * 4;
    // 128-byte swizzle by hand ("Swizzling modes"): the 16-byte chunk number is XORed with the row number modulo 8.
    const uint32_t swizzled = static_cast<uint32_t>((column % kPanel / 8 + chunk) ^ (row % 8));
    stmatrix_x4(shared_address(shared.q[column / kPanel]) + rows + row * kPanel * 2 + swizzled * 16,
                pack_bf16(d[0], d[1]), pack_bf16(d[2], d[3]), pack_bf16(d[4], d[5]), pack_bf16(d[6], d[7]));
  }
  fence_async_proxy();
  named_barrier_sync(1 + consumer, kWarpgroup);
  if (thread == 0 && first_query < sequence) {
#pragma unroll
    for (int panel = 0; panel < kPanels; ++panel) {
      tma_store(map_o, panel * kPanel, first_query, head, shared_address(shared.q[panel]) + rows);
    }
    tma_store_commit();
    tma_store_wait_all();  // shared memory must outlive the stores that read it
  }
}

// The work of one consumer warpgroup.
__device__ __forceinline__ void consume(SharedStorage& shared, const CUtensorMap* map_o, float* lse, int consumer,
                                        int first_query, int head, int tiles, int sequence, float scale_log2) {
  const bool first_lane = threadIdx.x % 32 == 0;  // each warp answers for its own part of the wgmmas
  float scores[kSums];
  float output[kSums];
  uint32_t p[kSums / 2];
  float shrink[2];
  RowState state;
  RingPosition keys;
  RingPosition values;

  mbarrier_wait(&shared.q_full, 0);
  mbarrier_wait(&shared.k_full[keys.stage], keys.parity);
  start_scores(shared, consumer, keys.stage, scores);
  wgmma_wait<0>();
  registers_change_here(scores);
  if (first_lane) mbarrier_arrive(&shared.k_empty[keys.stage]);
  keys.advance();
  if (kCausal || sequence % kTileKeys != 0) mask(scores, first_query, (tiles - 1) * kTileKeys, sequence);
  softmax_step(scores, state, scale_log2, shrink);
  pack(scores, p);

  for (int step = 1; step < tiles; ++step) {
    mbarrier_wait(&shared.k_full[keys.stage], keys.parity);
    start_scores(shared, consumer, keys.stage, scores);
    mbarrier_wait(&shared.v_full[values.stage], values.parity);
    start_output(shared, values.stage, p, step > 1, output);

    wgmma_wait<1>();  // the scores are there, P V may still run
    registers_change_here(scores);
    if (first_lane) mbarrier_arrive(&shared.k_empty[keys.stage]);
    keys.advance();
    softmax_step(scores, state, scale_log2, shrink);

    wgmma_wait<0>();  // P V of the tile before is done
    registers_change_here(output);
    registers_change_here(p);
    if (first_lane) mbarrier_arrive(&shared.v_empty[values.stage]);
    values.advance();
    scale_rows(output, shrink);
    pack(scores, p);
  }

  mbarrier_wait(&shared.v_full[values.stage], values.parity);
  start_output(shared, values.stage, p, tiles > 1, output);
  wgmma_wait<0>();
  registers_change_here(output);
  finish(shared, map_o, lse, consumer, first_query, head, sequence, scale_log2, state, output);
}

__global__ void __launch_bounds__(kThreads, 1)
    mha_forward_kernel(const __grid_constant__ CUtensorMap map_q, const __grid_constant__ CUtensorMap map_k,
                       const __grid_constant__ CUtensorMap map_v, const __grid_constant__ CUtensorMap map_o, float* lse,
                       int sequence, float scale_log2) {
  extern __shared__ __align__(1024) uint8_t raw_shared[];
  SharedStorage& shared = *reinterpret_cast<SharedStorage*>(raw_shared);

  if (threadIdx.x == 0) {
    prefetch_tensor_map(&map_q);
    prefetch_tensor_map(&map_k);
    prefetch_tensor_map(&map_v);
    prefetch_tensor_map(&map_o);
    mbarrier_init(&shared.q_full, 1);
    for (int stage = 0; stage < kStages; ++stage) {
      mbarrier_init(&shared.k_full[stage], 1);  // the producer's arrive.expect_tx
      mbarrier_init(&shared.v_full[stage], 1);
      mbarrier_init(&shared.k_empty[stage], kConsumers * 4);  // every consumer warp
      mbarrier_init(&shared.v_empty[stage], kConsumers * 4);
    }
    fence_mbarrier_init();
  }
  __syncthreads();

  // Causal rows have work in proportion to their position: the long ones start first.
  const int block = kCausal ? gridDim.x - 1 - blockIdx.x : blockIdx.x;
  const int head = blockIdx.y;
  const int query = block * kTileQ;
  const int tiles = kCausal ? block + 1 : (sequence + kTileKeys - 1) / kTileKeys;

  const int warpgroup = threadIdx.x / kWarpgroup;
  if (warpgroup == 0) {
    decrease_registers<24>();
    if (threadIdx.x == 0) produce(shared, &map_q, &map_k, &map_v, query, head, tiles);
  } else {
    increase_registers<240>();  // 128 * (24 + 2 * 240) = 64512 of the SM's 65536 registers
    const int consumer = warpgroup - 1;
    consume(shared, &map_o, lse, consumer, query + consumer * kWgmmaM, head, tiles, sequence, scale_log2);
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

}  // namespace

void run(ptxbench::Tensor<__nv_bfloat16> q, ptxbench::Tensor<__nv_bfloat16> k, ptxbench::Tensor<__nv_bfloat16> v,
         ptxbench::Tensor<__nv_bfloat16> o, ptxbench::Tensor<float> lse) {
  const int64_t heads = q.size(0) * q.size(1);  // heads of all batches in one dimension
  const int64_t sequence = q.size(2);
  if (q.size(3) != kHeadDim) throw ptxbench::ffi::Failure("ValueError", "the head dimension must be 128");

  const CUtensorMap map_q = make_map(q.data(), heads, sequence, kTileQ);
  const CUtensorMap map_k = make_map(k.data(), heads, sequence, kTileKeys);
  const CUtensorMap map_v = make_map(v.data(), heads, sequence, kTileKeys);
  const CUtensorMap map_o = make_map(o.data(), heads, sequence, kWgmmaM);
  constexpr float kScaleLog2 = 1.44269504088896f * 0.0883883476483184f;  // log2(e) / sqrt(128)

  check(cudaFuncSetAttribute(mha_forward_kernel, cudaFuncAttributeMaxDynamicSharedMemorySize, sizeof(SharedStorage)),
        "cudaFuncSetAttribute");
  const auto stream = static_cast<cudaStream_t>(ptxbench::current_stream());
  const dim3 grid(static_cast<unsigned>((sequence + kTileQ - 1) / kTileQ), static_cast<unsigned>(heads));
  mha_forward_kernel<<<grid, kThreads, sizeof(SharedStorage), stream>>>(map_q, map_k, map_v, map_o, lse.data(),
                                                                        static_cast<int>(sequence), kScaleLog2);
  check(cudaGetLastError(), "launching mha_forward_kernel");
}

PTXBENCH_EXPORT(run)
