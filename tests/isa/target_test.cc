#include <gtest/gtest.h>

#include "ptxbench/isa/mods.h"
#include "ptxbench/isa/sregs.h"
#include "ptxbench/isa/target.h"

namespace ptxbench::isa {
namespace {

Target target(std::string_view text) { return parse_target(text).value(); }

TEST(TargetTest, ParsesAndPrints) {
  EXPECT_EQ(target("sm_90a"), (Target{90, 'a'}));
  EXPECT_EQ(target("sm_100f"), (Target{100, 'f'}));
  EXPECT_EQ(to_string(target("sm_80")), "sm_80");
  for (const char* bad : {"sm_", "sm_90b", "sm_90aa", "compute_90", "90", "sm_9x", "sm_99999999999"})
    EXPECT_FALSE(parse_target(bad)) << bad;
}

// PTX manual, "PTX Module Directives: .target": what 'a' and 'f' targets can run.
TEST(TargetTest, PortableRuleHoldsForLaterTargets) {
  const TargetRule rule = parse_target_rule("90");
  EXPECT_TRUE(rule.allows(target("sm_90")));
  EXPECT_TRUE(rule.allows(target("sm_90a")));
  EXPECT_TRUE(rule.allows(target("sm_120")));
  EXPECT_FALSE(rule.allows(target("sm_89")));
}

TEST(TargetTest, ArchitectureRuleIsExact) {
  const TargetRule rule = parse_target_rule("90a");
  EXPECT_TRUE(rule.allows(target("sm_90a")));
  EXPECT_FALSE(rule.allows(target("sm_90")));
  EXPECT_FALSE(rule.allows(target("sm_100a")));
}

TEST(TargetTest, FamilyRuleHoldsWithinTheFamily) {
  const TargetRule rule = parse_target_rule("100f|120f");
  for (const char* good : {"sm_100a", "sm_100f", "sm_103a", "sm_103f", "sm_120a", "sm_121f"})
    EXPECT_TRUE(rule.allows(target(good))) << good;
  for (const char* bad : {"sm_90a", "sm_100", "sm_103", "sm_110a", "sm_120"})
    EXPECT_FALSE(rule.allows(target(bad))) << bad;
}

TEST(ModsTest, NumbersAndShapes) {
  EXPECT_EQ(number_of(Mod::kV4), 4u);
  EXPECT_EQ(number_of(Mod::kN3d), 3u);
  EXPECT_EQ(number_of(Mod::kX128), 128u);
  EXPECT_EQ(number_of(Mod::kCtaGroup2), 2u);
  EXPECT_EQ(number_of(Mod::kL2128B), 128u);
  const MatrixShape shape = shape_of(Mod::kM64N256K16);
  EXPECT_EQ(shape.m, 64u);
  EXPECT_EQ(shape.n, 256u);
  EXPECT_EQ(shape.k, 16u);
  EXPECT_EQ(shape_of(Mod::kM8n8).k, 0u);
  EXPECT_EQ(shape_of(Mod::kMin).m, 0u);
}

TEST(ModsTest, TypesAndSpaces) {
  EXPECT_EQ(type_of(Mod::kBf16x2), Type::kBf16x2);
  EXPECT_EQ(type_of(Mod::kRn), Type::kNone);
  EXPECT_EQ(bits(Type::kB128), 128u);
  EXPECT_EQ(bytes(Type::kF64), 8u);
  EXPECT_EQ(space_of(Mod::kSharedCluster), Space::kSharedCluster);
  EXPECT_EQ(space_of(Mod::kParamEntry), Space::kParam);
  for (std::size_t i = 1; i < kModCount; ++i) {
    const Mod mod = static_cast<Mod>(i);
    EXPECT_EQ(mod_from_spelling(spelling(mod)), mod) << spelling(mod);
  }
}

TEST(SregsTest, ByName) {
  EXPECT_EQ(sreg_from_spelling("%ctaid.y"), Sreg::kCtaidY);
  EXPECT_EQ(info(Sreg::kClock64).type, Type::kU64);
  EXPECT_EQ(info(Sreg::kClusterCtarank).min_sm, 90);
  EXPECT_FALSE(sreg_from_spelling("%tid"));
  EXPECT_FALSE(sreg_from_spelling("tid.x"));
}

}  // namespace
}  // namespace ptxbench::isa
