// The loop over recorded answers and a scripted evaluator.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "fake.h"
#include "ptxbench/agent/prompt.h"
#include "ptxbench/base/file.h"

namespace ptxbench::agent {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

class LoopTest : public ::testing::Test {
 protected:
  RunResult run(const std::vector<std::string>& words, schema::ExperimentRecord record = {}) {
    const std::filesystem::path file = folder_.path() / "r.json";
    EXPECT_TRUE(write_file_atomic(file, recording(words)));
    Experiment experiment = default_experiment();
    if (!record.name.empty()) experiment.record = record;
    experiment.record.packs = {"L1"};
    experiment.record.models = {"replay:" + file.string()};
    experiment.seed = 1;
    const auto plan = plan_run(experiment, evaluator_, fake_packs());
    EXPECT_TRUE(plan) << plan.error().format();
    out_ = folder_.path() / "out";
    EXPECT_TRUE(create_run(out_, experiment, *plan));
    return *run_all(out_, *plan, evaluator_, {});
  }
  static std::vector<std::string> results(const schema::Trajectory& trajectory) {
    std::vector<std::string> all;
    for (const schema::Turn& turn : trajectory.turns) all.emplace_back(turn.result());
    return all;
  }

  TempDir folder_ = std::move(*TempDir::create());
  std::filesystem::path out_;
  FakeEvaluator evaluator_;
};

TEST_F(LoopTest, UntilAKernelPasses) {
  const RunResult result = run({"none", "bad", "good", "never asked"});
  const schema::Trajectory& trajectory = result.run.trajectories.at(0);
  EXPECT_TRUE(result.complete());
  EXPECT_THAT(results(trajectory), ElementsAre("NO_KERNEL", "COMPILE_ERROR", "PASSED"));
  EXPECT_EQ(trajectory.finish->reason, schema::FinishReason::kTargetReached);
  EXPECT_DOUBLE_EQ(trajectory.cost_usd, 0.75);
  EXPECT_EQ(evaluator_.evaluations, 2);
  EXPECT_EQ(trajectory.turns[2].judged.version, 2);
  EXPECT_THAT(trajectory.turns[0].judged.feedback, HasSubstr("NO_KERNEL"));
  EXPECT_THAT(trajectory.turns[1].judged.feedback, HasSubstr("kernel.cu:1: no"));
}

TEST_F(LoopTest, UntilTheTurnsAreUsed) {
  schema::ExperimentRecord record = default_experiment().record;
  record.turns = 2;
  const RunResult result = run({"bad", "bad", "good"}, record);
  EXPECT_EQ(result.run.trajectories[0].finish->reason, schema::FinishReason::kTurnsUsed);
  EXPECT_THAT(result.run.trajectories[0].turns[1].judged.feedback, HasSubstr("last turn"));
}

TEST_F(LoopTest, ASpeedupThatWasNotMeasuredIsNotReached) {
  schema::ExperimentRecord record = default_experiment().record;
  record.turns = 2;
  record.target_speedup = 1.2;
  const RunResult result = run({"good", "good"}, record);
  EXPECT_THAT(results(result.run.trajectories[0]), ElementsAre("PASSED", "PASSED"));
}

TEST_F(LoopTest, ARecordingThatEndsSuspends) {
  const RunResult result = run({"bad"});
  EXPECT_FALSE(result.complete());
  EXPECT_EQ(result.run.trajectories[0].suspended->reason, "model");
  EXPECT_EQ(result.run.trajectories[0].turns.size(), 1U);
}

TEST_F(LoopTest, OneTrajectoryThatFailsStopsNoOther) {
  schema::ExperimentRecord record = default_experiment().record;
  record.trajectories = 3;
  const std::filesystem::path blocked = folder_.path() / "out/trajectories/002";
  std::filesystem::create_directories(blocked.parent_path().parent_path() / "prompts");
  const std::filesystem::path file = folder_.path() / "r.json";
  ASSERT_TRUE(write_file_atomic(file, recording({"good"})));
  Experiment experiment = default_experiment();
  experiment.record.trajectories = 3;
  experiment.record.packs = {"L1"};
  experiment.record.models = {"replay:" + file.string()};
  const auto plan = plan_run(experiment, evaluator_, fake_packs());
  out_ = folder_.path() / "out";
  ASSERT_TRUE(create_run(out_, experiment, *plan));
  std::filesystem::create_directories(blocked.parent_path());
  ASSERT_TRUE(write_file_atomic(blocked, "a file where a folder should be"));
  const auto result = run_all(out_, *plan, evaluator_, {});
  // load_run() reads no log below a file, so the run itself is sound.
  ASSERT_TRUE(result) << result.error().format();
  EXPECT_EQ(result->failures.size(), 1U);
  EXPECT_TRUE(result->run.trajectories[0].finish);
  EXPECT_FALSE(result->run.trajectories[1].finish);
  EXPECT_TRUE(result->run.trajectories[2].finish);
}

TEST(Messages, Policies) {
  std::vector<schema::Turn> turns(2);
  turns[0].number = 1, turns[0].reply.text = "a1", turns[0].judged.feedback = "f1";
  turns[1].number = 2, turns[1].reply.outcome = "empty", turns[1].judged.feedback = "f2";
  const auto texts = [&](schema::ContextPolicy policy) {
    std::vector<std::string> all;
    for (const Message& message : messages_for("s", "t", turns, policy)) all.push_back(message.text);
    return all;
  };
  EXPECT_THAT(texts(schema::ContextPolicy::kFull), ElementsAre("s", "t", "a1", "f1", "(no answer: empty)", "f2"));
  EXPECT_THAT(texts(schema::ContextPolicy::kLatestPair), ElementsAre("s", "t", "(no answer: empty)", "f2"));
  EXPECT_THAT(texts(schema::ContextPolicy::kSingleUser),
              ElementsAre("s", ::testing::AllOf(HasSubstr("t"), HasSubstr("a1"), HasSubstr("f1"), HasSubstr("f2"))));
}

TEST(Log, OutOfOrderIsRefusedByLine) {
  schema::TrajectoryPlan plan;
  plan.id = "001";
  schema::ReplyEvent reply;
  reply.turn = 1;
  const auto wrong = schema::assemble(plan, {schema::StartEvent{"001", ""}, reply}, "events.jsonl");
  ASSERT_FALSE(wrong);
  EXPECT_THAT(wrong.error().format(), HasSubstr("events.jsonl:2: error: a reply that nobody asked for"));
}

}  // namespace
}  // namespace ptxbench::agent
