// ldmatrix, stmatrix and movmatrix: each element carries its own number, so a lane's word says where it came from.
#include "ptxbench/emu/tensor/matrix_move.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstring>
#include <vector>

namespace ptxbench::emu {
namespace {

using testing::HasSubstr;

constexpr uint32_t kBase = 0x800, kBytes = 4096;

struct Warp {
  uint32_t words[4][32] = {};
  uint32_t* registers[4] = {words[0], words[1], words[2], words[3]};
  uint32_t addresses[32] = {};
  std::vector<std::byte> memory = std::vector<std::byte>(kBytes);

  // Row r of matrix i lies at (its number scrambled) * 48 bytes: rows neither packed nor in order.
  Warp() {
    for (uint32_t lane = 0; lane < 32; ++lane) addresses[lane] = kBase + lane * 37 % 64 * 48;
  }
  SharedView shared() { return {memory.data(), kBytes, kBase}; }
  void set(uint32_t matrix, uint32_t row, uint32_t column, uint16_t value) {
    std::memcpy(memory.data() + addresses[8 * matrix + row] - kBase + 2 * column, &value, 2);
  }
  uint16_t get(uint32_t matrix, uint32_t row, uint32_t column) const {
    uint16_t value;
    std::memcpy(&value, memory.data() + addresses[8 * matrix + row] - kBase + 2 * column, 2);
    return value;
  }
};

constexpr uint16_t number(uint32_t matrix, uint32_t row, uint32_t column) {
  return static_cast<uint16_t>(matrix << 12 | row << 8 | column << 4 | 5);
}

TEST(Ldmatrix, EveryCountAndTranspose) {
  for (unsigned count : {1u, 2u, 4u}) {
    for (bool transpose : {false, true}) {
      Warp warp;
      for (uint32_t i = 0; i < count; ++i) {
        for (uint32_t row = 0; row < 8; ++row) {
          for (uint32_t column = 0; column < 8; ++column) warp.set(i, row, column, number(i, row, column));
        }
      }
      for (uint32_t lane = 8 * count; lane < 32; ++lane) warp.addresses[lane] = 0xdead0001;  // must not be looked at
      ASSERT_TRUE(ldmatrix(warp.shared(), warp.addresses, count, transpose, warp.registers));
      for (uint32_t i = 0; i < count; ++i) {
        for (uint32_t lane = 0; lane < 32; ++lane) {
          const uint32_t g = lane / 4, t = lane % 4 * 2;
          const uint32_t low = transpose ? number(i, t, g) : number(i, g, t);
          const uint32_t high = transpose ? number(i, t + 1, g) : number(i, g, t + 1);
          ASSERT_EQ(warp.words[i][lane], low | high << 16) << count << ' ' << transpose << ' ' << lane;
        }
      }
    }
  }
}

TEST(Stmatrix, EveryCountAndTranspose) {
  for (unsigned count : {1u, 2u, 4u}) {
    for (bool transpose : {false, true}) {
      Warp warp;
      for (uint32_t i = 0; i < count; ++i) {
        for (uint32_t lane = 0; lane < 32; ++lane) {
          warp.words[i][lane] = number(i, lane / 4, lane % 4 * 2) | uint32_t{number(i, lane / 4, lane % 4 * 2 + 1)}
                                                                        << 16;
        }
      }
      ASSERT_TRUE(stmatrix(warp.shared(), warp.addresses, count, transpose, warp.registers));
      for (uint32_t i = 0; i < 4; ++i) {
        for (uint32_t row = 0; row < 8; ++row) {
          for (uint32_t column = 0; column < 8; ++column) {
            const uint16_t expected = i >= count ? 0 : transpose ? number(i, column, row) : number(i, row, column);
            ASSERT_EQ(warp.get(i, row, column), expected);
          }
        }
      }
    }
  }
}

TEST(Movmatrix, Transposes) {
  uint32_t from[32], to[32];
  for (uint32_t lane = 0; lane < 32; ++lane) {
    from[lane] = number(0, lane / 4, lane % 4 * 2) | uint32_t{number(0, lane / 4, lane % 4 * 2 + 1)} << 16;
  }
  movmatrix(from, to);
  for (uint32_t lane = 0; lane < 32; ++lane) {
    ASSERT_EQ(to[lane], number(0, lane % 4 * 2, lane / 4) | uint32_t{number(0, lane % 4 * 2 + 1, lane / 4)} << 16);
  }
}

TEST(MatrixMoveErrors, MisalignedAndOutside) {
  Warp warp;
  warp.addresses[11] += 8;
  const auto misaligned = ldmatrix(warp.shared(), warp.addresses, 2, false, warp.registers);
  ASSERT_FALSE(misaligned);
  EXPECT_EQ(misaligned.error().kind, FaultKind::kMisaligned);
  EXPECT_THAT(misaligned.error().message, HasSubstr("lane 11"));
  EXPECT_TRUE(ldmatrix(warp.shared(), warp.addresses, 1, false, warp.registers));
  warp.addresses[3] = kBase + kBytes - 8 * 2;
  EXPECT_TRUE(stmatrix(warp.shared(), warp.addresses, 1, false, warp.registers));
  warp.addresses[3] += 16;
  const auto outside = stmatrix(warp.shared(), warp.addresses, 1, false, warp.registers);
  ASSERT_FALSE(outside);
  EXPECT_EQ(outside.error().kind, FaultKind::kOutOfBounds);
  EXPECT_EQ(outside.error().address, kBase + kBytes);
}

}  // namespace
}  // namespace ptxbench::emu
