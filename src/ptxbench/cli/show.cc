// ptxbench show: a task, or what a run folder holds.
#include <fmt/format.h>

#include <charconv>

#include "ptxbench/cli/command.h"
#include "ptxbench/cli/render.h"
#include "ptxbench/cli/run_progress.h"
#include "ptxbench/cli/show_task.h"

namespace ptxbench::cli {
namespace {

namespace fs = std::filesystem;

// DIR[/trajectory[/turn]]: the longest beginning of the path that is a run folder.
struct Place {
  fs::path run;
  std::string trajectory, turn;
};

std::optional<Place> place_of(const std::string& name) {
  const fs::path path = fs::path(name).lexically_normal();
  const fs::path whole = path.has_filename() ? path : path.parent_path();
  if (fs::exists(whole / "run.json")) return Place{whole, "", ""};
  if (fs::exists(whole.parent_path() / "run.json")) return Place{whole.parent_path(), whole.filename(), ""};
  const fs::path above = whole.parent_path().parent_path();
  if (fs::exists(above / "run.json")) return Place{above, whole.parent_path().filename(), whole.filename()};
  return std::nullopt;
}

std::string tokens(const std::optional<std::int64_t>& count) { return count ? fmt::format("{}", *count) : "?"; }

void show_trajectory(const schema::Trajectory& trajectory) {
  const schema::TrajectoryPlan& plan = trajectory.plan;
  fmt::print("{}: {} on {}, pack {}, model {}, number {}\n\n", plan.id, plan.task, plan.target, plan.pack, plan.model,
             plan.repeat);
  for (const schema::Turn& turn : trajectory.turns) {
    const schema::ReplyEvent& reply = turn.reply;
    fmt::print("turn {:<3} {:<22} {:<10} tokens in {} out {} ({} reasoning)  {:.1f} s asked, {:.1f} s judged{}\n",
               turn.number, result_text(turn), reply.outcome, tokens(reply.usage.input), tokens(reply.usage.output),
               tokens(reply.usage.reasoning), reply.seconds, turn.judged.judge_seconds,
               turn.judged.source ? fmt::format("  kernels/v{}.cu", turn.judged.version) : "");
  }
  if (trajectory.open_reply) fmt::print("turn {:<3} answered, not judged yet\n", trajectory.open_reply->turn);
  if (!trajectory.lost_requests.empty())
    fmt::print("{} request{} without a reply: in flight now, or lost when a process died; at most {:.4f} USD\n",
               trajectory.lost_requests.size(), trajectory.lost_requests.size() == 1 ? "" : "s",
               trajectory.possible_cost_usd);
  if (trajectory.finish)
    fmt::print("\nover: {}{}{}\n", schema::to_string(trajectory.finish->reason),
               trajectory.finish->detail.empty() ? "" : ": ", trajectory.finish->detail);
  else if (trajectory.suspended)
    fmt::print("\nsuspended: {} {}\n", trajectory.suspended->reason, trajectory.suspended->detail);
}

void show_turn(const schema::Turn& turn) {
  if (!turn.reply.reasoning_text.empty()) fmt::print("---- reasoning\n{}\n\n", turn.reply.reasoning_text);
  fmt::print("---- answer ({}{}{})\n{}\n\n---- {}\n", turn.reply.outcome, turn.reply.detail.empty() ? "" : ": ",
             turn.reply.detail, turn.reply.text, turn.judged.extraction);
  for (const schema::Verdict& verdict : turn.judged.verdicts) fmt::print("\n---- verdict\n{}", render(verdict, false));
  fmt::print("\n---- feedback\n{}", turn.judged.feedback);
}

Error unknown(const std::string& what, const std::string& name, const std::string& hint) {
  return {ErrorKind::kNotFound, fmt::format("the run has no {} '{}'", what, name), hint, {}, {}};
}

int show_run(const Place& place) {
  const auto run = schema::load_run(place.run);
  if (!run) return report(run.error());
  if (place.trajectory.empty()) {
    print_summary(*run);
    return kExitPassed;
  }
  for (const schema::Trajectory& trajectory : run->trajectories) {
    if (trajectory.plan.id != place.trajectory) continue;
    if (place.turn.empty()) {
      show_trajectory(trajectory);
      return kExitPassed;
    }
    for (const schema::Turn& turn : trajectory.turns)
      if (std::to_string(turn.number) == place.turn) {
        show_turn(turn);
        return kExitPassed;
      }
    return report(
        unknown("turn", place.turn, fmt::format("{} has {} turns", place.trajectory, trajectory.turns.size())));
  }
  return report(
      unknown("trajectory", place.trajectory, fmt::format("ptxbench show {} lists them", place.run.string())));
}

}  // namespace

void add_show(CLI::App& app, int& exit_code) {
  CLI::App* command = add_command(app, "show", "Shows a task, or a run folder, one of its trajectories, one turn",
                                  "ptxbench show gemm_n7168_k5120\n  ptxbench show runs/a/001/3");
  auto* name =
      command->add_option("WHAT", "A name that `ptxbench tasks` lists, or RUN[/trajectory[/turn]]")->required();
  command->callback([&exit_code, name] {
    const std::string what = name->as<std::string>();
    const auto place = place_of(what);
    exit_code = place ? show_run(*place) : show_task(what);
  });
}

}  // namespace ptxbench::cli
