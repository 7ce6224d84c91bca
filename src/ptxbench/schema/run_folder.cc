#include "ptxbench/schema/run_folder.h"

#include <fmt/format.h>

#include "ptxbench/base/file.h"
#include "ptxbench/base/hash.h"

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

Result<EventLog> read_events(const fs::path& file) {
  EventLog log;
  if (!fs::exists(file)) return log;
  PTXBENCH_TRY(const std::string text, read_file(file));
  std::size_t begin = 0;
  for (std::size_t end = 0; (end = text.find('\n', begin)) != std::string::npos; begin = end + 1) {
    const std::string_view line = std::string_view(text).substr(begin, end - begin);
    PTXBENCH_TRY(Event event, event_from_json(line, file.string(), static_cast<int>(log.events.size()) + 1));
    log.events.push_back(std::move(event));
  }
  log.whole_bytes = begin;
  log.cut = begin < text.size();
  return log;
}

Result<Run> load_run(const fs::path& folder) {
  const fs::path file = folder / "run.json";
  PTXBENCH_TRY(const std::string text, read_file(file));
  Run run;
  run.folder = folder;
  PTXBENCH_TRY(run.manifest, run_manifest_from_json(text, file.string()));
  for (const TrajectoryPlan& plan : run.manifest.trajectories) {
    const fs::path log_file = trajectory_folder(folder, plan.id) / "events.jsonl";
    PTXBENCH_TRY(const EventLog log, read_events(log_file));
    PTXBENCH_TRY(Trajectory trajectory, assemble(plan, log.events, log_file.string()));
    run.trajectories.push_back(std::move(trajectory));
    if (log.cut) run.cut_lines.push_back({log_file.string(), static_cast<int>(log.events.size()) + 1, 0});
  }
  return run;
}

}  // namespace ptxbench::schema
