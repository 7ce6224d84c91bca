// What only a real GPU can show of ptxbench-device-gpu: start times, a GEMM with checked results, times and instruction
// counts, memory shared by two processes, faults, a hang, exhausted memory.
//   hardware_check PTXBENCH-DEVICE-GPU GEMM.FATBIN FAULTS.FATBIN [GEMM.SASS [TOO-OLD-CUPTI-FOLDER]]
// GEMM.FATBIN: nvcc -I include -std=c++17 -gencode arch=compute_90a,code=[sm_90a,compute_90a] -fatbin kernels/hopper/gemm.cu
// GEMM.SASS: what cuobjdump -sass prints of it, for the names of counted instructions.
// TOO-OLD-CUPTI-FOLDER: build/dev/tests/gpu/too_old/cupti, whose libcupti.so.13 is empty.
// Prints one line per check; exit code 1 if one failed.
#include <algorithm>
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <functional>
#include <map>
#include <sstream>

#include "device_process.h"
#include "ptxbench/base/fatbin.h"

namespace ptxbench::gpu {
namespace {

using Clock = std::chrono::steady_clock;
using wire::Code;
using wire::ReplayMode;

int failures = 0;

template <class... T>
void report(bool good, const char* format, T... values) {
  std::printf(good ? "ok    " : "FAIL  ");
  std::printf(format, values...);
  std::printf("\n");
  std::fflush(stdout);
  failures += !good;
}

template <class... T>
std::string pack(const T&... values) {
  std::string bytes;
  const auto add = [&](const auto& value) {
    bytes.resize((bytes.size() + sizeof value - 1) / sizeof value * sizeof value);
    bytes.append(reinterpret_cast<const char*>(&value), sizeof value);
  };
  (add(values), ...);
  return bytes;
}

// ---- the GEMM of kernels/hopper/gemm.cu on integers, whose sums are exact ----

constexpr std::uint32_t kM = 8192, kN = 7168, kK = 5120;
constexpr std::uint32_t kTileM = 128, kTileN = 256, kTileK = 64, kThreads = 384, kShared = 230400;

int a_value(std::uint32_t i, std::uint32_t k) { return static_cast<int>((i * 7 + k * 3 + i * k % 11) % 5) - 2; }
int b_value(std::uint32_t j, std::uint32_t k) { return static_cast<int>((j * 5 + k * 13 + j * k % 7) % 5) - 2; }

// FP32 to BF16, to nearest even.
std::uint16_t bf16(float value) {
  std::uint32_t bits;
  std::memcpy(&bits, &value, 4);
  return static_cast<std::uint16_t>((bits + 0x7FFF + (bits >> 16 & 1)) >> 16);
}

std::vector<std::uint16_t> matrix(std::uint32_t rows, int (*value)(std::uint32_t, std::uint32_t)) {
  std::vector<std::uint16_t> out(std::size_t{rows} * kK);
  std::uint16_t table[5];
  for (int v = -2; v <= 2; ++v) table[v + 2] = bf16(static_cast<float>(v));
  for (std::uint32_t i = 0; i < rows; ++i) {
    for (std::uint32_t k = 0; k < kK; ++k) out[std::size_t{i} * kK + k] = table[value(i, k) + 2];
  }
  return out;
}

std::string entry_name(const std::string& fatbin) {
  const auto entries = read_fatbin(std::as_bytes(std::span(fatbin)));
  if (!entries) give_up(entries.error().message);
  for (const FatbinEntry& entry : *entries) {
    const std::size_t at = entry.bytes.find(".entry ");
    if (entry.kind != FatbinKind::kPtx || at == std::string::npos) continue;
    return entry.bytes.substr(at + 7, entry.bytes.find('(', at) - at - 7);
  }
  give_up("no PTX with an entry in the GEMM's fat binary");
}

struct Gemm {
  std::uint64_t a = 0, b = 0, c = 0;
  std::string name;
};

std::string tensor_map(DeviceProcess& device, std::uint64_t address, std::uint64_t rows, std::uint64_t columns,
                       std::uint32_t box_rows) {
  wire::TiledMap map;
  map.data_type = 9;  // CU_TENSOR_MAP_DATA_TYPE_BFLOAT16
  map.rank = 2;
  map.address = address;
  map.dims = {columns, rows};
  map.strides = {columns * 2};
  map.box = {64, box_rows};
  map.element_strides = {1, 1};
  map.swizzle = 3;       // 128 bytes
  map.l2_promotion = 3;  // 256 bytes
  const auto encoded = device.call(wire::EncodeTiled{map}).map;
  return {reinterpret_cast<const char*>(encoded.data()), encoded.size()};
}

// Uploads, records one run on the control connection, compares.
Gemm check_gemm(DeviceProcess& device, const std::string& fatbin) {
  Gemm gemm;
  gemm.name = entry_name(fatbin);
  const auto a = matrix(kM, a_value), b = matrix(kN, b_value);
  gemm.a = device.call(wire::Alloc{a.size() * 2}).address;
  gemm.b = device.call(wire::Alloc{b.size() * 2}).address;
  gemm.c = device.call(wire::Alloc{std::uint64_t{kM} * kN * 2}).address;
  Clock::time_point start = Clock::now();
  device.call(wire::WriteMemory{gemm.a, a.size() * 2, 0}, std::as_bytes(std::span(a)));
  device.call(wire::WriteMemory{gemm.b, b.size() * 2, 0}, std::as_bytes(std::span(b)));
  const double upload = milliseconds_since(start);
  start = Clock::now();
  const auto kernel = device.call(wire::GetKernel{device.load(fatbin), gemm.name});
  const double load = milliseconds_since(start);
  report(kernel.info.param_bytes == 396 && kernel.info.params.size() == 5 && kernel.info.params[1].offset == 128,
         "kernel: %u parameter bytes, %zu parameters, %u registers, %u static shared; loaded in %.1f ms",
         kernel.info.param_bytes, kernel.info.params.size(), kernel.info.registers, kernel.info.static_shared, load);

  device.call(wire::BeginRun{1, wire::Schedule::kLatest, 0, 10'000});  // 1: this connection itself
  device.call(wire::FillMemory{gemm.c, std::uint64_t{kM} * kN / 2, 0xFFFFFFFF, 4, 0});
  device.call(wire::SetKernelAttribute{kernel.kernel, wire::KernelAttribute::kMaxDynamicShared, kShared});
  wire::Launch launch = device.launch(kernel.kernel, {132, 1, 1}, {kThreads, 1, 1}, {});
  launch.geometry.dynamic_shared = kShared;
  launch.params = tensor_map(device, gemm.a, kM, kK, kTileM) + tensor_map(device, gemm.b, kN, kK, kTileN) +
                  tensor_map(device, gemm.c, kM, kN, 64) + pack(kM / kTileM, kN / kTileN, kK / kTileK);
  start = Clock::now();
  device.call(launch);
  const double first = milliseconds_since(start);
  std::vector<std::uint16_t> c(std::size_t{kM} * kN);
  start = Clock::now();
  device.call(wire::ReadMemory{gemm.c, c.size() * 2, 0}, {}, std::as_writable_bytes(std::span(c)));
  const double download = milliseconds_since(start);
  int wrong = 0;
  for (std::uint32_t s = 0; s < 3000; ++s) {
    const std::uint32_t i = s * 2654435761u % kM, j = s * 40503u % kN;
    int sum = 0;
    for (std::uint32_t k = 0; k < kK; ++k) sum += a_value(i, k) * b_value(j, k);
    wrong += c[std::size_t{i} * kN + j] != bf16(static_cast<float>(sum));
  }
  report(wrong == 0,
         "gemm 8192x7168x5120: %d of 3000 sampled elements differ; upload %.1f ms, first launch %.2f ms, "
         "117 MB down %.1f ms",
         wrong, upload, first, download);
  return gemm;
}

wire::Replay replay_order(ReplayMode mode) {
  wire::Replay replay;
  replay.deadline_ms = 10'000;
  replay.mode = mode;
  replay.flush_bytes = mode == ReplayMode::kTime ? 256 << 20 : 0;
  return replay;
}

double median_time(DeviceProcess& device, const char* what, int calls) {
  std::vector<double> kernel, wall;
  const Clock::time_point start = Clock::now();
  for (int i = 0; i < calls; ++i) {
    const auto reply = device.call(replay_order(ReplayMode::kTime));
    if (!reply.void_reason.empty()) {
      report(false, "%s: void: %s", what, reply.void_reason.c_str());
      return 0;
    }
    for (const wire::CommandTime& time : reply.times) {
      if (time.kind == wire::CommandKind::kLaunch) kernel.push_back(static_cast<double>(time.end_ns - time.start_ns));
    }
    wall.push_back(static_cast<double>(reply.wall_ns));
  }
  const double total = milliseconds_since(start);
  std::ranges::sort(kernel);
  std::ranges::sort(wall);
  const double median = kernel[kernel.size() / 2];
  const double tflops = 2.0 * kM * kN * kK / median / 1e3;
  // The events enclose the fill of C and the kernel, and some microseconds between.
  report(
      static_cast<int>(kernel.size()) == calls && wall.front() > kernel.front() && wall[wall.size() / 2] < median * 1.3,
      "%s: %d calls in %.1f ms; kernel median %.1f us (%.1f..%.1f), %.0f TFLOP/s; events %.1f us", what, calls, total,
      median / 1e3, kernel.front() / 1e3, kernel.back() / 1e3, tflops, wall[wall.size() / 2] / 1e3);
  return median;
}

// "opcode by offset" of the named function, from cuobjdump's listing.
std::map<std::uint32_t, std::string> opcodes(const std::string& listing, const std::string& function) {
  std::map<std::uint32_t, std::string> found;
  std::istringstream lines(listing);
  bool inside = false;
  for (std::string line; std::getline(lines, line);) {
    if (line.find("Function :") != std::string::npos) inside = line.find(function) != std::string::npos;
    unsigned offset = 0;
    char rest[128] = {};
    if (!inside || std::sscanf(line.c_str(), " /*%x*/ %127[^;]", &offset, rest) != 2) continue;
    std::istringstream words(rest);
    std::string word;
    words >> word;
    if (word.starts_with("@")) words >> word;
    if (!word.starts_with("/*")) found[offset] = word;
  }
  return found;
}

void check_counts(DeviceProcess& device, const Gemm& gemm, const std::string& listing) {
  for (int round = 0; round < 2; ++round) {
    const Clock::time_point start = Clock::now();
    const auto reply = device.call(replay_order(ReplayMode::kCount));
    const double took = milliseconds_since(start);
    if (!reply.void_reason.empty()) return report(false, "counts: void: %s", reply.void_reason.c_str());
    const auto& records = reply.launches.at(0).instructions;
    const auto names = opcodes(listing, gemm.name);
    std::map<std::string, std::uint64_t> warps, threads;
    std::size_t unnamed = 0;
    for (const wire::InstructionRecord& one : records) {
      const auto name = names.find(one.offset);
      unnamed += name == names.end();
      const std::string family = name == names.end() ? "?" : name->second.substr(0, name->second.find('.'));
      warps[family] += one.warp_instructions;
      threads[family] += one.thread_instructions;
    }
    // From the shape: 4 wgmmas per slice and consumer warpgroup of 4 warps; two loads per slice, 8 stores per tile.
    const std::uint64_t tiles = kM / kTileM * kN / kTileN, slices = kK / kTileK;
    const bool right = listing.empty() || (unnamed == 0 && warps["HGMMA"] == tiles * slices * 4 * 2 * 4 &&
                                           threads["UTMALDG"] == tiles * slices * 2 && threads["UTMASTG"] == tiles * 8);
    report(
        right && !records.empty(),
        "counts: %zu instructions (%zu of %zu without name) in %.1f ms; HGMMA %llu warps (expected %llu), UTMALDG %llu "
        "threads (%llu), UTMASTG %llu (%llu)",
        records.size(), unnamed, names.size(), took, static_cast<unsigned long long>(warps["HGMMA"]),
        static_cast<unsigned long long>(tiles * slices * 32), static_cast<unsigned long long>(threads["UTMALDG"]),
        static_cast<unsigned long long>(tiles * slices * 2), static_cast<unsigned long long>(threads["UTMASTG"]),
        static_cast<unsigned long long>(tiles * 8));
  }
}

// cuBLASLt on the same matrices, against which the kernel's own time can be judged.
void check_baseline(DeviceProcess& device, const Gemm& gemm) {
  wire::PrepareBaseline prepare;
  prepare.problem.m = kM, prepare.problem.n = kN, prepare.problem.k = kK;
  prepare.problem.tensors = {gemm.a, gemm.b, gemm.c};
  Clock::time_point start = Clock::now();
  const auto prepared = device.attempt(prepare);
  if (!prepared) return report(false, "baseline: %s", prepared.error().message.c_str());
  const double took = milliseconds_since(start);
  start = Clock::now();
  double best = 1e30, best_wall = 0;
  std::string void_reason;
  for (std::uint32_t plan = 0; plan < prepared->plans.size(); ++plan) {
    for (int call = 0; call < 5; ++call) {
      const auto run = device.call(wire::RunBaseline{prepared->handle, plan, ReplayMode::kTime, 256 << 20});
      if (!run.void_reason.empty() || run.times.empty()) return report(false, "baseline: %s", run.void_reason.c_str());
      const double time = static_cast<double>(run.times.back().end_ns - run.times.front().start_ns);
      if (time < best) best = time, best_wall = static_cast<double>(run.wall_ns);
    }
  }
  report(best_wall >= best && best_wall < best * 1.1 + 20'000,
         "baseline %s %s: %zu plans prepared in %.1f ms, 5 calls of each in %.1f ms; best %.1f us, events %.1f us",
         prepared->plans.at(0).library.c_str(), prepared->plans.at(0).version.c_str(), prepared->plans.size(), took,
         milliseconds_since(start), best / 1e3, best_wall / 1e3);
}

// ---- two processes ----

void check_sharing(DeviceProcess& from, DeviceProcess& to, std::uint32_t from_fill, std::uint32_t bytes) {
  Clock::time_point start = Clock::now();
  const auto block = from.call(wire::AllocShared{bytes});
  const double made = milliseconds_since(start);
  from.call(from.launch(from_fill, {264, 1, 1}, {256, 1, 1}, pack(block.address, bytes / 4, std::uint32_t{77})));
  start = Clock::now();
  const auto opened = to.call(wire::OpenShared{block.handle, bytes});
  const double open = milliseconds_since(start);
  const auto copy = to.call(wire::Alloc{bytes});
  start = Clock::now();
  to.call(wire::CopyMemory{copy.address, opened.address, bytes, 0});
  const double copied = milliseconds_since(start);
  to.call(wire::CloseShared{opened.address});
  bool right = true;
  const std::size_t words = bytes / 4;
  const auto data = to.read_words(copy.address, words);
  for (std::size_t i = 0; i < words; ++i) right = right && data[i] == 77 + i;
  from.call(wire::Free{block.address});
  to.call(wire::Free{copy.address});
  report(right, "shared block of %u MiB: made %.2f ms, opened %.2f ms, copied %.2f ms", bytes >> 20, made, open,
         copied);
}

// ---- several kernels in one run, clusters, globals, printf ----

void check_small_kernels(DeviceProcess& device, std::uint32_t module) {
  const std::uint64_t out = device.call(wire::Alloc{1 << 20}).address;
  const std::uint32_t fill = device.kernel(module, "fill"), rank = device.kernel(module, "cluster_rank"),
                      print = device.kernel(module, "print"), globals = device.kernel(module, "globals");
  device.call(device.launch(print, {3, 1, 1}, {32, 1, 1}, pack(std::uint32_t{3})));
  const std::string printed = device.call(wire::Synchronize{}).printf_output;
  report(printed.size() == 3 * std::strlen("block 0 of 3\n") && printed.find("block 2 of 3\n") != std::string::npos,
         "printf: %zu bytes", printed.size());

  const auto limit = device.call(wire::GetGlobal{module, "limit"}),
             counter = device.call(wire::GetGlobal{module, "counter"});
  const std::uint32_t five = 5;
  device.call(wire::WriteMemory{limit.address, 4, 0}, std::as_bytes(std::span(&five, 1)));
  device.call(device.launch(globals, {4, 1, 1}, {32, 1, 1}, pack(out)));
  report(device.read_words(counter.address, 1)[0] == 20, "global and constant variables: %u (expected 20)",
         device.read_words(counter.address, 1)[0]);

  device.call(wire::BeginRun{1, wire::Schedule::kLatest, 0, 10'000});
  device.call(device.launch(fill, {8, 1, 1}, {256, 1, 1}, pack(out, std::uint32_t{4096}, std::uint32_t{1})));
  wire::Launch clustered = device.launch(rank, {32, 1, 1}, {128, 1, 1}, pack(out));
  clustered.geometry.cluster = {16, 1, 1};
  report(!device.attempt(clustered), "a cluster of 16 is refused before it is allowed");
  device.call(wire::SetKernelAttribute{rank, wire::KernelAttribute::kNonPortableCluster, 1});
  device.call(clustered);
  const auto ranks = device.read_words(out, 32);
  report(ranks[15] == 15 && ranks[16] == 0 && ranks[31] == 15, "a cluster of 16 runs: ranks %u %u %u", ranks[15],
         ranks[16], ranks[31]);
  device.call(device.launch(fill, {8, 1, 1}, {128, 1, 1}, pack(out, std::uint32_t{4096}, std::uint32_t{1})));
  const Clock::time_point start = Clock::now();
  const auto counts = device.call(replay_order(ReplayMode::kCount));
  const double took = milliseconds_since(start);
  std::vector<unsigned long long> warps;
  for (const auto& launch : counts.launches) warps.push_back(launch.warp_instructions);
  report(counts.void_reason.empty() && warps.size() == 3 && warps[0] > warps[2] && warps[1] > 0 && warps[2] > 0,
         "counts of three launches of two kernels: %llu, %llu, %llu warp instructions in %.1f ms %s", warps.at(0),
         warps.at(1), warps.at(2), took, counts.void_reason.c_str());
  const auto times = device.call(replay_order(ReplayMode::kTime));
  report(times.times.size() == 3 && times.void_reason.empty() && times.times[2].launch == 2 &&
             times.times[0].end_ns <= times.times[1].start_ns,
         "times of three launches: %zu records %s", times.times.size(), times.void_reason.c_str());

  std::string clusters;
  for (const std::uint32_t size : {1u, 2u, 4u, 8u, 16u}) {
    wire::Occupancy ask;
    ask.kernel = rank;
    ask.geometry.grid = {size, 1, 1};
    ask.geometry.block = {1024, 1, 1};
    ask.geometry.cluster = {size, 1, 1};
    const auto answer = device.call(ask);
    clusters += " " + std::to_string(answer.blocks) + "/" + std::to_string(answer.clusters);
  }
  report(true, "occupancy, blocks/clusters for clusters of 1 2 4 8 16 and 1024 threads:%s", clusters.c_str());
  wire::TiledMap bad;
  bad.rank = 2;
  const auto refused = device.attempt(wire::EncodeTiled{bad});
  report(!refused && refused.error().code == Code::kInvalidValue, "a bad tensor map: %s",
         refused ? "accepted" : refused.error().message.c_str());
  device.call(wire::Free{out});
}

// ---- what goes wrong ----

void check_fault(const std::string& program, const std::string& fatbin, const char* name, const char* kind, Code code,
                 DeviceProcess& other) {
  DeviceProcess device(program);
  const std::uint64_t out = device.call(wire::Alloc{1 << 20}).address;
  const std::uint32_t kernel = device.kernel(device.load(fatbin), name);
  device.call(wire::BeginRun{1, wire::Schedule::kLatest, 0, 500});
  const Clock::time_point start = Clock::now();
  const auto launched = device.attempt(device.launch(kernel, {1, 1, 1}, {32, 1, 1}, pack(out)));
  const double took = milliseconds_since(start);
  const auto run = device.call(wire::EndRun{});
  const bool told = !launched && launched.error().code == code && run.launches.size() == 1 && run.launches[0].trap &&
                    run.launches[0].trap->kind == kind && run.sticky_code == static_cast<int>(code);
  const bool refuses = !device.attempt(wire::Alloc{64}).has_value();
  int status = 0;
  const double end = device.end(true, &status);
  const bool others = other.attempt(wire::MemoryInfo{}).has_value();
  double health = 0;
  const int healthy = run_program({program, "--health"}, &health);
  report(told && refuses && others && status == 0 && healthy == 0,
         "%s: trap '%s' after %.1f ms, code %d, ended in %.1f ms with status %d; health %d in %.0f ms", name,
         run.launches.empty() || !run.launches[0].trap ? "none" : run.launches[0].trap->kind.c_str(), took,
         run.sticky_code, end, status, healthy, health);
}

// A kernel that ends in the run and hangs when it is replayed. The limit holds once, not once more at the end.
void check_hang_in_replay(const std::string& program, const std::string& faults, ReplayMode mode, const char* what) {
  DeviceProcess device(program);
  const std::uint64_t stop = device.call(wire::Alloc{4096}).address;
  const std::uint32_t hang = device.kernel(device.load(faults), "hang");
  device.call(wire::FillMemory{stop, 1, 0x600DF00D, 4, 0});
  device.call(wire::BeginRun{1, wire::Schedule::kLatest, 0, 10'000});
  device.call(device.launch(hang, {1, 1, 1}, {32, 1, 1}, pack(stop)));
  wire::Replay order = replay_order(mode);
  order.deadline_ms = 400;
  // Each mode once while it ends, so that the set-up of the profiler is not part of what is timed.
  device.call(order);
  device.call(wire::FillMemory{stop, 1, 0, 4, 0});
  const Clock::time_point start = Clock::now();
  const auto reply = device.call(order);
  const double took = milliseconds_since(start);
  int status = 0;
  const double end = device.end(true, &status);
  report(reply.sticky_code == static_cast<int>(Code::kLaunchTimeout) && took < 700 && status == 0,
         "a hang in a replay (%s): %s after %.1f ms, ended in %.1f ms", what,
         reply.sticky_code == 702 ? "deadline" : "not noticed", took, end);
}

// A profiler that cannot be had voids times and counts; the run itself goes on.
void check_without_cupti(const std::string& program, const std::string& faults, const std::string& folder) {
  ::setenv("PTXBENCH_NVIDIA_LIBRARIES", folder.c_str(), 1);
  DeviceProcess device(program);
  ::unsetenv("PTXBENCH_NVIDIA_LIBRARIES");
  const std::uint32_t module = device.load(faults), five = 5;
  const std::uint64_t out = device.call(wire::Alloc{4096}).address;
  const std::uint64_t limit = device.call(wire::GetGlobal{module, "limit"}).address;
  const std::uint64_t counter = device.call(wire::GetGlobal{module, "counter"}).address;
  device.call(wire::WriteMemory{limit, 4, 0}, std::as_bytes(std::span(&five, 1)));
  device.call(wire::BeginRun{1, wire::Schedule::kLatest, 0, 10'000});
  device.call(device.launch(device.kernel(module, "globals"), {4, 1, 1}, {32, 1, 1}, pack(out)));  // counter += 4 * 5
  std::uint32_t expected = 20;
  for (const ReplayMode mode : {ReplayMode::kTime, ReplayMode::kCount}) {
    const auto reply = device.call(replay_order(mode));
    expected += 20;
    report(reply.void_reason.find("is too old") != std::string::npos && reply.times.empty() &&
               reply.launches.at(0).instructions.empty() && device.read_words(counter, 1)[0] == expected,
           "without CUPTI: void: %s", reply.void_reason.c_str());
  }
}

void check_memory(DeviceProcess& device) {
  const auto huge = device.attempt(wire::Alloc{std::uint64_t{1} << 42});
  const auto after = device.attempt(wire::Alloc{1 << 20});
  report(!huge && huge.error().code == Code::kMemoryAllocation && after.has_value(), "4 TiB: %s",
         huge ? "given" : huge.error().message.c_str());
}

void show_telemetry(DeviceProcess& device) {
  const auto t = device.call(wire::GetTelemetry{});
  std::string reasons;
  for (const std::string& reason : t.throttle_reasons) reasons += " [" + reason + "]";
  for (const std::string& missing : t.missing) reasons += " missing: " + missing;
  report(t.sm_mhz > 0 && t.power_w > 0,
         "telemetry: %s, driver %s, CUDA %s, SM %u of %u MHz, memory %u MHz, %.0f of %.0f W, "
         "%u C, ecc %d, mig %d, L2 %llu, %s%s",
         t.device_name.c_str(), t.driver_version.c_str(), t.cuda_driver_version.c_str(), t.sm_mhz, t.max_sm_mhz,
         t.memory_mhz, t.power_w, t.power_limit_w, t.temperature_c, t.ecc, t.mig,
         static_cast<unsigned long long>(t.l2_bytes), t.pci_bus_id.c_str(), reasons.c_str());
}

int check_all(const std::string& program, const std::string& gemm_file, const std::string& faults_file,
              const std::string& listing_file, const std::string& old_cupti) {
  const std::string gemm_image = read_file(gemm_file), faults = read_file(faults_file);
  const std::string listing = listing_file.empty() ? "" : read_file(listing_file);
  DeviceProcess candidate(program), trusted(program);
  report(candidate.info.compute_major >= 9, "two processes started in %.0f and %.0f ms: %s, sm_%u%u, %llu MiB, %d SMs",
         candidate.start_ms, trusted.start_ms, candidate.info.name.c_str(), candidate.info.compute_major,
         candidate.info.compute_minor, static_cast<unsigned long long>(candidate.info.total_memory >> 20),
         candidate.info.attributes[16]);
  const Gemm gemm = check_gemm(candidate, gemm_image);
  const double before = median_time(candidate, "times", 60);
  check_counts(candidate, gemm, listing);
  const double after = median_time(candidate, "times after counting", 60);
  report(std::abs(after / before - 1) < 0.03, "counting leaves the kernel as it was: %.4f", after / before);
  check_baseline(candidate, gemm);
  const std::uint32_t module = trusted.load(faults);
  const std::uint32_t fill = trusted.kernel(module, "fill");
  check_sharing(trusted, candidate, fill, 112 << 20);
  check_sharing(trusted, candidate, fill, 4096);
  check_small_kernels(trusted, module);
  check_memory(trusted);
  if (!old_cupti.empty()) check_without_cupti(program, faults, old_cupti);
  show_telemetry(trusted);
  check_fault(program, faults, "out_of_bounds", "out_of_bounds", Code::kIllegalAddress, trusted);
  check_fault(program, faults, "misaligned", "misaligned", Code::kMisalignedAddress, trusted);
  check_fault(program, faults, "failed_assert", "assert", Code::kAssert, trusted);
  check_fault(program, faults, "trap_instruction", "launch_failure", Code::kLaunchFailure, trusted);
  check_fault(program, faults, "hang", "deadline", Code::kLaunchTimeout, trusted);
  check_hang_in_replay(program, faults, ReplayMode::kCheck, "check");
  check_hang_in_replay(program, faults, ReplayMode::kTime, "time");
  check_hang_in_replay(program, faults, ReplayMode::kCount, "count");
  check_sharing(trusted, candidate, fill, 2 << 20);
  int status = 0;
  const double end = candidate.end(true, &status);
  report(status == 0, "orderly end in %.1f ms", end);
  std::printf("%d checks failed\n", failures);
  return failures == 0 ? 0 : 1;
}

}  // namespace
}  // namespace ptxbench::gpu

int main(int argc, char** argv) {
  if (argc < 4) {
    std::fprintf(
        stderr,
        "usage: hardware_check PTXBENCH-DEVICE-GPU GEMM.FATBIN FAULTS.FATBIN [GEMM.SASS [TOO-OLD-CUPTI-FOLDER]]\n");
    return 2;
  }
  return ptxbench::gpu::check_all(argv[1], argv[2], argv[3], argc > 4 ? argv[4] : "", argc > 5 ? argv[5] : "");
}
