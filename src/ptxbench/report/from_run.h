// A run folder's turns as observations.
#pragma once

#include <filesystem>
#include <functional>
#include <string>
#include <vector>

#include "ptxbench/base/result.h"
#include "ptxbench/schema/observations.h"
#include "ptxbench/schema/run_folder.h"

namespace ptxbench::report {

// The text of a trajectory's transcript (schema/transcript.h), made or read when it is asked for. Empty: nothing is known
// but the counts.
using DetailSource = std::function<Result<std::string>()>;

// Folders of either kind, joined in the order in which they are named: run folders (run.json) and imported observations
// (observations.json). kNotFound names a folder that is neither. A run folder's logs are read on all cores, and its texts
// again when details are asked for: a run of 100,000 turns has gigabytes of them.
//
// A turn's layers hold when they hold on every workload. Where judging ended before a layer could say (the machine failed,
// or an earlier workload ended it), that layer is not known.
struct Loaded {
  schema::Observations observations;
  std::vector<DetailSource> details;  // one per trajectory
};
Result<Loaded> load(const std::vector<std::string>& folders);

// One after the other. Runs of the same name in several folders are told apart by the folder.
schema::Observations join(std::vector<schema::Observations> parts);

}  // namespace ptxbench::report
