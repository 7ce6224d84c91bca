// Warp-level matrix instructions: mma.sync of all types that Hopper has in hardware, ldmatrix, stmatrix, movmatrix.
// Whole-number inputs with exact hashes; then chosen and random sums of the float types, as in wgmma_numerics.cu.
#include <cmath>

#include "capture.h"
#include "wgmma_kernels.h"  // the integer encoders

using namespace capture;

// ---- mma.sync -------------------------------------------------------------------------------------------------------

struct MmaArgs {
  const uint32_t *a, *b, *c;  // [batch][lane][registers]
  uint32_t* d;
};

#define LANE_POINTERS(NA, NB, NC)                                                     \
  uint32_t at = blockIdx.x * 32 + threadIdx.x;                                        \
  const uint32_t *a = args.a + at * NA, *b = args.b + at * NB, *c = args.c + at * NC; \
  uint32_t* d = args.d + at * NC;                                                     \
  uint32_t r[NC];                                                                     \
  (void)a, (void)b, (void)c
#define STORE_D(NC) \
  for (int i = 0; i < NC; ++i) d[i] = r[i]

#define MMA_4_2_4(NAME, OP)                                                                                           \
  __global__ void NAME(MmaArgs args) {                                                                                \
    LANE_POINTERS(4, 2, 4);                                                                                           \
    asm volatile("{.reg .b32 x<4>;\n\tmma.sync.aligned." OP                                                           \
                 " {x0,x1,x2,x3}, {%4,%5,%6,%7}, {%8,%9}, {%10,%11,%12,%13};\n\t"                                     \
                 "mov.b32 %0, x0; mov.b32 %1, x1; mov.b32 %2, x2; mov.b32 %3, x3;}"                                   \
                 : "=r"(r[0]), "=r"(r[1]), "=r"(r[2]), "=r"(r[3])                                                     \
                 : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "r"(b[0]), "r"(b[1]), "r"(c[0]), "r"(c[1]), "r"(c[2]), \
                   "r"(c[3]));                                                                                        \
    STORE_D(4);                                                                                                       \
  }
#define MMA_2_1_4(NAME, OP)                                                                      \
  __global__ void NAME(MmaArgs args) {                                                           \
    LANE_POINTERS(2, 1, 4);                                                                      \
    asm volatile("{.reg .b32 x<4>;\n\tmma.sync.aligned." OP                                      \
                 " {x0,x1,x2,x3}, {%4,%5}, {%6}, {%7,%8,%9,%10};\n\t"                            \
                 "mov.b32 %0, x0; mov.b32 %1, x1; mov.b32 %2, x2; mov.b32 %3, x3;}"              \
                 : "=r"(r[0]), "=r"(r[1]), "=r"(r[2]), "=r"(r[3])                                \
                 : "r"(a[0]), "r"(a[1]), "r"(b[0]), "r"(c[0]), "r"(c[1]), "r"(c[2]), "r"(c[3])); \
    STORE_D(4);                                                                                  \
  }
#define MMA_4_2_2(NAME, OP)                                                                                 \
  __global__ void NAME(MmaArgs args) {                                                                      \
    LANE_POINTERS(4, 2, 2);                                                                                 \
    asm volatile("mma.sync.aligned." OP " {%0,%1}, {%2,%3,%4,%5}, {%6,%7}, {%8,%9};"                        \
                 : "=r"(r[0]), "=r"(r[1])                                                                   \
                 : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "r"(b[0]), "r"(b[1]), "r"(c[0]), "r"(c[1])); \
    STORE_D(2);                                                                                             \
  }
#define MMA_2_1_2(NAME, OP)                                                 \
  __global__ void NAME(MmaArgs args) {                                      \
    LANE_POINTERS(2, 1, 2);                                                 \
    asm volatile("mma.sync.aligned." OP " {%0,%1}, {%2,%3}, {%4}, {%5,%6};" \
                 : "=r"(r[0]), "=r"(r[1])                                   \
                 : "r"(a[0]), "r"(a[1]), "r"(b[0]), "r"(c[0]), "r"(c[1]));  \
    STORE_D(2);                                                             \
  }
#define MMA_1_1_2(NAME, OP)                                              \
  __global__ void NAME(MmaArgs args) {                                   \
    LANE_POINTERS(1, 1, 2);                                              \
    asm volatile("mma.sync.aligned." OP " {%0,%1}, {%2}, {%3}, {%4,%5};" \
                 : "=r"(r[0]), "=r"(r[1])                                \
                 : "r"(a[0]), "r"(b[0]), "r"(c[0]), "r"(c[1]));          \
    STORE_D(2);                                                          \
  }

MMA_4_2_4(k16_bf16, "m16n8k16.row.col.f32.bf16.bf16.f32")
MMA_4_2_4(k16_f16, "m16n8k16.row.col.f32.f16.f16.f32")
MMA_4_2_2(k16_f16f16, "m16n8k16.row.col.f16.f16.f16.f16")
MMA_2_1_4(k8_bf16, "m16n8k8.row.col.f32.bf16.bf16.f32")
MMA_2_1_4(k8_f16, "m16n8k8.row.col.f32.f16.f16.f32")
MMA_2_1_2(k8_f16f16, "m16n8k8.row.col.f16.f16.f16.f16")
MMA_4_2_4(k8_tf32, "m16n8k8.row.col.f32.tf32.tf32.f32")
MMA_2_1_4(k4_tf32, "m16n8k4.row.col.f32.tf32.tf32.f32")
MMA_4_2_4(k32_e4m3, "m16n8k32.row.col.f32.e4m3.e4m3.f32")
MMA_4_2_4(k32_e4m3_e5m2, "m16n8k32.row.col.f32.e4m3.e5m2.f32")
MMA_4_2_4(k32_s8, "m16n8k32.row.col.s32.s8.s8.s32")
MMA_4_2_4(k32_s8u8, "m16n8k32.row.col.s32.s8.u8.s32")
MMA_4_2_4(k32_u8_sat, "m16n8k32.row.col.satfinite.s32.u8.u8.s32")
MMA_2_1_4(k16_s8, "m16n8k16.row.col.s32.s8.s8.s32")
MMA_1_1_2(m8_k16_s8, "m8n8k16.row.col.s32.s8.s8.s32")
MMA_4_2_4(k256_b1_and, "m16n8k256.row.col.s32.b1.b1.s32.and.popc")
MMA_4_2_4(k256_b1_xor, "m16n8k256.row.col.s32.b1.b1.s32.xor.popc")

enum Contents { kPairsBf16, kPairsF16, kTf32, kE4m3, kE5m2, kRandomBits };
enum Accumulators { kFloat, kHalf, kInteger };

struct Entry {
  const char* name;
  void (*kernel)(MmaArgs);
  uint32_t na, nb, nc;
  Contents a, b;
  Accumulators c;
};
const Entry kEntries[] = {
    {"m16n8k16-bf16", k16_bf16, 4, 2, 4, kPairsBf16, kPairsBf16, kFloat},
    {"m16n8k16-f16", k16_f16, 4, 2, 4, kPairsF16, kPairsF16, kFloat},
    {"m16n8k16-f16f16", k16_f16f16, 4, 2, 2, kPairsF16, kPairsF16, kHalf},
    {"m16n8k8-bf16", k8_bf16, 2, 1, 4, kPairsBf16, kPairsBf16, kFloat},
    {"m16n8k8-f16", k8_f16, 2, 1, 4, kPairsF16, kPairsF16, kFloat},
    {"m16n8k8-f16f16", k8_f16f16, 2, 1, 2, kPairsF16, kPairsF16, kHalf},
    {"m16n8k8-tf32", k8_tf32, 4, 2, 4, kTf32, kTf32, kFloat},
    {"m16n8k4-tf32", k4_tf32, 2, 1, 4, kTf32, kTf32, kFloat},
    {"m16n8k32-e4m3", k32_e4m3, 4, 2, 4, kE4m3, kE4m3, kFloat},
    {"m16n8k32-e4m3-e5m2", k32_e4m3_e5m2, 4, 2, 4, kE4m3, kE5m2, kFloat},
    {"m16n8k32-s8", k32_s8, 4, 2, 4, kRandomBits, kRandomBits, kInteger},
    {"m16n8k32-s8-u8", k32_s8u8, 4, 2, 4, kRandomBits, kRandomBits, kInteger},
    {"m16n8k32-u8-satfinite", k32_u8_sat, 4, 2, 4, kRandomBits, kRandomBits, kInteger},
    {"m16n8k16-s8", k16_s8, 2, 1, 4, kRandomBits, kRandomBits, kInteger},
    {"m8n8k16-s8", m8_k16_s8, 1, 1, 2, kRandomBits, kRandomBits, kInteger},
    {"m16n8k256-b1-and", k256_b1_and, 4, 2, 4, kRandomBits, kRandomBits, kInteger},
    {"m16n8k256-b1-xor", k256_b1_xor, 4, 2, 4, kRandomBits, kRandomBits, kInteger},
};

std::vector<uint32_t> fragments(size_t words, Contents format, uint64_t seed) {
  if (format == kPairsBf16) return integer_pairs(words, kBf16, 12, seed);
  if (format == kPairsF16) return integer_pairs(words, kF16, 6, seed);
  Random random(seed);
  std::vector<uint32_t> data(words);
  for (uint32_t& w : data) {
    if (format == kRandomBits) {
      w = random.word();
    } else if (format == kTf32) {
      w = integer_f32(int(random.below(41)) - 20);
    } else {
      w = 0;
      for (int i = 0; i < 4; ++i) {
        uint32_t bits = integer_f32(int(random.below(9)) - 4), byte = 0;
        uint32_t exponent = (bits >> 23 & 255) - 127;
        if (bits << 1)
          byte = format == kE4m3 ? bits >> 31 << 7 | (exponent + 7) << 3 | (bits >> 20 & 7)
                                 : bits >> 31 << 7 | (exponent + 15) << 2 | (bits >> 21 & 3);
        w |= (byte & 255) << (8 * i);
      }
    }
  }
  return data;
}

std::vector<uint32_t> run(const Entry& e, uint32_t batch, const std::vector<uint32_t>& a,
                          const std::vector<uint32_t>& b, const std::vector<uint32_t>& c) {
  Buffer<uint32_t> da(a), db(b), dc(c), d(batch * 32 * e.nc);
  d.fill(0xEE);
  e.kernel<<<batch, 32>>>(MmaArgs{da.get(), db.get(), dc.get(), d.get()});
  sync();
  return d.download();
}

void exact() {
  const uint32_t batch = 16;
  for (const Entry& e : kEntries) {
    if (!begin(std::string("mma-") + e.name)) continue;
    auto a = fragments(batch * 32 * e.na, e.a, 1), b = fragments(batch * 32 * e.nb, e.b, 2);
    auto c = e.c == kFloat  ? integer_floats(batch * 32 * e.nc, 1000, 3)
             : e.c == kHalf ? integer_pairs(batch * 32 * e.nc, kF16, 100, 3)
                            : fragments(batch * 32 * e.nc, kRandomBits, 3);
    print_bulk(run(e, batch, a, b, c), 4, 4);
  }
}

// f64 has registers of its own width.
__global__ void f64_kernel(const double* a, const double* b, const double* c, double* d) {
  uint32_t at = blockIdx.x * 32 + threadIdx.x;
  double r0, r1;
  asm volatile("mma.sync.aligned.m8n8k4.row.col.f64.f64.f64.f64 {%0,%1}, {%2}, {%3}, {%4,%5};"
               : "=d"(r0), "=d"(r1)
               : "d"(a[at]), "d"(b[at]), "d"(c[2 * at]), "d"(c[2 * at + 1]));
  d[2 * at] = r0, d[2 * at + 1] = r1;
}

void f64() {
  for (int whole : {1, 0}) {
    if (!begin(whole ? "mma-m8n8k4-f64" : "mma-m8n8k4-f64-random")) continue;
    Random random(9);
    const uint32_t lanes = 4 * 32;
    std::vector<double> a(lanes), b(lanes), c(2 * lanes);
    auto value = [&] { return whole ? int(random.below(201)) - 100 : (double(random.next()) * 0x1p-64 - 0.5); };
    for (auto* v : {&a, &b, &c})
      for (double& x : *v) x = value();
    Buffer<double> da(a), db(b), dc(c), d(2 * lanes);
    f64_kernel<<<4, 32>>>(da.get(), db.get(), dc.get(), d.get());
    sync();
    auto result = d.download();
    std::vector<uint64_t> bits(result.size());
    std::memcpy(bits.data(), result.data(), bits.size() * 8);
    print_bulk(bits, 4, 4);
  }
}

// ---- sums -----------------------------------------------------------------------------------------------------------

// Row m of A holds +1 and -1 and 2^-m; B is one except b[1] = 2^-10. Batches of 16 rows.
void align(const Entry& e, uint32_t k_size, bool f16) {
  for (bool in_c : {false, true}) {
    if (!begin(std::string(in_c ? "mma-align-big-in-c-" : "mma-align-products-") + e.name)) continue;
    const uint32_t batch = 2;
    std::vector<uint32_t> a(batch * 32 * e.na), b(batch * 32 * e.nb), c(batch * 32 * e.nc);
    auto half = [&](int exponent, bool negative) -> uint32_t {
      if (!f16) return uint32_t(negative) << 15 | uint32_t(127 + exponent) << 7;
      return uint32_t(negative) << 15 | (exponent >= -14   ? uint32_t(exponent + 15) << 10
                                         : exponent >= -24 ? 1u << (exponent + 24)
                                                           : 0u);
    };
    auto put_a = [&](uint32_t row, uint32_t k, uint32_t bits) {
      uint32_t lane = row % 8 * 4 + k % 8 / 2, reg = row % 16 / 8 + 2 * (k / 8);
      a[(row / 16 * 32 + lane) * e.na + reg] |= bits << (k % 2 * 16);
    };
    for (uint32_t g = 0; g < batch; ++g)
      for (uint32_t lane = 0; lane < 32; ++lane)
        for (uint32_t reg = 0; reg < e.nb; ++reg)
          b[(g * 32 + lane) * e.nb + reg] = half(0, false) | half(lane % 4 == 0 && reg == 0 ? -10 : 0, false)
                                                                 << 16;  // k = 1 is lane%4 == 0, high half
    for (uint32_t m = 0; m < 32; ++m) {
      put_a(m, 1, half(10 - int(m), false));
      put_a(m, 2, half(0, true));
      if (in_c) {
        c[(m / 16 * 32 + m % 8 * 4) * e.nc + m % 16 / 8 * 2] = 0x3F800000;
      } else {
        put_a(m, k_size - 1, half(0, false));
      }
    }
    auto d = run(e, batch, a, b, c);
    std::vector<uint32_t> column;
    for (uint32_t m = 0; m < 32; ++m) column.push_back(d[(m / 16 * 32 + m % 8 * 4) * e.nc + m % 16 / 8 * 2]);
    print_all(column);
  }
}

void random_sums(const Entry& e, bool f16) {
  for (uint32_t spread : {2u, 12u}) {
    if (!begin(std::string("mma-random-") + e.name + "-spread" + std::to_string(spread))) continue;
    const uint32_t batch = 4;
    Random random(spread);
    auto half = [&]() -> uint32_t {
      uint32_t exponent = random.below(spread), word = random.word();
      return f16 ? (word & 0x83FF) | (15 - spread / 2 + exponent) << 10
                 : (word & 0x807F) | (127 - spread / 2 + exponent) << 7;
    };
    std::vector<uint32_t> a(batch * 32 * e.na), b(batch * 32 * e.nb), c(batch * 32 * e.nc);
    for (auto* v : {&a, &b})
      for (uint32_t& w : *v) {
        uint32_t low = half();
        w = low | half() << 16;
      }
    for (uint32_t& w : c) {
      if (e.c == kHalf) {
        uint32_t low = half();
        w = low | half() << 16;
      } else {
        uint32_t word = random.word();
        w = (word & 0x807FFFFF) | (127 - spread + random.below(2 * spread)) << 23;
      }
    }
    print_bulk(run(e, batch, a, b, c), 32, 8);
  }
}

// ---- ldmatrix, stmatrix, movmatrix ----------------------------------------------------------------------------------

constexpr uint32_t kMatrixWords = 2048;

#define LDMATRIX(NAME, OP, OUTS, ...)                                                   \
  __global__ void NAME(const uint32_t* image, const uint32_t* offsets, uint32_t* out) { \
    __shared__ __align__(128) uint32_t shared[kMatrixWords];                            \
    for (uint32_t i = threadIdx.x; i < kMatrixWords; i += 32) shared[i] = image[i];     \
    __syncwarp();                                                                       \
    uint32_t r[4] = {};                                                                 \
    asm volatile("ldmatrix.sync.aligned.m8n8." OP ".shared.b16 " OUTS ";"               \
                 : __VA_ARGS__                                                          \
                 : "r"(shared_address(shared) + offsets[threadIdx.x])                   \
                 : "memory");                                                           \
    for (int i = 0; i < 4; ++i) out[threadIdx.x * 4 + i] = r[i];                        \
  }
LDMATRIX(ld_x1, "x1", "{%0}, [%1]", "=r"(r[0]))
LDMATRIX(ld_x2, "x2", "{%0,%1}, [%2]", "=r"(r[0]), "=r"(r[1]))
LDMATRIX(ld_x4, "x4", "{%0,%1,%2,%3}, [%4]", "=r"(r[0]), "=r"(r[1]), "=r"(r[2]), "=r"(r[3]))
LDMATRIX(ld_x1_trans, "x1.trans", "{%0}, [%1]", "=r"(r[0]))
LDMATRIX(ld_x2_trans, "x2.trans", "{%0,%1}, [%2]", "=r"(r[0]), "=r"(r[1]))
LDMATRIX(ld_x4_trans, "x4.trans", "{%0,%1,%2,%3}, [%4]", "=r"(r[0]), "=r"(r[1]), "=r"(r[2]), "=r"(r[3]))

#define STMATRIX(NAME, OP, INS, ...)                                                        \
  __global__ void NAME(const uint32_t* registers, const uint32_t* offsets, uint32_t* out) { \
    __shared__ __align__(128) uint32_t shared[kMatrixWords];                                \
    for (uint32_t i = threadIdx.x; i < kMatrixWords; i += 32) shared[i] = 0xA5A5A5A5u;      \
    __syncwarp();                                                                           \
    const uint32_t* r = registers + threadIdx.x * 4;                                        \
    asm volatile("stmatrix.sync.aligned.m8n8." OP ".shared.b16 [%0], " INS                  \
                 ";" ::"r"(shared_address(shared) + offsets[threadIdx.x]),                  \
                 __VA_ARGS__                                                                \
                 : "memory");                                                               \
    __syncwarp();                                                                           \
    for (uint32_t i = threadIdx.x; i < kMatrixWords; i += 32) out[i] = shared[i];           \
  }
STMATRIX(st_x1, "x1", "{%1}", "r"(r[0]))
STMATRIX(st_x2, "x2", "{%1,%2}", "r"(r[0]), "r"(r[1]))
STMATRIX(st_x4, "x4", "{%1,%2,%3,%4}", "r"(r[0]), "r"(r[1]), "r"(r[2]), "r"(r[3]))
STMATRIX(st_x1_trans, "x1.trans", "{%1}", "r"(r[0]))
STMATRIX(st_x2_trans, "x2.trans", "{%1,%2}", "r"(r[0]), "r"(r[1]))
STMATRIX(st_x4_trans, "x4.trans", "{%1,%2,%3,%4}", "r"(r[0]), "r"(r[1]), "r"(r[2]), "r"(r[3]))

__global__ void movmatrix_kernel(const uint32_t* in, uint32_t* out) {
  uint32_t r;
  asm volatile("movmatrix.sync.aligned.m8n8.trans.b16 %0, %1;" : "=r"(r) : "r"(in[threadIdx.x]));
  out[threadIdx.x] = r;
}

struct MatrixEntry {
  const char* name;
  void (*kernel)(const uint32_t*, const uint32_t*, uint32_t*);
};

void matrices() {
  const MatrixEntry loads[] = {{"x1", ld_x1},
                               {"x2", ld_x2},
                               {"x4", ld_x4},
                               {"x1-trans", ld_x1_trans},
                               {"x2-trans", ld_x2_trans},
                               {"x4-trans", ld_x4_trans}};
  const MatrixEntry stores[] = {{"x1", st_x1},
                                {"x2", st_x2},
                                {"x4", st_x4},
                                {"x1-trans", st_x1_trans},
                                {"x2-trans", st_x2_trans},
                                {"x4-trans", st_x4_trans}};
  const char* patterns[] = {"packed", "pitch80", "reversed", "swizzled", "shared-row"};
  Random random(21);
  std::vector<uint32_t> image(kMatrixWords);
  for (uint32_t& w : image) w = random.word();
  for (int pattern = 0; pattern < 5; ++pattern) {
    std::vector<uint32_t> offsets(32);
    for (uint32_t lane = 0; lane < 32; ++lane) {
      const uint32_t at[] = {lane * 16, lane * 80, (31 - lane) * 16, lane * 128 + (lane % 8 * 16), lane / 8 * 16};
      offsets[lane] = at[pattern];
    }
    for (const auto& e : loads) {
      if (!begin(std::string("ldmatrix-") + e.name + "-" + patterns[pattern])) continue;
      Buffer<uint32_t> in(image), where(offsets), out(128);
      e.kernel<<<1, 32>>>(in.get(), where.get(), out.get());
      sync();
      print_bulk(out.download(), 8, 4);
    }
    if (pattern == 4) continue;  // rows that coincide would race
    for (const auto& e : stores) {
      if (!begin(std::string("stmatrix-") + e.name + "-" + patterns[pattern])) continue;
      Buffer<uint32_t> in(image), where(offsets), out(kMatrixWords);
      e.kernel<<<1, 32>>>(in.get(), where.get(), out.get());
      sync();
      print_bulk(out.download(), 8, 4);
    }
  }
  if (begin("movmatrix-trans")) {
    image.resize(32);
    Buffer<uint32_t> in(image), out(32);
    movmatrix_kernel<<<1, 32>>>(in.get(), out.get());
    sync();
    print_all(out.download());
  }
}

int main(int argc, char** argv) {
  init(argc, argv);
  CHECK_CUDA(cudaFree(nullptr));
  exact();
  f64();
  align(kEntries[0], 16, false);
  align(kEntries[1], 16, true);
  align(kEntries[3], 8, false);
  align(kEntries[4], 8, true);
  random_sums(kEntries[0], false);
  random_sums(kEntries[1], true);
  random_sums(kEntries[2], true);
  random_sums(kEntries[3], false);
  random_sums(kEntries[4], true);
  random_sums(kEntries[5], true);
  matrices();
}
