// compute-sanitizer and ncu at work: the candidate's host code runs once more, on a device process that the tool runs, and
// the tool's report becomes a part of the verdict. A tool that gave no result leaves a record that says why.
#pragma once

#include <cstddef>
#include <filesystem>
#include <functional>
#include <future>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "ptxbench/base/file.h"
#include "ptxbench/judge/device_process.h"
#include "ptxbench/judge/draft.h"
#include "ptxbench/judge/inputs.h"
#include "ptxbench/judge/runner.h"
#include "ptxbench/judge/sanitizer.h"
#include "ptxbench/schema/executed_layer.h"
#include "ptxbench/schema/verdict.h"

namespace ptxbench::judge {

// A program of the CUDA toolkit: on PATH, in $CUDA_HOME/bin, in /usr/local/cuda/bin. kNotFound says where it was looked for.
Result<std::filesystem::path> locate_cuda_tool(std::string_view name);

// A device process that a tool runs. It takes longer to start than one without, so it may be on its way.
struct StartedTool {
  TempDir folder;  // for what the tool writes when the process has ended
  std::future<Result<DeviceProcess>> device;
  std::future<std::string> version;  // empty if the tool does not say
};
// kNotFound: the tool is not installed.
Result<StartedTool> start_sanitizer(SanitizerTool tool, const DeviceProgram& program);
Result<StartedTool> start_ncu(const DeviceProgram& program);

struct ToolRun {
  RunRequest request;  // with inputs; its limits are those of a run without a tool
  // Of the same run without a tool. Another number under the tool: it did not see what was judged.
  std::optional<std::size_t> launches;
};

schema::SanitizerRun run_sanitizer(SanitizerTool tool, Result<StartedTool>& started, const ToolRun& what);

// counted: what the judge counted for the same launches.
schema::Audit run_audit(Result<StartedTool> started, const ToolRun& what,
                        const std::vector<schema::InstructionCount>& counted);

// The tools that an evaluation asks for, one after the other, on the inputs of run 0.
class ToolRuns {
 public:
  // Begins to start the first sanitizer's process.
  ToolRuns(Draft& draft, const DeviceProgram& program);
  // For a candidate that failed, too: the tools may say why. Not for one that hangs, or where there is nothing to run or to
  // compare; Draft::finish() says so. inputs: asked for if there is something to run.
  void run(const std::function<Result<std::vector<HostTensor>>()>& inputs);

 private:
  void start_next();
  void sanitize(SanitizerTool tool, const ToolRun& what);

  Draft& draft_;
  const DeviceProgram program_;
  std::size_t next_ = 0;                        // of EvaluateRequest::sanitize
  std::optional<Result<StartedTool>> started_;  // the one before next_
};

}  // namespace ptxbench::judge
