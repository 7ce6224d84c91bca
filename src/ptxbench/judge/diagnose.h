// From errors to what is probably wrong with the kernel: which rows, columns and tiles are bad, a factor or a base that
// explains the difference, a part of the sum that is missing. Hints for the kernel's author; they decide nothing.
#pragma once

#include <string>
#include <vector>

#include "ptxbench/judge/compare.h"

namespace ptxbench::judge {

// A few sentences, most telling first; empty when no pattern shows. figures[i] belongs to outputs[i].
std::vector<std::string> diagnose(const Problem& problem, const FamilyPart& part, const InputSet& inputs,
                                  const std::vector<OutputView>& outputs,
                                  const std::vector<schema::OutputFigures>& figures);

}  // namespace ptxbench::judge
