// The measured calls of a candidate on a GPU: 10 warm-ups and 50 timed ones, each with inputs that were never seen before,
// poisoned outputs and a flushed L2, alternating with the strongest vendor library on the same inputs. Every call's outputs
// are verified. What the times amount to is time_rules.h.
//
// Three device processes take part. The trusted one draws the inputs and checks outputs (device_link.h); the libraries'
// has the same inputs mapped (baseline.h); the candidate's gets copies and never holds a seed or an expected value.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "ptxbench/base/result.h"
#include "ptxbench/judge/baseline.h"
#include "ptxbench/judge/candidate_session.h"
#include "ptxbench/judge/compare.h"
#include "ptxbench/judge/device_link.h"
#include "ptxbench/judge/problem.h"
#include "ptxbench/judge/time_rules.h"
#include "ptxbench/judge/workbench.h"

namespace ptxbench::judge {

inline constexpr int kWarmUps = 10, kTimedCalls = 50;

struct TimedCallsOrder {
  Problem problem;
  std::vector<OutputShape> outputs;  // in the definition's order
  std::uint64_t seed = 0;
  schema::RuleSet rules = schema::RuleSet::kStrict;
  int warm_ups = kWarmUps, calls = kTimedCalls;
};

struct TimedCallsOutcome {
  TimingData data;  // required_flops and byte counts are left to the caller
  // The candidate's fault, and the end of measuring, if one is set:
  std::optional<schema::FamilyFigures> wrong;  // outputs of a call; run is left to the caller
  std::optional<wire::RunReply> fault;         // a call ended in an error of the device
  bool hung = false;                           // a call did not end; the candidate's device process was ended
};

// The candidate has run once, so that there is a command list. An Error is the infrastructure's.
Result<TimedCallsOutcome> time_calls(const TimedCallsOrder& order, CandidateSession& candidate, DeviceLink& link,
                                     DeviceProcess& trusted, DeviceWorkbench& bench, const Baseline& baseline);

}  // namespace ptxbench::judge
