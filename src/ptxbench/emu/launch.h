// run_launch: one kernel launch from its configuration to its result.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

#include "ptxbench/emu/memory.h"
#include "ptxbench/emu/program.h"
#include "ptxbench/emu/types.h"

namespace ptxbench::emu {

FunctionInfo describe(const Program& program);

// `grid_id` counts launches; `workers` host threads at most.
LaunchResult run_launch(DeviceMemory& memory, const Program& program, const LaunchConfig& config,
                        std::span<const std::byte> params, unsigned workers, std::uint64_t grid_id);

}  // namespace ptxbench::emu
