// Places of a function's registers in the warp's frame. Registers whose values are never needed at the same time share a place, and a
// register that is only a copy of another one gets the other's place (nvcc's PTX names a new register for every value, a quarter of
// its instructions are such copies).
#pragma once

#include <cstdint>
#include <vector>

#include "ptxbench/emu/decode/flow_graph.h"
#include "ptxbench/emu/program.h"

namespace ptxbench::emu {

struct RegisterPlaces {
  std::vector<Ref> of;            // by register; kNoRef for registers that nothing uses
  std::uint32_t frame_bytes = 0;  // end of the frame, counted from 0
  std::uint32_t words_live = 0;   // most 32-bit registers alive at once: the estimate of what ptxas would need
};

// `base`: first free byte of the frame, a multiple of 64.
RegisterPlaces allocate_registers(const ptx::Function& function, const FlowGraph& graph, std::uint32_t base);

}  // namespace ptxbench::emu
