#include "ptxbench/judge/philox.h"

#include <gtest/gtest.h>

namespace ptxbench::judge {
namespace {

// The known-answer vectors that the generator's authors publish with it (Random123, philox4x32 with 10 rounds).
TEST(Philox, PublishedVectors) {
  EXPECT_EQ(philox4x32({0, 0, 0, 0}, {0, 0}), (PhiloxBlock{0x6627e8d5, 0xe169c58d, 0xbc57ac4c, 0x9b00dbd8}));
  EXPECT_EQ(philox4x32({0xffffffff, 0xffffffff, 0xffffffff, 0xffffffff}, {0xffffffff, 0xffffffff}),
            (PhiloxBlock{0x408f276d, 0x41c83b0e, 0xa20bc7c6, 0x6d5451fd}));
  EXPECT_EQ(philox4x32({0x243f6a88, 0x85a308d3, 0x13198a2e, 0x03707344}, {0xa4093822, 0x299f31d0}),
            (PhiloxBlock{0xd16cfe09, 0x94fdcceb, 0x5001e420, 0x24126ea1}));
}

TEST(Philox, StreamsPlaceSeedStreamAndIndex) {
  const PhiloxStream stream(0x299f31d0a4093822, 0x0370734413198a2e);
  EXPECT_EQ(stream.block(0x85a308d3243f6a88), (PhiloxBlock{0xd16cfe09, 0x94fdcceb, 0x5001e420, 0x24126ea1}));
}

TEST(Philox, BelowStaysInRangeAndCoversIt) {
  const PhiloxStream stream(1, 2);
  int seen[7] = {};
  for (int i = 0; i < 700; ++i) ++seen[stream.below(i, 7)];
  for (const int count : seen) EXPECT_GT(count, 50);  // expectation 100, sigma 9.3
}

}  // namespace
}  // namespace ptxbench::judge
