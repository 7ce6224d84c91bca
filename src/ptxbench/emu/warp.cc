#include "ptxbench/emu/warp.h"

#include <algorithm>

#include "ptxbench/base/check.h"
#include "ptxbench/emu/trap.h"
#include "ptxbench/emu/worker.h"

namespace ptxbench::emu {
namespace {

constexpr std::int32_t kSlice = 128;          // backward branches per turn
constexpr std::uint32_t kStarvedSlices = 16;  // then parked siblings are let go

}  // namespace

void Warp::start(std::uint32_t pc, Mask lanes) {
  current = Fragment{pc, lanes, kNoSync, {}, {}, {}};
  has_current = true;
  live = launched = lanes;
  others.clear();
  syncs.clear();
  events = starved = carry = wgmma_in_flight = 0;
  std::fill(std::begin(cluster_phase), std::end(cluster_phase), 0);
  bulk.reset();
}

// Runs [first, past_last) were executed by `mask`: marked in the difference arrays, summed up at the end of the launch.
inline void Warp::account(std::uint32_t first, std::uint32_t past_last, Mask mask) {
  if (first == past_last) return;
  const std::int64_t threads = std::popcount(mask);
  RunCounters& counters = worker->counters;
  counters.warp_edges[first] += 1;
  counters.warp_edges[past_last] -= 1;
  counters.thread_edges[first] += threads;
  counters.thread_edges[past_last] -= threads;
  worker->work += std::uint64_t(past_last - first) * std::uint64_t(threads);
}

void Warp::execute() {
  const Op* const ops = program->ops.data();
  RunCounters& counters = worker->counters;
  std::uint32_t pc = current.pc, first = pc;
  Mask run_mask = current.mask;
  try {
    while (true) {
      const Op& op = ops[pc];
      Mask active = run_mask;
      if (op.guard != kNoRef) {
        active &= predicate(op.guard) ^ op.guard_flip;
        if (active == 0) {
          ++pc;
          continue;
        }
      }
      current.pc = pc;
      const Flow flow = op.fn(*this, op, active);
      if (flow == Flow::kRetry) return account(first, pc, run_mask);
      if (op.guard != kNoRef) {
        counters.guarded_warps[pc] += 1;
        counters.guarded_threads[pc] += std::uint64_t(std::popcount(active));
      }
      if (flow == Flow::kNext) [[likely]] {
        ++pc;
        continue;
      }
      account(first, pc + 1, run_mask);
      if (flow == Flow::kStop) return;
      pc = first = current.pc;
      run_mask = current.mask;
      if (slice <= 0) return;
    }
  } catch (const TrapSignal&) {
    account(first, pc, run_mask);
    throw;
  }
}

bool Warp::run() {
  slice = kSlice;
  polled = false;
  bool ran = false;
  while (select()) {
    ran = true;
    execute();
    if (slice <= 0) {
      rotate();
      break;
    }
  }
  return ran;
}

// Picks a fragment that can run. False: none can (all wait), or the warp is done.
bool Warp::select() {
  if (has_current && current.wait.over()) {
    current.resumed = current.wait.again ? current.wait.kind : WaitKind::kNone;
    current.wait = {};
    return true;
  }
  if (has_current) {
    others.push_back(current);
    has_current = false;
  }
  bool outside = false;  // somebody waits for what other warps or copies must do
  for (std::size_t i = 0; i < others.size(); ++i) {
    if (!others[i].wait.over()) {
      outside |= others[i].wait.kind != WaitKind::kCollective && others[i].wait.kind != WaitKind::kWarpBarrier;
      continue;
    }
    current = others[i];
    others.erase(others.begin() + std::ptrdiff_t(i));
    current.resumed = current.wait.again ? current.wait.kind : WaitKind::kNone;
    current.wait = {};
    has_current = true;
    for (std::size_t k = others.size(); k-- > 0;)  // lanes that are at the same place run together again
      if (others[k].pc == current.pc && others[k].sync == current.sync && others[k].wait.kind == WaitKind::kNone)
        merge_into_current(k);
    return true;
  }
  if (live != 0 && !outside) trap_divergent();
  return false;
}

// End of a turn with a runnable fragment: let a sibling go first, or, when there is none but lanes are parked and the
// running ones seem to spin, let the parked lanes go.
void Warp::rotate() {
  if (!has_current) return;
  if (std::ranges::any_of(others, [](const Fragment& other) { return other.wait.over(); })) {
    others.push_back(current);
    has_current = false;
    starved = 0;
    return;
  }
  if (syncs.empty()) return;
  starved += polled ? 4 : 1;
  if (starved < 4 * kStarvedSlices) return;
  starved = 0;
  release_parked();
}

std::uint32_t Warp::new_sync(std::uint32_t pc, Mask expected, std::uint32_t parent, bool is_call) {
  std::uint32_t index = 0;
  while (index < syncs.size() && syncs[index].in_use) ++index;
  if (index == syncs.size()) syncs.emplace_back();
  syncs[index] = Sync{pc, parent, expected, 0, is_call, true};
  return index;
}

void Warp::resume_if_complete(std::uint32_t index) {
  Sync& sync = syncs[index];
  if (sync.expected != 0 && sync.arrived != sync.expected) return;
  if (sync.expected != 0) others.push_back(Fragment{sync.pc, sync.arrived, sync.parent, {}, {}, {}});
  sync.in_use = false;
  ++events;
}

// `lanes` will not come to the syncs from `index` up to, not including, `stop_at`.
void Warp::leave(std::uint32_t index, Mask lanes, std::uint32_t stop_at) {
  while (index != stop_at && index != kNoSync) {
    const std::uint32_t parent = syncs[index].parent;
    syncs[index].expected &= ~lanes;
    syncs[index].arrived &= ~lanes;
    resume_if_complete(index);
    index = parent;
  }
}

bool Warp::release_parked() {
  for (Sync& sync : syncs) {
    if (!sync.in_use || sync.arrived == 0) continue;
    others.push_back(Fragment{sync.pc, sync.arrived, sync.parent, {}, {}, {}});
    sync.expected &= ~sync.arrived;
    sync.arrived = 0;
    ++events;
    return true;
  }
  return false;
}

std::uint32_t Warp::call_sync(std::uint32_t index) const {
  while (index != kNoSync && !syncs[index].is_call) index = syncs[index].parent;
  return index;
}

// Both fragments are at the same operation. The other's lanes take over the current one's meeting points.
bool Warp::merge_into_current(std::size_t other) {
  const Fragment fragment = others[other];
  if (call_sync(fragment.sync) != call_sync(current.sync)) return false;
  auto in_chain = [this](std::uint32_t chain, std::uint32_t index) {
    for (; chain != kNoSync; chain = syncs[chain].parent)
      if (chain == index) return true;
    return false;
  };
  std::uint32_t common = fragment.sync;  // innermost meeting point of both
  while (common != kNoSync && !in_chain(current.sync, common)) common = syncs[common].parent;
  for (std::uint32_t index = current.sync; index != common; index = syncs[index].parent)
    syncs[index].expected |= fragment.mask;
  current.mask |= fragment.mask;
  others.erase(others.begin() + std::ptrdiff_t(other));
  leave(fragment.sync, fragment.mask, common);
  return true;
}

Flow Warp::branch(Mask taken, std::uint32_t target, std::uint32_t join_pc) {
  const std::uint32_t next = current.pc + 1;
  const Mask rest = current.mask & ~taken;
  if (target <= current.pc) --slice;
  if (rest == 0) {
    current.pc = target;
    return Flow::kJump;
  }
  std::uint32_t sync = current.sync;
  if (join_pc != kNoPc && (sync == kNoSync || syncs[sync].pc != join_pc || syncs[sync].is_call))
    sync = new_sync(join_pc, current.mask, current.sync, false);
  if (target == join_pc) {
    syncs[sync].arrived |= taken;
    current = Fragment{next, rest, sync, {}, {}, {}};
  } else if (next == join_pc) {
    syncs[sync].arrived |= rest;
    current = Fragment{target, taken, sync, {}, {}, {}};
  } else {
    others.push_back(Fragment{target, taken, sync, {}, {}, {}});
    current = Fragment{next, rest, sync, {}, {}, {}};
  }
  return Flow::kJump;
}

Flow Warp::join() {
  const std::uint32_t pc = current.pc;
  if (current.sync == kNoSync || syncs[current.sync].pc != pc) return Flow::kNext;
  while (current.sync != kNoSync && syncs[current.sync].pc == pc) {
    Sync& sync = syncs[current.sync];
    sync.arrived |= current.mask;
    if (sync.arrived != sync.expected) {
      has_current = false;
      return Flow::kStop;
    }
    sync.in_use = false;
    current.mask = sync.arrived;
    current.sync = sync.parent;
  }
  starved = 0;
  current.pc = pc + 1;
  return Flow::kJump;
}

Flow Warp::call(Mask lanes, std::uint32_t target, std::uint32_t return_pc) {
  const Mask rest = current.mask & ~lanes;
  std::uint32_t parent = current.sync;
  if (rest != 0) {  // the others wait where the call returns to
    parent = new_sync(return_pc, current.mask, current.sync, false);
    syncs[parent].arrived = rest;
  }
  current = Fragment{target, lanes, new_sync(return_pc, lanes, parent, true), {}, {}, {}};
  return Flow::kJump;
}

Flow Warp::ret(Mask lanes) {
  const std::uint32_t sync = call_sync(current.sync);
  if (sync == kNoSync) return exit_lanes(lanes);
  const std::uint32_t inner = current.sync;
  syncs[sync].arrived |= lanes;
  leave(inner, lanes, sync);
  current.mask &= ~lanes;
  ++current.pc;
  has_current = current.mask != 0;
  if (syncs[sync].arrived == syncs[sync].expected) resume_if_complete(sync);
  return has_current ? Flow::kJump : Flow::kStop;
}

Flow Warp::exit_lanes(Mask lanes) {
  live &= ~lanes;
  current.mask &= ~lanes;
  ++current.pc;
  has_current = current.mask != 0;
  leave(current.sync, lanes, kNoSync);
  ++events;
  cta->lanes_exited(*this, lanes);
  return has_current ? Flow::kJump : Flow::kStop;
}

Flow Warp::block(Wait wait, bool retry) {
  current.wait = wait;
  current.wait.again = retry;
  if (!retry) ++current.pc;
  return retry ? Flow::kRetry : Flow::kStop;
}

bool Warp::gather(Mask active, Mask needed, Flow& flow) {
  needed &= live;
  if ((active & needed) == needed) [[likely]]
    return true;
  flow = Flow::kRetry;
  bool merged = false;
  for (std::size_t i = others.size(); i-- > 0;)
    if (others[i].pc == current.pc &&
        (others[i].wait.kind == WaitKind::kCollective || others[i].wait.kind == WaitKind::kNone))
      merged |= merge_into_current(i);
  if (merged) {
    ++events;
    return false;  // the union tries again
  }
  block(Wait{WaitKind::kCollective, &events, events, 0, needed}, true);
  return false;
}

Flow Warp::warp_barrier(Mask active, Mask member) {
  const Mask needed = member & live;
  Mask have = active;
  for (const Fragment& other : others)
    if (other.wait.kind == WaitKind::kWarpBarrier && other.wait.address == member) have |= other.mask;
  if ((have & needed) != needed) return block(Wait{WaitKind::kWarpBarrier, &events, events, member, needed}, true);
  for (Fragment& other : others) {
    if (other.wait.kind != WaitKind::kWarpBarrier || other.wait.address != member) continue;
    account(other.pc, other.pc + 1, other.mask);
    ++other.pc;
    other.wait = {};
  }
  return Flow::kNext;
}

void Warp::trap_divergent() {
  PTXBENCH_CHECK(!others.empty(), "a live warp has no fragment");
  current = others.front();
  has_current = true;
  const Mask missing = Mask(current.wait.detail) & live & ~current.mask;
  std::string elsewhere;
  for (const Sync& sync : syncs)
    if (sync.in_use && (sync.arrived & missing) != 0)
      elsewhere += fmt::format("; lanes {:#010x} wait at PTX line {} for this branch to end", sync.arrived & missing,
                               program->ptx_line_at(sync.pc));
  for (std::size_t i = 1; i < others.size(); ++i)
    elsewhere +=
        fmt::format("; lanes {:#010x} wait at PTX line {}", others[i].mask, program->ptx_line_at(others[i].pc));
  trap(TrapKind::kDivergentCollective, std::uint32_t(std::countr_zero(current.mask)),
       fmt::format(
           "only lanes {:#010x} of the warp execute this instruction; lanes {:#010x} are needed too and do not come{}",
           current.mask, missing, elsewhere),
       "an .aligned instruction must be executed by all threads of the warp together, and a .sync instruction by all "
       "threads "
       "of its membermask; move it out of the divergent branch, or name only the threads that execute it");
}

}  // namespace ptxbench::emu
