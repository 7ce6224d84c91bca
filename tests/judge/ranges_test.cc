#include "ptxbench/judge/ranges.h"

#include <gtest/gtest.h>

#include <atomic>
#include <numeric>
#include <stdexcept>

#include "ptxbench/judge/parallel.h"

namespace ptxbench::judge {
namespace {

std::vector<std::int64_t> from_to(std::int64_t first, std::int64_t last) {
  std::vector<std::int64_t> list(last - first + 1);
  std::iota(list.begin(), list.end(), first);
  return list;
}

TEST(Ranges, InWords) {
  EXPECT_EQ(range_list({}), "");
  EXPECT_EQ(range_list({5}), "5");
  EXPECT_EQ(range_list(from_to(64, 127)), "64-127");
  EXPECT_EQ(range_list({0, 2, 3, 9}), "0, 2-3 and 9");
  EXPECT_EQ(range_list({0, 2, 4, 6, 8, 11}), "0, 2, 4 and 3 more ranges up to 11");
}

TEST(Ranges, WithinAnExtent) {
  EXPECT_EQ(describe_indices(from_to(0, 127), 128, "row", "rows"), "all rows");
  EXPECT_EQ(describe_indices({7}, 128, "row", "rows"), "row 7");
  EXPECT_EQ(describe_indices(from_to(64, 127), 128, "column", "columns"), "columns 64-127");
  std::vector<std::int64_t> upper_halves;
  for (std::int64_t i = 0; i < 128; ++i)
    if (i % 16 >= 8) upper_halves.push_back(i);
  EXPECT_EQ(describe_indices(upper_halves, 128, "row", "rows"), "rows with index mod 16 in 8-15");
  upper_halves.pop_back();
  EXPECT_EQ(describe_indices(upper_halves, 128, "row", "rows"), "rows 8-15, 24-31, 40-47 and 5 more ranges up to 126");
}

TEST(ParallelFor, EveryIndexOnceOnAnyNumberOfThreads) {
  for (const unsigned threads : {0u, 1u, 3u, 100u}) {
    std::vector<std::atomic<int>> seen(57);
    parallel_for(57, threads, [&](std::int64_t i) { ++seen[i]; });
    for (const auto& count : seen) EXPECT_EQ(count, 1);
  }
  parallel_for(0, 4, [](std::int64_t) { FAIL(); });
}

TEST(ParallelFor, AnExceptionReachesTheCaller) {
  for (const unsigned threads : {1u, 4u})
    EXPECT_THROW(parallel_for(100, threads,
                              [](std::int64_t i) {
                                if (i == 50) throw std::runtime_error("x");
                              }),
                 std::runtime_error);
}

}  // namespace
}  // namespace ptxbench::judge
