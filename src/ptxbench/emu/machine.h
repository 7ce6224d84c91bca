// Machine: one emulated GPU. Memory, modules and synchronous launches; the command order is the caller's.
// Not thread-safe: one call at a time. A launch runs on `threads` workers inside.
//
// Device addresses are no host pointers: every access is checked against the allocations, each of which has unmapped
// guard space on both sides.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string_view>

#include "ptxbench/base/result.h"
#include "ptxbench/emu/types.h"

namespace ptxbench::emu {

class Machine {
 public:
  explicit Machine(MachineConfig config = {});
  ~Machine();
  Machine(const Machine&) = delete;
  Machine& operator=(const Machine&) = delete;

  // A new allocation of `bytes` (at least 1) with undefined contents (a poison pattern). align: a power of two.
  // kTooLarge when the machine's memory is spent.
  Result<std::uint64_t> alloc(std::uint64_t bytes, std::uint64_t align = 256);
  // `address` must be one that alloc() gave; kInvalidInput otherwise.
  Status free(std::uint64_t address);

  // The whole range must lie in one allocation or module variable; else kInvalidInput naming the nearest one.
  Status write(std::uint64_t address, std::span<const std::byte> bytes);
  Status read(std::uint64_t address, std::span<std::byte> bytes) const;
  // `count` elements of `width` (1, 2 or 4) bytes, each the low bytes of `pattern`.
  Status fill(std::uint64_t address, std::uint32_t pattern, unsigned width, std::uint64_t count);
  Status copy(std::uint64_t destination, std::uint64_t source, std::uint64_t bytes);
  // Host bytes of a device range, for bulk transfers without a copy. Invalidated by free() and unload_module().
  Result<std::span<std::byte>> host_view(std::uint64_t address, std::uint64_t bytes);
  // The allocation that holds `address`: {base, size}; kNotFound if none.
  struct Extent {
    std::uint64_t base = 0, size = 0;
  };
  Result<Extent> find(std::uint64_t address) const;
  std::uint64_t memory_in_use() const;
  std::uint64_t memory_limit() const;

  // Parses, validates and decodes a PTX module and places its variables in device memory. Errors name PTX lines.
  Result<ModuleId> load_module(std::string_view ptx);
  void unload_module(ModuleId module);
  // Pointers stay valid until unload_module.
  Result<const FunctionInfo*> function(ModuleId module, std::string_view name) const;
  Result<std::vector<std::string>> function_names(ModuleId module) const;
  Result<GlobalInfo> global(ModuleId module, std::string_view name) const;

  // Runs the kernel to its end or its first trap. `params`: the parameter buffer (FunctionInfo::param_bytes), each
  // parameter at its offset. Whatever is wrong with the launch or in the kernel is the result's trap.
  LaunchResult launch(const LaunchConfig& config, std::span<const std::byte> params);

 private:
  struct Impl;
  std::unique_ptr<Impl> impl_;
};

}  // namespace ptxbench::emu
