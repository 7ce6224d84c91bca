// The tasks that lie under suites/: definitions/<op_type>/<name>.json and workloads/<op_type>/<name>.jsonl, in the
// FlashInfer Trace folder layout.
#pragma once

#include <filesystem>
#include <string>
#include <string_view>
#include <vector>

#include "ptxbench/base/result.h"
#include "ptxbench/schema/definition.h"

namespace ptxbench::judge {

struct Task {
  schema::Definition definition;
  std::vector<schema::Workload> workloads;  // in file order
  std::filesystem::path definition_file, workloads_file;

  // nullptr when there is none. The first in file order.
  const schema::Workload* find_workload(std::string_view uuid) const;
};

struct Suite {
  std::filesystem::path root;
  std::vector<Task> tasks;  // headline tasks first, then by name

  // kNotFound with the closest names as a hint.
  Result<const Task*> find_task(std::string_view name) const;

  // A task and one of its workloads.
  struct Choice {
    const Task* task = nullptr;
    const schema::Workload* workload = nullptr;
  };
  // selector: "emu" (the emulator-sized ones, of the emulator sibling if the task has one), "full" (the others), "all",
  // or a workload's UUID. kNotFound says what there is.
  Result<std::vector<Choice>> choose(std::string_view task_name, std::string_view selector) const;
};

// Reads every definition and its workloads. Errors name the file and the JSON path. A definition whose file name is
// not its name, or a name that stands twice, is an error.
Result<Suite> load_suite(const std::filesystem::path& root);

// Where suites/ is: $PTXBENCH_SUITES, then the install tree (../share/ptxbench/suites beside the program), then the
// source tree that this program was built from.
Result<std::filesystem::path> default_suite_folder();

}  // namespace ptxbench::judge
