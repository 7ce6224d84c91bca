// ptxbench report: run folders in numbers. ptxbench import-paper: the paper's public tables as such a folder.
#include <fmt/format.h>

#include <chrono>

#include "ptxbench/base/file.h"
#include "ptxbench/cli/command.h"
#include "ptxbench/report/comparison.h"
#include "ptxbench/report/from_run.h"
#include "ptxbench/report/import_paper.h"
#include "ptxbench/report/page.h"
#include "ptxbench/report/tables.h"

namespace ptxbench::cli {
namespace {

namespace fs = std::filesystem;
using report::Attribute;

struct ReportOptions {
  std::vector<std::string> folders, by, where, compare;
  std::vector<int> ks{1, 4, 8};
  std::string rules = "paper", study, csv, json, html;
  bool target = false;
};

// A study is a grouping with a name.
struct Study {
  std::string_view name, what;
  std::vector<Attribute> by;
};
const std::vector<Study>& studies() {
  static const std::vector<Study> all = {
      {"models", "models on each target and task", {Attribute::kTarget, Attribute::kTask, Attribute::kModel}},
      {"ablation", "knowledge packs", {Attribute::kModel, Attribute::kTask, Attribute::kPack}},
      {"languages", "languages", {Attribute::kModel, Attribute::kTarget, Attribute::kLanguage}},
      {"generalisation",
       "head dimensions and other shapes",
       {Attribute::kModel, Attribute::kTask, Attribute::kWorkload}},
      {"training", "a model before and after training", {Attribute::kTask, Attribute::kModel}},
      {"time", "models by knowledge date", {Attribute::kTarget, Attribute::kModel}},
  };
  return all;
}

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
                "one of run, model, target, task, workload, pack, language");
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

Result<report::MetricsRequest> request_of(const ReportOptions& options) {
  report::MetricsRequest request;
  request.rules = *schema::rule_set_from(options.rules);
  for (const int k : options.ks) request.max_turns = std::max(request.max_turns, k);
  for (const Study& study : studies())
    if (study.name == options.study) request.by = study.by;
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

// By date of the model's knowledge, for the study of time; models without a date last.
void sort_by_date(std::vector<report::Group>& groups, const schema::Observations& data) {
  const auto date = [&](const report::Group& group) {
    const std::string& text = data.cells[data.trajectories[group.trajectories.front()].cell].model_date;
    return text.empty() ? "9999" : text;
  };
  std::stable_sort(groups.begin(), groups.end(), [&](const auto& a, const auto& b) { return date(a) < date(b); });
}

void print(const schema::Observations& data, const std::vector<report::Group>& groups,
           const report::MetricsRequest& request, const ReportOptions& options,
           const std::vector<report::Comparison>& comparisons, const schema::Table& published) {
  fmt::print("{}\n{} trajectories, {} turns\n\n", data.source, data.trajectories.size(), data.turns.size());
  fmt::print("{}\n", report::render(report::summary_table(groups, request, options.ks)));
  for (const report::Comparison& comparison : comparisons) fmt::print("{}\n", report::render(comparison));
  if (!published.rows.empty()) {
    std::size_t agree = 0;
    for (const auto& row : published.rows) agree += std::get<std::string>(row.back()) == "yes";
    fmt::print("published cells: {} of {} agree with the single turns", agree, published.rows.size());
    for (const auto& row : published.rows)
      if (std::get<std::string>(row.back()) != "yes")
        fmt::print("\n  {} within {}: {} differs", std::get<std::string>(row[0]), std::get<std::int64_t>(row[1]),
                   std::get<std::string>(row.back()));
    fmt::print("\n");
  }
  for (const std::string& note : data.notes) fmt::print("note: {}\n", note);
  const bool recording = std::any_of(groups.begin(), groups.end(), [](const auto& group) { return group.recording; });
  if (recording) fmt::print("note: some answers come from a recording and say nothing about a model\n");
}

Status report_run(const ReportOptions& options) {
  PTXBENCH_TRY(const report::MetricsRequest request, request_of(options));
  PTXBENCH_TRY(const report::Loaded loaded, report::load(options.folders));
  const schema::Observations& data = loaded.observations;
  std::vector<report::Group> groups = report::measure(data, request);
  if (groups.empty())
    return fail(ErrorKind::kInvalidInput, "no trajectory is left", "check --where; `--by` lists the values there are");
  if (options.study == "time") sort_by_date(groups, data);
  std::vector<report::Comparison> comparisons;
  for (const std::string& text : options.compare) {
    PTXBENCH_TRY(const report::Pair pair, pair_of(text));
    PTXBENCH_TRY(report::Comparison one, report::compare(data, request, pair, request.max_turns, options.target));
    comparisons.push_back(std::move(one));
  }
  const schema::Table published = report::published_table(data);
  std::vector<schema::Table> tables = {report::rates_table(groups, request, options.ks),
                                       report::pass_table(groups, request), report::status_table(groups, request),
                                       report::cost_table(groups, request)};
  if (!published.rows.empty()) tables.push_back(published);
  if (!comparisons.empty()) tables.push_back(report::comparison_table(comparisons));
  if (!options.html.empty()) PTXBENCH_TRY_STATUS(report::write_page(data, loaded.runs, options.html));
  if (!options.csv.empty()) PTXBENCH_TRY_STATUS(write_csv(tables, options.csv));
  if (!options.json.empty() && options.json != "-")
    PTXBENCH_TRY_STATUS(write_file_atomic(options.json, schema::to_json(tables)));
  if (options.json == "-")
    fmt::print("{}", schema::to_json(tables));
  else
    print(data, groups, request, options, comparisons, published);
  return {};
}

Status import_run(const std::string& from, const std::string& to) {
  PTXBENCH_TRY(const schema::Observations data, report::import_paper(from));
  PTXBENCH_TRY_STATUS(schema::save_observations(data, to));
  fmt::print("{}: {} runs, {} trajectories, {} turns\n", to, data.cells.size(), data.trajectories.size(),
             data.turns.size());
  return {};
}

std::string study_list() {
  std::string text = "A ready grouping:";
  for (const Study& study : studies()) text += fmt::format(" {} ({}),", study.name, study.what);
  text.back() = '.';
  return text;
}

}  // namespace

void add_report(CLI::App& app, int& exit_code) {
  CLI::App* command = add_command(app, "report", "Rates, speed-ups and costs of runs, with intervals and comparisons",
                                  "ptxbench report my-run --by model,task --csv tables");
  auto options = std::make_shared<ReportOptions>();
  command->add_option("RUN", options->folders, "Folders made by `ptxbench run` or `ptxbench import-paper`")->required();
  command->add_option("--by", options->by, "Group by: run, model, target, task, workload, pack, language")
      ->delimiter(',');
  std::vector<std::string> names;
  for (const Study& study : studies()) names.emplace_back(study.name);
  command->add_option("--study", options->study, study_list())->check(CLI::IsMember(names));
  command->add_option("--where", options->where, "Only some: ATTRIBUTE=VALUE[,VALUE...]; may be repeated");
  command->add_option("--k", options->ks, "Within the first k turns")
      ->delimiter(',')
      ->check(CLI::Range(1, 64))
      ->capture_default_str();
  command->add_option("--rules", options->rules, "Whose verdict on correctness counts")
      ->check(CLI::IsMember({"strict", "paper"}))
      ->capture_default_str();
  command->add_option("--compare", options->compare, "Test a difference: ATTRIBUTE=A:B; may be repeated");
  command->add_flag("--target", options->target,
                    "Compare successes by the target's instructions, not all correct ones");
  command->add_option("--csv", options->csv, "Write every table into this folder");
  command->add_option("--html", options->html,
                      "Write a page with tables, plots and, for run folders, every kernel; works without a network");
  command->add_option("--json", options->json, "Write every table to this file; - prints it instead of the summary");
  command->callback([&exit_code, options] {
    const Status done = report_run(*options);
    exit_code = done ? kExitPassed : report(done.error());
  });
}

void add_import_paper(CLI::App& app, int& exit_code) {
  CLI::App* command = add_command(app, "import-paper", "Reads the public result tables of the PTXBench paper",
                                  "ptxbench import-paper data/paper --out paper-run");
  auto folders = std::make_shared<std::pair<std::string, std::string>>();
  command->add_option("DIR", folders->first, "Folder with the CSV files (plain or gzipped)")->required();
  command->add_option("--out", folders->second, "New folder, for `ptxbench report`")->required();
  command->callback([&exit_code, folders] {
    const Status done = import_run(folders->first, folders->second);
    exit_code = done ? kExitPassed : report(done.error());
  });
}

}  // namespace ptxbench::cli
