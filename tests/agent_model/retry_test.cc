#include "ptxbench/agent/model/retry.h"

#include <gtest/gtest.h>

namespace ptxbench::agent {
namespace {

using std::chrono::milliseconds;

// RFC 9110 gives this date as its example; 784111777 is its Unix time (`date -d ... +%s`).
constexpr const char* kDate = "Sun, 06 Nov 1994 08:49:37 GMT";
constexpr std::time_t kUnix = 784111777;

TEST(RetryAfter, Forms) {
  EXPECT_EQ(retry_after_seconds("120", "", 0), 120.0);
  EXPECT_EQ(retry_after_seconds("1.5", "", 0), 1.5);
  EXPECT_EQ(retry_after_seconds("1", "250", 0), 0.25);
  EXPECT_EQ(retry_after_seconds(kDate, "", kUnix - 30), 30.0);
  EXPECT_EQ(retry_after_seconds(kDate, "", kUnix + 30), 0.0);
}

TEST(RetryAfter, NonsenseIsNoWish) {
  for (const char* text : {"", "soon", "-5", "inf", "nan", "12 parsecs"})
    EXPECT_EQ(retry_after_seconds(text, "", kUnix), std::nullopt) << text;
}

TEST(BackOff, DoublesWithHalfJitterUpToTheLongest) {
  const RetryPolicy policy{6, 1, milliseconds(1000), milliseconds(6000)};
  EXPECT_DOUBLE_EQ(wait_before_retry(policy, 1, {}, 0).count(), 0.5);
  EXPECT_DOUBLE_EQ(wait_before_retry(policy, 1, {}, 1).count(), 1.0);
  EXPECT_DOUBLE_EQ(wait_before_retry(policy, 3, {}, 1).count(), 4.0);
  EXPECT_DOUBLE_EQ(wait_before_retry(policy, 4, {}, 1).count(), 6.0);
  EXPECT_DOUBLE_EQ(wait_before_retry(policy, 100, {}, 0).count(), 3.0);
}

TEST(BackOff, TheServersWishIsTheLeast) {
  const RetryPolicy policy{6, 1, milliseconds(1000), milliseconds(6000)};
  EXPECT_DOUBLE_EQ(wait_before_retry(policy, 1, 20.0, 0).count(), 20.0);
  EXPECT_DOUBLE_EQ(wait_before_retry(policy, 1, 20.0, 1).count(), 20.1);
}

}  // namespace
}  // namespace ptxbench::agent
