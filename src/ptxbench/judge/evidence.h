// The second layer: did the target instructions run, and did they do the task's work? Joins what the device process
// counted with what the task needs.
//
// paper:  a predicate-true thread executed at least one instruction of a target family, in every run.
// strict: in every run, target matrix instructions did at least 90 % of the FLOPs that the task requires, and every
//         target family executed ("TMA used").
//
// Required FLOPs are those that no honest kernel can undercut (the definition's required_flops): 2MNK for a GEMM, 4BHS^2D
// for attention forward and 10BHS^2D backward. With a causal mask a kernel may skip whole tiles; a matrix instruction
// covers 64 rows, so the r-th block of 64 query rows needs 64 (r + 1) keys, which halves these to S (S + 64) / 2 per head.
// A kernel with larger tiles does more than that, never less.
#pragma once

#include <map>
#include <string>
#include <vector>

#include "ptxbench/base/result.h"
#include "ptxbench/schema/definition.h"
#include "ptxbench/schema/verdict.h"
#include "ptxbench/wire/records.h"

namespace ptxbench::judge {

inline constexpr double kRequiredShare = 0.9;
inline constexpr std::size_t kLaunchesKept = 64;  // per run, in the record; all of them count

struct StaticCounts {
  std::map<std::string, std::int64_t> sass, ptx;  // per family; empty: not read
};

// Who counted.
struct CountSource {
  std::string name;        // "emulator", "CUPTI SASS metrics"
  std::string bytes_note;  // why the bytes of bulk copies are not known; empty: they are
};

// launches[r]: those of run r. The state is passed or failed under `rules`. An Error means that the definition's formula
// or target is broken.
Result<schema::ExecutedLayer> join_evidence(const schema::Definition& definition, const schema::AxisValues& axes,
                                            const std::string& target,
                                            const std::vector<std::vector<wire::LaunchRecord>>& launches,
                                            const StaticCounts& counts, schema::RuleSet rules,
                                            const CountSource& source);

// Bytes of all inputs read once and all outputs written once.
std::uint64_t compulsory_bytes(const schema::Definition& definition, const schema::AxisValues& axes);

}  // namespace ptxbench::judge
