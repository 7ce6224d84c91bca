// The sums of an H200's tensor core, bit for bit: tests/captures/wgmma_numerics.cu, wgmma_types.cu and mma.cu with the same
// inputs, through wgmma_compute and mma_sync.
#include <gtest/gtest.h>

#include <bit>
#include <cmath>
#include <string>

#include "capture_replay.h"
#include "ptxbench/emu/tensor/mma_sync.h"
#include "ptxbench/emu/tensor/wgmma.h"
#include "ptxbench/numeric/format.h"
#include "wgmma_fixture.h"

namespace ptxbench::emu {
namespace {

using numeric::Format;
using test::CaptureRandom;
using test::Recorded;
using test::Warpgroup;

enum Kind { kBf16F32, kF16F32, kF16F16, kBf16F32Rs };
const char* const kKindNames[] = {"bf16", "f16", "f16f16", "bf16-rs"};

bool is_bf16(Kind kind) { return kind == kBf16F32 || kind == kBf16F32Rs; }

// D[m][n] = sum of a[m][k] * b[k][n] + c[m][n], in bits of the kind's types.
struct Experiment {
  uint16_t a[64][16] = {};
  uint16_t b[16][8] = {};
  uint32_t c[64][8] = {};
};

uint16_t half_bits(Kind kind, double value) {
  return static_cast<uint16_t>(numeric::encode(is_bf16(kind) ? Format::kBF16 : Format::kF16, value));
}

class Hopper : public testing::Test {
 protected:
  void SetUp() override { set_mma_arithmetic(MmaArithmetic::kHopper); }
  void TearDown() override { set_mma_arithmetic(before_); }

  const Recorded& recorded(const std::map<std::string, Recorded>& cases, const std::string& name) {
    static const Recorded none;
    const auto found = cases.find(name);
    EXPECT_NE(found, cases.end()) << name << " is not recorded";
    return found == cases.end() ? none : found->second;
  }

 private:
  const MmaArithmetic before_ = mma_arithmetic();
};

// Returns D as [m][n] in 32-bit words (f16 in the low half).
std::vector<uint32_t> evaluate(Kind kind, const Experiment& e) {
  std::vector<std::byte> memory(8192);
  const auto offset = [](uint32_t row, uint32_t k) { return row / 8 * 256 + k / 8 * 128 + row % 8 * 16 + k % 8 * 2; };
  for (uint32_t k = 0; k < 16; ++k) {
    for (uint32_t m = 0; m < 64; ++m) std::memcpy(memory.data() + offset(m, k), &e.a[m][k], 2);
    for (uint32_t n = 0; n < 8; ++n) std::memcpy(memory.data() + 4096 + offset(n, k), &e.b[k][n], 2);
  }
  const bool f16 = kind == kF16F16;
  const MmaType type = is_bf16(kind) ? MmaType::kBF16 : MmaType::kF16;
  const WgmmaForm form{.a_type = type,
                       .b_type = type,
                       .accumulator = f16 ? MmaAccumulator::kF16 : MmaAccumulator::kF32,
                       .n = 8,
                       .a_in_registers = kind == kBf16F32Rs};
  Warpgroup group(f16 ? 2 : 4);
  // visit(thread, register, half of it, row, column) for all of D
  const auto for_each = [&](auto visit) {
    test::for_each_d(8, [&](uint32_t thread, uint32_t i, uint32_t row, uint32_t column) {
      visit(thread, f16 ? i / 2 : i, f16 ? i % 2 : 0u, row, column);
    });
  };
  for_each([&](uint32_t thread, uint32_t reg, uint32_t half, uint32_t row, uint32_t column) {
    group.d(thread, reg) |= e.c[row][column] << (16 * half);
  });
  for (uint32_t thread = 0; thread < 128; ++thread) {
    for (uint32_t reg = 0; reg < 4; ++reg) {
      const uint32_t row = thread / 32 * 16 + thread % 32 / 4 + reg % 2 * 8, k = thread % 4 * 2 + reg / 2 * 8;
      group.a(thread, reg) = e.a[row][k] | uint32_t{e.a[row][k + 1]} << 16;
    }
  }
  const uint64_t a = test::make_descriptor(1024, 128, 256, Swizzle::kNone);
  const uint64_t b = test::make_descriptor(1024 + 4096, 128, 256, Swizzle::kNone);
  EXPECT_TRUE(wgmma_compute(form, {a, b, true}, group.warps(), {memory.data(), 8192, 1024}));
  std::vector<uint32_t> d(64 * 8);
  for_each([&](uint32_t thread, uint32_t reg, uint32_t half, uint32_t row, uint32_t column) {
    const uint32_t word = group.d(thread, reg);
    d[row * 8 + column] = f16 ? word >> (16 * half) & 0xffff : word;
  });
  return d;
}

class WgmmaNumericsCapture : public Hopper {
 protected:
  // Column 0 of the first rows, as print_column of the capture.
  void compare_column(const std::string& what, Kind kind, const Experiment& e) {
    const std::string name = what + "-" + kKindNames[kind];
    const Recorded& record = recorded(cases_, name);
    const std::vector<uint32_t> d = evaluate(kind, e);
    for (size_t m = 0; m < record.words.size(); ++m) EXPECT_EQ(d[m * 8], record.words[m]) << name << " row " << m;
  }

  const std::map<std::string, Recorded> cases_ = test::recorded_cases("wgmma_numerics");
};

TEST_F(WgmmaNumericsCapture, RandomInputs) {
  size_t compared = 0;
  for (Kind kind : {kBf16F32, kF16F32, kF16F16, kBf16F32Rs}) {
    for (int spread : {0, 4, 8, 12, 24, 40, 60}) {
      for (bool big_c : {false, true}) {
        if (spread > 12 && (kind != kBf16F32 || big_c)) continue;
        CaptureRandom random(static_cast<uint64_t>(spread * 7 + int{kind} + (big_c ? 1000 : 0)));
        const auto half = [&] {
          const int exponent =
              spread != 0 ? static_cast<int>(random.below(static_cast<uint32_t>(spread))) - spread / 2 : 0;
          const uint32_t sign = random.word() & 0x8000;
          return static_cast<uint16_t>(
              is_bf16(kind) ? sign | static_cast<uint32_t>(127 + exponent) << 7 | (random.word() & 127)
                            : sign | static_cast<uint32_t>(15 + exponent) << 10 | (random.word() & 1023));
        };
        Experiment e;
        for (auto& row : e.a) {
          for (auto& value : row) value = half();
        }
        for (auto& row : e.b) {
          for (auto& value : row) value = half();
        }
        for (auto& row : e.c) {
          for (auto& value : row) {
            const int exponent =
                static_cast<int>(random.below(2 * static_cast<uint32_t>(spread) + 1)) - spread + (big_c ? 6 : 0);
            const uint32_t word = random.word();
            value = kind == kF16F16 ? half() : (word & 0x807fffff) | static_cast<uint32_t>(127 + exponent) << 23;
          }
        }
        const std::string name =
            std::string("random-") + kKindNames[kind] + "-spread" + std::to_string(spread) + (big_c ? "-c" : "");
        const Recorded& record = recorded(cases_, name);
        const std::vector<uint32_t> d = evaluate(kind, e);
        for (size_t i = 0; i < record.words.size(); ++i) EXPECT_EQ(d[i], record.words[i]) << name << ' ' << i;
        ASSERT_EQ(record.hashes.size(), 8u) << name;
        const std::vector<uint16_t> narrow(d.begin(), d.end());
        EXPECT_TRUE(kind == kF16F16 ? record.matches(narrow) : record.matches(d)) << name;
        ++compared;
      }
    }
  }
  EXPECT_EQ(compared, 4u * 8 + 3);
}

// Infinities, NaNs, zeros of both signs, denormals, overflow.
TEST_F(WgmmaNumericsCapture, SpecialValues) {
  for (Kind kind : {kBf16F32, kF16F32, kF16F16, kBf16F32Rs}) {
    const bool bf16 = is_bf16(kind), f16 = kind == kF16F16;
    const uint16_t inf = bf16 ? 0x7f80 : 0x7c00, nan = bf16 ? 0x7fc1 : 0x7e01, snan = bf16 ? 0x7f81 : 0x7c01;
    const uint16_t largest = bf16 ? 0x7f7f : 0x7bff, negative = 0x8000;
    const uint32_t c_inf = f16 ? 0x7c00 : 0x7f800000, c_nan = f16 ? 0x7e55 : 0x7fc12345,
                   c_negative = f16 ? 0x8000 : 0x80000000;
    Experiment e;
    for (auto& row : e.b) {
      for (auto& value : row) value = half_bits(kind, 1);
    }
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
    e.c[m++][0] = c_negative;
    for (auto& value : e.a[m]) value = negative;
    e.c[m++][0] = c_negative;
    for (auto& value : e.a[m]) value = negative;
    m++;
    e.a[m][0] = largest, e.a[m++][1] = largest;
    e.a[m][0] = largest, e.a[m++][1] = largest | negative;
    for (auto& value : e.a[m]) value = largest;
    m++;
    e.a[m][0] = largest, e.c[m++][0] = f16 ? 0x7bff : 0x7f7fffff;
    e.a[m++][0] = 0x0001;
    e.a[m++][0] = 0x8001;
    e.a[m++][0] = bf16 ? 0x007f : 0x03ff;
    e.c[m++][0] = 0x00000001;
    e.c[m++][0] = f16 ? 0x03ff : 0x007fffff;
    e.c[m++][0] = f16 ? 0x8001 : 0x80000001;
    e.a[m][0] = 0x0001, e.c[m++][0] = 0x00000001;
    e.a[m][0] = 0x0001, e.a[m++][1] = 0x8001;
    e.a[m][0] = half_bits(kind, 1), e.a[m][1] = half_bits(kind, -1), ++m;
    e.a[m][0] = half_bits(kind, -1), e.a[m][1] = half_bits(kind, 1), e.c[m++][0] = c_negative;
    e.c[m++][0] = f16 ? 0x7bff : 0x7f7fffff;
    compare_column("special-values", kind, e);

    Experiment zero;  // infinity times zero
    for (int r = 0; r < 6; ++r) zero.a[r][0] = (r & 1) != 0 ? inf | negative : inf;
    zero.c[2][0] = zero.c[3][0] = f16 ? half_bits(kind, 1) : 0x3f800000;
    zero.c[4][0] = zero.c[5][0] = c_inf;
    compare_column("special-inf-times-zero", kind, zero);

    Experiment tiny;  // products far below the smallest denormal of the result
    for (auto& row : tiny.b) {
      for (auto& value : row) value = bf16 ? 0x0080 : 0x0001;
    }
    for (int r = 0; r < 40; ++r) {
      tiny.a[r][0] = static_cast<uint16_t>(bf16 ? (r * 4 + 1) << 7 | (r * 5 & 127) : r << 10 | (r * 29 & 1023));
      if (r % 3 == 0) tiny.a[r][1] = tiny.a[r][0];
      if (r % 5 == 0) tiny.c[r][0] = 0x00000001;
    }
    compare_column("special-tiny-products", kind, tiny);
  }
}

TEST_F(WgmmaNumericsCapture, Overflow) {
  for (Kind kind : {kBf16F32, kF16F32, kF16F16, kBf16F32Rs}) {
    const bool f16 = kind == kF16F16;
    Experiment e;
    for (auto& row : e.b) {
      for (auto& value : row) value = half_bits(kind, f16 ? 1 : 4096);
    }
    for (int m = 0; m < 32; ++m) {
      const double sign = (m & 1) != 0 ? -1 : 1;
      const uint32_t c = f16 ? 0x7bff : 0x7f7fffff;
      e.c[m][0] = sign < 0 ? c | (f16 ? 0x8000u : 0x80000000u) : c;
      const double value = f16               ? m / 2 * 2.0
                           : kind != kF16F32 ? std::ldexp(1.0 + m / 2 % 4 / 4.0, 100 - 12 - m / 8)
                                             : m / 2;
      e.a[m][0] = half_bits(kind, sign * value);
    }
    compare_column("overflow", kind, e);
  }
}

// tf32 and the 8-bit floats, which keep fewer bits.
TEST_F(Hopper, RandomSumsOfTheOtherTypes) {
  const auto cases = test::recorded_cases("wgmma_types");
  struct {
    const char* name;
    MmaType type;
    uint32_t size, k;
  } const probes[] = {{"e4m3", MmaType::kE4M3, 1, 32}, {"e5m2", MmaType::kE5M2, 1, 32}, {"tf32", MmaType::kTF32, 4, 8}};
  for (const auto& p : probes) {
    for (uint32_t variant = 0; variant < 2; ++variant) {
      CaptureRandom random(31 + variant);
      const auto value = [&]() -> uint32_t {
        const uint32_t word = random.word();
        if (p.type == MmaType::kTF32) return (word & 0x807fffff) | (120 + random.below(14)) << 23;
        if (p.type == MmaType::kE4M3) return (word & 0x7f) == 0x7f ? word & 0x80 : word & 0xff;
        return (word & 0x7c) == 0x7c ? word & 0x83 : word & 0xff;
      };
      std::vector<std::vector<uint32_t>> a(64, std::vector<uint32_t>(p.k));
      std::vector<uint32_t> b(p.k), c(64);
      for (auto& row : a) {
        for (auto& element : row) element = value();
      }
      for (auto& element : b) element = value();
      for (auto& element : c)
        element = variant != 0 ? (random.word() & 0x807fffff) | (120 + random.below(24)) << 23 : 0;
      std::vector<std::byte> memory(8192);
      const uint32_t per_core = 16 / p.size;
      const auto offset = [&](uint32_t row, uint32_t k) {
        return row / 8 * 256 + k / per_core * 128 + row % 8 * 16 + k % per_core * p.size;
      };
      for (uint32_t k = 0; k < p.k; ++k) {
        for (uint32_t m = 0; m < 64; ++m) std::memcpy(memory.data() + offset(m, k), &a[m][k], p.size);
        for (uint32_t n = 0; n < 8; ++n) std::memcpy(memory.data() + 4096 + offset(n, k), &b[k], p.size);
      }
      Warpgroup group(4);
      for (uint32_t m = 0; m < 64; ++m) group.d(m / 16 * 32 + m % 8 * 4, m % 16 / 8 * 2) = c[m];
      const WgmmaForm form{.a_type = p.type, .b_type = p.type, .n = 8};
      ASSERT_TRUE(wgmma_compute(form,
                                {test::make_descriptor(1024, 128, 256, Swizzle::kNone),
                                 test::make_descriptor(5120, 128, 256, Swizzle::kNone), true},
                                group.warps(), {memory.data(), 8192, 1024}));
      const std::string name = std::string("random-") + p.name + (variant != 0 ? "-c" : "");
      const Recorded& record = recorded(cases, name);
      ASSERT_EQ(record.words.size(), 64u) << name;
      for (uint32_t m = 0; m < 64; ++m) {
        EXPECT_EQ(group.d(m / 16 * 32 + m % 8 * 4, m % 16 / 8 * 2), record.words[m]) << name << " row " << m;
      }
    }
  }
}

TEST_F(Hopper, RandomSumsOfMmaSync) {
  const auto cases = test::recorded_cases("mma");
  struct {
    const char* name;
    uint8_t k;
    bool f16, half;
  } const entries[] = {{"m16n8k16-bf16", 16, false, false}, {"m16n8k16-f16", 16, true, false},
                       {"m16n8k16-f16f16", 16, true, true}, {"m16n8k8-bf16", 8, false, false},
                       {"m16n8k8-f16", 8, true, false},     {"m16n8k8-f16f16", 8, true, true}};
  for (const auto& entry : entries) {
    const MmaType type = entry.f16 ? MmaType::kF16 : MmaType::kBF16;
    const MmaForm form{.k = entry.k,
                       .a_type = type,
                       .b_type = type,
                       .accumulator = entry.half ? MmaAccumulator::kF16 : MmaAccumulator::kF32};
    const MmaRegisterCounts counts = mma_register_counts(form);
    for (uint32_t spread : {2u, 12u}) {
      constexpr uint32_t kBatch = 4;
      CaptureRandom random(spread);
      const auto half = [&]() -> uint32_t {
        const uint32_t exponent = random.below(spread), word = random.word();
        return entry.f16 ? (word & 0x83ff) | (15 - spread / 2 + exponent) << 10
                         : (word & 0x807f) | (127 - spread / 2 + exponent) << 7;
      };
      const auto pair = [&] {
        const uint32_t low = half();
        return low | half() << 16;
      };
      std::vector<uint32_t> a(kBatch * 32 * counts.a), b(kBatch * 32 * counts.b), c(kBatch * 32 * counts.c),
          d(c.size());
      for (uint32_t& word : a) word = pair();
      for (uint32_t& word : b) word = pair();
      for (uint32_t& word : c) {
        if (entry.half) {
          word = pair();
        } else {
          const uint32_t bits = random.word();
          word = (bits & 0x807fffff) | (127 - spread + random.below(2 * spread)) << 23;
        }
      }
      for (uint32_t g = 0; g < kBatch; ++g) {
        // [lane][register] in memory, [register][lane] for us
        uint32_t words[4][4][32] = {};
        const uint32_t* pa[4];
        const uint32_t* pb[4];
        const uint32_t* pc[4];
        uint32_t* pd[4];
        for (uint32_t r = 0; r < 4; ++r)
          pa[r] = words[0][r], pb[r] = words[1][r], pc[r] = words[2][r], pd[r] = words[3][r];
        for (uint32_t lane = 0; lane < 32; ++lane) {
          for (uint32_t r = 0; r < counts.a; ++r) words[0][r][lane] = a[(g * 32 + lane) * counts.a + r];
          for (uint32_t r = 0; r < counts.b; ++r) words[1][r][lane] = b[(g * 32 + lane) * counts.b + r];
          for (uint32_t r = 0; r < counts.c; ++r) words[2][r][lane] = c[(g * 32 + lane) * counts.c + r];
        }
        mma_sync(form, pa, pb, pc, pd);
        for (uint32_t lane = 0; lane < 32; ++lane) {
          for (uint32_t r = 0; r < counts.c; ++r) d[(g * 32 + lane) * counts.c + r] = words[3][r][lane];
        }
      }
      const std::string name = std::string("mma-random-") + entry.name + "-spread" + std::to_string(spread);
      const Recorded& record = recorded(cases, name);
      for (size_t i = 0; i < record.words.size(); ++i) EXPECT_EQ(d[i], record.words[i]) << name << ' ' << i;
      ASSERT_EQ(record.hashes.size(), 8u);
      EXPECT_TRUE(record.matches(d)) << name;
    }
  }
}

}  // namespace
}  // namespace ptxbench::emu
