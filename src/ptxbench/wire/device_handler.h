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

  // Runs to the end. A trap is a report, not a Failure; a Failure says that nothing was launched.
  virtual Answer<LaunchReport> launch(const LaunchOrder& order) = 0;
};

}  // namespace ptxbench::wire
