// ptxbench report: run folders in numbers.
#include <fmt/format.h>

#include <numeric>

#include "ptxbench/base/file.h"
#include "ptxbench/cli/command.h"
#include "ptxbench/report/comparison.h"
#include "ptxbench/report/dates.h"
#include "ptxbench/report/from_run.h"
#include "ptxbench/report/page.h"
#include "ptxbench/report/studies.h"
#include "ptxbench/report/tables.h"

namespace ptxbench::cli {
namespace {

namespace fs = std::filesystem;
using report::Attribute;

struct ReportOptions {
  std::vector<std::string> folders, by, where, compare, show;
  std::vector<int> ks{1, 4, 8};
  std::string rules = "paper", study, dates, csv, json, html;
  bool target = false;
};

std::vector<std::string> split(const std::string& text, char at) {
  std::vector<std::string> parts;
  std::size_t begin = 0;
  for (std::size_t end = 0; (end = text.find(at, begin)) != std::string::npos; begin = end + 1)
    parts.push_back(text.substr(begin, end - begin));
  parts.push_back(text.substr(begin));
  return parts;
}

Result<Attribute> attribute(const std::string& name, const std::string& option) {
  const auto found = report::attribute_from(name);
  if (!found)
    return fail(ErrorKind::kInvalidInput, fmt::format("{}: '{}' is no attribute", option, name),
                "one of " + report::attribute_names());
  return *found;
}

// "model=A" into its two sides.
Result<std::pair<Attribute, std::string>> assignment(const std::string& text, const std::string& option) {
  const std::size_t equals = text.find('=');
  if (equals == std::string::npos)
    return fail(ErrorKind::kInvalidInput, fmt::format("{}: found '{}', expected ATTRIBUTE=VALUE", option, text));
  PTXBENCH_TRY(const Attribute name, attribute(text.substr(0, equals), option));
  return std::pair(name, text.substr(equals + 1));
}

const report::Study* study_of(const ReportOptions& options) {
  for (const report::Study& study : report::studies())
    if (study.name == options.study) return &study;
  return nullptr;
}

Result<report::MetricsRequest> request_of(const ReportOptions& options, const schema::Observations& data) {
  report::MetricsRequest request;
  request.rules = *schema::rule_set_from(options.rules);
  for (const int k : options.ks) request.max_turns = std::max(request.max_turns, k);
  if (const report::Study* study = study_of(options)) {
    request.by = study->by;
    if (study->only != nullptr) request.where = study->only(data);
  }
  if (!options.by.empty()) request.by.clear();
  for (const std::string& name : options.by) {
    PTXBENCH_TRY(const Attribute one, attribute(name, "--by"));
    request.by.push_back(one);
  }
  for (const std::string& text : options.where) {
    PTXBENCH_TRY(const auto condition, assignment(text, "--where"));
    request.where.push_back({condition.first, split(condition.second, ',')});
  }
  return request;
}

Result<report::Pair> pair_of(const std::string& text) {
  PTXBENCH_TRY(const auto sides, assignment(text, "--compare"));
  const std::vector<std::string> values = split(sides.second, ':');
  if (values.size() != 2)
    return fail(ErrorKind::kInvalidInput, fmt::format("--compare: found '{}', expected ATTRIBUTE=A:B", text));
  return report::Pair{sides.first, values[0], values[1]};
}

Status write_csv(const std::vector<schema::Table>& tables, const fs::path& folder) {
  std::error_code error;
  fs::create_directories(folder, error);
  if (error)
    return fail(ErrorKind::kUnavailable, fmt::format("cannot create '{}': {}", folder.string(), error.message()));
  for (const schema::Table& table : tables)
    PTXBENCH_TRY_STATUS(write_file_atomic(folder / (table.name + ".csv"), schema::to_csv(table)));
  return {};
}

// What is asked for, and what the study compares of what is left by --where.
Result<std::vector<report::Comparison>> comparisons_of(const ReportOptions& options, const schema::Observations& data,
                                                       const report::MetricsRequest& request) {
  std::vector<report::Comparison> comparisons;
  for (const std::string& text : options.compare) {
    PTXBENCH_TRY(const report::Pair pair, pair_of(text));
    PTXBENCH_TRY(report::Comparison one, report::compare(data, request, pair, request.max_turns, options.target));
    comparisons.push_back(std::move(one));
  }
  const report::Study* study = study_of(options);
  if (study == nullptr || study->pairs == nullptr || !options.compare.empty()) return comparisons;
  // A pair that shares nothing is no fault here: nobody named it.
  for (const report::Pair& pair : study->pairs(data)) {
    auto one = report::compare(data, request, pair, request.max_turns, options.target);
    if (one) comparisons.push_back(std::move(*one));
  }
  return comparisons;
}

// The table without columns that hold nothing in any row: what a terminal has room for.
schema::Table without_empty_columns(const schema::Table& table) {
  schema::Table left{table.name, table.title, {}, {}};
  left.rows.resize(table.rows.size());
  for (std::size_t c = 0; c < table.columns.size(); ++c) {
    const auto empty = [c](const auto& row) {
      return row[c] == schema::TableValue() || row[c] == schema::TableValue(std::int64_t{0});
    };
    if (std::all_of(table.rows.begin(), table.rows.end(), empty)) continue;
    left.columns.push_back(table.columns[c]);
    for (std::size_t r = 0; r < table.rows.size(); ++r) left.rows[r].push_back(table.rows[r][c]);
  }
  return left;
}

// The tables that --show names, in its order.
Result<std::string> shown(const std::vector<schema::Table>& tables, const std::vector<std::string>& names) {
  std::string text, there;
  for (const schema::Table& table : tables) there += fmt::format("{}{}", there.empty() ? "" : ", ", table.name);
  for (const std::string& name : names) {
    const auto found =
        std::find_if(tables.begin(), tables.end(), [&](const schema::Table& table) { return table.name == name; });
    if (found == tables.end())
      return fail(ErrorKind::kInvalidInput, fmt::format("--show: there is no table '{}' here", name),
                  "one of " + there);
    text += report::render(without_empty_columns(*found)) + "\n";
  }
  return text;
}

void print(const schema::Observations& data, const std::vector<report::Group>& groups,
           const report::MetricsRequest& request, const ReportOptions& options,
           const std::vector<report::Comparison>& comparisons, const schema::Table& published,
           const schema::Table& time, const std::string& more) {
  fmt::print("{}\n{} trajectories, {} turns\n\n", data.source, data.trajectories.size(), data.turns.size());
  fmt::print("{}\n", report::render(report::summary_table(groups, request, options.ks)));
  if (!time.rows.empty()) fmt::print("{}\n", report::render(time));
  fmt::print("{}", more);
  const report::Study* study = study_of(options);
  if (study != nullptr && study->pairs != nullptr && comparisons.empty())
    fmt::print("nothing to compare: no two sides of this study ({}) ran the same tasks\n\n", study->what);
  const std::vector<double> adjusted = report::holm(comparisons);
  for (std::size_t i = 0; i < comparisons.size(); ++i) {
    fmt::print("{}", report::render(comparisons[i]));
    if (comparisons.size() > 1)
      fmt::print("  corrected for {} comparisons (Holm): p = {:.3g}\n", comparisons.size(), adjusted[i]);
    fmt::print("\n");
  }
  if (!published.rows.empty()) {
    std::size_t agree = 0;
    for (const auto& row : published.rows) agree += std::get<std::string>(row.back()) == "yes";
    fmt::print("published cells: {} of {} agree with the single turns", agree, published.rows.size());
    for (const auto& row : published.rows) {
      const std::string& differs = std::get<std::string>(row.back());
      if (differs == "yes") continue;
      fmt::print("\n  {} within {}: {} differs", std::get<std::string>(row[0]), std::get<std::int64_t>(row[1]),
                 differs);
      if (differs == "target")
        fmt::print(", {} published by executed SASS, {} by the turns' own evidence", std::get<std::int64_t>(row[4]),
                   std::get<std::int64_t>(row[5]));
    }
    fmt::print("\n");
  }
  for (const std::string& note : data.notes) fmt::print("note: {}\n", note);
  const bool recording = std::any_of(groups.begin(), groups.end(), [](const auto& group) { return group.recording; });
  if (recording) fmt::print("note: some answers come from a recording and say nothing about a model\n");
}

Status report_run(const ReportOptions& options) {
  PTXBENCH_TRY(report::Loaded loaded, report::load(options.folders));
  if (!options.dates.empty()) {
    PTXBENCH_TRY(const report::Dates dates, report::read_dates(options.dates));
    report::add_dates(loaded.observations, dates);
  }
  const schema::Observations& data = loaded.observations;
  PTXBENCH_TRY(const report::MetricsRequest request, request_of(options, data));
  std::vector<report::Group> groups = report::measure(data, request);
  if (groups.empty())
    return fail(ErrorKind::kInvalidInput, "no trajectory is left", "check --where; `--by` lists the values there are");
  schema::Table time;
  if (options.study == "time") {
    report::sort_by_date(groups, data);
    if (options.by.empty()) time = report::time_table(data, groups, request);
  }
  PTXBENCH_TRY(const std::vector<report::Comparison> comparisons, comparisons_of(options, data, request));
  const schema::Table published = report::published_table(data);
  // Files hold every k; the terminal those that were asked for.
  std::vector<int> every_k(static_cast<std::size_t>(request.max_turns));
  std::iota(every_k.begin(), every_k.end(), 1);
  std::vector<schema::Table> tables = {report::rates_table(groups, request, every_k),
                                       report::pass_table(groups, request), report::status_table(groups, request),
                                       report::cost_table(groups, request)};
  if (!published.rows.empty()) tables.push_back(published);
  if (!time.rows.empty()) tables.push_back(time);
  if (!comparisons.empty()) tables.push_back(report::comparison_table(comparisons));
  PTXBENCH_TRY(const std::string more, shown(tables, options.show));
  if (!options.html.empty()) PTXBENCH_TRY_STATUS(report::write_page(loaded, options.html));
  if (!options.csv.empty()) PTXBENCH_TRY_STATUS(write_csv(tables, options.csv));
  if (!options.json.empty() && options.json != "-")
    PTXBENCH_TRY_STATUS(write_file_atomic(options.json, schema::to_json(tables)));
  if (options.json == "-")
    fmt::print("{}", schema::to_json(tables));
  else
    print(data, groups, request, options, comparisons, published, time, more);
  return {};
}

std::string study_list() {
  std::string text = "A ready question:";
  for (const report::Study& study : report::studies()) text += fmt::format(" {} ({}),", study.name, study.what);
  text.back() = '.';
  return text;
}

}  // namespace

void add_report(CLI::App& app, int& exit_code) {
  CLI::App* command = add_command(app, "report", "Rates, speed-ups and costs of runs, with intervals and comparisons",
                                  "ptxbench report my-run --by model,task --csv tables");
  auto options = std::make_shared<ReportOptions>();
  command->add_option("RUN", options->folders, "Folders made by `ptxbench run` or `ptxbench import-paper`")->required();
  command->add_option("--by", options->by, "Group by: " + report::attribute_names())->delimiter(',');
  std::vector<std::string> names;
  for (const report::Study& study : report::studies()) names.emplace_back(study.name);
  command->add_option("--study", options->study, study_list())->check(CLI::IsMember(names));
  command->add_option("--where", options->where, "Only some: ATTRIBUTE=VALUE[,VALUE...]; may be repeated");
  command->add_option("--k", options->ks, "Within the first k turns; files hold every k up to the largest")
      ->delimiter(',')
      ->check(CLI::Range(1, 64))
      ->capture_default_str();
  command->add_option("--rules", options->rules, "Whose verdict on correctness counts")
      ->check(CLI::IsMember({"strict", "paper"}))
      ->capture_default_str();
  command->add_option("--compare", options->compare, "Test a difference: ATTRIBUTE=A:B; may be repeated");
  command->add_flag("--target", options->target,
                    "Compare successes by the target's instructions, not all correct ones");
  command->add_option("--dates", options->dates,
                      "Folder with dates of models, instruction sets and libraries (docs/report.md), for run folders "
                      "that have none");
  command->add_option("--show", options->show, "Print these tables too: rates, pass_at, statuses, costs, ...")
      ->delimiter(',');
  command->add_option("--csv", options->csv, "Write every table into this folder");
  command->add_option("--html", options->html,
                      "Write a page with tables, plots and, for run folders, every kernel; works without a network");
  command->add_option("--json", options->json, "Write every table to this file; - prints it instead of the summary");
  command->callback([&exit_code, options] {
    const Status done = report_run(*options);
    exit_code = done ? kExitPassed : report(done.error());
  });
}

}  // namespace ptxbench::cli
