// A device whose kernels are C++: memory is plain host memory, modules are PTX text of which only the .entry headers are
// read, and what a kernel does goes by its name. With it the protocol, the server, the shim and the runner are tested
// without an emulator.
//   *echo*   copies its parameter buffer to the address in its first parameter
//   *add*    (int* p, int n, int v): adds v to p[0..n)
//   *oob*    traps with an illegal address
//   *spin*   waits for the deadline and traps with it
//   others   do nothing
#pragma once

#include <chrono>
#include <cstring>
#include <map>
#include <memory>
#include <thread>

#include "ptxbench/wire/device_handler.h"
#include "ptxbench/wire/device_table.h"

namespace ptxbench::wire {

class FakeDevice : public DeviceHandler {
 public:
  static constexpr std::uint64_t kMemory = std::uint64_t{64} << 20;
  static constexpr std::uint64_t kGlobalBytes = 64;

  std::string name() const override { return "device-fake"; }
  DeviceInfo info() const override { return h200_info(kMemory); }
  MemoryInfoReply memory() const override { return {kMemory - used_, kMemory}; }

  Answer<std::uint64_t> alloc(std::uint64_t bytes) override {
    if (bytes > kMemory - used_) return refuse(Code::kMemoryAllocation, "out of device memory");
    used_ += bytes;
    const std::uint64_t address = next_;
    next_ += (bytes + 511) / 256 * 256;
    blocks_[address].assign(bytes, std::byte{0xCD});
    return address;
  }
  Answer<void> free(std::uint64_t address) override {
    const auto block = blocks_.find(address);
    if (block == blocks_.end()) return refuse(Code::kInvalidValue, "no such block");
    used_ -= block->second.size();
    blocks_.erase(block);
    return {};
  }
  Answer<void> write(std::uint64_t address, std::span<const std::byte> bytes) override {
    std::byte* at = find(address, bytes.size());
    if (at == nullptr) return refuse(Code::kInvalidValue, "no such memory");
    std::memcpy(at, bytes.data(), bytes.size());
    return {};
  }
  Answer<void> read(std::uint64_t address, std::span<std::byte> bytes) override {
    const std::byte* at = find(address, bytes.size());
    if (at == nullptr) return refuse(Code::kInvalidValue, "no such memory");
    std::memcpy(bytes.data(), at, bytes.size());
    return {};
  }
  Answer<void> copy(std::uint64_t destination, std::uint64_t source, std::uint64_t bytes) override {
    std::byte* to = find(destination, bytes);
    const std::byte* from = find(source, bytes);
    if (to == nullptr || from == nullptr) return refuse(Code::kInvalidValue, "no such memory");
    std::memmove(to, from, bytes);
    return {};
  }
  Answer<void> fill(std::uint64_t address, std::uint32_t pattern, unsigned width, std::uint64_t count) override {
    std::byte* at = find(address, count * width);
    if (at == nullptr) return refuse(Code::kInvalidValue, "no such memory");
    for (std::uint64_t i = 0; i < count; ++i) std::memcpy(at + i * width, &pattern, width);
    return {};
  }
  std::span<std::byte> host_view(std::uint64_t address, std::uint64_t bytes) override {
    if (!direct) return {};
    std::byte* at = find(address, bytes);
    return at == nullptr ? std::span<std::byte>{} : std::span(at, bytes);
  }

  Answer<void> end_batch() override {
    ++batches;
    return {};
  }

  // Image bytes -> PTX text; the test programs unpack fat binaries here.
  virtual Answer<std::string> text_of(std::span<const std::byte> image) {
    return std::string(reinterpret_cast<const char*>(image.data()), image.size());
  }
  Answer<std::uint32_t> load_module(std::span<const std::byte> image) override {
    Answer<std::string> text = text_of(image);
    if (!text) return tl::unexpected(text.error());
    if (text->find(".version") == std::string::npos) return refuse(Code::kInvalidPtx, "no PTX");
    modules_.push_back({*text, {}});
    return static_cast<std::uint32_t>(modules_.size() - 1);
  }
  void unload_module(std::uint32_t) override {}
  Answer<KernelInfo> kernel(std::uint32_t module, std::string_view name) override;
  Answer<GlobalInfo> global(std::uint32_t module, std::string_view name) override {
    if (modules_[module].text.find(name) == std::string::npos) return refuse(Code::kInvalidSymbol, "no such variable");
    auto& globals = modules_[module].globals;
    if (!globals.contains(std::string(name))) globals[std::string(name)] = *alloc(kGlobalBytes);
    return GlobalInfo{globals[std::string(name)], kGlobalBytes, false};
  }
  Answer<std::array<std::uint8_t, 128>> encode_tiled(const TiledMap& map) override {
    if (map.rank < 1 || map.rank > 5) return refuse(Code::kInvalidValue, "rank");
    std::array<std::uint8_t, 128> bytes{};
    std::memcpy(bytes.data(), "FAKEMAP", 8);
    std::memcpy(bytes.data() + 8, &map.address, 8);
    std::memcpy(bytes.data() + 16, map.dims.data(), 40);
    std::memcpy(bytes.data() + 56, map.box.data(), 20);
    bytes[80] = static_cast<std::uint8_t>(map.swizzle);
    return bytes;
  }
  Answer<LaunchReport> launch(const LaunchOrder& order) override;

  Answer<void> begin_measure(const MeasureOrder& order) override {
    measure = order;
    measured_from_ = launches;
    return {};
  }
  // One time per launch since begin_measure; a trap or a void reason as the test set it.
  Answer<MeasureResult> end_measure() override {
    MeasureResult result = measured;
    if (result.report.void_reason.empty() && measure.mode == ReplayMode::kTime) {
      for (std::uint32_t i = 0; measured_from_ + static_cast<int>(i) < launches; ++i) {
        result.report.times.push_back({i, 100 * i, 100 * i + 50});
      }
    }
    return result;
  }
  Answer<void> set_kernel_attribute(std::uint32_t, std::string_view, KernelAttribute which, std::int32_t v) override {
    attributes[which] = v;
    return {};
  }
  std::optional<Answer<OccupancyReply>> occupancy(std::uint32_t, std::string_view, const LaunchGeometry&) override {
    return known_occupancy;
  }
  std::span<std::byte> staging() override { return staging_bytes; }
  Answer<SharedBlock> alloc_shared(std::uint64_t bytes) override {
    Answer<std::uint64_t> address = alloc(bytes);
    if (!address) return tl::unexpected(address.error());
    SharedBlock block{*address, {}};
    block.handle[63] = 9;
    return block;
  }
  Answer<std::uint64_t> open_shared(const ShareHandle& handle, std::uint64_t) override {
    if (handle[63] != 9) return refuse(Code::kInvalidValue, "no such block");
    ++opened;
    return std::uint64_t{0x7000'0000} + static_cast<unsigned>(opened);
  }
  Answer<void> close_shared(std::uint64_t) override {
    --opened;
    return {};
  }

  bool direct = false;  // offer host_view
  int launches = 0, opened = 0, batches = 0;
  MeasureOrder measure;    // as last ordered
  MeasureResult measured;  // what end_measure gives
  std::map<KernelAttribute, std::int32_t> attributes;
  std::vector<std::byte> staging_bytes;
  std::optional<Answer<OccupancyReply>> known_occupancy;  // none: the server's arithmetic

 private:
  struct Module {
    std::string text;
    std::map<std::string, std::uint64_t> globals;
  };
  std::byte* find(std::uint64_t address, std::uint64_t bytes) {
    auto next = blocks_.upper_bound(address);
    if (next == blocks_.begin()) return nullptr;
    auto& [base, block] = *std::prev(next);
    const std::uint64_t offset = address - base;
    return offset <= block.size() && bytes <= block.size() - offset ? block.data() + offset : nullptr;
  }

  std::map<std::uint64_t, std::vector<std::byte>> blocks_;
  std::vector<Module> modules_;
  std::uint64_t next_ = 0x10'0000'0000, used_ = 0;
  int measured_from_ = 0;
};

// Parameters as PTX lists them: ".param .u64 name", ".param .align 8 .b8 name[128]".
inline Answer<KernelInfo> FakeDevice::kernel(std::uint32_t module, std::string_view name) {
  const std::string& text = modules_[module].text;
  const std::string head = ".entry " + std::string(name) + "(";
  std::size_t at = text.find(head);
  if (at == std::string::npos) return refuse(Code::kInvalidDeviceFunction, "no such kernel");
  at += head.size();
  const std::size_t end = text.find(')', at);
  KernelInfo info;
  info.name = name;
  info.registers = 32;
  std::uint32_t offset = 0;
  while ((at = text.find(".param", at)) < end) {
    const std::size_t stop = std::min(text.find(',', at), end);
    const std::string item = text.substr(at, stop - at);
    std::uint32_t size = 0, align = 0;
    for (const auto& [type, bytes] : {std::pair{".u64", 8u},
                                      {".b64", 8u},
                                      {".s64", 8u},
                                      {".f64", 8u},
                                      {".u32", 4u},
                                      {".b32", 4u},
                                      {".s32", 4u},
                                      {".f32", 4u},
                                      {".u16", 2u},
                                      {".b8", 1u},
                                      {".u8", 1u}}) {
      if (item.find(type) != std::string::npos) size = align = bytes;
    }
    if (const auto a = item.find(".align "); a != std::string::npos)
      align = static_cast<unsigned>(std::stoul(item.substr(a + 7)));
    if (const auto n = item.find('['); n != std::string::npos)
      size *= static_cast<unsigned>(std::stoul(item.substr(n + 1)));
    if (align == 0 || align > 128 || size > 4096 || offset > 4096) return refuse(Code::kInvalidPtx, "odd parameter");
    offset = (offset + align - 1) / align * align;
    info.params.push_back({offset, size});
    offset += size;
    at = stop;
  }
  info.param_bytes = offset;
  return info;
}

inline Answer<LaunchReport> FakeDevice::launch(const LaunchOrder& order) {
  ++launches;
  LaunchReport report;
  report.warp_instructions = 100;
  report.thread_instructions = 3200;
  report.families.push_back({"fake", 1, 2, 3, 4, 5});
  const auto has = [&](const char* word) { return order.kernel.find(word) != std::string::npos; };
  std::uint64_t address = 0;
  if (order.params.size() >= 8) std::memcpy(&address, order.params.data(), 8);
  if (has("echo")) {
    if (Answer<void> done = write(address, order.params); !done) return tl::unexpected(done.error());
  } else if (has("add") && order.params.size() >= 16) {
    std::int32_t n = 0, v = 0;
    std::memcpy(&n, order.params.data() + 8, 4);
    std::memcpy(&v, order.params.data() + 12, 4);
    for (std::int32_t i = 0; i < n; ++i) {
      std::int32_t value = 0;
      if (!read(address + static_cast<unsigned>(i) * 4, std::as_writable_bytes(std::span(&value, 1)))) break;
      value += v;
      static_cast<void>(write(address + static_cast<unsigned>(i) * 4, std::as_bytes(std::span(&value, 1))));
    }
  } else if (has("print")) {
    report.printf_output = "hello from " + order.kernel + "\n";
  } else if (has("oob") || has("spin")) {
    if (has("spin")) std::this_thread::sleep_for(order.deadline);
    report.trap.emplace();
    report.trap->kind = has("spin") ? "deadline" : "out_of_bounds";
    report.trap->text = "fake trap";
    report.code = has("spin") ? Code::kLaunchTimeout : Code::kIllegalAddress;
  }
  return report;
}

}  // namespace ptxbench::wire
