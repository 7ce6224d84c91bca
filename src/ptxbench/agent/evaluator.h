// What judges a kernel for the agent. The agent knows no judge: the command line gives it one that runs in this process,
// later also one that asks a service over HTTP, and tests give it a scripted one.
#pragma once

#include <cstdint>
#include <filesystem>
#include <stop_token>
#include <string>
#include <vector>

#include "ptxbench/base/result.h"
#include "ptxbench/schema/definition.h"
#include "ptxbench/schema/verdict.h"

namespace ptxbench::agent {

// A task as it will be judged.
struct TaskInfo {
  schema::Definition definition;            // what is judged: an emulator sibling, or the task itself
  std::vector<schema::Workload> workloads;  // at least one
};

struct EvaluationRequest {
  std::string task;      // as the experiment names it
  std::string workload;  // UUID out of TaskInfo::workloads
  std::string target;    // "hopper", "blackwell"
  schema::RuleSet rules = schema::RuleSet::kStrict;
  std::string source;                                  // the kernel's text
  std::vector<std::filesystem::path> include_folders;  // of the pack's wrapper headers
  std::uint64_t seed = 0;                              // of the inputs
  // Names this evaluation: the same for a repetition after a crash or a lost connection, so that a service can answer
  // from its store instead of judging twice.
  std::string key;
};

class Evaluator {
 public:
  virtual ~Evaluator() = default;

  // The definition and workloads that `task` means under the selector ("emu", "full", "all", a UUID). kNotFound,
  // kUnsupported (a target that the device does not execute, a task without references).
  virtual Result<TaskInfo> task(const std::string& task, const std::string& target, const std::string& selector) = 0;

  // Evaluations that may run at the same time: one per device.
  virtual int slots() const = 0;

  // Blocks; may be called from `slots()` threads at once. The machine's or the service's failures are an INFRA_ERROR
  // verdict or an Error of kind kUnavailable, kTimeout or kProtocol: the same request may then be made again. Any other
  // Error means that the request can never be judged.
  virtual Result<schema::Verdict> evaluate(const EvaluationRequest& request) = 0;

  // Whether evaluations can succeed now. Asked while the queue is paused.
  virtual Status check_health() = 0;

  // What decides verdicts: this program, the compiler, the device's driver.
  virtual std::vector<schema::ToolVersion> versions() = 0;
};

}  // namespace ptxbench::agent
