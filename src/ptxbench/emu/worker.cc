#include "ptxbench/emu/worker.h"

#include <algorithm>
#include <cstring>

#include "ptxbench/emu/trap.h"
#include "ptxbench/emu/wgmma_queue.h"

namespace ptxbench::emu {
namespace {

constexpr std::uint32_t kPollsPerAdmission =
    64;  // turns that ended in polling, before another cluster is made resident
constexpr std::uint64_t kWorkAfterTrap = 1'000'000;  // thread instructions
constexpr std::size_t kPrintfLimit = std::size_t{1} << 20;
constexpr int kPoison = 0xff;

std::uint32_t round_up(std::uint32_t value, std::uint32_t unit) { return (value + unit - 1) / unit * unit; }

Dim3 unflatten(std::uint64_t index, const Dim3& extent) {
  return {std::uint32_t(index % extent.x), std::uint32_t(index / extent.x % extent.y),
          std::uint32_t(index / extent.x / extent.y)};
}

std::byte* align64(std::vector<std::byte>& storage) {
  const auto start = reinterpret_cast<std::uintptr_t>(storage.data());
  return storage.data() + (64 - start % 64) % 64;
}

}  // namespace

RunCounters::RunCounters(std::size_t ops)
    : warp_edges(ops + 1),
      thread_edges(ops + 1),
      guarded_warps(ops),
      guarded_threads(ops),
      flops(std::size_t(isa::Family::kCount)),
      bytes(std::size_t(isa::Family::kCount)) {}

void LaunchState::print(std::string_view text) {
  const std::lock_guard lock(mutex);
  if (printf_full) return;
  if (printf_output.size() + text.size() > kPrintfLimit) {
    printf_full = true;
    printf_output += "\n[printf output cut at 1 MiB]\n";
    return;
  }
  printf_output += text;
}

Worker::Worker(LaunchState& state)
    : launch(state), counters(state.program->ops.size()), ranges(state.program->ops.size()) {}

void Worker::run() {
  bool want_more = true;
  while (true) {
    if (want_more && resident.size() < launch.resident_per_worker) admit();
    if (resident.empty()) return;
    want_more = false;
    for (std::size_t i = 0; i < resident.size(); ++i) {
      Cluster& cluster = *resident[i];
      if (pass(cluster)) {
        if (cluster.polls >= kPollsPerAdmission) {
          cluster.polls = 0;
          want_more = true;
        }
      } else {
        spare.push_back(std::move(resident[i]));
        resident.erase(resident.begin() + std::ptrdiff_t(i--));
        want_more = true;
      }
    }
  }
}

bool Worker::pass(Cluster& cluster) {
  if (cluster.index >= launch.end.load(std::memory_order_relaxed)) return false;
  try {
    const bool goes_on = cluster.pass();
    check_limits();
    return goes_on;
  } catch (const TrapSignal& signal) {
    report(signal, cluster.index);
    return false;
  }
}

void Worker::check_limits() {
  const std::uint64_t total = launch.work.fetch_add(work, std::memory_order_relaxed) + work;
  clock += work + 1;
  work = 0;
  const std::uint64_t limit = launch.work_limit.load(std::memory_order_relaxed);
  if (limit != 0 && total > limit)
    trap(TrapKind::kWorkLimit, 0, fmt::format("the launch executed more than {} thread instructions", limit),
         "an endless loop, or far more work than the task needs; the instruction shown is where a warp happened to be");
  if (launch.deadline && std::chrono::steady_clock::now() > *launch.deadline)
    trap(TrapKind::kDeadline, 0, "the launch did not end before its deadline",
         "an endless loop, or far more work than the task needs; the instruction shown is where a warp happened to be");
}

bool Worker::admit() {
  const std::uint64_t count = launch.grid_in_clusters.count();
  if (launch.next_cluster.load(std::memory_order_relaxed) >= std::min(count, launch.end.load())) return false;
  const std::uint64_t index = launch.next_cluster.fetch_add(1);
  if (index >= count) return false;
  std::unique_ptr<Cluster> cluster;
  if (spare.empty()) {
    cluster = std::make_unique<Cluster>();
  } else {
    cluster = std::move(spare.back());
    spare.pop_back();
  }
  start(*cluster, index);
  resident.push_back(std::move(cluster));
  return true;
}

void Worker::start(Cluster& cluster, std::uint64_t index) {
  const Program& program = *launch.program;
  cluster.worker = this;
  cluster.index = index;
  cluster.id = unflatten(index, launch.grid_in_clusters);
  cluster.barrier = {};
  cluster.idle_stalls = cluster.polls = 0;
  cluster.progress_at_stall = 0;
  const auto size = std::size_t(launch.cluster.count());
  while (cluster.ctas.size() < size) cluster.ctas.push_back(std::make_unique<Cta>());
  cluster.live_threads = std::uint32_t(launch.threads * size);
  const std::uint32_t frame = round_up(program.frame_bytes, 64);
  const std::uint32_t local = round_up(program.local_bytes, 16) * kLanes;
  for (std::uint32_t rank = 0; rank < size; ++rank) {
    Cta& cta = *cluster.ctas[rank];
    const Dim3 inside = unflatten(rank, launch.cluster);
    cta.cluster = &cluster;
    cta.rank = rank;
    cta.id = {cluster.id.x * launch.cluster.x + inside.x, cluster.id.y * launch.cluster.y + inside.y,
              cluster.id.z * launch.cluster.z + inside.z};
    cta.shared_bytes = launch.shared_bytes;
    cta.shared.resize(kSharedStart + launch.shared_bytes + 16);
    std::memset(cta.shared.data(), kPoison, cta.shared.size());
    cta.frames.assign(std::size_t(frame) * launch.warps + 64, std::byte{0});
    cta.local.assign(std::size_t(local) * launch.warps + 64, std::byte{kPoison});
    for (NamedBarrier& barrier : cta.barriers) barrier = {};
    cta.mbarriers.clear();
    cta.live_threads = cta.threads = launch.threads;
    cta.live_warps = launch.warps;
    cta.started = false;
    cta.next_warp = 0;
    cta.progress = cta.register_events = 0;
    cta.warp_registers.assign(launch.warps, launch.registers_per_thread);
    cta.registers_free = 0;
    cta.wgmma.clear();
    if (program.wgmma_issues != 0)
      for (std::uint32_t group = 0; group < (launch.warps + 3) / 4; ++group)
        cta.wgmma.push_back(std::make_unique<WgmmaQueue>());
    while (cta.warps.size() < launch.warps) cta.warps.push_back(std::make_unique<Warp>());
    cta.warps.resize(launch.warps);
    for (std::uint32_t w = 0; w < launch.warps; ++w) {
      Warp& warp = *cta.warps[w];
      warp.base[0] = align64(cta.frames) + std::size_t(frame) * w;
      warp.local = align64(cta.local) + std::size_t(local) * w;
      start_warp(warp, cta, w);
    }
  }
}

void Worker::start_warp(Warp& warp, Cta& cta, std::uint32_t index) {
  warp.base[1] = const_cast<std::byte*>(launch.program->constant_base());
  warp.cta = &cta;
  warp.worker = this;
  warp.program = launch.program;
  warp.wgmma = cta.wgmma.empty() ? nullptr : cta.wgmma[index / 4].get();
  warp.index = index;
  Mask lanes = 0;
  for (std::uint32_t lane = 0; lane < kLanes; ++lane) {
    const std::uint32_t thread = index * kLanes + lane;
    if (thread < launch.threads) lanes |= Mask{1} << lane;
    warp.tid[0][lane] = thread % launch.block.x;
    warp.tid[1][lane] = thread / launch.block.x % launch.block.y;
    warp.tid[2][lane] = thread / launch.block.x / launch.block.y;
  }
  warp.start(0, lanes);
}

void Worker::report(const TrapSignal& signal, std::uint64_t cluster) {
  const std::lock_guard lock(launch.mutex);
  const bool limit = signal.kind == TrapKind::kWorkLimit || signal.kind == TrapKind::kDeadline;
  const std::uint64_t end = launch.end.exchange(limit ? 0 : std::min(cluster, launch.end.load()));
  if (launch.trap && (limit || cluster > end)) return;
  // As much again as all did until now: clusters that do alike come to the same place, and one that waits for what is given
  // up, or that never ends, does not hold the launch.
  if (!launch.trap) launch.work_limit = 2 * launch.work + kWorkAfterTrap;
  Trap trap;
  trap.kind = signal.kind;
  trap.message = signal.message;
  trap.rule = signal.rule;
  trap.address = signal.address;
  trap.lane = signal.lane;
  if (running != nullptr) {
    const Program& program = *launch.program;
    const std::uint32_t pc = std::min<std::uint32_t>(running->current.pc, std::uint32_t(program.ops.size() - 1));
    const std::uint32_t site = signal.site.value_or(program.ops[pc].site);
    trap.instruction = program.text(site);
    trap.source = program.source(site);
    trap.ptx_line = program.ptx_line(site);
    trap.cta = running->cta->id;
    trap.warp = running->index;
  }
  launch.trap = std::move(trap);
}

}  // namespace ptxbench::emu
