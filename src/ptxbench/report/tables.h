// From measured groups to the tables that people and programs read.
#pragma once

#include <string>
#include <vector>

#include "ptxbench/report/metrics.h"
#include "ptxbench/schema/table.h"

namespace ptxbench::report {

// One row per group and k: rates of both kinds with counts and intervals, speed-ups.
schema::Table rates_table(const std::vector<Group>& groups, const MetricsRequest& request, const std::vector<int>& ks);

// pass@j over whole trajectories (success within max_turns), j in 1, 2, 4, 8, 16 up to the number of trajectories.
schema::Table pass_table(const std::vector<Group>& groups, const MetricsRequest& request);

// One row per group and status: turns, share, and what the next turn became.
schema::Table status_table(const std::vector<Group>& groups, const MetricsRequest& request);

// Tokens, money and time: totals, and per correct trajectory. A total over turns of which some are not known says so.
schema::Table cost_table(const std::vector<Group>& groups, const MetricsRequest& request);

// The published cells beside the same figures from single turns. Empty when nothing is published.
schema::Table published_table(const schema::Observations& data);

// For a terminal: a line per group and k, rates with their counts and intervals in one cell.
schema::Table summary_table(const std::vector<Group>& groups, const MetricsRequest& request,
                            const std::vector<int>& ks);

// Columns of text, right-aligned numbers, rates in percent.
std::string render(const schema::Table& table);

}  // namespace ptxbench::report
