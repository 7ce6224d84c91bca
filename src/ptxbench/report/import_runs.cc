#include "ptxbench/report/import_runs.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <map>

#include "ptxbench/base/file.h"
#include "ptxbench/report/csv.h"
#include "ptxbench/report/paper_labels.h"
#include "ptxbench/schema/paper_run.h"

namespace ptxbench::report {
namespace fs = std::filesystem;
namespace {

using schema::PaperPlanItem;
using schema::PaperTrajectory;
using schema::PaperTurn;

// What a prompt tag says. Tags of the published hub.json are a prefix and the name of a pattern.
struct Setting {
  std::string target, language, pack;
};
struct TagPrefix {
  std::string_view prefix, target, language;
};
constexpr TagPrefix kPrefixes[] = {
    {"triton-hopper", "hopper", "triton"},
    {"triton-blackwell", "blackwell", "triton"},
    {"hopper", "hopper", "cuda"},
    {"b200-bf16", "blackwell", "cuda"},
};

std::optional<Setting> setting_of(const std::string& tag, const std::string& system) {
  for (const TagPrefix& known : kPrefixes) {
    if (!tag.starts_with(known.prefix)) continue;
    const std::string rest = tag.substr(known.prefix.size());
    if (!rest.empty() && rest[0] != '-') continue;
    return Setting{std::string(known.target), std::string(known.language), rest.empty() ? "no-hint" : rest.substr(1)};
  }
  for (const auto& [words, target] :
       {std::pair("targeting NVIDIA Hopper", "hopper"), std::pair("targeting NVIDIA Blackwell", "blackwell")})
    if (system.find(words) != std::string::npos)
      return Setting{target, system.find("kernel using Triton") != std::string::npos ? "triton" : "cuda", tag};
  return std::nullopt;
}

// The last UUID in a path: test files are named after the workload.
std::string uuid_in(const std::string& path) {
  constexpr std::string_view kShape = "xxxxxxxx-xxxx-xxxx-xxxx-xxxxxxxxxxxx";
  for (std::size_t at = path.size() + 1; at-- > kShape.size();) {
    const std::string one = path.substr(at - kShape.size(), kShape.size());
    const bool fits = std::equal(one.begin(), one.end(), kShape.begin(), [](char c, char shape) {
      return shape == '-' ? c == '-' : std::string_view("0123456789abcdef").find(c) != std::string_view::npos;
    });
    if (fits) return one;
  }
  return "";
}

// The block that was judged: the last whole kernel of the answer, else its last block. Fences count only as the
// implementation takes them, with exactly this language.
std::optional<std::string> kernel_in(const std::string& answer, const std::string& language) {
  const bool python = language == "triton";
  const std::string fence = python ? "```python\n" : "```cpp\n";
  std::optional<std::string> whole, last;
  for (std::size_t at = answer.find(fence); at != std::string::npos; at = answer.find(fence, at)) {
    at += fence.size();
    const std::size_t end = std::min(answer.find("```", at), answer.size());
    const std::string block = answer.substr(at, end - at);
    at = end;
    if (block.find_first_not_of(" \t\r\n") == std::string::npos) continue;
    last = block;
    if (block.find(python ? "@triton.jit" : "__global__") != std::string::npos) whole = block;
  }
  return whole ? whole : last;
}

// Whether a turn's target instructions ran, by the run's exported evidence.
class Evidence {
 public:
  static Result<Evidence> read(const fs::path& run) {
    Evidence evidence;
    for (const char* name : {"turn_correctness_sass_arch.csv", "turn_correctness_arch.csv"}) {
      if (!fs::exists(run / "figures" / name)) continue;
      PTXBENCH_TRY(const CsvFile file, CsvFile::read(run / "figures", name, {"trajectory_id", "turn", "correctness"}));
      evidence.file_ = file.file_name();
      if (!file.has("sass_arch_tag") || !file.has("sass_verification_status")) continue;
      evidence.conclusive_ = true;
      PTXBENCH_TRY_STATUS(evidence.add(file));
      break;
    }
    return evidence;
  }

  // None where nobody looked, the look was not conclusive, or the line means another turn than the trajectory holds.
  std::optional<bool> target(const std::string& id, int turn, std::string_view label, const std::string& target) {
    const auto found = lines_.find({id, turn});
    if (found == lines_.end()) return std::nullopt;
    const Line& line = found->second;
    if (line.label != label) {
      if (unfit_++ == 0) first_unfit_ = line.number;
      return std::nullopt;
    }
    if (line.status == "cubin_sass_absent" || line.status == "dynamic_not_executed") return false;
    if (line.status != "dynamic_present") return std::nullopt;
    return line.tags.find(target == "hopper" ? 'H' : 'B') != std::string::npos;
  }

  std::vector<std::string> notes(const std::string& run) const {
    if (file_.empty())
      return {run + ": no figures/turn_correctness_sass_arch.csv, so whether target instructions ran is not known"};
    if (!conclusive_) return {file_ + ": no SASS columns, so whether target instructions ran is not known"};
    if (unfit_ == 0) return {};
    return {fmt::format("{}:{}: the label is another than the trajectory's; {} such lines are not used", file_,
                        first_unfit_, unfit_)};
  }

 private:
  struct Line {
    std::string label, status, tags;
    int number = 0;
  };

  Status add(const CsvFile& file) {
    for (std::size_t i = 0; i < file.size(); ++i) {
      const CsvRow row = file.row(i);
      PTXBENCH_TRY(const std::int64_t turn, row.integer("turn", 0, 1000));
      const std::string& id = row.text("trajectory_id");
      if (!status_of_paper_label(row.text("correctness")))
        return fail(row.error(fmt::format("correctness: found '{}', expected one of the nine labels such as 'Correct'",
                                          row.text("correctness"))));
      const Line line{row.text("correctness"), row.text("sass_verification_status"), row.text("sass_arch_tag"),
                      row.error("").where.line};
      if (!lines_.emplace(std::pair(id, static_cast<int>(turn)), line).second)
        return fail(row.error(fmt::format("turn {} of '{}' stands twice", turn, id)));
    }
    return {};
  }

  std::string file_;
  bool conclusive_ = false;
  std::map<std::pair<std::string, int>, Line> lines_;
  int unfit_ = 0, first_unfit_ = 0;
};

schema::Transcript transcript_of(const std::string& id, const PaperTrajectory& trajectory, const Setting& setting) {
  schema::Transcript transcript{id, {}};
  for (const PaperTurn& turn : trajectory.turns) {
    schema::TranscriptTurn& said = transcript.turns.emplace_back();
    said.turn = static_cast<int>(transcript.turns.size());
    said.status = to_string(status_of(turn, paper_label(turn.feedback)));
    said.answer = turn.answer;
    said.reasoning = turn.reasoning;
    if (turn.event != "no_code") said.source = kernel_in(turn.answer, setting.language);
    said.extraction = fmt::format("{}: the paper's export labels this turn '{}'",
                                  turn.event.empty() ? "no event is given" : turn.event, paper_label(turn.feedback));
    for (const schema::PaperTrace& trace : turn.traces) said.verdicts.push_back(trace.evaluation);
    said.feedback = turn.feedback;
  }
  return transcript;
}

class RunImport {
 public:
  RunImport(fs::path folder, std::uint32_t first, const KeepTranscript& keep)
      : folder_(std::move(folder)), first_(first), keep_(keep) {}

  Result<schema::Observations> run() {
    const std::string plan_file = (folder_ / "plan.json").string();
    PTXBENCH_TRY(const std::string text, read_file(plan_file));
    PTXBENCH_TRY(std::vector<PaperPlanItem> plan, schema::paper_plan_from_json(text, plan_file));
    PTXBENCH_TRY_STATUS(check_files(plan));
    PTXBENCH_TRY(evidence_, Evidence::read(folder_));
    data_.source = fmt::format("run folder {} of the paper's implementation", name());
    for (const PaperPlanItem& item : plan) PTXBENCH_TRY_STATUS(add(item, plan_file));
    finish();
    return std::move(data_);
  }

 private:
  std::string name() const { return fs::absolute(folder_).lexically_normal().filename().string(); }
  fs::path file_of(const std::string& id) const { return folder_ / "trajectories" / (id + ".json"); }

  // Every trajectory's file is planned.
  Status check_files(const std::vector<PaperPlanItem>& plan) const {
    std::error_code error;
    for (const fs::directory_entry& entry : fs::directory_iterator(folder_ / "trajectories", error)) {
      const fs::path& file = entry.path();
      const bool planned = std::any_of(plan.begin(), plan.end(), [&](const PaperPlanItem& item) {
        return file.stem() == fmt::format("exp_{:03}", item.index);
      });
      if (file.extension() == ".json" && !planned)
        return fail(ErrorKind::kInvalidInput,
                    fmt::format("'{}' is not in plan.json, expected one of its exp_index", file.string()),
                    "move the file away, or restore the plan.json of its run");
    }
    return {};
  }

  Status add(const PaperPlanItem& item, const std::string& plan_file) {
    const std::string id = fmt::format("exp_{:03}", item.index);
    PaperTrajectory trajectory;
    if (fs::exists(file_of(id))) {
      PTXBENCH_TRY(const std::string text, read_file(file_of(id)));
      PTXBENCH_TRY(trajectory, schema::paper_trajectory_from_json(text, file_of(id).string()));
      if (model_.empty()) model_ = trajectory.model;
    } else {
      ++not_started_;
      trajectory.model = model_;
    }
    const std::optional<Setting> setting = setting_of(item.prompt_tag, trajectory.system);
    if (!setting)
      return fail(Error{ErrorKind::kInvalidInput,
                        fmt::format("prompt_tag: found '{}', expected hopper..., b200-bf16..., triton-hopper... or "
                                    "triton-blackwell...; {} does not say the target either",
                                    item.prompt_tag, id),
                        "the target cannot be guessed: name it in the tag",
                        {plan_file, item.line, 0},
                        {}});
    const auto number = static_cast<std::uint32_t>(data_.trajectories.size());
    const bool over = trajectory.exit_status == "LimitsExceeded" || trajectory.exit_status == "Submitted" ||
                      trajectory.exit_status == "ContextWindowExceededError";
    data_.trajectories.push_back({id, cell_of(item, trajectory, *setting), setting->pack, item.turns, !over});
    if (trajectory.exit_status && !over) ++ended_[*trajectory.exit_status];
    for (std::size_t i = 0; i < trajectory.turns.size(); ++i)
      data_.turns.push_back(record_of(trajectory.turns[i], id, static_cast<int>(i), number, *setting));
    if (!keep_ || trajectory.turns.empty()) return {};
    return keep_(first_ + number, transcript_of(id, trajectory, *setting));
  }

  // Cells are told apart before their workloads are known, which stand in the traces of all of their turns.
  std::uint32_t cell_of(const PaperPlanItem& item, const PaperTrajectory& trajectory, const Setting& setting) {
    const schema::Cell cell{name(), trajectory.model, setting.target, item.definition, "", setting.language, "", "",
                            false};
    const auto found = std::find(data_.cells.begin(), data_.cells.end(), cell);
    const auto index = static_cast<std::size_t>(found - data_.cells.begin());
    if (found == data_.cells.end()) {
      data_.cells.push_back(cell);
      workloads_.emplace_back();
      named_workloads_.emplace_back();
    }
    for (const PaperTurn& turn : trajectory.turns)
      for (const schema::PaperTrace& trace : turn.traces)
        if (std::vector<std::string>& known = workloads_[index];
            !trace.workload.empty() && std::find(known.begin(), known.end(), trace.workload) == known.end())
          known.push_back(trace.workload);
    if (named_workloads_[index].empty()) named_workloads_[index] = uuid_in(item.test_path);
    return static_cast<std::uint32_t>(index);
  }

  schema::TurnRecord record_of(const PaperTurn& turn, const std::string& id, int index, std::uint32_t trajectory,
                               const Setting& setting) {
    const std::string_view label = paper_label(turn.feedback);
    schema::TurnRecord record;
    record.trajectory = trajectory;
    record.turn = index + 1;
    record.status = status_of(turn, label);
    set_correct(record, label);
    if (*record.correct_paper) {
      const auto& traces = turn.traces;
      const bool all_passed =
          std::all_of(traces.begin(), traces.end(), [](const auto& trace) { return trace.status == "PASSED"; });
      if (traces.empty() || !all_passed) ++label_only_;
      if (!traces.empty() && !all_passed) record.correct_strict = false;
      // As the paper's export: the largest, also where a kernel is slower on another workload.
      for (const schema::PaperTrace& trace : traces)
        if (trace.speedup) record.speedup = std::max(record.speedup.value_or(0), *trace.speedup);
      if (!record.speedup) record.speedup = turn.min_speedup;
      if (record.speedup && *record.speedup <= 0) record.speedup.reset();
      record.target_paper = evidence_.target(id, index, label, setting.target);
      if (record.target_paper == false) record.target_strict = false;
    }
    record.input_tokens = turn.input_tokens;
    record.output_tokens = turn.output_tokens;
    record.reasoning_tokens = turn.reasoning_tokens;
    record.cost_usd = turn.cost_usd;
    record.seconds = turn.seconds;
    return record;
  }

  void finish() {
    for (std::size_t i = 0; i < data_.cells.size(); ++i)
      data_.cells[i].workload =
          workloads_[i].empty() ? named_workloads_[i] : fmt::format("{}", fmt::join(workloads_[i], "+"));
    data_.notes = evidence_.notes(name());
    if (not_started_ > 0)
      data_.notes.push_back(fmt::format("{}: {} of {} planned trajectories have no file; they are not known", name(),
                                        not_started_, data_.trajectories.size()));
    for (const auto& [status, times] : ended_)
      data_.notes.push_back(
          fmt::format("{}: {} trajectories ended with '{}'; their missing turns are not known", name(), times, status));
    if (label_only_ > 0)
      data_.notes.push_back(
          fmt::format("{}: {} turns are 'Correct' by the paper's rule, which looks for a word in the "
                      "feedback, without traces that all passed",
                      name(), label_only_));
  }

  const fs::path folder_;
  const std::uint32_t first_;
  const KeepTranscript& keep_;
  schema::Observations data_;
  Evidence evidence_;
  std::string model_;
  std::vector<std::vector<std::string>> workloads_;  // of each cell, as its traces name them
  std::vector<std::string> named_workloads_;         // of each cell, as its test's file is named
  int not_started_ = 0, label_only_ = 0;
  std::map<std::string, int> ended_;  // by an exit status that resuming would mend
};

bool is_run_folder(const fs::path& folder) {
  return fs::is_regular_file(folder / "plan.json") && fs::is_directory(folder / "trajectories");
}

}  // namespace

std::vector<fs::path> find_run_folders(const fs::path& folder) {
  if (is_run_folder(folder)) return {folder};
  std::vector<fs::path> found;
  std::error_code ignored;
  for (const fs::directory_entry& entry : fs::directory_iterator(folder, ignored))
    if (is_run_folder(entry.path())) found.push_back(entry.path());
  std::sort(found.begin(), found.end());
  return found;
}

Result<schema::Observations> import_run_folder(const fs::path& folder, std::uint32_t first,
                                               const KeepTranscript& keep) {
  return RunImport(folder, first, keep).run();
}

}  // namespace ptxbench::report
