// TrapSignal: how an operation reports that the emulated program broke a rule. Thrown by exec functions and scheduler,
// caught where a worker's loop adds CTA, warp and instruction. It never leaves Machine::launch.
#pragma once

#include <fmt/format.h>

#include <cstdint>
#include <optional>
#include <string>
#include <utility>

#include "ptxbench/emu/tensor/fault.h"
#include "ptxbench/emu/types.h"

namespace ptxbench::emu {

struct TrapSignal {
  TrapKind kind;
  std::string message;
  std::string rule;
  std::optional<std::uint64_t> address;
  std::uint32_t lane = 0;
  std::optional<std::uint32_t> site;  // where it happened, if not the current instruction (copies that fault late)
};

[[noreturn]] void trap(TrapKind kind, std::uint32_t lane, std::string message, std::string rule,
                       std::optional<std::uint64_t> address = std::nullopt);
// A Fault of a tensor function as a trap.
[[noreturn]] void trap(const Fault& fault, std::uint32_t lane, std::optional<std::uint32_t> site = std::nullopt);

}  // namespace ptxbench::emu
