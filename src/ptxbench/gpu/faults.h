// What a GPU tells of a kernel that went wrong, in the words of the emulator's traps.
#pragma once

#include <chrono>
#include <string>
#include <string_view>

#include "ptxbench/gpu/context.h"
#include "ptxbench/wire/records.h"

namespace ptxbench::gpu {

// kind: the emulator's names where the fault is the same ("out_of_bounds", "misaligned", "assert", "deadline"), else
// "illegal_instruction", "invalid_address_space", "launch_failure", ... A GPU names neither instruction nor thread.
// `where`: the launch, or what else is known of the place.
wire::TrapRecord trap_of(const Context::Wait& wait, std::chrono::milliseconds deadline, const Driver& driver,
                         std::string_view where);

// "kernel 'name', grid (1, 1, 1), block (32, 1, 1)"
std::string describe_launch(std::string_view kernel, const wire::LaunchGeometry& geometry);

}  // namespace ptxbench::gpu
