#include "ptxbench/report/from_run.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>

#include "ptxbench/base/file.h"
#include "ptxbench/report/on_all_cores.h"
#include "ptxbench/schema/page_data.h"
#include "ptxbench/schema/run_folder.h"

namespace ptxbench::report {
namespace fs = std::filesystem;
namespace {

using schema::VerdictStatus;
using Truth = std::optional<bool>;

// Whether a layer that was judged holds; none if judging did not come to a conclusion there.
Truth layer_truth(const schema::Verdict& verdict, bool passed, bool reached) {
  if (reached) return passed;
  const VerdictStatus status = verdict.status();
  if (status == VerdictStatus::kInfraError || status == VerdictStatus::kMeasurementVoid) return std::nullopt;
  return false;  // an earlier layer failed
}

bool judged(schema::LayerState state) {
  return state == schema::LayerState::kPassed || state == schema::LayerState::kFailed;
}

struct Layers {
  Truth correct_paper, correct_strict, target_paper, target_strict;
};

Layers layers_of(const schema::Verdict& verdict) {
  const schema::CorrectLayer& correct = verdict->correct;
  const schema::ExecutedLayer& executed = verdict->executed;
  // A run that ended in a trap, a time-out or a refusal leaves no figures: wrong under both rules.
  const bool compared = judged(correct.state), counted = judged(executed.state);
  return {layer_truth(verdict, correct.paper_passed, compared), layer_truth(verdict, correct.strict_passed, compared),
          layer_truth(verdict, executed.paper_passed, counted), layer_truth(verdict, executed.strict_passed, counted)};
}

// Over all workloads; `complete` says that each of them was judged.
Truth all_of(const std::vector<Layers>& layers, Truth Layers::*which, bool complete) {
  Truth all = complete ? Truth(true) : std::nullopt;
  for (const Layers& one : layers) {
    if (one.*which == false) return false;
    if (!(one.*which)) all.reset();
  }
  return all;
}

schema::TurnRecord record_of(const schema::Turn& turn, std::uint32_t trajectory, std::size_t workloads) {
  schema::TurnRecord record;
  record.trajectory = trajectory;
  record.turn = turn.number;
  record.status = schema::turn_status_from(turn.result()).value_or(schema::TurnStatus::kOther);
  if (record.status == schema::TurnStatus::kNoKernel) {
    record.correct_paper = record.correct_strict = false;
  } else {
    std::vector<Layers> layers;
    for (const schema::Verdict& verdict : turn.judged.verdicts) layers.push_back(layers_of(verdict));
    const bool complete = layers.size() == workloads;
    record.correct_paper = all_of(layers, &Layers::correct_paper, complete);
    record.correct_strict = all_of(layers, &Layers::correct_strict, complete);
    record.target_paper = all_of(layers, &Layers::target_paper, complete);
    record.target_strict = all_of(layers, &Layers::target_strict, complete);
  }
  record.speedup = turn.speedup();
  record.input_tokens = turn.reply.usage.input;
  record.output_tokens = turn.reply.usage.output;
  record.reasoning_tokens = turn.reply.usage.reasoning;
  record.cost_usd = turn.reply.cost_usd;
  record.seconds = turn.reply.seconds + turn.judged.wait_seconds + turn.judged.judge_seconds;
  return record;
}

// What a report keeps of a trajectory; its texts are gone.
struct Counted {
  std::vector<schema::TurnRecord> turns;
  bool open = false;
  std::optional<Location> cut_line;
};

Result<Counted> count(const fs::path& folder, const schema::TrajectoryPlan& plan, std::uint32_t number) {
  PTXBENCH_TRY(const schema::LoadedTrajectory loaded,
               schema::load_trajectory(folder, plan, schema::Texts::kBeginnings));
  Counted counted{{}, !loaded.trajectory.finish, loaded.cut_line};
  for (const schema::Turn& turn : loaded.trajectory.turns)
    counted.turns.push_back(record_of(turn, number, plan.workloads.size()));
  return counted;
}

// Every trajectory of the plan, on all cores: reading the logs is nearly all of a report's work.
Result<std::vector<Counted>> count_all(const fs::path& folder, const std::vector<schema::TrajectoryPlan>& plans) {
  std::vector<Counted> counted(plans.size());
  PTXBENCH_TRY_STATUS(on_all_cores(plans.size(), [&](std::size_t t) -> Status {
    PTXBENCH_TRY(counted[t], count(folder, plans[t], static_cast<std::uint32_t>(t)));
    return {};
  }));
  return counted;
}

schema::Cell cell_of(const schema::RunManifest& manifest, const schema::TrajectoryPlan& plan, const std::string& run) {
  const auto& models = manifest.models;
  const auto model =
      std::find_if(models.begin(), models.end(), [&](const auto& one) { return one.name == plan.model; });
  return {run,
          plan.model,
          plan.target,
          plan.task,
          fmt::format("{}", fmt::join(plan.workloads, "+")),
          "cuda",
          "",
          "",
          model != models.end() && model->recording};
}

Status load_run_folder(const fs::path& folder, std::vector<schema::Observations>& parts, Loaded& loaded) {
  PTXBENCH_TRY(schema::RunManifest manifest, schema::load_manifest(folder));
  PTXBENCH_TRY(std::vector<Counted> counted, count_all(folder, manifest.trajectories));
  schema::Observations data;
  data.source = fmt::format("run folder {}", folder.string());
  const fs::path whole = fs::absolute(folder / "").lexically_normal();  // ends in a slash, however it was named
  const std::string name = whole.parent_path().filename().string();
  std::size_t open = 0;
  for (std::size_t t = 0; t < counted.size(); ++t) {
    const schema::TrajectoryPlan& plan = manifest.trajectories[t];
    const schema::Cell cell = cell_of(manifest, plan, name);
    const auto place = std::find(data.cells.begin(), data.cells.end(), cell);
    const auto index = static_cast<std::uint32_t>(place - data.cells.begin());
    if (place == data.cells.end()) data.cells.push_back(cell);
    data.trajectories.push_back({plan.id, index, plan.pack, manifest.experiment.turns, counted[t].open});
    data.turns.insert(data.turns.end(), counted[t].turns.begin(), counted[t].turns.end());
    open += counted[t].open;
    loaded.details.emplace_back([folder, plan]() -> Result<std::string> {
      PTXBENCH_TRY(const schema::LoadedTrajectory read, schema::load_trajectory(folder, plan));
      return schema::to_json(schema::transcript_of(read.trajectory));
    });
  }
  if (open > 0)
    data.notes.push_back(fmt::format("{}: {} of {} trajectories are not over; their missing turns are not known", name,
                                     open, counted.size()));
  for (const Counted& one : counted)
    if (one.cut_line)
      data.notes.push_back(fmt::format("{}:{}: the line is cut off, expected a newline at its end; it is left out",
                                       one.cut_line->file, one.cut_line->line));
  parts.push_back(std::move(data));
  return {};
}

Status load_imported(const fs::path& folder, std::vector<schema::Observations>& parts, Loaded& loaded) {
  PTXBENCH_TRY(parts.emplace_back(), schema::load_observations(folder));
  for (std::uint32_t t = 0; t < parts.back().trajectories.size(); ++t) {
    const fs::path file = schema::transcript_file(folder, t);
    loaded.details.emplace_back();
    if (!fs::exists(file)) continue;
    loaded.details.back() = [file]() -> Result<std::string> {
      PTXBENCH_TRY(std::string text, read_file(file));
      PTXBENCH_TRY_STATUS(schema::check_transcript(text, file.string()));
      return text;
    };
  }
  return {};
}

}  // namespace

Result<Loaded> load(const std::vector<std::string>& folders) {
  Loaded loaded;
  std::vector<schema::Observations> parts;
  for (const fs::path folder : folders) {
    if (fs::exists(folder / "observations.json")) {
      PTXBENCH_TRY_STATUS(load_imported(folder, parts, loaded));
    } else if (fs::exists(folder / "run.json")) {
      PTXBENCH_TRY_STATUS(load_run_folder(folder, parts, loaded));
    } else {
      return fail(ErrorKind::kNotFound,
                  fmt::format("'{}' holds neither run.json nor observations.json", folder.string()),
                  "name a folder that `ptxbench run --out` or `ptxbench import-paper --out` made");
    }
  }
  loaded.observations = join(std::move(parts));
  return loaded;
}

schema::Observations join(std::vector<schema::Observations> parts) {
  if (parts.size() == 1) return std::move(parts.front());
  schema::Observations all;
  for (std::size_t i = 0; i < parts.size(); ++i) {
    schema::Observations& part = parts[i];
    const auto cells = static_cast<std::uint32_t>(all.cells.size());
    const auto trajectories = static_cast<std::uint32_t>(all.trajectories.size());
    all.source += (i == 0 ? "" : "; ") + part.source;
    all.notes.insert(all.notes.end(), part.notes.begin(), part.notes.end());
    for (schema::Cell& cell : part.cells) {
      const bool taken = std::any_of(all.cells.begin(), all.cells.begin() + cells,
                                     [&](const schema::Cell& other) { return other.run == cell.run; });
      if (taken) cell.run += fmt::format(" ({})", i + 1);
      all.cells.push_back(std::move(cell));
    }
    for (schema::TrajectoryInfo& info : part.trajectories) {
      info.cell += cells;
      all.trajectories.push_back(std::move(info));
    }
    for (schema::ReferenceDate& date : part.references)
      if (std::find(all.references.begin(), all.references.end(), date) == all.references.end())
        all.references.push_back(std::move(date));
    for (schema::PublishedCell& published : part.published) {
      published.cell += cells;
      all.published.push_back(published);
    }
    for (schema::TurnRecord& turn : part.turns) {
      turn.trajectory += trajectories;
      all.turns.push_back(turn);
    }
  }
  return all;
}

}  // namespace ptxbench::report
