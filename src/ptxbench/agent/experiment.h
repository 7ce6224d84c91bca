// An experiment: models x tasks x targets x packs x trajectories, as a TOML file says it (docs/agent.md).
#pragma once

#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>
#include <string_view>

#include "ptxbench/base/result.h"
#include "ptxbench/schema/trajectory.h"

namespace ptxbench::agent {

struct Experiment {
  schema::ExperimentRecord record;
  std::filesystem::path models_file;  // empty: the default one (agent/model/config.h)
  std::optional<std::uint64_t> seed;  // of the judge's inputs; none: drawn when the run is made
};

// What a file need not say: one Hopper GEMM trajectory of eight turns on the emulator, pack L3. Models have no default.
Experiment default_experiment();

// Errors name file, line and column, what was found, and what is allowed. Relative paths in it (models_file, replay:) are
// taken from the file's folder.
Result<Experiment> parse_experiment(std::string_view toml, const std::filesystem::path& file);
Result<Experiment> load_experiment(const std::filesystem::path& file);

// What no single field shows: a list that is empty or names something twice. For experiments that came from flags too.
Status check(const Experiment& experiment);

// The same experiment as a file.
std::string to_toml(const Experiment& experiment);

inline constexpr int kMostTurns = 100, kMostTrajectories = 1000;

}  // namespace ptxbench::agent
