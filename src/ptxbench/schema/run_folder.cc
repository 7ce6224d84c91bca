#include "ptxbench/schema/run_folder.h"

#include <fmt/format.h>

#include "ptxbench/base/file.h"
#include "ptxbench/base/hash.h"
#include "ptxbench/schema/quick_json.h"

namespace ptxbench::schema {
namespace fs = std::filesystem;

fs::path trajectory_folder(const fs::path& run, const std::string& id) { return run / "trajectories" / id; }

Result<std::string> load_prompt(const fs::path& run, const std::string& sha256) {
  const fs::path file = run / "prompts" / (sha256 + ".txt");
  PTXBENCH_TRY(std::string text, read_file(file));
  if (sha256_hex(text) != sha256)
    return fail(ErrorKind::kInvalidInput, fmt::format("'{}' was changed: its SHA-256 is not its name", file.string()),
                "restore it from a copy; the plan in run.json refers to the text as it was");
  return text;
}

Result<EventLog> read_events(const fs::path& file, Texts texts) {
  EventLog log;
  if (!fs::exists(file)) return log;
  PTXBENCH_TRY(const std::string text, read_file(file));
  const std::size_t longest = texts == Texts::kWhole ? std::string::npos : 64;
  thread_local simdjson::dom::parser parser;  // its buffers serve every log of a run
  std::size_t begin = 0;
  for (std::size_t end = 0; (end = text.find('\n', begin)) != std::string::npos; begin = end + 1) {
    const std::string_view line = std::string_view(text).substr(begin, end - begin);
    // The parser looks a little beyond the line's end; near the end of the file it takes a copy.
    const bool copy = text.size() - end < simdjson::SIMDJSON_PADDING;
    simdjson::dom::element json;
    std::optional<Event> event;
    if (parser.parse(line.data(), line.size(), copy).get(json) == simdjson::SUCCESS) event = quick_event(json, longest);
    if (!event) {
      PTXBENCH_TRY(event, event_from_json(line, file.string(), static_cast<int>(log.events.size()) + 1));
    }
    log.events.push_back(std::move(*event));
  }
  log.whole_bytes = begin;
  log.cut = begin < text.size();
  return log;
}

Result<RunManifest> load_manifest(const fs::path& run) {
  const fs::path file = run / "run.json";
  PTXBENCH_TRY(const std::string text, read_file(file));
  return run_manifest_from_json(text, file.string());
}

Result<LoadedTrajectory> load_trajectory(const fs::path& run, const TrajectoryPlan& plan, Texts texts) {
  const fs::path file = trajectory_folder(run, plan.id) / "events.jsonl";
  PTXBENCH_TRY(EventLog log, read_events(file, texts));
  LoadedTrajectory loaded;
  if (log.cut) loaded.cut_line = {file.string(), static_cast<int>(log.events.size()) + 1, 0};
  PTXBENCH_TRY(loaded.trajectory, assemble(plan, std::move(log.events), file.string()));
  return loaded;
}

Result<Run> load_run(const fs::path& folder) {
  Run run;
  run.folder = folder;
  PTXBENCH_TRY(run.manifest, load_manifest(folder));
  for (const TrajectoryPlan& plan : run.manifest.trajectories) {
    PTXBENCH_TRY(LoadedTrajectory loaded, load_trajectory(folder, plan));
    run.trajectories.push_back(std::move(loaded.trajectory));
    if (loaded.cut_line) run.cut_lines.push_back(std::move(*loaded.cut_line));
  }
  return run;
}

}  // namespace ptxbench::schema
