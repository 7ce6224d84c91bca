// The element-wise reductions of cp.reduce.async.bulk.
#pragma once

#include <cstddef>
#include <cstdint>

#include "ptxbench/emu/tensor/fault.h"
#include "ptxbench/emu/tensor/tma_copy.h"

namespace ptxbench::emu {

// destination[i] = destination[i] op source[i] for `bytes` bytes of elements, each atomic (relaxed). destination is aligned to the
// element, source need not be; they do not overlap.
using ReduceFunction = void (*)(std::byte* destination, const std::byte* source, uint32_t bytes);

// The function for a pair that the table of PTX ISA "cp.reduce.async.bulk" lists; a fault names any other pair.
Checked<ReduceFunction> reduce_function(ReduceOp op, ReduceType type, bool to_shared);
uint32_t reduce_element_bytes(ReduceType type);

}  // namespace ptxbench::emu
