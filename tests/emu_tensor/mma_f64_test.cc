// mma.sync on double precision against sums that are exact, operands placed as the figures "Matrix fragments for
// mma.m8n8k4 / m16n8k4 / m16n8k8 / m16n8k16 with .f64" of PTX ISA say.
#include "ptxbench/emu/tensor/mma_f64.h"

#include <gtest/gtest.h>

#include <cmath>
#include <random>
#include <vector>

namespace ptxbench::emu {
namespace {

class MmaF64 : public testing::TestWithParam<MmaF64Shape> {};

TEST_P(MmaF64, ExactProducts) {
  const MmaF64Shape s = GetParam();
  const MmaF64Counts counts = mma_f64_counts(s);
  std::mt19937 random(5);
  const auto draw = [&] { return static_cast<double>(static_cast<int>(random() % 2'000'001) - 1'000'000); };
  std::vector<double> a(s.m * s.k), b(s.k * 8), c(s.m * 8);
  for (auto* matrix : {&a, &b, &c})
    for (double& value : *matrix) value = draw();
  std::vector<double> registers[4];
  std::vector<double*> places[4];
  const int sizes[4] = {counts.a, counts.b, counts.c, counts.c};
  for (int which = 0; which < 4; ++which) {
    registers[which].resize(32 * sizes[which]);
    for (int i = 0; i < sizes[which]; ++i) places[which].push_back(registers[which].data() + 32 * i);
  }
  for (int lane = 0; lane < 32; ++lane) {
    const int group = lane / 4, thread = lane % 4;
    for (int i = 0; i < counts.a; ++i) {
      // The manual: rows of even i are groupID, of odd i groupID + 8; columns i * 2 + thread and i * 2 - 2 + thread.
      const int row = i % 2 == 0 ? group : group + 8, column = (i % 2 == 0 ? i * 2 : i * 2 - 2) + thread;
      places[0][i][lane] = a[row * s.k + column];
    }
    for (int i = 0; i < counts.b; ++i) places[1][i][lane] = b[(thread + 4 * i) * 8 + group];
    for (int i = 0; i < counts.c; ++i) places[2][i][lane] = c[(i < 2 ? group : group + 8) * 8 + thread * 2 + (i & 1)];
  }
  mma_f64(s, places[0].data(), places[1].data(), places[2].data(), places[3].data());
  for (int row = 0; row < s.m; ++row)
    for (int column = 0; column < 8; ++column) {
      double expected = c[row * 8 + column];  // below 2^53: exact in any order
      for (int k = 0; k < s.k; ++k) expected += a[row * s.k + k] * b[k * 8 + column];
      const int lane = row % 8 * 4 + column / 2, i = row / 8 * 2 + column % 2;
      EXPECT_EQ(places[3][i][lane], expected) << row << ", " << column;
    }
  // Into the registers of C, in another order.
  std::vector<double*> swapped(places[2].rbegin(), places[2].rend());
  mma_f64(s, places[0].data(), places[1].data(), places[2].data(), swapped.data());
  for (int i = 0; i < counts.c; ++i)
    for (int lane = 0; lane < 32; ++lane) EXPECT_EQ(swapped[i][lane], places[3][i][lane]);
}

INSTANTIATE_TEST_SUITE_P(Shapes, MmaF64,
                         testing::Values(MmaF64Shape{8, 8, 4}, MmaF64Shape{16, 8, 4}, MmaF64Shape{16, 8, 8},
                                         MmaF64Shape{16, 8, 16}),
                         [](const auto& info) {
                           return "m" + std::to_string(info.param.m) + "n8k" + std::to_string(info.param.k);
                         });

// One rounding per step of k, in order from C on.
TEST(MmaF64Rounding, IsAChainOfFusedMultiplyAdds) {
  std::vector<double> a(32, 0), b(32, 0), c(64, 0), d(64, 0);
  const double tiny = std::ldexp(1.0, -30);
  a[3] = 1 + tiny, b[3] = 1 - tiny;  // lanes 0 to 3: k of row and column 0
  c[0] = -1;
  const double* pa = a.data();
  const double* pb = b.data();
  const double* pc[] = {c.data(), c.data() + 32};
  double* pd[] = {d.data(), d.data() + 32};
  mma_f64({8, 8, 4}, &pa, &pb, pc, pd);
  // (1 + e)(1 - e) = 1 - 2^-60 is no double: rounded by itself it would leave 0.
  EXPECT_EQ(d[0], -std::ldexp(1.0, -60));
}

}  // namespace
}  // namespace ptxbench::emu
