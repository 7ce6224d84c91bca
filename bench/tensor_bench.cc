// Speed of the tensor instructions and number conversions. Read results as ratios inside one run: the counter of an operation
// against "fma_peak" (the host's binary32 multiply-adds) or "memcpy".
#include <benchmark/benchmark.h>

#include <array>
#include <cstring>
#include <memory>
#include <vector>

#include "ptxbench/emu/tensor/mma_kernel.h"
#include "ptxbench/emu/tensor/tma_copy.h"
#include "ptxbench/emu/tensor/wgmma.h"
#include "ptxbench/numeric/half.h"

namespace {

using namespace ptxbench;

constexpr uint32_t kSharedBytes = 228 * 1024;

struct Warpgroup {
  std::vector<uint32_t> words;
  std::vector<uint32_t*> pointers;
  std::vector<emu::WgmmaWarp> warps;

  explicit Warpgroup(uint32_t registers) : words(size_t{4} * (registers + 4) * 32) {
    for (uint32_t i = 0; i < 4 * (registers + 4); ++i) pointers.push_back(words.data() + size_t{32} * i);
    for (uint32_t w = 0; w < 4; ++w) {
      uint32_t** first = pointers.data() + size_t{w} * (registers + 4);
      warps.push_back({first, first + registers});
    }
  }
};

std::vector<std::byte> shared_memory() {
  std::vector<std::byte> bytes(kSharedBytes);
  for (size_t i = 0; i + 1 < bytes.size(); i += 2) {
    const uint16_t bits = static_cast<uint16_t>(0x3c00 + i % 512);  // near 1 as f16, small as bf16
    std::memcpy(bytes.data() + i, &bits, 2);
  }
  return bytes;
}

uint64_t descriptor(uint32_t start, uint32_t leading, uint32_t stride, uint64_t layout) {
  return start >> 4 | uint64_t{leading >> 4} << 16 | uint64_t{stride >> 4} << 32 | layout << 62;
}

void count_macs(benchmark::State& state, double macs) {
  state.counters["GMAC/s"] =
      benchmark::Counter(macs * 1e-9 * static_cast<double>(state.iterations()), benchmark::Counter::kIsRate);
}

// The kernel alone, operands packed and in cache: the ceiling of what follows.
void fma_peak(benchmark::State& state) {
  const emu::MmaKernel& kernel = emu::mma_kernel();
  std::vector<float> a(64 * 4 * 64), b(64 * 24);
  const emu::PanelA panel_a{a.data(), 64};
  const emu::PanelB panel_b(b.data(), 64, 24, kernel.most_units);
  Warpgroup group(12);
  std::vector<emu::WarpAccumulators> warps;
  for (const emu::WgmmaWarp& warp : group.warps) warps.push_back(warp.d);
  for (auto _ : state) kernel.run(warps, panel_a, panel_b, false);
  count_macs(state, 64.0 * 24 * 64);
}
BENCHMARK(fma_peak);

// steps instructions along k in one 128-byte swizzle atom.
void wgmma(benchmark::State& state, emu::WgmmaForm form, uint32_t steps) {
  std::vector<std::byte> memory = shared_memory();
  const emu::SharedView shared{memory.data(), kSharedBytes, 0};
  Warpgroup group(emu::wgmma_accumulator_registers(form));
  std::vector<emu::WgmmaStep> chain;
  for (uint32_t s = 0; s < steps; ++s) {
    const uint64_t a = form.transpose_a ? descriptor(2048 * s, 16, 1024, 1) : descriptor(32 * s, 16, 1024, 1);
    const uint64_t b =
        form.transpose_b ? descriptor(0x8000 + 2048 * s, 8192, 1024, 1) : descriptor(0x8000 + 32 * s, 16, 1024, 1);
    chain.push_back({a, b, true});
  }
  for (auto _ : state) {
    const auto done = steps == 1 ? emu::wgmma_compute(form, chain[0], group.warps, shared)
                                 : emu::wgmma_compute_chain(form, chain, group.warps, shared);
    if (!done) state.SkipWithError(done.error().message.c_str());
  }
  count_macs(state, 64.0 * form.n * emu::wgmma_k(form.a_type) * steps);
  state.SetLabel(emu::wgmma_kernel_name());
}

using enum emu::MmaType;
BENCHMARK_CAPTURE(wgmma, bf16_n256, emu::WgmmaForm{.n = 256}, 1);
BENCHMARK_CAPTURE(wgmma, bf16_n256_chain4, emu::WgmmaForm{.n = 256}, 4);
BENCHMARK_CAPTURE(wgmma, bf16_n128, emu::WgmmaForm{.n = 128}, 1);
BENCHMARK_CAPTURE(wgmma, bf16_n128_chain4, emu::WgmmaForm{.n = 128}, 4);
BENCHMARK_CAPTURE(wgmma, bf16_n64, emu::WgmmaForm{.n = 64}, 1);
BENCHMARK_CAPTURE(wgmma, bf16_n64_chain4, emu::WgmmaForm{.n = 64}, 4);
BENCHMARK_CAPTURE(wgmma, bf16_n8, emu::WgmmaForm{.n = 8}, 1);
BENCHMARK_CAPTURE(wgmma, bf16_n128_b_n_major, emu::WgmmaForm{.n = 128, .transpose_b = true}, 1);
BENCHMARK_CAPTURE(wgmma, bf16_n128_both_mn_major, emu::WgmmaForm{.n = 128, .transpose_a = true, .transpose_b = true},
                  1);
BENCHMARK_CAPTURE(wgmma, bf16_n128_a_registers, emu::WgmmaForm{.n = 128, .a_in_registers = true}, 1);
BENCHMARK_CAPTURE(wgmma, f16_n256, emu::WgmmaForm{.a_type = kF16, .b_type = kF16, .n = 256}, 1);
BENCHMARK_CAPTURE(wgmma, f16_f16_n256,
                  emu::WgmmaForm{.a_type = kF16, .b_type = kF16, .accumulator = emu::MmaAccumulator::kF16, .n = 256},
                  1);
BENCHMARK_CAPTURE(wgmma, tf32_n256, emu::WgmmaForm{.a_type = kTF32, .b_type = kTF32, .n = 256}, 1);
BENCHMARK_CAPTURE(wgmma, e4m3_n256, emu::WgmmaForm{.a_type = kE4M3, .b_type = kE4M3, .n = 256}, 1);
BENCHMARK_CAPTURE(wgmma, s8_n256,
                  emu::WgmmaForm{.a_type = kS8, .b_type = kS8, .accumulator = emu::MmaAccumulator::kS32, .n = 256}, 1);

class PlainGlobal : public emu::GlobalView {
 public:
  explicit PlainGlobal(size_t bytes) : bytes_(bytes) {}
  emu::Checked<std::byte*> resolve(uint64_t address, uint64_t, emu::MemoryAccess) override {
    return bytes_.data() + address;
  }
  std::byte* surround(uint64_t address, uint64_t, emu::MemoryAccess) override { return bytes_.data() + address; }

 private:
  std::vector<std::byte> bytes_;
};

// A 128 x 64 tile of bf16, 16 KB, out of a matrix with rows of 8 KB.
emu::TensorMap tile_map(emu::Swizzle swizzle, emu::TensorDataType type) {
  const uint32_t size = emu::element_bytes(type);
  emu::TensorMap map;
  map.type = type;
  map.rank = 2;
  map.swizzle = swizzle;
  map.dims = {8192 / size, 512, 1, 1, 1};
  map.strides = {size, 8192, 0, 0, 0};
  map.box = {128 / size, 128, 1, 1, 1};
  map.element_strides = {1, 1, 1, 1, 1};
  return map;
}

void count_bytes(benchmark::State& state, double bytes) {
  state.counters["GB/s"] =
      benchmark::Counter(bytes * 1e-9 * static_cast<double>(state.iterations()), benchmark::Counter::kIsRate);
}

enum class Move { kLoad, kStore, kAdd };

void tma(benchmark::State& state, Move move, emu::Swizzle swizzle, emu::TensorDataType type) {
  PlainGlobal global(8192 * 512 + 64);
  std::vector<std::byte> memory(kSharedBytes);
  const emu::SharedView shared{memory.data(), kSharedBytes, 0};
  const emu::TensorMap map = tile_map(swizzle, type);
  int32_t row = 0;
  for (auto _ : state) {
    const std::array<int32_t, 2> at{64, row};
    row = (row + 128) % 384;
    const auto done = move == Move::kLoad    ? emu::tma_load_tile(map, at, global, shared, 1024)
                      : move == Move::kStore ? emu::tma_store_tile(map, at, global, shared, 1024)
                                             : emu::tma_reduce_tile(map, at, emu::ReduceOp::kAdd, global, shared, 1024);
    if (!done) state.SkipWithError(done.error().message.c_str());
  }
  count_bytes(state, map.tile_bytes());
}

using enum emu::Swizzle;
using enum Move;
BENCHMARK_CAPTURE(tma, load_128B, kLoad, k128B, emu::TensorDataType::kBF16);
BENCHMARK_CAPTURE(tma, load_unswizzled, kLoad, kNone, emu::TensorDataType::kBF16);
BENCHMARK_CAPTURE(tma, store_128B, kStore, k128B, emu::TensorDataType::kBF16);
BENCHMARK_CAPTURE(tma, add_f32_128B, kAdd, k128B, emu::TensorDataType::kF32);
BENCHMARK_CAPTURE(tma, add_bf16_128B, kAdd, k128B, emu::TensorDataType::kBF16);

void plain_memcpy(benchmark::State& state) {
  std::vector<std::byte> from(8192 * 512), to(kSharedBytes);
  size_t at = 0;
  for (auto _ : state) {
    for (size_t row = 0; row < 128; ++row) std::memcpy(to.data() + 128 * row, from.data() + at + 8192 * row, 128);
    benchmark::ClobberMemory();
    at = (at + 8192 * 128) % (8192 * 384);
  }
  count_bytes(state, 128 * 128);
}
BENCHMARK(plain_memcpy);

template <class From, class To>
void convert(benchmark::State& state, void (*function)(std::span<const From>, std::span<To>)) {
  std::vector<From> from(4096, From{1});
  std::vector<To> to(4096);
  for (auto _ : state) {
    function(from, to);
    benchmark::ClobberMemory();
  }
  state.counters["Gelem/s"] =
      benchmark::Counter(4096e-9 * static_cast<double>(state.iterations()), benchmark::Counter::kIsRate);
}
BENCHMARK_CAPTURE(convert, bf16_to_f32,
                  static_cast<void (*)(std::span<const uint16_t>, std::span<float>)>(numeric::bf16_to_f32));
BENCHMARK_CAPTURE(convert, f16_to_f32,
                  static_cast<void (*)(std::span<const uint16_t>, std::span<float>)>(numeric::f16_to_f32));
BENCHMARK_CAPTURE(convert, f32_to_bf16,
                  static_cast<void (*)(std::span<const float>, std::span<uint16_t>)>(numeric::f32_to_bf16));
BENCHMARK_CAPTURE(convert, f32_to_f16,
                  static_cast<void (*)(std::span<const float>, std::span<uint16_t>)>(numeric::f32_to_f16));

template <uint16_t (*kFunction)(float)>
void scalar(benchmark::State& state) {
  float value = 1.0f;
  for (auto _ : state) benchmark::DoNotOptimize(kFunction(value += 0.125f));
}
BENCHMARK_TEMPLATE(scalar, numeric::f32_to_bf16);
BENCHMARK_TEMPLATE(scalar, numeric::f32_to_f16);

void scalar_fma(benchmark::State& state, numeric::Format format) {
  uint16_t value = 0x3c00;
  for (auto _ : state) benchmark::DoNotOptimize(value = numeric::half_fma(format, value, 0x3c01, 0x2000));
}
BENCHMARK_CAPTURE(scalar_fma, f16, numeric::Format::kF16);
BENCHMARK_CAPTURE(scalar_fma, bf16, numeric::Format::kBF16);

}  // namespace
