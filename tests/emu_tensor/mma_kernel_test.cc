// The SIMD variants of the multiply-accumulate kernel against a chain of fused multiply-adds, bit for bit, each variant that this
// CPU can run.
#include "ptxbench/emu/tensor/mma_kernel.h"

#include <gtest/gtest.h>

#include <bit>
#include <cmath>
#include <random>
#include <vector>

#include "ptxbench/numeric/simd.h"

namespace ptxbench::emu {
namespace {

using numeric::SimdLevel;

class MmaKernelTest : public testing::TestWithParam<SimdLevel> {};

TEST_P(MmaKernelTest, EqualsSequentialFma) {
  if (GetParam() > numeric::simd_level()) GTEST_SKIP() << "this CPU lacks the instructions";
  const MmaKernel& kernel = mma_kernel(GetParam());
  std::mt19937 random(3);
  std::normal_distribution<float> normal;
  for (uint32_t n = 8; n <= 256; n += n < 72 ? 8 : 56) {
    for (uint32_t k : {4u, 16u, 64u}) {
      std::vector<float> a(64 * k), b(n * k), d(64 * n);
      for (auto* values : {&a, &b, &d}) {
        for (float& value : *values) value = normal(random);
      }
      std::vector<float> panel_a_data(64 * 4 * k), panel_b_data(n * k);
      const PanelA panel_a{panel_a_data.data(), k};
      const PanelB panel_b(panel_b_data.data(), k, n, kernel.most_units);
      for (uint32_t kk = 0; kk < k; ++kk) {
        for (uint32_t row = 0; row < 64; ++row) {
          for (uint32_t i = 0; i < 4; ++i) panel_a.at(row / 8, kk)[row % 8 * 4 + i] = a[row * k + kk];
        }
        for (uint32_t column = 0; column < n; ++column) {
          const PanelB::Unit unit = panel_b.unit(column / 8 * 2 + column % 2);
          unit.start[kk * unit.stride + column % 8 / 2] = b[column * k + kk];
        }
      }
      for (bool clear : {false, true}) {
        std::vector<uint32_t> words(64 * n);
        std::vector<uint32_t*> registers;
        for (uint32_t i = 0; i < 2 * n; ++i) registers.push_back(words.data() + 32 * i);
        const auto place = [&](uint32_t row, uint32_t column) -> uint32_t& {
          const uint32_t reg = row / 16 * (n / 2) + column / 8 * 4 + row % 16 / 8 * 2 + column % 2;
          return registers[reg][row % 8 * 4 + column % 8 / 2];
        };
        for (uint32_t row = 0; row < 64; ++row) {
          for (uint32_t column = 0; column < n; ++column)
            place(row, column) = std::bit_cast<uint32_t>(d[row * n + column]);
        }
        std::vector<WarpAccumulators> warps;
        for (uint32_t w = 0; w < 4; ++w) warps.push_back(registers.data() + w * n / 2);
        kernel.run(warps, panel_a, panel_b, clear);
        for (uint32_t row = 0; row < 64; ++row) {
          for (uint32_t column = 0; column < n; ++column) {
            float expected = clear ? 0.0f : d[row * n + column];
            for (uint32_t kk = 0; kk < k; ++kk) expected = std::fma(a[row * k + kk], b[column * k + kk], expected);
            ASSERT_EQ(place(row, column), std::bit_cast<uint32_t>(expected)) << kernel.name << " n " << n << " k " << k;
          }
        }
      }
    }
  }
}

INSTANTIATE_TEST_SUITE_P(Levels, MmaKernelTest,
                         testing::Values(SimdLevel::kGeneric, SimdLevel::kAvx2, SimdLevel::kAvx512));

}  // namespace
}  // namespace ptxbench::emu
