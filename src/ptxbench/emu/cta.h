// Cta and Cluster: what the warps of a block share. A cluster is the unit that a worker keeps resident; a launch without
// clusters has clusters of one CTA. All of it belongs to one host thread.
#pragma once

#include <cstdint>
#include <deque>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "ptxbench/emu/async.h"
#include "ptxbench/emu/warp.h"
#include "ptxbench/emu/wgmma_queue.h"

namespace ptxbench::emu {

struct Cluster;

// Shared addresses: bits 24 and up are the rank of the CTA in its cluster, the rest the offset. The first KiB is the
// system's, as on sm_90, so that a null pointer is out of bounds.
inline constexpr std::uint32_t kSharedStart = 1024;
inline constexpr unsigned kRankShift = 24;
inline constexpr std::uint32_t kMaxSharedBytes = 227 * 1024;

// bar / barrier with one of the 16 numbers.
struct NamedBarrier {
  std::uint64_t phase = 0;
  std::uint32_t expected = 0;  // threads; 0: nobody has arrived, or the whole CTA is meant
  bool whole_cta = false;
  std::uint32_t arrived = 0;  // threads, whole warps rounded up to 32
  std::uint32_t arrived_exactly = 0;
  std::uint32_t and_count = 0, popc = 0;  // bar.red: threads with a false / true predicate
  std::uint32_t result_popc[2] = {0, 0};  // of the last two phases
  bool result_and[2] = {true, true};
};

struct Mbarrier {
  static constexpr std::int64_t kTxRange = (1 << 20) - 1;
  static constexpr std::uint32_t kMaxCount = (1 << 20) - 1;
  std::uint32_t address = 0;
  bool valid = false;
  std::uint64_t phase = 0;       // completed phases
  std::uint32_t expected = 0;    // arrivals of each phase
  std::uint32_t pending = 0;     // arrivals that the current phase still needs
  std::int64_t tx = 0;           // bytes that the current phase still needs
  bool waited = false;           // somebody waits for the current phase
  std::deque<AsyncCopy> copies;  // issued loads that complete here
};

struct ClusterBarrier {
  std::uint64_t phase = 0;
  std::uint32_t arrived = 0;
};

struct Cta {
  Cluster* cluster = nullptr;
  std::uint32_t rank = 0;  // in the cluster
  Dim3 id{0, 0, 0};
  std::uint32_t shared_bytes = 0;        // static and dynamic, after kSharedStart
  std::vector<std::byte> shared;         // kSharedStart + shared_bytes
  std::vector<std::byte> frames, local;  // of all warps
  NamedBarrier barriers[16];
  std::deque<Mbarrier> mbarriers;  // stable addresses; looked up through a tag in shared memory
  std::vector<std::unique_ptr<Warp>> warps;
  std::vector<std::unique_ptr<WgmmaQueue>> wgmma;  // one per warpgroup
  std::uint32_t live_threads = 0, threads = 0;
  std::uint32_t live_warps = 0;
  bool started = false;        // has executed something
  std::size_t next_warp = 0;   // whose single turn is next (Cluster::pass)
  std::uint64_t progress = 0;  // events that other warps may wait for; tells a deadlock from slow polling
  std::uint64_t register_events = 0;
  std::int64_t registers_free = 0;            // of the CTA's share, for setmaxnreg
  std::vector<std::uint32_t> warp_registers;  // per thread, of each warp

  std::uint32_t shared_base() const { return rank << kRankShift; }
  std::byte* shared_at(std::uint32_t offset) { return shared.data() + offset; }
  SharedView shared_view() { return {shared.data() + kSharedStart, shared_bytes, kSharedStart}; }
  // The mbarrier at an offset; traps if it was not initialised.
  Mbarrier& mbarrier(std::uint32_t offset, std::uint32_t lane);
  void mbarrier_init(std::uint32_t offset, std::uint32_t count, std::uint32_t lane);
  void mbarrier_inval(std::uint32_t offset, std::uint32_t lane);
  void mbarrier_arrive(Mbarrier& barrier, std::uint32_t count, bool drop_expected, std::uint32_t lane);
  void mbarrier_expect_tx(Mbarrier& barrier, std::int64_t bytes, std::uint32_t lane);
  // An asynchronous load was issued; kEarliest performs it now.
  void mbarrier_attach(Mbarrier& barrier, AsyncCopy copy);
  // Somebody waits: does what the current phase needs from pending copies, completes the phase if it can.
  void mbarrier_settle(Mbarrier& barrier);

  void barrier_check(NamedBarrier& barrier);  // completes it if all have arrived
  void lanes_exited(Warp& warp, Mask lanes);
  // Copies that are still open when the CTA ends: stores are done; loads are a trap.
  void finish();
};

struct Cluster {
  Worker* worker = nullptr;
  std::uint64_t index = 0;  // in the order of the grid, x first
  std::vector<std::unique_ptr<Cta>> ctas;
  ClusterBarrier barrier;
  std::uint32_t live_threads = 0;
  std::uint32_t idle_stalls = 0;  // stalls without progress between them
  std::uint64_t progress_at_stall = 0;
  std::uint32_t polls = 0;  // turns spent polling since another cluster was admitted
  Dim3 id{0, 0, 0};         // in clusters

  // Turns for every CTA: in the order of their ranks, under Schedule::kEarliest in the opposite one. False: the cluster is done.
  bool pass();
  bool done() const { return live_threads == 0; }
  void barrier_check();

 private:
  enum class Turn { kStuck, kPolled, kRan };
  Turn round(Cta& cta, bool single);
  void on_stall();
  [[noreturn]] void trap_deadlock();
};

}  // namespace ptxbench::emu
