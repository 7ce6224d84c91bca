// wgmma of the other types: tf32, e4m3, e5m2, s8, u8, b1. Whole-number inputs with exact hashes, then the sums of the 8-bit
// floats and tf32 probed as in wgmma_numerics.cu.
#include <cmath>

#include "wgmma_kernels.h"

using namespace capture;

#define FLOATS(N, R32, R16)                                      \
  WGMMA_SS(tf32_n##N, N, R32, "k8.f32.tf32.tf32", ", 1, 1")      \
  WGMMA_RS(tf32_rs_n##N, N, R32, "k8.f32.tf32.tf32", ", 1, -1")  \
  WGMMA_SS(e4e4_n##N, N, R32, "k32.f32.e4m3.e4m3", ", 1, 1")     \
  WGMMA_SS(e4e5_n##N, N, R32, "k32.f32.e4m3.e5m2", ", 1, 1")     \
  WGMMA_SS(e5e4_n##N, N, R32, "k32.f32.e5m2.e4m3", ", -1, 1")    \
  WGMMA_SS(e5e5_n##N, N, R32, "k32.f32.e5m2.e5m2", ", 1, 1")     \
  WGMMA_RS(e4e4_rs_n##N, N, R32, "k32.f32.e4m3.e4m3", ", 1, 1")  \
  WGMMA_SS(e4e4_f16_n##N, N, R16, "k32.f16.e4m3.e4m3", ", 1, 1") \
  WGMMA_SS(s8s8_n##N, N, R32, "k32.s32.s8.s8", "")               \
  WGMMA_SS(s8u8_n##N, N, R32, "k32.s32.s8.u8", "")               \
  WGMMA_SS(u8s8_n##N, N, R32, "k32.s32.u8.s8", "")               \
  WGMMA_SS(u8u8_n##N, N, R32, "k32.s32.u8.u8", "")               \
  WGMMA_SS(s8s8_sat_n##N, N, R32, "k32.s32.s8.s8.satfinite", "") \
  WGMMA_RS(u8u8_rs_n##N, N, R32, "k32.s32.u8.u8", "")            \
  WGMMA_SS(b1_n##N, N, R32, "k256.s32.b1.b1.and.popc", "")
#define FOR_CHOSEN_N(X) X(8, 4, 2) X(96, 48, 24) X(256, 128, 64)
FOR_CHOSEN_N(FLOATS)

enum Contents { kTf32, kE4m3, kE5m2, kBits };

struct Entry {
  const char* name;
  uint32_t n, registers;
  Contents a, b;
  bool f16_accumulators, integer;
  WgmmaKernel kernel;
};
#define ROWS(N, R32, R16)                                                    \
  {"tf32", N, R32, kTf32, kTf32, false, false, tf32_n##N},                   \
      {"tf32-rs-neg-b", N, R32, kTf32, kTf32, false, false, tf32_rs_n##N},   \
      {"e4m3-e4m3", N, R32, kE4m3, kE4m3, false, false, e4e4_n##N},          \
      {"e4m3-e5m2", N, R32, kE4m3, kE5m2, false, false, e4e5_n##N},          \
      {"e5m2-e4m3-neg-a", N, R32, kE5m2, kE4m3, false, false, e5e4_n##N},    \
      {"e5m2-e5m2", N, R32, kE5m2, kE5m2, false, false, e5e5_n##N},          \
      {"e4m3-e4m3-rs", N, R32, kE4m3, kE4m3, false, false, e4e4_rs_n##N},    \
      {"e4m3-e4m3-f16", N, R16, kE4m3, kE4m3, true, false, e4e4_f16_n##N},   \
      {"s8-s8", N, R32, kBits, kBits, false, true, s8s8_n##N},               \
      {"s8-u8", N, R32, kBits, kBits, false, true, s8u8_n##N},               \
      {"u8-s8", N, R32, kBits, kBits, false, true, u8s8_n##N},               \
      {"u8-u8", N, R32, kBits, kBits, false, true, u8u8_n##N},               \
      {"s8-s8-satfinite", N, R32, kBits, kBits, false, true, s8s8_sat_n##N}, \
      {"u8-u8-rs", N, R32, kBits, kBits, false, true, u8u8_rs_n##N},         \
      {"b1", N, R32, kBits, kBits, false, true, b1_n##N},
const Entry kEntries[] = {FOR_CHOSEN_N(ROWS)};

// |value| <= 8 in the format (exact in both 8-bit floats up to 8).
uint8_t integer_fp8(int value, Contents format) {
  uint32_t bits = integer_f32(value);
  if (value == 0) return 0;
  uint32_t exponent = (bits >> 23 & 255) - 127;
  return format == kE4m3 ? uint8_t(bits >> 31 << 7 | (exponent + 7) << 3 | (bits >> 20 & 7))
                         : uint8_t(bits >> 31 << 7 | (exponent + 15) << 2 | (bits >> 21 & 3));
}

std::vector<uint32_t> contents(size_t words, Contents format, uint64_t seed) {
  Random random(seed);
  std::vector<uint32_t> data(words);
  for (uint32_t& w : data) {
    if (format == kBits) {
      w = random.word();
    } else if (format == kTf32) {
      w = integer_f32(int(random.below(41)) - 20) | random.below(8192);  // the low 13 bits must not count
    } else {
      w = 0;
      for (int i = 0; i < 4; ++i) {
        int value = int(random.below(9)) - 4;
        w |= uint32_t(integer_fp8(value, format)) << (8 * i);
      }
    }
  }
  return data;
}

constexpr uint32_t kAWords = 2048, kBWords = 8192;

void exact() {
  for (const Entry& e : kEntries) {
    for (uint32_t swizzle : {0u, 1u}) {
      if (!begin(std::string(e.name) + "-n" + std::to_string(e.n) + (swizzle ? "-sw128" : "-none"))) continue;
      auto image = contents(kAWords, e.a, 1), b = contents(kBWords, e.b, 2);
      image.insert(image.end(), b.begin(), b.end());
      std::vector<uint32_t> c;
      if (e.integer) {
        Random random(3);
        for (uint32_t i = 0; i < 128 * e.registers; ++i) c.push_back(random.word() >> 1);
        for (size_t i = 0; i < c.size(); i += 2) c[i] = ~c[i];
      } else {
        c = e.f16_accumulators ? integer_pairs(128 * e.registers, kF16, 100, 4)
                               : integer_floats(128 * e.registers, 1000, 4);
      }
      uint32_t leading = swizzle ? 16 : 128, stride = swizzle ? 1024 : 256;
      print_bulk(run_wgmma(e.kernel, e.registers, image, {0, leading, stride, 0, swizzle},
                           {kAWords * 4, leading, stride, 0, swizzle}, 1, c, contents(512, e.a, 5)),
                 2, 2);
    }
  }
}

// ---- sums of the 8-bit floats and tf32 ------------------------------------------------------------------------------

// D[m][0] = sum_k a[m][k] * b[k] + c[m]; K-major, no swizzle, `size` bytes an element.
std::vector<uint32_t> evaluate(WgmmaKernel kernel, uint32_t size, const std::vector<std::vector<uint32_t>>& a,
                               const std::vector<uint32_t>& b, const std::vector<uint32_t>& c) {
  std::vector<uint32_t> image(8192 / 4), accumulators(512);
  auto* bytes = reinterpret_cast<unsigned char*>(image.data());
  uint32_t per_core = 16 / size;
  auto offset = [&](uint32_t row, uint32_t k) {
    return row / 8 * 256 + k / per_core * 128 + row % 8 * 16 + k % per_core * size;
  };
  for (uint32_t m = 0; m < a.size(); ++m)
    for (uint32_t k = 0; k < a[m].size(); ++k) std::memcpy(bytes + offset(m, k), &a[m][k], size);
  for (uint32_t n = 0; n < 8; ++n)
    for (uint32_t k = 0; k < b.size(); ++k) std::memcpy(bytes + 4096 + offset(n, k), &b[k], size);
  for (uint32_t m = 0; m < c.size(); ++m) accumulators[(m / 16 * 32 + m % 8 * 4) * 4 + (m % 16 / 8) * 2] = c[m];
  auto d = run_wgmma(kernel, 4, image, {0, 128, 256, 0, 0}, {4096, 128, 256, 0, 0}, 1, accumulators);
  std::vector<uint32_t> column;
  for (uint32_t m = 0; m < a.size(); ++m) column.push_back(d[(m / 16 * 32 + m % 8 * 4) * 4 + (m % 16 / 8) * 2]);
  return column;
}

// 2^exponent in the format; false if it has no such value.
bool power(Contents format, int exponent, bool negative, uint32_t* bits) {
  if (format == kTf32) {
    *bits = uint32_t(negative) << 31 | uint32_t(127 + exponent) << 23;
    return true;
  }
  int bias = format == kE4m3 ? 7 : 15, mantissa = format == kE4m3 ? 3 : 2, least = 1 - bias;
  if (exponent > 8 || exponent < least - mantissa) return false;
  uint32_t magnitude = exponent >= least ? uint32_t(exponent + bias) << mantissa : 1u << (exponent - least + mantissa);
  *bits = uint32_t(negative) << 7 | magnitude;
  return true;
}

struct Probe {
  const char* name;
  Contents format;
  uint32_t size, k;
  WgmmaKernel kernel;
};
const Probe kProbes[] = {
    {"e4m3", kE4m3, 1, 32, e4e4_n8}, {"e5m2", kE5m2, 1, 32, e5e5_n8}, {"tf32", kTf32, 4, 8, tf32_n8}};

void probes() {
  for (const Probe& p : kProbes) {
    uint32_t one, minus, low;
    power(p.format, 0, false, &one);
    power(p.format, 0, true, &minus);
    for (int where = 0; where < 3; ++where) {  // big addends: both products; accumulator and product; small in C
      const char* names[] = {"align-products-", "align-big-in-c-", "align-small-in-c-"};
      if (!begin(std::string(names[where]) + p.name)) continue;
      std::vector<std::vector<uint32_t>> a;
      std::vector<uint32_t> b(p.k, one), c;
      power(p.format, p.format == kE4m3 ? -9 : -14, false, &low);
      b[1] = low;
      for (int m = 0; m < 32; ++m) {
        std::vector<uint32_t> row(p.k, 0);
        uint32_t small = 0;
        if (where != 2 && !power(p.format, -m + (p.format == kE4m3 ? 9 : 14), m & 1, &small)) small = 0;
        row[0] = where == 1 ? 0 : one, row[1] = small, row[2] = minus;
        a.push_back(row);
        c.push_back(where == 1 ? 0x3F800000u : where == 2 ? uint32_t(127 - m) << 23 | uint32_t(m & 1) << 31 : 0);
      }
      print_all(evaluate(p.kernel, p.size, a, b, c));
    }
    if (begin(std::string("group-") + p.name)) {
      // +big at p, -big at q, small at r.
      std::vector<std::vector<uint32_t>> a;
      std::vector<uint32_t> b(p.k, one), c;
      for (uint32_t i = 0; i < 64; ++i) {
        std::vector<uint32_t> row(p.k, 0);
        uint32_t x = i % p.k, y = (i * 5 + 1 + i / p.k) % p.k, r = (i * 11 + 2) % p.k;
        if (x == y || x == r || y == r) continue;
        power(p.format, p.format == kE4m3 ? 8 : p.format == kE5m2 ? 8 : 13, false, &row[x]);
        power(p.format, p.format == kE4m3 ? 8 : p.format == kE5m2 ? 8 : 13, true, &row[y]);
        power(p.format, p.format == kE4m3 ? -8 : p.format == kE5m2 ? -15 : -12, false, &row[r]);
        a.push_back(row);
        c.push_back(0);
      }
      print_all(evaluate(p.kernel, p.size, a, b, c));
    }
    for (int variant = 0; variant < 2; ++variant) {
      if (!begin(std::string("random-") + p.name + (variant ? "-c" : ""))) continue;
      Random random(31 + variant);
      auto value = [&] {
        uint32_t w = random.word();
        if (p.format == kTf32) return (w & 0x807FFFFF) | (120 + random.below(14)) << 23;
        if (p.format == kE4m3) return (w & 0x7F) == 0x7F ? w & 0x80 : w & 0xFF;
        return (w & 0x7C) == 0x7C ? w & 0x83 : w & 0xFF;
      };
      std::vector<std::vector<uint32_t>> a(64, std::vector<uint32_t>(p.k));
      std::vector<uint32_t> b(p.k), c(64);
      for (auto& row : a)
        for (auto& v : row) v = value();
      for (auto& v : b) v = value();
      if (variant)
        for (auto& v : c) v = (random.word() & 0x807FFFFF) | (120 + random.below(24)) << 23;
      print_all(evaluate(p.kernel, p.size, a, b, c));
    }
  }
}

int main(int argc, char** argv) {
  init(argc, argv);
  CHECK_CUDA(cudaFree(nullptr));
  exact();
  probes();
}
