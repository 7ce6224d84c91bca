// wgmma: other element types, other accumulators, and A in registers.
#include <gtest/gtest.h>

#include <bit>
#include <cmath>
#include <limits>
#include <random>

#include "ptxbench/emu/tensor/wgmma.h"
#include "ptxbench/numeric/half.h"
#include "wgmma_fixture.h"

namespace ptxbench::emu {
namespace {

using test::for_each_d;
using test::Layout;
using test::Warpgroup;

constexpr uint32_t kBase = 0x400, kBytes = 64 * 1024;

uint32_t size_of(MmaType type) {
  return type == MmaType::kTF32 ? 4 : type == MmaType::kF16 || type == MmaType::kBF16 ? 2 : 1;
}

// A small integer in any of the types.
uint32_t bits_of(MmaType type, int value) {
  const auto number = static_cast<double>(value);
  switch (type) {
    case MmaType::kF16: return numeric::encode(numeric::Format::kF16, number);
    case MmaType::kBF16: return numeric::encode(numeric::Format::kBF16, number);
    case MmaType::kTF32: return std::bit_cast<uint32_t>(static_cast<float>(value)) | 0x1abc;  // low bits are not read
    case MmaType::kE4M3: return numeric::encode(numeric::Format::kE4M3, number);
    case MmaType::kE5M2: return numeric::encode(numeric::Format::kE5M2, number);
    default: return static_cast<uint8_t>(value);
  }
}

struct Numbers {
  uint32_t k;
  std::vector<int> a, b;

  Numbers(const WgmmaForm& form, std::mt19937& random) : k(32 / size_of(form.a_type)), a(64 * k), b(form.n * k) {
    const auto draw = [&](MmaType type) {
      if (type == MmaType::kU8) return static_cast<int>(random() % 256);
      if (type == MmaType::kS8) return static_cast<int>(random() % 256) - 128;
      if (type == MmaType::kE5M2) return static_cast<int>(random() % 9) - 4;  // all exact with 3 bits
      return static_cast<int>(random() % 17) - 8;
    };
    for (int& value : a) value = draw(form.a_type);
    for (int& value : b) value = draw(form.b_type);
  }
  int64_t product(uint32_t row, uint32_t column) const {
    int64_t sum = 0;
    for (uint32_t i = 0; i < k; ++i) sum += int64_t{a[row * k + i]} * b[column * k + i];
    return sum;
  }
};

class Shared {
 public:
  SharedView view() { return {bytes_.data(), kBytes, kBase}; }
  void place(const Layout& layout, MmaType type, const std::vector<int>& values, uint32_t k) {
    for (uint32_t i = 0; i < values.size(); ++i) {
      const uint32_t bits = bits_of(type, values[i]);
      std::memcpy(bytes_.data() + layout.address(i / k, i % k, size_of(type)) - kBase, &bits, size_of(type));
    }
  }

 private:
  std::vector<std::byte> bytes_ = std::vector<std::byte>(kBytes);
};

// PTX ISA figures "WGMMA .m64nNk16 / k8 / k32 register fragment layout for matrix A": registers 0 and 1 hold the left half of
// k for rows r and r + 8, registers 2 and 3 the right half.
void place_registers(Warpgroup& group, MmaType type, const std::vector<int>& a, uint32_t k) {
  const uint32_t size = size_of(type), per_register = 4 / size;
  for (uint32_t thread = 0; thread < 128; ++thread) {
    for (uint32_t reg = 0; reg < 4; ++reg) {
      const uint32_t row = 16 * (thread / 32) + thread % 32 / 4 + (reg % 2 == 1 ? 8 : 0);
      const uint32_t first = thread % 4 * per_register + (reg >= 2 ? k / 2 : 0);
      uint32_t word = 0;
      for (uint32_t i = 0; i < per_register; ++i) word |= bits_of(type, a[row * k + first + i]) << (8 * size * i);
      group.a(thread, reg) = word;
    }
  }
}

struct TypeCase {
  MmaType a, b;
  MmaAccumulator accumulator;
};

class WgmmaTypes : public testing::TestWithParam<TypeCase> {};

TEST_P(WgmmaTypes, SharedAndRegisterOperandsInAllSwizzles) {
  const auto [a_type, b_type, accumulator] = GetParam();
  std::mt19937 random(11);
  for (Swizzle swizzle : {Swizzle::kNone, Swizzle::k32B, Swizzle::k64B, Swizzle::k128B}) {
    for (bool registers : {false, true}) {
      const WgmmaForm form{
          .a_type = a_type, .b_type = b_type, .accumulator = accumulator, .n = 80, .a_in_registers = registers};
      ASSERT_TRUE(check_wgmma_form(form));
      const Numbers numbers(form, random);
      const uint32_t stride = swizzle == Swizzle::kNone ? 256 : 8 * swizzle_row_bytes(swizzle);
      const Layout a{swizzle, false, 0x1000, 128, stride}, b{swizzle, false, 0x4000, 128, stride};
      Shared shared;
      shared.place(a, a_type, numbers.a, numbers.k);
      shared.place(b, b_type, numbers.b, numbers.k);
      const bool half = accumulator == MmaAccumulator::kF16;
      Warpgroup group(half ? 20 : 40);
      if (registers) place_registers(group, a_type, numbers.a, numbers.k);
      const auto initial = [&](uint32_t row, uint32_t column) {
        return static_cast<int>(row) - static_cast<int>(column);
      };
      for_each_d(80, [&](uint32_t t, uint32_t i, uint32_t row, uint32_t column) {
        const int value = initial(row, column);
        if (half) {
          group.d(t, i / 2) |= numeric::f32_to_f16(static_cast<float>(value)) << (16 * (i % 2));
        } else {
          group.d(t, i) = accumulator == MmaAccumulator::kS32 ? static_cast<uint32_t>(value)
                                                              : std::bit_cast<uint32_t>(static_cast<float>(value));
        }
      });
      const auto done = wgmma_compute(form, {a.descriptor(), b.descriptor(), true}, group.warps(), shared.view());
      ASSERT_TRUE(done) << done.error().message;
      for_each_d(80, [&](uint32_t t, uint32_t i, uint32_t row, uint32_t column) {
        const int64_t expected = numbers.product(row, column) + initial(row, column);
        if (half) {
          const auto bits = static_cast<uint16_t>(group.d(t, i / 2) >> (16 * (i % 2)));
          ASSERT_EQ(bits, numeric::encode(numeric::Format::kF16, static_cast<double>(expected)))
              << row << ' ' << column;
        } else if (accumulator == MmaAccumulator::kS32) {
          ASSERT_EQ(static_cast<int32_t>(group.d(t, i)), expected) << row << ' ' << column;
        } else {
          ASSERT_EQ(std::bit_cast<float>(group.d(t, i)), static_cast<double>(expected)) << row << ' ' << column;
        }
      });
    }
  }
}

INSTANTIATE_TEST_SUITE_P(All, WgmmaTypes,
                         testing::Values(TypeCase{MmaType::kBF16, MmaType::kBF16, MmaAccumulator::kF32},
                                         TypeCase{MmaType::kF16, MmaType::kF16, MmaAccumulator::kF32},
                                         TypeCase{MmaType::kF16, MmaType::kF16, MmaAccumulator::kF16},
                                         TypeCase{MmaType::kTF32, MmaType::kTF32, MmaAccumulator::kF32},
                                         TypeCase{MmaType::kE4M3, MmaType::kE4M3, MmaAccumulator::kF32},
                                         TypeCase{MmaType::kE4M3, MmaType::kE5M2, MmaAccumulator::kF16},
                                         TypeCase{MmaType::kE5M2, MmaType::kE4M3, MmaAccumulator::kF32},
                                         TypeCase{MmaType::kS8, MmaType::kS8, MmaAccumulator::kS32},
                                         TypeCase{MmaType::kU8, MmaType::kS8, MmaAccumulator::kS32},
                                         TypeCase{MmaType::kU8, MmaType::kU8, MmaAccumulator::kS32}));

TEST(WgmmaIntegers, WrapsOrSaturates) {
  for (bool saturate : {false, true}) {
    const WgmmaForm form{.a_type = MmaType::kU8,
                         .b_type = MmaType::kU8,
                         .accumulator = MmaAccumulator::kS32,
                         .n = 8,
                         .saturate = saturate};
    const Layout a{Swizzle::k32B, false, 0x1000, 16, 256}, b{Swizzle::k32B, false, 0x4000, 16, 256};
    Shared shared;
    shared.place(a, MmaType::kU8, std::vector<int>(64 * 32, 255), 32);
    shared.place(b, MmaType::kU8, std::vector<int>(8 * 32, 255), 32);
    Warpgroup group(4);
    constexpr int32_t kMost = std::numeric_limits<int32_t>::max();
    for (uint32_t& word : group.words()) word = kMost - 1;
    ASSERT_TRUE(wgmma_compute(form, {a.descriptor(), b.descriptor(), true}, group.warps(), shared.view()));
    const auto wrapped = static_cast<int32_t>(static_cast<uint32_t>(kMost - 1) + 32u * 255 * 255);
    EXPECT_EQ(static_cast<int32_t>(group.d(77, 3)), saturate ? kMost : wrapped);
  }
}

// One f16 rounding per instruction: 2048 + 16 * 0.5 in f32 is 2056; adding one by one in f16 would stay at 2048.
TEST(WgmmaF16Accumulator, RoundsOncePerInstruction) {
  const WgmmaForm form{.a_type = MmaType::kF16, .b_type = MmaType::kF16, .accumulator = MmaAccumulator::kF16, .n = 8};
  const Layout a{Swizzle::k32B, false, 0x1000, 16, 256}, b{Swizzle::k32B, false, 0x4000, 16, 256};
  Shared shared;
  const SharedView view = shared.view();
  for (uint32_t i = 0; i < kBytes; i += 2) {
    const uint16_t half = i < 0x2000 ? 0x3800 : 0x3c00;  // A = 0.5, B = 1
    std::memcpy(view.data + i, &half, 2);
  }
  Warpgroup group(2);
  for (uint32_t& word : group.words()) word = 0x68006800;  // 2048
  ASSERT_TRUE(wgmma_compute(form, {a.descriptor(), b.descriptor(), true}, group.warps(), view));
  EXPECT_EQ(group.d(5, 1), 0x68046804u);  // 2056
}

TEST(WgmmaPlaces, AgreeWithTheFigures) {
  const WgmmaForm form{.n = 256};
  for_each_d(256, [&](uint32_t t, uint32_t i, uint32_t row, uint32_t column) {
    const FragmentPlace place = wgmma_d_place(form, row, column);
    ASSERT_EQ(place.warp * 32 + place.lane, t);
    ASSERT_EQ(place.reg, i);
  });
  const FragmentPlace a = wgmma_a_place(MmaType::kBF16, 27, 13);  // warp 1, row 11 of 16, right half of k, odd
  EXPECT_EQ(a.warp, 1u);
  EXPECT_EQ(a.lane, 3u * 4 + 2);
  EXPECT_EQ(a.reg, 3u);
  EXPECT_EQ(a.half, 1u);
}

}  // namespace
}  // namespace ptxbench::emu
