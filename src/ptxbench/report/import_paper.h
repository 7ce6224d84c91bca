// The public result tables of the PTXBench paper (arXiv 2608.17379; repository zhang677/PTXBench, folder
// benchmark/plot_viewer_v1/data) as observations.
//
// Read: experiments.csv, reasoning_tokens_vs_performance.csv (one line per turn), correctness_rate_by_release_date.csv,
// arch_instruction_correctness_by_release_date.csv, best_speedup_by_release_date.csv, model_release_dates.csv; each plain or
// with .gz.
//
// What the tables say and do not say:
// - a turn has a label, a speed-up and reasoning tokens, and a tag of target instructions found in the PTX text. Evidence by
//   executed SASS is published per run only, by trajectory: it becomes PublishedCell.
// - correctness is the paper's rule; the strict rules are not known for correct turns.
// - trajectories come in blocks of four per prompt tag, in the runs' own order. Names of tags that the paper keeps are
//   known; the others are "dropped-<block>".
#pragma once

#include <filesystem>

#include "ptxbench/base/result.h"
#include "ptxbench/schema/observations.h"

namespace ptxbench::report {

Result<schema::Observations> import_paper(const std::filesystem::path& folder);

}  // namespace ptxbench::report
