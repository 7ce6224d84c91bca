// The work of a matrix instruction, read from its SASS opcode: the shape stands in the name.
//   warpgroup  HGMMA, QGMMA, IGMMA, BGMMA  ".64x256x16": M x N x K, executed once by each of four warps
//   warp       HMMA, IMMA, DMMA, QMMA ...  ".16816": M=16 N=8 K=16, or written out as above
// M and N are those of the PTX instruction, and so is K (PTX ISA 9.0, "Asynchronous warpgroup level matrix shape" and
// "Matrix shape"): 16 for bf16/f16, 8 for tf32, 32 for 8-bit types; a sparse form names its own, twice as large, K.
#pragma once

#include <cstdint>
#include <string_view>

#include "ptxbench/base/result.h"

namespace ptxbench::judge {

// FLOPs of `thread_instructions` predicate-true thread executions of a matrix instruction: 2 M N K for each 128 (warpgroup)
// or 32 (warp) threads. kUnsupported for an opcode whose shape is not in its name (tcgen05's is in a register) or that
// no table row knows: a count that was not made is never zero.
Result<std::uint64_t> sass_flops(std::string_view opcode, std::uint64_t thread_instructions);

}  // namespace ptxbench::judge
