// The emulated GPU behind the device protocol.
#pragma once

#include <map>
#include <string>
#include <unordered_map>

#include "ptxbench/emu/machine.h"
#include "ptxbench/wire/device_handler.h"

namespace ptxbench::cli {

class EmuDevice : public wire::DeviceHandler {
 public:
  explicit EmuDevice(emu::MachineConfig config);

  std::string name() const override { return "device-emu"; }
  wire::DeviceInfo info() const override;
  wire::MemoryInfoReply memory() const override;
  wire::Answer<std::uint64_t> alloc(std::uint64_t bytes) override;
  wire::Answer<void> free(std::uint64_t address) override;
  wire::Answer<void> write(std::uint64_t address, std::span<const std::byte> bytes) override;
  wire::Answer<void> read(std::uint64_t address, std::span<std::byte> bytes) override;
  wire::Answer<void> copy(std::uint64_t destination, std::uint64_t source, std::uint64_t bytes) override;
  wire::Answer<void> fill(std::uint64_t address, std::uint32_t pattern, unsigned width, std::uint64_t count) override;
  std::span<std::byte> host_view(std::uint64_t address, std::uint64_t bytes) override;
  wire::Answer<std::uint32_t> load_module(std::span<const std::byte> image) override;
  void unload_module(std::uint32_t module) override;
  wire::Answer<wire::KernelInfo> kernel(std::uint32_t module, std::string_view name) override;
  wire::Answer<wire::GlobalInfo> global(std::uint32_t module, std::string_view name) override;
  wire::Answer<std::array<std::uint8_t, 128>> encode_tiled(const wire::TiledMap& map) override;
  wire::Answer<wire::LaunchReport> launch(const wire::LaunchOrder& order) override;
  wire::Answer<void> begin_measure(const wire::MeasureOrder& order) override;

 private:
  emu::MachineConfig config_;
  emu::Machine machine_;
  std::unordered_map<std::uint32_t, std::uint32_t> ptx_versions_;  // by module: 90 for PTX 9.0
};

// The PTX text of an image (a fat binary container or PTX itself) that suits the target best: the architecture-specific
// one (.target sm_90a) before generic ones, newest generic one first. Fails with kNoKernelImageForDevice, saying what
// the image holds instead.
wire::Answer<std::string> choose_ptx(std::span<const std::byte> image, emu::Target target);

}  // namespace ptxbench::cli
