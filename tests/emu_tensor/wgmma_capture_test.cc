// wgmma against recorded results of an H200: tests/captures/wgmma_layout.cu with the same inputs.
#include <gtest/gtest.h>

#include <bit>
#include <string>

#include "capture_replay.h"
#include "ptxbench/emu/tensor/wgmma.h"
#include "wgmma_fixture.h"

namespace ptxbench::emu {
namespace {

using test::CaptureRandom;
using test::Recorded;
using test::Warpgroup;

constexpr uint32_t kBase = 1024, kImageWords = 64 * 1024 / 4, kOther = 56 * 1024;

// Pairs of bf16 integers in [-limit, limit], low half first.
std::vector<uint32_t> integer_pairs(size_t words, int limit, uint64_t seed) {
  CaptureRandom random(seed);
  std::vector<uint32_t> data(words);
  const auto one = [&] {
    const int value = static_cast<int>(random.below(2 * static_cast<uint32_t>(limit) + 1)) - limit;
    return std::bit_cast<uint32_t>(static_cast<float>(value)) >> 16;
  };
  for (uint32_t& word : data) {
    const uint32_t low = one();
    word = low | one() << 16;
  }
  return data;
}

uint64_t descriptor(uint32_t address, uint32_t leading, uint32_t stride, uint32_t base_offset, uint32_t swizzle) {
  return uint64_t{(kBase + address) >> 4 & 0x3fff} | uint64_t{leading >> 4 & 0x3fff} << 16 |
         uint64_t{stride >> 4 & 0x3fff} << 32 | uint64_t{base_offset} << 49 | uint64_t{swizzle} << 62;
}

struct Shape {
  std::string name;
  WgmmaForm form;
  bool vary_a;
};

class LayoutCapture : public testing::Test {
 protected:
  void run(const Shape& shape, const std::string& tail, uint32_t address, uint32_t leading, uint32_t stride,
           uint32_t base_offset, uint32_t swizzle) {
    static const char* const kNames[] = {"none", "sw128", "sw64", "sw32"};
    const std::string name = shape.name + "-" + kNames[swizzle] + tail;
    const auto found = cases_.find(name);
    ASSERT_NE(found, cases_.end()) << name;
    const uint64_t varied = descriptor(address, leading, stride, base_offset, swizzle);
    const uint64_t fixed = descriptor(kOther, 128, 256, 0, 0);
    const uint32_t registers = wgmma_accumulator_registers(shape.form);
    Warpgroup group(registers);
    const SharedView shared{reinterpret_cast<std::byte*>(image_.data()), kImageWords * 4, kBase};
    const auto done = wgmma_compute(shape.form, {shape.vary_a ? varied : fixed, shape.vary_a ? fixed : varied, false},
                                    group.warps(), shared);
    ASSERT_TRUE(done) << name << ": " << done.error().message;
    std::vector<uint32_t> d;
    for (uint32_t thread = 0; thread < 128; ++thread) {
      for (uint32_t i = 0; i < registers; ++i) d.push_back(group.d(thread, i));
    }
    EXPECT_TRUE(found->second.matches(d)) << name;
    ++compared_;
  }

  const std::map<std::string, Recorded> cases_ = test::recorded_cases("wgmma_layout");
  std::vector<uint32_t> image_ = integer_pairs(kImageWords, 7, 11);
  const Shape shapes_[5] = {{"a-k", {.n = 8}, true},
                            {"a-mn", {.n = 8, .transpose_a = true}, true},
                            {"b-k-n64", {.n = 64}, false},
                            {"b-mn-n64", {.n = 64, .transpose_b = true}, false},
                            {"b-mn-n80", {.n = 80, .transpose_b = true}, false}};
  size_t compared_ = 0;
};

TEST_F(LayoutCapture, LeadingAndStrideOffsets) {
  for (const Shape& shape : shapes_) {
    for (uint32_t swizzle = 0; swizzle < 4; ++swizzle) {
      for (uint32_t leading : {16u, 128u, 512u, 2048u}) {
        for (uint32_t stride : {128u, 256u, 1024u, 2176u}) {
          run(shape, "-lbo" + std::to_string(leading) + "-sbo" + std::to_string(stride), 0, leading, stride, 0,
              swizzle);
        }
      }
    }
  }
  EXPECT_EQ(compared_, 5u * 4 * 16);
}

TEST_F(LayoutCapture, StartAddresses) {
  for (size_t i = 0; i < 4; ++i) {
    for (uint32_t swizzle = 0; swizzle < 4; ++swizzle) {
      for (uint32_t address : {16u, 32u, 48u, 64u, 96u, 128u, 256u, 384u, 512u, 640u, 896u, 1024u, 1056u}) {
        run(shapes_[i], "-start" + std::to_string(address), address, 1024, 1024, 0, swizzle);
      }
    }
  }
  EXPECT_EQ(compared_, 4u * 4 * 13);
}

TEST_F(LayoutCapture, BaseOffsets) {
  for (size_t i = 0; i < 4; ++i) {
    for (uint32_t swizzle = 0; swizzle < 4; ++swizzle) {
      for (uint32_t base_offset = 1; base_offset < 8; ++base_offset) {
        run(shapes_[i], "-base" + std::to_string(base_offset), 0, 1024, 1024, base_offset, swizzle);
      }
      for (uint32_t base_offset : {1u, 2u, 4u, 7u}) {
        const uint32_t start = base_offset * 128;
        run(shapes_[i], "-start" + std::to_string(start) + "-base" + std::to_string(base_offset), start, 1024, 1024,
            base_offset, swizzle);
      }
    }
  }
  EXPECT_EQ(compared_, 4u * 4 * 11);
}

}  // namespace
}  // namespace ptxbench::emu
