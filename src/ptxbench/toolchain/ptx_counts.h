// Static instruction counts of PTX text, by family, through our parser.
#pragma once

#include <string>
#include <string_view>

#include "ptxbench/base/result.h"
#include "ptxbench/toolchain/sass.h"

namespace ptxbench::toolchain {

// One KernelCounts per entry and device function, in the text's order; opcodes are the forms' heads ("wgmma.mma_async").
// The Error is the parser's.
Result<StaticCounts> count_ptx(std::string_view text, const std::string& name);

}  // namespace ptxbench::toolchain
