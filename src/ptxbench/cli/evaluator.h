// The agent's evaluator in this process: builds with the toolchain, judges on the emulated GPU or on a real one.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "ptxbench/agent/evaluator.h"

namespace ptxbench::cli {

struct LocalEvaluator {
  std::unique_ptr<agent::Evaluator> evaluator;
  std::string device;  // "emu", "gpu" or "gpu:N": what "auto" came to
};

// device: also "auto": the first GPU if it can be used and is of all `targets`' generation. slots: evaluations at a time; on a
// GPU only their builds run beside each other.
Result<LocalEvaluator> make_local_evaluator(const std::string& device, const std::vector<std::string>& targets,
                                            int slots);

}  // namespace ptxbench::cli
