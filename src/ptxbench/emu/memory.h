// DeviceMemory: the global memory of one emulated GPU. One reserved host range; device addresses are offsets from kBase,
// which no host pointer equals, and every allocation has unmapped (in the device's view) guard space around it.
//
// The windows of the generic address space are told apart by address bits 40 and up, so that one shift classifies an
// address. A generic address in a window holds the state-space address in its low 32 bits.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <span>
#include <string>
#include <vector>

#include "ptxbench/base/result.h"

namespace ptxbench::emu {

enum class Window : std::uint8_t { kNone = 0, kGlobal = 0x70, kShared = 0x71, kLocal = 0x72, kParam = 0x73 };
inline constexpr unsigned kWindowShift = 40;
constexpr std::uint64_t window_base(Window window) { return std::uint64_t(window) << kWindowShift; }
constexpr std::uint64_t window_of(std::uint64_t address) { return address >> kWindowShift; }

struct Allocation {
  std::uint64_t base = 0;
  std::uint64_t size = 0;
  bool read_only = false;  // .const variables: kernels may not write
  std::string name;        // of a module variable; empty for alloc()
  std::uint64_t end() const { return base + size; }
};

class DeviceMemory {
 public:
  static constexpr std::uint64_t kBase = window_base(Window::kGlobal);
  static constexpr std::uint64_t kGuard = 4096;

  explicit DeviceMemory(std::uint64_t limit);
  ~DeviceMemory();
  DeviceMemory(const DeviceMemory&) = delete;
  DeviceMemory& operator=(const DeviceMemory&) = delete;

  Result<std::uint64_t> alloc(std::uint64_t bytes, std::uint64_t align, std::string name = {}, bool read_only = false);
  Status free(std::uint64_t address);

  // The allocation that holds `address`, or nullptr. Safe from many threads while nothing allocates.
  const Allocation* find(std::uint64_t address) const;
  // "18 bytes past the end of the allocation [0x..., 0x...) of 64 bytes", for messages.
  std::string describe(std::uint64_t address) const;
  // Whole range in one allocation, else kInvalidInput.
  Result<std::byte*> resolve(std::uint64_t address, std::uint64_t bytes) const;

  std::byte* host(std::uint64_t address) const { return arena_ + (address - kBase); }
  std::uint64_t in_use() const { return in_use_; }
  std::uint64_t limit() const { return limit_; }

 private:
  std::uint64_t take_gap(std::uint64_t bytes, std::uint64_t align);

  std::uint64_t limit_, span_, in_use_ = 0;
  std::byte* arena_ = nullptr;
  std::map<std::uint64_t, std::uint64_t> gaps_;  // free ranges: base -> bytes
  std::vector<Allocation> allocations_;          // sorted by base
};

}  // namespace ptxbench::emu
