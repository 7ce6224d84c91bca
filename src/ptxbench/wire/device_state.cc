#include <fmt/format.h>

#include "ptxbench/wire/session.h"

namespace ptxbench::wire {
namespace {

constexpr std::uint32_t kReplayClient = 0xFFFFFFFF;

std::uint64_t fnv1a(std::string_view bytes) {
  std::uint64_t hash = 0xcbf29ce484222325;
  for (const char byte : bytes) hash = (hash ^ static_cast<unsigned char>(byte)) * 0x100000001b3;
  return hash;
}

}  // namespace

Answer<void> DeviceState::launch(std::uint32_t client, const Kernel& kernel, Recorder::Step step,
                                 std::string* printf_output) {
  if (auto ok = check_launch(info, kernel.info, kernel.limits, step.geometry, step.data.size()); !ok) return ok;
  const Module& module = modules.at(kernel.module);

  LaunchOrder order;
  order.module = module.device_module;
  order.kernel = kernel.info.name;
  order.geometry = step.geometry;
  // All zero stays: a launch without a cluster is not one with a cluster of one CTA (%is_explicit_cluster).
  if (order.geometry.cluster == Dim3{0, 0, 0}) order.geometry.cluster = kernel.info.required_cluster;
  order.params = std::as_bytes(std::span(step.data));
  order.schedule = limits.schedule;
  order.work_limit = limits.work_limit;
  if (limits.deadline.count() > 0) {
    // An exhausted budget still lets the kernel start, so that its trap names the place.
    order.deadline = std::max(limits.deadline - limits.spent, std::chrono::milliseconds{1});
  }
  const auto start = std::chrono::steady_clock::now();
  Answer<LaunchReport> report = handler.launch(order);
  limits.spent += std::chrono::duration_cast<std::chrono::milliseconds>(std::chrono::steady_clock::now() - start);
  if (!report) return tl::unexpected(report.error());

  logical_ns += 1000 + report->warp_instructions;
  if (printf_output != nullptr) *printf_output += report->printf_output;
  if (report->trap) take_trap(kernel.info.name, client, report->code, *report->trap);
  if (recorder.records(client)) {
    LaunchRecord record;
    record.kernel = kernel.info.name;
    record.module_sha256 = module.sha256;
    record.geometry = order.geometry;
    record.params_hash = fnv1a(step.data);
    record.families = std::move(report->families);
    record.instructions = std::move(report->instructions);
    record.thread_instructions = report->thread_instructions;
    record.warp_instructions = report->warp_instructions;
    record.trap = std::move(report->trap);
    recorder.add_launch(std::move(step), std::move(record));
  }
  return {};
}

void DeviceState::take_trap(std::string_view kernel, std::uint32_t client, Code code, const TrapRecord& trap) {
  sticky = code == Code::kSuccess ? Code::kLaunchFailure : code;
  sticky_message =
      fmt::format("{}: {}", kernel.empty() ? "one of several kernels" : fmt::format("kernel '{}'", kernel), trap.text);
  if (recorder.records(client)) recorder.set_sticky(static_cast<std::int32_t>(sticky), sticky_message);
}

// Until a command fails or traps.
Answer<void> DeviceState::repeat(const std::vector<Recorder::Step>& steps) {
  Answer<void> done;
  for (const Recorder::Step& step : steps) {
    const CommandRecord& c = step.record;
    switch (c.kind) {
      case CommandKind::kHostWrite: done = handler.write(c.address, std::as_bytes(std::span(step.data))); break;
      case CommandKind::kCopy: done = handler.copy(c.address, c.source, c.bytes); break;
      case CommandKind::kFill: done = handler.fill(c.address, step.pattern, step.width, c.bytes / step.width); break;
      case CommandKind::kLaunch: {
        const auto kernel = kernels.find(step.kernel);
        done = kernel == kernels.end() ? refuse(Code::kInvalidResourceHandle, "a module of the run was unloaded")
                                       : launch(kReplayClient, kernel->second, step, nullptr);
        break;
      }
      case CommandKind::kAlloc:  // still there, and its contents are what the kernels made of them
      case CommandKind::kFree:
      case CommandKind::kHostRead: break;
    }
    if (!done || sticky != Code::kSuccess) break;
  }
  return done;
}

Answer<RunReply> DeviceState::replay(const Replay& request) {
  if (const std::string obstacle = recorder.replay_obstacle(); !obstacle.empty()) {
    return refuse(Code::kNotSupported, "the run cannot be replayed: " + obstacle, "replay");
  }
  if (sticky != Code::kSuccess) return refuse(sticky, sticky_message);
  limits = {request.schedule, request.work_limit, std::chrono::milliseconds{request.deadline_ms}, {}};
  if (Answer<void> begun = handler.begin_measure({request.mode, request.flush_bytes, limits.deadline}); !begun) {
    return tl::unexpected(begun.error());
  }
  const Recorder original = std::move(recorder);
  recorder.start(kReplayClient);
  const Answer<void> done = repeat(original.steps());
  Answer<MeasureResult> measured = handler.end_measure();
  if (measured && measured->trap && sticky == Code::kSuccess) {
    take_trap(recorder.blame(*measured->trap), kReplayClient, measured->code, *measured->trap);
  }
  RunReply reply = recorder.report();
  recorder = original;
  if (!done) return tl::unexpected(done.error());
  if (!measured) return tl::unexpected(measured.error());
  reply.times = std::move(measured->report.times);
  reply.wall_ns = measured->report.wall_ns;
  reply.void_reason = std::move(measured->report.void_reason);
  return reply;
}

}  // namespace ptxbench::wire
