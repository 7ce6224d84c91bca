#include "ptxbench/emu/cta.h"

#include <cstring>

#include "ptxbench/emu/trap.h"
#include "ptxbench/emu/worker.h"

namespace ptxbench::emu {
namespace {

constexpr std::size_t kTurnsPerPass = 256;

// What mbarrier.init leaves in shared memory: a tag, the offset and the number of the barrier's record. So a barrier that was never
// initialised, or whose bytes were overwritten, is recognised.
constexpr std::uint64_t kTag = 0xb17e;
std::uint64_t barrier_word(std::uint32_t offset, std::size_t index) {
  return kTag << 48 | std::uint64_t(offset) << 16 | index;
}

void check_barrier_place(const Cta& cta, std::uint32_t offset, std::uint32_t lane) {
  if (offset % 8 != 0)
    trap(TrapKind::kMisaligned, lane, fmt::format("mbarrier at shared address {:#x}", offset),
         "an mbarrier object is 8 bytes, aligned to 8", offset);
  if (offset < kSharedStart || offset + 8 > kSharedStart + cta.shared_bytes)
    trap(TrapKind::kOutOfBounds, lane,
         fmt::format("mbarrier at shared address {:#x}, but the CTA's shared memory is [{:#x}, {:#x})", offset,
                     kSharedStart, kSharedStart + cta.shared_bytes),
         "an mbarrier object lies in the shared memory of a CTA", offset);
}

}  // namespace

Mbarrier& Cta::mbarrier(std::uint32_t offset, std::uint32_t lane) {
  check_barrier_place(*this, offset, lane);
  std::uint64_t word;
  std::memcpy(&word, shared_at(offset), 8);
  const std::size_t index = word & 0xffff;
  if (index < mbarriers.size() && word == barrier_word(offset, index) && mbarriers[index].valid)
    return mbarriers[index];
  bool overwritten = false;
  for (const Mbarrier& barrier : mbarriers) overwritten |= barrier.valid && barrier.address == offset;
  trap(TrapKind::kBarrierNotInitialised, lane,
       overwritten ? fmt::format("the mbarrier at shared address {:#x} was overwritten by other data", offset)
                   : fmt::format("no mbarrier was initialised at shared address {:#x}", offset),
       "run mbarrier.init on the object, then fence.mbarrier_init or a CTA barrier, before any thread uses it; nothing "
       "else may "
       "write its 8 bytes",
       offset);
}

void Cta::mbarrier_init(std::uint32_t offset, std::uint32_t count, std::uint32_t lane) {
  check_barrier_place(*this, offset, lane);
  if (count == 0 || count > Mbarrier::kMaxCount)
    trap(TrapKind::kBarrierMisuse, lane, fmt::format("mbarrier.init with count {}", count),
         "the count of an mbarrier is in 1 .. 2^20 - 1", offset);
  std::size_t index = 0;
  while (index < mbarriers.size() && mbarriers[index].valid && mbarriers[index].address != offset) ++index;
  if (index == mbarriers.size()) mbarriers.emplace_back();
  Mbarrier& barrier = mbarriers[index];
  if (!barrier.copies.empty())
    trap(TrapKind::kBarrierMisuse, lane,
         fmt::format("mbarrier.init at {:#x} while a copy that completes there is in flight", offset),
         "wait for the copies of an mbarrier before initialising it again", offset);
  const std::uint64_t phase = barrier.phase + 2 + (barrier.phase & 1);  // a new even number: old waiters wake up
  barrier = Mbarrier{};
  barrier.address = offset;
  barrier.valid = true;
  barrier.phase = phase;
  barrier.expected = barrier.pending = count;
  const std::uint64_t word = barrier_word(offset, index);
  std::memcpy(shared_at(offset), &word, 8);
  ++progress;
}

void Cta::mbarrier_inval(std::uint32_t offset, std::uint32_t lane) {
  Mbarrier& barrier = mbarrier(offset, lane);
  if (!barrier.copies.empty())
    trap(TrapKind::kBarrierMisuse, lane,
         fmt::format("mbarrier.inval at {:#x} while a copy that completes there is in flight", offset),
         "wait for the copies of an mbarrier before invalidating it", offset);
  barrier.valid = false;
  ++barrier.phase;
  ++progress;
}

void Cta::mbarrier_arrive(Mbarrier& barrier, std::uint32_t count, bool drop_expected, std::uint32_t lane) {
  if (count > barrier.pending)
    trap(TrapKind::kBarrierMisuse, lane,
         fmt::format("{} arrivals on the mbarrier at {:#x}, whose current phase needs only {} more of {}", count,
                     barrier.address, barrier.pending, barrier.expected),
         "each phase takes exactly as many arrivals as mbarrier.init said; count the threads that arrive",
         barrier.address);
  if (drop_expected) barrier.expected -= count;
  barrier.pending -= count;
  ++progress;
  mbarrier_settle(barrier);
}

void Cta::mbarrier_expect_tx(Mbarrier& barrier, std::int64_t bytes, std::uint32_t lane) {
  barrier.tx += bytes;
  ++progress;
  if (barrier.tx > Mbarrier::kTxRange || barrier.tx < -Mbarrier::kTxRange)
    trap(TrapKind::kTransactionCount, lane,
         fmt::format("the tx-count of the mbarrier at {:#x} becomes {}", barrier.address, barrier.tx),
         "a tx-count stays within -(2^20 - 1) .. 2^20 - 1 bytes", barrier.address);
}

void Cta::mbarrier_attach(Mbarrier& barrier, AsyncCopy copy) {
  ++progress;
  if (cluster->worker->launch.schedule == Schedule::kEarliest) {
    const std::uint32_t lane = copy.lane;
    mbarrier_expect_tx(barrier, -std::int64_t(perform(copy, *cluster->worker)), lane);
  } else {
    barrier.copies.push_back(std::move(copy));
  }
  mbarrier_settle(barrier);
}

void Cta::mbarrier_settle(Mbarrier& barrier) {
  if (barrier.pending != 0) return;
  while (barrier.tx > 0 && barrier.waited && !barrier.copies.empty()) {
    barrier.tx -= perform(barrier.copies.front(), *cluster->worker);
    if (barrier.tx < 0) break;
    barrier.copies.pop_front();
    ++progress;
  }
  const bool too_many = barrier.tx == 0 && !barrier.copies.empty();
  if (barrier.tx < 0 || too_many) {
    std::optional<std::uint32_t> site;
    if (!barrier.copies.empty()) site = barrier.copies.back().site;
    throw TrapSignal{
        TrapKind::kTransactionCount,
        too_many ? fmt::format("the phase of the mbarrier at {:#x} completes with all expected bytes, while {} more "
                               "copies that complete there are in flight",
                               barrier.address, barrier.copies.size())
                 : fmt::format("copies complete {} bytes more than the phase of the mbarrier at {:#x} expects",
                               -barrier.tx, barrier.address),
        "expect_tx of a phase must be the sum of the bytes of all copies that complete on the mbarrier in that phase "
        "(for a tensor copy the whole box, out-of-bounds elements included)",
        barrier.address,
        0,
        site};
  }
  if (barrier.tx != 0) return;
  ++barrier.phase;
  barrier.pending = barrier.expected;
  barrier.waited = false;
  ++progress;
}

void Cta::barrier_check(NamedBarrier& barrier) {
  const bool complete =
      barrier.whole_cta ? barrier.arrived_exactly >= live_threads : barrier.arrived >= barrier.expected;
  if (barrier.arrived == 0 || !complete) return;
  barrier.result_popc[barrier.phase & 1] = barrier.popc;
  barrier.result_and[barrier.phase & 1] = barrier.and_count == 0;
  ++barrier.phase;
  barrier.expected = barrier.arrived = barrier.arrived_exactly = barrier.and_count = barrier.popc = 0;
  barrier.whole_cta = false;
  ++progress;
}

void Cta::lanes_exited(Warp& warp, Mask lanes) {
  const auto count = std::uint32_t(std::popcount(lanes));
  live_threads -= count;
  cluster->live_threads -= count;
  ++progress;
  if (warp.live == 0) {
    --live_warps;
    if (!warp_registers.empty()) registers_free += std::int64_t(warp_registers[warp.index]) * kLanes;
    ++register_events;
  }
  for (NamedBarrier& barrier : barriers)
    if (barrier.whole_cta) barrier_check(barrier);
  cluster->barrier_check();
}

void Cta::finish() {
  for (auto& warp : warps) {
    if (!warp->bulk) continue;
    for (const BulkQueue::Store& store : warp->bulk->stores) perform(store.copy, *cluster->worker);
    warp->bulk.reset();
  }
  for (const Mbarrier& barrier : mbarriers) {
    if (barrier.copies.empty()) continue;
    const AsyncCopy& copy = barrier.copies.front();
    throw TrapSignal{
        TrapKind::kCopyInFlight,
        fmt::format("the CTA ends while {} copies into its shared memory are in flight on the mbarrier at {:#x}; "
                    "no thread waited for them",
                    barrier.copies.size(), barrier.address),
        "wait on the mbarrier (mbarrier.try_wait in a loop) for every copy before its data is used and before the CTA "
        "exits",
        barrier.address,
        copy.lane,
        copy.site};
  }
}

void Cluster::barrier_check() {
  if (barrier.arrived == 0 || barrier.arrived < live_threads) return;
  ++barrier.phase;
  barrier.arrived = 0;
  for (auto& cta : ctas) ++cta->progress;
}

bool Cluster::pass() {
  bool ran = false;
  const std::size_t size = ctas.size();
  const bool backwards = worker->launch.schedule == Schedule::kEarliest;
  // Whoever comes first gets as far ahead as it can, up to its end: the others have single turns, when it waits for them.
  // What they still do to its shared memory then shows. A CTA that polls may wait for any of them, so all have a turn.
  bool strict = size > 1;
  for (std::size_t i = 0, turns = 0; i < size;) {
    const Turn turn = round(*ctas[backwards ? size - 1 - i : i], strict && i > 0);
    ran |= turn != Turn::kStuck;
    strict &= turn != Turn::kPolled && ++turns < kTurnsPerPass;
    if (strict && turn == Turn::kRan)
      i = 0;
    else
      ++i;
  }
  if (done()) {
    for (auto& cta : ctas) {
      worker->running = cta->warps.front().get();
      cta->finish();
    }
    return false;
  }
  if (!ran) on_stall();
  return true;
}

// One turn for each warp, or for one of them. A cluster barrier that completes ends the round, so that who comes first goes on
// first.
Cluster::Turn Cluster::round(Cta& cta, bool single) {
  const std::uint64_t phase = barrier.phase;
  const std::size_t size = cta.warps.size();
  cta.started = true;
  bool ran = false, polled = false;
  for (std::size_t i = 0; i < size && barrier.phase == phase && !(single && ran); ++i) {
    const std::size_t index = single ? (cta.next_warp + i) % size : i;
    Warp& warp = *cta.warps[index];
    if (warp.done()) continue;
    worker->running = &warp;
    if (!warp.run()) continue;
    ran = true;
    polls += warp.polled;
    polled |= warp.polled;
    cta.next_warp = index + 1;
  }
  return !ran ? Turn::kStuck : polled ? Turn::kPolled : Turn::kRan;
}

// Everybody waits. A try_wait may come back false after a while, so that happens now; if that leads nowhere, nothing will.
void Cluster::on_stall() {
  std::uint64_t progress = 0;
  for (auto& cta : ctas) progress += cta->progress;
  if (progress != progress_at_stall) idle_stalls = 0;
  progress_at_stall = progress;
  bool woken = false;
  if (++idle_stalls <= 3) {
    for (auto& cta : ctas) {
      for (auto& warp : cta->warps) {
        for (Fragment& fragment : warp->others) {
          if (fragment.wait.kind != WaitKind::kMbarrier || fragment.wait.detail == 0) continue;
          fragment.wait = {};
          fragment.timed_out = true;
          woken = true;
        }
      }
    }
  }
  if (!woken) trap_deadlock();
}

namespace {

std::string describe_wait(const Warp& warp, const Wait& wait) {
  Cta& cta = *warp.cta;
  switch (wait.kind) {
    case WaitKind::kMbarrier: {
      for (auto& peer : cta.cluster->ctas) {
        for (const Mbarrier& barrier : peer->mbarriers) {
          if (&barrier.phase != wait.watch) continue;
          std::string text = fmt::format("the mbarrier at shared address {:#x}: {} of {} arrivals missing",
                                         barrier.address, barrier.pending, barrier.expected);
          if (barrier.tx > 0) text += fmt::format(", {} bytes of expect_tx not copied", barrier.tx);
          if (barrier.tx < 0) text += fmt::format(", {} bytes copied that no expect_tx announced", -barrier.tx);
          if (!barrier.copies.empty()) text += fmt::format(", {} copies issued", barrier.copies.size());
          return text + fmt::format(", in the phase of parity {}", barrier.phase & 1);
        }
      }
      return "an mbarrier";
    }
    case WaitKind::kBarrier: {
      const NamedBarrier& barrier = cta.barriers[wait.address];
      const std::uint32_t wanted = barrier.whole_cta ? cta.live_threads : barrier.expected;
      return fmt::format("barrier {}: {} of {} threads arrived", wait.address,
                         barrier.whole_cta ? barrier.arrived_exactly : barrier.arrived, wanted);
    }
    case WaitKind::kClusterBarrier:
      return fmt::format("the cluster barrier: {} of {} threads arrived", cta.cluster->barrier.arrived,
                         cta.cluster->live_threads);
    case WaitKind::kWarpgroup: return "the other warps of its warpgroup to issue the same wgmma";
    case WaitKind::kRegisters:
      return fmt::format("{} registers from setmaxnreg.dec of other warps ({} are free)", wait.detail,
                         cta.registers_free);
    case WaitKind::kCollective:
    case WaitKind::kWarpBarrier: return fmt::format("lanes {:#010x} of its warp", wait.detail);
    case WaitKind::kNone: break;
  }
  return "nothing";
}

}  // namespace

void Cluster::trap_deadlock() {
  constexpr int kListed = 16;
  std::string text = "no thread of the CTA can go on:";
  int listed = 0;
  Warp* first = nullptr;
  bool registers = false;
  for (auto& cta : ctas) {
    for (auto& warp : cta->warps) {
      for (const Fragment& fragment : warp->others) {
        if (first == nullptr) {
          first = warp.get();
          first->current = fragment;
          if (fragment.wait.kind == WaitKind::kBarrier) --first->current.pc;  // it has arrived and waits after it
        }
        registers |= fragment.wait.kind == WaitKind::kRegisters;
        if (++listed > kListed) continue;
        const Program& program = *warp->program;
        const std::uint32_t site = program.ops[fragment.pc].site;
        const SourceLine source = program.source(site);
        const bool past = fragment.wait.kind == WaitKind::kBarrier;
        text += fmt::format("\n    {}warp {} lanes {:#010x} at PTX line {}{}: waits for {}",
                            ctas.size() > 1 ? fmt::format("CTA rank {} ", cta->rank) : "", warp->index, fragment.mask,
                            program.ptx_line(past ? program.ops[fragment.pc - 1].site : site),
                            source.file.empty() ? "" : fmt::format(" ({}:{})", source.file, source.line),
                            describe_wait(*warp, fragment.wait));
      }
    }
  }
  if (listed > kListed) text += fmt::format("\n    and {} more", listed - kListed);
  worker->running = first;
  throw TrapSignal{registers ? TrapKind::kRegisterBudget : TrapKind::kDeadlock,
                   text,
                   "every wait needs its arrivals: check thread counts of barriers, the parity that is waited for, "
                   "expect_tx against the "
                   "bytes really copied, and that the producer runs",
                   std::nullopt,
                   first == nullptr ? 0 : std::uint32_t(std::countr_zero(first->current.mask)),
                   std::nullopt};
}

}  // namespace ptxbench::emu
