#include "ptxbench/report/stats.h"

#include <gtest/gtest.h>

namespace ptxbench::report {
namespace {

// Newcombe, Statistics in Medicine 17 (1998), table I, method 3: 81/263, 15/148, 0/20, 1/29.
TEST(Wilson, AgreesWithPublishedIntervals) {
  const struct {
    std::int64_t successes, n;
    double low, high;
  } rows[] = {{81, 263, 0.2553, 0.3662}, {15, 148, 0.0624, 0.1605}, {0, 20, 0.0000, 0.1611}, {1, 29, 0.0061, 0.1718}};
  for (const auto& row : rows) {
    EXPECT_NEAR(wilson(row.successes, row.n).low, row.low, 5e-5) << row.successes << "/" << row.n;
    EXPECT_NEAR(wilson(row.successes, row.n).high, row.high, 5e-5) << row.successes << "/" << row.n;
  }
}

TEST(Wilson, KnowsNothingWithoutSamples) {
  EXPECT_EQ(wilson(0, 0).low, 0);
  EXPECT_EQ(wilson(0, 0).high, 1);
}

// By counting: of the C(5,2) = 10 pairs of 5 samples, C(3,2) = 3 hold neither of the 2 right ones.
TEST(PassAtK, CountsPairs) {
  EXPECT_NEAR(*pass_at_k(5, 2, 2), 0.7, 1e-12);
  EXPECT_NEAR(*pass_at_k(5, 2, 1), 0.4, 1e-12);
  EXPECT_EQ(*pass_at_k(5, 2, 4), 1);
  EXPECT_EQ(*pass_at_k(5, 0, 5), 0);
  EXPECT_FALSE(pass_at_k(5, 2, 6));
  EXPECT_FALSE(pass_at_k(5, 2, 0));
}

TEST(Quantile, IsLinearBetweenRanks) {
  EXPECT_EQ(*quantile({3, 1, 2}, 0.5), 2);
  EXPECT_EQ(*quantile({4, 1, 2, 3}, 0.5), 2.5);
  EXPECT_EQ(*quantile({7}, 0.9), 7);
  EXPECT_FALSE(quantile({}, 0.5));
}

// Fisher's tea tasting: 3 of 4 against 1 of 4 gives 34/70.
TEST(ExactStratified, IsFishersTestForOneStratum) {
  const Stratum tea[] = {{3, 4, 1, 4}};
  EXPECT_NEAR(exact_stratified_p(tea), 34.0 / 70, 1e-9);
}

// Two strata of 1/1 against 0/1: each total of A is 0, 1 or 2 with chances 1/4, 1/2, 1/4; the observed 2 is as likely as 0.
TEST(ExactStratified, AddsStrata) {
  const Stratum two[] = {{1, 1, 0, 1}, {1, 1, 0, 1}};
  EXPECT_NEAR(exact_stratified_p(two), 0.5, 1e-9);
}

// Opposite differences in two tasks cancel, although each of them alone is large.
TEST(ExactStratified, OppositeStrataCancel) {
  const Stratum opposite[] = {{8, 8, 0, 8}, {0, 8, 8, 8}};
  EXPECT_NEAR(exact_stratified_p(opposite), 1, 1e-9);
  EXPECT_LT(exact_stratified_p(std::span(opposite).first(1)), 1e-3);
}

TEST(SignFlip, CountsSignPatterns) {
  EXPECT_EQ(*sign_flip_p(std::vector<double>{1, 2, 3, 4, 5}), 2.0 / 32);
  EXPECT_EQ(*sign_flip_p(std::vector<double>{1, -1}), 1);
  EXPECT_FALSE(sign_flip_p({}));
  EXPECT_FALSE(sign_flip_p(std::vector<double>(21, 1.0)));
}

// Holm's own steps by hand: 3 x 0.01, 2 x 0.02, then 0.04 may not fall below the one before.
TEST(Stats, HolmKeepsTheOrder) {
  const auto adjusted = holm_adjusted({0.02, 0.01, 0.04});
  EXPECT_DOUBLE_EQ(adjusted[1], 0.03);
  EXPECT_DOUBLE_EQ(adjusted[0], 0.04);
  EXPECT_DOUBLE_EQ(adjusted[2], 0.04);
  EXPECT_DOUBLE_EQ(holm_adjusted({0.6, 0.7})[1], 1.0);
  EXPECT_TRUE(holm_adjusted({}).empty());
}

// 0 of 384 rounds to 8.6e-19 by the formula as it stands.
TEST(Stats, WilsonEndsExactlyAtNoneAndAll) {
  for (const std::int64_t n : {1, 7, 384, 1440}) {
    EXPECT_EQ(wilson(0, n).low, 0);
    EXPECT_EQ(wilson(n, n).high, 1);
  }
}

}  // namespace
}  // namespace ptxbench::report
