// cp.async, cp.async.bulk, cp.async.bulk.tensor and their reductions. PTX ISA 9.7.9.25 - 9.7.9.29. The instructions only record what
// is to be done (async.h); groups and mbarriers decide when it happens.
#include <cstring>

#include "ptxbench/emu/exec/lanes_active.h"
#include "ptxbench/emu/exec/operations.h"
#include "ptxbench/emu/trap.h"
#include "ptxbench/emu/worker.h"

namespace ptxbench::emu::exec {
namespace {

using isa::FormId;
using isa::Mod;
using isa::Space;
using isa::Type;
using u32 = std::uint32_t;
using u64 = std::uint64_t;

BulkQueue& queue(Warp& warp) {
  if (!warp.bulk) warp.bulk = std::make_unique<BulkQueue>();
  return *warp.bulk;
}

ReduceOp reduce_op(Mod mod) {
  switch (mod) {
    case Mod::kMin: return ReduceOp::kMin;
    case Mod::kMax: return ReduceOp::kMax;
    case Mod::kInc: return ReduceOp::kInc;
    case Mod::kDec: return ReduceOp::kDec;
    case Mod::kAnd: return ReduceOp::kAnd;
    case Mod::kOr: return ReduceOp::kOr;
    case Mod::kXor: return ReduceOp::kXor;
    default: return ReduceOp::kAdd;
  }
}
ReduceType reduce_type(Type type) {
  switch (type) {
    case Type::kS32: return ReduceType::kS32;
    case Type::kU64: return ReduceType::kU64;
    case Type::kS64: return ReduceType::kS64;
    case Type::kB32: return ReduceType::kB32;
    case Type::kB64: return ReduceType::kB64;
    case Type::kF16: return ReduceType::kF16;
    case Type::kBf16: return ReduceType::kBF16;
    case Type::kF32: return ReduceType::kF32;
    case Type::kF64: return ReduceType::kF64;
    default: return ReduceType::kU32;
  }
}

AsyncCopy new_copy(Warp& warp, const Op& op, unsigned lane) {
  AsyncCopy copy;
  copy.issuer = warp.cta;
  copy.site = op.site;
  copy.warp = warp.index;
  copy.lane = lane;
  return copy;
}

void count_bytes(Warp& warp, const Op& op, u64 bytes) {
  warp.worker->counters.bytes[std::size_t(warp.program->sites[op.site].family)] += bytes;
}

// A load into the shared memory of one CTA, or of every CTA of the multicast mask at the same offsets.
void issue_load(Warp& warp, const ComplexExtra& x, AsyncCopy copy, const SharedPlace& destination,
                const SharedPlace& mbar, unsigned lane) {
  Cluster& cluster = *warp.cta->cluster;
  auto send = [&](Cta& data_cta, Cta& barrier_cta) {
    AsyncCopy one = copy;
    one.destination = &data_cta;
    one.shared_address = destination.offset;
    barrier_cta.mbarrier_attach(barrier_cta.mbarrier(mbar.offset, lane), std::move(one));
  };
  if (x.mask == kNoRef) return send(*destination.cta, *mbar.cta);
  const u32 targets = warp.at<u32>(x.mask)[lane] & 0xffff;
  for (u32 rank = 0; rank < 16; ++rank) {
    if ((targets >> rank & 1) == 0) continue;
    if (rank >= cluster.ctas.size())
      trap(TrapKind::kInvalidOperand, lane,
           fmt::format("multicast mask {:#x} names CTA rank {} of a cluster of {}", targets, rank, cluster.ctas.size()),
           "each bit of the mask is the rank of a CTA of the cluster");
    check_live(*cluster.ctas[rank], lane, (u64{rank} << kRankShift) + destination.offset);
    send(*cluster.ctas[rank], *cluster.ctas[rank]);
  }
}

void issue_store(Warp& warp, AsyncCopy copy) {
  ++warp.cta->progress;
  if (warp.worker->launch.schedule == Schedule::kEarliest) {
    perform(copy, *warp.worker);
    return;
  }
  queue(warp).stores.push_back({std::move(copy), false, 0});
}

TensorMap read_tensor_map(Warp& warp, const AddressOperand& operand, unsigned lane) {
  const std::byte* bytes =
      resolve_lane(warp, operand.space, operand.of(warp, lane), u32(kTensorMapBytes), 64, Access::kRead, lane);
  auto map = decode_tensor_map({bytes, kTensorMapBytes});
  if (!map) trap(map.error(), lane);
  return *map;
}

void read_coordinates(Warp& warp, const ComplexExtra& x, AsyncCopy& copy, unsigned lane) {
  if (x.coords.size() != copy.map.rank)
    trap(
        TrapKind::kInvalidDescriptor, lane,
        fmt::format("the instruction has {} coordinates, the tensor map {} dimensions", x.coords.size(), copy.map.rank),
        "the .Nd of the instruction equals the rank given to cuTensorMapEncodeTiled");
  for (std::size_t k = 0; k < x.coords.size(); ++k) copy.coords[k] = std::int32_t(warp.at<u32>(x.coords[k])[lane]);
}

}  // namespace

// address[0] destination, [1] source, [2] mbarrier; op.a size; operation and type of a reduction.
Flow bulk_copy(Warp& warp, const Op& op, Mask mask) {
  const auto& x = static_cast<const ComplexExtra&>(*op.extra);
  const bool reduces = x.operation != Mod::kNone;
  for_active(mask, [&](unsigned lane) {
    AsyncCopy copy = new_copy(warp, op, lane);
    copy.bytes = warp.at<u32>(op.a)[lane];
    copy.op = reduce_op(x.operation);
    copy.type = reduce_type(x.type);
    const u64 destination = x.address[0].of(warp, lane), source = x.address[1].of(warp, lane);
    if (copy.bytes == 0 || copy.bytes % 16 != 0 || destination % 16 != 0 || source % 16 != 0)
      trap(TrapKind::kMisaligned, lane,
           fmt::format("bulk copy of {} bytes from {:#x} to {:#x}", copy.bytes, source, destination),
           "size, source and destination of cp.async.bulk are multiples of 16 bytes", destination);
    count_bytes(warp, op, copy.bytes);
    if (x.address[0].space == Space::kGlobal) {
      copy.kind = reduces ? CopyKind::kBulkReduce : CopyKind::kBulkStore;
      copy.global_address = destination;
      copy.shared_address = shared_place(warp, Space::kShared, source, lane).offset;
      copy.destination = shared_place(warp, Space::kShared, source, lane).cta;
      return issue_store(warp, std::move(copy));
    }
    const SharedPlace to = shared_place(warp, x.address[0].space, destination, lane);
    const SharedPlace mbar = shared_place(warp, x.address[2].space, x.address[2].of(warp, lane), lane);
    if (x.address[1].space == Space::kGlobal) {
      copy.kind = CopyKind::kBulkLoad;
      copy.global_address = source;
    } else {
      if (!warp.worker->launch.explicit_cluster)
        trap(TrapKind::kLaunchConfig, lane,
             "a bulk copy from shared memory to shared memory in a launch without clusters",
             "launch the kernel as a cluster (__cluster_dims__ or the launch attribute; one CTA is enough)");
      copy.kind = reduces ? CopyKind::kSharedReduce : CopyKind::kSharedCopy;
      copy.source_address = shared_place(warp, Space::kShared, source, lane).offset;
    }
    issue_load(warp, x, std::move(copy), to, mbar, lane);
  });
  return Flow::kNext;
}

// address[0] shared memory, [1] tensor map, [2] mbarrier (loads); imm[0]: 0 load, 1 store, 2 reduce.
Flow tensor_copy(Warp& warp, const Op& op, Mask mask) {
  const auto& x = static_cast<const ComplexExtra&>(*op.extra);
  for_active(mask, [&](unsigned lane) {
    AsyncCopy copy = new_copy(warp, op, lane);
    copy.map = read_tensor_map(warp, x.address[1], lane);
    copy.op = reduce_op(x.operation);
    read_coordinates(warp, x, copy, lane);
    const SharedPlace shared = shared_place(warp, x.address[0].space, x.address[0].of(warp, lane), lane);
    copy.shared_address = shared.offset;
    // Faults of the operands show here, at the instruction, not at the wait.
    const auto bytes =
        tma_check_tile(copy.map, {copy.coords.data(), copy.map.rank}, shared.cta->shared_view(), shared.offset);
    if (!bytes) trap(bytes.error(), lane);
    copy.bytes = *bytes;
    count_bytes(warp, op, *bytes);
    if (x.imm[0] == 0) {
      copy.kind = CopyKind::kTensorLoad;
      issue_load(warp, x, std::move(copy), shared,
                 shared_place(warp, x.address[2].space, x.address[2].of(warp, lane), lane), lane);
    } else {
      copy.kind = x.imm[0] == 1 ? CopyKind::kTensorStore : CopyKind::kTensorReduce;
      copy.destination = shared.cta;
      issue_store(warp, std::move(copy));
    }
  });
  return Flow::kNext;
}

Flow tensor_prefetch(Warp& warp, const Op& op, Mask mask) {
  const auto& x = static_cast<const ComplexExtra&>(*op.extra);
  for_active(mask, [&](unsigned lane) {
    AsyncCopy copy;
    copy.map = read_tensor_map(warp, x.address[1], lane);
    read_coordinates(warp, x, copy, lane);
  });
  return Flow::kNext;
}

Flow bulk_commit(Warp& warp, const Op&, Mask mask) {
  BulkQueue& q = queue(warp);
  for (BulkQueue::Store& store : q.stores) {
    if (store.committed || (mask >> store.copy.lane & 1) == 0) continue;
    store.committed = true;
    store.group = q.store_groups[store.copy.lane];
  }
  for_active(mask, [&](unsigned i) { ++q.store_groups[i]; });
  return Flow::kNext;
}

// With .read the hardware only has to have read shared memory; the write to global memory happens here as well, since nothing
// in the CTA may look at it before the full wait.
Flow bulk_wait(Warp& warp, const Op& op, Mask mask) {
  if (!warp.bulk) return Flow::kNext;
  BulkQueue& q = *warp.bulk;
  auto due = [&](const BulkQueue::Store& store) {
    return store.committed && (mask >> store.copy.lane & 1) != 0 &&
           q.store_groups[store.copy.lane] - store.group > u64(op.imm);
  };
  for (const BulkQueue::Store& store : q.stores)
    if (due(store)) perform(store.copy, *warp.worker);
  std::erase_if(q.stores, due);
  return Flow::kNext;
}

// address[0] destination, [1] mbarrier; b: values; imm[0]: bytes of one element.
Flow st_async(Warp& warp, const Op& op, Mask mask) {
  const auto& x = static_cast<const ComplexExtra&>(*op.extra);
  for_active(mask, [&](unsigned lane) {
    AsyncCopy copy = new_copy(warp, op, lane);
    copy.kind = CopyKind::kSharedWrite;
    for (std::size_t e = 0; e < x.b.size(); ++e) {
      const u64 value = x.imm[0] == 8 ? warp.at<u64>(x.b[e])[lane] : u64{warp.at<u32>(x.b[e])[lane]};
      std::memcpy(copy.data.data() + e * std::size_t(x.imm[0]), &value, std::size_t(x.imm[0]));
    }
    copy.bytes = u32(x.b.size()) * u32(x.imm[0]);
    const SharedPlace to = shared_place(warp, Space::kSharedCluster, x.address[0].of(warp, lane), lane);
    const SharedPlace mbar = shared_place(warp, Space::kSharedCluster, x.address[1].of(warp, lane), lane);
    issue_load(warp, x, std::move(copy), to, mbar, lane);
  });
  return Flow::kNext;
}

// --- cp.async: address[0] shared, [1] global; imm[0] bytes; op.a: source bytes (kNoRef: all); op.b: predicate to ignore the source ---
namespace {

void copy_lanes(Warp& warp, LaneCopies& copies, Mask lanes) {
  for_active(lanes, [&](unsigned i) {
    std::byte* to = warp.cta->shared_at(copies.shared[i]);
    const u32 from_source = copies.source_bytes[i];
    if (from_source != 0)
      std::memcpy(to, resolve_lane(warp, Space::kGlobal, copies.global[i], from_source, 1, Access::kRead, i),
                  from_source);
    std::memset(to + from_source, 0, copies.bytes - from_source);
  });
  copies.lanes &= ~lanes;
}

}  // namespace

Flow cp_async(Warp& warp, const Op& op, Mask mask) {
  const auto& x = static_cast<const ComplexExtra&>(*op.extra);
  LaneCopies copies;
  copies.lanes = mask;
  copies.bytes = u32(x.imm[0]);
  copies.site = op.site;
  const Mask ignored = op.b == kNoRef ? 0 : warp.predicate(op.b);
  for_active(mask, [&](unsigned i) {
    const u64 shared = x.address[0].of(warp, i), global = x.address[1].of(warp, i);
    resolve_lane(warp, x.address[0].space, shared, copies.bytes, copies.bytes, Access::kWrite, i);
    copies.shared[i] = shared_place(warp, x.address[0].space, shared, i).offset;
    copies.global[i] = global;
    const u32 wanted = op.a == kNoRef ? copies.bytes : warp.at<u32>(op.a)[i];
    if (wanted > copies.bytes)
      trap(TrapKind::kInvalidOperand, i, fmt::format("cp.async of {} bytes with src-size {}", copies.bytes, wanted),
           "src-size is at most cp-size");
    copies.source_bytes[i] = (ignored >> i & 1) != 0 ? 0 : std::uint8_t(wanted);
    if (copies.source_bytes[i] != 0)
      resolve_lane(warp, Space::kGlobal, global, copies.source_bytes[i], copies.bytes, Access::kRead, i,
                   &warp.worker->ranges[std::size_t(x.imm[1])]);
  });
  count_bytes(warp, op, u64(std::popcount(mask)) * copies.bytes);
  if (warp.worker->launch.schedule == Schedule::kEarliest) {
    copy_lanes(warp, copies, mask);
  } else {
    queue(warp).loads.push_back(copies);
  }
  return Flow::kNext;
}

Flow cp_async_commit(Warp& warp, const Op&, Mask mask) {
  BulkQueue& q = queue(warp);
  for (LaneCopies& copies : q.loads) {
    const Mask now = copies.lanes & ~copies.committed & mask;
    for_active(now, [&](unsigned i) { copies.group[i] = q.load_groups[i]; });
    copies.committed |= now;
  }
  for_active(mask, [&](unsigned i) { ++q.load_groups[i]; });
  return Flow::kNext;
}

namespace {

// All copies of the lanes, or the committed ones older than the last `keep` groups.
void finish_loads(Warp& warp, Mask mask, std::int64_t keep) {
  if (!warp.bulk) return;
  BulkQueue& q = *warp.bulk;
  for (LaneCopies& copies : q.loads) {
    Mask due = copies.lanes & mask;
    if (keep >= 0) {
      Mask old = 0;
      for_active(due & copies.committed,
                 [&](unsigned i) { old |= Mask(q.load_groups[i] - copies.group[i] > u64(keep)) << i; });
      due = old;
    }
    copy_lanes(warp, copies, due);
  }
  std::erase_if(q.loads, [](const LaneCopies& copies) { return copies.lanes == 0; });
}

}  // namespace

Flow cp_async_wait(Warp& warp, const Op& op, Mask mask) {
  finish_loads(warp, mask, op.imm);
  return Flow::kNext;
}

// The arrival is triggered when the thread's earlier cp.async are complete; here they complete at once. Without .noinc the barrier
// first expects one arrival more.
Flow cp_async_mbarrier_arrive(Warp& warp, const Op& op, Mask mask) {
  const auto& x = static_cast<const ComplexExtra&>(*op.extra);
  finish_loads(warp, mask, -1);
  for_active(mask, [&](unsigned i) {
    const SharedPlace place = shared_place(warp, x.address[0].space, x.address[0].of(warp, i), i);
    Mbarrier& barrier = place.cta->mbarrier(place.offset, i);
    if (x.flag) {
      place.cta->mbarrier_arrive(barrier, 1, false, i);
    } else {
      ++barrier.pending;
      place.cta->mbarrier_arrive(barrier, 1, false, i);
    }
  });
  return Flow::kNext;
}

// address[0] the map in memory; op.a the new value (b32 or b64: imm[1] bits); imm[0] the field (a Mod), imm[2] ordinal.
Flow tensormap_replace(Warp& warp, const Op& op, Mask mask) {
  const auto& x = static_cast<const ComplexExtra&>(*op.extra);
  const auto field = Mod(x.imm[0]);
  for_active(mask, [&](unsigned lane) {
    std::byte* bytes = resolve_lane(warp, x.address[0].space, x.address[0].of(warp, lane), u32(kTensorMapBytes), 64,
                                    Access::kWrite, lane);
    auto unpacked = unpack_tensor_map({bytes, kTensorMapBytes});
    if (!unpacked) trap(unpacked.error(), lane);
    TensorMap map = *unpacked;
    const u64 value = op.a == kNoRef   ? u64(x.imm[3])
                      : x.imm[1] == 64 ? warp.at<u64>(op.a)[lane]
                                       : u64{warp.at<u32>(op.a)[lane]};
    const auto ordinal = std::size_t(x.imm[2]);
    switch (field) {
      case Mod::kGlobalAddress: map.global_address = value; break;
      case Mod::kGlobalDim: map.dims.at(ordinal) = value; break;
      case Mod::kGlobalStride: map.strides.at(ordinal + 1) = value; break;
      case Mod::kBoxDim: map.box.at(ordinal) = u32(value); break;
      case Mod::kElementStride: map.element_strides.at(ordinal) = u32(value); break;
      default:
        trap(TrapKind::kUnsupported, lane, fmt::format("tensormap.replace of field {}", isa::spelling(field)),
             "the emulator replaces global_address, global_dim, global_stride, box_dim and element_stride");
    }
    const TensorMapBytes packed = pack_tensor_map(map);
    std::memcpy(bytes, packed.data(), kTensorMapBytes);
  });
  return Flow::kNext;
}

}  // namespace ptxbench::emu::exec
