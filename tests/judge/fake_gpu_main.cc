// A device process that can what a GPU can and the emulator cannot: blocks shared between processes, times, a library to
// compare with, telemetry. Kernels run on the emulator; times are made up. For tests of what drives a GPU, on machines
// without one. Shared blocks are files in $PTXBENCH_FAKE_SHARED, else in $TMPDIR, brought up to date around copies and before launches.
#include <fmt/format.h>
#include <unistd.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <map>

#include "ptxbench/cli/emu_device.h"
#include "ptxbench/wire/server.h"

namespace {

using namespace ptxbench;
namespace fs = std::filesystem;
using wire::Answer;

constexpr std::uint64_t kKernelNs = 1'000'000, kLibraryNs = 900'000, kGapNs = 1'000;

class FakeGpu : public cli::EmuDevice {
 public:
  using EmuDevice::EmuDevice;
  std::string name() const override { return "device-gpu (made up)"; }

  Answer<wire::SharedBlock> alloc_shared(std::uint64_t bytes) override {
    auto address = alloc(bytes);
    if (!address) return tl::unexpected(address.error());
    wire::SharedBlock block{*address, {}};
    const std::string name = fmt::format("{}-{}", ::getpid(), ++made_);
    std::copy(name.begin(), name.end(), block.handle.begin());
    shared_[*address] = {folder() / name, bytes};
    if (auto ok = publish(*address); !ok) return tl::unexpected(ok.error());
    return block;
  }
  Answer<std::uint64_t> open_shared(const wire::ShareHandle& handle, std::uint64_t bytes) override {
    auto address = alloc(bytes);
    if (address) opened_[*address] = {folder() / reinterpret_cast<const char*>(handle.data()), bytes};
    return address;
  }
  Answer<void> close_shared(std::uint64_t address) override {
    opened_.erase(address);
    return free(address);
  }
  Answer<void> free(std::uint64_t address) override {
    shared_.erase(address);
    return EmuDevice::free(address);
  }
  Answer<void> copy(std::uint64_t destination, std::uint64_t source, std::uint64_t bytes) override {
    if (auto ok = refresh(); !ok) return ok;
    if (auto ok = EmuDevice::copy(destination, source, bytes); !ok) return ok;
    return shared_.contains(destination) ? publish(destination) : Answer<void>();
  }
  Answer<void> read(std::uint64_t address, std::span<std::byte> bytes) override {
    if (auto ok = refresh(); !ok) return ok;
    return EmuDevice::read(address, bytes);
  }

  Answer<wire::LaunchReport> launch(const wire::LaunchOrder& order) override {
    if (auto ok = refresh(); !ok) return tl::unexpected(ok.error());
    if (timing_) {
      times_.push_back({launches_++, now_, now_ + kKernelNs, wire::CommandKind::kLaunch});
      now_ += kKernelNs + kGapNs;
    }
    return EmuDevice::launch(order);
  }
  Answer<void> begin_measure(const wire::MeasureOrder& order) override {
    timing_ = order.mode == wire::ReplayMode::kTime;
    launches_ = 0;
    times_.clear();
    return {};
  }
  Answer<wire::MeasureResult> end_measure() override {
    wire::MeasureResult result;
    if (timing_) result.report = {times_, launches_ * (kKernelNs + kGapNs), ""};
    timing_ = false;
    return result;
  }

  Answer<wire::PrepareBaselineReply> prepare_baseline(const wire::BaselineProblem& problem) override {
    if (problem.tensors.size() != 3) return wire::refuse(wire::Code::kInvalidValue, "three tensors expected");
    return wire::PrepareBaselineReply{
        7, {{"slow", "1", "only plan", 0}, {"fast", "2", "bad plan", 0}, {"fast", "2", "good plan", 0}}, {}};
  }
  Answer<wire::MeasureReport> run_baseline(std::uint32_t handle, std::uint32_t plan,
                                           const wire::MeasureOrder&) override {
    if (handle != 7 || plan > 2) return wire::refuse(wire::Code::kInvalidValue, "no such plan");
    const std::uint64_t ns = plan == 2 ? kLibraryNs : 2 * kLibraryNs;
    now_ += ns;
    return wire::MeasureReport{{{0, now_ - ns, now_, wire::CommandKind::kLaunch}}, ns + kGapNs, ""};
  }
  Answer<wire::Telemetry> telemetry() override {
    wire::Telemetry state;
    state.device_name = "made up";
    state.sm_mhz = state.max_sm_mhz = 1000, state.memory_mhz = 1000;
    return state;
  }

 private:
  struct Block {
    fs::path file;
    std::uint64_t bytes = 0;
  };
  static fs::path folder() {
    const char* named = std::getenv("PTXBENCH_FAKE_SHARED");
    if (named == nullptr) named = std::getenv("TMPDIR");
    return named != nullptr ? named : "/nowhere";
  }
  Answer<void> publish(std::uint64_t address) {
    const Block& block = shared_.at(address);
    std::vector<std::byte> bytes(block.bytes);
    if (auto ok = EmuDevice::read(address, bytes); !ok) return ok;
    std::ofstream(block.file, std::ios::binary)
        .write(reinterpret_cast<const char*>(bytes.data()), static_cast<std::streamsize>(bytes.size()));
    return {};
  }
  Answer<void> refresh() {
    for (const auto& [address, block] : opened_) {
      std::vector<std::byte> bytes(block.bytes);
      std::ifstream(block.file, std::ios::binary)
          .read(reinterpret_cast<char*>(bytes.data()), static_cast<std::streamsize>(bytes.size()));
      if (auto ok = write(address, bytes); !ok) return ok;
    }
    return {};
  }

  std::map<std::uint64_t, Block> shared_, opened_;
  int made_ = 0;
  bool timing_ = false;
  std::uint32_t launches_ = 0;
  std::uint64_t now_ = 0;
  std::vector<wire::CommandTime> times_;
};

}  // namespace

// --control-fd N, or what the real one answers by itself: --usable, and --health, which fails if $PTXBENCH_FAKE_ILL is set.
int main(int argc, char** argv) {
  if (argc < 2) return 2;
  if (std::string_view(argv[1]) == "--usable") return 0;
  if (std::string_view(argv[1]) == "--health") {
    if (std::getenv("PTXBENCH_FAKE_ILL") == nullptr) return 0;
    fmt::print(stderr, "the GPU computed 1 where 7 is right\n");
    return 3;
  }
  if (argc < 3) return 2;
  emu::MachineConfig config;
  config.target = emu::Target::kHopper;
  config.memory_bytes = std::uint64_t{256} << 20;
  config.threads = 1;
  FakeGpu device(config);
  wire::DeviceServer server(device);
  return server.serve(wire::Connection(std::atoi(argv[2]))) ? 0 : 3;
}
