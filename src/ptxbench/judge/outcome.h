// How a run of the candidate ended, in the verdict's terms.
#pragma once

#include <optional>
#include <string>

#include "ptxbench/judge/runner.h"
#include "ptxbench/schema/verdict.h"

namespace ptxbench::judge {

struct RunProblem {
  schema::VerdictStatus status = schema::VerdictStatus::kRuntimeError;
  std::string message;  // one sentence for the kernel's author
  schema::RunFailure failure;
};

// None when run() returned 0, no kernel trapped, no foreign device code was offered and the device is sound: only then do
// the outputs count. A trap of kind "unsupported_instruction" is the emulator's limit and not the candidate's fault: INFRA_ERROR.
std::optional<RunProblem> problem_of(const RunOutcome& outcome);

}  // namespace ptxbench::judge
