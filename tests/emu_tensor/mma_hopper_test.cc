// The vector form of Hopper's sum against the scalar one, which the recordings confirm: all kinds of numbers mixed.
#include "ptxbench/emu/tensor/mma_hopper.h"

#include <gtest/gtest.h>

#include <bit>
#include <cmath>
#include <limits>
#include <random>
#include <vector>

#include "ptxbench/numeric/format.h"
#include "ptxbench/numeric/simd.h"

namespace ptxbench::emu {
namespace {

struct Mix {
  const char* name;
  int spread;                      // exponents within +- spread
  int zeros, specials, denormals;  // per 100 values
};
constexpr Mix kMixes[] = {{"plain", 3, 0, 0, 0},     {"spread", 14, 10, 0, 0}, {"zeros", 5, 90, 0, 0},
                          {"special", 5, 20, 5, 10}, {"wide", 120, 5, 0, 5},   {"extreme", 126, 5, 2, 20}};

float draw(std::mt19937& random, const Mix& mix, numeric::Format format) {
  const int dice = static_cast<int>(random() % 100);
  if (dice < mix.zeros) return random() % 2 == 0 ? 0.0f : -0.0f;
  if (dice < mix.zeros + mix.specials) {
    constexpr float kInf = std::numeric_limits<float>::infinity();
    const float specials[] = {kInf, -kInf, std::numeric_limits<float>::quiet_NaN()};
    return specials[random() % 3];
  }
  const auto limit = static_cast<double>(numeric::info(format).bias - 1);
  const double spread = std::min<double>(mix.spread, limit);
  double value =
      std::ldexp(1.0 + static_cast<double>(random() % 4096) / 4096,
                 static_cast<int>(random() % static_cast<unsigned>(2 * spread + 1)) - static_cast<int>(spread));
  if (dice >= 100 - mix.denormals)
    value = std::ldexp(static_cast<double>(random() % 128),
                       1 - numeric::info(format).bias - numeric::info(format).mantissa_bits);
  if (random() % 2 == 0) value = -value;
  return static_cast<float>(numeric::decode(format, numeric::encode(format, value, {.satfinite = true})));
}

TEST(MmaHopper, VectorsEqualScalars) {
  if (numeric::simd_level() < numeric::SimdLevel::kAvx2) GTEST_SKIP() << "one variant only";
  std::mt19937 random(41);
  const struct {
    MmaType type;
    numeric::Format format;
    MmaAccumulator accumulator;
    uint32_t k;
  } kinds[] = {{MmaType::kBF16, numeric::Format::kBF16, MmaAccumulator::kF32, 16},
               {MmaType::kF16, numeric::Format::kF16, MmaAccumulator::kF32, 16},
               {MmaType::kF16, numeric::Format::kF16, MmaAccumulator::kF16, 16},
               {MmaType::kTF32, numeric::Format::kTF32, MmaAccumulator::kF32, 8},
               {MmaType::kE4M3, numeric::Format::kE4M3, MmaAccumulator::kF32, 32},
               {MmaType::kE5M2, numeric::Format::kE5M2, MmaAccumulator::kF16, 32}};
  for (const auto& kind : kinds) {
    const HopperSum sum = hopper_sum(kind.type, kind.type, kind.accumulator, kind.k);
    const numeric::Format c_format =
        kind.accumulator == MmaAccumulator::kF16 ? numeric::Format::kF16 : numeric::Format::kF32;
    for (const Mix& mix : kMixes) {
      for (uint32_t steps : {1u, 2u}) {
        constexpr uint32_t kN = 40;
        const uint32_t k = kind.k * steps;
        std::vector<float> a(64 * 4 * k), b(kN * k);
        const PanelA panel_a{a.data(), k};
        const PanelB panel_b(b.data(), k, kN, 3);
        for (size_t i = 0; i < a.size(); i += 4) {
          const float value = draw(random, mix, kind.format);
          for (size_t j = 0; j < 4; ++j) a[i + j] = value;
        }
        for (float& value : b) value = draw(random, mix, kind.format);
        std::vector<uint32_t> fast(4 * 20 * 32), slow;
        for (uint32_t& word : fast) word = std::bit_cast<uint32_t>(draw(random, mix, c_format));
        slow = fast;
        const auto run = [&](std::vector<uint32_t>& words, numeric::SimdLevel level) {
          std::vector<uint32_t*> registers;
          for (uint32_t i = 0; i < 80; ++i) registers.push_back(words.data() + size_t{32} * i);
          std::vector<WarpAccumulators> warps;
          for (uint32_t w = 0; w < 4; ++w) warps.push_back(registers.data() + 20 * w);
          hopper_run(sum, warps, panel_a, panel_b, false, level);
        };
        run(fast, numeric::SimdLevel::kAvx2);
        run(slow, numeric::SimdLevel::kGeneric);
        ASSERT_EQ(fast, slow) << mix.name << " type " << int(kind.type) << " k " << k;
      }
    }
  }
}

// Sixteen products near 4 and an accumulator near 64 of one sign: more than 31 bits of fixed point.
TEST(MmaHopper, SumsThatDoNotFit32Bits) {
  const HopperSum sum = hopper_sum(MmaType::kF16, MmaType::kF16, MmaAccumulator::kF32, 16);
  const float largest = 2.0f - 0x1p-10f;
  std::vector<float> a(64 * 4 * 16, largest), b(8 * 16, largest);
  for (float c : {1.0f, 1.5f, 1.9999999f, -1.9999999f}) {
    std::vector<uint32_t> words(4 * 4 * 32, std::bit_cast<uint32_t>(c));
    std::vector<uint32_t*> registers;
    for (uint32_t i = 0; i < 16; ++i) registers.push_back(words.data() + size_t{32} * i);
    std::vector<WarpAccumulators> warps;
    for (uint32_t w = 0; w < 4; ++w) warps.push_back(registers.data() + 4 * w);
    hopper_run(sum, warps, PanelA{a.data(), 16}, PanelB(b.data(), 16, 8, 3), false, numeric::simd_level());
    // Exact: 16 * largest^2 + c has fewer than 53 bits; nothing is below 2^-25 except in c, of which the last bits go.
    const double exact = 16 * static_cast<double>(largest) * largest + std::trunc(std::ldexp(c, 25)) * 0x1p-25;
    const uint64_t bits = std::bit_cast<uint64_t>(exact) & ~uint64_t{0x1fffffff};
    EXPECT_EQ(std::bit_cast<float>(words[7]), static_cast<float>(std::bit_cast<double>(bits))) << c;
  }
}

}  // namespace
}  // namespace ptxbench::emu
