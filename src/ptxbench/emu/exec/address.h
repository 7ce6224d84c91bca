// From an address operand of a lane to a host pointer, with every rule checked. The fast paths of exec/simd fall back to it.
#pragma once

#include <cstddef>
#include <cstdint>

#include "ptxbench/emu/exec/exec_set.h"
#include "ptxbench/emu/warp.h"

namespace ptxbench::emu {

enum class Access : std::uint8_t { kRead, kWrite };

// The host bytes of [address, address + bytes) in the space. Traps if they are not the kernel's to use or `address` is no multiple of
// `align`. `range` (may be nullptr) gets the allocation of a global address.
std::byte* resolve_lane(Warp& warp, isa::Space space, std::uint64_t address, std::uint32_t bytes, std::uint32_t align,
                        Access access, unsigned lane, struct RangeCache* range = nullptr);

// The address that a lane's operand means: op.a (register or none) + op.imm, plus the window base of shared variables.
std::uint64_t lane_address(const Warp& warp, Ref base, bool base_is_64, std::int64_t offset, bool adds_shared_base,
                           unsigned lane);

// A shared-window address (32 bits, or generic) as CTA of the cluster and offset. Traps if it is neither.
struct SharedPlace {
  struct Cta* cta;
  std::uint32_t offset;
};
SharedPlace locate_shared(Warp& warp, isa::Space space, std::uint64_t address, unsigned lane);
// The same for an access: traps if the CTA has not begun or has exited.
SharedPlace shared_place(Warp& warp, isa::Space space, std::uint64_t address, unsigned lane);
void check_live(const Cta& cta, unsigned lane, std::uint64_t address);

}  // namespace ptxbench::emu
