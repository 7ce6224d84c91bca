// What is wrong with an attention's backward pass, told by computing it wrongly on purpose and comparing.
#pragma once

#include <string>
#include <vector>

#include "ptxbench/judge/compare.h"

namespace ptxbench::judge {

// Appends at most one sentence. `output` is dQ, dK or dV.
void hint_gradient(const Problem& problem, const InputSet& inputs, const OutputView& output, const RowRanges& rows,
                   std::vector<std::string>& hints);

}  // namespace ptxbench::judge
