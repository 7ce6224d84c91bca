// Is the difference between two groups more than chance?
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "ptxbench/base/result.h"
#include "ptxbench/report/metrics.h"
#include "ptxbench/schema/table.h"

namespace ptxbench::report {

// One attribute, two of its values: model=A against model=B.
struct Pair {
  Attribute attribute = Attribute::kModel;
  std::string a, b;
};

struct Comparison {
  Pair pair;
  int k = 8;
  bool target = false;              // the success that is compared: correct, or correct by the target's instructions
  std::vector<std::string> shared;  // "model target task workload" that both have; only these count
  std::int64_t left_out_a = 0, left_out_b = 0;  // trajectories on what the other does not have
  Rate a, b;                                    // trajectories, summed over what is shared
  double p = 1;                                 // exact, stratified by what is shared
  std::int64_t speedup_pairs = 0;               // shared workloads where both have a correct, timed turn
  std::optional<double> speedup_ratio;          // geometric mean of best A / best B over these
  std::optional<double> speedup_p;              // sign-flip test of the logarithms
  std::vector<std::string> warnings;            // why to be careful
};

// kInvalidInput when a value has no trajectory or nothing is shared.
Result<Comparison> compare(const schema::Observations& data, const MetricsRequest& request, const Pair& pair, int k,
                           bool target);

// Their p, corrected for their number.
std::vector<double> holm(const std::vector<Comparison>& comparisons);

schema::Table comparison_table(const std::vector<Comparison>& comparisons);

// In words, with the warnings.
std::string render(const Comparison& comparison);

}  // namespace ptxbench::report
