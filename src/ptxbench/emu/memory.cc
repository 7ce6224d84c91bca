#include "ptxbench/emu/memory.h"

#include <fmt/format.h>
#include <sys/mman.h>

#include <algorithm>
#include <bit>
#include <cstring>

#include "ptxbench/base/check.h"

namespace ptxbench::emu {
namespace {

constexpr std::uint64_t kUnit = 512;  // granularity of the gap list
constexpr int kPoison = 0xff;         // a NaN in every float format

std::uint64_t round_up(std::uint64_t value, std::uint64_t unit) { return (value + unit - 1) / unit * unit; }

}  // namespace

DeviceMemory::DeviceMemory(std::uint64_t limit) : limit_(limit) {
  // Twice the limit leaves room for guards and fragmentation; pages that nothing touches cost nothing.
  span_ = round_up(2 * limit + (std::uint64_t{1} << 30), 1 << 20);
  void* range = mmap(nullptr, span_, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  PTXBENCH_CHECK(range != MAP_FAILED, "cannot reserve {} bytes of address space for device memory", span_);
  arena_ = static_cast<std::byte*>(range);
  gaps_[kBase] = span_;
}

DeviceMemory::~DeviceMemory() {
  if (arena_ != nullptr) munmap(arena_, span_);
}

std::uint64_t DeviceMemory::take_gap(std::uint64_t bytes, std::uint64_t align) {
  for (auto [base, size] : gaps_) {
    const std::uint64_t start = round_up(base + kGuard, align);
    const std::uint64_t stop = round_up(start + bytes + kGuard, kUnit);
    if (stop > base + size) continue;
    gaps_.erase(base);
    if (stop < base + size) gaps_[stop] = base + size - stop;
    if (start - base > kGuard + kUnit) gaps_[base] = (start - kGuard) / kUnit * kUnit - base;
    return start;
  }
  return 0;
}

Result<std::uint64_t> DeviceMemory::alloc(std::uint64_t bytes, std::uint64_t align, std::string name, bool read_only) {
  if (!std::has_single_bit(align) || align > (1 << 20))
    return fail(ErrorKind::kInvalidInput, fmt::format("alignment {} is not a power of two of at most 1 MiB", align));
  bytes = std::max<std::uint64_t>(bytes, 1);
  if (bytes > limit_ || in_use_ + bytes > limit_)
    return fail(ErrorKind::kTooLarge,
                fmt::format("out of device memory: {} bytes asked, {} of {} in use", bytes, in_use_, limit_));
  const std::uint64_t base = take_gap(bytes, std::max<std::uint64_t>(align, kUnit));
  if (base == 0) return fail(ErrorKind::kTooLarge, fmt::format("device memory too fragmented for {} bytes", bytes));
  const auto place = std::ranges::upper_bound(allocations_, base, {}, &Allocation::base);
  allocations_.insert(place, Allocation{base, bytes, read_only, std::move(name)});
  in_use_ += bytes;
  std::memset(host(base), kPoison, bytes);
  return base;
}

Status DeviceMemory::free(std::uint64_t address) {
  const auto found = std::ranges::lower_bound(allocations_, address, {}, &Allocation::base);
  if (found == allocations_.end() || found->base != address)
    return fail(ErrorKind::kInvalidInput,
                fmt::format("{:#x} is not the start of an allocation: {}", address, describe(address)));
  // The range goes back with its guards: everything between the neighbours' guards that is not already a gap.
  std::uint64_t from = (address - kGuard) / kUnit * kUnit;
  std::uint64_t to = round_up(found->end() + kGuard, kUnit);
  const std::uint64_t first_page = round_up(address, 4096), last_page = found->end() / 4096 * 4096;
  if (last_page > first_page) madvise(host(first_page), last_page - first_page, MADV_DONTNEED);
  in_use_ -= found->size;
  allocations_.erase(found);
  auto next = gaps_.lower_bound(from);
  if (next != gaps_.begin()) {
    auto previous = std::prev(next);
    if (previous->first + previous->second >= from) {
      from = previous->first;
      to = std::max(to, previous->first + previous->second);
      gaps_.erase(previous);
    }
  }
  next = gaps_.lower_bound(from);
  while (next != gaps_.end() && next->first <= to) {
    to = std::max(to, next->first + next->second);
    next = gaps_.erase(next);
  }
  gaps_[from] = to - from;
  return {};
}

const Allocation* DeviceMemory::find(std::uint64_t address) const {
  auto after = std::ranges::upper_bound(allocations_, address, {}, &Allocation::base);
  if (after == allocations_.begin()) return nullptr;
  const Allocation& candidate = *std::prev(after);
  return address < candidate.end() ? &candidate : nullptr;
}

std::string DeviceMemory::describe(std::uint64_t address) const {
  const auto after = std::ranges::upper_bound(allocations_, address, {}, &Allocation::base);
  const Allocation* below = after == allocations_.begin() ? nullptr : &*std::prev(after);
  const Allocation* above = after == allocations_.end() ? nullptr : &*after;
  auto label = [](const Allocation& a) {
    return fmt::format("{}[{:#x}, {:#x}) of {} bytes", a.name.empty() ? "allocation " : "variable " + a.name + " ",
                       a.base, a.end(), a.size);
  };
  if (below != nullptr && address < below->end())
    return fmt::format("{} bytes into {}", address - below->base, label(*below));
  if (below != nullptr && (above == nullptr || address - below->end() <= above->base - address))
    return fmt::format("{} bytes past the end of {}", address - below->end(), label(*below));
  if (above != nullptr) return fmt::format("{} bytes before {}", above->base - address, label(*above));
  return "no allocation exists";
}

Result<std::byte*> DeviceMemory::resolve(std::uint64_t address, std::uint64_t bytes) const {
  const Allocation* allocation = find(address);
  if (allocation == nullptr || bytes > allocation->end() - address)
    return fail(ErrorKind::kInvalidInput,
                fmt::format("device range [{:#x}, +{}) is not inside one allocation: {}", address, bytes,
                            describe(allocation ? allocation->end() : address)));
  return host(address);
}

}  // namespace ptxbench::emu
