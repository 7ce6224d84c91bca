// Tensor copies (cp.async.bulk.tensor, cp.reduce.async.bulk.tensor): 1 to 5 dimensions, element sizes, swizzles, shared
// offsets, boxes over every side of the tensor, fill values, element strides, reductions.
// A load line shows the shared memory after the copy (poison A5 where nothing was written); a store line shows global
// memory after it. The first coordinate must be a multiple of 16 bytes: any other is an illegal instruction on the
// hardware, and so is a negative coordinate of a store (traps.cu). Source: PTX ISA "cp.async.bulk.tensor", CUDA driver API "cuTensorMapEncodeTiled".
#include "capture.h"
#include "tensor_map.h"

using namespace capture;

struct Coords {
  int c[5] = {0, 0, 0, 0, 0};
};

constexpr uint32_t kPoison = 0xA5A5A5A5u;

// ---- device ---------------------------------------------------------------------------------------------------------

template <int Rank>
__device__ void issue_load(uint32_t dst, const CUtensorMap* map, const Coords& at, uint32_t barrier) {
#define LOAD(DIMS, COORDS, ...)                                                                                       \
  asm volatile("cp.async.bulk.tensor." DIMS ".shared::cluster.global.mbarrier::complete_tx::bytes [%0], [%1, " COORDS \
               "], [%2];" ::"r"(dst),                                                                                 \
               "l"(map), "r"(barrier), __VA_ARGS__                                                                    \
               : "memory")
  if constexpr (Rank == 1) LOAD("1d", "{%3}", "r"(at.c[0]));
  if constexpr (Rank == 2) LOAD("2d", "{%3, %4}", "r"(at.c[0]), "r"(at.c[1]));
  if constexpr (Rank == 3) LOAD("3d", "{%3, %4, %5}", "r"(at.c[0]), "r"(at.c[1]), "r"(at.c[2]));
  if constexpr (Rank == 4) LOAD("4d", "{%3, %4, %5, %6}", "r"(at.c[0]), "r"(at.c[1]), "r"(at.c[2]), "r"(at.c[3]));
  if constexpr (Rank == 5)
    LOAD("5d", "{%3, %4, %5, %6, %7}", "r"(at.c[0]), "r"(at.c[1]), "r"(at.c[2]), "r"(at.c[3]), "r"(at.c[4]));
#undef LOAD
}

template <int Rank>
__device__ void issue_store(const CUtensorMap* map, uint32_t src, const Coords& at) {
#define STORE(DIMS, COORDS, ...)                                                                                 \
  asm volatile("cp.async.bulk.tensor." DIMS ".global.shared::cta.bulk_group [%0, " COORDS "], [%1];" ::"l"(map), \
               "r"(src), __VA_ARGS__                                                                             \
               : "memory")
  if constexpr (Rank == 1) STORE("1d", "{%2}", "r"(at.c[0]));
  if constexpr (Rank == 2) STORE("2d", "{%2, %3}", "r"(at.c[0]), "r"(at.c[1]));
  if constexpr (Rank == 3) STORE("3d", "{%2, %3, %4}", "r"(at.c[0]), "r"(at.c[1]), "r"(at.c[2]));
  if constexpr (Rank == 4) STORE("4d", "{%2, %3, %4, %5}", "r"(at.c[0]), "r"(at.c[1]), "r"(at.c[2]), "r"(at.c[3]));
  if constexpr (Rank == 5)
    STORE("5d", "{%2, %3, %4, %5, %6}", "r"(at.c[0]), "r"(at.c[1]), "r"(at.c[2]), "r"(at.c[3]), "r"(at.c[4]));
#undef STORE
}

enum Reduction { kAdd, kMin, kMax, kInc, kDec, kAnd, kOr, kXor };

template <int Op>
__device__ void issue_reduce_2d(const CUtensorMap* map, uint32_t src, const Coords& at) {
#define REDUCE(OP)                                                                                                     \
  asm volatile("cp.reduce.async.bulk.tensor.2d.global.shared::cta." OP ".bulk_group [%0, {%2, %3}], [%1];" ::"l"(map), \
               "r"(src), "r"(at.c[0]), "r"(at.c[1])                                                                    \
               : "memory")
  if constexpr (Op == kAdd) REDUCE("add");
  if constexpr (Op == kMin) REDUCE("min");
  if constexpr (Op == kMax) REDUCE("max");
  if constexpr (Op == kInc) REDUCE("inc");
  if constexpr (Op == kDec) REDUCE("dec");
  if constexpr (Op == kAnd) REDUCE("and");
  if constexpr (Op == kOr) REDUCE("or");
  if constexpr (Op == kXor) REDUCE("xor");
#undef REDUCE
}

__device__ uint32_t* aligned_shared(unsigned char* raw) {
  return reinterpret_cast<uint32_t*>(raw + (1024 - shared_address(raw) % 1024) % 1024);
}

// Shared memory of `words` is poisoned, the box lands at byte `offset`, all of it goes to `out`; out[words] says 1 if
// the barrier completed with `tx_bytes`.
template <int Rank>
__global__ void load_kernel(const __grid_constant__ CUtensorMap map, Coords at, uint32_t offset, uint32_t tx_bytes,
                            uint32_t words, uint32_t* out) {
  extern __shared__ unsigned char raw[];
  __shared__ __align__(8) uint64_t barrier;
  uint32_t* image = aligned_shared(raw);
  for (uint32_t i = threadIdx.x; i < words; i += blockDim.x) image[i] = kPoison;
  if (threadIdx.x == 0) mbarrier_init(shared_address(&barrier), 1);
  fence_proxy_async();
  __syncthreads();
  if (threadIdx.x == 0) {
    mbarrier_arrive_expect_tx(shared_address(&barrier), tx_bytes);
    issue_load<Rank>(shared_address(image) + offset, &map, at, shared_address(&barrier));
  }
  bool done = mbarrier_wait_bounded(shared_address(&barrier), 0);
  __syncthreads();
  for (uint32_t i = threadIdx.x; i < words; i += blockDim.x) out[i] = image[i];
  if (threadIdx.x == 0) out[words] = done;
}

// Two loads on one barrier, then a third in the next phase: phases and shared transaction counts with real copies.
__global__ void two_phase_kernel(const __grid_constant__ CUtensorMap map, uint32_t tx_bytes, uint32_t words,
                                 uint32_t* out) {
  extern __shared__ unsigned char raw[];
  __shared__ __align__(8) uint64_t barrier;
  uint32_t* image = aligned_shared(raw);
  for (uint32_t i = threadIdx.x; i < words; i += blockDim.x) image[i] = kPoison;
  if (threadIdx.x == 0) mbarrier_init(shared_address(&barrier), 1);
  fence_proxy_async();
  __syncthreads();
  uint32_t base = shared_address(image), bar = shared_address(&barrier);
  if (threadIdx.x == 0) {
    mbarrier_arrive_expect_tx(bar, 2 * tx_bytes);
    issue_load<2>(base, &map, Coords{{0, 0}}, bar);
    issue_load<2>(base + tx_bytes, &map, Coords{{8, 4}}, bar);
  }
  mbarrier_wait(bar, 0);
  uint32_t first = image[threadIdx.x];
  __syncthreads();
  if (threadIdx.x == 0) {
    mbarrier_arrive_expect_tx(bar, tx_bytes);
    issue_load<2>(base, &map, Coords{{4, 8}}, bar);
  }
  mbarrier_wait(bar, 1);
  for (uint32_t i = threadIdx.x; i < words; i += blockDim.x) out[i] = image[i];
  out[words + threadIdx.x] = first;
}

__device__ uint32_t stage_shared(unsigned char* raw, const uint32_t* image, uint32_t words) {
  uint32_t* staged = aligned_shared(raw);
  for (uint32_t i = threadIdx.x; i < words; i += blockDim.x) staged[i] = image[i];
  fence_proxy_async();
  __syncthreads();
  return shared_address(staged);
}

__device__ void finish_bulk_group() {
  asm volatile("cp.async.bulk.commit_group;" ::: "memory");
  asm volatile("cp.async.bulk.wait_group 0;" ::: "memory");
}

template <int Rank>
__global__ void store_kernel(const __grid_constant__ CUtensorMap map, Coords at, uint32_t offset, uint32_t words,
                             const uint32_t* image) {
  extern __shared__ unsigned char raw[];
  uint32_t base = stage_shared(raw, image, words);
  if (threadIdx.x == 0) {
    issue_store<Rank>(&map, base + offset, at);
    finish_bulk_group();
  }
}

template <int Op>
__global__ void reduce_kernel(const __grid_constant__ CUtensorMap map, Coords at, uint32_t offset, uint32_t words,
                              const uint32_t* image) {
  extern __shared__ unsigned char raw[];
  uint32_t base = stage_shared(raw, image, words);
  if (threadIdx.x == 0) {
    issue_reduce_2d<Op>(&map, base + offset, at);
    finish_bulk_group();
  }
}

// Same copy with a cache policy operand, a prefetch of the tensor and of the map, and the map in global memory.
__global__ void hint_kernel(const CUtensorMap* map, uint32_t tx_bytes, uint32_t words, uint32_t* out) {
  extern __shared__ unsigned char raw[];
  __shared__ __align__(8) uint64_t barrier;
  uint32_t* image = aligned_shared(raw);
  for (uint32_t i = threadIdx.x; i < words; i += blockDim.x) image[i] = kPoison;
  if (threadIdx.x == 0) mbarrier_init(shared_address(&barrier), 1);
  fence_proxy_async();
  __syncthreads();
  uint32_t base = shared_address(image), bar = shared_address(&barrier);
  if (threadIdx.x == 0) {
    asm volatile("prefetch.tensormap [%0];" ::"l"(map) : "memory");
    asm volatile("cp.async.bulk.prefetch.tensor.2d.L2.global [%0, {%1, %2}];" ::"l"(map), "r"(4), "r"(3) : "memory");
    uint64_t policy;
    asm volatile("createpolicy.fractional.L2::evict_first.b64 %0, 1.0;" : "=l"(policy));
    mbarrier_arrive_expect_tx(bar, tx_bytes);
    asm volatile(
        "cp.async.bulk.tensor.2d.shared::cluster.global.tile.mbarrier::complete_tx::bytes.L2::cache_hint "
        "[%0], [%1, {%3, %4}], [%2], %5;" ::"r"(base),
        "l"(map), "r"(bar), "r"(4), "r"(3), "l"(policy)
        : "memory");
  }
  mbarrier_wait(bar, 0);
  for (uint32_t i = threadIdx.x; i < words; i += blockDim.x) out[i] = image[i];
}

// ---- host -----------------------------------------------------------------------------------------------------------

// Tensor contents: random bits, or small integers in the element type (so that float reductions are exact).
std::vector<uint32_t> random_words(size_t words, uint64_t seed) {
  Random random(seed);
  std::vector<uint32_t> data(words);
  for (uint32_t& w : data) w = random.word();
  return data;
}

uint64_t small_integer_bits(CUtensorMapDataType type, int value) {
  float f = float(value);
  double d = value;
  uint32_t f32;
  uint64_t f64;
  std::memcpy(&f32, &f, 4);
  std::memcpy(&f64, &d, 8);
  switch (type) {
    case CU_TENSOR_MAP_DATA_TYPE_FLOAT32:
    case CU_TENSOR_MAP_DATA_TYPE_FLOAT32_FTZ: return f32;
    case CU_TENSOR_MAP_DATA_TYPE_FLOAT64: return f64;
    case CU_TENSOR_MAP_DATA_TYPE_BFLOAT16: return f32 >> 16;
    case CU_TENSOR_MAP_DATA_TYPE_FLOAT16: {
      if (value == 0) return 0;  // exact for |value| < 1024: rebias the exponent
      uint32_t sign = f32 >> 31, exponent = ((f32 >> 23) & 255) - 127 + 15;
      return sign << 15 | exponent << 10 | (f32 >> 13 & 1023);
    }
    default: return uint64_t(int64_t(value));
  }
}

std::vector<uint32_t> small_integers(size_t words, CUtensorMapDataType type, uint64_t seed) {
  Random random(seed);
  std::vector<uint32_t> data(words);
  uint32_t size = element_bytes(type);
  for (size_t i = 0; i < words * 4 / size; ++i) {
    uint64_t bits = small_integer_bits(type, int(random.below(41)) - 20);
    std::memcpy(reinterpret_cast<char*>(data.data()) + i * size, &bits, size);
  }
  return data;
}

// Encodes, or prints the refusal as the case's result.
bool encoded(CUtensorMap* map, const TensorSpec& spec, void* address) {
  CUresult result = encode(map, spec, address);
  if (result == CUDA_SUCCESS) return true;
  std::printf("%s: encode refused %d\n", g_case.c_str(), int(result));
  return false;
}

template <int Rank>
void launch_load(const CUtensorMap& map, const Coords& at, uint32_t offset, uint32_t tx, uint32_t words,
                 uint32_t* out) {
  uint32_t shared = words * 4 + 1024;
  allow_shared(load_kernel<Rank>, shared);
  load_kernel<Rank><<<1, 64, shared>>>(map, at, offset, tx, words, out);
}

void load(const std::string& name, TensorSpec spec, Coords at, uint32_t offset = 0,
          const std::vector<uint32_t>* contents = nullptr) {
  if (!begin(name)) return;
  pack_strides(spec);
  std::vector<uint32_t> data =
      contents ? *contents : random_words((tensor_bytes(spec) + 3) / 4, fnv(name.data(), name.size()));
  data.resize((data.size() + 3) / 4 * 4);
  Buffer<uint32_t> global(data);
  CUtensorMap map;
  if (!encoded(&map, spec, global.get())) return;
  uint32_t words = (offset + shared_bytes(spec) + 256 + 1023) / 1024 * 256;
  Buffer<uint32_t> out(words + 1);
  uint32_t tx = box_bytes(spec);
  if (spec.rank == 1) launch_load<1>(map, at, offset, tx, words, out.get());
  if (spec.rank == 2) launch_load<2>(map, at, offset, tx, words, out.get());
  if (spec.rank == 3) launch_load<3>(map, at, offset, tx, words, out.get());
  if (spec.rank == 4) launch_load<4>(map, at, offset, tx, words, out.get());
  if (spec.rank == 5) launch_load<5>(map, at, offset, tx, words, out.get());
  sync();
  std::vector<uint32_t> result = out.download();
  bool done = result.back() != 0;
  result.pop_back();
  if (!done) g_case += " incomplete";
  print_bulk(result, 4, 2);
}

template <int Rank>
void launch_store(const CUtensorMap& map, const Coords& at, uint32_t offset, uint32_t words, const uint32_t* image) {
  uint32_t shared = words * 4 + 1024;
  allow_shared(store_kernel<Rank>, shared);
  store_kernel<Rank><<<1, 64, shared>>>(map, at, offset, words, image);
}

void store(const std::string& name, TensorSpec spec, Coords at, uint32_t offset = 0) {
  if (!begin(name)) return;
  pack_strides(spec);
  Buffer<uint32_t> global((tensor_bytes(spec) + 15) / 16 * 4);
  global.fill(0xA5);
  CUtensorMap map;
  if (!encoded(&map, spec, global.get())) return;
  uint32_t words = (offset + shared_bytes(spec) + 1023) / 1024 * 256;
  Buffer<uint32_t> image(random_words(words, fnv(name.data(), name.size())));
  if (spec.rank == 1) launch_store<1>(map, at, offset, words, image.get());
  if (spec.rank == 2) launch_store<2>(map, at, offset, words, image.get());
  if (spec.rank == 3) launch_store<3>(map, at, offset, words, image.get());
  if (spec.rank == 4) launch_store<4>(map, at, offset, words, image.get());
  if (spec.rank == 5) launch_store<5>(map, at, offset, words, image.get());
  sync();
  print_bulk(global.download(), 4, 2);
}

template <int Op>
void reduce(const std::string& name, TensorSpec spec, Coords at, bool random_bits = false) {
  if (!begin(name)) return;
  pack_strides(spec);
  uint64_t seed = fnv(name.data(), name.size());
  size_t global_words = (tensor_bytes(spec) + 15) / 16 * 4;
  uint32_t words = (shared_bytes(spec) + 1023) / 1024 * 256;
  Buffer<uint32_t> global(random_bits ? random_words(global_words, seed)
                                      : small_integers(global_words, spec.type, seed));
  Buffer<uint32_t> image(random_bits ? random_words(words, seed + 1) : small_integers(words, spec.type, seed + 1));
  CUtensorMap map;
  if (!encoded(&map, spec, global.get())) return;
  uint32_t shared = words * 4 + 1024;
  reduce_kernel<Op><<<1, 64, shared>>>(map, at, 0, words, image.get());
  sync();
  print_bulk(global.download(), 8, 2);
}

TensorSpec spec2(CUtensorMapDataType type, uint64_t d0, uint64_t d1, uint32_t b0, uint32_t b1,
                 CUtensorMapSwizzle swizzle = CU_TENSOR_MAP_SWIZZLE_NONE) {
  TensorSpec spec;
  spec.type = type;
  spec.rank = 2;
  spec.dims[0] = d0;
  spec.dims[1] = d1;
  spec.box[0] = b0;
  spec.box[1] = b1;
  spec.swizzle = swizzle;
  return spec;
}

constexpr CUtensorMapDataType kSizes[] = {CU_TENSOR_MAP_DATA_TYPE_UINT8, CU_TENSOR_MAP_DATA_TYPE_BFLOAT16,
                                          CU_TENSOR_MAP_DATA_TYPE_FLOAT32, CU_TENSOR_MAP_DATA_TYPE_UINT64};
constexpr CUtensorMapSwizzle kSwizzles[] = {CU_TENSOR_MAP_SWIZZLE_NONE, CU_TENSOR_MAP_SWIZZLE_32B,
                                            CU_TENSOR_MAP_SWIZZLE_64B, CU_TENSOR_MAP_SWIZZLE_128B};

void ranks_and_sizes() {
  for (auto type : kSizes) {
    uint32_t size = element_bytes(type);
    for (uint32_t rank = 1; rank <= 5; ++rank) {
      TensorSpec spec;
      spec.type = type;
      spec.rank = rank;
      const uint64_t dims[5] = {64 / size + 16 / size, 7, 6, 5, 4};
      const uint32_t box[5] = {32 / size, 4, 3, 2, 2};
      for (uint32_t i = 0; i < rank; ++i) {
        spec.dims[i] = dims[i];
        spec.box[i] = box[i];
      }
      std::string tail = "-" + std::to_string(rank) + "d-" + type_name(type);
      const int unit = 16 / int(size);  // dimension 0 moves in steps of 16 bytes
      load("load-inside" + tail, spec, Coords{{unit, 2, 1, 2, 1}});
      load("load-corner" + tail, spec, Coords{{-unit, -1, -1, -1, -1}});
      load("load-far-corner" + tail, spec, Coords{{int(dims[0]) - unit, 5, 4, 4, 3}});
      store("store-inside" + tail, spec, Coords{{unit, 2, 1, 2, 1}});
      store("store-far-corner" + tail, spec, Coords{{int(dims[0]) - unit, 5, 4, 4, 3}});
    }
  }
}

void swizzles() {
  for (auto swizzle : kSwizzles) {
    uint32_t span = swizzle == CU_TENSOR_MAP_SWIZZLE_128B ? 128 : swizzle == CU_TENSOR_MAP_SWIZZLE_64B ? 64 : 32;
    for (auto type : kSizes) {
      uint32_t size = element_bytes(type);
      for (uint32_t inner : {span, span / 2}) {
        for (uint32_t rows : {1u, 8u, 20u}) {
          TensorSpec spec = spec2(type, 256 / size, 40, inner / size, rows, swizzle);
          std::string tail = "-" + swizzle_name(swizzle) + "-" + type_name(type) + "-" + std::to_string(inner) + "x" +
                             std::to_string(rows);
          load("load-swizzle" + tail, spec, Coords{{16 / int(size), 3}});
          if (rows == 20) store("store-swizzle" + tail, spec, Coords{{16 / int(size), 3}});
        }
      }
    }
    // The pattern follows the shared address, not the tile: offsets inside the 1024-byte period.
    for (uint32_t offset : {128u, 256u, 384u, 512u, 896u, 1024u}) {
      TensorSpec spec = spec2(CU_TENSOR_MAP_DATA_TYPE_BFLOAT16, 128, 40, span / 2, 12, swizzle);
      std::string tail = "-" + swizzle_name(swizzle) + "-at" + std::to_string(offset);
      load("load-swizzle" + tail, spec, Coords{{8, 5}}, offset);
      store("store-swizzle" + tail, spec, Coords{{8, 5}}, offset);
    }
    // The usual GEMM and attention tiles, and a 3D box with rows of one swizzle span.
    if (swizzle == CU_TENSOR_MAP_SWIZZLE_128B) {
      load("load-tile-64x128-bf16", spec2(CU_TENSOR_MAP_DATA_TYPE_BFLOAT16, 192, 256, 64, 128, swizzle),
           Coords{{64, 64}});
      store("store-tile-64x64-bf16", spec2(CU_TENSOR_MAP_DATA_TYPE_BFLOAT16, 192, 128, 64, 64, swizzle),
            Coords{{64, 32}});
    }
    TensorSpec spec;
    spec.type = CU_TENSOR_MAP_DATA_TYPE_BFLOAT16;
    spec.rank = 3;
    spec.dims[0] = 80, spec.dims[1] = 9, spec.dims[2] = 7;
    spec.box[0] = span / 2, spec.box[1] = 5, spec.box[2] = 4;
    spec.swizzle = swizzle;
    load("load-swizzle-3d-" + swizzle_name(swizzle), spec, Coords{{8, 6, 5}});
    store("store-swizzle-3d-" + swizzle_name(swizzle), spec, Coords{{8, 6, 5}});
  }
}

void out_of_bounds() {
  for (int x : {-40, -8, -4, 0, 16, 20, 1000}) {
    for (int y : {-12, -5, 0, 9, 12, -2147483647 - 1, 2147483647}) {
      TensorSpec spec = spec2(CU_TENSOR_MAP_DATA_TYPE_FLOAT32, 20, 12, 8, 6);
      std::string tail = "-x" + std::to_string(x) + "-y" + std::to_string(y);
      load("load-outside" + tail, spec, Coords{{x, y}});
      if (x >= 0 && y >= 0) store("store-outside" + tail, spec, Coords{{x, y}});
    }
  }
  for (auto type :
       {CU_TENSOR_MAP_DATA_TYPE_FLOAT16, CU_TENSOR_MAP_DATA_TYPE_BFLOAT16, CU_TENSOR_MAP_DATA_TYPE_FLOAT32,
        CU_TENSOR_MAP_DATA_TYPE_FLOAT32_FTZ, CU_TENSOR_MAP_DATA_TYPE_TFLOAT32, CU_TENSOR_MAP_DATA_TYPE_FLOAT64}) {
    const int unit = 16 / int(element_bytes(type));
    TensorSpec spec = spec2(type, 32, 12, 8, 6);
    spec.fill = CU_TENSOR_MAP_FLOAT_OOB_FILL_NAN_REQUEST_ZERO_FMA;
    load("load-nan-fill-" + type_name(type), spec, Coords{{-unit, -1}});
    load("load-nan-fill-far-" + type_name(type), spec, Coords{{32 - unit, 9}});
    // All of the box outside: only the fill value shows.
    load("load-nan-fill-only-" + type_name(type), spec, Coords{{40, 0}});
  }
  // A swizzled box that hangs over, and a box larger than the tensor.
  for (auto swizzle : kSwizzles) {
    uint32_t span = swizzle == CU_TENSOR_MAP_SWIZZLE_128B ? 128 : swizzle == CU_TENSOR_MAP_SWIZZLE_64B ? 64 : 32;
    TensorSpec spec = spec2(CU_TENSOR_MAP_DATA_TYPE_BFLOAT16, 72, 10, span / 2, 16, swizzle);
    load("load-overhang-" + swizzle_name(swizzle), spec, Coords{{56, -3}});
    store("store-overhang-" + swizzle_name(swizzle), spec, Coords{{56, 3}});
    load("load-overhang-left-" + swizzle_name(swizzle), spec, Coords{{-8, 2}});
  }
  load("load-box-larger", spec2(CU_TENSOR_MAP_DATA_TYPE_FLOAT32, 4, 3, 8, 8), Coords{{-4, -2}});
  store("store-box-larger", spec2(CU_TENSOR_MAP_DATA_TYPE_FLOAT32, 4, 3, 8, 8), Coords{{0, 1}});
  load("load-1-element-rows", spec2(CU_TENSOR_MAP_DATA_TYPE_BFLOAT16, 1, 9, 8, 4), Coords{{0, 2}});
  // dims[0] that is not a multiple of 16 bytes: the row's padding is outside.
  load("load-odd-width", spec2(CU_TENSOR_MAP_DATA_TYPE_BFLOAT16, 13, 9, 16, 4), Coords{{0, 2}});
  store("store-odd-width", spec2(CU_TENSOR_MAP_DATA_TYPE_BFLOAT16, 13, 9, 16, 4), Coords{{0, 2}});
}

void strides() {
  for (uint32_t step0 : {1u, 2u})
    for (uint32_t step1 : {1u, 2u, 3u}) {
      TensorSpec spec = spec2(CU_TENSOR_MAP_DATA_TYPE_FLOAT32, 40, 20, 8, 7);
      spec.steps[0] = step0;
      spec.steps[1] = step1;
      std::string tail = "-" + std::to_string(step0) + "x" + std::to_string(step1);
      load("load-steps" + tail, spec, Coords{{4, 2}});
      load("load-steps-outside" + tail, spec, Coords{{-4, -2}});
      load("load-steps-far" + tail, spec, Coords{{36, 17}});
      store("store-steps" + tail, spec, Coords{{4, 2}});
      store("store-steps-far" + tail, spec, Coords{{36, 17}});
    }
  // Padded and overlapping rows: the stride is the map's, not the width's.
  TensorSpec padded = spec2(CU_TENSOR_MAP_DATA_TYPE_UINT16, 24, 16, 8, 8);
  padded.strides[0] = 112;
  load("load-padded-rows", padded, Coords{{8, 5}});
  store("store-padded-rows", padded, Coords{{8, 5}});
  TensorSpec broadcast;
  broadcast.type = CU_TENSOR_MAP_DATA_TYPE_FLOAT32;
  broadcast.rank = 3;
  broadcast.dims[0] = 16, broadcast.dims[1] = 8, broadcast.dims[2] = 3;
  broadcast.strides[0] = 64, broadcast.strides[1] = 16;
  broadcast.box[0] = 4, broadcast.box[1] = 2, broadcast.box[2] = 3;
  std::vector<uint32_t> planes = random_words(256, 79);
  load("load-overlapping-planes", broadcast, Coords{{0, 1, 0}}, 0, &planes);
}

// The float types do more than move bits: flush denormals, round to tf32.
void float_types() {
  std::vector<uint32_t> words = {0x00000001, 0x807FFFFF, 0x00400000, 0x80000000, 0x3F800001, 0x3F801000,
                                 0x3F801001, 0x3F803000, 0x3F802FFF, 0x7F7FFFFF, 0x7F800000, 0xFF800000,
                                 0x7F800001, 0x7FC12345, 0xFFFFFFFF, 0x00800000, 0x3F800FFF, 0xBF801000,
                                 0xBF803000, 0x7F7FE000, 0x00001000, 0x00000FFF, 0x3FFFFFFF, 0x12345678};
  for (auto type : {CU_TENSOR_MAP_DATA_TYPE_FLOAT32, CU_TENSOR_MAP_DATA_TYPE_FLOAT32_FTZ,
                    CU_TENSOR_MAP_DATA_TYPE_TFLOAT32, CU_TENSOR_MAP_DATA_TYPE_TFLOAT32_FTZ}) {
    TensorSpec spec;
    spec.type = type;
    spec.dims[0] = words.size();
    spec.box[0] = words.size();
    if (!begin("load-values-" + type_name(type))) continue;
    Buffer<uint32_t> global(words), out(256 + 1);
    CUtensorMap map;
    if (!encoded(&map, spec, global.get())) continue;
    launch_load<1>(map, Coords{}, 0, box_bytes(spec), 256, out.get());
    sync();
    auto result = out.download();
    result.resize(words.size());
    print_all(result);
  }
  for (auto type : {CU_TENSOR_MAP_DATA_TYPE_FLOAT32, CU_TENSOR_MAP_DATA_TYPE_FLOAT32_FTZ,
                    CU_TENSOR_MAP_DATA_TYPE_TFLOAT32, CU_TENSOR_MAP_DATA_TYPE_TFLOAT32_FTZ}) {
    TensorSpec spec;
    spec.type = type;
    spec.dims[0] = words.size();
    spec.box[0] = words.size();
    if (!begin("store-values-" + type_name(type))) continue;
    auto image_words = words;
    image_words.resize(256);
    Buffer<uint32_t> global(words.size()), image(image_words);
    CUtensorMap map;
    if (!encoded(&map, spec, global.get())) continue;
    launch_store<1>(map, Coords{}, 0, 256, image.get());
    sync();
    print_all(global.download());
  }
}

template <int Op>
void reduce_types(const char* op, std::initializer_list<CUtensorMapDataType> types) {
  for (auto type : types)
    reduce<Op>("reduce-" + std::string(op) + "-" + type_name(type), spec2(type, 32, 12, 16, 8),
               Coords{{32 - 32 / int(element_bytes(type)), 6}});
}

void reductions() {
  const auto u32 = CU_TENSOR_MAP_DATA_TYPE_UINT32, s32 = CU_TENSOR_MAP_DATA_TYPE_INT32,
             u64 = CU_TENSOR_MAP_DATA_TYPE_UINT64, s64 = CU_TENSOR_MAP_DATA_TYPE_INT64,
             f32 = CU_TENSOR_MAP_DATA_TYPE_FLOAT32, f16 = CU_TENSOR_MAP_DATA_TYPE_FLOAT16,
             bf16 = CU_TENSOR_MAP_DATA_TYPE_BFLOAT16;
  reduce_types<kAdd>("add", {u32, s32, u64, f32, f16, bf16});
  reduce_types<kMin>("min", {u32, s32, u64, s64, f16, bf16});
  reduce_types<kMax>("max", {u32, s32, u64, s64, f16, bf16});
  reduce_types<kInc>("inc", {u32});
  reduce_types<kDec>("dec", {u32});
  reduce_types<kAnd>("and", {u32, s32, u64, s64});
  reduce_types<kOr>("or", {u32, s32, u64, s64});
  reduce_types<kXor>("xor", {u32, s32, u64, s64});
  reduce<kAdd>("reduce-add-random-bits-f32", spec2(f32, 32, 12, 16, 8), Coords{{4, 2}}, true);
  reduce<kAdd>("reduce-add-random-bits-f16", spec2(f16, 32, 12, 16, 8), Coords{{8, 2}}, true);
  reduce<kAdd>("reduce-add-random-bits-bf16", spec2(bf16, 32, 12, 16, 8), Coords{{8, 2}}, true);
  reduce<kMin>("reduce-min-random-bits-f16", spec2(f16, 32, 12, 16, 8), Coords{{8, 2}}, true);
  reduce<kAdd>("reduce-add-swizzle-f32", spec2(f32, 64, 12, 32, 9, CU_TENSOR_MAP_SWIZZLE_128B), Coords{{40, 5}});
}

void other() {
  if (begin("load-two-phases")) {
    TensorSpec spec = spec2(CU_TENSOR_MAP_DATA_TYPE_FLOAT32, 32, 16, 8, 8);
    pack_strides(spec);
    Buffer<uint32_t> global(random_words(tensor_bytes(spec) / 4, 77)), out(256 + 64);
    CUtensorMap map;
    if (encoded(&map, spec, global.get())) {
      two_phase_kernel<<<1, 64, 2048>>>(map, box_bytes(spec), 256, out.get());
      sync();
      print_bulk(out.download(), 4, 5);
    }
  }
  if (begin("load-cache-hint-map-in-global")) {
    TensorSpec spec = spec2(CU_TENSOR_MAP_DATA_TYPE_FLOAT32, 32, 16, 8, 8);
    pack_strides(spec);
    spec.promotion = CU_TENSOR_MAP_L2_PROMOTION_L2_256B;
    Buffer<uint32_t> global(random_words(tensor_bytes(spec) / 4, 78)), out(256);
    std::vector<CUtensorMap> map(1);
    if (encoded(&map[0], spec, global.get())) {
      Buffer<CUtensorMap> device_map(map);
      hint_kernel<<<1, 64, 2048>>>(device_map.get(), box_bytes(spec), 256, out.get());
      sync();
      print_bulk(out.download(), 4, 4);
    }
  }
}

int main(int argc, char** argv) {
  init(argc, argv);
  CHECK_CUDA(cudaFree(nullptr));
  ranks_and_sizes();
  swizzles();
  out_of_bounds();
  strides();
  float_types();
  reductions();
  other();
}
