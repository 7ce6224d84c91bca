#include "ptxbench/report/metrics.h"

#include <gtest/gtest.h>

namespace ptxbench::report {
namespace {

using schema::Observations;
using schema::TurnRecord;
using schema::TurnStatus;

TurnRecord passed(std::uint32_t trajectory, int turn, double speedup, std::optional<bool> target) {
  TurnRecord record;
  record.trajectory = trajectory;
  record.turn = turn;
  record.status = TurnStatus::kPassed;
  record.correct_paper = true;
  record.target_paper = target;
  record.speedup = speedup;
  record.reasoning_tokens = 100;
  return record;
}

TurnRecord failed(std::uint32_t trajectory, int turn, TurnStatus status) {
  TurnRecord record;
  record.trajectory = trajectory;
  record.turn = turn;
  record.status = status;
  record.correct_paper = record.correct_strict = false;
  return record;
}

// Three trajectories of one cell, four turns planned:
//   0: compile error, wrong, correct 0.5 with target, correct 0.4 without
//   1: wrong, correct 0.2 whose evidence is missing, then it ended
//   2: compile error four times
Observations three() {
  Observations data;
  data.cells = {{"run", "model", "hopper", "gemm", "w", "cuda", "", "", false}};
  for (const char* id : {"0", "1", "2"}) data.trajectories.push_back({id, 0, "L1", 4, false});
  data.turns = {failed(0, 1, TurnStatus::kCompileError),
                failed(0, 2, TurnStatus::kIncorrectNumerical),
                passed(0, 3, 0.5, true),
                passed(0, 4, 0.4, false),
                failed(1, 1, TurnStatus::kIncorrectNumerical),
                passed(1, 2, 0.2, std::nullopt)};
  for (int turn = 1; turn <= 4; ++turn) data.turns.push_back(failed(2, turn, TurnStatus::kCompileError));
  return data;
}

Group only(const Observations& data, schema::RuleSet rules = schema::RuleSet::kPaper) {
  MetricsRequest request;
  request.rules = rules;
  auto groups = measure(data, request);
  EXPECT_EQ(groups.size(), 1u);
  return groups.front();
}

TEST(Metrics, CountsTrajectoriesAndPlannedTurns) {
  const Group group = only(three());
  const WithinTurns& two = group.within[1];
  EXPECT_EQ(two.planned_turns, 6);
  EXPECT_EQ(two.present_turns, 6);
  EXPECT_EQ(two.trajectory_correct.successes, 1);
  EXPECT_EQ(two.trajectory_correct.n, 3);
  const WithinTurns& four = group.within[3];
  EXPECT_EQ(four.planned_turns, 12);
  EXPECT_EQ(four.present_turns, 10);
  EXPECT_EQ(four.trajectory_correct.successes, 2);
  EXPECT_EQ(four.turn_correct.successes, 3);
  EXPECT_EQ(four.turn_correct.n, 12);
  // More turns than were planned change nothing.
  EXPECT_EQ(group.within[7].planned_turns, 12);
  EXPECT_EQ(group.within[7].turn_correct.n, 12);
}

TEST(Metrics, MissingEvidenceIsNeitherSuccessNorFailure) {
  const WithinTurns& four = only(three()).within[3];
  EXPECT_EQ(four.trajectory_target.successes, 1);
  EXPECT_EQ(four.trajectory_target.n, 2);
  EXPECT_EQ(four.trajectory_target.unknown, 1);
  EXPECT_EQ(four.turn_target.successes, 1);
  EXPECT_EQ(four.turn_target.n, 11);
  EXPECT_EQ(four.turn_target.unknown, 1);
}

// Trajectory 1 of three() is not over: its third and fourth turn may still come.
TEST(Metrics, MissingTurnsOfAnOpenTrajectoryAreNotKnown) {
  Observations data = three();
  data.trajectories[1].open = true;
  data.turns[5] = failed(1, 2, TurnStatus::kTimeout);
  const Group group = only(data);
  EXPECT_EQ(group.within[1].trajectory_correct.n, 3);  // within two turns it is known
  const WithinTurns& four = group.within[3];
  EXPECT_EQ(four.turn_correct.n, 10);
  EXPECT_EQ(four.turn_correct.unknown, 2);
  EXPECT_EQ(four.trajectory_correct.successes, 1);
  EXPECT_EQ(four.trajectory_correct.n, 2);
  EXPECT_EQ(four.trajectory_correct.unknown, 1);
}

TEST(Metrics, StrictRulesOfImportedTurnsAreUnknownWhereThePaperPassed) {
  const WithinTurns& four = only(three(), schema::RuleSet::kStrict).within[3];
  EXPECT_EQ(four.trajectory_correct.successes, 0);
  EXPECT_EQ(four.trajectory_correct.n, 1);
  EXPECT_EQ(four.trajectory_correct.unknown, 2);
  EXPECT_FALSE(four.best_speedup);
}

TEST(Metrics, Speedups) {
  const WithinTurns& four = only(three()).within[3];
  EXPECT_EQ(*four.best_speedup, 0.5);
  EXPECT_EQ(*four.best_target_speedup, 0.5);
  EXPECT_EQ(*four.median_speedup, 0.4);
  EXPECT_DOUBLE_EQ(*four.final_speedup, 0.3);  // of 0.4 and 0.2; trajectory 2 ends without a kernel
  EXPECT_FALSE(only(three()).within[0].best_speedup);
}

TEST(Metrics, StatusesAndWhatCameNext) {
  const Group group = only(three());
  const auto compile = static_cast<std::size_t>(TurnStatus::kCompileError);
  const auto wrong = static_cast<std::size_t>(TurnStatus::kIncorrectNumerical);
  const auto right = static_cast<std::size_t>(TurnStatus::kPassed);
  EXPECT_EQ(group.statuses[compile], 5);
  EXPECT_EQ(group.statuses[right], 3);
  EXPECT_EQ(group.transitions[compile][compile], 3);
  EXPECT_EQ(group.transitions[compile][wrong], 1);
  EXPECT_EQ(group.transitions[wrong][right], 2);
  EXPECT_EQ(group.transitions[right][schema::kTurnStatuses], 2);
  EXPECT_EQ(group.reasoning_tokens.sum, 300);
  EXPECT_EQ(group.reasoning_tokens.turns, 3);
}

TEST(Metrics, FamilyHeadDimensionAndHeadsComeFromTheTask) {
  const auto gqa = schema::traits_of("gqa_ragged_prefill_causal_h32_kv4_d128");
  EXPECT_EQ(gqa.family, "gqa_ragged_prefill_causal");
  EXPECT_EQ(gqa.head_dim, "128");
  EXPECT_EQ(gqa.heads, "32:4");
  const auto mha = schema::traits_of("mha_bwd_d64_causal");
  EXPECT_EQ(mha.family, "mha_bwd_causal");
  EXPECT_EQ(mha.head_dim, "64");
  EXPECT_EQ(mha.heads, "-");
  EXPECT_EQ(schema::traits_of("gemm_n7168_k5120").head_dim, "-");
}

TEST(Metrics, GroupsAndConditions) {
  Observations data = three();
  data.trajectories[2].pack = "L2";
  MetricsRequest request;
  request.by = {Attribute::kPack};
  const auto groups = measure(data, request);
  ASSERT_EQ(groups.size(), 2u);
  EXPECT_EQ(groups[0].key, std::vector<std::string>{"L1"});
  EXPECT_EQ(groups[0].trajectories.size(), 2u);
  EXPECT_EQ(groups[1].statuses[static_cast<std::size_t>(TurnStatus::kCompileError)], 4);
  request.where = {{Attribute::kPack, {"L2", "L3"}}};
  const auto some = measure(data, request);
  ASSERT_EQ(some.size(), 1u);
  EXPECT_EQ(some[0].turns, 4);
}

}  // namespace
}  // namespace ptxbench::report
