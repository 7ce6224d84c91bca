#include "ptxbench/numeric/half.h"

#include <algorithm>
#include <cmath>

#include "ptxbench/base/check.h"

namespace ptxbench::numeric {
namespace {

constexpr uint16_t kHalfNan = 0x7fff;

float widen(Format format, uint16_t bits) { return format == Format::kBF16 ? bf16_to_f32(bits) : f16_to_f32(bits); }

bool is_denormal_f16(uint16_t bits) { return (bits & 0x7c00) == 0 && (bits & 0x03ff) != 0; }

float operand(Format format, uint16_t bits, const HalfOptions& options) {
  if (options.ftz && format == Format::kF16 && is_denormal_f16(bits)) bits &= 0x8000;
  return widen(format, bits);
}

// a + b rounded to odd: the exact sum if binary64 holds it, else the neighbour with an odd last bit. Rounding that again to a
// format with at least two bits less gives the correctly rounded exact sum; rounding a + b to nearest twice would not.
double add_to_odd(double a, double b) {
  const double sum = a + b;
  if (!std::isfinite(sum)) return sum;
  const double b_part = sum - a;
  const double rest = (a - (sum - b_part)) + (b - b_part);  // exact: sum + rest = a + b
  auto bits = std::bit_cast<uint64_t>(sum);
  if (rest == 0 || (bits & 1) != 0) return sum;
  bits = (rest > 0) == (sum > 0) ? bits + 1 : bits - 1;
  return std::bit_cast<double>(bits);
}

uint16_t finish(Format format, double value, const HalfOptions& options) {
  if (options.sat) {
    if (std::isnan(value)) return 0;
    value = std::clamp(value, 0.0, 1.0);
    if (value == 0) value = 0.0;  // -0 too
  }
  uint16_t bits = static_cast<uint16_t>(encode(format, value, {.relu = options.relu}));
  if (options.ftz && format == Format::kF16 && is_denormal_f16(bits)) bits &= 0x8000;
  return bits;
}

// The same from a sum or product of two operands, rounded to binary32. Its 24 bits are at least 2 * 11 + 2, so that rounding twice is
// rounding once (Figueroa, "When is double rounding innocuous?"); denormals of bf16 have the exponents of binary32's.
uint16_t finish_single(Format format, float value, const HalfOptions& options) {
  if (options.sat || options.ftz || options.relu) return finish(format, value, options);
  return format == Format::kBF16 ? f32_to_bf16(value) : f32_to_f16(value);
}

}  // namespace

float f16_to_f32(uint16_t bits) {
  const uint32_t sign = uint32_t{bits & 0x8000u} << 16;
  const uint32_t magnitude = bits & 0x7fffu;
  if (magnitude >= 0x7c00) {
    const uint32_t quiet = magnitude > 0x7c00 ? 0x00400000u : 0;
    return std::bit_cast<float>(sign | 0x7f800000u | (magnitude & 0x3ff) << 13 | quiet);
  }
  // The pattern read as binary32 is the value divided by 2^112; the product is exact, denormals included.
  const float value = std::bit_cast<float>(magnitude << 13) * 0x1p112f;
  return std::bit_cast<float>(sign | std::bit_cast<uint32_t>(value));
}

uint16_t f32_to_bf16(float value) {
  const auto bits = std::bit_cast<uint32_t>(value);
  if ((bits & 0x7fffffffu) > 0x7f800000u) return kHalfNan;
  return static_cast<uint16_t>((bits + 0x7fff + ((bits >> 16) & 1)) >> 16);
}

uint16_t f32_to_f16(float value) {
  const auto bits = std::bit_cast<uint32_t>(value);
  const auto sign = static_cast<uint16_t>(bits >> 16 & 0x8000);
  const uint32_t magnitude = bits & 0x7fffffffu;
  if (magnitude > 0x7f800000u) return kHalfNan;
  if (magnitude >= 0x477ff000u) return sign | 0x7c00;  // 65520 and more round to infinity
  if (magnitude < 0x38800000u) {
    // Below 2^-14: adding 1/2 leaves the value in units of 2^-24, rounded by the host's addition, in the low mantissa bits.
    const float shifted = std::bit_cast<float>(magnitude) + 0.5f;
    return static_cast<uint16_t>(sign | (std::bit_cast<uint32_t>(shifted) - 0x3f000000u));
  }
  const uint32_t rounded = magnitude - 0x38000000u + 0xfff + ((magnitude >> 13) & 1);
  return static_cast<uint16_t>(sign | rounded >> 13);
}

uint16_t f32_to_half(Format format, float value, ConvertOptions options) {
  PTXBENCH_CHECK(format == Format::kF16 || format == Format::kBF16, "a 16-bit format is wanted");
  return static_cast<uint16_t>(encode(format, value, options));
}

uint32_t f32_to_tf32(float value, ConvertOptions options) {
  const auto bits = std::bit_cast<uint32_t>(value);
  if (std::isnan(value) && options.rounding == Rounding::kNearestAway) return bits & 0xffffe000u;
  return encode(Format::kTF32, value, options);
}

uint16_t half_add(Format format, uint16_t a, uint16_t b, HalfOptions options) {
  return finish_single(format, operand(format, a, options) + operand(format, b, options), options);
}

uint16_t half_sub(Format format, uint16_t a, uint16_t b, HalfOptions options) {
  return finish_single(format, operand(format, a, options) - operand(format, b, options), options);
}

uint16_t half_mul(Format format, uint16_t a, uint16_t b, HalfOptions options) {
  return finish_single(format, operand(format, a, options) * operand(format, b, options), options);
}

uint16_t half_fma(Format format, uint16_t a, uint16_t b, uint16_t c, HalfOptions options) {
  // The product has at most 22 bits: exact in binary64.
  const double product = static_cast<double>(operand(format, a, options)) * operand(format, b, options);
  return finish(format, add_to_odd(product, operand(format, c, options)), options);
}

}  // namespace ptxbench::numeric
