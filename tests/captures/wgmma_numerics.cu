// How the tensor core adds: each output D[m][n] of one m64n8k16 is an experiment of its own, 16 products and an accumulator
// chosen on the host. Raw f32 (or f16) bits are recorded; numerics.md says what was learned from them.
//
// A lies K-major without swizzle at byte 0, B at byte 4096; experiments use column n = 0 unless they say otherwise.
#include <cmath>

#include "wgmma_kernels.h"

using namespace capture;

WGMMA_SS(bf16_f32, 8, 4, "k16.f32.bf16.bf16", ", 1, 1, 0, 0")
WGMMA_SS(f16_f32, 8, 4, "k16.f32.f16.f16", ", 1, 1, 0, 0")
WGMMA_SS(f16_f16, 8, 2, "k16.f16.f16.f16", ", 1, 1, 0, 0")
WGMMA_RS(bf16_f32_rs, 8, 4, "k16.f32.bf16.bf16", ", 1, 1, 0")

enum Kind { kBf16F32, kF16F32, kF16F16, kBf16F32Rs };
const char* kKindNames[] = {"bf16", "f16", "f16f16", "bf16-rs"};

// 64 experiments: D[m] = sum_k a[m][k] * b[k] + c[m], in raw bits of the kind's types.
struct Experiment {
  uint16_t a[64][16] = {};
  uint16_t b[16][8] = {};  // [k][n]
  uint32_t c[64][8] = {};  // f32 bits, or f16 bits for kF16F16
};

uint32_t f32_bits(float f) {
  uint32_t bits;
  std::memcpy(&bits, &f, 4);
  return bits;
}

// Exact only for values that the format holds; the experiments use no others.
uint16_t half_bits(Kind kind, double value) {
  uint32_t bits = f32_bits(float(value));
  if (kind == kBf16F32 || kind == kBf16F32Rs) return uint16_t(bits >> 16);
  if (value == 0) return uint16_t(bits >> 16 & 0x8000);
  int exponent = int(bits >> 23 & 255) - 127;
  uint32_t mantissa = (bits & 0x7FFFFF) | 0x800000;
  if (exponent >= -14) return uint16_t(bits >> 31 << 15 | uint32_t(exponent + 15) << 10 | (mantissa >> 13 & 1023));
  return uint16_t(bits >> 31 << 15 | mantissa >> (13 + (-14 - exponent)));
}

// Byte offset of element (row, k) in the packed unswizzled K-major layout: 8x8 core matrices, k next, then rows.
uint32_t core_offset(uint32_t row, uint32_t k) { return row / 8 * 256 + k / 8 * 128 + row % 8 * 16 + k % 8 * 2; }

// Returns D as [m][n] in 32-bit words (f16 results in the low half).
std::vector<uint32_t> evaluate(Kind kind, const Experiment& e) {
  std::vector<uint32_t> image(8192 / 4);
  auto* bytes = reinterpret_cast<unsigned char*>(image.data());
  for (uint32_t m = 0; m < 64; ++m)
    for (uint32_t k = 0; k < 16; ++k) std::memcpy(bytes + core_offset(m, k), &e.a[m][k], 2);
  for (uint32_t n = 0; n < 8; ++n)
    for (uint32_t k = 0; k < 16; ++k) std::memcpy(bytes + 4096 + core_offset(n, k), &e.b[k][n], 2);
  bool f16 = kind == kF16F16;
  uint32_t registers = f16 ? 2 : 4;
  std::vector<uint32_t> c(128 * registers), a(512);
  for (uint32_t thread = 0; thread < 128; ++thread) {
    uint32_t row = thread / 32 * 16 + thread % 32 / 4, column = thread % 4 * 2;
    for (uint32_t half = 0; half < 2; ++half) {
      const uint32_t* from = &e.c[row + 8 * half][column];
      if (f16) {
        c[thread * 2 + half] = (from[0] & 0xFFFF) | from[1] << 16;
      } else {
        c[thread * 4 + 2 * half] = from[0];
        c[thread * 4 + 2 * half + 1] = from[1];
      }
      for (uint32_t k_half = 0; k_half < 2; ++k_half) {
        const uint16_t* pair = &e.a[row + 8 * half][column + 8 * k_half];
        a[thread * 4 + k_half * 2 + half] = pair[0] | uint32_t{pair[1]} << 16;
      }
    }
  }
  const WgmmaKernel kernels[] = {bf16_f32, f16_f32, f16_f16, bf16_f32_rs};
  Descriptor da{0, 128, 256, 0, 0}, db{4096, 128, 256, 0, 0};
  auto d = run_wgmma(kernels[kind], registers, image, da, db, 1, c, a);
  std::vector<uint32_t> result(64 * 8);
  for (uint32_t thread = 0; thread < 128; ++thread) {
    uint32_t row = thread / 32 * 16 + thread % 32 / 4, column = thread % 4 * 2;
    for (uint32_t half = 0; half < 2; ++half)
      for (uint32_t i = 0; i < 2; ++i)
        result[(row + 8 * half) * 8 + column + i] =
            f16 ? d[thread * 2 + half] >> (16 * i) & 0xFFFF : d[thread * 4 + 2 * half + i];
  }
  return result;
}

void print_column(Kind kind, const Experiment& e, uint32_t rows = 64) {
  auto all = evaluate(kind, e);
  if (kind == kF16F16) {
    std::vector<uint16_t> out;
    for (uint32_t m = 0; m < rows; ++m) out.push_back(uint16_t(all[m * 8]));
    return print_all(out);
  }
  std::vector<uint32_t> out;
  for (uint32_t m = 0; m < rows; ++m) out.push_back(all[m * 8]);
  print_all(out);
}

std::string name(const char* what, Kind kind) { return std::string(what) + "-" + kKindNames[kind]; }

// Products in row m: (position, value) pairs against b = 1 everywhere.
struct Term {
  int k;
  double value;
};

void set_row(Experiment& e, Kind kind, int m, std::initializer_list<Term> terms) {
  for (const Term& t : terms) e.a[m][t.k] = half_bits(kind, t.value);
}

void ones(Experiment& e, Kind kind) {
  for (auto& row : e.b)
    for (auto& v : row) v = half_bits(kind, 1);
}

uint32_t accumulator(Kind kind, double value) {
  return kind == kF16F16 ? half_bits(kind, value) : f32_bits(float(value));
}

// b[k] = 2^shift for odd k, 1 for even: lets an odd position hold values down to 2^-24 * 2^shift also in f16.
void split_scale(Experiment& e, Kind kind, int shift) {
  for (int k = 0; k < 16; ++k)
    for (auto& v : e.b[k]) v = half_bits(kind, k % 2 ? std::ldexp(1.0, shift) : 1.0);
}

// How many bits below the largest addend survive: 1 + 2^-m - 1 (m = row), the big ones in products or in C.
void alignment(Kind kind) {
  const char* names[] = {"align-products", "align-negative-small", "align-big-in-c", "align-small-in-c"};
  for (int variant = 0; variant < 4; ++variant) {
    if (!begin(name(names[variant], kind))) continue;
    Experiment e;
    split_scale(e, kind, -10);
    for (int m = 0; m < 34; ++m) {
      double sign = variant == 1 ? -1 : 1;
      double small = std::ldexp(sign, -m);
      // Position 1 has b = 2^-10, so a holds small * 2^10.
      if (variant != 3) e.a[m][1] = half_bits(kind, std::ldexp(small, 10));
      if (variant == 3) e.c[m][0] = accumulator(kind, kind == kF16F16 && m > 24 ? 0 : small);
      if (variant == 2) {
        e.c[m][0] = accumulator(kind, 1);
        set_row(e, kind, m, {{2, -1}});
      } else {
        set_row(e, kind, m, {{0, 1}, {2, -1}});
      }
    }
    print_column(kind, e, 34);
  }
}

// Where the sum is rounded, and how: sums near 1 whose exact value ends below the last bit.
void rounding(Kind kind) {
  if (begin(name("round-result", kind))) {
    Experiment e;
    split_scale(e, kind, -12);
    // Row m: +-(1 + i * 2^-25 + j * 2^-27), in quarter steps of the last f32 bit (b = 2^-12 at odd k).
    for (int m = 0; m < 64; ++m) {
      double sign = m & 32 ? -1 : 1;
      double quarter = std::ldexp(sign, -25 + 12);
      set_row(e, kind, m,
              {{0, sign}, {1, quarter * (m & 7)}, {3, m & 8 ? quarter / 2 : 0}, {5, m & 16 ? -quarter / 4 : 0}});
    }
    print_column(kind, e);
  }
  if (begin(name("round-many-small", kind))) {
    Experiment e;
    split_scale(e, kind, -12);
    // 1 and n equal addends of 2^-s: they vanish one by one, or together reach the result.
    int m = 0;
    for (int s = 23; s <= 26; ++s)
      for (int n : {1, 2, 3, 4, 5, 6, 7, 8}) {
        e.a[m][0] = half_bits(kind, 1);
        for (int i = 0; i < n; ++i) e.a[m][2 * i + 1] = half_bits(kind, std::ldexp(1.0, -s + 12));
        ++m;
      }
    print_column(kind, e, m);
  }
  if (begin(name("round-c-low-bits", kind))) {
    Experiment e;
    ones(e, kind);
    // C with its lowest bits set plus a larger product: what is lost of C, and its sign.
    for (int m = 0; m < 64; ++m) {
      double sign = m & 1 ? -1 : 1;
      uint32_t bits = accumulator(kind, 1.0) | (kind == kF16F16 ? 0x155 : 0x2AAAAB);
      if (m & 2) bits |= kind == kF16F16 ? 0x8000u : 0x80000000u;
      e.c[m][0] = bits;
      set_row(e, kind, m, {{0, sign * std::ldexp(1.0, m / 4)}});
    }
    print_column(kind, e);
  }
}

// Which positions are added together: +2^13 at p, -2^13 at q, a small value at r. If p, q and r share one sum, the small
// value loses its low bits; if p and q cancel in a group that r is not in, it survives whole.
void grouping(Kind kind) {
  for (int r = 0; r < 16; r += 5) {
    if (!begin(name("group", kind) + "-small-at-" + std::to_string(r))) continue;
    Experiment e;
    for (int k = 0; k < 16; ++k)
      for (auto& v : e.b[k]) v = half_bits(kind, k == r ? std::ldexp(1.0, -14) : std::ldexp(1.0, 13));
    int m = 0;
    for (int p = 0; p < 16 && m < 64; ++p)
      for (int q = p + 1; q < 16 && m < 64; q += (p % 3) + 1) {
        if (p == r || q == r) continue;
        set_row(e, kind, m, {{p, 1}, {q, -1}, {r, 1.0 + std::ldexp(1.0, -7)}});
        ++m;
      }
    print_column(kind, e, m);
  }
}

void specials(Kind kind) {
  if (!begin(name("special-values", kind))) return;
  Experiment e;
  ones(e, kind);
  bool bf16 = kind == kBf16F32 || kind == kBf16F32Rs;
  uint16_t inf = bf16 ? 0x7F80 : 0x7C00, nan = bf16 ? 0x7FC1 : 0x7E01, snan = bf16 ? 0x7F81 : 0x7C01;
  uint16_t largest = bf16 ? 0x7F7F : 0x7BFF, negative = 0x8000;
  uint32_t c_inf = kind == kF16F16 ? 0x7C00 : 0x7F800000, c_nan = kind == kF16F16 ? 0x7E55 : 0x7FC12345;
  uint32_t c_negative = kind == kF16F16 ? 0x8000 : 0x80000000;
  int m = 0;
  e.a[m++][0] = inf;
  e.a[m++][0] = inf | negative;
  e.a[m][0] = inf, e.a[m++][1] = inf | negative;
  e.a[m++][0] = nan;
  e.a[m++][0] = nan | negative;
  e.a[m++][0] = snan;
  e.c[m++][0] = c_inf;
  e.c[m++][0] = c_inf | c_negative;
  e.c[m++][0] = c_nan;
  e.c[m++][0] = c_nan | c_negative;
  e.a[m][0] = inf, e.c[m++][0] = c_inf | c_negative;
  e.a[m][0] = inf, e.c[m++][0] = c_nan;
  e.c[m++][0] = c_negative;                           // -0 + sixteen +0
  for (int k = 0; k < 16; ++k) e.a[m][k] = negative;  // all addends -0
  e.c[m++][0] = c_negative;
  for (int k = 0; k < 16; ++k) e.a[m][k] = negative;  // -0 products, +0 accumulator
  m++;
  e.a[m][0] = largest, e.a[m++][1] = largest;
  e.a[m][0] = largest, e.a[m++][1] = largest | negative;
  for (int k = 0; k < 16; ++k) e.a[m][k] = largest;
  m++;
  e.a[m][0] = largest, e.c[m++][0] = kind == kF16F16 ? 0x7BFF : 0x7F7FFFFF;
  e.a[m++][0] = 0x0001;  // smallest denormal input
  e.a[m++][0] = 0x8001;
  e.a[m++][0] = bf16 ? 0x007F : 0x03FF;  // largest denormal input
  e.c[m++][0] = 0x00000001;              // denormal accumulators
  e.c[m++][0] = kind == kF16F16 ? 0x03FF : 0x007FFFFF;
  e.c[m++][0] = kind == kF16F16 ? 0x8001 : 0x80000001;
  e.a[m][0] = 0x0001, e.c[m++][0] = 0x00000001;
  e.a[m][0] = 0x0001, e.a[m++][1] = 0x8001;  // exact cancellation
  e.a[m][0] = half_bits(kind, 1), e.a[m][1] = half_bits(kind, -1), ++m;
  e.a[m][0] = half_bits(kind, -1), e.a[m][1] = half_bits(kind, 1), e.c[m++][0] = c_negative;
  e.c[m++][0] = kind == kF16F16 ? 0x7BFF : 0x7F7FFFFF;
  print_column(kind, e, m);
  if (begin(name("special-inf-times-zero", kind))) {
    Experiment z;
    for (int r = 0; r < 6; ++r) z.a[r][0] = r & 1 ? inf | negative : inf;
    z.c[2][0] = z.c[3][0] = accumulator(kind, 1);
    z.c[4][0] = z.c[5][0] = c_inf;
    print_column(kind, z, 6);
  }
  if (begin(name("special-tiny-products", kind))) {
    Experiment t;  // products far below the smallest denormal of the result
    for (auto& row : t.b)
      for (auto& v : row) v = bf16 ? 0x0080 : 0x0001;
    for (int r = 0; r < 40; ++r) {
      t.a[r][0] = bf16 ? uint16_t((r * 4 + 1) << 7 | (r * 5 & 127)) : uint16_t(r << 10 | (r * 29 & 1023));
      if (r % 3 == 0) t.a[r][1] = t.a[r][0];
      if (r % 5 == 0) t.c[r][0] = 0x00000001;
    }
    print_column(kind, t, 40);
  }
}

// Sums on both sides of the largest f32 and of the largest f16.
void overflow(Kind kind) {
  if (!begin(name("overflow", kind))) return;
  Experiment e;
  bool f16 = kind == kF16F16;
  for (auto& row : e.b)
    for (auto& v : row) v = half_bits(kind, f16 ? 1 : std::ldexp(1.0, 12));
  for (int m = 0; m < 32; ++m) {
    double sign = m & 1 ? -1 : 1;
    uint32_t c = f16 ? 0x7BFF : 0x7F7FFFFF;
    e.c[m][0] = sign < 0 ? c | (f16 ? 0x8000u : 0x80000000u) : c;
    if (f16) {
      set_row(e, kind, m, {{0, sign * (m / 2) * 2.0}});
    } else if (kind != kF16F32) {
      set_row(e, kind, m, {{0, sign * std::ldexp(1.0 + (m / 2) % 4 / 4.0, 100 - 12 - (m / 8))}});
    } else {
      set_row(e, kind, m, {{0, sign * (m / 2)}});
    }
  }
  print_column(kind, e, 32);
}

// Random inputs of several spreads: what a bit-exact model must reproduce. Exponent spread grows with `spread`.
void random_inputs(Kind kind, int spread, bool big_c) {
  if (!begin(name("random", kind) + "-spread" + std::to_string(spread) + (big_c ? "-c" : ""))) return;
  Random random(spread * 7 + int(kind) + (big_c ? 1000 : 0));
  bool bf16 = kind == kBf16F32 || kind == kBf16F32Rs;
  auto half = [&] {
    int exponent = spread ? int(random.below(spread)) - spread / 2 : 0;
    uint16_t sign = random.word() & 0x8000;
    return uint16_t(bf16 ? sign | (127 + exponent) << 7 | (random.word() & 127)
                         : sign | (15 + exponent) << 10 | (random.word() & 1023));
  };
  Experiment e;
  for (auto& row : e.a)
    for (auto& v : row) v = half();
  for (auto& row : e.b)
    for (auto& v : row) v = half();
  for (auto& row : e.c)
    for (auto& v : row) {
      int exponent = int(random.below(2 * spread + 1)) - spread + (big_c ? 6 : 0);
      uint32_t word = random.word();
      v = kind == kF16F16 ? half() : (word & 0x807FFFFF) | uint32_t(127 + exponent) << 23;
    }
  auto result = evaluate(kind, e);
  if (kind == kF16F16) {
    std::vector<uint16_t> narrow(result.begin(), result.end());
    return print_bulk(narrow, 32, 8);
  }
  print_bulk(result, 32, 8);
}

int main(int argc, char** argv) {
  init(argc, argv);
  CHECK_CUDA(cudaFree(nullptr));
  for (Kind kind : {kBf16F32, kF16F32, kF16F16, kBf16F32Rs}) {
    alignment(kind);
    rounding(kind);
    grouping(kind);
    specials(kind);
    overflow(kind);
    for (int spread : {0, 4, 8, 12}) {
      random_inputs(kind, spread, false);
      random_inputs(kind, spread, true);
    }
  }
  for (int spread : {24, 40, 60}) random_inputs(kBf16F32, spread, false);
}
