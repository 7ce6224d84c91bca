// Run folders of the paper's implementation (schema/paper_run.h) as observations: plan.json, trajectories/exp_NNN.json and,
// if it is there, the evidence that its export wrote: figures/turn_correctness_sass_arch.csv or turn_correctness_arch.csv.
// No such folder is public; the reading follows the published code.
//
// - a turn is an answer that got feedback. Correct under the paper's rule is what its export labels so (paper_labels.h).
//   Under the strict rules only failures are known: also of "Correct" turns whose traces did not all pass.
// - the target's instructions ran if the evidence says "dynamic_present" with the target's tag, did not if it is one of the
//   other conclusive words, and are not known otherwise.
// - target, language and pack come from the prompt tag ("hopper-05", "b200-bf16-04", "triton-hopper"), else from the first
//   message; the model is the name that the trajectory gives.
// - a trajectory that ended in an exception (a service or provider that failed) or has no file is not over.
#pragma once

#include <filesystem>
#include <functional>
#include <vector>

#include "ptxbench/base/result.h"
#include "ptxbench/schema/observations.h"
#include "ptxbench/schema/transcript.h"

namespace ptxbench::report {

// Gets the number of a trajectory in the observations and its transcript.
using KeepTranscript = std::function<Status(std::uint32_t, const schema::Transcript&)>;

// The run folders among `folder` itself and the folders in it, by name.
std::vector<std::filesystem::path> find_run_folders(const std::filesystem::path& folder);

// `first` is the number of the first trajectory for `keep`.
Result<schema::Observations> import_run_folder(const std::filesystem::path& folder, std::uint32_t first,
                                               const KeepTranscript& keep);

}  // namespace ptxbench::report
