// ptxbench tasks: what can be judged; and one task in full, for ptxbench show.
#include <fmt/format.h>

#include "ptxbench/cli/command.h"
#include "ptxbench/cli/show_task.h"
#include "ptxbench/judge/suite.h"

namespace ptxbench::cli {
namespace {

using judge::Suite;
using judge::Task;

Result<Suite> suite() {
  PTXBENCH_TRY(const std::filesystem::path folder, judge::default_suite_folder());
  return judge::load_suite(folder);
}

std::string axes_of(const std::vector<std::pair<std::string, std::int64_t>>& axes) {
  std::vector<std::string> parts;
  for (const auto& [name, value] : axes) parts.push_back(fmt::format("{}={}", name, value));
  return fmt::format("{}", fmt::join(parts, " "));
}

// Emulator siblings are reached through their full task, so the list leaves them out.
bool listed(const Task& task) { return !task.definition.extension || task.definition.extension->full_sibling.empty(); }

int tasks(bool json) {
  auto loaded = suite();
  if (!loaded) return report(loaded.error());
  if (json) {
    std::vector<std::string> records;
    for (const Task& task : loaded->tasks) records.push_back(schema::to_json(task.definition, 2));
    fmt::print("[{}]\n", fmt::join(records, ",\n"));
    return kExitPassed;
  }
  bool headline = true;
  for (const Task& task : loaded->tasks) {
    if (!listed(task)) continue;
    const auto& extension = task.definition.extension;
    if (headline != (extension && extension->headline)) {
      headline = false;
      fmt::print("\n");
    }
    std::size_t full = 0;
    for (const schema::Workload& workload : task.workloads) full += !workload.emulator;
    fmt::print("{:<28} {}\n{:<28} {} full workload{}{}\n", task.definition.name, task.definition.description, "", full,
               full == 1 ? "" : "s",
               extension ? "" : "; can be shown, not judged: no \"ptxbench\" additions in its definition");
  }
  fmt::print("\nptxbench show TASK gives shapes, reference and workloads.\n");
  return kExitPassed;
}

void show_tensor(const char* kind, const schema::TensorSpec& tensor) {
  fmt::print("  {} {:<8} {:<10} {}\n", kind, tensor.name, schema::to_string(tensor.dtype),
             tensor.shape ? fmt::format("[{}]", fmt::join(*tensor.shape, ", ")) : "scalar");
}

}  // namespace

int show_task(const std::string& name) {
  auto loaded = suite();
  if (!loaded) return report(loaded.error());
  auto found = loaded->find_task(name);
  if (!found) return report(found.error());
  const schema::Definition& definition = (*found)->definition;
  fmt::print("{}\n  {}\n", definition.name, definition.description);
  for (const schema::Axis& axis : definition.axes)
    fmt::print("  axis   {:<8} {}\n", axis.name,
               axis.constant ? fmt::format("= {}", *axis.constant) : "given by the workload");
  for (const schema::TensorSpec& tensor : definition.inputs) show_tensor("input ", tensor);
  for (const schema::TensorSpec& tensor : definition.outputs) show_tensor("output", tensor);
  if (definition.extension) {
    fmt::print("  needs  {} FLOP in matrix instructions\n", definition.extension->required_flops);
    for (const auto& [target, families] : definition.extension->target_families)
      fmt::print("  on {:<10} {}\n", target, fmt::join(families, ", "));
    fmt::print("  inputs are drawn from: {}\n", fmt::join(definition.extension->families, ", "));
  }
  auto choices = loaded->choose(name, "all");
  if (!choices) return report(choices.error());
  fmt::print("\nWorkloads\n");
  for (const Suite::Choice& choice : *choices)
    fmt::print("  {}  {}{}{}\n", choice.workload->uuid, axes_of(choice.workload->axes),
               choice.workload->emulator || choice.task != *found ? "  (emulator-sized)" : "",
               choice.task != *found ? "  of " + choice.task->definition.name : "");
  fmt::print("\nReference\n{}\n", definition.reference);
  return kExitPassed;
}

void add_tasks(CLI::App& app, int& exit_code) {
  CLI::App* command =
      add_command(app, "tasks", "Lists the tasks that kernels can be judged on", "ptxbench tasks --json");
  auto json = std::make_shared<bool>(false);
  command->add_flag("--json", *json, "Print the definitions as a JSON array (FlashInfer Trace)");
  command->callback([&exit_code, json] { exit_code = tasks(*json); });
}

}  // namespace ptxbench::cli
