#include "ptxbench/wire/device_handler.h"

namespace ptxbench::wire {
namespace {

tl::unexpected<Failure> cannot(const DeviceHandler& device, const char* what, const char* call) {
  return refuse(Code::kNotSupported, device.name() + " does not " + what, call);
}

}  // namespace

Answer<void> DeviceHandler::begin_measure(const MeasureOrder& order) {
  switch (order.mode) {
    case ReplayMode::kCheck: return {};
    case ReplayMode::kTime: return cannot(*this, "measure time", "Replay(kTime)");
    case ReplayMode::kCount: return cannot(*this, "count the instructions of a replay", "Replay(kCount)");
  }
  return {};
}

Answer<void> DeviceHandler::set_kernel_attribute(std::uint32_t, std::string_view, KernelAttribute, std::int32_t) {
  return {};
}

std::optional<Answer<OccupancyReply>> DeviceHandler::occupancy(std::uint32_t, std::string_view, const LaunchGeometry&) {
  return std::nullopt;
}

Answer<SharedBlock> DeviceHandler::alloc_shared(std::uint64_t) {
  return cannot(*this, "share memory with another process", "AllocShared");
}

Answer<std::uint64_t> DeviceHandler::open_shared(const ShareHandle&, std::uint64_t) {
  return cannot(*this, "share memory with another process", "OpenShared");
}

Answer<void> DeviceHandler::close_shared(std::uint64_t) {
  return cannot(*this, "share memory with another process", "CloseShared");
}

Answer<PrepareBaselineReply> DeviceHandler::prepare_baseline(const BaselineProblem&) {
  return cannot(*this, "run vendor libraries", "PrepareBaseline");
}

Answer<MeasureReport> DeviceHandler::run_baseline(std::uint32_t, std::uint32_t, const MeasureOrder&) {
  return cannot(*this, "run vendor libraries", "RunBaseline");
}

Answer<Telemetry> DeviceHandler::telemetry() {
  return cannot(*this, "have clocks, power or temperature", "GetTelemetry");
}

}  // namespace ptxbench::wire
