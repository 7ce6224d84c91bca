#include "ptxbench/emu/trap.h"

namespace ptxbench::emu {

void trap(TrapKind kind, std::uint32_t lane, std::string message, std::string rule,
          std::optional<std::uint64_t> address) {
  throw TrapSignal{kind, std::move(message), std::move(rule), address, lane, std::nullopt};
}

void trap(const Fault& fault, std::uint32_t lane, std::optional<std::uint32_t> site) {
  TrapKind kind = TrapKind::kUnsupported;
  switch (fault.kind) {
    case FaultKind::kOutOfBounds: kind = TrapKind::kOutOfBounds; break;
    case FaultKind::kMisaligned: kind = TrapKind::kMisaligned; break;
    case FaultKind::kBadDescriptor: kind = TrapKind::kInvalidDescriptor; break;
    case FaultKind::kUnsupported: kind = TrapKind::kUnsupported; break;
  }
  throw TrapSignal{kind, fault.message, fault.rule, fault.address, lane, site};
}

}  // namespace ptxbench::emu
