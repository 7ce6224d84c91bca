#include "ptxbench/emu/launch.h"

#include <algorithm>
#include <bit>
#include <cstring>
#include <map>
#include <thread>

#include "ptxbench/emu/trap.h"
#include "ptxbench/emu/worker.h"
#include "ptxbench/ptx/ast.h"
#include "ptxbench/ptx/print.h"

namespace ptxbench::emu {
namespace {

// Limits of an H200 (sm_90): CUDA programming guide, "Compute Capabilities", and cudaGetDeviceProperties.
constexpr std::uint32_t kMultiprocessors = 132, kThreadsPerSm = 2048, kCtasPerSm = 32, kRegistersPerSm = 65536;
constexpr std::uint32_t kSharedPerSm = 228 * 1024, kMaxThreads = 1024, kMaxBlockZ = 64, kMaxCluster = 16;
constexpr std::uint32_t kMaxGridX = 0x7fffffff, kMaxGridYz = 65535;

Dim3 dim3_of(const std::array<std::uint32_t, 3>& d, bool present) {
  if (!present) return {0, 0, 0};
  return {d[0], std::max(1u, d[1]), std::max(1u, d[2])};
}
bool absent(const Dim3& d) { return d.x == 0; }
std::string text(const Dim3& d) { return fmt::format("({},{},{})", d.x, d.y, d.z); }

[[noreturn]] void refuse(std::string message, std::string rule) {
  trap(TrapKind::kLaunchConfig, 0, std::move(message), std::move(rule));
}

void check_block(const LaunchConfig& config, const FunctionInfo& info) {
  const Dim3& b = config.block;
  if (b.count() == 0 || b.count() > kMaxThreads || b.x > kMaxThreads || b.y > kMaxThreads || b.z > kMaxBlockZ)
    refuse(fmt::format("block {} has {} threads", text(b), b.count()),
           "a block has 1 to 1024 threads and at most 64 in z");
  if (!absent(info.required_block) && !(info.required_block == b))
    refuse(fmt::format("block {}, but the kernel is compiled for {} (.reqntid)", text(b), text(info.required_block)),
           "launch the kernel with the block of its __block_size__ attribute");
  if (b.count() > info.max_threads)
    refuse(fmt::format("{} threads per block, but the kernel is compiled for at most {} (.maxntid)", b.count(),
                       info.max_threads),
           "raise the first argument of __launch_bounds__ or launch fewer threads");
}

Dim3 check_cluster(const LaunchConfig& config, const FunctionInfo& info) {
  Dim3 cluster = config.cluster;
  if (absent(cluster)) cluster = absent(info.required_cluster) ? Dim3{1, 1, 1} : info.required_cluster;
  if (!absent(info.required_cluster) && !(cluster == info.required_cluster))
    refuse(fmt::format("cluster {}, but the kernel is compiled for {} (.reqnctapercluster)", text(cluster),
                       text(info.required_cluster)),
           "launch with the cluster of __cluster_dims__, or remove the attribute");
  if (cluster.count() == 0 || cluster.count() > kMaxCluster)
    refuse(fmt::format("cluster {} has {} CTAs", text(cluster), cluster.count()),
           "a cluster has at most 8 CTAs, 16 where the kernel allows a non-portable size");
  if (config.grid.x % cluster.x != 0 || config.grid.y % cluster.y != 0 || config.grid.z % cluster.z != 0)
    refuse(fmt::format("grid {} is no multiple of cluster {}", text(config.grid), text(cluster)),
           "each grid dimension is a multiple of the cluster's");
  return cluster;
}

void check_sizes(const LaunchConfig& config, const FunctionInfo& info, std::size_t param_bytes) {
  const Dim3& g = config.grid;
  if (g.count() == 0 || g.x > kMaxGridX || g.y > kMaxGridYz || g.z > kMaxGridYz)
    refuse(fmt::format("grid {}", text(g)), "grid dimensions are at least 1, and at most 2^31-1, 65535, 65535");
  const std::uint64_t shared = std::uint64_t{info.static_shared} + config.dynamic_shared;
  if (shared > kMaxSharedBytes)
    refuse(fmt::format("{} bytes of shared memory ({} static, {} dynamic)", shared, info.static_shared,
                       config.dynamic_shared),
           "a CTA has at most 232448 bytes (227 KiB) of shared memory");
  if (param_bytes != info.param_bytes)
    refuse(fmt::format("{} bytes of parameters, the kernel takes {}", param_bytes, info.param_bytes),
           "the parameter buffer matches the kernel's parameters");
}

std::uint32_t occupancy(const LaunchState& launch) {
  const std::uint32_t by_threads = kThreadsPerSm / (launch.warps * kLanes);
  const std::uint32_t by_shared = kSharedPerSm / (launch.shared_bytes + kSharedStart);
  return std::max(1u, std::min({by_threads, by_shared, kCtasPerSm}));
}

void prepare(LaunchState& launch, const LaunchConfig& config, std::span<const std::byte> params, unsigned workers) {
  const Program& program = *launch.program;
  const FunctionInfo info = describe(program);
  check_sizes(config, info, params.size());
  check_block(config, info);
  launch.cluster = check_cluster(config, info);
  launch.grid = config.grid;
  launch.block = config.block;
  launch.grid_in_clusters = {config.grid.x / launch.cluster.x, config.grid.y / launch.cluster.y,
                             config.grid.z / launch.cluster.z};
  launch.explicit_cluster = !absent(config.cluster) || !absent(info.required_cluster);
  launch.threads = std::uint32_t(config.block.count());
  launch.warps = (launch.threads + kLanes - 1) / kLanes;
  launch.dynamic_shared = config.dynamic_shared;
  launch.shared_bytes = info.static_shared + config.dynamic_shared;
  launch.schedule = config.schedule;
  launch.work_limit = config.work_limit;
  if (config.deadline.count() > 0) launch.deadline = std::chrono::steady_clock::now() + config.deadline;
  launch.params.assign(params.begin(), params.end());
  launch.params.resize(params.size() + 16);
  const ptx::Directives& directives = program.entry->directives;
  const std::uint32_t per_sm = std::max(1u, directives.minnctapersm);
  launch.registers_per_thread = std::min(255u / 8 * 8, kRegistersPerSm / (launch.warps * kLanes * per_sm) / 8 * 8);
  if (directives.maxnreg != 0) launch.registers_per_thread = directives.maxnreg;
  const std::uint64_t resident = std::uint64_t{kMultiprocessors} * occupancy(launch);
  if (config.cooperative && config.grid.count() > resident)
    refuse(fmt::format("a cooperative launch of {} CTAs; {} can be resident", config.grid.count(), resident),
           "all CTAs of a cooperative launch are resident at once; launch at most occupancy x multiprocessors of them");
  launch.resident_per_worker =
      std::size_t(std::max<std::uint64_t>(1, (resident / launch.cluster.count() + workers - 1) / workers));
}

// What a driver provides for a cooperative launch: two words of memory, their size and the count of the grid's barrier, whose
// address kernels find in %envreg1 (high half) and %envreg2 (CUDA's cooperative_groups/details/driver_abi.h).
class GridWorkspace {
 public:
  explicit GridWorkspace(DeviceMemory& memory) : memory_(memory) {}
  GridWorkspace(const GridWorkspace&) = delete;
  GridWorkspace& operator=(const GridWorkspace&) = delete;
  ~GridWorkspace() {
    if (address_ != 0) static_cast<void>(memory_.free(address_));
  }
  std::uint64_t make() {
    constexpr std::uint32_t kWords[2] = {sizeof kWords, 0};
    const auto address = memory_.alloc(sizeof kWords, 256);
    if (!address) refuse("a cooperative launch without memory for its grid barrier", address.error().message);
    address_ = *address;
    std::memcpy(memory_.host(address_), kWords, sizeof kWords);
    return address_;
  }

 private:
  DeviceMemory& memory_;
  std::uint64_t address_ = 0;
};

struct Totals {
  std::uint64_t warps = 0, threads = 0;
};

void collect(LaunchResult& result, const Program& program, const std::vector<RunCounters>& counters) {
  const std::size_t ops = program.ops.size();
  std::vector<Totals> by_op(ops);
  for (const RunCounters& c : counters) {
    std::int64_t warps = 0, threads = 0;
    for (std::size_t pc = 0; pc < ops; ++pc) {
      warps += c.warp_edges[pc];
      threads += c.thread_edges[pc];
      const bool guarded = program.ops[pc].guard != kNoRef;
      by_op[pc].warps += guarded ? c.guarded_warps[pc] : std::uint64_t(warps);
      by_op[pc].threads += guarded ? c.guarded_threads[pc] : std::uint64_t(threads);
    }
  }
  std::map<isa::Family, FamilyCount> families;
  for (std::uint32_t s = 0; s < program.sites.size(); ++s) {
    const Site& site = program.sites[s];
    if (!site.counted) continue;
    const Totals& totals = by_op[site.counted_pc];
    result.warp_instructions += totals.warps;
    result.thread_instructions += totals.threads;
    result.instructions.push_back({program.ptx_line(s), program.source(s),
                                   std::string(isa::form(site.instruction->form).head), totals.warps, totals.threads});
    if (site.family == isa::Family::kNone) continue;
    FamilyCount& family = families[site.family];
    ++family.static_count;
    family.warp_instructions += totals.warps;
    family.thread_instructions += totals.threads;
  }
  for (auto& [id, family] : families) {
    family.family = std::string(isa::spelling(id));
    for (const RunCounters& c : counters) {
      family.flops += c.flops[std::size_t(id)];
      family.bytes += c.bytes[std::size_t(id)];
    }
    result.families.push_back(family);
  }
}

}  // namespace

FunctionInfo describe(const Program& program) {
  const ptx::Function& f = *program.entry;
  FunctionInfo info;
  info.name = f.name;
  for (const ptx::Param& p : f.params)
    info.params.push_back({p.name, std::uint32_t(p.offset), std::uint32_t(p.size), std::max(1u, p.align)});
  info.param_bytes = std::uint32_t(f.param_bytes());
  info.static_shared = program.static_shared;
  info.local_bytes = program.local_bytes;
  info.max_block = dim3_of(f.directives.maxntid, f.directives.has_maxntid);
  info.required_block = dim3_of(f.directives.reqntid, f.directives.has_reqntid);
  info.required_cluster = dim3_of(f.directives.reqnctapercluster, f.directives.has_reqnctapercluster);
  if (!absent(info.max_block))
    info.max_threads = std::uint32_t(std::min<std::uint64_t>(kMaxThreads, info.max_block.count()));
  info.registers =
      f.directives.maxnreg != 0 ? std::min(program.register_estimate, f.directives.maxnreg) : program.register_estimate;
  return info;
}

LaunchResult run_launch(DeviceMemory& memory, const Program& program, const LaunchConfig& config,
                        std::span<const std::byte> params, unsigned workers, std::uint64_t grid_id) {
  LaunchResult result;
  LaunchState launch;
  launch.memory = &memory;
  launch.program = &program;
  launch.grid_id = grid_id;
  GridWorkspace workspace(memory);
  try {
    prepare(launch, config, params, workers);
    if (config.cooperative) launch.grid_workspace = workspace.make();
  } catch (const TrapSignal& signal) {
    Trap trap;
    trap.kind = signal.kind;
    trap.message = signal.message;
    trap.rule = signal.rule;
    result.trap = std::move(trap);
    return result;
  }
  const auto clusters = launch.grid_in_clusters.count();
  const auto count = std::size_t(std::min<std::uint64_t>(workers, clusters));
  std::vector<std::unique_ptr<Worker>> all;
  for (std::size_t i = 0; i < count; ++i) all.push_back(std::make_unique<Worker>(launch));
  {
    std::exception_ptr failure;
    std::mutex failure_mutex;
    auto run = [&](Worker& worker) {
      try {
        worker.run();
      } catch (...) {  // an error of ours: rethrown below, on the caller's thread
        const std::lock_guard lock(failure_mutex);
        failure = std::current_exception();
        launch.end = 0;
      }
    };
    std::vector<std::jthread> threads;
    for (std::size_t i = 1; i < count; ++i) threads.emplace_back([&, i] { run(*all[i]); });
    run(*all[0]);
    threads.clear();
    if (failure) std::rethrow_exception(failure);
  }
  std::vector<RunCounters> counters;
  for (auto& worker : all) counters.push_back(std::move(worker->counters));
  collect(result, program, counters);
  result.trap = std::move(launch.trap);
  result.printf_output = std::move(launch.printf_output);
  return result;
}

}  // namespace ptxbench::emu
