#include "ptxbench/judge/suite.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cstdlib>
#include <numeric>

#include "ptxbench/base/file.h"

namespace ptxbench::judge {
namespace {

namespace fs = std::filesystem;

constexpr std::uint64_t kMaxFileBytes = std::uint64_t{64} << 20;

// Levenshtein distance.
std::size_t edit_distance(std::string_view a, std::string_view b) {
  std::vector<std::size_t> row(b.size() + 1);
  std::iota(row.begin(), row.end(), std::size_t{0});
  for (std::size_t i = 0; i < a.size(); ++i) {
    std::size_t diagonal = row[0]++;
    for (std::size_t j = 0; j < b.size(); ++j) {
      const std::size_t replaced = diagonal + (a[i] != b[j]);
      diagonal = row[j + 1];
      row[j + 1] = std::min({replaced, row[j] + 1, row[j + 1] + 1});
    }
  }
  return row.back();
}

// Up to three names close to `name`: few edits, or one contains the other.
std::vector<std::string> close_names(const std::vector<Task>& tasks, std::string_view name) {
  std::vector<std::pair<std::size_t, std::string>> ranked;
  for (const Task& task : tasks) {
    const std::string& candidate = task.definition.name;
    const bool contains = name.size() >= 3 && candidate.find(name) != std::string::npos;
    const std::size_t distance = edit_distance(name.substr(0, 200), candidate);
    if (contains || distance <= std::max<std::size_t>(2, candidate.size() / 3))
      ranked.emplace_back(contains ? candidate.size() - name.size() : distance, candidate);
  }
  std::sort(ranked.begin(), ranked.end());
  std::vector<std::string> names;
  for (std::size_t i = 0; i < std::min<std::size_t>(3, ranked.size()); ++i) names.push_back(ranked[i].second);
  return names;
}

std::vector<fs::path> files_under(const fs::path& folder, std::string_view extension) {
  std::vector<fs::path> files;
  std::error_code error;
  for (fs::recursive_directory_iterator it(folder, error), end; !error && it != end; it.increment(error))
    if (it->is_regular_file(error) && it->path().extension() == extension) files.push_back(it->path());
  std::sort(files.begin(), files.end());
  return files;
}

Status read_workloads(Task& task) {
  std::error_code error;
  if (!fs::exists(task.workloads_file, error)) return {};
  PTXBENCH_TRY(const std::string text, read_file(task.workloads_file, kMaxFileBytes));
  int line_number = 0;
  for (std::size_t start = 0; start < text.size();) {
    const std::size_t end = std::min(text.find('\n', start), text.size());
    const std::string_view line = std::string_view(text).substr(start, end - start);
    start = end + 1;
    ++line_number;
    if (line.find_first_not_of(" \t\r") == std::string_view::npos) continue;
    PTXBENCH_TRY(schema::Workload workload,
                 schema::workload_from_json(line, task.definition, task.workloads_file.string(), line_number));
    if (task.find_workload(workload.uuid) != nullptr)
      return fail(ErrorKind::kInvalidInput, fmt::format("{}:{}: workload.uuid: {} stands twice in this file",
                                                        task.workloads_file.string(), line_number, workload.uuid));
    task.workloads.push_back(std::move(workload));
  }
  return {};
}

Result<Task> read_task(const fs::path& root, const fs::path& file) {
  PTXBENCH_TRY(const std::string text, read_file(file, kMaxFileBytes));
  Task task;
  PTXBENCH_TRY(task.definition, schema::definition_from_json(text, file.string()));
  if (task.definition.name != file.stem())
    return fail(ErrorKind::kInvalidInput, fmt::format("{}: name: found '{}', expected '{}' as the file is called",
                                                      file.string(), task.definition.name, file.stem().string()));
  task.definition_file = file;
  task.workloads_file = root / "workloads" / fs::relative(file, root / "definitions");
  task.workloads_file.replace_extension(".jsonl");
  PTXBENCH_TRY_STATUS(read_workloads(task));
  return task;
}

bool is_headline(const Task& task) { return task.definition.extension && task.definition.extension->headline; }

}  // namespace

const schema::Workload* Task::find_workload(std::string_view uuid) const {
  for (const schema::Workload& workload : workloads)
    if (workload.uuid == uuid) return &workload;
  return nullptr;
}

Result<const Task*> Suite::find_task(std::string_view name) const {
  for (const Task& task : tasks)
    if (task.definition.name == name) return &task;
  const std::vector<std::string> close = close_names(tasks, name);
  const std::string hint =
      close.empty() ? "'ptxbench tasks' lists them all" : fmt::format("did you mean {}?", fmt::join(close, " or "));
  return fail(ErrorKind::kNotFound,
              fmt::format("there is no task '{}' among the {} in {}", name.substr(0, 200), tasks.size(), root.string()),
              hint);
}

Result<std::vector<Suite::Choice>> Suite::choose(std::string_view task_name, std::string_view selector) const {
  PTXBENCH_TRY(const Task* task, find_task(task_name));
  const Task* small = task;
  if (task->definition.extension && !task->definition.extension->emulator_sibling.empty()) {
    PTXBENCH_TRY(small, find_task(task->definition.extension->emulator_sibling));
  }
  std::vector<Choice> choices;
  const auto add = [&](const Task& from, const auto& wanted) {
    for (const schema::Workload& workload : from.workloads)
      if (wanted(workload)) choices.push_back({&from, &workload});
  };
  const bool named = selector != "emu" && selector != "full" && selector != "all";
  add(*task, [&](const schema::Workload& workload) {
    if (named) return workload.uuid == selector;
    return selector == "all" || workload.emulator == (selector == "emu");
  });
  if (small != task)
    add(*small, [&](const schema::Workload& workload) {
      return named ? workload.uuid == selector : selector != "full" && workload.emulator;
    });
  if (!choices.empty()) return choices;
  std::string available;
  for (const Task* source : {task, small == task ? nullptr : small})
    if (source != nullptr)
      for (const schema::Workload& workload : source->workloads)
        available += "\n    " + workload.uuid + (workload.emulator ? " (emulator-sized)" : "");
  return fail(ErrorKind::kNotFound, fmt::format("task '{}' has no workload '{}'", task_name, selector.substr(0, 200)),
              "emu, full, all, or one of:" + (available.empty() ? " (it has none)" : available));
}

Result<Suite> load_suite(const fs::path& root) {
  Suite suite;
  suite.root = root;
  std::error_code error;
  if (!fs::is_directory(root / "definitions", error))
    return fail(ErrorKind::kNotFound, fmt::format("{} holds no folder 'definitions'", root.string()),
                "point PTXBENCH_SUITES to a folder with definitions/ and workloads/");
  for (const fs::path& file : files_under(root / "definitions", ".json")) {
    PTXBENCH_TRY(Task task, read_task(root, file));
    for (const Task& other : suite.tasks)
      if (other.definition.name == task.definition.name)
        return fail(ErrorKind::kInvalidInput, fmt::format("{}: name: '{}' is defined in {} as well", file.string(),
                                                          task.definition.name, other.definition_file.string()));
    suite.tasks.push_back(std::move(task));
  }
  if (suite.tasks.empty())
    return fail(ErrorKind::kNotFound, fmt::format("{} holds no definition (*.json)", (root / "definitions").string()));
  std::stable_sort(suite.tasks.begin(), suite.tasks.end(), [](const Task& a, const Task& b) {
    if (is_headline(a) != is_headline(b)) return is_headline(a);
    return a.definition.name < b.definition.name;
  });
  for (const Task& task : suite.tasks) {
    if (!task.definition.extension) continue;
    for (const std::string& sibling :
         {task.definition.extension->emulator_sibling, task.definition.extension->full_sibling}) {
      if (sibling.empty() || suite.find_task(sibling)) continue;
      return fail(ErrorKind::kInvalidInput,
                  fmt::format("{}: ptxbench: the sibling '{}' does not exist", task.definition_file.string(), sibling));
    }
  }
  return suite;
}

Result<fs::path> default_suite_folder() {
  if (const char* named = std::getenv("PTXBENCH_SUITES"); named != nullptr && *named != '\0') return fs::path(named);
  std::error_code error;
  std::vector<fs::path> candidates;
  const fs::path program = fs::read_symlink("/proc/self/exe", error);
  if (!error) candidates.push_back(program.parent_path().parent_path() / "share/ptxbench/suites");
  candidates.emplace_back(PTXBENCH_SUITE_FOLDER);
  for (const fs::path& candidate : candidates)
    if (fs::is_directory(candidate / "definitions", error)) return candidate;
  return fail(
      ErrorKind::kNotFound,
      fmt::format("no task suite: looked in {} and {}", candidates.front().string(), candidates.back().string()),
      "set PTXBENCH_SUITES to the folder suites/ of the source tree");
}

}  // namespace ptxbench::judge
