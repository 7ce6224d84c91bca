// The strongest test of the emulator: one candidate, workload and seed on it and on a GPU, outputs and counts compared.
#pragma once

#include <cstddef>
#include <vector>

#include "ptxbench/schema/definition.h"
#include "ptxbench/schema/verdict.h"

namespace ptxbench::judge {

// Outputs of every run, in the definition's order: EvaluateRequest::keep_outputs.
using KeptOutputs = std::vector<std::vector<std::vector<std::byte>>>;

// ||a - b|| / ||a|| over all runs that both did. Sums are taken in another order on a GPU, so BF16 outputs may differ by
// what each may differ from the exact values; LSE is computed in binary32 by both.
inline constexpr double kComparedBf16 = 8e-3, kComparedF32 = 1e-4;

// `gpu` is the verdict that the comparison is added to. Compared are the statuses, the outputs, and the instructions and
// FLOPs of families that both count alike: matrix instructions, bulk tensor copies, matrix loads and stores. How often a
// kernel tries a barrier depends on the moment, and how many instructions a fence becomes on the compiler.
Result<schema::Verdict> add_comparison(const schema::Verdict& gpu, const KeptOutputs& gpu_outputs,
                                       const schema::Verdict& emu, const KeptOutputs& emu_outputs,
                                       const schema::Definition& definition);

}  // namespace ptxbench::judge
