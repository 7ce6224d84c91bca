// Results of the PTXBench paper (arXiv 2608.17379; repository zhang677/PTXBench) as observations. Two kinds of folders, one
// or several, in any mixture:
//
// 1. The public result tables (benchmark/plot_viewer_v1/data): experiments.csv, reasoning_tokens_vs_performance.csv (one
// line per turn), correctness_rate_by_release_date.csv, arch_instruction_correctness_by_release_date.csv,
// best_speedup_by_release_date.csv, and dates (dates.h); each plain or with .gz. What they say and do not say:
// - a turn has a label, a speed-up and reasoning tokens, and a tag of target instructions found in the PTX text. Evidence by
//   executed SASS is published per run only, by trajectory: it becomes PublishedCell.
// - correctness is the paper's rule; the strict rules are not known for correct turns.
// - trajectories come in blocks of four per prompt tag, in the runs' own order. Names of tags that the paper keeps are
//   known; the others are "dropped-<block>".
//
// 2. Run folders of the paper's implementation (import_runs.h), or a folder that holds some. A run that the tables hold too
// is taken from its folder; the note says how many turns disagree.
#pragma once

#include <filesystem>
#include <vector>

#include "ptxbench/base/result.h"
#include "ptxbench/report/import_runs.h"
#include "ptxbench/schema/observations.h"

namespace ptxbench::report {

// `keep` gets what was said in every trajectory of a run folder, as it is read.
Result<schema::Observations> import_paper(const std::vector<std::filesystem::path>& folders,
                                          const KeepTranscript& keep = {});

}  // namespace ptxbench::report
