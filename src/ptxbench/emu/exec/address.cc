#include "ptxbench/emu/exec/address.h"

#include "ptxbench/emu/trap.h"
#include "ptxbench/emu/worker.h"

namespace ptxbench::emu {
namespace {

using isa::Space;

const char* verb(Access access) { return access == Access::kRead ? "reads" : "writes"; }

std::byte* global(Warp& warp, std::uint64_t address, std::uint32_t bytes, Access access, unsigned lane,
                  RangeCache* range) {
  const DeviceMemory& memory = *warp.worker->launch.memory;
  const Allocation* allocation = memory.find(address);
  if (allocation == nullptr || bytes > allocation->end() - address)
    trap(TrapKind::kOutOfBounds, lane,
         fmt::format("the thread {} {} bytes at global address {:#x}: {}", verb(access), bytes, address,
                     allocation == nullptr ? memory.describe(address) : memory.describe(allocation->end())),
         "a global access must lie inside one allocation; check index arithmetic, bounds of the last tile and pointer "
         "arguments",
         address);
  if (access == Access::kWrite && allocation->read_only)
    trap(TrapKind::kReadOnly, lane,
         fmt::format("the thread writes {:#x}, which is {}", address, memory.describe(address)),
         "constant memory cannot be written by a kernel", address);
  if (range != nullptr) *range = {allocation->base, allocation->size, !allocation->read_only};
  return memory.host(address);
}

std::byte* shared(Warp& warp, Space space, std::uint64_t address, std::uint32_t bytes, Access access, unsigned lane) {
  const SharedPlace place = shared_place(warp, space, address, lane);
  Cta& cta = *place.cta;
  if (place.offset < kSharedStart || std::uint64_t{place.offset} + bytes > kSharedStart + cta.shared_bytes)
    trap(TrapKind::kOutOfBounds, lane,
         fmt::format(
             "the thread {} {} bytes at shared address {:#x}; the CTA's {} bytes of shared memory are [{:#x}, {:#x})",
             verb(access), bytes, place.offset, cta.shared_bytes, kSharedStart, kSharedStart + cta.shared_bytes),
         "a shared access must lie inside the static and dynamic shared memory of the launch; check the dynamic size "
         "that the host passes",
         address);
  return cta.shared_at(place.offset);
}

std::byte* local(Warp& warp, std::uint64_t offset, std::uint32_t bytes, unsigned lane) {
  const std::uint32_t size = warp.program->local_bytes;
  if (offset > size || bytes > size - offset)
    trap(TrapKind::kOutOfBounds, lane,
         fmt::format("{} bytes at local address {:#x}; the thread has {} bytes of local memory", bytes, offset, size),
         "a local access must lie inside the thread's own variables; check array indices", offset);
  return warp.local + std::size_t(lane) * ((size + 15) / 16 * 16) + offset;
}

std::byte* param(Warp& warp, std::uint64_t offset, std::uint32_t bytes, Access access, unsigned lane) {
  const auto& params = warp.worker->launch.params;
  if (access == Access::kWrite)
    trap(TrapKind::kReadOnly, lane, "the thread writes a kernel parameter", "kernel parameters are read-only", offset);
  if (offset > params.size() || bytes > params.size() - offset)
    trap(TrapKind::kOutOfBounds, lane, fmt::format("{} bytes at parameter offset {}", bytes, offset),
         "a parameter access lies inside the parameters", offset);
  return const_cast<std::byte*>(params.data()) + offset;
}

}  // namespace

std::byte* resolve_lane(Warp& warp, Space space, std::uint64_t address, std::uint32_t bytes, std::uint32_t align,
                        Access access, unsigned lane, RangeCache* range) {
  if (address % align != 0)
    trap(TrapKind::kMisaligned, lane,
         fmt::format("the thread {} {} bytes at address {:#x}", verb(access), bytes, address),
         fmt::format("the address of an access of {} bytes is a multiple of {}", bytes, align), address);
  switch (space) {
    case Space::kShared:
    case Space::kSharedCta:
    case Space::kSharedCluster: return shared(warp, space, address, bytes, access, lane);
    case Space::kLocal: return local(warp, address, bytes, lane);
    case Space::kParam: return param(warp, address, bytes, access, lane);
    case Space::kGlobal:
    case Space::kConst: return global(warp, address, bytes, access, lane, range);
    default: break;
  }
  switch (Window(window_of(address))) {
    case Window::kShared: return shared(warp, Space::kSharedCluster, address & 0xffffffffu, bytes, access, lane);
    case Window::kLocal: return local(warp, address & 0xffffffffu, bytes, lane);
    case Window::kParam: return param(warp, address & 0xffffffffu, bytes, access, lane);
    default: return global(warp, address, bytes, access, lane, range);
  }
}

std::uint64_t lane_address(const Warp& warp, Ref base, bool base_is_64, std::int64_t offset, bool adds_shared_base,
                           unsigned lane) {
  std::uint64_t address = std::uint64_t(offset);
  if (adds_shared_base) address += warp.cta->shared_base();
  if (base == kNoRef) return address;
  return base_is_64 ? address + warp.at<std::uint64_t>(base)[lane]
                    : std::uint32_t(address + warp.at<std::uint32_t>(base)[lane]);
}

void check_live(const Cta& cta, unsigned lane, std::uint64_t address) {
  if (!cta.started)
    trap(TrapKind::kUnstartedCta, lane,
         fmt::format("address {:#x} lies in the shared memory of CTA rank {} of the cluster, which may not have begun",
                     address, cta.rank),
         "a CTA uses the shared memory of another one after both have met: barrier.cluster.arrive and "
         "barrier.cluster.wait in all threads at the start of the kernel",
         address);
  if (cta.live_threads != 0) return;
  trap(TrapKind::kExitedCta, lane,
       fmt::format("address {:#x} lies in the shared memory of CTA rank {} of the cluster, which has exited", address,
                   cta.rank),
       "a CTA stays until the others have made their last access to its shared memory, arrivals on its barriers and "
       "multicast copies included: end the kernel with barrier.cluster.arrive and barrier.cluster.wait in all threads",
       address);
}

SharedPlace shared_place(Warp& warp, Space space, std::uint64_t address, unsigned lane) {
  const SharedPlace place = locate_shared(warp, space, address, lane);
  check_live(*place.cta, lane, address);
  return place;
}

SharedPlace locate_shared(Warp& warp, Space space, std::uint64_t address, unsigned lane) {
  if (space == Space::kGeneric) {
    if (Window(window_of(address)) != Window::kShared)
      trap(TrapKind::kOutOfBounds, lane, fmt::format("generic address {:#x} is not in the shared window", address),
           "this operand must point to shared memory", address);
    address &= 0xffffffffu;
    space = Space::kSharedCluster;
  }
  if (Window(window_of(address)) == Window::kShared && space != Space::kGeneric) address &= 0xffffffffu;
  const std::uint64_t rank = address >> kRankShift;
  const auto offset = std::uint32_t(address & ((1u << kRankShift) - 1));
  if (rank == warp.cta->rank) return {warp.cta, offset};
  Cluster& cluster = *warp.cta->cluster;
  if (rank < cluster.ctas.size() && space == Space::kSharedCluster) return {cluster.ctas[rank].get(), offset};
  trap(
      TrapKind::kOutOfBounds, lane,
      rank < cluster.ctas.size()
          ? fmt::format("address {:#x} lies in the shared memory of CTA rank {} of the cluster", address, rank)
          : fmt::format("address {:#x} is no shared address of this CTA", address),
      rank < cluster.ctas.size()
          ? "a .shared::cta access stays in the executing CTA; use .shared::cluster for the others"
          : "shared addresses are 32-bit window addresses (cvta.to.shared) of this CTA, or of its cluster through mapa",
      address);
}

}  // namespace ptxbench::emu
