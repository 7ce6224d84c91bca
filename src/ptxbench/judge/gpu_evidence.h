// What a GPU counted per instruction address, joined with the disassembly of the same cubin: families, FLOPs, opcodes.
// The emulator's records come joined already.
#pragma once

#include <vector>

#include "ptxbench/base/result.h"
#include "ptxbench/toolchain/sass.h"
#include "ptxbench/wire/records.h"

namespace ptxbench::judge {

// Fills families, opcodes and totals of launches that hold counts by offset. Fails, naming kernel and offset, when a count
// lies where the listing has no instruction (the device then executed other code than the artifact's), when a launch
// failed or brings no counts, or when the FLOPs of an executed matrix instruction are not known. Bytes stay 0: a GPU does not
// count them.
Status join_disassembly(const std::vector<toolchain::SassFunction>& listing, std::vector<wire::LaunchRecord>& launches);

}  // namespace ptxbench::judge
