// What a report's page holds, as JSON for its scripts. Columns instead of records: a page of 100,000 turns stays small.
#pragma once

#include <string>

#include "ptxbench/schema/observations.h"
#include "ptxbench/schema/trajectory.h"

namespace ptxbench::schema {

// {source, notes, statuses, cells: [...], trajectories: {id, cell, pack, planned}, turns: {trajectory, turn, status,
// correct_paper, ...}}; three-valued fields are 1, 0 or -1 (not known), numbers null where they are not known.
std::string to_page_json(const Observations& observations);

// One trajectory for the drill-down: {id, turns: [{turn, status, answer, reasoning, extraction, source, verdicts,
// feedback}]}. Verdicts without the judge's seed.
std::string to_page_json(const Trajectory& trajectory);

// For use inside a <script> element: no "</script" and no "<!--" can stand in it.
std::string script_safe(std::string json);

}  // namespace ptxbench::schema
