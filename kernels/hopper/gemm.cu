// BF16 matrix product for Hopper (sm_90a):  C[M,N] = A[M,K] * B[N,K]^T, sums in FP32, C rounded to BF16.
//
// All three matrices are row-major in global memory, so A and B are both contiguous along K ("K-major"): the form
// that wgmma reads from shared memory without a transposition.
//
// How it works, in five steps:
//   1. One CTA per SM walks over output tiles of 128 x 256 ("persistent" kernel). It has three warpgroups (128
//      threads each).
//   2. Warpgroup 0 is the producer: one thread of it asks the Tensor Memory Accelerator (TMA) to copy 64-wide slices
//      of A and B into a ring of four shared-memory stages.
//   3. Warpgroups 1 and 2 are the consumers: each owns 64 rows of the tile and keeps its 64 x 256 sums in registers
//      (128 per thread). wgmma multiplies straight out of shared memory.
//   4. Two mbarriers per stage hand it to and fro: "full" (the bytes have landed) and "empty" (the wgmmas have read
//      them).
//   5. At the end of a tile each consumer packs its sums to BF16, writes them to shared memory with stmatrix and
//      lets the TMA store them, while the producer already loads the next tile.
//
// The TMA knows the sizes of the matrices: what lies outside reads as zero and is not written. So any M and N work,
// and any K; N and K must be multiples of 8, because the TMA wants the rows of a matrix 16 bytes apart.
//
// Names in quotes in the comments are sections of NVIDIA's PTX ISA manual (version 9.0).

#include <cuda.h>
#include <cuda_runtime.h>

#include <cstdint>

#include <ptxbench/ffi.h>

namespace {

// ---- Shape of the work. Lengths are in elements unless the name says bytes.

constexpr int kTileM = 128;                   // rows of C per CTA: 64 for each consumer warpgroup
constexpr int kTileN = 256;                   // columns of C per CTA: the widest wgmma
constexpr int kTileK = 64;                    // 64 BF16 = 128 bytes = one row of the 128-byte swizzle
constexpr int kStages = 4;                    // slices of A and B in flight
constexpr int kWgmmaM = 64;                   // every wgmma has 64 rows
constexpr int kWgmmaK = 16;                   // and 16 BF16 (32 bytes) along K
constexpr int kConsumers = kTileM / kWgmmaM;  // consumer warpgroups
constexpr int kWarpgroup = 128;               // threads
constexpr int kThreads = (1 + kConsumers) * kWarpgroup;
constexpr int kSumsPerThread = kWgmmaM * kTileN / kWarpgroup;  // 128 FP32 registers
constexpr int kPanelN = 64;                                    // columns of C per TMA store: again 128 bytes
constexpr int kGroupM = 16;  // tile rows that are walked together, so that A and B stay in L2

constexpr uint32_t kBytesA = kTileM * kTileK * 2;
constexpr uint32_t kBytesB = kTileN * kTileK * 2;
constexpr uint32_t kBytesPanel = kWgmmaM * kPanelN * 2;

// Dynamic shared memory. Every tile that the TMA swizzles by 128 bytes must start at a multiple of 1024 bytes: the
// pattern repeats every 8 rows of 128 bytes, and wgmma computes it from the address bits.
struct SharedStorage {
  alignas(1024) uint8_t a[kStages][kBytesA];
  alignas(1024) uint8_t b[kStages][kBytesB];
  alignas(1024) uint8_t c[kConsumers][2][kBytesPanel];  // two panels each: one is stored while the next is filled
  alignas(8) uint64_t full[kStages];
  alignas(8) uint64_t empty[kStages];
};
static_assert(sizeof(SharedStorage) <= 232448, "a Hopper CTA can have 227 KiB of shared memory");

// ---- PTX in small wrappers. Shared-memory addresses are 32-bit addresses inside the shared window.

__device__ __forceinline__ uint32_t shared_address(const void* pointer) {
  return static_cast<uint32_t>(__cvta_generic_to_shared(pointer));
}

// "mbarrier.init": one phase is complete after `arrivals` arrivals and after all expected bytes have landed.
__device__ __forceinline__ void mbarrier_init(uint32_t barrier, uint32_t arrivals) {
  asm volatile("mbarrier.init.shared.b64 [%0], %1;" ::"r"(barrier), "r"(arrivals) : "memory");
}

// "membar / fence": makes the initialised barriers visible to the TMA (which signals them) before anyone uses them.
__device__ __forceinline__ void fence_mbarrier_init() {
  asm volatile("fence.mbarrier_init.release.cluster;" ::: "memory");
}

// "mbarrier.arrive" with expect_tx: this is one arrival, and the phase also waits for `bytes` from the TMA.
__device__ __forceinline__ void mbarrier_arrive_expect_tx(uint32_t barrier, uint32_t bytes) {
  asm volatile("mbarrier.arrive.expect_tx.shared::cta.b64 _, [%0], %1;" ::"r"(barrier), "r"(bytes) : "memory");
}

__device__ __forceinline__ void mbarrier_arrive(uint32_t barrier) {
  asm volatile("mbarrier.arrive.shared::cta.b64 _, [%0];" ::"r"(barrier) : "memory");
}

// "mbarrier.test_wait / try_wait": waits until the phase with this parity is complete. Phases count 0, 1, 2, ... and
// the parity is the lowest bit. A fresh barrier is in phase 0, and the phase before it, of parity 1, counts as
// complete. try_wait gives up after a time that the hardware chooses, hence the loop.
__device__ __forceinline__ void mbarrier_wait(uint32_t barrier, uint32_t parity) {
  asm volatile(
      "{\n"
      ".reg .pred complete;\n"
      "WAIT:\n"
      "mbarrier.try_wait.parity.shared.b64 complete, [%0], %1;\n"
      "@!complete bra WAIT;\n"
      "}\n" ::"r"(barrier),
      "r"(parity)
      : "memory");
}

// "cp.async.bulk.tensor": copies the box at column x, row y of the tensor behind `map` to shared memory. It runs on
// its own and reports the bytes to `barrier`. Boxes that reach outside the tensor are filled with zeros, and count
// in full.
__device__ __forceinline__ void tma_load(uint32_t destination, const CUtensorMap* map, int x, int y, uint32_t barrier) {
  asm volatile(
      "cp.async.bulk.tensor.2d.shared::cluster.global.mbarrier::complete_tx::bytes [%0], [%1, {%2, %3}], [%4];" ::"r"(
          destination),
      "l"(map), "r"(x), "r"(y), "r"(barrier)
      : "memory");
}

// The way back. Stores are tracked in groups of the thread that issued them, not by an mbarrier.
__device__ __forceinline__ void tma_store(const CUtensorMap* map, int x, int y, uint32_t source) {
  asm volatile("cp.async.bulk.tensor.2d.global.shared::cta.bulk_group [%0, {%1, %2}], [%3];" ::"l"(map), "r"(x), "r"(y),
               "r"(source)
               : "memory");
}

__device__ __forceinline__ void tma_store_commit() { asm volatile("cp.async.bulk.commit_group;" ::: "memory"); }

// Waits until at most kPending of this thread's store groups still read from shared memory.
template <int kPending>
__device__ __forceinline__ void tma_store_wait_read() {
  asm volatile("cp.async.bulk.wait_group.read %0;" ::"n"(kPending) : "memory");
}

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

// "Asynchronous warpgroup level matrix shared memory layout" / "Matrix descriptor format": where a tile lies and how.
//   bits  0-13  start address / 16
//   bits 16-29  leading dimension byte offset / 16: not used by K-major swizzled layouts, 1 by convention
//   bits 32-45  stride dimension byte offset / 16: from one group of 8 rows to the next, 8 * 128 = 1024 bytes here
//   bits 62-63  swizzle: 1 = 128 bytes. It must be what the tensor map said when the TMA wrote the tile.
__device__ __forceinline__ uint64_t matrix_descriptor(uint32_t address) {
  uint64_t descriptor = (address & 0x3FFFF) >> 4;
  descriptor |= uint64_t{1} << 16;
  descriptor |= uint64_t{1024 >> 4} << 32;
  descriptor |= uint64_t{1} << 62;
  return descriptor;
}

// "wgmma.fence": orders this warp's earlier accesses to the sum registers before the next wgmma.
__device__ __forceinline__ void wgmma_fence() { asm volatile("wgmma.fence.sync.aligned;" ::: "memory"); }

// "wgmma.commit_group": the wgmmas since the last commit form one group.
__device__ __forceinline__ void wgmma_commit() { asm volatile("wgmma.commit_group.sync.aligned;" ::: "memory"); }

// "wgmma.wait_group": waits until at most kPending groups are still running.
template <int kPending>
__device__ __forceinline__ void wgmma_wait() {
  asm volatile("wgmma.wait_group.sync.aligned %0;" ::"n"(kPending) : "memory");
}

// For the compiler, the sums are ready as soon as the wgmma statement is over. This statement without instructions
// "uses and changes" them, so that no read of a sum can move above the wait in front of it.
__device__ __forceinline__ void sums_change_here(float (&sums)[kSumsPerThread]) {
#pragma unroll
  for (int i = 0; i < kSumsPerThread; ++i) asm volatile("" : "+f"(sums[i])::"memory");
}

// The operands d[i], d[i + 1], ... of an asm statement.
#define FOUR(i) "+f"(d[i]), "+f"(d[i + 1]), "+f"(d[i + 2]), "+f"(d[i + 3])
#define SIXTEEN(i) FOUR(i), FOUR(i + 4), FOUR(i + 8), FOUR(i + 12)
#define SIXTY_FOUR(i) SIXTEEN(i), SIXTEEN(i + 16), SIXTEEN(i + 32), SIXTEEN(i + 48)

// "wgmma.mma_async": d[64,256] = a[64,16] * b[256,16]^T + (accumulate ? d : 0), for a warpgroup, asynchronously.
// The last four immediates: +a, +b, a is K-major, b is K-major.
// "Register fragments": lane l of warp w holds rows 16w + l/4 and 8 below, and of each 8 columns the two at 2(l%4):
//   d[4j], d[4j+1] in the upper row, d[4j+2], d[4j+3] in the lower one, at columns 8j + 2(l%4) and one further.
__device__ __forceinline__ void wgmma_m64n256k16(float (&d)[kSumsPerThread], uint64_t a, uint64_t b, bool accumulate) {
  asm volatile(
      "{\n"
      ".reg .pred accumulate;\n"
      "setp.ne.b32 accumulate, %130, 0;\n"
      "wgmma.mma_async.sync.aligned.m64n256k16.f32.bf16.bf16 "
      "{%0, %1, %2, %3, %4, %5, %6, %7, %8, %9, %10, %11, %12, %13, %14, %15,"
      " %16, %17, %18, %19, %20, %21, %22, %23, %24, %25, %26, %27, %28, %29, %30, %31,"
      " %32, %33, %34, %35, %36, %37, %38, %39, %40, %41, %42, %43, %44, %45, %46, %47,"
      " %48, %49, %50, %51, %52, %53, %54, %55, %56, %57, %58, %59, %60, %61, %62, %63,"
      " %64, %65, %66, %67, %68, %69, %70, %71, %72, %73, %74, %75, %76, %77, %78, %79,"
      " %80, %81, %82, %83, %84, %85, %86, %87, %88, %89, %90, %91, %92, %93, %94, %95,"
      " %96, %97, %98, %99, %100, %101, %102, %103, %104, %105, %106, %107, %108, %109, %110, %111,"
      " %112, %113, %114, %115, %116, %117, %118, %119, %120, %121, %122, %123, %124, %125, %126, %127}, "
      "%128, %129, accumulate, 1, 1, 0, 0;\n"
      "}\n"
      : SIXTY_FOUR(0), SIXTY_FOUR(64)
      : "l"(a), "l"(b), "r"(static_cast<int>(accumulate)));
}

// "cvt": two FP32 to two BF16 in one register, rounded to nearest even; `low` goes to the lower half.
__device__ __forceinline__ uint32_t pack_bf16(float low, float high) {
  uint32_t packed;
  asm("cvt.rn.bf16x2.f32 %0, %1, %2;" : "=r"(packed) : "f"(high), "f"(low));
  return packed;
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

// The output is cut into tiles_m x tiles_n tiles. Groups of kGroupM tile rows are walked column by column: the CTAs
// that run at the same time then share few rows of A and few of B, which fit into L2.
struct TileWalk {
  int tiles_m;
  int tiles_n;

  __device__ __forceinline__ int count() const { return tiles_m * tiles_n; }
  __device__ __forceinline__ void locate(int index, int* m, int* n) const {
    const int per_group = kGroupM * tiles_n;
    const int first_m = index / per_group * kGroupM;
    const int rows = min(kGroupM, tiles_m - first_m);
    const int rest = index % per_group;
    *m = (first_m + rest % rows) * kTileM;
    *n = rest / rows * kTileN;
  }
};

// Runs in one thread. Waits for an empty stage, announces the bytes, starts the two copies.
__device__ __forceinline__ void produce(SharedStorage& shared, const CUtensorMap* map_a, const CUtensorMap* map_b,
                                        TileWalk walk, int slices) {
  RingPosition ring;
  for (int tile = blockIdx.x; tile < walk.count(); tile += gridDim.x) {
    int m, n;
    walk.locate(tile, &m, &n);
    for (int slice = 0; slice < slices; ++slice) {
      // In the first round nobody has used the stage: the parity before the current one is "complete" on a fresh
      // barrier.
      mbarrier_wait(shared_address(&shared.empty[ring.stage]), ring.parity ^ 1);
      const uint32_t full = shared_address(&shared.full[ring.stage]);
      mbarrier_arrive_expect_tx(full, kBytesA + kBytesB);
      tma_load(shared_address(shared.a[ring.stage]), map_a, slice * kTileK, m, full);
      tma_load(shared_address(shared.b[ring.stage]), map_b, slice * kTileK, n, full);
      ring.advance();
    }
  }
}

// Adds up one tile's sums over K. `a_offset` selects this warpgroup's 64 rows of A inside a stage.
__device__ __forceinline__ void multiply(SharedStorage& shared, RingPosition& ring, uint32_t a_offset, int slices,
                                         float (&sums)[kSumsPerThread]) {
  const bool first_lane = threadIdx.x % 32 == 0;
  int previous_stage = 0;
  for (int slice = 0; slice < slices; ++slice) {
    mbarrier_wait(shared_address(&shared.full[ring.stage]), ring.parity);
    const uint64_t a = matrix_descriptor(shared_address(shared.a[ring.stage]) + a_offset);
    const uint64_t b = matrix_descriptor(shared_address(shared.b[ring.stage]));
    wgmma_fence();
#pragma unroll
    for (int k = 0; k < kTileK / kWgmmaK; ++k) {
      // 16 elements further along K are 32 bytes further in the swizzled row: the swizzle is applied to the final
      // address.
      const uint64_t step = static_cast<uint64_t>(k) * kWgmmaK * 2 >> 4;
      wgmma_m64n256k16(sums, a + step, b + step, slice > 0 || k > 0);
    }
    wgmma_commit();
    // One group may keep running, so the tensor cores do not idle while we wait for the next stage. The group before
    // it has then finished, and its stage may be overwritten. Each warp answers for its own part of the wgmmas.
    wgmma_wait<1>();
    if (slice > 0 && first_lane) mbarrier_arrive(shared_address(&shared.empty[previous_stage]));
    previous_stage = ring.stage;
    ring.advance();
  }
  wgmma_wait<0>();
  sums_change_here(sums);
  if (first_lane) mbarrier_arrive(shared_address(&shared.empty[previous_stage]));
}

// Writes 64 x 256 sums to C at (m, n): in four panels of 64 columns, through two buffers in shared memory.
__device__ __forceinline__ void store(SharedStorage& shared, const CUtensorMap* map_c, int consumer, int m, int n,
                                      const float (&sums)[kSumsPerThread]) {
  const int thread = threadIdx.x % kWarpgroup;
  const int lane = thread % 32;
  const int barrier = 1 + consumer;  // one named barrier per consumer warpgroup
  // The row and the 16-byte chunk whose address this lane gives to stmatrix: matrices 0 and 1 are the upper and
  // lower 8 rows of the left 8 columns, 2 and 3 those of the right 8 columns.
  const int row = thread / 32 * 16 + lane % 16;
  const int chunk = lane / 16;
#pragma unroll
  for (int panel = 0; panel < kTileN / kPanelN; ++panel) {
    const uint32_t buffer = shared_address(shared.c[consumer][panel % 2]);
    // The buffer is free when the store before last has read it. Only the thread that issued it can wait for it.
    if (thread == 0) tma_store_wait_read<1>();
    named_barrier_sync(barrier, kWarpgroup);
#pragma unroll
    for (int column = 0; column < kPanelN; column += 16) {
      const float* d = sums + (panel * kPanelN + column) / 8 * 4;
      // 128-byte swizzle by hand ("Swizzling modes"): the 16-byte chunk number is XORed with the row number modulo 8.
      const uint32_t swizzled = static_cast<uint32_t>((column / 8 + chunk) ^ (row % 8));
      stmatrix_x4(buffer + row * kPanelN * 2 + swizzled * 16, pack_bf16(d[0], d[1]), pack_bf16(d[2], d[3]),
                  pack_bf16(d[4], d[5]), pack_bf16(d[6], d[7]));
    }
    fence_async_proxy();
    named_barrier_sync(barrier, kWarpgroup);
    if (thread == 0) {
      tma_store(map_c, n + panel * kPanelN, m, buffer);
      tma_store_commit();
    }
  }
}

__global__ void __launch_bounds__(kThreads, 1)
    gemm_kernel(const __grid_constant__ CUtensorMap map_a, const __grid_constant__ CUtensorMap map_b,
                const __grid_constant__ CUtensorMap map_c, TileWalk walk, int slices) {
  extern __shared__ __align__(1024) uint8_t raw_shared[];
  SharedStorage& shared = *reinterpret_cast<SharedStorage*>(raw_shared);

  if (threadIdx.x == 0) {
    prefetch_tensor_map(&map_a);
    prefetch_tensor_map(&map_b);
    prefetch_tensor_map(&map_c);
    for (int stage = 0; stage < kStages; ++stage) {
      mbarrier_init(shared_address(&shared.full[stage]), 1);                // the producer's arrive.expect_tx
      mbarrier_init(shared_address(&shared.empty[stage]), kConsumers * 4);  // every consumer warp
    }
    fence_mbarrier_init();
  }
  __syncthreads();

  const int warpgroup = threadIdx.x / kWarpgroup;
  if (warpgroup == 0) {
    decrease_registers<40>();
    if (threadIdx.x == 0) produce(shared, &map_a, &map_b, walk, slices);
  } else {
    increase_registers<232>();  // 128 * (40 + 2 * 232) = 64512 of the SM's 65536 registers
    const int consumer = warpgroup - 1;
    RingPosition ring;
    for (int tile = blockIdx.x; tile < walk.count(); tile += gridDim.x) {
      int m, n;
      walk.locate(tile, &m, &n);
      float sums[kSumsPerThread];
      multiply(shared, ring, consumer * kWgmmaM * kTileK * 2, slices, sums);
      store(shared, &map_c, consumer, m + consumer * kWgmmaM, n, sums);
    }
    // Shared memory must outlive the stores that read it.
    if (threadIdx.x % kWarpgroup == 0) tma_store_wait_all();
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
  if (found != cudaDriverEntryPointSuccess)
    throw ptxbench::ffi::Failure("RuntimeError", "the driver has no cuTensorMapEncodeTiled");
  return reinterpret_cast<EncodeTiled>(function);
}

// Describes a row-major BF16 matrix and the box of it that one TMA instruction moves. Sizes are in elements, the
// innermost dimension comes first. Boxes are 64 elements = 128 bytes wide, as the 128-byte swizzle needs.
CUtensorMap make_map(void* data, uint64_t rows, uint64_t columns, uint32_t box_rows) {
  static const EncodeTiled encode = find_encode_tiled();
  const cuuint64_t sizes[2] = {columns, rows};
  const cuuint64_t row_bytes[1] = {columns * 2};
  const cuuint32_t box[2] = {64, box_rows};
  const cuuint32_t every_element[2] = {1, 1};
  CUtensorMap map;
  const CUresult result = encode(&map, CU_TENSOR_MAP_DATA_TYPE_BFLOAT16, 2, data, sizes, row_bytes, box, every_element,
                                 CU_TENSOR_MAP_INTERLEAVE_NONE, CU_TENSOR_MAP_SWIZZLE_128B,
                                 CU_TENSOR_MAP_L2_PROMOTION_L2_256B, CU_TENSOR_MAP_FLOAT_OOB_FILL_NONE);
  if (result != CUDA_SUCCESS)
    throw ptxbench::ffi::Failure("RuntimeError", "cuTensorMapEncodeTiled: error %d", static_cast<int>(result));
  return map;
}

}  // namespace

void run(ptxbench::Tensor<__nv_bfloat16> a, ptxbench::Tensor<__nv_bfloat16> b, ptxbench::Tensor<__nv_bfloat16> c) {
  const int64_t m = a.size(0);
  const int64_t k = a.size(1);
  const int64_t n = b.size(0);
  if (b.size(1) != k || c.size(0) != m || c.size(1) != n)
    throw ptxbench::ffi::Failure("ValueError", "shapes must be A[M,K], B[N,K], C[M,N]");
  if (n % 8 != 0 || k % 8 != 0)
    throw ptxbench::ffi::Failure("ValueError", "N and K must be multiples of 8 (the TMA needs rows 16 bytes apart)");

  const CUtensorMap map_a = make_map(a.data(), m, k, kTileM);
  const CUtensorMap map_b = make_map(b.data(), n, k, kTileN);
  const CUtensorMap map_c = make_map(c.data(), m, n, kWgmmaM);
  const TileWalk walk = {static_cast<int>((m + kTileM - 1) / kTileM), static_cast<int>((n + kTileN - 1) / kTileN)};
  const int slices = static_cast<int>((k + kTileK - 1) / kTileK);

  int device = 0;
  int processors = 0;
  check(cudaGetDevice(&device), "cudaGetDevice");
  check(cudaDeviceGetAttribute(&processors, cudaDevAttrMultiProcessorCount, device), "cudaDeviceGetAttribute");
  check(cudaFuncSetAttribute(gemm_kernel, cudaFuncAttributeMaxDynamicSharedMemorySize, sizeof(SharedStorage)),
        "cudaFuncSetAttribute");
  const auto stream = static_cast<cudaStream_t>(ptxbench::current_stream());
  const int tiles = walk.tiles_m * walk.tiles_n;
  const int ctas = tiles < processors ? tiles : processors;
  gemm_kernel<<<ctas, kThreads, sizeof(SharedStorage), stream>>>(map_a, map_b, map_c, walk, slices);
  check(cudaGetLastError(), "launching gemm_kernel");
}

PTXBENCH_EXPORT(run)
