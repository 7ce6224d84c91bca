// Questions that are asked of results again and again, with a name: how to group, what to leave out, what to compare.
#pragma once

#include <string_view>
#include <vector>

#include "ptxbench/report/comparison.h"
#include "ptxbench/report/metrics.h"
#include "ptxbench/schema/table.h"

namespace ptxbench::report {

struct Study {
  std::string_view name, what;
  std::vector<Attribute> by;
  std::vector<Condition> (*only)(const schema::Observations&);  // may be null: everything
  std::vector<Pair> (*pairs)(const schema::Observations&);      // may be null: nothing is compared
};
const std::vector<Study>& studies();

// Where the study needs days: a row per group, by the model's date, with the days from the release of its target's
// instruction set. The groups are of target and model.
schema::Table time_table(const schema::Observations& data, const std::vector<Group>& groups,
                         const MetricsRequest& request);

// By date of the model, groups without one last.
void sort_by_date(std::vector<Group>& groups, const schema::Observations& data);

}  // namespace ptxbench::report
