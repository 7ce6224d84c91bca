#include "ptxbench/judge/timed_calls.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cmath>

namespace ptxbench::judge {
namespace {

constexpr int kTrials = 3;        // timed calls per plan when the best one is chosen; the first does not count
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

std::uint64_t bytes_of(const OutputShape& shape) {
  return static_cast<std::uint64_t>(shape.elements()) * (shape.dtype == schema::DType::kFloat32 ? 4 : 2);
}

wire::BaselineProblem wire_problem(const Problem& problem) {
  wire::BaselineProblem p;
  const AttentionShape& shape = problem.attention;
  p.operation = static_cast<wire::Operation>(problem.operation);
  if (problem.operation == schema::Operation::kGemmNt) {
    p.m = static_cast<std::uint32_t>(problem.m), p.n = static_cast<std::uint32_t>(problem.n);
    p.k = static_cast<std::uint32_t>(problem.k);
    return p;
  }
  p.batch = static_cast<std::uint32_t>(shape.batch), p.head_dim = static_cast<std::uint32_t>(shape.dim);
  p.heads_q = static_cast<std::uint32_t>(shape.heads), p.heads_kv = static_cast<std::uint32_t>(shape.kv_heads);
  p.seq_q = p.seq_kv = static_cast<std::uint32_t>(shape.length);
  p.causal = shape.causal;
  p.scale = 1 / std::sqrt(static_cast<float>(shape.dim));
  return p;
}

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
        flush_(flush_bytes(trusted)) {}

  Result<TimedCallsOutcome> run();

 private:
  Status fresh_inputs(int call);
  Status measure_candidate(int call);
  Status measure_baselines();
  Status check(int call);
  bool over() const { return outcome_.hung || outcome_.wrong || outcome_.fault; }

  const TimedCallsOrder& order_;
  CandidateSession& candidate_;
  DeviceLink& link_;
  DeviceProcess& trusted_;
  DeviceWorkbench& bench_;
  const Baseline& baseline_;
  const std::uint64_t flush_;
  TimedCallsOutcome outcome_;
};

Status TimedCalls::fresh_inputs(int call) {
  PTXBENCH_TRY_STATUS(bench_.draw_inputs(order_.problem, link_.inputs(), order_.seed, kFirstRun + call));
  return link_.push();
}

Status TimedCalls::measure_candidate(int call) {
  Result<wire::RunReply> reply = candidate_.replay({wire::ReplayMode::kTime, wire::Schedule::kLatest, flush_});
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
  for (BaselineCalls& one : outcome_.data.baselines)
    PTXBENCH_TRY_STATUS(baseline_.run(trusted_, one, flush_, one.calls));
  return {};
}

Status TimedCalls::check(int call) {
  PTXBENCH_TRY_STATUS(link_.pull());
  constexpr std::uint64_t kCheckStreams = std::uint64_t{1} << 62;  // apart from those of all inputs
  PTXBENCH_TRY(DeviceWorkbench::CallCheck checked,
               bench_.check_call(order_.problem, link_.inputs(), order_.outputs, link_.outputs(),
                                 PhiloxStream(order_.seed, kCheckStreams + static_cast<std::uint64_t>(call))));
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
  return {};
}

Result<TimedCallsOutcome> TimedCalls::run() {
  PTXBENCH_TRY_STATUS(fresh_inputs(-1));
  outcome_.data.warm_ups = order_.warm_ups;
  outcome_.data.baseline_problem = baseline_.problem();
  PTXBENCH_TRY(outcome_.data.baselines, baseline_.choose(trusted_, flush_));
  for (int call = 0; call < order_.warm_ups + order_.calls && !over(); ++call) {
    // An idle card clocks down: its state is read when it has warmed up.
    if (call == order_.warm_ups) {
      PTXBENCH_TRY(outcome_.data.before, trusted_.call(wire::GetTelemetry{}));
    }
    PTXBENCH_TRY_STATUS(fresh_inputs(call));
    // In turns, so that neither always runs on the warmer card.
    if (call % 2 == 1) PTXBENCH_TRY_STATUS(measure_baselines());
    PTXBENCH_TRY_STATUS(measure_candidate(call));
    if (over()) break;
    if (call % 2 == 0) PTXBENCH_TRY_STATUS(measure_baselines());
    PTXBENCH_TRY_STATUS(check(call));
  }
  PTXBENCH_TRY(outcome_.data.after, trusted_.call(wire::GetTelemetry{}));
  return std::move(outcome_);
}

}  // namespace

Result<Baseline> Baseline::prepare(DeviceProcess& trusted, const Problem& problem,
                                   const std::vector<std::uint64_t>& inputs, const std::vector<OutputShape>& outputs) {
  Baseline baseline;
  wire::PrepareBaseline request{wire_problem(problem)};
  request.problem.tensors = inputs;
  for (const OutputShape& output : outputs) {
    PTXBENCH_TRY(const wire::AddressReply block, trusted.call(wire::Alloc{bytes_of(output)}));
    baseline.outputs_.push_back(block.address);
    request.problem.tensors.push_back(block.address);
  }
  Result<wire::PrepareBaselineReply> reply = trusted.call(request);
  if (!reply) {
    baseline.problem_ = reply.error().message;
    return baseline;
  }
  baseline.handle_ = reply->handle;
  baseline.plans_ = std::move(reply->plans);
  baseline.problem_ = fmt::format("{}", fmt::join(reply->notes, "; "));
  return baseline;
}

void Baseline::close(DeviceProcess& trusted) {
  for (const std::uint64_t address : outputs_) static_cast<void>(trusted.call(wire::Free{address}));
  outputs_.clear();
}

Status Baseline::run(DeviceProcess& trusted, const BaselineCalls& chosen, std::uint64_t flush, Calls& calls) const {
  PTXBENCH_TRY(wire::MeasureReport report,
               trusted.call(wire::RunBaseline{handle_, chosen.number, wire::ReplayMode::kTime, flush}));
  calls.push_back(std::move(report));
  return {};
}

Result<std::vector<BaselineCalls>> Baseline::choose(DeviceProcess& trusted, std::uint64_t flush) const {
  std::vector<BaselineCalls> best;
  std::vector<double> best_ms;
  for (std::uint32_t number = 0; number < plans_.size(); ++number) {
    const wire::BaselinePlan& plan = plans_[number];
    BaselineCalls trial{plan, 1, {}, number};
    for (int i = 0; i < kTrials; ++i) PTXBENCH_TRY_STATUS(run(trusted, trial, flush, trial.calls));
    double ms = HUGE_VAL;
    for (int i = 1; i < kTrials; ++i)
      if (const double span = span_ms(trial.calls[i]); span > 0) ms = std::min(ms, span);
    trial.calls.clear();
    const auto same = std::find_if(best.begin(), best.end(),
                                   [&](const BaselineCalls& one) { return one.plan.library == plan.library; });
    if (same == best.end()) {
      best.push_back(std::move(trial));
      best_ms.push_back(ms);
      continue;
    }
    const int plans = same->plans + 1;
    if (double& known = best_ms[same - best.begin()]; ms < known) {
      known = ms;
      *same = std::move(trial);
    }
    same->plans = plans;
  }
  return best;
}

Result<TimedCallsOutcome> time_calls(const TimedCallsOrder& order, CandidateSession& candidate, DeviceLink& link,
                                     DeviceProcess& trusted, DeviceWorkbench& bench, const Baseline& baseline) {
  return TimedCalls(order, candidate, link, trusted, bench, baseline).run();
}

}  // namespace ptxbench::judge
