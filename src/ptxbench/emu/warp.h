// Warp: 32 lanes, their registers and where each of them is in the program.
//
// Lanes that run together form a fragment {pc, mask}. At a divergent branch the lanes split into two fragments that meet
// again at the branch's immediate post-dominator: a Sync node says which lanes are expected there and which have arrived
// and are parked. Fragments take turns, so a lane that spins cannot starve the lane it waits for; and parked lanes are
// released without their siblings when those only spin (the holder of a lock must be able to give it back).
#pragma once

#include <bit>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <memory>
#include <vector>

#include "ptxbench/emu/program.h"

namespace ptxbench::emu {

struct Cta;
struct Worker;
struct BulkQueue;   // async.h
struct WgmmaQueue;  // wgmma_queue.h

enum class WaitKind : std::uint8_t {
  kNone,
  kCollective,      // the other lanes of a warp-level instruction
  kWarpBarrier,     // bar.warp.sync
  kBarrier,         // bar.sync
  kMbarrier,        // mbarrier.try_wait
  kClusterBarrier,  // barrier.cluster.wait
  kWarpgroup,       // the other warps of a wgmma instruction
  kRegisters,       // setmaxnreg.inc
};

// A waiting fragment can go on when *watch no longer equals `seen`.
struct Wait {
  WaitKind kind = WaitKind::kNone;
  const std::uint64_t* watch = nullptr;
  std::uint64_t seen = 0;
  std::uint64_t address = 0;  // kMbarrier: shared address; kBarrier: barrier number; kWarpBarrier: membermask
  std::uint64_t detail = 0;   // kMbarrier: 1 if a try_wait may come back false (its time limit)
  bool again = false;         // the operation is executed again after the wait
  bool over() const { return kind == WaitKind::kNone || (watch != nullptr && *watch != seen); }
};

inline constexpr std::uint32_t kNoSync = 0xffffffffu;

struct Fragment {
  std::uint32_t pc = 0;
  Mask mask = 0;
  std::uint32_t sync = kNoSync;  // innermost Sync that these lanes are expected at
  Wait wait;
  WaitKind resumed = WaitKind::kNone;  // the wait that has just ended, for an operation that is executed again
  bool timed_out = false;              // that wait was ended by the scheduler: its condition does not hold
};

struct Sync {
  std::uint32_t pc = kNoPc;  // of the join operation
  std::uint32_t parent = kNoSync;
  Mask expected = 0, arrived = 0;
  bool is_call = false;  // pc is a return address
  bool in_use = false;
};

struct Warp {
  // Hot fields first.
  std::byte* base[2] = {nullptr, nullptr};  // frame, constant pool
  Fragment current;
  bool has_current = false;
  bool polled = false;     // this slice executed something that waits for others in a loop
  std::int32_t slice = 0;  // backward branches left in this turn
  Mask live = 0;           // lanes that have not exited
  Cta* cta = nullptr;
  Worker* worker = nullptr;
  const Program* program = nullptr;
  WgmmaQueue* wgmma = nullptr;        // of the warpgroup; nullptr if the kernel has no wgmma
  std::uint32_t wgmma_in_flight = 0;  // this warp's issued and not yet executed wgmma
  std::byte* local = nullptr;         // local_bytes per lane, lane after lane
  std::uint32_t index = 0;            // in the CTA
  Mask launched = 0;                  // lanes that exist

  std::vector<Fragment> others;
  std::vector<Sync> syncs;
  std::uint64_t events = 0;         // changes of the set of fragments; collectives re-check when it moves
  std::uint32_t starved = 0;        // slices in a row that ended with parked siblings and nobody else to run
  std::uint32_t carry = 0;          // condition-code register CC.CF, a bit per lane
  std::unique_ptr<BulkQueue> bulk;  // bulk groups and cp.async groups, made on first use
  alignas(64) std::uint32_t tid[3][kLanes] = {};
  std::uint64_t cluster_phase[kLanes] = {};  // phase of the cluster barrier that each lane has arrived for; 0: none

  template <class T>
  T* at(Ref ref) const {
    return reinterpret_cast<T*>(base[ref >> 31] + (ref & ~kConstantBit));
  }
  Mask predicate(Ref ref) const { return *at<Mask>(ref); }

  void start(std::uint32_t pc, Mask lanes);
  bool done() const { return live == 0; }
  // One turn. True if anything was executed. Throws TrapSignal.
  bool run();

  // --- for exec functions; `pc` is current.pc, the operation being executed ---
  // Splits the current fragment: `taken` go to `target`, the rest to pc + 1; they meet at the join operation `join` (kNoPc: never).
  Flow branch(Mask taken, std::uint32_t target, std::uint32_t join);
  Flow join();  // the current fragment reached a join operation
  Flow call(Mask lanes, std::uint32_t target, std::uint32_t return_pc);
  Flow ret(Mask lanes);  // returns from a function, or exits the kernel
  Flow exit_lanes(Mask lanes);
  Flow block(Wait wait, bool retry);  // the current fragment waits
  void poll(int cost) {
    slice -= cost;
    polled = true;
  }

  // For .aligned instructions (needed = live lanes) and those with a membermask. True: all needed lanes are in `active`
  // (the guard-true lanes of the current fragment). False: `flow` is what the operation must return.
  bool gather(Mask active, Mask needed, Flow& flow);
  Flow warp_barrier(Mask active, Mask member);

 private:
  bool select();
  void execute();
  void account(std::uint32_t first, std::uint32_t past_last, Mask mask);
  void rotate();
  std::uint32_t new_sync(std::uint32_t pc, Mask expected, std::uint32_t parent, bool is_call);
  void leave(std::uint32_t sync, Mask lanes, std::uint32_t stop_at);
  void resume_if_complete(std::uint32_t sync);
  bool release_parked();
  bool merge_into_current(std::size_t other);
  std::uint32_t call_sync(std::uint32_t sync) const;
  [[noreturn]] void trap_divergent();
};

}  // namespace ptxbench::emu
