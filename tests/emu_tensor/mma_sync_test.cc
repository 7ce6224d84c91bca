// mma.sync against exact integer products, operands placed as the figures "Matrix fragments for mma.m16n8k*" of PTX ISA say.
#include "ptxbench/emu/tensor/mma_sync.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <bit>
#include <functional>
#include <random>
#include <vector>

#include "ptxbench/numeric/half.h"

namespace ptxbench::emu {
namespace {

using testing::HasSubstr;

struct Registers {
  std::vector<uint32_t> words;
  std::vector<uint32_t*> pointers;

  explicit Registers(uint32_t count) : words(size_t{count} * 32) {
    for (uint32_t i = 0; i < count; ++i) pointers.push_back(words.data() + size_t{32} * i);
  }
};

uint32_t size_of(MmaType type) {
  return type == MmaType::kTF32 ? 4 : type == MmaType::kF16 || type == MmaType::kBF16 ? 2 : 1;
}

uint32_t bits_of(MmaType type, int value) {
  const auto number = static_cast<double>(value);
  switch (type) {
    case MmaType::kF16: return numeric::encode(numeric::Format::kF16, number);
    case MmaType::kBF16: return numeric::encode(numeric::Format::kBF16, number);
    case MmaType::kTF32: return std::bit_cast<uint32_t>(static_cast<float>(value));
    case MmaType::kE4M3: return numeric::encode(numeric::Format::kE4M3, number);
    case MmaType::kE5M2: return numeric::encode(numeric::Format::kE5M2, number);
    default: return static_cast<uint8_t>(value);
  }
}

// The figures, element by element: groupID = lane / 4, threadID_in_group = lane % 4, element i of the fragment.
struct Element {
  uint32_t row, column;
};
Element a_element(uint32_t size, uint32_t lane, uint32_t i) {
  const uint32_t group = lane / 4, thread = lane % 4;
  switch (size) {
    case 2: return {group + ((i / 2) % 2 == 1 ? 8 : 0), thread * 2 + (i & 1) + (i >= 4 ? 8 : 0)};
    case 4: return {group + (i % 2 == 1 ? 8 : 0), thread + (i >= 2 ? 4 : 0)};
    default: return {group + ((i / 4) % 2 == 1 ? 8 : 0), thread * 4 + (i & 3) + (i >= 8 ? 16 : 0)};
  }
}
Element b_element(uint32_t size, uint32_t lane, uint32_t i) {  // row = k
  const uint32_t group = lane / 4, thread = lane % 4;
  switch (size) {
    case 2: return {thread * 2 + (i & 1) + (i >= 2 ? 8 : 0), group};
    case 4: return {thread + (i >= 1 ? 4 : 0), group};
    default: return {thread * 4 + (i & 3) + (i >= 4 ? 16 : 0), group};
  }
}
Element c_element(uint32_t lane, uint32_t i) { return {lane / 4 + (i >= 2 ? 8u : 0u), lane % 4 * 2 + (i & 1)}; }

void put(Registers& registers, uint32_t size, uint32_t lane, uint32_t i, uint32_t bits) {
  const uint32_t per_register = 4 / size;
  registers.pointers[i / per_register][lane] |= bits << (8 * size * (i % per_register));
}

class MmaSync : public testing::TestWithParam<MmaForm> {};

TEST_P(MmaSync, ExactIntegerProducts) {
  const MmaForm form = GetParam();
  ASSERT_TRUE(check_mma_form(form));
  const uint32_t size = size_of(form.a_type), k = form.k;
  const MmaRegisterCounts counts = mma_register_counts(form);
  EXPECT_EQ(counts.a, 16u * k * size / 128);
  EXPECT_EQ(counts.b, 8u * k * size / 128);
  std::mt19937 random(21);
  const auto draw = [&](MmaType type) {
    return static_cast<int>(random() % (type == MmaType::kE5M2 ? 9 : 17)) - (type == MmaType::kU8     ? 0
                                                                             : type == MmaType::kE5M2 ? 4
                                                                                                      : 8);
  };
  std::vector<int> a(16 * k), b(k * 8), c(16 * 8);
  for (int& value : a) value = draw(form.a_type);
  for (int& value : b) value = draw(form.b_type);
  for (int& value : c) value = draw(MmaType::kS8);
  Registers ra(counts.a), rb(counts.b), rc(counts.c), rd(counts.c);
  const bool half = form.accumulator == MmaAccumulator::kF16;
  for (uint32_t lane = 0; lane < 32; ++lane) {
    for (uint32_t i = 0; i < counts.a * 4u / size; ++i) {
      const Element e = a_element(size, lane, i);
      put(ra, size, lane, i, bits_of(form.a_type, a[e.row * k + e.column]));
    }
    for (uint32_t i = 0; i < counts.b * 4u / size; ++i) {
      const Element e = b_element(size, lane, i);
      put(rb, size, lane, i, bits_of(form.b_type, b[e.row * 8 + e.column]));
    }
    for (uint32_t i = 0; i < 4; ++i) {
      const Element e = c_element(lane, i);
      const int value = c[e.row * 8 + e.column];
      const uint32_t bits = half ? bits_of(MmaType::kF16, value)
                            : form.accumulator == MmaAccumulator::kS32
                                ? static_cast<uint32_t>(value)
                                : std::bit_cast<uint32_t>(static_cast<float>(value));
      put(rc, half ? 2 : 4, lane, i, bits);
    }
  }
  const std::vector<uint32_t> c_before = rc.words;
  mma_sync(form, ra.pointers.data(), rb.pointers.data(), rc.pointers.data(), rd.pointers.data());
  EXPECT_EQ(rc.words, c_before);
  mma_sync(form, ra.pointers.data(), rb.pointers.data(), rc.pointers.data(), rc.pointers.data());  // D over C
  EXPECT_EQ(rc.words, rd.words);
  for (uint32_t lane = 0; lane < 32; ++lane) {
    for (uint32_t i = 0; i < 4; ++i) {
      const Element e = c_element(lane, i);
      int expected = c[e.row * 8 + e.column];
      for (uint32_t kk = 0; kk < k; ++kk) expected += a[e.row * k + kk] * b[kk * 8 + e.column];
      if (half) {
        const uint32_t bits = rd.pointers[i / 2][lane] >> (16 * (i % 2)) & 0xffff;
        ASSERT_EQ(bits, bits_of(MmaType::kF16, expected));
      } else if (form.accumulator == MmaAccumulator::kS32) {
        ASSERT_EQ(static_cast<int32_t>(rd.pointers[i][lane]), expected);
      } else {
        ASSERT_EQ(std::bit_cast<float>(rd.pointers[i][lane]), static_cast<float>(expected));
      }
    }
  }
}

INSTANTIATE_TEST_SUITE_P(
    Forms, MmaSync,
    testing::Values(
        MmaForm{.k = 16}, MmaForm{.k = 8}, MmaForm{.k = 16, .a_type = MmaType::kF16, .b_type = MmaType::kF16},
        MmaForm{.k = 8, .a_type = MmaType::kF16, .b_type = MmaType::kF16, .accumulator = MmaAccumulator::kF16},
        MmaForm{.k = 16, .a_type = MmaType::kF16, .b_type = MmaType::kF16, .accumulator = MmaAccumulator::kF16},
        MmaForm{.k = 8, .a_type = MmaType::kTF32, .b_type = MmaType::kTF32},
        MmaForm{.k = 4, .a_type = MmaType::kTF32, .b_type = MmaType::kTF32},
        MmaForm{.k = 32, .a_type = MmaType::kE4M3, .b_type = MmaType::kE5M2},
        MmaForm{.k = 32, .a_type = MmaType::kS8, .b_type = MmaType::kU8, .accumulator = MmaAccumulator::kS32},
        MmaForm{.k = 16,
                .a_type = MmaType::kS8,
                .b_type = MmaType::kS8,
                .accumulator = MmaAccumulator::kS32,
                .saturate = true}));

TEST(MmaSyncErrors, NamesWhatItRefuses) {
  for (const MmaForm& form :
       {MmaForm{.m = 8, .n = 8, .k = 4}, MmaForm{.k = 32}, MmaForm{.accumulator = MmaAccumulator::kF16},
        MmaForm{.a_type = MmaType::kBF16, .b_type = MmaType::kF16}, MmaForm{.saturate = true},
        MmaForm{.k = 16, .a_type = MmaType::kE4M3, .b_type = MmaType::kE4M3}}) {
    const auto checked = check_mma_form(form);
    ASSERT_FALSE(checked);
    EXPECT_EQ(checked.error().kind, FaultKind::kUnsupported);
    EXPECT_THAT(checked.error().message, HasSubstr("k" + std::to_string(form.k)));
  }
}

}  // namespace
}  // namespace ptxbench::emu
