#include "ptxbench/report/dates.h"

#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <cstdio>

namespace ptxbench::report {
namespace fs = std::filesystem;
namespace {

constexpr char kModels[] = "model_release_dates.csv", kInstructions[] = "ptx_release_dates.csv",
               kLibraries[] = "fa_release_dates.csv";

// The three numbers of either form; a month has at most 31 days here.
Result<std::chrono::year_month_day> numbers_of(const CsvRow& row, std::string_view column) {
  const std::string& text = row.text(column);
  int year = 0, used = 0;
  unsigned month = 0, day = 0;
  const char* shape = text.size() == 9 ? "%4d-%2u%2u%n" : "%4d-%2u-%2u%n";
  const bool shaped = (text.size() == 9 || text.size() == 10) &&
                      std::sscanf(text.c_str(), shape, &year, &month, &day, &used) == 3 &&
                      used == static_cast<int>(text.size());
  if (!shaped || month < 1 || month > 12 || day < 1 || day > 31)
    return fail(
        row.error(fmt::format("{}: found '{}', expected a date as 2026-01-31 or 2026-0131", column, row.text(column))));
  return std::chrono::year(year) / static_cast<int>(month) / static_cast<int>(day);
}

std::string text_of(std::chrono::year_month_day date) {
  return fmt::format("{:04}-{:02}-{:02}", static_cast<int>(date.year()), static_cast<unsigned>(date.month()),
                     static_cast<unsigned>(date.day()));
}

bool exists(const fs::path& folder, const std::string& name) {
  return fs::exists(folder / name) || fs::exists(folder / (name + ".gz"));
}

Status read_models(const fs::path& folder, Dates& dates) {
  PTXBENCH_TRY(const CsvFile file, CsvFile::read(folder, kModels, {"model", "date"}));
  for (std::size_t i = 0; i < file.size(); ++i) {
    const CsvRow row = file.row(i);
    PTXBENCH_TRY(const auto date, numbers_of(row, "date"));
    if (!date.ok())
      return fail(
          row.error(fmt::format("date: found '{}', expected a date as 2026-01-31 or 2026-0131; that month has "
                                "no such day",
                                row.text("date"))));
    const std::string kind = file.has("kind") ? row.text("kind") : "not stated";
    if (file.has("kind") && kind != "knowledge" && kind != "release")
      return fail(row.error(fmt::format("kind: found '{}', expected knowledge or release", kind)));
    if (!dates.models.emplace(row.text("model"), ModelDate{text_of(date), kind}).second)
      return fail(row.error(fmt::format("model '{}' stands twice, expected one line per model", row.text("model"))));
  }
  return {};
}

Status read_references(const fs::path& folder, const std::string& name, const std::string& column, bool library,
                       Dates& dates) {
  std::vector<std::string> columns = {"arch", column};
  if (library) columns.push_back("version");
  PTXBENCH_TRY(const CsvFile file, CsvFile::read(folder, name, columns));
  for (std::size_t i = 0; i < file.size(); ++i) {
    const CsvRow row = file.row(i);
    const std::string& target = row.text("arch");
    const std::string what = library ? row.text("version") : target + " instructions";
    PTXBENCH_TRY(std::chrono::year_month_day date, numbers_of(row, column));
    if (!date.ok()) {
      date = date.year() / date.month() / std::chrono::last;
      dates.notes.push_back(fmt::format("{}: {} is no date; the line of {} is drawn at {}, the last day of that month",
                                        name, row.text(column), what, text_of(date)));
    }
    dates.references.push_back({what, library ? "library" : "instructions", target, text_of(date)});
  }
  return {};
}

}  // namespace

Result<Dates> read_dates(const fs::path& folder) {
  Dates dates;
  const bool models = exists(folder, kModels), instructions = exists(folder, kInstructions),
             libraries = exists(folder, kLibraries);
  if (!models && !instructions && !libraries)
    return fail(ErrorKind::kNotFound,
                fmt::format("'{}' holds none of {}, {} and {}", folder.string(), kModels, kInstructions, kLibraries),
                "name the folder with tables of dates (docs/report.md)");
  if (models) PTXBENCH_TRY_STATUS(read_models(folder, dates));
  if (instructions) PTXBENCH_TRY_STATUS(read_references(folder, kInstructions, "date", false, dates));
  if (libraries) PTXBENCH_TRY_STATUS(read_references(folder, kLibraries, "dates", true, dates));
  return dates;
}

void add_dates(schema::Observations& observations, const Dates& dates) {
  for (schema::Cell& cell : observations.cells) {
    const auto found = dates.models.find(cell.model);
    if (found == dates.models.end() || !cell.model_date.empty()) continue;
    cell.model_date = found->second.date;
    cell.date_kind = found->second.kind;
  }
  for (const schema::ReferenceDate& one : dates.references)
    if (std::find(observations.references.begin(), observations.references.end(), one) == observations.references.end())
      observations.references.push_back(one);
  observations.notes.insert(observations.notes.end(), dates.notes.begin(), dates.notes.end());
}

int day_number(const std::string& date) {
  int year = 0, month = 0, day = 0;
  std::sscanf(date.c_str(), "%d-%d-%d", &year, &month, &day);
  return static_cast<int>(std::chrono::sys_days(std::chrono::year(year) / month / day).time_since_epoch().count());
}

}  // namespace ptxbench::report
