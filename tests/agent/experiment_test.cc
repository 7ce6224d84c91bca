#include "ptxbench/agent/experiment.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "fake.h"
#include "ptxbench/base/file.h"

namespace ptxbench::agent {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

std::string error_of(const std::string& toml) {
  const auto parsed = parse_experiment(toml, "e.toml");
  return parsed ? "" : parsed.error().format();
}

TEST(Experiment, ErrorsNamePlaceAndAllowedValues) {
  EXPECT_THAT(error_of("turns = 0\n"),
              HasSubstr("e.toml:1:9: error: turns: found 0, expected an integer from 1 to 100"));
  EXPECT_THAT(error_of("\ncontext = \"all\"\n"),
              HasSubstr("e.toml:2:11: error: context: found 'all', expected full, "));
  EXPECT_THAT(error_of("tasks = \"gemm\"\n"), HasSubstr("tasks: found a string, expected an array of strings"));
  EXPECT_THAT(error_of("models = []\n"), HasSubstr("models: found an empty array"));
  EXPECT_THAT(error_of("target_speedup = -1\n"), HasSubstr("expected a number above 0"));
  EXPECT_THAT(error_of("turn = 3\n"), HasSubstr("unknown key 'turn'"));
  EXPECT_THAT(error_of("turns = \n"), HasSubstr("e.toml:1:"));
  EXPECT_THAT(error_of("seed = 1.5\n"), HasSubstr("seed: found a fraction"));
}

TEST(Experiment, FileAndBack) {
  const auto parsed = parse_experiment(
      "name = \"a \\\"b\\\"\"\nmodels = [\"m\"]\npacks = [\"L1\", \"L2\"]\nturns = 3\ntarget_speedup = 1.5\n"
      "context = \"latest-pair\"\nrules = \"paper\"\nmax_cost_usd = 2\nseed = 9\n",
      "e.toml");
  ASSERT_TRUE(parsed) << parsed.error().format();
  const auto again = parse_experiment(to_toml(*parsed), "e.toml");
  ASSERT_TRUE(again) << again.error().format();
  EXPECT_EQ(to_toml(*again), to_toml(*parsed));
  EXPECT_EQ(again->record.name, "a \"b\"");
  EXPECT_EQ(again->record.turns, 3);
  EXPECT_EQ(again->record.context, schema::ContextPolicy::kLatestPair);
  EXPECT_EQ(again->seed, 9U);
}

TEST(Experiment, RecordingsAreFoundBesideTheFile) {
  const auto parsed = parse_experiment("models = [\"replay:x.json\"]\n", "/some/folder/e.toml");
  ASSERT_TRUE(parsed);
  EXPECT_THAT(parsed->record.models, ElementsAre("replay:/some/folder/x.json"));
}

TEST(Experiment, AblationPlan) {
  auto experiment = load_experiment(PTXBENCH_SOURCE_DIR "/experiments/ablation.toml");
  ASSERT_TRUE(experiment) << experiment.error().format();
  EXPECT_THAT(experiment->record.packs, ElementsAre("L1", "L2", "L3", "L4"));
  experiment->models_file = PTXBENCH_SOURCE_DIR "/models.toml";
  FakeEvaluator evaluator;
  const auto packs = load_packs(PTXBENCH_SOURCE_DIR "/knowledge");
  ASSERT_TRUE(packs) << packs.error().format();
  const auto plan = plan_run(*experiment, evaluator, *packs);
  ASSERT_TRUE(plan) << plan.error().format();
  // 2 tasks x 1 target x 1 model x 4 packs x 12 trajectories.
  ASSERT_EQ(plan->manifest.trajectories.size(), 96U);
  std::map<std::string, int> per_pack;
  std::set<std::string> ids, systems;
  for (const auto& trajectory : plan->manifest.trajectories) {
    ++per_pack[trajectory.task + trajectory.pack];
    ids.insert(trajectory.id);
    systems.insert(trajectory.system_sha256);
  }
  EXPECT_EQ(per_pack.size(), 8U);
  for (const auto& [pack, count] : per_pack) EXPECT_EQ(count, 12) << pack;
  EXPECT_EQ(ids.size(), 96U);
  EXPECT_EQ(systems.size(), 4U);
}

TEST(Experiment, CostBoundByHand) {
  ModelConfig model;
  model.prices.input = 2;
  model.prices.output = 10;
  model.max_output_tokens = 1000;
  model.retry.paid_repeats = 1;
  // (5000 x 2 + 1000 x 10) / 1e6, twice because a lost answer may be paid for.
  EXPECT_DOUBLE_EQ(*cost_bound(model, 5000), 0.04);
  model.prices.up_to_input_tokens = 4000;
  EXPECT_FALSE(cost_bound(model, 5000));
  model.prices.up_to_input_tokens.reset();
  model.prices.input.reset();
  EXPECT_FALSE(cost_bound(model, 5000));
}

}  // namespace
}  // namespace ptxbench::agent
