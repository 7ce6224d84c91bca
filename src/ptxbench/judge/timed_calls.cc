#include "ptxbench/judge/timed_calls.h"

#include <fmt/format.h>

#include <algorithm>

#include "ptxbench/judge/workbench_calls.h"

namespace ptxbench::judge {
namespace {

constexpr int kFirstRun = 1'000;  // streams of timed calls: beyond those of the correctness runs
constexpr std::uint64_t kLeastFlush = std::uint64_t{256} << 20;

std::uint64_t flush_bytes(const DeviceProcess& device) {
  constexpr std::size_t kL2Attribute = 38;  // cudaDevAttrL2CacheSize
  const auto& attributes = device.hello().info.attributes;
  const std::int32_t l2 = attributes.size() > kL2Attribute ? attributes[kL2Attribute] : 0;
  return std::max(kLeastFlush, 2 * static_cast<std::uint64_t>(std::max(l2, 0)));
}

wire::MeasureReport report_of(wire::RunReply& reply) {
  return {std::move(reply.times), reply.wall_ns, std::move(reply.void_reason)};
}

// One call: the inputs are drawn, the candidate takes them in, runs and hands its outputs out, the libraries run on the same
// inputs, and the outputs are checked. The check of a call and the inputs of the next travel together.
class TimedCalls {
 public:
  TimedCalls(const TimedCallsOrder& order, CandidateSession& candidate, DeviceLink& link, DeviceProcess& trusted,
             DeviceWorkbench& bench, const Baseline& baseline)
      : order_(order),
        candidate_(candidate),
        link_(link),
        trusted_(trusted),
        bench_(bench),
        baseline_(baseline),
        normal_{wire::Schedule::kLatest, std::vector<Family>(order.problem.units(), Family::kNormal)},
        flush_(flush_bytes(trusted)) {}

  Result<TimedCallsOutcome> run();

 private:
  Status fresh_inputs(int call);
  Status measure_candidate(int call);
  Status measure_baselines();
  Status check_and_draw(int call);
  void take_check(int call, DeviceWorkbench::CallCheck checked);
  bool over() const { return outcome_.hung || outcome_.wrong || outcome_.fault; }
  int calls() const { return order_.warm_ups + order_.calls; }

  const TimedCallsOrder& order_;
  CandidateSession& candidate_;
  DeviceLink& link_;
  DeviceProcess& trusted_;
  DeviceWorkbench& bench_;
  const Baseline& baseline_;
  const RunPlan normal_;
  const std::uint64_t flush_;
  TimedCallsOutcome outcome_;
};

Status TimedCalls::fresh_inputs(int call) {
  const bool forward = baseline_.has_forward();
  PTXBENCH_TRY_STATUS(
      bench_.draw_inputs(order_.problem, normal_, link_.inputs(), order_.seed, kFirstRun + call,
                         forward ? DeviceWorkbench::Forward::kGiven : DeviceWorkbench::Forward::kComputed));
  if (forward) {
    PTXBENCH_TRY_STATUS(trusted_.flush());  // what the library reads
    PTXBENCH_TRY_STATUS(baseline_.forward());
  }
  return link_.publish();
}

Status TimedCalls::measure_candidate(int call) {
  Result<wire::RunReply> reply =
      candidate_.replay({wire::ReplayMode::kTime, wire::Schedule::kLatest, flush_, link_.take_in(), link_.hand_out()});
  if (!reply && reply.error().kind == ErrorKind::kTimeout) {
    outcome_.hung = true;
    return {};
  }
  if (!reply) return fail(std::move(reply).error());
  if (reply->sticky_code != 0) {
    outcome_.fault = std::move(*reply);
    return {};
  }
  if (call == 0)
    for (const wire::LaunchRecord& launch : reply->launches) outcome_.data.kernels.push_back(launch.kernel);
  outcome_.data.candidate.push_back(report_of(*reply));
  return {};
}

Status TimedCalls::measure_baselines() {
  for (BaselineCalls& one : outcome_.data.baselines) PTXBENCH_TRY_STATUS(baseline_.run(one, flush_, one.calls));
  return {};
}

Status TimedCalls::check_and_draw(int call) {
  constexpr std::uint64_t kCheckStreams = std::uint64_t{1} << 62;  // apart from those of all inputs
  PTXBENCH_TRY(const auto check,
               bench_.check_call(order_.problem, link_.inputs(), order_.outputs, link_.outputs(),
                                 PhiloxStream(order_.seed, kCheckStreams + static_cast<std::uint64_t>(call))));
  if (call + 1 < calls())
    PTXBENCH_TRY_STATUS(fresh_inputs(call + 1));
  else
    PTXBENCH_TRY_STATUS(trusted_.flush());
  take_check(call, check->finish());
  return {};
}

void TimedCalls::take_check(int call, DeviceWorkbench::CallCheck checked) {
  outcome_.data.verified_rows += checked.rows;
  schema::FamilyFigures family;
  family.family = "normal";
  family.what = "fresh N(0,1) inputs of a timed call, parts of the outputs checked";
  family.part = fmt::format("timed call {}", call);
  family.paper_applies = family.paper_passed = family.strict_passed = true;
  for (const schema::OutputFigures& figures : checked.figures) {
    family.paper_passed &= figures.paper_failing == 0;
    family.strict_passed &= figures.strict_failing == 0;
  }
  family.outputs = std::move(checked.figures);
  if (order_.rules == schema::RuleSet::kStrict ? family.strict_passed : family.paper_passed)
    ++outcome_.data.verified_calls;
  else
    outcome_.wrong = std::move(family);
}

Result<TimedCallsOutcome> TimedCalls::run() {
  PTXBENCH_TRY_STATUS(fresh_inputs(0));
  outcome_.data.warm_ups = order_.warm_ups;
  outcome_.data.baseline_problem = baseline_.problem();
  PTXBENCH_TRY(outcome_.data.baselines, baseline_.choose(flush_));
  for (int call = 0; call < calls() && !over(); ++call) {
    // An idle card clocks down: its state is read when it has warmed up.
    if (call == order_.warm_ups) {
      PTXBENCH_TRY(outcome_.data.before, trusted_.call(wire::GetTelemetry{}));
    }
    // In turns, so that neither always runs on the warmer card.
    if (call % 2 == 1) PTXBENCH_TRY_STATUS(measure_baselines());
    PTXBENCH_TRY_STATUS(measure_candidate(call));
    if (over()) break;
    if (call % 2 == 0) PTXBENCH_TRY_STATUS(measure_baselines());
    PTXBENCH_TRY_STATUS(check_and_draw(call));
  }
  PTXBENCH_TRY(outcome_.data.after, trusted_.call(wire::GetTelemetry{}));
  return std::move(outcome_);
}

}  // namespace

Result<TimedCallsOutcome> time_calls(const TimedCallsOrder& order, CandidateSession& candidate, DeviceLink& link,
                                     DeviceProcess& trusted, DeviceWorkbench& bench, const Baseline& baseline) {
  return TimedCalls(order, candidate, link, trusted, bench, baseline).run();
}

}  // namespace ptxbench::judge
