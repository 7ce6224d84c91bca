// encode() and decode() against values written out by hand, the compiler's _Float16, and a search for the neighbours among
// all values of a format.
#include "ptxbench/numeric/format.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <bit>
#include <cmath>
#include <limits>
#include <random>
#include <vector>

namespace ptxbench::numeric {
namespace {

constexpr double kInf = std::numeric_limits<double>::infinity();
constexpr double kNan = std::numeric_limits<double>::quiet_NaN();
constexpr Rounding kAllRoundings[] = {Rounding::kNearestEven, Rounding::kTowardZero, Rounding::kDown, Rounding::kUp,
                                      Rounding::kNearestAway};

TEST(Decode, ValuesOfTheSpecifications) {
  EXPECT_EQ(decode(Format::kE4M3, 0x7e), 448.0);  // OCP OFP8 table 1
  EXPECT_EQ(decode(Format::kE4M3, 0x08), 0x1p-6);
  EXPECT_EQ(decode(Format::kE4M3, 0x01), 0x1p-9);
  EXPECT_TRUE(std::isnan(decode(Format::kE4M3, 0xff)));
  EXPECT_EQ(decode(Format::kE5M2, 0x7b), 57344.0);
  EXPECT_EQ(decode(Format::kE5M2, 0xfc), -kInf);
  EXPECT_EQ(decode(Format::kE5M2, 0x01), 0x1p-16);
  EXPECT_EQ(decode(Format::kE2M1, 0x7), 6.0);  // OCP MX
  EXPECT_EQ(decode(Format::kE2M1, 0x9), -0.5);
  EXPECT_EQ(decode(Format::kE2M3, 0x1f), 7.5);
  EXPECT_EQ(decode(Format::kE3M2, 0x1f), 28.0);
  EXPECT_EQ(decode(Format::kE3M2, 0x01), 0.0625);
  EXPECT_EQ(decode(Format::kUE8M0, 0), 0x1p-127);
  EXPECT_EQ(decode(Format::kUE8M0, 254), 0x1p127);
  EXPECT_EQ(decode(Format::kTF32, 0x3f802000), 1.0 + 0x1p-10);
  EXPECT_TRUE(std::signbit(decode(Format::kBF16, 0x8000)));
}

TEST(Decode, EveryF16AndBf16PatternAsTheCompilerReadsIt) {
  for (uint32_t bits = 0; bits < 0x10000; ++bits) {
    const auto f16 = static_cast<double>(std::bit_cast<_Float16>(static_cast<uint16_t>(bits)));
    const auto bf16 = static_cast<double>(std::bit_cast<float>(bits << 16));
    if (std::isnan(f16)) {
      EXPECT_TRUE(std::isnan(decode(Format::kF16, bits)));
    } else {
      ASSERT_EQ(std::bit_cast<uint64_t>(decode(Format::kF16, bits)), std::bit_cast<uint64_t>(f16)) << bits;
    }
    if (std::isnan(bf16)) {
      EXPECT_TRUE(std::isnan(decode(Format::kBF16, bits)));
    } else {
      ASSERT_EQ(std::bit_cast<uint64_t>(decode(Format::kBF16, bits)), std::bit_cast<uint64_t>(bf16)) << bits;
    }
  }
}

TEST(Encode, F32AsTheCompilerConverts) {
  std::mt19937_64 random(1);
  for (int i = 0; i < 300000; ++i) {
    const uint64_t exponent = 800 + random() % 450;  // around the range of binary32, both ends outside it
    const double value = std::bit_cast<double>((random() & 0x800fffffffffffffu) | exponent << 52);
    ASSERT_EQ(encode(Format::kF32, value), std::bit_cast<uint32_t>(static_cast<float>(value))) << value;
    ASSERT_EQ(encode(Format::kF16, value), std::bit_cast<uint16_t>(static_cast<_Float16>(value))) << value;
  }
}

// Non-negative finite values of a format, ascending; index = pattern.
std::vector<double> values_of(Format format, uint32_t largest) {
  std::vector<double> values;
  for (uint32_t bits = 0; bits <= largest; ++bits) values.push_back(decode(format, bits));
  return values;
}

// The right pattern of `magnitude` (not above the largest value) found by looking at both neighbours.
uint32_t nearest_by_search(const std::vector<double>& values, double magnitude, bool negative, Rounding rounding) {
  const auto above = std::lower_bound(values.begin(), values.end(), magnitude);
  const auto high = static_cast<uint32_t>(above - values.begin());
  if (*above == magnitude) return high;
  const uint32_t low = high - 1;
  const double to_low = magnitude - values[low], to_high = values[high] - magnitude;  // exact: same or next binade
  switch (rounding) {
    case Rounding::kTowardZero: return low;
    case Rounding::kDown: return negative ? high : low;
    case Rounding::kUp: return negative ? low : high;
    case Rounding::kNearestEven:
      if (to_low == to_high) return low % 2 == 0 ? low : high;
      break;
    case Rounding::kNearestAway:
      if (to_low == to_high) return high;
      break;
  }
  return to_low < to_high ? low : high;
}

struct SearchCase {
  Format format;
  uint32_t largest, sign;
};

class EncodeBySearch : public testing::TestWithParam<SearchCase> {};

TEST_P(EncodeBySearch, EveryMidpointAndItsNeighboursInEveryRounding) {
  const auto [format, largest, sign] = GetParam();
  const std::vector<double> values = values_of(format, largest);
  ASSERT_TRUE(std::is_sorted(values.begin(), values.end()));
  std::vector<double> probes;
  for (size_t i = 0; i + 1 < values.size(); ++i) {
    const double middle = values[i] + (values[i + 1] - values[i]) / 2;
    for (double probe : {values[i], middle, std::nextafter(middle, 0.0), std::nextafter(middle, kInf),
                         std::nextafter(values[i], kInf), std::nextafter(values[i + 1], 0.0)}) {
      probes.push_back(probe);
    }
  }
  probes.push_back(5e-324);  // all of the significand is below the last bit
  for (Rounding rounding : kAllRoundings) {
    for (double probe : probes) {
      ASSERT_EQ(encode(format, probe, {rounding}), nearest_by_search(values, probe, false, rounding)) << probe;
      ASSERT_EQ(encode(format, -probe, {rounding}), sign | nearest_by_search(values, probe, true, rounding)) << -probe;
    }
  }
}

INSTANTIATE_TEST_SUITE_P(Formats, EncodeBySearch,
                         testing::Values(SearchCase{Format::kF16, 0x7bff, 0x8000},
                                         SearchCase{Format::kBF16, 0x7f7f, 0x8000},
                                         SearchCase{Format::kE5M2, 0x7b, 0x80}, SearchCase{Format::kE4M3, 0x7e, 0x80},
                                         SearchCase{Format::kE3M2, 0x1f, 0x20}, SearchCase{Format::kE2M3, 0x1f, 0x20},
                                         SearchCase{Format::kE2M1, 0x7, 0x8}));

TEST(Encode, OverflowFollowsTheRounding) {
  const double over = 65520;  // half way between the largest f16 and 2^16
  EXPECT_EQ(encode(Format::kF16, over), 0x7c00u);
  EXPECT_EQ(encode(Format::kF16, std::nextafter(over, 0.0)), 0x7bffu);
  EXPECT_EQ(encode(Format::kF16, 1e300, {Rounding::kTowardZero}), 0x7bffu);
  EXPECT_EQ(encode(Format::kF16, 1e300, {Rounding::kDown}), 0x7bffu);
  EXPECT_EQ(encode(Format::kF16, -1e300, {Rounding::kDown}), 0xfc00u);
  EXPECT_EQ(encode(Format::kF16, 1e300, {Rounding::kUp}), 0x7c00u);
  EXPECT_EQ(encode(Format::kF16, -1e300, {Rounding::kUp}), 0xfbffu);
  EXPECT_EQ(encode(Format::kF16, kInf, {Rounding::kTowardZero}), 0x7c00u);
  EXPECT_EQ(encode(Format::kF16, -kInf, {.satfinite = true}), 0xfbffu);
  EXPECT_EQ(encode(Format::kE4M3, 464.0), 0x7eu);  // tie between 448 and the next step, to even
  EXPECT_EQ(encode(Format::kE4M3, 465.0), 0x7fu);
  EXPECT_EQ(encode(Format::kE4M3, -465.0, {.satfinite = true}), 0xfeu);
  EXPECT_EQ(encode(Format::kE5M2, 1e9, {.satfinite = true}), 0x7bu);
  EXPECT_EQ(encode(Format::kE2M1, -100.0, {.satfinite = true}), 0xfu);
}

TEST(Encode, NanReluFtz) {
  EXPECT_EQ(encode(Format::kF16, kNan), 0x7fffu);
  EXPECT_EQ(encode(Format::kBF16, -kNan), 0x7fffu);
  EXPECT_EQ(encode(Format::kBF16, kNan, {.satfinite = true, .relu = true}), 0x7fffu);
  EXPECT_EQ(encode(Format::kF32, kNan), 0x7fffffffu);
  EXPECT_EQ(encode(Format::kE4M3, kNan, {.satfinite = true}), 0x7fu);
  EXPECT_EQ(encode(Format::kE5M2, kNan, {.satfinite = true}), 0x7fu);
  EXPECT_EQ(encode(Format::kE2M1, kNan, {.satfinite = true}), 0x7u);
  EXPECT_EQ(encode(Format::kUE8M0, kNan, {Rounding::kUp}), 0xffu);
  EXPECT_EQ(encode(Format::kBF16, -3.0, {.relu = true}), 0u);
  EXPECT_EQ(encode(Format::kBF16, -0.0, {.relu = true}), 0u);
  EXPECT_EQ(encode(Format::kBF16, -0.0), 0x8000u);
  EXPECT_EQ(encode(Format::kF32, -0x1p-127, {.ftz = true}), 0x80000000u);
  EXPECT_EQ(encode(Format::kBF16, 0x1p-127, {.ftz = true}), 0x0040u);
  EXPECT_EQ(encode(Format::kBF16, 0x1p-127), 0x0040u);
}

TEST(Encode, Ue8m0) {
  EXPECT_EQ(encode(Format::kUE8M0, 1.5, {Rounding::kTowardZero}), 127u);
  EXPECT_EQ(encode(Format::kUE8M0, 1.5, {Rounding::kUp}), 128u);
  EXPECT_EQ(encode(Format::kUE8M0, -2.0, {Rounding::kUp}), 128u);
  EXPECT_EQ(encode(Format::kUE8M0, 0.0, {Rounding::kUp}), 0u);
  EXPECT_EQ(encode(Format::kUE8M0, kInf, {Rounding::kUp, true}), 254u);
  EXPECT_EQ(encode(Format::kUE8M0, kInf, {Rounding::kUp}), 255u);
}

TEST(Encode, Tf32) {
  // 1 + 2^-11 is a tie of the 10-bit mantissa.
  EXPECT_EQ(encode(Format::kTF32, 1.0 + 0x1p-11, {Rounding::kNearestAway}), 0x3f802000u);
  EXPECT_EQ(encode(Format::kTF32, 1.0 + 0x1p-11, {Rounding::kNearestEven}), 0x3f800000u);
  EXPECT_EQ(encode(Format::kTF32, -1.0 - 0x1p-11, {Rounding::kTowardZero}), 0xbf800000u);
  EXPECT_EQ(encode(Format::kTF32, kInf), 0x7f800000u);
}

}  // namespace
}  // namespace ptxbench::numeric
