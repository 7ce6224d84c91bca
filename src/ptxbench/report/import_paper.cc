#include "ptxbench/report/import_paper.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <map>
#include <set>

#include "ptxbench/report/csv.h"

namespace ptxbench::report {
namespace fs = std::filesystem;
namespace {

using schema::TurnStatus;

constexpr int kTurns = 8;

constexpr std::pair<std::string_view, TurnStatus> kLabels[] = {
    {"Correct", TurnStatus::kPassed},
    {"Compilation error", TurnStatus::kCompileError},
    {"Runtime error", TurnStatus::kRuntimeError},
    {"Numerical error", TurnStatus::kIncorrectNumerical},
    {"Kernel Execution Timeout", TurnStatus::kTimeout},
    {"Extraction error", TurnStatus::kNoKernel},
    // The service that sanitizes and profiles did not answer in time: no statement about the kernel.
    {"Sanitize Timeout", TurnStatus::kInfraError},
    {"Profiling Service Timeout", TurnStatus::kInfraError},
    {"Other error", TurnStatus::kOther},
};

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

// "2026-01-31", or the tables' short form "2026-0131".
Result<std::string> date_of(const CsvRow& row, std::string_view column) {
  std::string text = row.text(column);
  if (text.size() == 9 && text[4] == '-') text.insert(7, "-");
  int year = 0, month = 0, day = 0, used = 0;
  const bool shaped = std::sscanf(text.c_str(), "%4d-%2d-%2d%n", &year, &month, &day, &used) == 3 &&
                      used == static_cast<int>(text.size()) && text.size() == 10;
  constexpr int kDays[] = {31, 28, 31, 30, 31, 30, 31, 31, 30, 31, 30, 31};
  const bool leap = (year % 4 == 0 && year % 100 != 0) || year % 400 == 0;
  const bool real = shaped && month >= 1 && month <= 12 && day >= 1 && day <= kDays[month - 1] + (month == 2 && leap);
  if (!real)
    return fail(
        row.error(fmt::format("{}: found '{}', expected a date as 2026-01-31 or 2026-0131", column, row.text(column))));
  return text;
}

class PaperImport {
 public:
  explicit PaperImport(const fs::path& folder) : folder_(folder) {}
  Result<schema::Observations> run();

 private:
  Status read_dates();
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
  std::map<std::string, std::string> dates_;    // model
  std::map<std::string, std::uint32_t> cells_;  // exp_dir
  std::map<std::uint32_t, std::uint32_t> first_trajectory_;
  std::map<std::uint32_t, int> trajectories_;  // of a cell
};

Status PaperImport::read_dates() {
  PTXBENCH_TRY(const CsvFile file, CsvFile::read(folder_, "model_release_dates.csv", {"model", "date"}));
  for (std::size_t i = 0; i < file.size(); ++i) {
    PTXBENCH_TRY(dates_[file.row(i).text("model")], date_of(file.row(i), "date"));
  }
  return {};
}

Status PaperImport::read_cells() {
  PTXBENCH_TRY(const CsvFile file,
               CsvFile::read(folder_, "experiments.csv", {"model", "arch", "definition", "workload", "exp_dir"}));
  for (std::size_t i = 0; i < file.size(); ++i) {
    const CsvRow row = file.row(i);
    const std::string& run = row.text("exp_dir");
    if (!cells_.emplace(run, data_.cells.size()).second)
      return fail(row.error(fmt::format("exp_dir '{}' stands twice, expected one line per run", run)));
    const auto date = dates_.find(row.text("model"));
    data_.cells.push_back({run, row.text("model"), row.text("arch"), row.text("definition"), row.text("workload"),
                           "cuda", date == dates_.end() ? "" : date->second, false});
  }
  return {};
}

Result<std::uint32_t> PaperImport::cell_of(const CsvRow& row) const {
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

Status PaperImport::read_correctness() {
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
          {fmt::format("exp_{:03}", t), cell, pack_of(data_.cells[cell].task, n->second, t), kTurns});
  }
  return {};
}

Result<schema::PublishedCell*> PaperImport::published_of(const CsvRow& row) {
  PTXBENCH_TRY(const std::uint32_t cell, cell_of(row));
  PTXBENCH_TRY(const std::int64_t turns, row.integer("turn_limit", 1, kTurns));
  for (schema::PublishedCell& one : data_.published)
    if (one.cell == cell && one.turns == turns) return &one;
  return fail(row.error(fmt::format("run '{}' with turn_limit {} is not in correctness_rate_by_release_date.csv",
                                    data_.cells[cell].run, turns)));
}

Status PaperImport::read_target() {
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

Status PaperImport::read_speedups() {
  PTXBENCH_TRY(const CsvFile file, CsvFile::read(folder_, "best_speedup_by_release_date.csv", with({"best_speedup"})));
  for (std::size_t i = 0; i < file.size(); ++i) {
    PTXBENCH_TRY(schema::PublishedCell* const published, published_of(file.row(i)));
    PTXBENCH_TRY(published->best_speedup, file.row(i).number("best_speedup"));
  }
  return {};
}

// The record of one line, its trajectory still counted within the run.
Result<schema::TurnRecord> PaperImport::turn_of(const CsvRow& row) const {
  schema::TurnRecord turn;
  const std::string& id = row.text("trajectory_id");
  int index = -1, used = 0;
  if (std::sscanf(id.c_str(), "exp_%d%n", &index, &used) != 1 || used != static_cast<int>(id.size()) || index < 0)
    return fail(row.error(fmt::format("trajectory_id: found '{}', expected exp_000, exp_001, ...", id)));
  turn.trajectory = static_cast<std::uint32_t>(index);
  PTXBENCH_TRY(const std::int64_t number, row.integer("turn", 0, kTurns - 1));
  turn.turn = static_cast<int>(number) + 1;
  const std::string& label = row.text("correctness");
  const auto* known =
      std::find_if(std::begin(kLabels), std::end(kLabels), [&](const auto& l) { return l.first == label; });
  if (known == std::end(kLabels))
    return fail(
        row.error(fmt::format("correctness: found '{}', expected one of the nine labels such as 'Correct'", label)));
  turn.status = known->second;
  PTXBENCH_TRY(turn.reasoning_tokens, row.integer("reasoning_tokens", 0, std::int64_t{1} << 40));
  PTXBENCH_TRY(const double speedup, row.number("speedup"));
  PTXBENCH_TRY(const std::int64_t tagged, row.integer("correct_with_arch", 0, 1));
  const bool correct = turn.status == TurnStatus::kPassed;
  if (!correct && (speedup != 0 || tagged != 0))
    return fail(row.error(fmt::format("a turn labelled '{}' has speedup {} and correct_with_arch {}; expected 0 and 0",
                                      label, speedup, tagged)));
  turn.correct_paper = correct;
  if (correct) {
    if (speedup > 0) turn.speedup = speedup;
    turn.target_paper = tagged == 1;
  } else {
    turn.correct_strict = false;  // fails under the looser rule already
  }
  return turn;
}

Status PaperImport::read_turns() {
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

Result<schema::Observations> PaperImport::run() {
  PTXBENCH_TRY_STATUS(read_dates());
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

}  // namespace

Result<schema::Observations> import_paper(const fs::path& folder) { return PaperImport(folder).run(); }

}  // namespace ptxbench::report
