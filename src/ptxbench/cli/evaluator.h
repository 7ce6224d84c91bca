// The agent's evaluator in this process: builds with the toolchain, judges on the emulated GPU.
#pragma once

#include <memory>
#include <string>

#include "ptxbench/agent/evaluator.h"

namespace ptxbench::cli {

// device: "auto" or "emu"; "gpu" is refused by name. slots: evaluations at a time.
Result<std::unique_ptr<agent::Evaluator>> make_local_evaluator(const std::string& device, int slots);

}  // namespace ptxbench::cli
