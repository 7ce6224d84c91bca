// wgmma with bf16 and f16 operands: every layout of the manual, every n, chains, and the errors.
#include "ptxbench/emu/tensor/wgmma.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <bit>
#include <cmath>
#include <random>

#include "ptxbench/numeric/half.h"
#include "wgmma_fixture.h"

namespace ptxbench::emu {
namespace {

using numeric::bf16_to_f32;
using test::for_each_d;
using test::Layout;
using test::Warpgroup;
using testing::HasSubstr;

constexpr uint32_t kBase = 0x400;  // the window does not start at 0, so that addresses are told from offsets
constexpr uint32_t kBytes = 200 * 1024;

struct Problem {
  WgmmaForm form;
  std::vector<std::byte> memory = std::vector<std::byte>(kBytes, std::byte{0x7f});  // 0x7f7f: a huge bf16, f16 NaN
  std::vector<double> a, b;                                                         // 64 x k, n x k

  SharedView shared() { return {memory.data(), kBytes, kBase}; }

  double number(std::mt19937& random, bool integers) {
    if (integers) return static_cast<int>(random() % 17) - 8;
    return numeric::bf16_to_f32(numeric::f32_to_bf16(std::normal_distribution<float>()(random)));
  }

  void store(uint32_t address, double value) {
    const auto bits = static_cast<uint16_t>(
        numeric::encode(form.a_type == MmaType::kF16 ? numeric::Format::kF16 : numeric::Format::kBF16, value));
    std::memcpy(memory.data() + (address - kBase), &bits, 2);
  }

  void fill(const Layout* layout_a, const Layout& layout_b, std::mt19937& random, bool integers, uint32_t k = 16) {
    a.resize(64 * k);
    b.resize(form.n * k);
    for (uint32_t i = 0; i < a.size(); ++i) {
      a[i] = number(random, integers);
      if (layout_a) store(layout_a->address(i / k, i % k, 2), a[i]);
    }
    for (uint32_t i = 0; i < b.size(); ++i) {
      b[i] = number(random, integers);
      store(layout_b.address(i / k, i % k, 2), b[i]);
    }
  }

  double product(uint32_t row, uint32_t column, uint32_t k = 16) const {
    double sum = 0;
    for (uint32_t i = 0; i < k; ++i) sum += a[row * k + i] * b[column * k + i];
    return sum;
  }
};

float as_float(uint32_t bits) { return std::bit_cast<float>(bits); }

// Core matrices or swizzle atoms side by side: first along k, then along m or n (K-major swizzles hold all of k in a row).
Layout packed(Swizzle swizzle, bool mn_major, uint32_t start) {
  const uint32_t atom = swizzle_row_bytes(swizzle) * 8;
  if (swizzle == Swizzle::kNone) return {swizzle, mn_major, start, 128, 256};
  return {swizzle, mn_major, start, mn_major ? 2 * atom : 16, atom};
}

struct LayoutCase {
  Swizzle swizzle_a, swizzle_b;
  bool mn_a, mn_b;
};

std::vector<LayoutCase> layout_cases() {
  std::vector<LayoutCase> cases;
  constexpr Swizzle kAll[] = {Swizzle::kNone, Swizzle::k32B, Swizzle::k64B, Swizzle::k128B};
  for (Swizzle a : kAll) {
    for (Swizzle b : kAll) {
      for (int majors = 0; majors < 4; ++majors) cases.push_back({a, b, (majors & 1) != 0, (majors & 2) != 0});
    }
  }
  return cases;
}

TEST(Wgmma, EveryLayoutOfBothOperands) {
  std::mt19937 random(5);
  for (const LayoutCase& c : layout_cases()) {
    for (uint32_t n : {8u, 40u, 136u}) {
      Problem problem;
      problem.form = {.n = static_cast<uint16_t>(n), .transpose_a = c.mn_a, .transpose_b = c.mn_b};
      ASSERT_TRUE(check_wgmma_form(problem.form));
      const Layout a = packed(c.swizzle_a, c.mn_a, 0x2000);
      const Layout b = packed(c.swizzle_b, c.mn_b, 0x8000);
      problem.fill(&a, b, random, true);
      Warpgroup group(n / 2);
      for_each_d(n, [&](uint32_t t, uint32_t i, uint32_t row, uint32_t column) {
        group.d(t, i) = std::bit_cast<uint32_t>(static_cast<float>(row) - static_cast<float>(column));
      });
      const auto done =
          wgmma_compute(problem.form, {a.descriptor(), b.descriptor(), true}, group.warps(), problem.shared());
      ASSERT_TRUE(done) << done.error().message;
      for_each_d(n, [&](uint32_t t, uint32_t i, uint32_t row, uint32_t column) {
        ASSERT_EQ(as_float(group.d(t, i)), problem.product(row, column) + row - column)
            << "swizzles " << int(c.swizzle_a) << int(c.swizzle_b) << " mn " << c.mn_a << c.mn_b << " n " << n
            << " row " << row << " column " << column;
      });
    }
  }
}

TEST(Wgmma, OffsetsThatAreNotPacked) {
  std::mt19937 random(6);
  struct {
    Layout a, b;
  } const cases[] = {
      {{Swizzle::kNone, false, 0x410, 4096, 144}, {Swizzle::kNone, false, 0x8030, 128, 528}},
      {{Swizzle::kNone, true, 0x410, 1040, 4112}, {Swizzle::kNone, true, 0xc050, 2064, 144}},
      {{Swizzle::k128B, false, 0x800, 0, 3072}, {Swizzle::k128B, false, 0x8000, 16, 2048}},
      {{Swizzle::k64B, true, 0x800, 5120, 512}, {Swizzle::k128B, true, 0x8000, 8192, 3072}},
      {{Swizzle::k32B, true, 0x800, 256, 4096}, {Swizzle::k32B, true, 0x8000, 768, 256}},
  };
  for (const auto& c : cases) {
    Problem problem;
    problem.form = {.n = 96, .transpose_a = c.a.mn_major, .transpose_b = c.b.mn_major};
    problem.fill(&c.a, c.b, random, true);
    Warpgroup group(48);
    const auto done =
        wgmma_compute(problem.form, {c.a.descriptor(), c.b.descriptor(), false}, group.warps(), problem.shared());
    ASSERT_TRUE(done) << done.error().message;
    for_each_d(96, [&](uint32_t t, uint32_t i, uint32_t row, uint32_t column) {
      ASSERT_EQ(as_float(group.d(t, i)), problem.product(row, column)) << row << ' ' << column;
    });
  }
}

TEST(Wgmma, EveryNAndTheErrorIsThatOfSixteenAdditions) {
  std::mt19937 random(7);
  const Layout a = packed(Swizzle::k128B, false, 0x2000);
  for (uint32_t n = 8; n <= 256; n += 8) {
    Problem problem;
    problem.form.n = static_cast<uint16_t>(n);
    const Layout b = packed(Swizzle::k128B, false, 0x8000);
    problem.fill(&a, b, random, false);
    Warpgroup group(n / 2);
    ASSERT_TRUE(wgmma_compute(problem.form, {a.descriptor(), b.descriptor(), false}, group.warps(), problem.shared()));
    for_each_d(n, [&](uint32_t t, uint32_t i, uint32_t row, uint32_t column) {
      double magnitude = 0;
      for (uint32_t k = 0; k < 16; ++k) magnitude += std::fabs(problem.a[row * 16 + k] * problem.b[column * 16 + k]);
      ASSERT_NEAR(as_float(group.d(t, i)), problem.product(row, column), 16 * 0x1p-24 * magnitude) << n;
    });
  }
}

// Four steps along k inside one 128-byte swizzle atom: start addresses 32 bytes apart.
TEST(Wgmma, ChainEqualsSingleInstructionsBitForBit) {
  std::mt19937 random(8);
  for (bool mn_major : {false, true}) {
    for (MmaAccumulator accumulator : {MmaAccumulator::kF32, MmaAccumulator::kF16}) {
      Problem problem;
      problem.form = {.a_type = MmaType::kF16,
                      .b_type = MmaType::kF16,
                      .accumulator = accumulator,
                      .n = 176,
                      .transpose_b = mn_major};
      constexpr uint32_t kK = 96;
      std::vector<WgmmaStep> steps;
      for (uint32_t s = 0; s < kK / 16; ++s) {
        // A: one atom holds 64 of k, the next is 0x2000 further on. B likewise, or 2 * 1024 per 16 of k when N-major.
        const Layout a{Swizzle::k128B, false, 0x2000 + s / 4 * 0x2000 + s % 4 * 32, 16, 1024};
        const Layout b = mn_major ? Layout{Swizzle::k128B, true, 0x8000 + s * 2048, 12 * 1024, 1024}
                                  : Layout{Swizzle::k128B, false, 0x8000 + s / 4 * 0x5800 + s % 4 * 32, 16, 1024};
        Problem step;
        step.form = problem.form;
        step.memory = problem.memory;
        step.fill(&a, b, random, false);
        problem.memory = step.memory;
        steps.push_back({a.descriptor(), b.descriptor(), true});
      }
      const uint32_t registers = wgmma_accumulator_registers(problem.form);
      for (uint32_t cleared_at : {99u, 0u, 2u, 5u}) {
        if (cleared_at < steps.size()) steps[cleared_at].scale_d = false;
        Warpgroup chained(registers), single(registers);
        for (size_t i = 0; i < chained.words().size(); ++i) {
          const uint32_t value =
              accumulator == MmaAccumulator::kF32 ? std::bit_cast<uint32_t>(0.37f * (i % 13)) : 0x3a013c55;
          chained.words()[i] = single.words()[i] = value;
        }
        ASSERT_TRUE(wgmma_compute_chain(problem.form, steps, chained.warps(), problem.shared()));
        for (const WgmmaStep& step : steps) {
          ASSERT_TRUE(wgmma_compute(problem.form, step, single.warps(), problem.shared()));
        }
        EXPECT_EQ(chained.words(), single.words());
        if (cleared_at < steps.size()) steps[cleared_at].scale_d = true;
      }
    }
  }
}

TEST(Wgmma, NegationAndClearedAccumulator) {
  std::mt19937 random(9);
  const Layout a = packed(Swizzle::k64B, false, 0x2000), b = packed(Swizzle::k32B, false, 0x8000);
  for (int signs = 0; signs < 4; ++signs) {
    Problem problem;
    problem.form = {.n = 24, .negate_a = (signs & 1) != 0, .negate_b = (signs & 2) != 0};
    problem.fill(&a, b, random, true);
    Warpgroup group(12);
    for (uint32_t& word : group.words()) word = 0x7fc00000;  // NaN, which a cleared accumulator must not read
    ASSERT_TRUE(wgmma_compute(problem.form, {a.descriptor(), b.descriptor(), false}, group.warps(), problem.shared()));
    const double sign = signs == 1 || signs == 2 ? -1 : 1;
    for_each_d(24, [&](uint32_t t, uint32_t i, uint32_t row, uint32_t column) {
      ASSERT_EQ(as_float(group.d(t, i)), sign * problem.product(row, column));
    });
  }
}

TEST(Wgmma, SharedWindowAbove18Bits) {
  std::mt19937 random(10);
  Problem problem;
  problem.form.n = 8;
  const Layout a = packed(Swizzle::k128B, false, 0x2000), b = packed(Swizzle::k128B, false, 0x8000);
  problem.fill(&a, b, random, true);
  Warpgroup group(4);
  const SharedView view{problem.memory.data(), kBytes, 0x1000000 + kBase};  // descriptors drop the high bits
  ASSERT_TRUE(wgmma_compute(problem.form, {a.descriptor(), b.descriptor(), false}, group.warps(), view));
  for_each_d(8, [&](uint32_t t, uint32_t i, uint32_t row, uint32_t column) {
    ASSERT_EQ(as_float(group.d(t, i)), problem.product(row, column));
  });
}

TEST(WgmmaErrors, OutsideSharedMemory) {
  Problem problem;
  problem.form.n = 64;
  Warpgroup group(32);
  const std::vector<uint32_t> before = group.words();
  const auto run = [&](const Layout& a, const Layout& b) {
    return wgmma_compute(problem.form, {a.descriptor(), b.descriptor(), true}, group.warps(), problem.shared());
  };
  const Layout good{Swizzle::k128B, false, 0x800, 16, 1024};
  const auto below = run({Swizzle::k128B, false, 0, 16, 1024}, good);
  ASSERT_FALSE(below);
  EXPECT_EQ(below.error().kind, FaultKind::kOutOfBounds);
  EXPECT_THAT(below.error().message, HasSubstr("matrix A reaches shared address 0x0"));
  const auto above = run(good, {Swizzle::k128B, false, kBase + kBytes - 1024, 16, 1024});
  ASSERT_FALSE(above);
  EXPECT_THAT(above.error().message, HasSubstr("matrix B reaches shared address 0x32400"));
  EXPECT_EQ(above.error().address, kBase + kBytes);
  EXPECT_EQ(group.words(), before);  // a fault changes nothing
  // The last matrix that fits.
  EXPECT_TRUE(run(good, {Swizzle::k128B, false, kBase + kBytes - 8 * 1024, 16, 1024}));
  EXPECT_TRUE(run({Swizzle::kNone, false, kBase, 128, 256}, good));
}

TEST(WgmmaErrors, DescriptorsThatMeanNothing) {
  Problem problem;
  Warpgroup group(4);
  const uint64_t good = test::make_descriptor(0x800, 16, 1024, Swizzle::k128B);
  for (unsigned bit : {14u, 15u, 30u, 31u, 46u, 48u, 52u, 61u}) {
    const auto done =
        wgmma_compute(problem.form, {good | uint64_t{1} << bit, good, true}, group.warps(), problem.shared());
    ASSERT_FALSE(done) << bit;
    EXPECT_EQ(done.error().kind, FaultKind::kBadDescriptor);
  }
}

TEST(WgmmaErrors, FormsThatTheManualDoesNotList) {
  const auto refused = [](const WgmmaForm& form) { return !check_wgmma_form(form); };
  EXPECT_TRUE(refused({.n = 0}));
  EXPECT_TRUE(refused({.n = 12}));
  EXPECT_TRUE(refused({.n = 264}));
  EXPECT_TRUE(refused({.a_type = MmaType::kBF16, .b_type = MmaType::kF16}));
  EXPECT_TRUE(refused({.accumulator = MmaAccumulator::kF16}));
  EXPECT_TRUE(refused({.a_in_registers = true, .transpose_a = true}));
  EXPECT_TRUE(refused({.a_type = MmaType::kTF32, .b_type = MmaType::kTF32, .transpose_b = true}));
  const WgmmaForm integers{
      .a_type = MmaType::kS8, .b_type = MmaType::kU8, .accumulator = MmaAccumulator::kS32, .n = 32};
  EXPECT_FALSE(refused(integers));
  WgmmaForm odd = integers;
  odd.n = 40;
  EXPECT_TRUE(refused(odd));
  odd = integers;
  odd.negate_a = true;
  EXPECT_TRUE(refused(odd));
  EXPECT_TRUE(refused({.saturate = true}));
}

}  // namespace
}  // namespace ptxbench::emu
