// The agent's evaluator in this process: builds with the toolchain, judges on the emulated GPU or on the first real one.
#pragma once

#include <memory>
#include <string>

#include "ptxbench/agent/evaluator.h"

namespace ptxbench::cli {

// device: "emu", "gpu", or "auto": a GPU if one can be used. slots: evaluations at a time; on a GPU only their builds run
// beside each other.
Result<std::unique_ptr<agent::Evaluator>> make_local_evaluator(const std::string& device, int slots);

}  // namespace ptxbench::cli
