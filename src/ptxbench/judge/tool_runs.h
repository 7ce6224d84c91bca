// compute-sanitizer and ncu at work: the candidate's host code runs once more, on a device process that the tool runs, and
// the tool's report becomes a part of the verdict. A tool that gave no result leaves a record that says why.
#pragma once

#include <cstddef>
#include <filesystem>
#include <optional>
#include <string_view>
#include <vector>

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

struct ToolRun {
  RunRequest request;     // with inputs; its limits are those of a run without a tool
  DeviceProgram program;  // its wrapper is the tool's place
  // Of the same run without a tool. Another number under the tool: it did not see what was judged.
  std::optional<std::size_t> launches;
};

schema::SanitizerRun run_sanitizer(SanitizerTool tool, const ToolRun& what);

// counted: what the judge counted for the same launches.
schema::Audit run_audit(const ToolRun& what, const std::vector<schema::InstructionCount>& counted);

// The tools that the request asks for, one after the other, on the inputs of run 0. They run for a candidate that failed, too:
// they may say why. Not for one that hangs, or where there is nothing to run or to compare (Draft::finish() says so).
void run_tools(Draft& draft, const DeviceProgram& program, const RunPlan& first_plan);

}  // namespace ptxbench::judge
