// The nine labels under which the PTXBench paper counts turns, and what they become here.
#pragma once

#include <string>
#include <string_view>

#include "ptxbench/base/result.h"
#include "ptxbench/schema/observations.h"
#include "ptxbench/schema/paper_run.h"

namespace ptxbench::report {

// The status of a label; none if it is not one of the nine. Two time-outs of the service say nothing about the kernel and
// become INFRA_ERROR.
std::optional<schema::TurnStatus> status_of_paper_label(std::string_view label);

// The label that the paper's export gives a turn: by words in its feedback, the first rule that fits (export_turn_
// correctness_arch.py of the published code). What a kernel prints stands in the feedback too and can decide the label.
std::string_view paper_label(std::string_view feedback);

// The label's status, finer where the run says more than the label: an "Other error" can be a refusal, a wrong shape or a
// failure of the service.
schema::TurnStatus status_of(const schema::PaperTurn& turn, std::string_view label);

// What every import has in common: correct under the paper's rule by the label; under the strict rules certainly wrong when
// wrong under the paper's, and otherwise not known.
void set_correct(schema::TurnRecord& record, std::string_view label);

}  // namespace ptxbench::report
