#include "ptxbench/report/import_paper.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <map>
#include <set>

#include "ptxbench/report/csv.h"
#include "ptxbench/report/dates.h"
#include "ptxbench/report/from_run.h"
#include "ptxbench/report/paper_labels.h"

namespace ptxbench::report {
namespace fs = std::filesystem;
namespace {

using schema::TurnStatus;

constexpr int kTurns = 8;

// Tags of the runs with five of them; "" is one that the paper drops.
struct FiveTags {
  std::string_view task_prefix;
  std::array<std::string_view, 5> tags;
};
constexpr FiveTags kFiveTags[] = {
    {"gemm", {"no-hint", "00", "", "", "05"}},
    {"mha_bwd", {"no-hint", "", "", "012", "013"}},
    {"mha_with_lse", {"no-hint", "07", "08", "", ""}},
};

std::string pack_of(const std::string& task, int trajectories, int index) {
  const int block = index / 4;
  for (const FiveTags& five : kFiveTags) {
    if (!task.starts_with(five.task_prefix)) continue;
    std::string_view tag;
    if (trajectories == 20) tag = five.tags[static_cast<std::size_t>(block)];
    if (trajectories == 12) {
      // The three tags that are kept, in the same order.
      int kept = 0;
      for (const std::string_view one : five.tags)
        if (!one.empty() && kept++ == block) tag = one;
    }
    if (!tag.empty()) return std::string(tag);
    if (trajectories == 20) return fmt::format("dropped-{}", block + 1);
  }
  return fmt::format("block-{}", block + 1);
}

class TablesImport {
 public:
  explicit TablesImport(const fs::path& folder) : folder_(folder) {}
  Result<schema::Observations> run();

 private:
  Status read_cells();
  Status read_correctness();
  Status read_target();
  Status read_speedups();
  Status read_turns();
  Result<schema::TurnRecord> turn_of(const CsvRow& row) const;
  Result<std::uint32_t> cell_of(const CsvRow& row) const;
  Result<schema::PublishedCell*> published_of(const CsvRow& row);

  const fs::path folder_;
  schema::Observations data_;
  std::map<std::string, std::uint32_t> cells_;  // exp_dir
  std::map<std::uint32_t, std::uint32_t> first_trajectory_;
  std::map<std::uint32_t, int> trajectories_;  // of a cell
};

Status TablesImport::read_cells() {
  PTXBENCH_TRY(const CsvFile file,
               CsvFile::read(folder_, "experiments.csv", {"model", "arch", "definition", "workload", "exp_dir"}));
  for (std::size_t i = 0; i < file.size(); ++i) {
    const CsvRow row = file.row(i);
    const std::string& run = row.text("exp_dir");
    if (!cells_.emplace(run, data_.cells.size()).second)
      return fail(row.error(fmt::format("exp_dir '{}' stands twice, expected one line per run", run)));
    data_.cells.push_back({run, row.text("model"), row.text("arch"), row.text("definition"), row.text("workload"),
                           "cuda", "", "", false});
  }
  return {};
}

Result<std::uint32_t> TablesImport::cell_of(const CsvRow& row) const {
  const auto found = cells_.find(row.text("exp_dir"));
  if (found == cells_.end())
    return fail(row.error(fmt::format("exp_dir '{}' is not in experiments.csv", row.text("exp_dir"))));
  const schema::Cell& cell = data_.cells[found->second];
  if (row.text("model") != cell.model || row.text("definition") != cell.task)
    return fail(row.error(fmt::format("'{}' on {} does not belong to run '{}', which is '{}' on {}", row.text("model"),
                                      row.text("definition"), cell.run, cell.model, cell.task)));
  return found->second;
}

const std::vector<std::string> kCellColumns = {"model", "definition", "exp_dir", "turn_limit", "n_trajectories"};
std::vector<std::string> with(std::vector<std::string> more) {
  more.insert(more.end(), kCellColumns.begin(), kCellColumns.end());
  return more;
}

Status TablesImport::read_correctness() {
  PTXBENCH_TRY(const CsvFile file, CsvFile::read(folder_, "correctness_rate_by_release_date.csv", with({"correct"})));
  std::set<std::pair<std::uint32_t, std::int64_t>> seen;
  for (std::size_t i = 0; i < file.size(); ++i) {
    const CsvRow row = file.row(i);
    PTXBENCH_TRY(const std::uint32_t cell, cell_of(row));
    PTXBENCH_TRY(const std::int64_t turns, row.integer("turn_limit", 1, kTurns));
    PTXBENCH_TRY(const std::int64_t n, row.integer("n_trajectories", 1, 1000));
    PTXBENCH_TRY(const std::int64_t correct, row.integer("correct", 0, n));
    if (!seen.emplace(cell, turns).second)
      return fail(row.error(fmt::format("run '{}' with turn_limit {} stands twice", data_.cells[cell].run, turns)));
    const auto [known, is_new] = trajectories_.emplace(cell, static_cast<int>(n));
    if (!is_new && known->second != n)
      return fail(row.error(
          fmt::format("n_trajectories: found {}, expected {} as in the run's other lines", n, known->second)));
    data_.published.push_back(
        {cell, static_cast<int>(turns), static_cast<int>(n), static_cast<int>(correct), {}, {}, {}});
  }
  for (std::uint32_t cell = 0; cell < data_.cells.size(); ++cell) {
    const auto n = trajectories_.find(cell);
    if (n == trajectories_.end())
      return fail(ErrorKind::kInvalidInput,
                  fmt::format("{}: run '{}' has no line", file.file_name(), data_.cells[cell].run));
    first_trajectory_[cell] = static_cast<std::uint32_t>(data_.trajectories.size());
    for (int t = 0; t < n->second; ++t)
      data_.trajectories.push_back(
          {fmt::format("exp_{:03}", t), cell, pack_of(data_.cells[cell].task, n->second, t), kTurns, false});
  }
  return {};
}

Result<schema::PublishedCell*> TablesImport::published_of(const CsvRow& row) {
  PTXBENCH_TRY(const std::uint32_t cell, cell_of(row));
  PTXBENCH_TRY(const std::int64_t turns, row.integer("turn_limit", 1, kTurns));
  for (schema::PublishedCell& one : data_.published)
    if (one.cell == cell && one.turns == turns) return &one;
  return fail(row.error(fmt::format("run '{}' with turn_limit {} is not in correctness_rate_by_release_date.csv",
                                    data_.cells[cell].run, turns)));
}

Status TablesImport::read_target() {
  PTXBENCH_TRY(const CsvFile file, CsvFile::read(folder_, "arch_instruction_correctness_by_release_date.csv",
                                                 with({"correct_with_arch", "n_unknown_correct_turns"})));
  for (std::size_t i = 0; i < file.size(); ++i) {
    const CsvRow row = file.row(i);
    PTXBENCH_TRY(schema::PublishedCell* const published, published_of(row));
    PTXBENCH_TRY(const std::int64_t target, row.integer("correct_with_arch", 0, published->trajectories));
    PTXBENCH_TRY(const std::int64_t unknown, row.integer("n_unknown_correct_turns", 0, 1'000'000));
    published->target_correct = static_cast<int>(target);
    published->unknown_correct_turns = static_cast<int>(unknown);
  }
  return {};
}

Status TablesImport::read_speedups() {
  PTXBENCH_TRY(const CsvFile file, CsvFile::read(folder_, "best_speedup_by_release_date.csv", with({"best_speedup"})));
  for (std::size_t i = 0; i < file.size(); ++i) {
    PTXBENCH_TRY(schema::PublishedCell* const published, published_of(file.row(i)));
    PTXBENCH_TRY(published->best_speedup, file.row(i).number("best_speedup"));
  }
  return {};
}

// The record of one line, its trajectory still counted within the run.
Result<schema::TurnRecord> TablesImport::turn_of(const CsvRow& row) const {
  schema::TurnRecord turn;
  const std::string& id = row.text("trajectory_id");
  int index = -1, used = 0;
  if (std::sscanf(id.c_str(), "exp_%d%n", &index, &used) != 1 || used != static_cast<int>(id.size()) || index < 0)
    return fail(row.error(fmt::format("trajectory_id: found '{}', expected exp_000, exp_001, ...", id)));
  turn.trajectory = static_cast<std::uint32_t>(index);
  PTXBENCH_TRY(const std::int64_t number, row.integer("turn", 0, kTurns - 1));
  turn.turn = static_cast<int>(number) + 1;
  const std::string& label = row.text("correctness");
  const std::optional<TurnStatus> status = status_of_paper_label(label);
  if (!status)
    return fail(
        row.error(fmt::format("correctness: found '{}', expected one of the nine labels such as 'Correct'", label)));
  turn.status = *status;
  PTXBENCH_TRY(turn.reasoning_tokens, row.integer("reasoning_tokens", 0, std::int64_t{1} << 40));
  PTXBENCH_TRY(const double speedup, row.number("speedup"));
  PTXBENCH_TRY(const std::int64_t tagged, row.integer("correct_with_arch", 0, 1));
  const bool correct = turn.status == TurnStatus::kPassed;
  if (!correct && (speedup != 0 || tagged != 0))
    return fail(row.error(fmt::format("a turn labelled '{}' has speedup {} and correct_with_arch {}; expected 0 and 0",
                                      label, speedup, tagged)));
  set_correct(turn, label);
  if (correct) {
    if (speedup > 0) turn.speedup = speedup;
    turn.target_paper = tagged == 1;
  }
  return turn;
}

Status TablesImport::read_turns() {
  PTXBENCH_TRY(const CsvFile file, CsvFile::read(folder_, "reasoning_tokens_vs_performance.csv",
                                                 {"model", "definition", "exp_dir", "trajectory_id", "turn",
                                                  "reasoning_tokens", "correctness", "speedup", "correct_with_arch"}));
  std::map<std::pair<std::uint32_t, int>, schema::TurnRecord> ordered;
  for (std::size_t i = 0; i < file.size(); ++i) {
    const CsvRow row = file.row(i);
    PTXBENCH_TRY(const std::uint32_t cell, cell_of(row));
    PTXBENCH_TRY(schema::TurnRecord turn, turn_of(row));
    if (turn.trajectory >= static_cast<std::uint32_t>(trajectories_.at(cell)))
      return fail(row.error(fmt::format("trajectory_id '{}', but run '{}' has {} trajectories",
                                        row.text("trajectory_id"), data_.cells[cell].run, trajectories_.at(cell))));
    turn.trajectory += first_trajectory_.at(cell);
    if (!ordered.emplace(std::pair(turn.trajectory, turn.turn), turn).second)
      return fail(row.error(fmt::format("turn {} of '{}' in run '{}' stands twice", turn.turn - 1,
                                        row.text("trajectory_id"), data_.cells[cell].run)));
  }
  for (const auto& [place, turn] : ordered) data_.turns.push_back(turn);
  return {};
}

Result<schema::Observations> TablesImport::run() {
  PTXBENCH_TRY_STATUS(read_cells());
  PTXBENCH_TRY_STATUS(read_correctness());
  PTXBENCH_TRY_STATUS(read_target());
  PTXBENCH_TRY_STATUS(read_speedups());
  PTXBENCH_TRY_STATUS(read_turns());
  data_.source = "public result tables of the PTXBench paper (arXiv 2608.17379)";
  data_.notes = {
      "Correctness is the paper's rule; whether correct turns hold under the strict rules is not known.",
      "Target instructions of single turns are tags found in the PTX text, not executed instructions.",
      "Rates by executed SASS were published per run, by trajectory; see the table 'published'.",
      "A label 'Other error' does not say whether the kernel was refused or wrong.",
  };
  return std::move(data_);
}

// Turns of the same place in both with another status or speed-up, or in one only.
std::int64_t disagreements(const schema::Observations& a, const std::set<std::uint32_t>& cells_a,
                           const schema::Observations& b, const std::set<std::uint32_t>& cells_b) {
  using Place = std::pair<std::string, int>;
  const auto collect = [](const schema::Observations& data, const std::set<std::uint32_t>& cells) {
    std::map<Place, const schema::TurnRecord*> turns;
    for (const schema::TurnRecord& turn : data.turns)
      if (const schema::TrajectoryInfo& info = data.trajectories[turn.trajectory]; cells.contains(info.cell))
        turns[{info.id, turn.turn}] = &turn;
    return turns;
  };
  const auto in_a = collect(a, cells_a), in_b = collect(b, cells_b);
  std::int64_t differ = 0, common = 0;
  for (const auto& [place, turn] : in_a) {
    const auto other = in_b.find(place);
    if (other == in_b.end()) continue;
    ++common;
    const double speedup = turn->speedup.value_or(0), other_speedup = other->second->speedup.value_or(0);
    if (turn->correct_paper != other->second->correct_paper || std::abs(speedup - other_speedup) > 1e-9) ++differ;
  }
  return differ + static_cast<std::int64_t>(in_a.size() + in_b.size()) - 2 * common;
}

// `tables` with the runs that have a folder taken from it. The trajectories of folders come first, as their transcripts
// are numbered.
Result<schema::Observations> merge(schema::Observations tables, schema::Observations folders) {
  std::map<std::string, std::uint32_t> published;
  for (std::uint32_t cell = 0; cell < tables.cells.size(); ++cell) published[tables.cells[cell].run] = cell;
  std::set<std::uint32_t> replaced;
  std::vector<std::uint32_t> cell_of(folders.cells.size());
  schema::Observations all;
  all.cells = tables.cells;
  for (std::uint32_t i = 0; i < folders.cells.size(); ++i) {
    const schema::Cell& cell = folders.cells[i];
    const auto known = published.find(cell.run);
    if (known == published.end()) {
      cell_of[i] = static_cast<std::uint32_t>(all.cells.size());
      all.cells.push_back(cell);
      continue;
    }
    const schema::Cell& expected = tables.cells[known->second];
    if (cell.task != expected.task || cell.target != expected.target)
      return fail(ErrorKind::kInvalidInput,
                  fmt::format("run folder '{}': found {} on {}, expected {} on {} as in experiments.csv", cell.run,
                              cell.task, cell.target, expected.task, expected.target),
                  "rename the folder if it is another run");
    cell_of[i] = known->second;
    if (replaced.insert(known->second).second)
      folders.notes.push_back(fmt::format("{}: taken from its folder; {} turns are not as in the tables", cell.run,
                                          disagreements(tables, {known->second}, folders, {i})));
  }
  all.source = tables.source + "; " + folders.source;
  all.notes = tables.notes;
  all.notes.insert(all.notes.end(), folders.notes.begin(), folders.notes.end());
  all.published = tables.published;
  all.trajectories = std::move(folders.trajectories);
  for (schema::TrajectoryInfo& info : all.trajectories) info.cell = cell_of[info.cell];
  all.turns = std::move(folders.turns);
  std::vector<std::uint32_t> number(tables.trajectories.size());
  for (std::uint32_t t = 0; t < tables.trajectories.size(); ++t) {
    number[t] = static_cast<std::uint32_t>(all.trajectories.size());
    if (!replaced.contains(tables.trajectories[t].cell)) all.trajectories.push_back(tables.trajectories[t]);
  }
  for (schema::TurnRecord turn : tables.turns) {
    if (replaced.contains(tables.trajectories[turn.trajectory].cell)) continue;
    turn.trajectory = number[turn.trajectory];
    all.turns.push_back(turn);
  }
  return all;
}

struct Sources {
  std::optional<fs::path> tables;
  std::vector<fs::path> runs;
};

bool holds(const fs::path& folder, const std::string& name) {
  return fs::exists(folder / name) || fs::exists(folder / (name + ".gz"));
}

Result<Sources> find_sources(const std::vector<fs::path>& folders) {
  Sources sources;
  for (const fs::path& folder : folders) {
    if (!fs::is_directory(folder))
      return fail(ErrorKind::kNotFound, fmt::format("'{}' is no folder", folder.string()),
                  "name the folder with the published CSV files, or run folders");
    const bool tables = holds(folder, "experiments.csv") || holds(folder, "reasoning_tokens_vs_performance.csv");
    const std::vector<fs::path> runs = find_run_folders(folder);
    if (!tables && runs.empty())
      return fail(ErrorKind::kNotFound,
                  fmt::format("'{}' holds neither experiments.csv, nor plan.json beside trajectories/, nor folders "
                              "with these",
                              folder.string()),
                  "name the folder with the published CSV files, a run folder, or a folder of run folders");
    if (tables && sources.tables)
      return fail(ErrorKind::kInvalidInput,
                  fmt::format("'{}' and '{}' both hold experiments.csv, expected one such folder",
                              sources.tables->string(), folder.string()),
                  "import them one by one, and name both results to `ptxbench report`");
    if (tables) sources.tables = folder;
    for (const fs::path& run : runs) {
      if (std::any_of(sources.runs.begin(), sources.runs.end(),
                      [&](const auto& other) { return fs::equivalent(run, other); }))
        return fail(ErrorKind::kInvalidInput, fmt::format("run folder '{}' is named twice", run.string()),
                    "name every folder once");
      sources.runs.push_back(run);
    }
  }
  return sources;
}

}  // namespace

Result<schema::Observations> import_paper(const std::vector<fs::path>& folders, const KeepTranscript& keep) {
  PTXBENCH_TRY(const Sources sources, find_sources(folders));
  std::vector<schema::Observations> parts;
  std::uint32_t trajectories = 0;
  for (const fs::path& run : sources.runs) {
    PTXBENCH_TRY(parts.emplace_back(), import_run_folder(run, trajectories, keep));
    trajectories += static_cast<std::uint32_t>(parts.back().trajectories.size());
  }
  if (!sources.tables) return join(std::move(parts));
  PTXBENCH_TRY(schema::Observations data, TablesImport(*sources.tables).run());
  if (!parts.empty()) {
    PTXBENCH_TRY(data, merge(std::move(data), join(std::move(parts))));
  }
  PTXBENCH_TRY(const Dates dates, read_dates(*sources.tables));
  add_dates(data, dates);
  return data;
}

}  // namespace ptxbench::report
