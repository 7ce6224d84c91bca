#include "ptxbench/judge/baseline.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cmath>

namespace ptxbench::judge {
namespace {

constexpr int kTrials = 3;  // timed calls per plan when the best one is chosen; the first does not count

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

}  // namespace

Result<Baseline> Baseline::prepare(DeviceProcess& libraries, const Problem& problem,
                                   const std::vector<wire::SharedBlock>& inputs,
                                   const std::vector<std::uint64_t>& input_bytes,
                                   const std::vector<OutputShape>& outputs) {
  Baseline baseline(libraries);
  wire::PrepareBaseline request{wire_problem(problem)};
  for (std::size_t i = 0; i < inputs.size(); ++i) {
    PTXBENCH_TRY(const wire::AddressReply opened, libraries.call(wire::OpenShared{inputs[i].handle, input_bytes[i]}));
    baseline.inputs_.push_back(opened.address);
  }
  request.problem.tensors = baseline.inputs_;
  for (const OutputShape& output : outputs) {
    PTXBENCH_TRY(const wire::AddressReply block, libraries.call(wire::Alloc{bytes_of(output)}));
    baseline.outputs_.push_back(block.address);
    request.problem.tensors.push_back(block.address);
  }
  Result<wire::PrepareBaselineReply> reply = libraries.call(request);
  if (!reply) {
    baseline.problem_ = reply.error().message;
    return baseline;
  }
  baseline.handle_ = reply->handle;
  baseline.plans_ = std::move(reply->plans);
  baseline.problem_ = fmt::format("{}", fmt::join(reply->notes, "; "));
  if (problem.operation == schema::Operation::kAttentionBackward) {
    const auto& in = baseline.inputs_;  // Q K V O dO L
    request.problem.operation = wire::Operation::kAttentionForward;
    request.problem.tensors = {in[0], in[1], in[2], in[3], in[5]};
    // Without it the trusted process computes them, which takes longer.
    if (const auto forward = libraries.call(request)) baseline.forward_ = forward->handle;
  }
  return baseline;
}

void Baseline::close() {
  for (const std::uint64_t address : inputs_) static_cast<void>(libraries_->call(wire::CloseShared{address}));
  for (const std::uint64_t address : outputs_) static_cast<void>(libraries_->call(wire::Free{address}));
  inputs_.clear();
  outputs_.clear();
}

Status Baseline::forward() const {
  PTXBENCH_TRY_STATUS(libraries_->call(wire::RunBaseline{*forward_, 0, wire::ReplayMode::kCheck, 0}));
  return {};
}

Status Baseline::run(const BaselineCalls& chosen, std::uint64_t flush, Calls& calls) const {
  PTXBENCH_TRY(wire::MeasureReport report,
               libraries_->call(wire::RunBaseline{handle_, chosen.number, wire::ReplayMode::kTime, flush}));
  calls.push_back(std::move(report));
  return {};
}

Result<std::vector<BaselineCalls>> Baseline::choose(std::uint64_t flush) const {
  std::vector<BaselineCalls> best;
  std::vector<double> best_ms;
  for (std::uint32_t number = 0; number < plans_.size(); ++number) {
    const wire::BaselinePlan& plan = plans_[number];
    BaselineCalls trial{plan, 1, {}, number};
    for (int i = 0; i < kTrials; ++i) PTXBENCH_TRY_STATUS(run(trial, flush, trial.calls));
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

}  // namespace ptxbench::judge
