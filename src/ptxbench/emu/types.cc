#include "ptxbench/emu/types.h"

#include <fmt/format.h>

namespace ptxbench::emu {

std::string_view to_string(TrapKind kind) {
  switch (kind) {
    case TrapKind::kDeadlock: return "deadlock";
    case TrapKind::kOutOfBounds: return "out_of_bounds";
    case TrapKind::kMisaligned: return "misaligned";
    case TrapKind::kReadOnly: return "read_only";
    case TrapKind::kBarrierNotInitialised: return "barrier_not_initialised";
    case TrapKind::kBarrierMisuse: return "barrier_misuse";
    case TrapKind::kTransactionCount: return "transaction_count";
    case TrapKind::kDivergentCollective: return "divergent_collective";
    case TrapKind::kInvalidDescriptor: return "invalid_descriptor";
    case TrapKind::kInvalidOperand: return "invalid_operand";
    case TrapKind::kRegisterInFlight: return "register_in_flight";
    case TrapKind::kUnstartedCta: return "unstarted_cta";
    case TrapKind::kExitedCta: return "exited_cta";
    case TrapKind::kCopyInFlight: return "copy_in_flight";
    case TrapKind::kRegisterBudget: return "register_budget";
    case TrapKind::kUnsupported: return "unsupported_instruction";
    case TrapKind::kAssert: return "assert";
    case TrapKind::kTrapInstruction: return "trap_instruction";
    case TrapKind::kWorkLimit: return "work_limit";
    case TrapKind::kDeadline: return "deadline";
    case TrapKind::kLaunchConfig: return "launch_config";
  }
  return "unknown";
}

std::string Trap::format() const {
  std::string text = fmt::format("trap [{}]: {}", to_string(kind), message);
  if (!instruction.empty()) {
    text += fmt::format("\n  at PTX line {}: {}", ptx_line, instruction);
    if (!source.file.empty()) text += fmt::format("\n  source {}:{}", source.file, source.line);
    text += fmt::format("\n  CTA ({},{},{}) warp {} lane {}", cta.x, cta.y, cta.z, warp, lane);
  }
  if (address) text += fmt::format("\n  address {:#x}", *address);
  if (!rule.empty()) text += fmt::format("\n  rule: {}", rule);
  return text;
}

}  // namespace ptxbench::emu
