// Reading a run folder back. Layout (docs/agent.md):
//   run.json                          the plan: RunManifest
//   prompts/<sha256>.txt              first and second message, each text once
//   trajectories/<id>/events.jsonl    the log
//   trajectories/<id>/...             made from the log: kernels, verdicts, <id>.traj.json
#pragma once

#include <filesystem>
#include <optional>
#include <string>
#include <vector>

#include "ptxbench/base/result.h"
#include "ptxbench/schema/trajectory.h"

namespace ptxbench::schema {

struct Run {
  std::filesystem::path folder;
  RunManifest manifest;
  std::vector<Trajectory> trajectories;  // in plan order; one that has not started has no turns
  std::vector<Location> cut_lines;       // last lines of logs that a process did not finish; left out
};

// kNotFound when there is no run.json. Every prompt file must have the hash that is its name.
Result<Run> load_run(const std::filesystem::path& folder);

std::filesystem::path trajectory_folder(const std::filesystem::path& run, const std::string& id);

Result<RunManifest> load_manifest(const std::filesystem::path& run);

// A report of 100,000 turns needs no kernels, answers and logs: of texts, the first 64 bytes are enough for it.
enum class Texts { kWhole, kBeginnings };

struct LoadedTrajectory {
  Trajectory trajectory;
  std::optional<Location> cut_line;  // Run::cut_lines
};
Result<LoadedTrajectory> load_trajectory(const std::filesystem::path& run, const TrajectoryPlan& plan,
                                         Texts texts = Texts::kWhole);

// The text of a prompt file, checked against its name.
Result<std::string> load_prompt(const std::filesystem::path& run, const std::string& sha256);

// A log's events. A last line that a dying process did not finish is left out: `whole_bytes` is where it starts, i.e. the
// size that the file should be cut to before more is appended.
struct EventLog {
  std::vector<Event> events;
  std::uint64_t whole_bytes = 0;
  bool cut = false;  // there was such a line
};
Result<EventLog> read_events(const std::filesystem::path& file,
                             Texts texts = Texts::kWhole);  // a file that is not there: no events

}  // namespace ptxbench::schema
