// A real GPU behind the device protocol.
#pragma once

#include <memory>
#include <optional>
#include <unordered_map>
#include <vector>

#include "ptxbench/gpu/baseline.h"
#include "ptxbench/gpu/context.h"
#include "ptxbench/gpu/counters.h"
#include "ptxbench/gpu/meter.h"
#include "ptxbench/gpu/modules.h"
#include "ptxbench/gpu/output.h"
#include "ptxbench/wire/device_handler.h"

namespace ptxbench::gpu {

struct DeviceOptions {
  int ordinal = 0;                 // among the devices that CUDA_VISIBLE_DEVICES leaves
  std::uint64_t memory_limit = 0;  // bytes that clients may allocate in all; 0: what the card has
};

// Everything runs on one stream. Outside a timed replay and a batch each command is waited for, so that a fault belongs to
// it and other processes may look at the result. After a fault or a passed deadline the process answers questions, but nothing
// touches the GPU any more; it has to end by _exit, because the driver would wait for the hung kernel.
class GpuDevice : public wire::DeviceHandler {
 public:
  static Result<std::unique_ptr<GpuDevice>> open(const DeviceOptions& options);

  Context& context() { return *context_; }
  Meter& meter() { return meter_; }

  std::string name() const override { return "device-gpu"; }
  wire::DeviceInfo info() const override;
  wire::MemoryInfoReply memory() const override;
  wire::Answer<std::uint64_t> alloc(std::uint64_t bytes) override;
  wire::Answer<void> free(std::uint64_t address) override;
  wire::Answer<void> write(std::uint64_t address, std::span<const std::byte> bytes) override;
  wire::Answer<void> read(std::uint64_t address, std::span<std::byte> bytes) override;
  wire::Answer<void> copy(std::uint64_t destination, std::uint64_t source, std::uint64_t bytes) override;
  wire::Answer<void> fill(std::uint64_t address, std::uint32_t pattern, unsigned width, std::uint64_t count) override;
  std::span<std::byte> staging() override;
  wire::Answer<std::uint32_t> load_module(std::span<const std::byte> image) override;
  void unload_module(std::uint32_t module) override;
  wire::Answer<wire::KernelInfo> kernel(std::uint32_t module, std::string_view name) override;
  wire::Answer<wire::GlobalInfo> global(std::uint32_t module, std::string_view name) override;
  wire::Answer<void> set_kernel_attribute(std::uint32_t module, std::string_view name, wire::KernelAttribute attribute,
                                          std::int32_t value) override;
  std::optional<wire::Answer<wire::OccupancyReply>> occupancy(std::uint32_t module, std::string_view name,
                                                              const wire::LaunchGeometry& geometry) override;
  wire::Answer<std::array<std::uint8_t, 128>> encode_tiled(const wire::TiledMap& map) override;
  wire::Answer<wire::LaunchReport> launch(const wire::LaunchOrder& order) override;
  wire::Answer<void> begin_measure(const wire::MeasureOrder& order) override;
  wire::Answer<wire::MeasureResult> end_measure() override;
  void begin_batch() override { batch_ = true; }
  wire::Answer<void> end_batch() override;
  wire::Answer<wire::SharedBlock> alloc_shared(std::uint64_t bytes) override;
  wire::Answer<std::uint64_t> open_shared(const wire::ShareHandle& handle, std::uint64_t bytes) override;
  wire::Answer<void> close_shared(std::uint64_t address) override;
  wire::Answer<wire::PrepareBaselineReply> prepare_baseline(const wire::BaselineProblem& problem) override;
  wire::Answer<wire::MeasureReport> run_baseline(std::uint32_t handle, std::uint32_t plan,
                                                 const wire::MeasureOrder& order) override;
  wire::Answer<wire::Telemetry> telemetry() override;

 private:
  GpuDevice(std::unique_ptr<Context> context, const DeviceOptions& options);

  // After `result` of a command that was put on the stream: waits for it, or notes it for the timed replay.
  wire::Answer<void> finish(CUresult result, wire::CommandKind kind, std::string_view what);
  wire::Answer<wire::LaunchReport> await_launch(const wire::LaunchOrder& order);
  bool counting() const { return mode_ == wire::ReplayMode::kCount && count_void_.empty(); }
  Status prepare_counting();

  std::unique_ptr<Context> context_;
  DeviceOptions options_;
  Meter meter_;
  Modules modules_;
  PrintfCapture output_;
  std::span<std::byte> staging_;
  std::unordered_map<std::uint64_t, std::uint64_t> allocated_;  // bytes by address
  std::uint64_t used_ = 0;

  std::vector<Baselines> baselines_;             // by handle
  std::unique_ptr<InstructionCounter> counter_;  // opened when first needed, and kept

  bool batch_ = false;  // between begin_batch and end_batch

  // Of the replay that is being measured.
  wire::ReplayMode mode_ = wire::ReplayMode::kCheck;
  std::string count_void_;
  std::vector<Meter::Command> commands_;
  std::uint32_t launches_ = 0;
};

}  // namespace ptxbench::gpu
