// Barriers: bar/barrier, barrier.cluster, mbarrier, setmaxnreg. PTX ISA 9.7.13, 9.7.19.
#include <utility>

#include "ptxbench/emu/exec/lanes_active.h"
#include "ptxbench/emu/exec/operations.h"
#include "ptxbench/emu/trap.h"
#include "ptxbench/emu/worker.h"

namespace ptxbench::emu::exec {
namespace {

using isa::FormId;
using isa::Mod;
using u32 = std::uint32_t;
using u64 = std::uint64_t;

// The value that all active lanes have.
u32 uniform(Warp& warp, Ref ref, Mask mask, const char* what) {
  const u32* a = warp.at<u32>(ref);
  const u32 value = a[first_lane(mask)];
  for_active(mask, [&](unsigned i) {
    if (a[i] != value)
      trap(TrapKind::kInvalidOperand, i,
           fmt::format("{} is {} in lane {} and {} in lane {}", what, value, first_lane(mask), a[i], i),
           "all threads of the warp give the same barrier operands");
  });
  return value;
}

void store_result(Warp& warp, const Op& op, const ComplexExtra& x, const NamedBarrier& barrier, Mask mask) {
  const unsigned slot = (barrier.phase - 1) & 1;
  if (x.operation == Mod::kPopc) {
    for_active(mask, [&](unsigned i) { warp.at<u32>(op.d)[i] = barrier.result_popc[slot]; });
    return;
  }
  const bool value = x.operation == Mod::kAnd ? barrier.result_and[slot] : barrier.result_popc[slot] != 0;
  Mask& p = *warp.at<Mask>(op.d);
  p = (p & ~mask) | (value ? mask : 0);
}

}  // namespace

// ComplexExtra: imm[0] 1 if arrive only, imm[1] 1 if .aligned; operation: the reduction; a[0]: its predicate.
// op.a barrier, op.b threads (kNoRef: all), op.d result.
Flow barrier(Warp& warp, const Op& op, Mask mask) {
  const auto& x = static_cast<const ComplexExtra&>(*op.extra);
  Cta& cta = *warp.cta;
  const bool reduces = x.operation != Mod::kNone;
  if (reduces && warp.current.resumed == WaitKind::kBarrier) {
    warp.current.resumed = WaitKind::kNone;
    store_result(warp, op, x, cta.barriers[warp.at<u32>(op.a)[first_lane(mask)]], mask);
    return Flow::kNext;
  }
  Flow flow;
  if (x.imm[1] != 0 && !warp.gather(mask, warp.live, flow)) return flow;
  const unsigned lane = first_lane(mask);
  const u32 number = uniform(warp, op.a, mask, "the barrier number");
  const u32 threads = op.b == kNoRef ? 0 : uniform(warp, op.b, mask, "the thread count");
  if (number >= 16)
    trap(TrapKind::kBarrierMisuse, lane, fmt::format("barrier {}", number), "a CTA has the barriers 0 to 15");
  if (op.b != kNoRef && (threads == 0 || threads % kLanes != 0 || threads > 1024))
    trap(TrapKind::kBarrierMisuse, lane, fmt::format("barrier {} for {} threads", number, threads),
         "the thread count of a barrier is a multiple of 32, at least 32, at most the threads of the CTA");
  NamedBarrier& b = cta.barriers[number];
  const bool whole = op.b == kNoRef;
  if (b.arrived != 0 && (b.whole_cta != whole || b.expected != threads))
    trap(TrapKind::kBarrierMisuse, lane,
         fmt::format("barrier {} is used for {} threads while others wait at it for {}", number,
                     whole ? cta.threads : threads, b.whole_cta ? cta.threads : b.expected),
         "all threads at a barrier name the same thread count");
  b.whole_cta = whole;
  b.expected = threads;
  const auto lanes = u32(std::popcount(mask));
  b.arrived += mask == warp.live ? kLanes : lanes;
  b.arrived_exactly += lanes;
  if (!whole && b.arrived > threads)
    trap(
        TrapKind::kBarrierMisuse, lane,
        fmt::format("{} threads arrive at barrier {}, which is for {}", b.arrived, number, threads),
        "exactly as many threads arrive at a barrier as its count says; give each group of warps a barrier of its own");
  if (reduces) {
    const Mask p = warp.predicate(x.a[0]) & mask;
    b.popc += u32(std::popcount(p));
    b.and_count += lanes - u32(std::popcount(p));
  }
  const u64 phase = b.phase;
  ++cta.progress;
  cta.barrier_check(b);
  if (x.imm[0] != 0) return Flow::kNext;
  if (b.phase != phase) {
    if (reduces) store_result(warp, op, x, b, mask);
    return Flow::kNext;
  }
  if (mask != warp.current.mask)
    trap(TrapKind::kDivergentCollective, lane, "a barrier under a predicate that only some lanes of the fragment meet",
         "branch around the barrier instead of predicating it per thread");
  return warp.block(Wait{WaitKind::kBarrier, &b.phase, phase, number, 0}, reduces);
}

Flow cluster_arrive(Warp& warp, const Op& op, Mask mask) {
  Flow flow;
  if (op.small != 0 && !warp.gather(mask, warp.live, flow)) return flow;
  Cluster& cluster = *warp.cta->cluster;
  for_active(mask, [&](unsigned i) {
    if (warp.cluster_phase[i] == cluster.barrier.phase + 1)
      trap(TrapKind::kBarrierMisuse, i, "a second barrier.cluster.arrive without a barrier.cluster.wait between",
           "each thread alternates barrier.cluster.arrive and barrier.cluster.wait");
    warp.cluster_phase[i] = cluster.barrier.phase + 1;
  });
  cluster.barrier.arrived += u32(std::popcount(mask));
  ++warp.cta->progress;
  cluster.barrier_check();
  return Flow::kNext;
}

Flow cluster_wait(Warp& warp, const Op& op, Mask mask) {
  Flow flow;
  if (op.small != 0 && !warp.gather(mask, warp.live, flow)) return flow;
  Cluster& cluster = *warp.cta->cluster;
  bool open = false;
  for_active(mask, [&](unsigned i) {
    if (warp.cluster_phase[i] == 0)
      trap(TrapKind::kBarrierMisuse, i, "barrier.cluster.wait without a barrier.cluster.arrive before it",
           "each thread arrives at the cluster barrier before it waits there");
    open |= cluster.barrier.phase < warp.cluster_phase[i];
  });
  const bool waited = std::exchange(warp.current.resumed, WaitKind::kNone) == WaitKind::kClusterBarrier;
  if (!open && (waited || cluster.ctas.size() == 1)) return Flow::kNext;
  if (!open) {  // the last to arrive has waited for nobody; its turn ends all the same (Cluster::pass)
    ++warp.current.pc;
    warp.slice = 0;
    return Flow::kJump;
  }
  return warp.block(Wait{WaitKind::kClusterBarrier, &cluster.barrier.phase, cluster.barrier.phase, 0, 0}, true);
}

// The register file has 64 Ki registers; a warpgroup gives some back (dec) or waits until enough are free (inc). How many a kernel
// starts with is the compiler's choice, which PTX does not have; the estimate is in LaunchState::registers_per_thread.
Flow setmaxnreg(Warp& warp, const Op& op, Mask mask) {
  Flow flow;
  if (!warp.gather(mask, warp.live, flow)) return flow;
  Cta& cta = *warp.cta;
  const auto count = u32(op.imm);
  const unsigned lane = first_lane(mask);
  if (count < 24 || count > 256 || count % 8 != 0)
    trap(TrapKind::kRegisterBudget, lane, fmt::format("setmaxnreg to {} registers", count),
         "the register count of setmaxnreg is in 24 .. 256 and a multiple of 8");
  u32& held = cta.warp_registers[warp.index];
  const std::int64_t more = (std::int64_t(count) - std::int64_t(held)) * kLanes;
  if (op.small != 0 && more > cta.registers_free) {
    return warp.block(Wait{WaitKind::kRegisters, &cta.register_events, cta.register_events, 0, u64(more)}, true);
  }
  cta.registers_free -= more;
  held = count;
  ++cta.register_events;
  ++cta.progress;
  return Flow::kNext;
}

// --- mbarrier: ComplexExtra.address[0] is the object ---

Flow mbarrier_init(Warp& warp, const Op& op, Mask mask) {
  const auto& x = static_cast<const ComplexExtra&>(*op.extra);
  for_active(mask, [&](unsigned i) {
    const SharedPlace place = shared_place(warp, x.address[0].space, x.address[0].of(warp, i), i);
    place.cta->mbarrier_init(place.offset, warp.at<u32>(op.a)[i], i);
  });
  return Flow::kNext;
}
Flow mbarrier_inval(Warp& warp, const Op& op, Mask mask) {
  const auto& x = static_cast<const ComplexExtra&>(*op.extra);
  for_active(mask, [&](unsigned i) {
    const SharedPlace place = shared_place(warp, x.address[0].space, x.address[0].of(warp, i), i);
    place.cta->mbarrier_inval(place.offset, i);
  });
  return Flow::kNext;
}

namespace {

// The opaque state: the low bits of the phase and the arrivals that it still needs.
u64 state_of(const Mbarrier& barrier) { return (barrier.phase & 0xffffffffffull) << 20 | (barrier.pending & 0xfffffu); }

}  // namespace

// op.d state (kNoRef: none), op.a count or bytes (kNoRef: count 1); imm[0]: 1 the operand is a tx-count, imm[1]: 1 drop.
Flow mbarrier_arrive(Warp& warp, const Op& op, Mask mask) {
  const auto& x = static_cast<const ComplexExtra&>(*op.extra);
  const bool expects = x.imm[0] != 0;
  // Lanes that arrive together see the same state, the one before any of them (tests/captures/hardware.md).
  u64 states[kLanes] = {};
  if (op.d != kNoRef)
    for_active(mask, [&](unsigned i) {
      const SharedPlace place = shared_place(warp, x.address[0].space, x.address[0].of(warp, i), i);
      states[i] = state_of(place.cta->mbarrier(place.offset, i));
    });
  for_active(mask, [&](unsigned i) {
    const SharedPlace place = shared_place(warp, x.address[0].space, x.address[0].of(warp, i), i);
    Mbarrier& barrier = place.cta->mbarrier(place.offset, i);
    const u32 operand = op.a == kNoRef ? 1 : warp.at<u32>(op.a)[i];
    if (!expects && operand == 0)
      trap(TrapKind::kBarrierMisuse, i, "mbarrier.arrive with count 0", "the count of an arrival is at least 1",
           place.offset);
    if (expects) place.cta->mbarrier_expect_tx(barrier, operand, i);
    place.cta->mbarrier_arrive(barrier, expects ? 1 : operand, x.imm[1] != 0, i);
    if (op.d != kNoRef) warp.at<u64>(op.d)[i] = states[i];
  });
  return Flow::kNext;
}

// imm[0]: 1 expect, -1 complete_tx.
Flow mbarrier_expect_tx(Warp& warp, const Op& op, Mask mask) {
  const auto& x = static_cast<const ComplexExtra&>(*op.extra);
  for_active(mask, [&](unsigned i) {
    const SharedPlace place = shared_place(warp, x.address[0].space, x.address[0].of(warp, i), i);
    Mbarrier& barrier = place.cta->mbarrier(place.offset, i);
    place.cta->mbarrier_expect_tx(barrier, x.imm[0] * std::int64_t(warp.at<u32>(op.a)[i]), i);
    place.cta->mbarrier_settle(barrier);
  });
  return Flow::kNext;
}

Flow mbarrier_pending_count(Warp& warp, const Op& op, Mask mask) {
  for_active(mask, [&](unsigned i) { warp.at<u32>(op.d)[i] = u32(warp.at<u64>(op.a)[i] & 0xfffffu); });
  return Flow::kNext;
}

// op.d predicate, op.a state or parity; imm[0]: 1 parity; imm[1]: 1 try_wait (may wait), 0 test_wait.
Flow mbarrier_wait(Warp& warp, const Op& op, Mask mask) {
  const auto& x = static_cast<const ComplexExtra&>(*op.extra);
  Mask complete = 0;
  Mbarrier* first_open = nullptr;
  bool same = true;  // all waiting lanes wait for one barrier
  for_active(mask, [&](unsigned i) {
    const SharedPlace place = shared_place(warp, x.address[0].space, x.address[0].of(warp, i), i);
    Mbarrier& barrier = place.cta->mbarrier(place.offset, i);
    auto done = [&] {
      if (x.imm[0] != 0) return (barrier.phase & 1) != (warp.at<u32>(op.a)[i] & 1);
      return (barrier.phase & 0xffffffffffull) != warp.at<u64>(op.a)[i] >> 20;
    };
    if (!done()) {
      barrier.waited = true;
      place.cta->mbarrier_settle(barrier);
    }
    if (done()) {
      complete |= Mask{1} << i;
      return;
    }
    same &= first_open == nullptr || first_open == &barrier;
    first_open = &barrier;
  });
  const bool timed_out = warp.current.timed_out;
  warp.current.timed_out = false;
  if (complete != mask) {
    // A try_wait sleeps until the phase completes; the scheduler lets it come back false if nothing else can run.
    if (x.imm[1] != 0 && complete == 0 && same && !timed_out && mask == warp.current.mask)
      return warp.block(Wait{WaitKind::kMbarrier, &first_open->phase, first_open->phase, first_open->address, 1}, true);
    warp.poll(16);
  }
  Mask& p = *warp.at<Mask>(op.d);
  p = (p & ~mask) | complete;
  return Flow::kNext;
}

}  // namespace ptxbench::emu::exec
