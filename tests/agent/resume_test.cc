// kill -9 at any moment, then resume: the same folder as without.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include <random>

#include "fake.h"
#include "ptxbench/agent/canonical.h"
#include "ptxbench/base/file.h"

namespace ptxbench::agent {
namespace {

using namespace std::chrono_literals;

// One process that begins or goes on with the run in `out`, as the command does.
int run_once(const std::filesystem::path& out, const Experiment& experiment) {
  FakeEvaluator evaluator;
  evaluator.delay = 2ms;
  const auto lock = lock_run(out);
  if (!lock) return 3;
  auto plan = std::filesystem::exists(out / "run.json") ? reopen_run(out, fake_packs())
                                                        : plan_run(experiment, evaluator, fake_packs());
  if (!plan) return 4;
  if (!std::filesystem::exists(out / "run.json") && !create_run(out, experiment, *plan)) return 5;
  RunOptions options;
  options.parallel = 3;
  const auto result = run_all(out, *plan, evaluator, options);
  return result && result->complete() ? 0 : 6;
}

Experiment four_trajectories(const std::filesystem::path& folder) {
  Experiment experiment = default_experiment();
  experiment.record.packs = {"L0", "L1"};
  experiment.record.trajectories = 2;
  experiment.seed = 5;
  EXPECT_TRUE(write_file_atomic(folder / "r.json", recording({"bad", "none", "bad again", "worse", "good"})));
  experiment.record.models = {"replay:" + (folder / "r.json").string()};
  return experiment;
}

// Kills the process after a while that the generator draws; true when it came to its end before.
bool run_until_killed(const std::filesystem::path& out, const Experiment& experiment, std::chrono::microseconds after) {
  const pid_t child = ::fork();
  if (child == 0) ::_exit(run_once(out, experiment));
  std::this_thread::sleep_for(after);
  ::kill(child, SIGKILL);
  int status = 0;
  ::waitpid(child, &status, 0);
  EXPECT_TRUE(!WIFEXITED(status) || WEXITSTATUS(status) == 0) << status;
  return WIFEXITED(status);
}

TEST(Resume, KilledAtTwentyMomentsGivesTheSameFolder) {
  const TempDir folder = std::move(*TempDir::create());
  const Experiment experiment = four_trajectories(folder.path());
  ASSERT_EQ(run_once(folder.path() / "undisturbed", experiment), 0);
  const auto expected = canonical_files(folder.path() / "undisturbed");
  ASSERT_TRUE(expected) << expected.error().format();
  std::mt19937 random(20261201);
  int kills = 0;
  for (int series = 0; kills < 20 && series < 200; ++series) {
    const std::filesystem::path out = folder.path() / std::to_string(series);
    for (bool over = false; !over;) {
      over = run_until_killed(out, experiment, std::chrono::microseconds(random() % 40'000));
      kills += over ? 0 : 1;
      if (!over && kills % 7 == 0) over = run_once(out, experiment) == 0;  // on a slow machine it must end as well
    }
    const auto files = canonical_files(out);
    ASSERT_TRUE(files) << files.error().format();
    for (const auto& [name, text] : *expected) {
      ASSERT_TRUE(files->contains(name)) << name;
      EXPECT_EQ(files->at(name), text) << name;
    }
    EXPECT_EQ(files->size(), expected->size());
  }
  EXPECT_GE(kills, 20);
}

TEST(Resume, ALostRequestIsRepeatedAndCounted) {
  const TempDir folder = std::move(*TempDir::create());
  const Experiment experiment = four_trajectories(folder.path());
  FakeEvaluator evaluator;
  const auto plan = plan_run(experiment, evaluator, fake_packs());
  ASSERT_TRUE(plan);
  const std::filesystem::path out = folder.path() / "out";
  ASSERT_TRUE(create_run(out, experiment, *plan));
  // What a process leaves that died with a request in flight and half a line written.
  std::filesystem::create_directories(out / "trajectories/001");
  schema::RequestEvent request{1, "hash", 2, 100, 0.5, "2026-12-01T00:00:00.000Z"};
  ASSERT_TRUE(write_file_atomic(out / "trajectories/001/events.jsonl",
                                schema::to_json(schema::Event(schema::StartEvent{"001", ""})) + "\n" +
                                    schema::to_json(schema::Event(request)) + "\n{\"event\":\"rep"));
  const auto result = run_all(out, *plan, evaluator, {});
  ASSERT_TRUE(result) << result.error().format();
  const schema::Trajectory& trajectory = result->run.trajectories[0];
  EXPECT_EQ(trajectory.turns.size(), 5U);
  EXPECT_EQ(trajectory.lost_requests.size(), 1U);
  EXPECT_DOUBLE_EQ(trajectory.possible_cost_usd, 0.5);
  EXPECT_DOUBLE_EQ(trajectory.cost_usd, 5 * 0.25);
}

TEST(Resume, AReplyThatIsOnDiskIsNotAskedForAgain) {
  const TempDir folder = std::move(*TempDir::create());
  const Experiment experiment = four_trajectories(folder.path());
  FakeEvaluator evaluator;
  const auto plan = plan_run(experiment, evaluator, fake_packs());
  const std::filesystem::path out = folder.path() / "out";
  ASSERT_TRUE(create_run(out, experiment, *plan));
  ASSERT_TRUE(run_all(out, *plan, evaluator, {}));
  // Cut the log after the first reply: as if killed while the kernel was judged.
  const std::filesystem::path log = out / "trajectories/001/events.jsonl";
  std::string text = *read_file(log);
  std::size_t end = 0;
  for (int line = 0; line < 3; ++line) end = text.find('\n', end) + 1;
  ASSERT_TRUE(write_file_atomic(log, text.substr(0, end)));
  const auto again = run_all(out, *plan, evaluator, {});
  ASSERT_TRUE(again) << again.error().format();
  EXPECT_TRUE(again->run.trajectories[0].lost_requests.empty());
  EXPECT_EQ(again->run.trajectories[0].turns.size(), 5U);
  EXPECT_DOUBLE_EQ(again->run.trajectories[0].cost_usd, 5 * 0.25);
}

TEST(Resume, UnfinishedFilesOfAKilledStartAreNoOnesRun) {
  const TempDir folder = std::move(*TempDir::create());
  const Experiment experiment = four_trajectories(folder.path());
  const std::filesystem::path out = folder.path() / "out";
  std::filesystem::create_directories(out / "prompts");
  for (const char* name : {"run.json.a1B2c3", "prompts/abc.txt.a1B2c3", "experiment.toml"})
    ASSERT_TRUE(write_file_atomic(out / name, "half"));
  EXPECT_EQ(run_once(out, experiment), 0);
  EXPECT_FALSE(std::filesystem::exists(out / "run.json.a1B2c3"));
  EXPECT_FALSE(std::filesystem::exists(out / "prompts/abc.txt.a1B2c3"));
}

TEST(Resume, TwoProcessesDoNotShareAFolder) {
  const TempDir folder = std::move(*TempDir::create());
  const auto first = lock_run(folder.path());
  ASSERT_TRUE(first);
  EXPECT_FALSE(lock_run(folder.path()));
}

}  // namespace
}  // namespace ptxbench::agent
