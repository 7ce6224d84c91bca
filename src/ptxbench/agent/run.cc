#include "ptxbench/agent/run.h"

#include <fmt/format.h>

#include <atomic>
#include <set>
#include <thread>

#include "ptxbench/agent/export.h"
#include "ptxbench/base/file.h"
#include "ptxbench/base/file_lock.h"

namespace ptxbench::agent {
namespace {

namespace fs = std::filesystem;

fs::path recording_file(const fs::path& folder, std::size_t model) {
  return folder / "recordings" / fmt::format("{}.traj.json", model + 1);
}

Status make_folder(const fs::path& folder) {
  std::error_code failed;
  fs::create_directories(folder, failed);
  if (failed)
    return fail(ErrorKind::kUnavailable, fmt::format("cannot create '{}': {}", folder.string(), failed.message()));
  return {};
}

// What write_file_atomic() of a killed process left beside its target: "run.json.a1B2c3". Only under the run's lock.
void remove_leftovers(const fs::path& folder) {
  std::error_code ignored;
  for (const fs::path& place : {folder, folder / "prompts", folder / "recordings"})
    for (const fs::directory_entry& entry : fs::directory_iterator(place, ignored)) {
      const std::string ours = entry.path().stem().extension().string();
      const bool temporary = entry.path().extension().string().size() == 7;
      if (temporary && (ours == ".json" || ours == ".txt" || ours == ".toml")) fs::remove(entry.path(), ignored);
    }
}

Status copy_models_file(const fs::path& folder, const Experiment& experiment, const RunPlan& plan) {
  bool asked = false;
  for (const PlannedModel& model : plan.models) asked |= !model.recording;
  if (!asked) return {};
  fs::path file = experiment.models_file;
  if (file.empty()) {
    PTXBENCH_TRY(file, default_models_file());
  }
  PTXBENCH_TRY(const std::string text, read_file(file));
  return write_file_atomic(folder / "models.toml", text);
}

// The models as the folder has them.
Result<std::vector<PlannedModel>> stored_models(const fs::path& folder, const schema::RunManifest& manifest) {
  Experiment experiment;
  experiment.models_file = folder / "models.toml";
  for (std::size_t i = 0; i < manifest.models.size(); ++i)
    experiment.record.models.push_back(manifest.models[i].recording ? "replay:" + recording_file(folder, i).string()
                                                                    : manifest.models[i].name);
  PTXBENCH_TRY(std::vector<PlannedModel> models, find_models(experiment));
  for (std::size_t i = 0; i < models.size(); ++i) models[i].config.name = manifest.models[i].name;
  return models;
}

// Serves clients: one per model of a server, one per trajectory of a recording.
class Clients {
 public:
  explicit Clients(const RunPlan& plan) : plan_(plan) {}

  Result<std::shared_ptr<ModelClient>> get(const schema::TrajectoryPlan& trajectory, std::size_t answers) {
    const PlannedModel& model = plan_.model(trajectory.model);
    if (model.recording) return std::shared_ptr<ModelClient>(make_replay_client(*model.recording, answers));
    const std::lock_guard lock(mutex_);
    std::shared_ptr<ModelClient>& shared = shared_[trajectory.model];
    if (!shared) {
      PTXBENCH_TRY(shared, make_client(model.config));
    }
    return shared;
  }

 private:
  const RunPlan& plan_;
  std::mutex mutex_;
  std::map<std::string, std::shared_ptr<ModelClient>> shared_;
};

double spent_so_far(const schema::Run& run) {
  double spent = 0;
  for (const schema::Trajectory& trajectory : run.trajectories)
    spent += trajectory.cost_usd + trajectory.possible_cost_usd;
  return spent;
}

// Takes trajectories off the list until it is empty; one that fails leaves the others alone.
void work(const LoopShared& shared, std::atomic<std::size_t>& next, std::mutex& mutex,
          std::vector<std::string>& failures) {
  const auto& plans = shared.plan.manifest.trajectories;
  for (std::size_t i = next++; i < plans.size() && !shared.stop.stop_requested(); i = next++) {
    std::string failure;
    try {
      if (const Status status = run_trajectory(shared, plans[i]); !status) failure = status.error().format();
    } catch (const std::exception& error) {
      failure = fmt::format("internal error: {}", error.what());
    }
    if (failure.empty()) continue;
    const std::lock_guard lock(mutex);
    failures.push_back(fmt::format("{}: {}", plans[i].id, failure));
  }
}

}  // namespace

Status create_run(const fs::path& folder, const Experiment& experiment, const RunPlan& plan) {
  remove_leftovers(folder);
  std::error_code ignored;
  // A folder without run.json but with our parts is what a killed create_run() left: written anew.
  for (const fs::directory_entry& entry : fs::directory_iterator(folder, ignored)) {
    static const std::set<std::string> kOurs = {"prompts", "recordings", "experiment.toml", "models.toml", "lock"};
    if (!kOurs.contains(entry.path().filename().string()))
      return fail(ErrorKind::kInvalidInput,
                  fmt::format("'{}' holds '{}' already", folder.string(), entry.path().filename().string()),
                  "give --resume to go on with a run, or another --out");
  }
  PTXBENCH_TRY_STATUS(make_folder(folder / "prompts"));
  for (const auto& [hash, text] : plan.prompts)
    PTXBENCH_TRY_STATUS(write_file_atomic(folder / "prompts" / (hash + ".txt"), text));
  for (std::size_t i = 0; i < plan.models.size(); ++i) {
    if (!plan.models[i].recording) continue;
    PTXBENCH_TRY_STATUS(make_folder(folder / "recordings"));
    PTXBENCH_TRY_STATUS(write_file_atomic(recording_file(folder, i), plan.models[i].recording_json));
  }
  PTXBENCH_TRY_STATUS(copy_models_file(folder, experiment, plan));
  PTXBENCH_TRY_STATUS(write_file_atomic(folder / "experiment.toml", to_toml(experiment)));
  return write_file_atomic(folder / "run.json", schema::to_json(plan.manifest));
}

Result<RunPlan> reopen_run(const fs::path& folder, const PackSet& packs) {
  PTXBENCH_TRY(const std::string text, read_file(folder / "run.json"));
  RunPlan plan;
  PTXBENCH_TRY(plan.manifest, schema::run_manifest_from_json(text, (folder / "run.json").string()));
  PTXBENCH_TRY(plan.models, stored_models(folder, plan.manifest));
  for (const schema::PackRecord& record : plan.manifest.packs) {
    PTXBENCH_TRY(PackPrompt pack, packs.prompt(record.target, record.level));
    if (pack.sha256 != record.sha256)
      return fail(ErrorKind::kInvalidInput,
                  fmt::format("the pack {} {} is not the one that '{}' began with", record.target, record.level,
                              folder.string()),
                  "go on with the version of knowledge/ that the run began with (PTXBENCH_KNOWLEDGE), or begin anew");
    plan.include_folders[{record.target, record.level}] = std::move(pack.include_folders);
  }
  for (const schema::TrajectoryPlan& trajectory : plan.manifest.trajectories)
    for (const std::string& hash : {trajectory.system_sha256, trajectory.task_sha256})
      if (!plan.prompts.contains(hash)) {
        PTXBENCH_TRY(plan.prompts[hash], schema::load_prompt(folder, hash));
      }
  return plan;
}

Result<UniqueFd> lock_run(const fs::path& folder) {
  PTXBENCH_TRY_STATUS(make_folder(folder));
  PTXBENCH_TRY(std::optional<UniqueFd> fd, try_lock_file(folder / "lock", LockKind::kExclusive));
  if (!fd)
    return fail(ErrorKind::kUnavailable, fmt::format("'{}' is in use by another ptxbench run", folder.string()),
                "wait for it, or end it");
  return std::move(*fd);
}

bool RunResult::complete() const {
  for (const schema::Trajectory& trajectory : run.trajectories)
    if (!trajectory.finish) return false;
  return failures.empty();
}

Result<RunResult> run_all(const fs::path& folder, const RunPlan& plan, Evaluator& evaluator,
                          const RunOptions& options) {
  remove_leftovers(folder);
  PTXBENCH_TRY(const schema::Run before, schema::load_run(folder));
  std::mutex mutex;
  Observer observer = [&](const Progress& progress) {
    if (!options.observer) return;
    const std::lock_guard lock(mutex);
    options.observer(progress);
  };
  const auto limit = options.max_cost_usd ? options.max_cost_usd : plan.manifest.experiment.max_cost_usd;
  Budget budget(limit, spent_so_far(before));
  JudgeQueue queue(evaluator, options.patience, [&](const std::string& why) {
    observer({why.empty() ? Progress::Step::kEvaluatorWell : Progress::Step::kEvaluatorIll, nullptr, 0, why, 0});
  });
  Clients clients(plan);
  const LoopShared shared{folder,
                          plan,
                          budget,
                          queue,
                          [&](const auto& trajectory, std::size_t answers) { return clients.get(trajectory, answers); },
                          observer,
                          options.stop,
                          options.give_up};
  RunResult result;
  std::atomic<std::size_t> next = 0;
  std::mutex failures_mutex;
  {
    std::vector<std::jthread> threads;
    const auto count =
        std::min<std::size_t>(static_cast<std::size_t>(options.parallel), plan.manifest.trajectories.size());
    for (std::size_t i = 0; i < count; ++i)
      threads.emplace_back([&] { work(shared, next, failures_mutex, result.failures); });
  }
  PTXBENCH_TRY(result.run, schema::load_run(folder));
  PTXBENCH_TRY_STATUS(write_file_atomic(folder / "summary.json", summary_json(plan.manifest, result.run.trajectories)));
  return result;
}

}  // namespace ptxbench::agent
