#include "ptxbench/wire/recorder.h"

#include <fmt/format.h>

namespace ptxbench::wire {

void Recorder::add(Step step) {
  if (!full()) steps_.push_back(std::move(step));
}

void Recorder::add_host_write(std::uint64_t address, std::uint32_t stream, std::span<const std::byte> bytes) {
  Step step;
  step.record = {CommandKind::kHostWrite, stream, address, 0, bytes.size(), 0};
  if (kept_bytes_ + bytes.size() <= kMaxKeptBytes) {
    kept_bytes_ += bytes.size();
    step.data.assign(reinterpret_cast<const char*>(bytes.data()), bytes.size());
  } else {
    writes_dropped_ = true;
  }
  add(std::move(step));
}

void Recorder::add_launch(Step step, LaunchRecord launch) {
  if (full()) return;
  const bool detailed = launch.families.empty() ? kept_instructions_ + launch.instructions.size() <= kMaxInstructions
                                                : launches_.size() < kDetailedLaunches;
  if (!detailed && !launch.trap) launch.instructions.clear();
  kept_instructions_ += launch.instructions.size();
  step.record.kind = CommandKind::kLaunch;
  step.record.launch = static_cast<std::uint32_t>(launches_.size());
  steps_.push_back(std::move(step));
  launches_.push_back(std::move(launch));
}

std::string Recorder::blame(const TrapRecord& trap) {
  if (launches_.empty()) return {};
  LaunchRecord& last = launches_.back();
  for (const LaunchRecord& launch : launches_)
    if (launch.kernel != last.kernel) return {};
  last.trap = trap;
  return last.kernel;
}

void Recorder::add_refusal(Refusal refusal) {
  for (const Refusal& known : refusals_) {
    if (known.call == refusal.call && known.why == refusal.why) return;
  }
  if (refusals_.size() < 64) refusals_.push_back(std::move(refusal));
}

void Recorder::add_failure(ApiFailure failure) {
  for (const ApiFailure& known : failures_) {
    if (known.code == failure.code && known.message == failure.message) return;
  }
  if (failures_.size() < 64) failures_.push_back(std::move(failure));
}

std::string Recorder::replay_obstacle() const {
  if (writes_dropped_) {
    return fmt::format("the run copied more than {} MiB from the host", kMaxKeptBytes >> 20);
  }
  if (full()) return fmt::format("the run has more than {} commands", kMaxSteps);
  if (sticky_code_ != 0) return "the run ended with a device error";
  for (const Step& step : steps_) {
    if (step.record.kind == CommandKind::kFree) {
      return "the run frees device memory that its own commands use; replay needs it to stay";
    }
  }
  return {};
}

RunReply Recorder::report() const {
  RunReply reply;
  reply.commands.reserve(steps_.size());
  for (const Step& step : steps_) reply.commands.push_back(step.record);
  reply.launches = launches_;
  reply.refusals = refusals_;
  reply.failures = failures_;
  reply.sticky_code = sticky_code_;
  reply.sticky_message = sticky_message_;
  return reply;
}

}  // namespace ptxbench::wire
