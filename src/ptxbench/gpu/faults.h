// What a GPU tells of a kernel that went wrong, in the words of the emulator's traps.
#pragma once

#include <chrono>

#include "ptxbench/gpu/context.h"
#include "ptxbench/wire/records.h"

namespace ptxbench::gpu {

// kind: the emulator's names where the fault is the same ("out_of_bounds", "misaligned", "assert", "deadline"), else
// "illegal_instruction", "invalid_address_space", "launch_failure", ... A GPU names neither instruction nor thread.
wire::TrapRecord trap_of(const Context::Wait& wait, std::chrono::milliseconds deadline, const Driver& driver);

// The same, with the launch that it happened in.
wire::TrapRecord trap_of(const Context::Wait& wait, std::chrono::milliseconds deadline, const Driver& driver,
                         std::string_view kernel, const wire::LaunchGeometry& geometry);

}  // namespace ptxbench::gpu
