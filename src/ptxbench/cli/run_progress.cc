#include "ptxbench/cli/run_progress.h"

#include <fmt/format.h>

#include <cstdio>

namespace ptxbench::cli {
namespace {

using agent::Progress;

std::string line_of(const Progress& progress) {
  const std::string who = progress.trajectory ? progress.trajectory->id : "";
  switch (progress.step) {
    case Progress::Step::kAsking: return fmt::format("{} turn {}: asking", who, progress.turn);
    case Progress::Step::kAnswered:
      return fmt::format("{} turn {}: {} after {:.1f} s", who, progress.turn, progress.text, progress.seconds);
    case Progress::Step::kJudged:
      return fmt::format("{} turn {}: {} ({:.1f} s)", who, progress.turn, progress.text, progress.seconds);
    case Progress::Step::kFinished: return fmt::format("{} over: {}", who, progress.text);
    case Progress::Step::kSuspended: return fmt::format("{} suspended: {}", who, progress.text);
    case Progress::Step::kEvaluatorIll: return fmt::format("evaluations pause: {}", progress.text);
    case Progress::Step::kEvaluatorWell: return "evaluations go on";
  }
  return "";
}

}  // namespace

void RunProgress::take(const Progress& progress) {
  switch (progress.step) {
    case Progress::Step::kAsking: ++asking_; break;
    case Progress::Step::kAnswered: --asking_; break;
    case Progress::Step::kJudged:
      ++turns_;
      passed_ += progress.text == "PASSED";
      break;
    case Progress::Step::kFinished:
    case Progress::Step::kSuspended: ++over_; break;
    default: break;
  }
  last_ = line_of(progress);
  if (terminal_) return draw();
  if (progress.step != Progress::Step::kAsking) fmt::print(stderr, "{}\n", last_);
}

void RunProgress::draw() {
  constexpr int kWidth = 24;
  const int all = static_cast<int>(plan_.manifest.trajectories.size());
  const int filled = all == 0 ? 0 : kWidth * over_ / all;
  fmt::print(stderr, "\r\x1b[K[{}{}] {}/{} over, {} turns, {} passed, {} asking | {:.60}", std::string(filled, '#'),
             std::string(kWidth - filled, '.'), over_, all, turns_, passed_, asking_, last_);
  std::fflush(stderr);
}

void RunProgress::end() {
  if (terminal_) fmt::print(stderr, "\r\x1b[K");
}

std::string result_text(const schema::Turn& turn) {
  const auto speedup = turn.speedup();
  return speedup ? fmt::format("{} {:.2f}x", turn.result(), *speedup) : std::string(turn.result());
}

void print_summary(const schema::Run& run) {
  double cost = 0, possible = 0;
  int passed = 0;
  for (const schema::Trajectory& trajectory : run.trajectories) {
    const schema::TrajectoryPlan& plan = trajectory.plan;
    fmt::print("{}  {} {} {} {}{}\n", plan.id, plan.task, plan.target, plan.pack, plan.model,
               plan.repeat > 1 ? fmt::format(" #{}", plan.repeat) : "");
    std::vector<std::string> results;
    bool any = false;
    for (const schema::Turn& turn : trajectory.turns) {
      results.push_back(result_text(turn));
      any |= turn.passed();
    }
    passed += any;
    cost += trajectory.cost_usd;
    possible += trajectory.possible_cost_usd;
    std::string end = "not begun";
    if (trajectory.finish)
      end = std::string(schema::to_string(trajectory.finish->reason));
    else if (trajectory.suspended)
      end = fmt::format("suspended ({}{}{})", trajectory.suspended->reason,
                        trajectory.suspended->detail.empty() ? "" : ": ", trajectory.suspended->detail);
    else if (!trajectory.turns.empty())
      end = "not over";
    fmt::print("     {}  [{}]\n", fmt::join(results, ", "), end);
  }
  fmt::print("\n{} of {} trajectories have a kernel that passes; {:.4f} USD{}\n", passed, run.trajectories.size(), cost,
             possible > 0 ? fmt::format(", and up to {:.4f} USD for requests that were lost", possible) : "");
}

}  // namespace ptxbench::cli
