// Fault: the guest broke a rule of a tensor instruction. The machine adds where (instruction, CTA, warp) and makes a Trap of it.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <tl/expected.hpp>
#include <utility>

namespace ptxbench::emu {

enum class FaultKind : uint8_t {
  kOutOfBounds,    // global or shared memory that is not the guest's
  kMisaligned,     // address or size breaks an alignment rule
  kBadDescriptor,  // matrix descriptor or tensor map with contents the hardware does not define
  kUnsupported,    // defined by the hardware, not emulated: refused by name
};

struct Fault {
  FaultKind kind = FaultKind::kUnsupported;
  std::string rule;                 // the rule in words, as the manual has it
  std::string message;              // what was found
  std::optional<uint64_t> address;  // guest address, where one is to blame
};

template <class T>
using Checked = tl::expected<T, Fault>;

inline tl::unexpected<Fault> fault(FaultKind kind, std::string rule, std::string message,
                                   std::optional<uint64_t> address = std::nullopt) {
  return tl::unexpected<Fault>(Fault{kind, std::move(rule), std::move(message), address});
}

}  // namespace ptxbench::emu
