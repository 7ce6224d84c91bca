// What is wrong with an attention's softmax, told from the errors of O: keys that are left out or counted twice, a causal
// mask that is off by one or missing, a wrong scale of the scores.
#pragma once

#include <string>
#include <vector>

#include "ptxbench/judge/compare.h"

namespace ptxbench::judge {

// Appends at most one sentence. `output` is O of attention_forward.
void hint_softmax(const Problem& problem, const InputSet& inputs, const OutputView& output, const RowRanges& rows,
                  std::vector<std::string>& hints);

}  // namespace ptxbench::judge
