#include "ptxbench/cli/evaluator.h"

#include <fmt/format.h>

#include <mutex>

#include "ptxbench/agent/quote.h"
#include "ptxbench/base/file.h"
#include "ptxbench/judge/build_evidence.h"
#include "ptxbench/judge/evaluate.h"
#include "ptxbench/judge/evaluate_gpu.h"
#include "ptxbench/judge/quarantine.h"
#include "ptxbench/judge/suite.h"
#include "ptxbench/schema/device_name.h"
#include "ptxbench/toolchain/build.h"
#include "ptxbench/toolchain/locate.h"

namespace ptxbench::cli {
namespace {

class InProcessEvaluator : public agent::Evaluator {
 public:
  InProcessEvaluator(judge::Suite suite, judge::RunRequest programs, int slots, std::unique_ptr<judge::GpuStation> gpu)
      : suite_(std::move(suite)), programs_(std::move(programs)), slots_(slots), gpu_(std::move(gpu)) {}

  Result<agent::TaskInfo> task(const std::string& task, const std::string& target,
                               const std::string& selector) override {
    if (gpu_ != nullptr) {
      PTXBENCH_TRY_STATUS(gpu_->fits(target));
    } else if (target != "hopper") {
      return fail(ErrorKind::kUnsupported,
                  fmt::format("target '{}': the emulated GPU executes Hopper only so far", target),
                  "use hopper, or --device gpu on such a GPU");
    }
    PTXBENCH_TRY(const auto choices, suite_.choose(task, selector));
    agent::TaskInfo info;
    for (const judge::Suite::Choice& choice : choices) {
      if (!info.workloads.empty() && choice.task->definition.name != info.definition.name)
        return fail(ErrorKind::kInvalidInput,
                    fmt::format("'{}' of {} are workloads of two definitions", selector, task),
                    "one trajectory has one definition: choose emu, full or a UUID");
      info.definition = choice.task->definition;
      info.workloads.push_back(*choice.workload);
    }
    if (!info.definition.extension)
      return fail(ErrorKind::kUnsupported, fmt::format("task '{}' can be shown, not judged", task),
                  "ptxbench tasks lists those that can be judged");
    return info;
  }

  int slots() const override { return slots_; }

  Result<schema::Verdict> evaluate(const agent::EvaluationRequest& asked) override {
    PTXBENCH_TRY(const auto choices, suite_.choose(asked.task, asked.workload));
    PTXBENCH_TRY(const TempDir folder, TempDir::create());
    toolchain::BuildRequest build;
    build.source = folder.path() / agent::kKernelFile;
    PTXBENCH_TRY_STATUS(write_file_atomic(build.source, asked.source));
    PTXBENCH_TRY(build.target, schema::parse_gpu_target(asked.target));
    build.include_folders = asked.include_folders;
    judge::EvaluateRequest request;
    PTXBENCH_TRY(const toolchain::BuildOutcome outcome, toolchain::build(build));
    PTXBENCH_TRY(request.build, judge::build_evidence(outcome, build));
    request.definition = choices.front().task->definition;
    request.workload = *choices.front().workload;
    request.full_task = request.definition.name == asked.task ? "" : asked.task;
    request.target = asked.target;
    request.rules = asked.rules;
    request.seed = asked.seed;
    request.run = programs_;
    if (gpu_ == nullptr) return judge::evaluate(request, judge::run_candidate);
    // Compilations of other trajectories go on meanwhile; the card is for one at a time.
    const std::lock_guard lock(gpu_mutex_);
    request.another_follows = true;
    return judge::evaluate_on_gpu(request, *gpu_);
  }

  // The emulator has no state of its own: what can be missing are programs and the compiler. A GPU in quarantine is not
  // used until somebody has looked at it.
  Status check_health() override {
    if (gpu_ != nullptr) {
      PTXBENCH_TRY_STATUS(judge::check_quarantine(gpu_->card()));
      PTXBENCH_TRY_STATUS(judge::usable(gpu_->gpu()));
    }
    judge::RunRequest run;
    PTXBENCH_TRY_STATUS(judge::locate_programs(run));
    PTXBENCH_TRY_STATUS(toolchain::locate_toolkit());
    PTXBENCH_TRY_STATUS(TempDir::create());
    return {};
  }

  std::vector<schema::ToolVersion> versions() override {
    std::vector<schema::ToolVersion> versions = {{"ptxbench", PTXBENCH_VERSION},
                                                 {"device", gpu_ == nullptr ? "emu" : "gpu: " + gpu_->name()}};
    if (const auto toolkit = toolchain::locate_toolkit()) versions.push_back({"nvcc", toolkit->version});
    return versions;
  }

 private:
  const judge::Suite suite_;
  const judge::RunRequest programs_;
  const int slots_;
  std::mutex gpu_mutex_;
  const std::unique_ptr<judge::GpuStation> gpu_;  // none: the emulator
};

Result<std::unique_ptr<judge::GpuStation>> open_station(int number, const std::vector<std::string>& targets) {
  PTXBENCH_TRY(judge::DeviceProgram program, judge::find_gpu(number));
  auto station = std::make_unique<judge::GpuStation>(std::move(program));
  PTXBENCH_TRY_STATUS(station->ready());
  for (const std::string& target : targets) PTXBENCH_TRY_STATUS(station->fits(target));
  return station;
}

}  // namespace

Result<LocalEvaluator> make_local_evaluator(const std::string& device, const std::vector<std::string>& targets,
                                            int slots) {
  std::unique_ptr<judge::GpuStation> gpu;
  const std::optional<int> number = device == "auto" ? 0 : schema::gpu_number(device);
  if (number) {
    Result<std::unique_ptr<judge::GpuStation>> found = open_station(*number, targets);
    if (!found && device != "auto") return fail(std::move(found).error());
    if (found) {
      gpu = std::move(*found);
      // Also for auto: the emulator in place of a card that somebody has to look at would hide that.
      PTXBENCH_TRY_STATUS(judge::check_quarantine(gpu->card()));
    }
  }
  const std::string chosen = gpu == nullptr ? "emu" : device == "auto" ? "gpu" : device;
  PTXBENCH_TRY(const std::filesystem::path folder, judge::default_suite_folder());
  PTXBENCH_TRY(judge::Suite suite, judge::load_suite(folder));
  judge::RunRequest programs;
  PTXBENCH_TRY_STATUS(judge::locate_programs(programs));
  programs.limits.wall = std::chrono::seconds(60);
  return LocalEvaluator{
      std::make_unique<InProcessEvaluator>(std::move(suite), std::move(programs), slots, std::move(gpu)), chosen};
}

}  // namespace ptxbench::cli
