// What kernels print ends up in the report, not on stdout. The driver prints through stdio, as this test does.
#include "ptxbench/gpu/output.h"

#include <gtest/gtest.h>

#include <cstdio>

namespace ptxbench::gpu {
namespace {

TEST(PrintfCapture, TakesWhatWasPrintedSinceTheLastTime) {
  std::string first, second, none;
  {
    PrintfCapture capture;
    std::printf("one\n");
    first = capture.take(100);
    std::printf("two\n");
    second = capture.take(100);
    none = capture.take(100);
  }
  EXPECT_EQ(first, "one\n");
  EXPECT_EQ(second, "two\n");
  EXPECT_EQ(none, "");
}

TEST(PrintfCapture, TheLimitHoldsAndTheRestIsDropped) {
  std::string first, second;
  {
    PrintfCapture capture;
    for (int i = 0; i < 1000; ++i) std::printf("0123456789");
    first = capture.take(15);
    std::printf("next");
    second = capture.take(15);
  }
  EXPECT_EQ(first, "012345678901234");
  EXPECT_EQ(second, "next");
}

TEST(PrintfCapture, MoreThanTheFileHoldsIsLostAndTheNextLaunchIsComplete) {
  std::string flood, next;
  {
    PrintfCapture capture;
    for (int i = 0; i < 100; ++i) std::printf("%100000d", i);  // 10 MB
    flood = capture.take(1 << 30);
    std::printf("next");
    next = capture.take(100);
  }
  EXPECT_LE(flood.size(), static_cast<std::size_t>(PrintfCapture::kMostBytes));
  EXPECT_GE(flood.size(), static_cast<std::size_t>(PrintfCapture::kMostBytes) / 2);
  EXPECT_EQ(next, "next");
}

}  // namespace
}  // namespace ptxbench::gpu
