// Launches and replays of a GpuDevice.
#include <fmt/format.h>

#include "ptxbench/gpu/device.h"
#include "ptxbench/gpu/faults.h"

namespace ptxbench::gpu {

using wire::Answer;
using wire::Code;

namespace {

constexpr std::size_t kMaxPrintf = 1 << 20;

}  // namespace

Answer<wire::LaunchReport> GpuDevice::launch(const wire::LaunchOrder& order) {
  Answer<const Kernel*> kernel = modules_.kernel(order.module, order.kernel);
  if (!kernel) return tl::unexpected(kernel.error());
  if (order.params.size() != (*kernel)->info.param_bytes) {
    return wire::refuse(Code::kInvalidValue,
                        fmt::format("kernel '{}' takes {} bytes of parameters, not {}", order.kernel,
                                    (*kernel)->info.param_bytes, order.params.size()));
  }
  if (counting()) {
    if (Status armed = counter_->arm(); !armed) count_void_ = armed.error().format();
  }
  LaunchSetup setup((*kernel)->info, order.geometry, order.params, context_->stream());
  const CUresult r = context_->driver().launch(&setup.config(), (*kernel)->function(), setup.arguments(), nullptr);
  if (is_fault(r)) {  // of an earlier command of a timed replay
    wire::LaunchReport report;
    report.trap = trap_of({Context::End::kFault, r}, order.deadline, context_->driver(),
                          "a command that was not waited for, before " + describe_launch(order.kernel, order.geometry));
    report.code = code_of(r);
    static_cast<void>(context_->failure(r, "launch"));
    return report;
  }
  if (r != CUDA_SUCCESS) {
    if (counter_) counter_->disarm();
    return context_->failure(r, fmt::format("launch of kernel '{}'", order.kernel));
  }
  if (meter_.timing()) {
    commands_.push_back({wire::CommandKind::kLaunch, launches_++});
    return wire::LaunchReport{};
  }
  if (batch_) return wire::LaunchReport{};
  return await_launch(order);
}

Answer<wire::LaunchReport> GpuDevice::await_launch(const wire::LaunchOrder& order) {
  wire::LaunchReport report;
  const Context::Wait wait = context_->wait(order.deadline);
  report.printf_output = output_.take(kMaxPrintf);
  if (wait.end != Context::End::kDone) {
    report.trap = trap_of(wait, order.deadline, context_->driver(), describe_launch(order.kernel, order.geometry));
    report.code = code_of(wait.result);
    return report;
  }
  if (!counting()) return report;
  Result<std::vector<wire::InstructionRecord>> counts = counter_->take(order.kernel);
  if (!counts) {
    counter_->disarm();
    count_void_ = counts.error().format();
    return report;
  }
  report.instructions = std::move(*counts);
  for (const wire::InstructionRecord& one : report.instructions) {
    report.warp_instructions += one.warp_instructions;
    report.thread_instructions += one.thread_instructions;
  }
  return report;
}

Status GpuDevice::prepare_counting() {
  PTXBENCH_TRY_STATUS(meter_.make_way_for_counting());
  if (!counter_) {
    PTXBENCH_TRY(counter_, InstructionCounter::open(*context_));
  }
  return {};
}

Answer<void> GpuDevice::begin_measure(const wire::MeasureOrder& order) {
  mode_ = order.mode;
  commands_.clear();
  launches_ = 0;
  count_void_.clear();
  if (mode_ == wire::ReplayMode::kCount) {
    if (auto ok = context_->usable(); !ok) return ok;
    if (Status ready = prepare_counting(); !ready) count_void_ = ready.error().format();
  }
  return meter_.begin(order);
}

Answer<wire::MeasureResult> GpuDevice::end_measure() {
  Answer<wire::MeasureResult> result = meter_.end(&commands_);
  static_cast<void>(output_.take(0));
  if (result && mode_ == wire::ReplayMode::kCount) result->report.void_reason = std::exchange(count_void_, {});
  mode_ = wire::ReplayMode::kCheck;
  return result;
}

}  // namespace ptxbench::gpu
