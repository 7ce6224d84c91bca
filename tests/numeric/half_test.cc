// f16 and bf16 arithmetic against exact integers of 128 bits.
#include "ptxbench/numeric/half.h"

#include <gtest/gtest.h>

#include <cmath>
#include <random>
#include <vector>

namespace ptxbench::numeric {
namespace {

__extension__ using Int128 = __int128;

// A finite 16-bit float as mantissa * 2^exponent, from its fields.
struct Exact {
  int mantissa, exponent;
};
Exact split(Format format, uint16_t bits) {
  const int width = format == Format::kF16 ? 10 : 7;
  const int bias = format == Format::kF16 ? 15 : 127;
  const int field = (bits & 0x7fff) >> width;
  int mantissa = bits & ((1 << width) - 1);
  if (field != 0) mantissa |= 1 << width;
  return {(bits & 0x8000) != 0 ? -mantissa : mantissa, std::max(field, 1) - bias - width};
}

// value * 2^exponent, value != 0, to the nearest f16/bf16, ties to even: integer steps only.
uint16_t round_exact(Format format, Int128 value, int exponent) {
  const int width = format == Format::kF16 ? 10 : 7;
  const int bias = format == Format::kF16 ? 15 : 127;
  const uint16_t sign = value < 0 ? 0x8000 : 0;
  auto magnitude = static_cast<Int128>(value < 0 ? -value : value);
  const int lowest = 1 - bias - width;  // exponent of the last place of denormals
  bool sticky = false, half = false;
  while (magnitude >= (Int128{1} << (width + 1)) || exponent < lowest) {
    sticky = sticky || half;
    half = (magnitude & 1) != 0;
    magnitude >>= 1;
    ++exponent;
  }
  while (magnitude < (Int128{1} << width) && exponent > lowest) {
    magnitude <<= 1;
    --exponent;
  }
  if (half && (sticky || (magnitude & 1) != 0)) ++magnitude;
  if (magnitude == (Int128{1} << (width + 1))) {
    magnitude >>= 1;
    ++exponent;
  }
  const bool normal = magnitude >= (Int128{1} << width);
  const int field = normal ? exponent + width + bias : 0;
  if (field >= 2 * bias + 1) return static_cast<uint16_t>(sign | (2 * bias + 1) << width);
  return static_cast<uint16_t>(sign | field << width | (static_cast<int>(magnitude) & ((1 << width) - 1)));
}

uint16_t exact_fma(Format format, uint16_t a, uint16_t b, uint16_t c) {
  const Exact x = split(format, a), y = split(format, b), z = split(format, c);
  Int128 product = Int128{x.mantissa} * y.mantissa, addend = z.mantissa;
  int exponent = x.exponent + y.exponent;
  if (addend == 0) {
    // nothing to align; a zero of bf16 may be too far away to shift to
  } else if (exponent > z.exponent) {
    product <<= exponent - z.exponent;
    exponent = z.exponent;
  } else {
    addend <<= z.exponent - exponent;
  }
  const Int128 sum = product + addend;
  if (sum != 0) return round_exact(format, sum, exponent);
  const bool negative = ((a ^ b) & 0x8000) != 0 && (c & 0x8000) != 0 && (product == 0 && addend == 0);
  return negative ? 0x8000 : 0;
}

bool finite(Format format, uint16_t bits) { return (bits & 0x7fff) < (format == Format::kF16 ? 0x7c00 : 0x7f80); }

uint16_t random_finite(Format format, std::mt19937& random) {
  for (;;) {
    auto bits = static_cast<uint16_t>(random());
    // bf16: keep exponents near each other, so that the exact sum fits 128 bits.
    if (format == Format::kBF16) bits = static_cast<uint16_t>((bits & 0x807f) | (110 + random() % 35) << 7);
    if (finite(format, bits)) return bits;
  }
}

TEST(HalfArithmetic, FmaAddMulAreTheExactResultRoundedOnce) {
  std::mt19937 random(7);
  for (Format format : {Format::kF16, Format::kBF16}) {
    const uint16_t one = format == Format::kF16 ? 0x3c00 : 0x3f80;
    for (int i = 0; i < 400000; ++i) {
      const uint16_t a = random_finite(format, random), b = random_finite(format, random),
                     c = random_finite(format, random);
      ASSERT_EQ(half_fma(format, a, b, c), exact_fma(format, a, b, c)) << a << ' ' << b << ' ' << c;
      ASSERT_EQ(half_add(format, a, b), exact_fma(format, a, one, b)) << a << ' ' << b;
      ASSERT_EQ(half_sub(format, a, b), exact_fma(format, a, one, b ^ 0x8000)) << a << ' ' << b;
      // a * b + -0 keeps the sign of a zero product.
      ASSERT_EQ(half_mul(format, a, b), exact_fma(format, a, b, (a ^ b) & 0x8000)) << a << ' ' << b;
    }
  }
}

TEST(HalfArithmetic, FmaWhereFloatOrDoubleRoundingTwiceGoesWrong) {
  // f16: 0x1.004p0 * 0x1.ffcp-1 = 1 + 2^-11 - 2^-20 - ...; with a tiny addend the double sum rounds onto a tie.
  for (uint32_t a = 0x3c00; a < 0x3c40; ++a) {
    for (uint32_t b = 0x3bc0; b < 0x3c00; ++b) {
      for (uint16_t c : {0x0001, 0x8001, 0x0400, 0x8400, 0x1000, 0x9000}) {
        ASSERT_EQ(half_fma(Format::kF16, a, b, c), exact_fma(Format::kF16, a, b, c)) << a << ' ' << b << ' ' << c;
      }
    }
  }
  // bf16: (1 + 2^-7) * (1 + 2^-1) = 1.5 + 1.5 * 2^-7 is a tie of the 8-bit significand; 2^-60 decides it, and is lost in binary64.
  EXPECT_EQ(half_fma(Format::kBF16, 0x3f81, 0x3fc0, 0x2180), 0x3fc2);
  EXPECT_EQ(half_fma(Format::kBF16, 0x3f81, 0x3fc0, 0xa180), 0x3fc1);
  EXPECT_EQ(half_fma(Format::kBF16, 0x3f81, 0x3fc0, 0x0000), 0x3fc2);  // tie to even
}

// Products around and below the denormals, where binary32 rounds too.
TEST(HalfArithmetic, ProductsNearTheSmallestDenormals) {
  std::mt19937 random(8);
  for (int i = 0; i < 400000; ++i) {
    // f16: exponents from -24 upwards; bf16: two exponents that sum to -140 ... -120.
    const auto a16 = static_cast<uint16_t>((random() & 0x83ff) | random() % 14 << 10);
    const auto b16 = static_cast<uint16_t>((random() & 0x83ff) | random() % 14 << 10);
    ASSERT_EQ(half_mul(Format::kF16, a16, b16), exact_fma(Format::kF16, a16, b16, (a16 ^ b16) & 0x8000))
        << a16 << ' ' << b16;
    const uint32_t left = random() % 100 + 20, sum = 107 + random() % 30;
    const auto a = static_cast<uint16_t>((random() & 0x807f) | left << 7);
    const auto b = static_cast<uint16_t>((random() & 0x807f) | (sum > left ? sum - left : 0) << 7);
    ASSERT_EQ(half_mul(Format::kBF16, a, b), exact_fma(Format::kBF16, a, b, (a ^ b) & 0x8000)) << a << ' ' << b;
  }
}

TEST(HalfArithmetic, InfinitiesNansAndModifiers) {
  EXPECT_EQ(half_add(Format::kF16, 0x7c00, 0xfc00), 0x7fff);
  EXPECT_EQ(half_mul(Format::kF16, 0x7c00, 0x0000), 0x7fff);
  EXPECT_EQ(half_fma(Format::kBF16, 0x7f80, 0x3f80, 0xff80), 0x7fff);
  EXPECT_EQ(half_fma(Format::kBF16, 0x7fc1, 0x3f80, 0x3f80), 0x7fff);
  EXPECT_EQ(half_add(Format::kF16, 0x7bff, 0x7bff), 0x7c00);
  EXPECT_EQ(half_add(Format::kF16, 0x3c00, 0xbc00), 0x0000);
  EXPECT_EQ(half_add(Format::kF16, 0x8000, 0x8000), 0x8000);
  EXPECT_EQ(half_mul(Format::kF16, 0x0001, 0x3c00, {.ftz = true}), 0x0000);
  EXPECT_EQ(half_mul(Format::kF16, 0x0400, 0xb800, {.ftz = true}), 0x8000);  // denormal result, -2^-15
  EXPECT_EQ(half_mul(Format::kF16, 0x0400, 0xb800), 0x8200);
  EXPECT_EQ(half_fma(Format::kF16, 0x4000, 0x3c00, 0x3c00, {.sat = true}), 0x3c00);
  EXPECT_EQ(half_fma(Format::kF16, 0xc000, 0x3c00, 0x3c00, {.sat = true}), 0x0000);
  EXPECT_EQ(half_add(Format::kF16, 0x7fff, 0x3c00, {.sat = true}), 0x0000);
  EXPECT_EQ(half_add(Format::kBF16, 0xc000, 0x3f80, {.relu = true}), 0x0000);
  EXPECT_EQ(half_add(Format::kBF16, 0x7fff, 0x3f80, {.relu = true}), 0x7fff);
}

// All floats with one of many upper halves and every rounding-relevant lower part.
std::vector<float> interesting_floats() {
  std::vector<float> values;
  for (uint32_t high = 0; high < 0x10000; ++high) {
    for (uint32_t low : {0u, 1u, 0x0fffu, 0x1000u, 0x1001u, 0x2fffu, 0x3000u, 0x7fffu, 0x8000u, 0x8001u, 0xffffu}) {
      values.push_back(std::bit_cast<float>(high << 16 | low));
    }
  }
  return values;
}

TEST(HalfConversion, ScalarAndBulkAgreeWithTheExactEncoder) {
  const std::vector<float> values = interesting_floats();
  std::vector<uint16_t> bf16(values.size()), f16(values.size());
  f32_to_bf16(values, bf16);
  f32_to_f16(values, f16);
  for (size_t i = 0; i < values.size(); ++i) {
    const auto bits = std::bit_cast<uint32_t>(values[i]);
    ASSERT_EQ(f32_to_bf16(values[i]), encode(Format::kBF16, values[i])) << std::hex << bits;
    ASSERT_EQ(f32_to_f16(values[i]), encode(Format::kF16, values[i])) << std::hex << bits;
    ASSERT_EQ(bf16[i], encode(Format::kBF16, values[i])) << std::hex << bits;
    ASSERT_EQ(f16[i], encode(Format::kF16, values[i])) << std::hex << bits;
  }
}

TEST(HalfConversion, EveryPatternWidens) {
  std::vector<uint16_t> patterns;
  for (uint32_t bits = 0; bits < 0x10000; ++bits) patterns.push_back(static_cast<uint16_t>(bits));
  std::vector<float> f16(patterns.size()), bf16(patterns.size());
  f16_to_f32(patterns, f16);
  bf16_to_f32(patterns, bf16);
  for (uint32_t bits = 0; bits < 0x10000; ++bits) {
    const auto compiler = static_cast<float>(std::bit_cast<_Float16>(static_cast<uint16_t>(bits)));
    ASSERT_EQ(std::bit_cast<uint32_t>(f16_to_f32(static_cast<uint16_t>(bits))), std::bit_cast<uint32_t>(compiler))
        << bits;
    ASSERT_EQ(std::bit_cast<uint32_t>(f16[bits]), std::bit_cast<uint32_t>(compiler)) << bits;
    ASSERT_EQ(std::bit_cast<uint32_t>(bf16[bits]), bits << 16);
  }
}

TEST(HalfConversion, BulkTailsAndUnalignedSpans) {
  std::vector<float> values(40);
  for (size_t i = 0; i < values.size(); ++i) values[i] = 1.0f + static_cast<float>(i) * 0.001f;
  for (size_t start = 0; start < 4; ++start) {
    for (size_t n = 0; n < 20; ++n) {
      std::vector<uint16_t> out(n + 2, 0xabcd);
      f32_to_bf16(std::span(values).subspan(start, n), std::span(out).subspan(1, n));
      EXPECT_EQ(out.front(), 0xabcd);
      EXPECT_EQ(out.back(), 0xabcd);
      for (size_t i = 0; i < n; ++i) EXPECT_EQ(out[i + 1], encode(Format::kBF16, values[start + i]));
    }
  }
}

TEST(Tf32, ConversionAndOperandRead) {
  EXPECT_EQ(f32_to_tf32(1.0f + 0x1p-11f), 0x3f802000u);
  EXPECT_EQ(tf32_operand(0x3f803fff), 1.0f + 0x1p-10f);
}

}  // namespace
}  // namespace ptxbench::numeric
