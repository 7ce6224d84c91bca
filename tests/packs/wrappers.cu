// A tiny kernel for every wrapper of knowledge/hopper/include, run on the emulator by packs_test.py. What is expected is
// worked out on the host from the PTX manual's formulas, never with a wrapper. Prints "ok NAME" or "FAILED NAME: why".
#include <cuda_bf16.h>
#include <cuda_runtime.h>

#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <utility>
#include <vector>

#include <ptxbench/ptx/hopper/math.cuh>
#include <ptxbench/ptx/hopper/matrix.cuh>
#include <ptxbench/ptx/hopper/mbarrier.cuh>
#include <ptxbench/ptx/hopper/sync.cuh>
#include <ptxbench/ptx/hopper/tensor_map.cuh>
#include <ptxbench/ptx/hopper/thread.cuh>
#include <ptxbench/ptx/hopper/tma.cuh>
#include <ptxbench/ptx/hopper/wgmma.cuh>

using namespace ptxbench::ptx;

namespace {

int failures = 0;

void report(const char* name, bool good, const char* why, long long where = 0) {
  if (good)
    std::printf("ok %s\n", name);
  else
    std::printf("FAILED %s: %s at %lld\n", name, why, where), ++failures;
}

void must(cudaError_t error, const char* what) {
  if (error == cudaSuccess) return;
  std::printf("FAILED %s: %s\n", what, cudaGetErrorString(error));
  std::exit(1);
}

// Device memory of `count` elements, with its contents from and to the host.
template <class T>
struct Device {
  T* data = nullptr;
  size_t count;
  explicit Device(size_t n, int fill = 0) : count(n) {
    must(cudaMalloc(&data, n * sizeof(T)), "cudaMalloc");
    must(cudaMemset(data, fill, n * sizeof(T)), "cudaMemset");
  }
  explicit Device(const std::vector<T>& values) : Device(values.size()) {
    must(cudaMemcpy(data, values.data(), count * sizeof(T), cudaMemcpyHostToDevice), "cudaMemcpy");
  }
  std::vector<T> read(const char* name) const {
    must(cudaDeviceSynchronize(), name);
    std::vector<T> values(count);
    must(cudaMemcpy(values.data(), data, count * sizeof(T), cudaMemcpyDeviceToHost), name);
    return values;
  }
  ~Device() { cudaFree(data); }
};

template <class T>
void compare(const char* name, const Device<T>& got, const std::vector<T>& wanted) {
  const std::vector<T> values = got.read(name);
  for (size_t i = 0; i < wanted.size(); ++i)
    if (std::memcmp(&values[i], &wanted[i], sizeof(T)) != 0)
      return report(name, false, "differs", static_cast<long long>(i));
  report(name, values.size() == wanted.size(), "size");
}

// BF16 bits of a small integer: the upper half of its FP32, exact up to 256.
uint16_t bf16(int value) {
  const float number = static_cast<float>(value);
  uint32_t bits;
  std::memcpy(&bits, &number, 4);
  return static_cast<uint16_t>(bits >> 16);
}

extern __shared__ __align__(1024) uint8_t dynamic_shared[];

// ---- thread.cuh

__global__ void who_kernel(int* out) {
  const bool elected = elect_one();
  int* mine = out + threadIdx.x * 4;
  mine[0] = lane_index(), mine[1] = warp_index(), mine[2] = warpgroup_index();
  mine[3] = __popc(__ballot_sync(0xffffffff, elected));
}

void test_thread() {
  Device<int> out(256 * 4);
  who_kernel<<<1, 256>>>(out.data);
  std::vector<int> wanted;
  for (int t = 0; t < 256; ++t) wanted.insert(wanted.end(), {t & 31, t >> 5, t >> 7, 1});
  compare("thread", out, wanted);
}

// ---- mbarrier.cuh: 32 producers hand numbers to 32 consumers through a ring of two, seven times.

__global__ void ring_kernel(int* out) {
  __shared__ int box[2][32];
  __shared__ uint64_t full[2], empty[2];
  if (threadIdx.x == 0) {
    for (int i = 0; i < 2; ++i) mbarrier_init(&full[i], 32), mbarrier_init(&empty[i], 32);
    fence_mbarrier_init();
  }
  __syncthreads();
  Ring<2> ring;
  const int lane = static_cast<int>(threadIdx.x % 32);
  for (int i = 0; i < 7; ++i, ring.advance()) {
    if (threadIdx.x < 32) {
      mbarrier_wait(&empty[ring.stage], ring.parity ^ 1);
      box[ring.stage][lane] = 100 * i + lane;
      mbarrier_arrive(&full[ring.stage]);
    } else {
      mbarrier_wait(&full[ring.stage], ring.parity);
      out[i * 32 + lane] = box[ring.stage][31 - lane];
      mbarrier_arrive(&empty[ring.stage]);
    }
  }
}

// Bytes announced by expect_tx hold a phase open until a copy has brought them; afterwards the 8 bytes are ordinary again.
__global__ void bytes_kernel(const __grid_constant__ CUtensorMap map, int* out) {
  __shared__ alignas(128) uint8_t tile[2][1024];
  __shared__ uint64_t barrier;
  if (threadIdx.x == 0) {
    mbarrier_init(&barrier, 2);
    fence_mbarrier_init();
    mbarrier_expect_tx(&barrier, 1024);
    mbarrier_arrive(&barrier);
    out[0] = mbarrier_try_wait(&barrier, 0);
    tma_load_2d(tile[0], &map, 0, 0, &barrier);
    mbarrier_arrive_expect_tx(&barrier, 1024);
    tma_load_2d(tile[1], &map, 0, 8, &barrier);
    mbarrier_wait(&barrier, 0);
    out[1] = *reinterpret_cast<uint16_t*>(tile[0]);
    out[2] = *reinterpret_cast<uint16_t*>(tile[1]);
    mbarrier_invalidate(&barrier);
    barrier = 7;
    out[3] = static_cast<int>(barrier);
  }
}

void test_mbarrier() {
  Device<int> out(7 * 32);
  ring_kernel<<<1, 64>>>(out.data);
  std::vector<int> wanted;
  for (int i = 0; i < 7; ++i)
    for (int lane = 0; lane < 32; ++lane) wanted.push_back(100 * i + 31 - lane);
  compare("mbarrier ring", out, wanted);

  std::vector<uint16_t> matrix(16 * 64, bf16(3));
  matrix[8 * 64] = bf16(5);
  Device<uint16_t> data(matrix);
  Device<int> flags(4);
  bytes_kernel<<<1, 32>>>(make_tensor_map_2d(data.data, 16, 64, 8, 64), flags.data);
  compare("mbarrier bytes", flags, {0, bf16(3), bf16(5), 7});
}

// ---- tma.cuh, tensor_map.cuh

__global__ void load_kernel(const __grid_constant__ CUtensorMap map, int x, int y, uint4* out) {
  __shared__ uint64_t barrier;
  if (threadIdx.x == 0) {
    prefetch_tensor_map(&map);
    mbarrier_init(&barrier, 1);
    fence_mbarrier_init();
    mbarrier_arrive_expect_tx(&barrier, 64 * 128);
    tma_load_2d(dynamic_shared, &map, x, y, &barrier);
  }
  __syncthreads();
  mbarrier_wait(&barrier, 0);
  for (int i = static_cast<int>(threadIdx.x); i < 512; i += 128) out[i] = reinterpret_cast<uint4*>(dynamic_shared)[i];
}

// "Swizzling modes": chunk c of 16 bytes in row r lies at chunk c xor (r mod 8); outside the tensor zeros.
void test_load(int x, int y, const char* name) {
  constexpr int kRows = 70, kColumns = 96;
  std::vector<uint16_t> matrix(kRows * kColumns);
  for (int i = 0; i < kRows * kColumns; ++i) matrix[i] = static_cast<uint16_t>(i + 1);
  Device<uint16_t> data(matrix), out(64 * 64);
  load_kernel<<<1, 128, 8192>>>(make_tensor_map_2d(data.data, kRows, kColumns, 64, 64), x, y,
                                reinterpret_cast<uint4*>(out.data));
  std::vector<uint16_t> wanted(64 * 64, 0);
  for (int r = 0; r < 64; ++r)
    for (int c = 0; c < 64; ++c)
      if (y + r >= 0 && y + r < kRows && x + c >= 0 && x + c < kColumns)
        wanted[r * 64 + ((c / 8) ^ (r & 7)) * 8 + c % 8] = matrix[(y + r) * kColumns + x + c];
  compare(name, out, wanted);
}

// Loads boxes [1][8][64] of a [slices][rows][64] tensor and stores them two rows further; store buffers take turns.
__global__ void copy_kernel(const __grid_constant__ CUtensorMap from, const __grid_constant__ CUtensorMap to,
                            int boxes) {
  __shared__ uint64_t barrier;
  if (threadIdx.x != 0) return;
  mbarrier_init(&barrier, 1);
  fence_mbarrier_init();
  for (int i = 0; i < boxes; ++i) {
    uint8_t* buffer = dynamic_shared + i % 2 * 1024;
    tma_store_wait_read<1>();
    mbarrier_arrive_expect_tx(&barrier, 1024);
    tma_load_3d(buffer, &from, 0, i * 8, 1, &barrier);
    mbarrier_wait(&barrier, i & 1);
    tma_store_3d(&to, 0, i * 8 + 2, 1, buffer);
    tma_store_commit();
  }
  tma_store_wait<0>();
}

// Elements of a 2-D store that lie outside the tensor are not written; what threads wrote is what gets stored.
__global__ void store_kernel(const __grid_constant__ CUtensorMap map) {
  for (int i = static_cast<int>(threadIdx.x); i < 512; i += 128) {
    uint32_t* words = reinterpret_cast<uint32_t*>(dynamic_shared + swizzle_128(i / 8, i % 8));
    for (int j = 0; j < 4; ++j) words[j] = static_cast<uint32_t>(i * 4 + j);
  }
  fence_proxy_async();
  __syncthreads();
  if (threadIdx.x == 0) {
    tma_store_2d(&map, 32, 40, dynamic_shared);
    tma_store_commit();
    tma_store_wait<0>();
  }
}

void test_tma() {
  test_load(0, 0, "tma_load_2d, inside");
  test_load(48, 30, "tma_load_2d, over the end");
  test_load(-16, -5, "tma_load_2d, before the start");

  std::vector<uint16_t> slices(3 * 20 * 64);
  for (size_t i = 0; i < slices.size(); ++i) slices[i] = static_cast<uint16_t>(i * 3 + 1);
  Device<uint16_t> from(slices), to(3 * 20 * 64);
  copy_kernel<<<1, 32, 2048>>>(make_tensor_map_3d(from.data, 3, 20, 64, 8, 64),
                               make_tensor_map_3d(to.data, 3, 20, 64, 8, 64), 3);
  std::vector<uint16_t> wanted(3 * 20 * 64, 0);
  for (int row = 2; row < 20; ++row)
    for (int c = 0; c < 64; ++c) wanted[(20 + row) * 64 + c] = slices[(20 + row - 2) * 64 + c];
  compare("tma 3d load and store", to, wanted);

  Device<uint16_t> matrix(70 * 96);
  store_kernel<<<1, 128, 8192>>>(make_tensor_map_2d(matrix.data, 70, 96, 64, 64));
  std::vector<uint16_t> stored(70 * 96, 0);
  for (int r = 0; r < 30; ++r)
    for (int c = 0; c < 64; ++c) {
      const uint32_t word = static_cast<uint32_t>((r * 8 + c / 8) * 4 + c % 8 / 2);
      stored[(40 + r) * 96 + 32 + c] = static_cast<uint16_t>(c % 2 ? word >> 16 : word);
    }
  compare("tma_store_2d", matrix, stored);
}

// ---- wgmma.cuh: D[64][N] = A[64][64] B[64][N] on small integers, for every N and every way to pass the operands.

constexpr int kDepth = 64;
__host__ __device__ int value_a(int m, int k) { return (3 * m + 5 * k + m * k) % 17 - 8; }
__host__ __device__ int value_b(int k, int n) { return (7 * n + 2 * k + n * k) % 13 - 6; }

// Writes a tile of 128-byte rows by the swizzle's formula, in plain integer arithmetic.
template <class Value>
__device__ void fill(uint8_t* tile, int rows, Value value) {
  for (int i = static_cast<int>(threadIdx.x); i < rows * 64; i += 128) {
    const int r = i / 64, c = i % 64;
    const float number = static_cast<float>(value(r, c));
    *reinterpret_cast<uint16_t*>(tile + r * 128 + ((c / 8) ^ (r & 7)) * 16 + c % 8 * 2) =
        static_cast<uint16_t>(__float_as_uint(number) >> 16);
  }
}

// How the operands are passed: 0 both K-major in shared memory, 1 both MN-major, 2 A in registers, 3 that and B MN-major.
template <int kWay, int kN>
__device__ __forceinline__ void multiply(float (&d)[kN / 2], const uint32_t* a, int step) {
  uint8_t* b_rows = dynamic_shared + 16384;
  const uint64_t a_k = k_major_descriptor(shared_address(dynamic_shared) + step * 32);
  const uint64_t a_mn = mn_major_descriptor(shared_address(dynamic_shared + 8192) + step * 2048, 8192);
  const uint64_t b_k = k_major_descriptor(shared_address(b_rows) + step * 32);
  const uint64_t b_mn = mn_major_descriptor(shared_address(b_rows + 256 * 128) + step * 2048, 8192);
  if constexpr (kWay == 0) wgmma(d, a_k, b_k, step > 0);
  if constexpr (kWay == 1) wgmma<Major::kMN, Major::kMN>(d, a_mn, b_mn, step > 0);
  if constexpr (kWay == 2) wgmma(d, a, b_k, step > 0);
  if constexpr (kWay == 3) wgmma<Major::kMN>(d, a, b_mn, step > 0);
}

constexpr int kTileBytes = 16384 + 256 * 128 + 4 * 8192;

// The tiles as multiply() wants them, once for all shapes: A K-major [64 m][64 k], A MN-major [64 k][64 m], B K-major
// [256][64 k], B MN-major in panels of [64 k][64 n]. Then each thread's fragments of A. "Register fragments": a[0], a[2]
// belong to row l / 4, columns 2(l % 4) and 8 further; a[1], a[3] to the row 8 below.
__global__ void prepare_kernel(uint8_t* tiles, uint32_t* fragments) {
  fill(tiles, 64, [](int m, int k) { return value_a(m, k); });
  fill(tiles + 8192, 64, [](int k, int m) { return value_a(m, k); });
  fill(tiles + 16384, 256, [](int n, int k) { return value_b(k, n); });
  for (int panel = 0; panel < 4; ++panel)
    fill(tiles + 16384 + 256 * 128 + panel * 8192, 64, [panel](int k, int n) { return value_b(k, panel * 64 + n); });
  const int row = static_cast<int>(threadIdx.x / 32 * 16 + threadIdx.x % 32 / 4);
  for (int i = 0; i < 16; ++i) {
    const int m = row + i % 2 * 8, k = i / 4 * 16 + static_cast<int>(threadIdx.x % 4) * 2 + i / 2 % 2 * 8;
    fragments[threadIdx.x * 16 + i] = __float_as_uint(static_cast<float>(value_a(m, k))) >> 16 |
                                      (__float_as_uint(static_cast<float>(value_a(m, k + 1))) & 0xffff0000);
  }
}

template <int kWay, int kN>
__global__ void wgmma_kernel(const uint4* tiles, const uint32_t* fragments, float* out) {
#pragma unroll 1
  for (int i = static_cast<int>(threadIdx.x); i < kTileBytes / 16; i += 128)
    reinterpret_cast<uint4*>(dynamic_shared)[i] = tiles[i];
  fence_proxy_async();
  __syncthreads();
  uint32_t a[16];
#pragma unroll
  for (int i = 0; i < 16; ++i) a[i] = fragments[threadIdx.x * 16 + i];
  float d[kN / 2];
  wgmma_fence();
#pragma unroll
  for (int step = 0; step < 4; ++step) multiply<kWay, kN>(d, a + 4 * step, step);
  wgmma_commit();
  wgmma_wait<0>();
  registers_change_here(d);
  registers_change_here(a);
  float* mine = out + sum_row(0) * kN + sum_column(0);
#pragma unroll
  for (int i = 0; i < kN / 2; ++i) mine[(sum_row(i) - sum_row(0)) * kN + sum_column(i) - sum_column(0)] = d[i];
}

template <int kWay, int kN>
void append_product(const Device<uint8_t>& tiles, const Device<uint32_t>& fragments, std::vector<float>& results) {
  Device<float> out(64 * kN, 0xff);
  const auto kernel = wgmma_kernel<kWay, kN>;
  must(cudaFuncSetAttribute(kernel, cudaFuncAttributeMaxDynamicSharedMemorySize, kTileBytes), "shared memory");
  kernel<<<1, 128, kTileBytes>>>(reinterpret_cast<const uint4*>(tiles.data), fragments.data, out.data);
  const std::vector<float> got = out.read("wgmma");
  results.insert(results.end(), got.begin(), got.end());
}

// For each N one way with A in shared memory and one with A in registers, the others for the next N.
template <size_t... kIndex>
void test_wgmma(std::index_sequence<kIndex...>) {
  Device<uint8_t> tiles(kTileBytes);
  Device<uint32_t> fragments(128 * 16);
  prepare_kernel<<<1, 128>>>(tiles.data, fragments.data);
  std::vector<float> got;
  (append_product<kIndex % 2, (kIndex + 1) * 8>(tiles, fragments, got), ...);
  (append_product<3 - kIndex % 2, (kIndex + 1) * 8>(tiles, fragments, got), ...);
  std::vector<float> wanted;
  for (int way = 0; way < 2; ++way)
    for (int n = 8; n <= 256; n += 8)
      for (int i = 0; i < 64 * n; ++i) {
        int sum = 0;
        for (int k = 0; k < kDepth; ++k) sum += value_a(i / n, k) * value_b(k, i % n);
        wanted.push_back(static_cast<float>(sum));
      }
  compare("wgmma of 32 shapes", Device<float>(got), wanted);
}

// The other layouts through matrix_descriptor, K-major tiles of 64 rows: rows of 64 bytes, chunk c of row r at c xor (r / 2
// mod 4); rows of 32 bytes, c xor (r / 4 mod 2); and no swizzle: blocks of 8 rows x 16 bytes, here 8 blocks to a column.
template <Swizzle kSwizzle>
__global__ void narrow_kernel(float* out) {
  constexpr int kColumns = kSwizzle == Swizzle::k32 ? 16 : 32;
  uint8_t* a = dynamic_shared;
  uint8_t* b = dynamic_shared + 4096;
  for (int i = static_cast<int>(threadIdx.x); i < 64 * kColumns; i += 128) {
    const int r = i / kColumns, c = i % kColumns;
    int at = c % 8 * 2;
    if (kSwizzle == Swizzle::k64) at += r * 64 + ((c / 8) ^ (r / 2 & 3)) * 16;
    if (kSwizzle == Swizzle::k32) at += r * 32 + ((c / 8) ^ (r / 4 & 1)) * 16;
    if (kSwizzle == Swizzle::kNone) at += c / 8 * 1024 + r * 16;
    *reinterpret_cast<uint16_t*>(a + at) = static_cast<uint16_t>(__float_as_uint(float(value_a(r, c))) >> 16);
    *reinterpret_cast<uint16_t*>(b + at) = static_cast<uint16_t>(__float_as_uint(float(value_b(c, r))) >> 16);
  }
  fence_proxy_async();
  __syncthreads();
  constexpr bool kBlocks = kSwizzle == Swizzle::kNone;
  constexpr uint32_t kStep = kBlocks ? 2048 : 32, kLeading = kBlocks ? 1024 : 16;
  constexpr uint32_t kStride = kBlocks ? 128 : 8 * kColumns * 2;
  float d[32];
  wgmma_fence();
#pragma unroll
  for (uint32_t step = 0; step < kColumns / 16; ++step)
    wgmma(d, matrix_descriptor(shared_address(a) + step * kStep, kLeading, kStride, kSwizzle),
          matrix_descriptor(shared_address(b) + step * kStep, kLeading, kStride, kSwizzle), step > 0);
  wgmma_commit();
  wgmma_wait<0>();
  registers_change_here(d);
#pragma unroll
  for (int i = 0; i < 32; ++i) out[sum_row(i) * 64 + sum_column(i)] = d[i];
}

template <Swizzle kSwizzle>
Device<float> narrow_product() {
  Device<float> out(64 * 64);
  narrow_kernel<kSwizzle><<<1, 128, 8192>>>(out.data);
  return Device<float>(out.read("narrow"));
}

std::vector<float> product(int columns) {
  std::vector<float> wanted;
  for (int i = 0; i < 64 * 64; ++i) {
    int sum = 0;
    for (int k = 0; k < columns; ++k) sum += value_a(i / 64, k) * value_b(k, i % 64);
    wanted.push_back(static_cast<float>(sum));
  }
  return wanted;
}

void test_narrow() {
  compare("wgmma, 64-byte swizzle", narrow_product<Swizzle::k64>(), product(32));
  compare("wgmma, 32-byte swizzle", narrow_product<Swizzle::k32>(), product(16));
  compare("wgmma, no swizzle", narrow_product<Swizzle::kNone>(), product(32));
}

// ---- sync.cuh

__global__ void barrier_kernel(int* out) {
  __shared__ int box[32];
  const int lane = static_cast<int>(threadIdx.x % 32);
  const int warp = static_cast<int>(threadIdx.x / 32);
  named_barrier_arrive(4 + warp, 64);  // an arrive that waited would never come back: each warp first signals the other
  named_barrier_sync(5 - warp, 64);
  if (threadIdx.x < 32) {  // writes, says so and goes on; then waits for the answer
    box[lane] = lane * lane;
    named_barrier_arrive(1, 64);
    named_barrier_sync(2, 64);
    out[32 + lane] = box[31 - lane];
  } else {
    named_barrier_sync(1, 64);
    out[lane] = box[31 - lane];
    named_barrier_sync(3, 32);
    box[lane] = -lane;
    named_barrier_sync(2, 64);
  }
}

// 256 threads of at most 168 registers; afterwards one warpgroup has 24 and the other 240.
__global__ void __launch_bounds__(256, 1) registers_kernel(int* out) {
  if (threadIdx.x < 128) {
    decrease_registers<24>();
    out[threadIdx.x] = 24;
  } else {
    increase_registers<240>();
    out[threadIdx.x] = 240;
  }
}

void test_sync() {
  Device<int> out(64);
  barrier_kernel<<<1, 64>>>(out.data);
  std::vector<int> wanted;
  for (int i = 0; i < 32; ++i) wanted.push_back((31 - i) * (31 - i));
  for (int i = 0; i < 32; ++i) wanted.push_back(-(31 - i));
  compare("named barriers", out, wanted);

  Device<int> counts(256);
  registers_kernel<<<1, 256>>>(counts.data);
  std::vector<int> registers(256, 24);
  for (int i = 128; i < 256; ++i) registers[i] = 240;
  compare("setmaxnreg", counts, registers);
}

// ---- matrix.cuh: matrix j has element (r, c) = 1000 j + 10 r + c, as 16-bit integers, packed by the fragment rule.

__global__ void matrix_kernel(uint16_t* out) {
  __shared__ alignas(16) uint16_t place[4][4][64];  // [which store][matrix][row * 8 + column]
  const uint32_t lane = threadIdx.x;
  uint32_t r[4];
  for (uint32_t j = 0; j < 4; ++j) {
    const uint32_t low = 1000 * j + 10 * (lane / 4) + 2 * (lane % 4);
    r[j] = low | (low + 1) << 16;
  }
  const auto row = [&](int which) { return shared_address(&place[which][lane / 8][lane % 8 * 8]); };
  stmatrix_x4(row(0), r[0], r[1], r[2], r[3]);
  stmatrix_x4_transposed(row(1), r[0], r[1], r[2], r[3]);
  stmatrix_x2(row(2), r[2], r[3]);
  __syncwarp();
  uint32_t back[4];
  ldmatrix_x4(row(0), back);
  for (uint32_t j = 0; j < 4; ++j) {
    place[3][j][2 * lane] = static_cast<uint16_t>(back[j] == r[j]);
    place[3][j][2 * lane + 1] = 0;
  }
  __syncwarp();
  for (uint32_t i = lane; i < 4 * 256; i += 32) out[i] = i / 128 == 5 ? 0 : (&place[0][0][0])[i];
}

__global__ void pack_kernel(uint32_t* out, float* functions) {
  out[0] = pack_bf16(1.0f, -2.0f);
  out[1] = pack_bf16(1.0f + 0x1p-8f, 1.0f + 3 * 0x1p-8f);  // both halfway: to even, down and up
  functions[0] = exp2_approx(3.0f), functions[1] = exp2_approx(-INFINITY), functions[2] = log2_approx(8.0f);
  functions[3] = reciprocal_approx(4.0f), functions[4] = exp2_approx(0.5f), functions[5] = log2_approx(10.0f);
}

void test_matrix() {
  Device<uint16_t> out(4 * 256);
  matrix_kernel<<<1, 32>>>(out.data);
  std::vector<uint16_t> wanted;
  for (int which = 0; which < 2; ++which)
    for (int j = 0; j < 4; ++j)
      for (int r = 0; r < 8; ++r)
        for (int c = 0; c < 8; ++c)
          wanted.push_back(static_cast<uint16_t>(1000 * j + (which ? 10 * c + r : 10 * r + c)));
  for (int j = 2; j < 4; ++j)
    for (int i = 0; i < 64; ++i) wanted.push_back(static_cast<uint16_t>(1000 * j + 10 * (i / 8) + i % 8));
  wanted.insert(wanted.end(), 128, 0);  // stmatrix_x2 stored two matrices only; the rest is not looked at
  for (int i = 0; i < 256; ++i) wanted.push_back(i % 2 == 0);
  compare("stmatrix, ldmatrix", out, wanted);

  Device<uint32_t> packed(2);
  Device<float> functions(6);
  pack_kernel<<<1, 1>>>(packed.data, functions.data);
  compare("pack_bf16", packed, {0xC0003F80u, 0x3F823F80u});
  const std::vector<float> got = functions.read("math");
  const double right[6] = {8, 0, 3, 0.25, std::sqrt(2.0), std::log2(10.0)};
  bool good = true;
  for (int i = 0; i < 6; ++i) good = good && std::fabs(got[i] - right[i]) <= 0x1p-21 * std::fabs(right[i]);
  report("math", good, "off by more than 2^-21");
}

}  // namespace

int main() {
  test_thread();
  test_mbarrier();
  test_tma();
  test_wgmma(std::make_index_sequence<32>());
  test_narrow();
  test_sync();
  test_matrix();
  return failures != 0;
}
