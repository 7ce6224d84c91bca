// The two memories that tensor instructions see, without the machine.
#pragma once

#include <cstddef>
#include <cstdint>

#include "ptxbench/emu/tensor/fault.h"

namespace ptxbench::emu {

// Shared memory of one CTA. data[0] has the shared-window address `base`; swizzles act on the bits of these addresses,
// so `base` must be what the guest sees (a multiple of 1024 unless the guest may observe otherwise).
struct SharedView {
  std::byte* data = nullptr;
  uint32_t size = 0;  // bytes
  uint32_t base = 0;  // shared-window address of data[0]

  bool contains(uint32_t address, uint64_t bytes) const {
    return address >= base && uint64_t{address} - base + bytes <= size;
  }
  std::byte* at(uint32_t address) const { return data + (address - base); }
};

enum class MemoryAccess : uint8_t { kRead, kWrite, kReadWrite };

// Global memory: gives the host pointer of [address, address + bytes), or the fault to report. Host pointers have the alignment of
// their addresses, up to 16. The pointer must stay
// valid until the call that asked for it returns. Called once per contiguous run of a box, never with bytes = 0.
class GlobalView {
 public:
  virtual ~GlobalView() = default;
  virtual Checked<std::byte*> resolve(uint64_t address, uint64_t bytes, MemoryAccess access) = 0;

  // A short cut: the host pointer of a range that surrounds a whole box, of which only parts will be accessed, or nullptr if it
  // is not one stretch of valid memory (or if each run must be seen by resolve()). Never a fault.
  virtual std::byte* surround(uint64_t /*address*/, uint64_t /*bytes*/, MemoryAccess /*access*/) { return nullptr; }
};

}  // namespace ptxbench::emu
