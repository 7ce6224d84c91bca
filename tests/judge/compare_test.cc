#include "ptxbench/judge/compare.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <limits>

#include "model.h"

namespace ptxbench::judge {
namespace {

using model::Faults;
using schema::FamilyFigures;
using ::testing::Contains;
using ::testing::ElementsAre;
using ::testing::HasSubstr;

constexpr float kNan = std::numeric_limits<float>::quiet_NaN();

// One run of a model with every unit in one family.
struct Judged {
  std::vector<FamilyFigures> families;
  const FamilyFigures& only() const { return families.front(); }
};

Judged judge_model(const Problem& problem, Family family, const Faults& faults,
                   const std::function<void(std::vector<model::Bytes>&)>& spoil = {}) {
  const RunPlan plan{wire::Schedule::kLatest, std::vector<Family>(problem.units(), family)};
  const InputSet inputs = make_inputs(problem, plan, 4, 0, 0);
  auto bytes = model::outputs(problem, inputs, faults);
  if (spoil) spoil(bytes);
  const auto expected = make_reference(problem, inputs, 0);
  return {compare_run(problem, plan, inputs, model::views(problem, bytes, expected), 0)};
}

const Problem kGemm = model::gemm_problem(128, 192, 1024);
const Problem kForward = model::attention_problem({1, 2, 2, 256, 64, false}, false);
const Problem kCausal = model::attention_problem({1, 2, 2, 256, 64, true}, false);
const Problem kBackward = model::attention_problem({1, 2, 2, 192, 64, false}, true);
const Problem kBackwardCausal = model::attention_problem({1, 4, 2, 192, 64, true}, true);

struct HonestCase {
  const Problem& problem;
  std::vector<Family> families;
};

TEST(Compare, HonestKernelsPassEveryFamilyWithMargin) {
  const std::vector<Family> forward = {Family::kNormal, Family::kWide, Family::kOffset, Family::kSpikes,
                                       Family::kSignature};
  const std::vector<Family> backward = {Family::kNormal, Family::kWide, Family::kOffset, Family::kImpulse};
  const HonestCase cases[] = {
      {kGemm,
       {Family::kNormal, Family::kInteger, Family::kOffset, Family::kSpikes, Family::kScaled, Family::kSignature}},
      {kForward, forward},
      {kCausal, forward},
      {kBackward, backward},
      {kBackwardCausal, backward}};
  for (const HonestCase& c : cases)
    for (const Family family : c.families) {
      const Judged judged = judge_model(c.problem, family, {});
      EXPECT_TRUE(judged.only().strict_passed) << to_string(family);
      EXPECT_THAT(judged.only().hints, ElementsAre());
      EXPECT_TRUE(family != Family::kNormal || judged.only().paper_passed);
      for (const auto& output : judged.only().outputs)
        EXPECT_LE(output.strict_worst, 0.66 * output.strict_limit) << to_string(family) << " " << output.output;
    }
}

// No extent is a multiple of anything; one row, one key, one column.
TEST(Compare, OddSizesAreJudgedToo) {
  const AttentionShape shapes[] = {{1, 1, 1, 1, 64, false}, {2, 3, 1, 37, 72, true}, {1, 2, 2, 131, 96, false}};
  for (const AttentionShape& shape : shapes)
    for (const Family family : {Family::kNormal, Family::kWide, Family::kOffset})
      for (const bool backward : {false, true}) {
        const Judged judged = judge_model(model::attention_problem(shape, backward), family, {});
        EXPECT_TRUE(judged.only().strict_passed) << shape.length << " " << to_string(family) << " " << backward;
      }
  for (const auto& [m, n, k] : {std::tuple(1, 1, 1), std::tuple(3, 5, 7), std::tuple(70, 33, 129)}) {
    const Problem problem = model::gemm_problem(m, n, k);
    const auto plans = plan_runs(problem, {"integer", "normal", "offset", "spikes", "scaled", "signature"}, 5);
    ASSERT_TRUE(plans);
    for (std::size_t run = 0; run < plans->size(); ++run) {
      const InputSet in = make_inputs(problem, (*plans)[run], 5, static_cast<int>(run), 2);
      const auto expected = make_reference(problem, in, 2);
      const auto bytes = model::outputs(problem, in);
      for (const FamilyFigures& family :
           compare_run(problem, (*plans)[run], in, model::views(problem, bytes, expected), static_cast<int>(run)))
        EXPECT_TRUE(family.strict_passed) << m << "x" << n << "x" << k << " " << family.family;
    }
  }
}

struct WrongCase {
  const char* name;
  const Problem& problem;
  Family family;
  Faults faults;
  const char* hint;  // part of a hint; "" for none asked
};

TEST(Compare, WrongKernelsFailStrictly) {
  const WrongCase cases[] = {
      {"one k of 1024 skipped", kGemm, Family::kInteger, {.drop_k = 1}, ""},
      {"a k tile skipped", kGemm, Family::kInteger, {.drop_k = 64}, "lacks the products of k = 960-1023"},
      {"a k tile skipped", kGemm, Family::kNormal, {.drop_k = 64}, "lacks the products of k = 960-1023"},
      {"scale +2 %", kGemm, Family::kNormal, {.output = 1.02}, "C is 1.02 times the right result"},
      {"scale +0.9 %", kGemm, Family::kNormal, {.output = 1.009}, "C is 1.009 times the right result"},
      {"FP8 inputs", kGemm, Family::kNormal, {.fp8_inputs = true}, ""},
      {"FP8 inputs", kGemm, Family::kInteger, {.fp8_inputs = true}, ""},
      {"BF16 partial sums", kGemm, Family::kInteger, {.bf16_partials = true}, ""},
      {"cut off", kGemm, Family::kInteger, {.truncate = true}, "cut off where it should be rounded"},
      {"zeros", kGemm, Family::kNormal, {.output = 0}, "C is all zeros"},
      {"last key dropped", kForward, Family::kNormal, {.drop_keys = 1}, "as if key 255 had been left out"},
      {"last key dropped", kForward, Family::kSignature, {.drop_keys = 1}, "must pick key 255"},
      {"last keys dropped", kForward, Family::kSignature, {.drop_keys = 16}, "must pick key 240-255"},
      {"last key dropped", kCausal, Family::kNormal, {.drop_keys = 1}, "O: wrong: row 255"},
      {"last key tile dropped", kForward, Family::kNormal, {.drop_keys = 64}, "as if keys 192-255 had been left out"},
      {"last keys dropped", kCausal, Family::kNormal, {.drop_keys = 16}, "as if keys 240-255 had been left out"},
      {"softmax scale +2 %", kForward, Family::kNormal, {.scale = 1.02}, "scores were 1.02 times too large"},
      {"softmax scale +2 %", kCausal, Family::kNormal, {.scale = 1.02}, "scores were 1.02 times too large"},
      {"no softmax scale", kForward, Family::kNormal, {.scale = 8}, "the scale 1/sqrt(D) were missing"},
      {"exp2 without log2(e)", kForward, Family::kNormal, {.scale = 0.6931472}, "exp2 had been used"},
      {"output scale +2 %", kForward, Family::kNormal, {.output = 1.02}, "O is 1.02 times"},
      {"LSE in base 2",
       kForward,
       Family::kNormal,
       {.lse_base2 = true},
       "LSE is 1.443 times the right result: it is log2"},
      {"mask one too far", kCausal, Family::kNormal, {.mask_shift = 1}, "the causal mask is one too far"},
      {"mask one too short", kCausal, Family::kNormal, {.mask_shift = -1}, "the causal mask is one too short"},
      {"no mask", kCausal, Family::kNormal, {.no_mask = true}, "attention without the causal mask"},
      {"FP8 inputs", kForward, Family::kNormal, {.fp8_inputs = true}, ""},
      {"linear exp", kForward, Family::kNormal, {.linear_exp = true}, ""},
      {"zeros", kForward, Family::kNormal, {.output = 0}, "O is all zeros"},
      {"no delta", kBackward, Family::kNormal, {.no_delta = true}, "dK is what comes without delta"},
      {"one head of two",
       kBackwardCausal,
       Family::kNormal,
       {.first_head_only = true},
       "dK holds the first query head's share only"},
      {"last key dropped", kBackward, Family::kNormal, {.drop_keys = 1}, "dK: wrong: row 191"},
      {"softmax scale +2 %", kBackwardCausal, Family::kNormal, {.scale = 1.02}, ""},
      {"FP8 inputs", kBackwardCausal, Family::kNormal, {.fp8_inputs = true}, ""},
      {"no mask", kBackwardCausal, Family::kNormal, {.no_mask = true}, "dQ is what comes without the causal mask"},
  };
  for (const WrongCase& c : cases) {
    const Judged judged = judge_model(c.problem, c.family, c.faults);
    EXPECT_FALSE(judged.only().strict_passed) << c.name << " on " << to_string(c.family);
    if (*c.hint != 0) {
      EXPECT_THAT(judged.only().hints, Contains(HasSubstr(c.hint))) << c.name;
    }
  }
}

// The paper's rule is looser: what it lets through is known, and its own figures must show that.
TEST(Compare, ThePapersRuleIsComputedAsPublished) {
  EXPECT_FALSE(judge_model(kGemm, Family::kNormal, {.output = 0}).only().paper_passed);
  EXPECT_FALSE(judge_model(kForward, Family::kNormal, {.output = 0}).only().paper_passed);
  EXPECT_FALSE(judge_model(kCausal, Family::kNormal, {.no_mask = true}).only().paper_passed);
  // LSE of 256 normal scores is about 6.05; 0.9 % of that is more than 1e-2 absolute, but less than 1e-2 relative.
  const Judged lse = judge_model(kForward, Family::kNormal, {}, [](auto& bytes) {
    for (std::size_t i = 0; i < bytes[1].size(); i += 4) {
      float value;
      std::memcpy(&value, &bytes[1][i], 4);
      value *= 1.009f;
      std::memcpy(&bytes[1][i], &value, 4);
    }
  });
  EXPECT_TRUE(lse.only().paper_passed);
  EXPECT_FALSE(lse.only().strict_passed);
}

// Elements around both limits, by hand: reference 1 and 100.
TEST(Compare, LimitsElementByElement) {
  const std::vector<double> expected = {1, 1, 1, 100, 100, 0};
  const std::vector<float> got = {1.0099f, 1.0101f, 1.021f, 100.9f, 101.1f, 0.02f};
  const model::Bytes bytes = model::f32_bytes(got);
  const OutputView view{"LSE", schema::DType::kFloat32, {6}, bytes, expected};
  const auto figures = figures_of(view, {{0, 6}}, false);
  EXPECT_EQ(figures.elements, 6);
  EXPECT_EQ(figures.paper_failing, 4);     // 1.0101, 1.021, 101.1, 0.02: both errors above 1e-2
  EXPECT_EQ(figures.allclose_failing, 3);  // 1.021 > 1.02, 101.1 > 101.01, 0.02 > 0.01
  EXPECT_EQ(figures.strict_failing, 6);
  EXPECT_NEAR(figures.max_abs_error, 1.1, 1e-4);
  ASSERT_TRUE(figures.worst);
  EXPECT_THAT(figures.worst->index, ElementsAre(4));
}

TEST(Compare, NanAndInfinityNeverPass) {
  for (const float bad : {kNan, -kNan, INFINITY, -INFINITY}) {
    const Judged one = judge_model(kGemm, Family::kNormal, {}, [&](auto& bytes) {
      const std::uint16_t bits = bf16_from(bad);
      std::memcpy(&bytes[0][2 * (5 * 192 + 7)], &bits, 2);
    });
    EXPECT_FALSE(one.only().strict_passed);
    EXPECT_FALSE(one.only().paper_passed);
    EXPECT_EQ(one.only().outputs[0].non_finite, 1);
    EXPECT_EQ(one.only().outputs[0].never_written, 0);
    EXPECT_THAT(one.only().outputs[0].worst->index, ElementsAre(5, 7));
    EXPECT_THAT(one.only().hints, Contains(HasSubstr("NaN or infinity in row 5, column 7")));
  }
}

// Whatever the reference is: where it is not finite nothing passes either.
TEST(Compare, ANonFiniteReferenceIsNoWildcard) {
  const std::vector<double> expected = {std::nan(""), INFINITY, 1};
  const model::Bytes bytes = model::f32_bytes({1, INFINITY, 1});
  const auto figures = figures_of({"LSE", schema::DType::kFloat32, {3}, bytes, expected}, {{0, 3}}, false);
  EXPECT_EQ(figures.paper_failing, 2);
  EXPECT_EQ(figures.strict_failing, 2);
  EXPECT_EQ(figures.allclose_failing, 2);
}

TEST(Compare, UnwrittenElementsAreCountedAndNamed) {
  const auto poison = [](model::Bytes& bytes, std::size_t from, std::size_t to) {
    for (std::size_t i = from; i < to; ++i) bytes[i] = reinterpret_cast<const std::byte*>(&kPoison)[i % 4];
  };
  const Judged all =
      judge_model(kGemm, Family::kNormal, {}, [&](auto& bytes) { poison(bytes[0], 0, bytes[0].size()); });
  EXPECT_EQ(all.only().outputs[0].never_written, 128 * 192);
  EXPECT_THAT(all.only().hints, ElementsAre(HasSubstr("C was never written")));
  const Judged some =
      judge_model(kGemm, Family::kNormal, {}, [&](auto& bytes) { poison(bytes[0], 2 * 192 * 64, bytes[0].size()); });
  EXPECT_THAT(*some.only().outputs[0].first_never_written, ElementsAre(64, 0));
  EXPECT_THAT(some.only().hints, Contains(HasSubstr("C: never written: rows 64-127")));
  EXPECT_FALSE(some.only().paper_passed);
}

TEST(Compare, HintsNameTilesAndColumns) {
  const auto negate = [](model::Bytes& bytes, std::int64_t row, std::int64_t column) {
    bytes[2 * (row * 192 + column) + 1] ^= std::byte{0x80};
  };
  const Judged columns = judge_model(kGemm, Family::kInteger, {}, [&](auto& bytes) {
    for (int row = 0; row < 128; ++row)
      for (int column = 64; column < 128; ++column) negate(bytes[0], row, column);
  });
  EXPECT_THAT(columns.only().hints, Contains("C: wrong: columns 64-127 of all rows"));
  const Judged tile = judge_model(kGemm, Family::kInteger, {}, [&](auto& bytes) {
    for (int row = 64; row < 128; ++row)
      for (int column = 0; column < 64; ++column) negate(bytes[0], row, column);
  });
  EXPECT_THAT(tile.only().hints, Contains("C: wrong: rows 64-127, columns 0-63"));
  const Judged lanes = judge_model(kGemm, Family::kInteger, {}, [&](auto& bytes) {
    for (int row = 8; row < 128; row += 16)
      for (int i = 0; i < 8; ++i)
        for (int column = 0; column < 192; ++column) negate(bytes[0], row + i, column);
  });
  EXPECT_THAT(lanes.only().hints, Contains("C: wrong: rows with index mod 16 in 8-15"));
}

// One key of 4096 left out, exactly: O' = (O - p v) / (1 - p) with the key's weight p.
TEST(Compare, OneKeyOf4096HardlyShowsInElementsAndIsCaughtByRows) {
  const Problem problem = model::attention_problem({1, 1, 1, 4096, 64, false}, false);
  const RunPlan plan{wire::Schedule::kLatest, {Family::kNormal}};
  const InputSet in = make_inputs(problem, plan, 4, 0, 0);
  const auto expected = make_reference(problem, in, 0);
  const auto q = in.tensors[0].bf16(), k = in.tensors[1].bf16(), v = in.tensors[2].bf16();
  std::vector<float> o(4096 * 64), lse(4096);
  for (std::int64_t i = 0; i < 4096; ++i) {
    double score = 0;
    for (int d = 0; d < 64; ++d) score += bf16_value(q[i * 64 + d]) * bf16_value(k[4095 * 64 + d]);
    const double p = std::exp(score / 8 - expected[1][i]);
    for (int d = 0; d < 64; ++d)
      o[i * 64 + d] = static_cast<float>((expected[0][i * 64 + d] - p * bf16_value(v[4095 * 64 + d])) / (1 - p));
    lse[i] = static_cast<float>(expected[1][i] + std::log1p(-p));
  }
  const std::vector<model::Bytes> bytes = {model::bf16_bytes(o, {}), model::f32_bytes(lse)};
  const auto families = compare_run(problem, plan, in, model::views(problem, bytes, expected), 0);
  EXPECT_FALSE(families[0].strict_passed);
  EXPECT_GT(families[0].outputs[0].strict_worst, 5e-2);
  EXPECT_LT(families[0].outputs[0].paper_failing, 262) << "not one element in a thousand of 262144";
}

TEST(Compare, RowsThatAreExactlyZeroHaveAFloor) {
  // Row 0 of causal dQ is zero; rounding noise there is no error, a value of the others' size is.
  const std::vector<double> expected = {0, 0, 3, 4, 3, 4};
  for (const auto& [noise, failing] : {std::pair(1e-5f, 0), std::pair(0.01f, 1)}) {
    const model::Bytes bytes = model::bf16_bytes({noise, 0, 3, 4, 3, 4}, {});
    const auto figures = figures_of({"dQ", schema::DType::kBFloat16, {3, 2}, bytes, expected}, {{0, 3}}, false);
    EXPECT_EQ(figures.strict_failing, failing) << noise;
  }
}

TEST(Compare, PartsKeepTheirOwnFigures) {
  const Problem problem = model::attention_problem({1, 4, 2, 64, 64, false}, false);
  const RunPlan plan{wire::Schedule::kEarliest, {Family::kWide, Family::kOffset}};
  const InputSet in = make_inputs(problem, plan, 4, 0, 0);
  auto bytes = model::outputs(problem, in);
  bytes[0][2 * (3 * 64 * 64) + 1] ^= std::byte{0x80};  // query head 3 belongs to K/V head 1
  const auto expected = make_reference(problem, in, 0);
  const auto families = compare_run(problem, plan, in, model::views(problem, bytes, expected), 2);
  ASSERT_EQ(families.size(), 2u);
  EXPECT_TRUE(families[0].strict_passed);
  EXPECT_FALSE(families[1].strict_passed);
  EXPECT_EQ(families[1].part, "K/V head 1");
  EXPECT_EQ(families[1].run, 2);
  EXPECT_FALSE(families[1].paper_applies);
  EXPECT_THAT(families[1].outputs[0].worst->index, ElementsAre(0, 3, 0, 0));
}

}  // namespace
}  // namespace ptxbench::judge
