// A run folder's turns as observations.
#pragma once

#include <filesystem>
#include <optional>
#include <vector>

#include "ptxbench/base/result.h"
#include "ptxbench/schema/observations.h"
#include "ptxbench/schema/run_folder.h"

namespace ptxbench::report {

// A turn's layers hold when they hold on every workload. Where judging ended before a layer could say (the machine failed,
// or an earlier workload ended it), that layer is not known.
schema::Observations observe(const schema::Run& run);

// A folder of either kind: a run folder (run.json), then with the run itself, or imported observations
// (observations.json). kNotFound otherwise.
struct Loaded {
  schema::Observations observations;
  std::optional<schema::Run> run;
};
Result<Loaded> load(const std::filesystem::path& folder);

// One after the other. Runs of the same name in several folders are told apart by the folder.
schema::Observations join(std::vector<schema::Observations> parts);

}  // namespace ptxbench::report
