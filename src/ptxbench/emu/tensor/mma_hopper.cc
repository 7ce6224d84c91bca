#include "ptxbench/emu/tensor/mma_hopper.h"

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstddef>

#include "ptxbench/emu/tensor/mma_hopper_avx2.h"

namespace ptxbench::emu {
namespace {

constexpr uint32_t kNan = 0x7fffffff;
constexpr int kNoExponent = -100000;
constexpr double kRoundsToZero = 0x1p-25;  // and all below, as f16

int least_exponent(MmaType type) {
  switch (type) {
    case MmaType::kF16:
    case MmaType::kE5M2: return -14;
    case MmaType::kE4M3: return -6;
    default: return -126;
  }
}

int exponent(double value, int least) { return std::max(std::ilogb(value), least); }

// The sum of addends that are all finite: products are exact in binary64.
uint32_t finite_sum(const HopperSum& sum, const float* a, uint32_t a_stride, const float* b, uint32_t b_stride,
                    float c) {
  int largest = c != 0 ? exponent(c, sum.least_c) : kNoExponent;
  for (uint32_t i = 0; i < sum.k; ++i) {
    const float x = a[i * a_stride], y = b[i * b_stride];
    if (x != 0 && y != 0) largest = std::max(largest, exponent(x, sum.least_a) + exponent(y, sum.least_b));
  }
  if (largest == kNoExponent) return 0;
  const int scale = sum.fraction_bits - largest;
  int64_t total = static_cast<int64_t>(std::ldexp(static_cast<double>(c), scale));
  for (uint32_t i = 0; i < sum.k; ++i) {
    const double product = static_cast<double>(a[i * a_stride]) * b[i * b_stride];
    total += static_cast<int64_t>(std::ldexp(product, scale));
  }
  if (total == 0) return 0;
  const double exact = std::ldexp(static_cast<double>(total), -scale);
  if (sum.f16_result && std::fabs(exact) <= kRoundsToZero) return 0;
  const uint32_t sign = total < 0 ? 0x80000000u : 0;
  if (std::fabs(exact) >= 0x1p128) return sign | 0x7f800000u;
  // Cut the bits of the binary64 value; what is below binary32's denormals is cut by the place of their last bit.
  const int cut = std::max(52 - sum.result_bits, 52 - (std::ilogb(exact) + 149));
  if (cut > 52) return 0;
  const auto bits = std::bit_cast<uint64_t>(exact);
  const uint64_t low = (uint64_t{1} << cut) - 1;
  auto result = std::bit_cast<uint32_t>(static_cast<float>(std::bit_cast<double>(bits & ~low)));
  if (sum.f16_result && (bits & low) != 0) result |= 1;
  return result;
}

}  // namespace

HopperSum hopper_sum(MmaType a, MmaType b, MmaAccumulator accumulator, uint32_t k) {
  HopperSum sum;
  sum.k = k;
  if (a == MmaType::kE4M3 || a == MmaType::kE5M2) sum.fraction_bits = sum.result_bits = 13;
  sum.least_a = least_exponent(a);
  sum.least_b = least_exponent(b);
  if (accumulator == MmaAccumulator::kF16) {
    sum.least_c = -14;
    sum.f16_result = true;
  }
  return sum;
}

uint32_t hopper_dot(const HopperSum& sum, const float* a, uint32_t a_stride, const float* b, uint32_t b_stride,
                    float c) {
  bool positive = std::isinf(c) && c > 0, negative = std::isinf(c) && c < 0;
  if (std::isnan(c)) return kNan;
  for (uint32_t i = 0; i < sum.k; ++i) {
    const float x = a[i * a_stride], y = b[i * b_stride];
    if (std::isfinite(x) && std::isfinite(y)) continue;
    if (std::isnan(x) || std::isnan(y) || x == 0 || y == 0) return kNan;
    (std::signbit(x) != std::signbit(y) ? negative : positive) = true;
  }
  if (positive && negative) return kNan;
  if (positive) return 0x7f800000u;
  if (negative) return 0xff800000u;
  return finite_sum(sum, a, a_stride, b, b_stride, c);
}

void hopper_run(const HopperSum& sum, std::span<const WarpAccumulators> warps, const PanelA& a, const PanelB& b,
                bool clear, numeric::SimdLevel level) {
  if (level >= numeric::SimdLevel::kAvx2) return hopper_run_avx2(sum, warps, a, b, clear);
  for (uint32_t group = 0; group < 2 * warps.size(); ++group) {
    for (uint32_t u = 0; u < b.units; ++u) {
      const PanelB::Unit unit = b.unit(u);
      uint32_t* d = warps[group / 2][u / 2 * 4 + group % 2 * 2 + u % 2];
      for (uint32_t lane = 0; lane < 32; ++lane) {
        float value = clear ? 0.0f : std::bit_cast<float>(d[lane]);
        for (uint32_t k = 0; k < a.k; k += sum.k) {
          value = std::bit_cast<float>(hopper_dot(sum, a.at(group, k) + lane, kGroupFloats,
                                                  unit.start + size_t{k} * unit.stride + lane % 4, unit.stride, value));
        }
        d[lane] = std::bit_cast<uint32_t>(value);
      }
    }
  }
}

}  // namespace ptxbench::emu
