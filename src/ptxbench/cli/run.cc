// ptxbench run: an experiment, from its file or flags to a run folder.
#include <fmt/format.h>
#include <unistd.h>

#include <atomic>

#include "ptxbench/agent/export.h"
#include "ptxbench/agent/run.h"
#include "ptxbench/base/file.h"
#include "ptxbench/base/interrupt.h"
#include "ptxbench/cli/command.h"
#include "ptxbench/cli/evaluator.h"
#include "ptxbench/cli/run_progress.h"

namespace ptxbench::cli {
namespace {

namespace fs = std::filesystem;
using agent::Experiment;
using agent::RunPlan;

struct Options {
  std::string file, out, context, rules, workload, device, models_file, name;
  std::vector<std::string> tasks, targets, models, packs;
  int trajectories = 0, turns = 0, parallel = 4, evaluations = 1;
  double target_speedup = 0, max_cost = 0;
  std::optional<std::uint64_t> seed;
  bool resume = false, dry_run = false, demo = false, json = false;
};

// experiments/: $PTXBENCH_EXPERIMENTS, the install tree, the source tree.
Result<fs::path> experiments_folder() {
  std::vector<fs::path> places;
  if (const char* named = std::getenv("PTXBENCH_EXPERIMENTS")) places.emplace_back(named);
  std::error_code ignored;
  places.push_back(fs::read_symlink("/proc/self/exe", ignored).parent_path() / "../share/ptxbench/experiments");
  places.emplace_back(PTXBENCH_EXPERIMENTS_FOLDER);
  for (const fs::path& place : places)
    if (fs::exists(place / "demo.toml")) return place.lexically_normal();
  return fail(ErrorKind::kNotFound, "the folder experiments/ with demo.toml is nowhere",
              "set PTXBENCH_EXPERIMENTS to it");
}

// Flags over the file, the file over the defaults.
Result<Experiment> experiment_of(const Options& options) {
  Experiment experiment = agent::default_experiment();
  fs::path file = options.file;
  if (options.demo) {
    PTXBENCH_TRY(const fs::path folder, experiments_folder());
    file = folder / "demo.toml";
  }
  if (!file.empty()) {
    PTXBENCH_TRY(experiment, agent::load_experiment(file));
  }
  schema::ExperimentRecord& record = experiment.record;
  if (!options.name.empty()) record.name = options.name;
  if (!options.tasks.empty()) record.tasks = options.tasks;
  if (!options.targets.empty()) record.targets = options.targets;
  if (!options.models.empty()) record.models = options.models;
  if (!options.packs.empty()) record.packs = options.packs;
  if (options.trajectories > 0) record.trajectories = options.trajectories;
  if (options.turns > 0) record.turns = options.turns;
  if (options.target_speedup > 0) record.target_speedup = options.target_speedup;
  if (options.max_cost > 0) record.max_cost_usd = options.max_cost;
  if (!options.context.empty()) record.context = *schema::context_policy_from(options.context);
  if (!options.rules.empty()) record.rules = *schema::rule_set_from(options.rules);
  if (!options.workload.empty()) record.workload = options.workload;
  if (!options.device.empty()) record.device = options.device;
  if (!options.models_file.empty()) experiment.models_file = options.models_file;
  if (options.seed) experiment.seed = options.seed;
  if (record.models.empty())
    return fail(ErrorKind::kInvalidInput, "no model is named", "give --model NAME, an experiment file, or --demo");
  return experiment;
}

Result<agent::PackSet> load_packs() {
  PTXBENCH_TRY(const fs::path folder, agent::default_pack_folder());
  return agent::load_packs(folder);
}

std::string dollars(std::optional<double> value) { return value ? fmt::format("{:.2f} USD", *value) : "unknown"; }

// The plan, a line per group of equal trajectories.
void print_plan(const RunPlan& plan) {
  const schema::ExperimentRecord& record = plan.manifest.experiment;
  fmt::print("{}: {} trajector{} of up to {} turns, context {}, {} rules, workload {}\n\n", record.name,
             plan.manifest.trajectories.size(), plan.manifest.trajectories.size() == 1 ? "y" : "ies", record.turns,
             schema::to_string(record.context), schema::to_string(record.rules), record.workload);
  fmt::print("{:<9} {:<26} {:<10} {:<4} {:>8} {:>8} {:>14}  {}\n", "id", "task", "target", "pack", "system", "task",
             "cost at most", "model");
  std::optional<double> total = 0;
  for (const schema::TrajectoryPlan& row : plan.manifest.trajectories) {
    const auto bound = plan.cost_bound(row);
    total = total && bound ? std::optional(*total + *bound) : std::nullopt;
    fmt::print("{:<9} {:<26} {:<10} {:<4} {:>7}B {:>7}B {:>14}  {}\n", row.id, row.task, row.target, row.pack,
               plan.prompts.at(row.system_sha256).size(), plan.prompts.at(row.task_sha256).size(), dollars(bound),
               row.model);
  }
  fmt::print("\nPacks:");
  for (const schema::PackRecord& pack : plan.manifest.packs)
    fmt::print(" {} {} {} tokens;", pack.target, pack.level, pack.tokens ? fmt::format("{}", *pack.tokens) : "?");
  fmt::print("\nCost at most: {} (every byte read counted as a token, every answer as long as it may be)\n",
             dollars(total));
}

void print_json_plan(const RunPlan& plan) { fmt::print("{}", schema::to_json(plan.manifest)); }

Result<RunPlan> plan_new(const Options& options, const agent::PackSet& packs, Experiment& experiment,
                         std::unique_ptr<agent::Evaluator>& evaluator) {
  PTXBENCH_TRY(experiment, experiment_of(options));
  PTXBENCH_TRY(LocalEvaluator local,
               make_local_evaluator(experiment.record.device, experiment.record.targets, options.evaluations));
  evaluator = std::move(local.evaluator);
  experiment.record.device = local.device;  // a run is resumed where it began
  return agent::plan_run(experiment, *evaluator, packs);
}

Result<RunPlan> plan_resumed(const Options& options, const agent::PackSet& packs,
                             std::unique_ptr<agent::Evaluator>& evaluator) {
  PTXBENCH_TRY(RunPlan plan, agent::reopen_run(options.out, packs));
  const schema::ExperimentRecord& record = plan.manifest.experiment;
  PTXBENCH_TRY(LocalEvaluator local, make_local_evaluator(record.device, record.targets, options.evaluations));
  evaluator = std::move(local.evaluator);
  return plan;
}

int print_result(const Options& options, const agent::RunResult& result) {
  for (const std::string& failure : result.failures) fmt::print(stderr, "ptxbench: {}\n", failure);
  const bool complete = result.complete();
  if (!complete)
    fmt::print(stderr, "ptxbench: not every trajectory is over\n  hint: ptxbench run --out {} --resume goes on\n",
               options.out);
  if (options.json)
    fmt::print("{}", agent::summary_json(result.run.manifest, result.run.trajectories));
  else
    print_summary(result.run);
  return complete ? kExitPassed : kExitInfrastructure;
}

// First Ctrl-C: no new request or evaluation, those in flight end. Second: requests are cancelled. Third: out at once.
class Interrupts {
 public:
  Interrupts() {
    set_interrupt_handler([this] {
      switch (++count_) {
        case 1:
          fmt::print(stderr, "\nptxbench: ending after what is in flight; once more cancels requests\n");
          stop.request_stop();
          return true;
        case 2: give_up.request_stop(); return true;
        default: return false;
      }
    });
  }
  ~Interrupts() { set_interrupt_handler({}); }
  std::stop_source stop, give_up;

 private:
  std::atomic<int> count_ = 0;
};

int run(const Options& options) {
  auto packs = load_packs();
  if (!packs) return report(packs.error());
  Experiment experiment;
  std::unique_ptr<agent::Evaluator> evaluator;
  if (options.out.empty() && !options.dry_run)
    return report({ErrorKind::kInvalidInput, "--out is missing", "name the folder that the run is written to", {}, {}});
  UniqueFd lock;
  if (!options.dry_run) {
    auto locked = agent::lock_run(options.out);
    if (!locked) return report(locked.error());
    lock = std::move(*locked);
  }
  auto plan =
      options.resume ? plan_resumed(options, *packs, evaluator) : plan_new(options, *packs, experiment, evaluator);
  if (!plan) return report(plan.error());
  if (options.dry_run) {
    options.json ? print_json_plan(*plan) : print_plan(*plan);
    return kExitPassed;
  }
  if (!options.resume)
    if (const Status created = agent::create_run(options.out, experiment, *plan); !created)
      return report(created.error());
  Interrupts interrupts;
  RunProgress progress(*plan, isatty(STDERR_FILENO) != 0);
  agent::RunOptions how;
  how.parallel = options.parallel;
  if (options.max_cost > 0) how.max_cost_usd = options.max_cost;
  how.observer = [&progress](const agent::Progress& step) { progress.take(step); };
  how.stop = interrupts.stop.get_token();
  how.give_up = interrupts.give_up.get_token();
  auto result = agent::run_all(options.out, *plan, *evaluator, how);
  progress.end();
  if (!result) return report(result.error());
  return print_result(options, *result);
}

void add_experiment_flags(CLI::App* command, Options& options) {
  command->add_option("--task", options.tasks, "Task; may be given several times")->group("Experiment");
  command->add_option("--target", options.targets, "hopper, blackwell")->group("Experiment");
  command->add_option("--model", options.models, "A model of the models file, or replay:TRAJECTORY.traj.json")
      ->group("Experiment");
  command->add_option("--pack", options.packs, "Knowledge level, L0 to L4")->group("Experiment");
  command->add_option("--trajectories", options.trajectories, "Of each combination")
      ->check(CLI::Range(1, agent::kMostTrajectories))
      ->group("Experiment");
  command->add_option("--turns", options.turns, "Of each trajectory, at most")
      ->check(CLI::Range(1, agent::kMostTurns))
      ->group("Experiment");
  command
      ->add_option("--target-speedup", options.target_speedup,
                   "End a trajectory at this speed-up; by default when a kernel passes")
      ->check(CLI::PositiveNumber)
      ->group("Experiment");
  command->add_option("--context", options.context, "What the model is shown of earlier turns")
      ->check(CLI::IsMember({"full", "latest-pair", "single-user"}))
      ->group("Experiment");
  command->add_option("--rules", options.rules)->check(CLI::IsMember({"strict", "paper"}))->group("Experiment");
  command->add_option("--workload", options.workload, "emu, full, or a UUID")->group("Experiment");
  command->add_option("--device", options.device, "Where kernels run: emu, gpu, gpu:N; auto: a GPU if there is one")
      ->check(CLI::IsMember({"auto", "emu", "gpu"}) | gpu_name())
      ->group("Experiment");
  command->add_option("--models-file", options.models_file, "Instead of models.toml")->group("Experiment");
  command->add_option("--name", options.name, "Of the experiment")->group("Experiment");
  command->add_option("--seed", options.seed, "Of the judge's inputs; by default drawn")
      ->check(CLI::NonNegativeNumber)
      ->group("Experiment");
}

}  // namespace

void add_run(CLI::App& app, int& exit_code) {
  CLI::App* command = add_command(
      app, "run", "Lets models write kernels, judges them, feeds the verdicts back, turn by turn",
      "ptxbench run --demo --out /tmp/demo\n  ptxbench run experiments/ablation.toml --out runs/a --dry-run");
  auto options = std::make_shared<Options>();
  command->add_option("EXPERIMENT", options->file, "A TOML file (docs/agent.md); flags go over it");
  command->add_option("--out", options->out, "The run folder");
  command->add_flag("--resume", options->resume, "Go on with the run in --out: nothing is done or paid twice");
  command->add_flag("--dry-run", options->dry_run, "Print the plan, the prompts' sizes and the highest possible cost");
  command->add_flag("--demo", options->demo, "Play a recording: three turns on the Hopper GEMM, without a model");
  command->add_option("--max-cost", options->max_cost, "USD that the run may cost in all; never passed")
      ->check(CLI::PositiveNumber);
  command->add_option("--parallel", options->parallel, "Trajectories at a time")
      ->check(CLI::Range(1, 512))
      ->capture_default_str();
  command->add_option("--evaluations", options->evaluations, "Evaluations at a time")
      ->check(CLI::Range(1, 64))
      ->capture_default_str();
  command->add_flag("--json", options->json, "Print the summary (or the plan) as JSON");
  add_experiment_flags(command, *options);
  command->callback([&exit_code, options] { exit_code = run(*options); });
}

}  // namespace ptxbench::cli
