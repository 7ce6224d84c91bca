// Which terms of a sum a kernel left out: k blocks of a GEMM, keys of an attention.
#pragma once

#include <string>
#include <vector>

#include "ptxbench/judge/compare.h"

namespace ptxbench::judge {

// Appends a sentence when the errors of `output` are explained by terms that are missing or counted twice.
void hint_missing(const Problem& problem, const FamilyPart& part, const InputSet& inputs, const OutputView& output,
                  const RowRanges& rows, std::vector<std::string>& hints);

}  // namespace ptxbench::judge
