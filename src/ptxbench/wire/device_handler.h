// What a device must be able to do. The emulator and the real GPU implement it; rights, recording, replay, sticky
// errors and argument checks are DeviceServer's, so that both devices behave alike.
#pragma once

#include <array>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "ptxbench/wire/answer.h"

namespace ptxbench::wire {

struct LaunchOrder {
  std::uint32_t module = 0;
  std::string kernel;
  LaunchGeometry geometry;
  std::span<const std::byte> params;
  Schedule schedule = Schedule::kLatest;
  std::uint64_t work_limit = 0;
  std::chrono::milliseconds deadline{0};  // 0: none
};
struct LaunchReport {
  std::optional<TrapRecord> trap;
  Code code = Code::kSuccess;  // the CUDA error that the trap is for the host
  std::vector<FamilyRecord> families;
  std::vector<InstructionRecord> instructions;
  std::uint64_t thread_instructions = 0, warp_instructions = 0;
  std::string printf_output;
};

struct MeasureOrder {
  ReplayMode mode = ReplayMode::kCheck;
  std::uint64_t flush_bytes = 0;          // kTime
  std::chrono::milliseconds deadline{0};  // of all commands together; 0: none
};
struct MeasureResult {
  MeasureReport report;
  std::optional<TrapRecord> trap;  // of a launch that no LaunchReport could tell, because nothing waited for it
  Code code = Code::kSuccess;
};

class DeviceHandler {
 public:
  virtual ~DeviceHandler() = default;

  virtual std::string name() const = 0;  // "device-emu"
  virtual DeviceInfo info() const = 0;
  virtual MemoryInfoReply memory() const = 0;

  virtual Answer<std::uint64_t> alloc(std::uint64_t bytes) = 0;
  virtual Answer<void> free(std::uint64_t address) = 0;
  virtual Answer<void> write(std::uint64_t address, std::span<const std::byte> bytes) = 0;
  virtual Answer<void> read(std::uint64_t address, std::span<std::byte> bytes) = 0;
  virtual Answer<void> copy(std::uint64_t destination, std::uint64_t source, std::uint64_t bytes) = 0;
  virtual Answer<void> fill(std::uint64_t address, std::uint32_t pattern, unsigned width, std::uint64_t count) = 0;
  // Host bytes of a device range if the device's memory can be addressed here, so that bulk data need no copy; else
  // empty. Valid until the next call.
  virtual std::span<std::byte> host_view(std::uint64_t address, std::uint64_t bytes) {
    static_cast<void>(address), static_cast<void>(bytes);
    return {};
  }

  // A fat binary container or PTX text, from an untrusted client.
  virtual Answer<std::uint32_t> load_module(std::span<const std::byte> image) = 0;
  virtual void unload_module(std::uint32_t module) = 0;
  virtual Answer<KernelInfo> kernel(std::uint32_t module, std::string_view name) = 0;
  virtual Answer<GlobalInfo> global(std::uint32_t module, std::string_view name) = 0;
  virtual Answer<std::array<std::uint8_t, 128>> encode_tiled(const TiledMap& map) = 0;

  // Runs to the end, except between begin_measure(kTime) and end_measure. A trap is a report, not a Failure; a Failure
  // says that nothing was launched.
  virtual Answer<LaunchReport> launch(const LaunchOrder& order) = 0;

  // What only some devices can do. The defaults refuse by name, or leave it to the server's arithmetic.

  // Commands until end_measure belong to one replay. A profiler that cannot be had is no Failure but the report's
  // void_reason: the commands run all the same. After a Failure there is no end_measure.
  virtual Answer<void> begin_measure(const MeasureOrder& order);
  virtual Answer<MeasureResult> end_measure() { return MeasureResult{}; }
  // Commands until end_batch may be started without waiting for those before, on memory that stays until then; end_batch
  // waits for all, and tells of a fault.
  virtual void begin_batch() {}
  virtual Answer<void> end_batch() { return {}; }
  // Arguments have been checked; a preference may be ignored.
  virtual Answer<void> set_kernel_attribute(std::uint32_t module, std::string_view kernel, KernelAttribute attribute,
                                            std::int32_t value);
  // nullopt: geometry.h's arithmetic is right for this device.
  virtual std::optional<Answer<OccupancyReply>> occupancy(std::uint32_t module, std::string_view kernel,
                                                          const LaunchGeometry& geometry);
  // Memory that write() and read() are fastest from; empty: any. Valid as long as the device.
  virtual std::span<std::byte> staging() { return {}; }
  virtual Answer<SharedBlock> alloc_shared(std::uint64_t bytes);  // freed by free()
  virtual Answer<std::uint64_t> open_shared(const ShareHandle& handle, std::uint64_t bytes);
  virtual Answer<void> close_shared(std::uint64_t address);
  virtual Answer<PrepareBaselineReply> prepare_baseline(const BaselineProblem& problem);
  virtual Answer<MeasureReport> run_baseline(std::uint32_t handle, std::uint32_t plan, const MeasureOrder& order);
  virtual Answer<Telemetry> telemetry();
};

}  // namespace ptxbench::wire
