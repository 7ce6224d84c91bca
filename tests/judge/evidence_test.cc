#include "ptxbench/judge/evidence.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "ptxbench/judge/suite.h"

namespace ptxbench::judge {
namespace {

using schema::LayerState;
using schema::RuleSet;
using ::testing::HasSubstr;
using ::testing::Not;

const Suite& suite() {
  static const Suite loaded = *load_suite(std::filesystem::path(PTXBENCH_SOURCE_DIR) / "suites");
  return loaded;
}

struct Work {
  const char* family;
  std::uint64_t threads, flops, bytes;
};

wire::LaunchRecord launch(std::initializer_list<Work> work) {
  wire::LaunchRecord record;
  record.kernel = "k";
  for (const Work& w : work) record.families.push_back({w.family, 1, w.threads / 32, w.threads, w.flops, w.bytes});
  return record;
}

schema::ExecutedLayer join(const char* task, schema::AxisValues axes, std::vector<std::vector<wire::LaunchRecord>> runs,
                           RuleSet rules = RuleSet::kStrict, StaticCounts counts = {}) {
  const schema::Definition& definition = (*suite().find_task(task))->definition;
  for (const schema::Axis& axis : definition.axes)
    if (axis.constant) axes[axis.name] = *axis.constant;
  return *join_evidence(definition, axes, "hopper", runs, counts, rules, {"emulator", ""});
}

constexpr std::uint64_t kGemmFlops = 2ull * 128 * 7168 * 5120;

TEST(Evidence, RequiredWorkOfTheTasks) {
  EXPECT_EQ(join("gemm_n7168_k5120", {{"M", 128}}, {}).required_flops, kGemmFlops);
  // Bytes: A and B read once, C written once, two bytes each.
  EXPECT_EQ(join("gemm_n7168_k5120", {{"M", 128}}, {}).compulsory_bytes,
            2ull * (128 * 5120 + 7168 * 5120 + 128 * 7168));
  EXPECT_EQ(join("mha_with_lse_d128", {{"S", 4096}}, {}).required_flops, 4ull * 4 * 48 * 4096 * 4096 * 128);
  EXPECT_EQ(join("mha_bwd_d128", {{"S", 4096}}, {}).required_flops, 10ull * 4 * 48 * 4096 * 4096 * 128);
}

// FLOPs of causal kernels that skip tiles above the diagonal, counted tile by tile.
std::uint64_t causal_flops(std::uint64_t heads, std::uint64_t s, std::uint64_t d, std::uint64_t rows,
                           std::uint64_t keys, std::uint64_t products) {
  std::uint64_t flops = 0;
  for (std::uint64_t row = 0; row < s; row += rows)
    for (std::uint64_t key = 0; key < s && key < row + rows; key += keys) flops += products * 2 * rows * keys * d;
  return heads * flops;
}

TEST(Evidence, HonestCausalKernelsOfAnyTilePass) {
  for (const auto& [rows, keys] :
       {std::pair(64, 64), std::pair(64, 128), std::pair(128, 64), std::pair(128, 128), std::pair(192, 128)}) {
    const std::uint64_t flops = causal_flops(4, 512 / rows * rows == 512 ? 512 : 576, 128, rows, keys, 2);
    const auto layer = join("mha_with_lse_b1_h4_d128_causal", {{"S", 512}},
                            {{launch({{"wgmma", 128, flops, 0}, {"tma", 1, 0, 4096}})}});
    EXPECT_EQ(layer.state, LayerState::kPassed) << rows << "x" << keys;
    EXPECT_GE(layer.target_flops_share, 1) << rows << "x" << keys;
  }
  // The finest tile is exactly what is required.
  EXPECT_EQ(join("mha_with_lse_b1_h4_d128_causal", {{"S", 512}}, {}).required_flops,
            causal_flops(4, 512, 128, 64, 64, 2));
  EXPECT_EQ(join("mha_bwd_b1_h4_d128_causal", {{"S", 512}}, {}).required_flops, causal_flops(4, 512, 128, 64, 64, 5));
}

TEST(Evidence, NineTenthsOfTheWorkAreAsked) {
  for (const auto& [percent, passes] :
       {std::pair(100, true), std::pair(91, true), std::pair(89, false), std::pair(10, false)}) {
    const std::uint64_t target = kGemmFlops / 100 * percent, rest = kGemmFlops - target;
    const auto layer = join("gemm_n7168_k5120", {{"M", 128}},
                            {{launch({{"wgmma", 128, target, 0}, {"tma", 1, 0, 1 << 20}, {"mma", 32, rest, 0}})}});
    EXPECT_EQ(layer.strict_passed, passes) << percent;
    EXPECT_TRUE(layer.paper_passed);
    EXPECT_EQ(layer.state == LayerState::kPassed, passes);
  }
}

TEST(Evidence, ADecoyBesideMmaSyncIsNamed) {
  const auto layer =
      join("gemm_n7168_k5120", {{"M", 128}},
           {{launch({{"wgmma", 128, 2 * 64 * 8 * 16, 0}, {"tma", 1, 0, 128}, {"mma", 3200, kGemmFlops, 0}})}});
  EXPECT_EQ(layer.state, LayerState::kFailed);
  EXPECT_THAT(layer.message,
              HasSubstr("target matrix instructions did 0.00017 % of the 9.395 GFLOP that the task needs"));
  EXPECT_THAT(layer.message, HasSubstr("mma did 100.0 % of it"));
  EXPECT_THAT(layer.message, HasSubstr("at least 90 %"));
}

TEST(Evidence, ATargetThatStandsInTheCodeOnlyIsNamed) {
  const StaticCounts counts{{{"wgmma", 4}, {"tma", 2}}, {}};
  for (const RuleSet rules : {RuleSet::kStrict, RuleSet::kPaper}) {
    const auto layer = join("gemm_n7168_k5120", {{"M", 128}}, {{launch({{"mma", 32, kGemmFlops, 0}})}}, rules, counts);
    EXPECT_EQ(layer.state, LayerState::kFailed);
    EXPECT_FALSE(layer.paper_passed);
    EXPECT_THAT(layer.message, HasSubstr("wgmma stands 4 times in the code, but no thread executed it"));
    EXPECT_THAT(layer.message, HasSubstr("tma stands 2 times"));
    EXPECT_EQ(layer.families[0].static_sass, 4);
  }
  const auto unknown = join("gemm_n7168_k5120", {{"M", 128}}, {{launch({{"mma", 32, kGemmFlops, 0}})}});
  EXPECT_THAT(unknown.message, HasSubstr("wgmma was never executed"));
  EXPECT_FALSE(unknown.families[0].static_sass);
}

TEST(Evidence, PredicateFalseInstructionsAreNoEvidence) {
  const auto layer =
      join("gemm_n7168_k5120", {{"M", 128}}, {{launch({{"wgmma", 0, 0, 0}, {"tma", 0, 0, 0}})}}, RuleSet::kPaper);
  EXPECT_EQ(layer.state, LayerState::kFailed);
}

TEST(Evidence, WgmmaWithoutTmaIsNotEnoughStrictly) {
  const auto layer = join("gemm_n7168_k5120", {{"M", 128}}, {{launch({{"wgmma", 128, kGemmFlops, 0}})}});
  EXPECT_EQ(layer.state, LayerState::kFailed);
  EXPECT_TRUE(layer.paper_passed);
  EXPECT_THAT(layer.message, HasSubstr("tma was never executed"));
  EXPECT_THAT(layer.message, Not(HasSubstr("at least 90 %")));
}

TEST(Evidence, EveryRunMustShowIt) {
  const auto good = launch({{"wgmma", 128, kGemmFlops, 0}, {"tma", 1, 0, 1 << 20}});
  const auto bad = launch({{"mma", 128, kGemmFlops, 0}});
  const auto layer = join("gemm_n7168_k5120", {{"M", 128}}, {{good}, {bad}});
  EXPECT_EQ(layer.state, LayerState::kFailed);
  EXPECT_FALSE(layer.paper_passed);
  EXPECT_EQ(layer.target_flops_share, 0) << "the run with the least target work decides";
  EXPECT_EQ(join("gemm_n7168_k5120", {{"M", 128}}, {{good}, {good}}).state, LayerState::kPassed);
}

TEST(Evidence, WorkOfSeveralLaunchesAddsUpAndLongListsAreCut) {
  const std::vector<wire::LaunchRecord> launches(100,
                                                 launch({{"wgmma", 128, kGemmFlops / 100 + 1, 0}, {"tma", 1, 0, 64}}));
  const auto layer = join("gemm_n7168_k5120", {{"M", 128}}, {launches});
  EXPECT_EQ(layer.state, LayerState::kPassed);
  EXPECT_EQ(layer.launches.size(), kLaunchesKept);
  EXPECT_THAT(layer.not_checked.back(), HasSubstr("36 launches"));
}

TEST(Evidence, NoLaunchFails) {
  const auto layer = join("gemm_n7168_k5120", {{"M", 128}}, {{}});
  EXPECT_EQ(layer.state, LayerState::kFailed);
  EXPECT_EQ(layer.message, "no kernel was launched");
}

TEST(Evidence, AGpuKnowsOpcodesAndNoBytes) {
  wire::LaunchRecord work = launch({{"wgmma", 128, kGemmFlops, 0}, {"tma", 1, 0, 0}});
  wire::InstructionRecord record;
  record.opcode = "HGMMA.64x256x16.F32.BF16";
  record.warp_instructions = 4, record.thread_instructions = 128;
  work.instructions = {record, record};
  work.instructions[1].offset = 16;
  const schema::Definition& definition = (*suite().find_task("gemm_n7168_k5120"))->definition;
  const auto layer = join_evidence(definition, {{"M", 128}, {"N", 7168}, {"K", 5120}}, "hopper", {{work, work}}, {},
                                   RuleSet::kStrict, {"CUPTI SASS metrics", "not counted"});
  ASSERT_TRUE(layer);
  EXPECT_EQ(layer->source, "CUPTI SASS metrics");
  EXPECT_EQ(layer->bytes_note, "not counted");
  EXPECT_FALSE(layer->target_bytes_share);
  for (const auto& family : layer->families) EXPECT_FALSE(family.bytes) << family.family;
  ASSERT_EQ(layer->opcodes.size(), 1u);
  EXPECT_EQ(layer->opcodes[0].places, 2) << "two places in the code, executed by two launches";
  EXPECT_EQ(layer->opcodes[0].thread_instructions, 512u);
}

}  // namespace
}  // namespace ptxbench::judge
