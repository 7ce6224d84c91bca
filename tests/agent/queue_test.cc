#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "fake.h"

namespace ptxbench::agent {
namespace {

using namespace std::chrono_literals;
using ::testing::HasSubstr;

EvaluationRequest good() {
  EvaluationRequest request;
  request.task = "t";
  request.workload = "w1";
  request.target = "hopper";
  request.source = "good";
  return request;
}

TEST(JudgeQueue, NoMoreThanSlotsAtATime) {
  FakeEvaluator evaluator;
  evaluator.delay = 1ms;
  JudgeQueue queue(evaluator, {}, {});
  {
    std::vector<std::jthread> threads;
    for (int i = 0; i < 16; ++i) threads.emplace_back([&] { EXPECT_TRUE(queue.judge(good(), {})); });
  }
  EXPECT_EQ(evaluator.evaluations, 16);
  EXPECT_EQ(evaluator.most_running, 1);
}

TEST(JudgeQueue, SickEvaluatorPausesAllAndLosesNone) {
  FakeEvaluator evaluator;
  evaluator.ill = true;
  evaluator.well_after = 3;
  std::vector<std::string> said;
  JudgeQueue queue(evaluator, {1ms, 2ms, 10s, 3}, [&](const std::string& text) { said.push_back(text); });
  {
    std::vector<std::jthread> threads;
    for (int i = 0; i < 8; ++i) threads.emplace_back([&] { EXPECT_TRUE(queue.judge(good(), {})); });
  }
  EXPECT_EQ(evaluator.probes, 3);
  EXPECT_THAT(said, ::testing::ElementsAre("the device fell off the bus", ""));
}

TEST(JudgeQueue, PatienceEndsForAll) {
  FakeEvaluator evaluator;
  evaluator.ill = true;
  JudgeQueue queue(evaluator, {1ms, 1ms, 5ms, 3}, {});
  {
    std::vector<std::jthread> threads;
    for (int i = 0; i < 4; ++i)
      threads.emplace_back([&] {
        const auto judged = queue.judge(good(), {});
        ASSERT_FALSE(judged);
        EXPECT_EQ(judged.error().kind, ErrorKind::kTimeout);
      });
  }
  EXPECT_EQ(evaluator.evaluations, 1);  // the others never tried: the queue was paused
}

// An evaluator that calls itself well and cannot judge all the same: the run must not go round for ever.
TEST(JudgeQueue, AnEvaluatorThatIsWellAndFailsEveryTimeIsGivenUpForThisKernel) {
  FakeEvaluator evaluator;
  evaluator.always_fails = true;
  JudgeQueue queue(evaluator, {1ms, 2ms, 10s, 3}, {});
  const auto judged = queue.judge(good(), {});
  ASSERT_FALSE(judged);
  EXPECT_THAT(judged.error().message, HasSubstr("fell off the bus"));
  EXPECT_EQ(evaluator.evaluations, 3);
}

TEST(JudgeQueue, StopEndsTheWait) {
  FakeEvaluator evaluator;
  evaluator.ill = true;
  JudgeQueue queue(evaluator, {1h, 1h, 1h, 3}, {});
  std::stop_source stop;
  std::jthread waiting([&] { EXPECT_FALSE(queue.judge(good(), stop.get_token())); });
  while (evaluator.evaluations == 0) std::this_thread::sleep_for(1ms);
  stop.request_stop();
}

TEST(Budget, NeverPassesItsLimit) {
  Budget budget(1.0, 0.0);
  std::atomic<int> granted = 0;
  {
    std::vector<std::jthread> threads;
    for (int i = 0; i < 8; ++i)
      threads.emplace_back([&] {
        while (budget.reserve(0.3, {})) {
          ++granted;
          budget.settle(0.3, 0.1);
        }
      });
  }
  // A request is granted while spent + 0.3 <= 1.0: at 0, 0.1, ... 0.7.
  EXPECT_EQ(granted, 8);
  EXPECT_NEAR(budget.spent(), 0.8, 1e-9);
}

}  // namespace
}  // namespace ptxbench::agent
