// LaunchState: one launch, shared by its workers. Worker: one host thread that runs clusters of CTAs.
#pragma once

#include <atomic>
#include <chrono>
#include <cstdint>
#include <memory>
#include <mutex>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "ptxbench/emu/cta.h"
#include "ptxbench/emu/memory.h"
#include "ptxbench/emu/program.h"
#include "ptxbench/emu/types.h"

namespace ptxbench::emu {

// Counts of one worker. Unguarded operations are counted by runs: +1 where a run begins, -1 past its end, summed at the end.
struct RunCounters {
  std::vector<std::int64_t> warp_edges, thread_edges;         // by operation, one more than there are operations
  std::vector<std::uint64_t> guarded_warps, guarded_threads;  // by operation, guard-true only
  std::vector<std::uint64_t> flops, bytes;                    // by isa::Family
  explicit RunCounters(std::size_t ops);
};

struct LaunchState {
  DeviceMemory* memory = nullptr;
  const Program* program = nullptr;
  Dim3 grid, block, cluster, grid_in_clusters;
  std::uint32_t threads = 0, warps = 0;  // per CTA
  std::uint32_t shared_bytes = 0, dynamic_shared = 0;
  Schedule schedule = Schedule::kLatest;
  bool explicit_cluster = false;
  std::vector<std::byte> params;             // 16 spare bytes at the end
  std::atomic<std::uint64_t> work_limit{0};  // 0: none
  std::optional<std::chrono::steady_clock::time_point> deadline;
  std::uint32_t registers_per_thread = 0;  // at launch
  std::size_t resident_per_worker = 1;
  std::uint64_t grid_id = 0;
  std::uint64_t grid_workspace = 0;  // of a cooperative launch: see GridWorkspace in launch.cc

  std::atomic<std::uint64_t> next_cluster{0};
  std::atomic<std::uint64_t> work{0};
  // Clusters from this one on are given up. A broken rule gives up the clusters behind it; those before it go on, since the
  // first in order is the one to report, whichever worker came first.
  std::atomic<std::uint64_t> end{~std::uint64_t{0}};
  std::mutex mutex;  // trap, printf
  std::optional<Trap> trap;
  std::string printf_output;
  bool printf_full = false;

  void print(std::string_view text);
};

// The last allocation that a memory instruction touched; most instructions stay in one.
struct RangeCache {
  std::uint64_t base = 0, size = 0;
  bool writable = false;
};

struct Worker {
  LaunchState& launch;
  RunCounters counters;
  std::uint64_t work = 0;          // thread instructions not yet added to launch.work
  std::uint64_t clock = 0;         // %clock64 and %globaltimer: a count, the same in every run of one worker
  std::vector<RangeCache> ranges;  // by operation
  std::vector<std::unique_ptr<Cluster>> resident;
  std::vector<std::unique_ptr<Cluster>> spare;  // ended clusters, for their memory
  Warp* running = nullptr;                      // for the trap report

  Worker(LaunchState& state);
  void run();  // until the grid is done or the launch ends; reports its traps to the launch

 private:
  bool admit();
  void start(Cluster& cluster, std::uint64_t index);
  void start_warp(Warp& warp, Cta& cta, std::uint32_t index);
  bool pass(Cluster& cluster);  // false: the cluster is no longer resident
  void check_limits();
  void report(const struct TrapSignal& signal, std::uint64_t cluster);
};

}  // namespace ptxbench::emu
