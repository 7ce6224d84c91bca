// The library baselines of a GpuDevice.
#include <fmt/format.h>
#include <fmt/ranges.h>

#include "ptxbench/gpu/device.h"

namespace ptxbench::gpu {
namespace {

using wire::Answer;
using wire::Code;

BaselineTask task_of(const wire::BaselineProblem& problem) {
  BaselineTask task;
  switch (problem.operation) {
    case wire::Operation::kGemmNt: task.operation = BaselineOperation::kGemmNt; break;
    case wire::Operation::kAttentionForward: task.operation = BaselineOperation::kAttentionForward; break;
    case wire::Operation::kAttentionBackward: task.operation = BaselineOperation::kAttentionBackward; break;
  }
  task.m = problem.m, task.n = problem.n, task.k = problem.k;
  task.batch = problem.batch, task.heads_q = problem.heads_q, task.heads_kv = problem.heads_kv;
  task.seq_q = problem.seq_q, task.seq_kv = problem.seq_kv, task.head_dim = problem.head_dim;
  task.causal = problem.causal;
  task.scale = problem.scale;
  task.tensors = problem.tensors;
  return task;
}

}  // namespace

Answer<wire::PrepareBaselineReply> GpuDevice::prepare_baseline(const wire::BaselineProblem& problem) {
  if (auto ok = context_->usable(); !ok) return tl::unexpected(ok.error());
  Result<Baselines> prepared = Baselines::prepare(task_of(problem));
  if (!prepared) return wire::refuse(Code::kNotSupported, prepared.error().format(), "PrepareBaseline");
  wire::PrepareBaselineReply reply;
  reply.handle = static_cast<std::uint32_t>(baselines_.size());
  for (const BaselinePlan& plan : prepared->plans()) {
    reply.plans.push_back({plan.library, plan.version, plan.description, plan.workspace_bytes});
  }
  reply.notes = prepared->notes();
  baselines_.push_back(std::move(*prepared));
  return reply;
}

Answer<wire::MeasureReport> GpuDevice::run_baseline(std::uint32_t handle, std::uint32_t plan,
                                                    const wire::MeasureOrder& order) {
  if (handle >= baselines_.size() || plan >= baselines_[handle].plans().size()) {
    return wire::refuse(Code::kInvalidResourceHandle, fmt::format("no plan {} of baseline {}", plan, handle));
  }
  Baselines& baselines = baselines_[handle];
  std::uint64_t workspace = 0;
  if (const std::uint64_t bytes = baselines.workspace_bytes(); bytes > 0) {
    Answer<std::uint64_t> block = context_->scratch("baseline workspace", bytes);
    if (!block) return tl::unexpected(block.error());
    workspace = *block;
  }
  return meter_.measure(order, [&]() -> Answer<void> {
    const Status enqueued = baselines.enqueue(plan, workspace, context_->stream());
    if (enqueued) return {};
    return wire::refuse(Code::kUnknown, enqueued.error().format());
  });
}

}  // namespace ptxbench::gpu
