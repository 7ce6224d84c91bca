// What a report's page holds, as JSON for its scripts. Columns instead of records: a page of 100,000 turns stays small.
#pragma once

#include <string>

#include "ptxbench/schema/observations.h"
#include "ptxbench/schema/trajectory.h"
#include "ptxbench/schema/transcript.h"

namespace ptxbench::schema {

// {source, notes, statuses, references, cells: [...], trajectories: {id, cell, pack, planned, open}, turns: {trajectory, turn, status,
// correct_paper, ...}}; three-valued fields are 1, 0 or -1 (not known), numbers null where they are not known, and whole
// columns of costs where nothing is.
std::string to_page_json(const Observations& observations);

// What a run's log says of one trajectory, for the drill-down. Verdicts without the judge's seed.
Transcript transcript_of(const Trajectory& trajectory);

// For use inside a <script> element: no "</script" and no "<!--" can stand in it.
std::string script_safe(std::string json);

}  // namespace ptxbench::schema
