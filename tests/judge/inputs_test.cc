#include "ptxbench/judge/inputs.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <set>

#include "model.h"

namespace ptxbench::judge {
namespace {

using ::testing::HasSubstr;

const std::vector<std::string> kGemmFamilies = {"integer", "normal", "offset", "spikes", "scaled", "signature"};
const std::vector<std::string> kForwardFamilies = {"normal", "wide", "offset", "spikes", "signature"};

double mean_of(std::span<const std::uint16_t> values) {
  double sum = 0;
  for (const std::uint16_t bits : values) sum += bf16_value(bits);
  return sum / static_cast<double>(values.size());
}

double sigma_of(std::span<const std::uint16_t> values) {
  const double mean = mean_of(values);
  double sum = 0;
  for (const std::uint16_t bits : values) sum += (bf16_value(bits) - mean) * (bf16_value(bits) - mean);
  return std::sqrt(sum / static_cast<double>(values.size()));
}

TEST(Bf16, RoundsOnceFromDouble) {
  EXPECT_EQ(bf16_from(1.0), 0x3f80);
  EXPECT_EQ(bf16_from(1 + 0x1p-8), 0x3f80);            // halfway: to even
  EXPECT_EQ(bf16_from(1 + 3 * 0x1p-8), 0x3f82);        // halfway: to even, upwards
  EXPECT_EQ(bf16_from(1 + 0x1p-8 + 0x1p-40), 0x3f81);  // by way of binary32 this would be a tie
  EXPECT_EQ(bf16_from(1 + 3 * 0x1p-8 - 0x1p-40), 0x3f81);
  EXPECT_EQ(bf16_from(-(1 + 0x1p-8 + 0x1p-40)), 0xbf81);
  EXPECT_EQ(bf16_from(0x1.fep127), 0x7f7f);
  EXPECT_EQ(bf16_from(0x1.ffp127), 0x7f80);  // halfway to the next power of two: overflows to infinity
  EXPECT_EQ(bf16_from(1e300), 0x7f80);
  EXPECT_EQ(bf16_from(-1e300), 0xff80);
  EXPECT_EQ(bf16_from(0.0), 0);
  EXPECT_EQ(bf16_from(0x1p-133), 1);  // the least denormal
  EXPECT_EQ(bf16_from(std::nan("")), 0x7fff);
}

TEST(Plan, GemmHasAnIntegerRunAndAMixedRun) {
  const auto plans = plan_runs(model::gemm_problem(128, 64, 64), kGemmFamilies, 7);
  ASSERT_TRUE(plans);
  ASSERT_EQ(plans->size(), 2u);
  EXPECT_EQ((*plans)[0].schedule, wire::Schedule::kLatest);
  EXPECT_EQ((*plans)[1].schedule, wire::Schedule::kEarliest);
  for (const Family family : (*plans)[0].family_of_unit) EXPECT_EQ(family, Family::kInteger);
  std::map<Family, int> rows;
  for (const Family family : (*plans)[1].family_of_unit) ++rows[family];
  EXPECT_EQ(rows[Family::kNormal], 64);
  EXPECT_EQ(rows.size(), 5u);
  for (const auto& [family, count] : rows) EXPECT_GE(count, 8) << to_string(family);
}

TEST(Plan, AttentionCoversEveryFamilyWhateverTheHeads) {
  for (const std::int64_t kv_heads : {1, 2, 4, 48}) {
    const Problem problem = model::attention_problem({1, 48, kv_heads, 64, 64, false}, false);
    const auto plans = plan_runs(problem, kForwardFamilies, 3);
    ASSERT_TRUE(plans);
    std::set<Family> seen;
    for (const RunPlan& plan : *plans) {
      ASSERT_EQ(plan.family_of_unit.size(), static_cast<std::size_t>(kv_heads));
      seen.insert(plan.family_of_unit.begin(), plan.family_of_unit.end());
    }
    EXPECT_EQ(seen.size(), 5u) << kv_heads;
    EXPECT_EQ((*plans)[0].family_of_unit[0], Family::kNormal);
  }
}

TEST(Plan, WhichHeadGetsWhichFamilyDependsOnTheSeed) {
  const Problem problem = model::attention_problem({1, 4, 4, 64, 64, false}, false);
  std::set<std::vector<Family>> seen;
  for (std::uint64_t seed = 0; seed < 32; ++seed)
    seen.insert((*plan_runs(problem, kForwardFamilies, seed))[1].family_of_unit);
  EXPECT_EQ(seen.size(), 4u);
}

TEST(Plan, RefusesByName) {
  const auto unknown = plan_runs(model::gemm_problem(8, 8, 8), {"normals"}, 1);
  ASSERT_FALSE(unknown);
  EXPECT_THAT(unknown.error().message, HasSubstr("'normals' is not an input family (known: normal, integer,"));
  const auto foreign = plan_runs(model::gemm_problem(8, 8, 8), {"wide"}, 1);
  ASSERT_FALSE(foreign);
  EXPECT_THAT(foreign.error().message, HasSubstr("'wide' does not belong to gemm_nt"));
}

TEST(Inputs, ASeedReproducesThemOnAnyNumberOfThreads) {
  const Problem problem = model::gemm_problem(64, 96, 200);
  const auto plans = *plan_runs(problem, kGemmFamilies, 11);
  const InputSet one = make_inputs(problem, plans[1], 11, 1, 1), two = make_inputs(problem, plans[1], 11, 1, 2);
  EXPECT_EQ(one.tensors[0].bytes, two.tensors[0].bytes);
  EXPECT_EQ(one.tensors[1].bytes, two.tensors[1].bytes);
  EXPECT_NE(one.tensors[1].bytes, make_inputs(problem, plans[1], 12, 1, 1).tensors[1].bytes);
  EXPECT_NE(one.tensors[1].bytes, make_inputs(problem, plans[1], 11, 2, 1).tensors[1].bytes) << "each run is fresh";
}

TEST(Inputs, NormalIsNormal) {
  const Problem problem = model::gemm_problem(64, 512, 1024);
  const InputSet set = make_inputs(problem, {{}, std::vector<Family>(64, Family::kNormal)}, 5, 0, 0);
  const auto b = set.tensors[1].bf16();  // half a million samples: sigma of the mean 1.4e-3, of sigma 1e-3
  EXPECT_NEAR(mean_of(b), 0, 7e-3);
  EXPECT_NEAR(sigma_of(b), 1, 5e-3);
  std::int64_t within = 0;
  for (const std::uint16_t bits : b) within += std::fabs(bf16_value(bits)) < 0.99;  // below the bf16 number 0.992
  EXPECT_NEAR(static_cast<double>(within) / static_cast<double>(b.size()), std::erf(0.99 / std::sqrt(2.0)), 5e-3);
}

TEST(Inputs, IntegersStayBelowTheExactRange) {
  EXPECT_EQ(integer_amplitude(4096), 255);
  EXPECT_EQ(integer_amplitude(5120), 255);
  EXPECT_EQ(integer_amplitude(21504), 127);
  const Problem problem = model::gemm_problem(128, 256, 5120);
  const InputSet set = make_inputs(problem, {{}, std::vector<Family>(128, Family::kInteger)}, 5, 0, 0);
  std::set<double> seen;
  for (const std::uint16_t bits : set.tensors[0].bf16()) seen.insert(bf16_value(bits));
  EXPECT_EQ(seen.size(), 511u);
  EXPECT_EQ(*seen.begin(), -255);
  EXPECT_EQ(*seen.rbegin(), 255);
  const auto expected = make_reference(problem, set, 0);
  for (const double c : expected[0]) {
    ASSERT_EQ(c, std::floor(c));
    ASSERT_LT(std::fabs(c), 0x1p24);
  }
}

TEST(Inputs, SignatureRowsOfAPickColumnsOfB) {
  const Problem problem = model::gemm_problem(16, 32, 40);
  const InputSet set = make_inputs(problem, {{}, std::vector<Family>(16, Family::kSignature)}, 9, 0, 1);
  const auto c = make_reference(problem, set, 1)[0];
  for (std::int64_t i = 0; i < 16; ++i)
    for (std::int64_t j = 0; j < 32; ++j)
      ASSERT_EQ(c[i * 32 + j], bf16_value(set.tensors[1].bf16()[j * 40 + set.signature[i]]));
}

TEST(Inputs, SignatureQueriesReturnTheirKeysValue) {
  for (const bool causal : {false, true}) {
    const AttentionShape shape{1, 4, 2, 128, 64, causal};
    const Problem problem = model::attention_problem(shape, false);
    const InputSet set = make_inputs(problem, {{}, std::vector<Family>(2, Family::kSignature)}, 21, 0, 2);
    const auto o = make_reference(problem, set, 2)[0];
    std::set<std::int64_t> keys;
    for (std::int64_t row = 0; row < shape.rows(); ++row) {
      const std::int64_t kv = row / 128 / 2, key = set.signature[row];
      if (row < 128) keys.insert(key);
      if (causal) {
        ASSERT_LE(key, row % 128);
      }
      for (std::int64_t d = 0; d < 64; ++d)
        ASSERT_NEAR(o[row * 64 + d], bf16_value(set.tensors[2].bf16()[(kv * 128 + key) * 64 + d]), 1e-6);
    }
    if (!causal) {
      EXPECT_EQ(keys.size(), 128u) << "every key is picked once";
    }
  }
}

TEST(Inputs, WideLogitsAreWide) {
  const AttentionShape shape{1, 1, 1, 256, 64, false};
  const InputSet set = make_inputs(model::attention_problem(shape, false), {{}, {Family::kWide}}, 2, 0, 1);
  EXPECT_GE(sigma_of(set.tensors[0].bf16()), 3.9);
  EXPECT_NEAR(sigma_of(set.tensors[1].bf16()), 1, 0.03);
}

TEST(Inputs, BackwardGetsTheForwardPass) {
  const AttentionShape shape{1, 2, 2, 64, 64, true};
  const Problem problem = model::attention_problem(shape, true);
  const InputSet set = make_inputs(problem, {{}, {Family::kNormal, Family::kImpulse}}, 2, 0, 1);
  ASSERT_EQ(set.tensors.size(), 6u);
  // Row 0 sees one key: O is its V, and L its scaled score.
  double score = 0;
  for (int d = 0; d < 64; ++d) {
    EXPECT_EQ(set.tensors[3].bf16()[d], set.tensors[2].bf16()[d]);
    score += bf16_value(set.tensors[0].bf16()[d]) * bf16_value(set.tensors[1].bf16()[d]);
  }
  EXPECT_NEAR(set.tensors[5].f32()[0], score / 8, 1e-5);
  int ones = 0;
  for (const std::uint16_t bits : set.tensors[4].bf16().subspan(64 * 64)) ones += bits != 0;
  EXPECT_EQ(ones, 32) << "one element in every other row of the impulse head";
}

}  // namespace
}  // namespace ptxbench::judge
