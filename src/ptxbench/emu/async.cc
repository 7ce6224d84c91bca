#include "ptxbench/emu/async.h"

#include <cstring>

#include "ptxbench/emu/cta.h"
#include "ptxbench/emu/trap.h"
#include "ptxbench/emu/worker.h"

namespace ptxbench::emu {
namespace {

// Global memory as tensor functions see it.
class View : public GlobalView {
 public:
  explicit View(DeviceMemory& memory) : memory_(memory) {}
  Checked<std::byte*> resolve(std::uint64_t address, std::uint64_t bytes, MemoryAccess access) override {
    if (cached_ == nullptr || address < cached_->base || address >= cached_->end()) cached_ = memory_.find(address);
    if (cached_ == nullptr || bytes > cached_->end() - address)
      return fault(FaultKind::kOutOfBounds, "a bulk copy stays inside one allocation of global memory",
                   fmt::format("the copy touches {} bytes at {:#x}, which is {}", bytes, address,
                               memory_.describe(cached_ == nullptr ? address : cached_->end())),
                   address);
    if (access != MemoryAccess::kRead && cached_->read_only)
      return fault(FaultKind::kOutOfBounds, "constant memory cannot be written by a kernel",
                   fmt::format("the copy writes {:#x}, which is {}", address, memory_.describe(address)), address);
    return memory_.host(address);
  }
  std::byte* surround(std::uint64_t address, std::uint64_t bytes, MemoryAccess access) override {
    const Allocation* found = memory_.find(address);
    if (found == nullptr || bytes > found->end() - address) return nullptr;
    return access != MemoryAccess::kRead && found->read_only ? nullptr : memory_.host(address);
  }

 private:
  DeviceMemory& memory_;
  const Allocation* cached_ = nullptr;
};

Checked<std::uint32_t> shared_write(const AsyncCopy& copy) {
  const SharedView view = copy.destination->shared_view();
  if (!view.contains(copy.shared_address, copy.bytes))
    return fault(FaultKind::kOutOfBounds, "the destination lies in the shared memory of a CTA of the cluster",
                 fmt::format("{} bytes at shared address {:#x}", copy.bytes, copy.shared_address), copy.shared_address);
  std::memcpy(view.at(copy.shared_address), copy.data.data(), copy.bytes);
  return copy.bytes;
}

}  // namespace

std::uint32_t perform(const AsyncCopy& copy, Worker& worker) {
  View global(*worker.launch.memory);
  const TileCoords coords(copy.coords.data(), copy.map.rank);
  Cta& shared_owner = copy.destination != nullptr ? *copy.destination : *copy.issuer;
  const SharedView shared = shared_owner.shared_view();
  const SharedView source = copy.issuer->shared_view();
  Checked<std::uint32_t> result = 0u;
  switch (copy.kind) {
    case CopyKind::kTensorLoad: result = tma_load_tile(copy.map, coords, global, shared, copy.shared_address); break;
    case CopyKind::kTensorStore: result = tma_store_tile(copy.map, coords, global, shared, copy.shared_address); break;
    case CopyKind::kTensorReduce:
      result = tma_reduce_tile(copy.map, coords, copy.op, global, shared, copy.shared_address);
      break;
    case CopyKind::kBulkLoad:
      result = bulk_load(copy.global_address, copy.bytes, global, shared, copy.shared_address);
      break;
    case CopyKind::kBulkStore:
      result = bulk_store(copy.global_address, copy.bytes, global, shared, copy.shared_address);
      break;
    case CopyKind::kBulkReduce:
      result = bulk_reduce(copy.op, copy.type, copy.global_address, copy.bytes, global, shared, copy.shared_address);
      break;
    case CopyKind::kSharedCopy:
      result = bulk_copy_shared(shared, copy.shared_address, source, copy.source_address, copy.bytes);
      break;
    case CopyKind::kSharedReduce:
      result =
          bulk_reduce_shared(copy.op, copy.type, shared, copy.shared_address, source, copy.source_address, copy.bytes);
      break;
    case CopyKind::kSharedWrite: result = shared_write(copy); break;
  }
  if (!result) trap(result.error(), copy.lane, copy.site);
  return *result;
}

}  // namespace ptxbench::emu
