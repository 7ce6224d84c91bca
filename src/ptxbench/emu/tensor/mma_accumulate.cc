#include "ptxbench/emu/tensor/mma_accumulate.h"

#include <algorithm>
#include <atomic>
#include <bit>
#include <cstdlib>
#include <limits>
#include <string_view>
#include <vector>

#include "ptxbench/emu/tensor/mma_hopper.h"
#include "ptxbench/emu/tensor/mma_pack_avx2.h"
#include "ptxbench/numeric/half.h"

namespace ptxbench::emu {
namespace {

constexpr uint32_t kMostWarps = 4, kLanes = 32;

std::atomic<MmaArithmetic>& arithmetic_setting() {
  static std::atomic<MmaArithmetic> setting = [] {
    const char* text = std::getenv("PTXBENCH_MMA");
    return text != nullptr && std::string_view(text) == "hopper" ? MmaArithmetic::kHopper : MmaArithmetic::kFast;
  }();
  return setting;
}

// Accumulators as binary32 in registers of our own: register i of warp w is pointers[w * registers + i].
struct WideAccumulators {
  std::vector<uint32_t> words;
  std::vector<uint32_t*> pointers;
  WarpAccumulators warps[kMostWarps];

  void resize(uint32_t warp_count, uint32_t registers) {
    words.resize(size_t{warp_count} * registers * kLanes);
    pointers.resize(size_t{warp_count} * registers);
    for (size_t i = 0; i < pointers.size(); ++i) pointers[i] = words.data() + kLanes * i;
    for (uint32_t w = 0; w < warp_count; ++w) warps[w] = pointers.data() + size_t{w} * registers;
  }
};

void widen_pairs(const uint32_t* pairs, uint32_t* low, uint32_t* high, bool simd) {
  if (simd) return widen_pairs_avx2(pairs, low, high);
  for (uint32_t lane = 0; lane < kLanes; ++lane) {
    low[lane] = std::bit_cast<uint32_t>(numeric::f16_to_f32(static_cast<uint16_t>(pairs[lane])));
    high[lane] = std::bit_cast<uint32_t>(numeric::f16_to_f32(static_cast<uint16_t>(pairs[lane] >> 16)));
  }
}

void narrow_pairs(const uint32_t* low, const uint32_t* high, uint32_t* pairs, bool simd) {
  if (simd) return narrow_pairs_avx2(low, high, pairs);
  for (uint32_t lane = 0; lane < kLanes; ++lane) {
    pairs[lane] = numeric::f32_to_f16(std::bit_cast<float>(low[lane])) |
                  uint32_t{numeric::f32_to_f16(std::bit_cast<float>(high[lane]))} << 16;
  }
}

// D += A * B on binary32 accumulators.
void accumulate(const MmaArithmeticForm& form, std::span<const WarpAccumulators> warps, const PanelA& a,
                const PanelB& b, bool clear) {
  if (mma_arithmetic() == MmaArithmetic::kFast) return mma_kernel().run(warps, a, b, clear);
  const HopperSum sum = hopper_sum(form.a_type, form.b_type, form.accumulator, form.k);
  hopper_run(sum, warps, a, b, clear, numeric::simd_level());
}

// Packed register 2g + h holds columns 8g + 2c and 8g + 2c + 1; the wide ones are 4g + 2h and 4g + 2h + 1.
void accumulate_f16(const MmaArithmeticForm& form, std::span<const WarpAccumulators> warps, const PanelA& a,
                    const PanelB& b, bool clear, WideAccumulators& wide) {
  const bool simd = numeric::simd_level() >= numeric::SimdLevel::kAvx2;
  const uint32_t packed = b.units;
  wide.resize(static_cast<uint32_t>(warps.size()), 2 * packed);
  for (uint32_t w = 0; !clear && w < warps.size(); ++w) {
    for (uint32_t i = 0; i < packed; ++i)
      widen_pairs(warps[w][i], wide.warps[w][2 * i], wide.warps[w][2 * i + 1], simd);
  }
  accumulate(form, {wide.warps, warps.size()}, a, b, clear);
  for (uint32_t w = 0; w < warps.size(); ++w) {
    for (uint32_t i = 0; i < packed; ++i)
      narrow_pairs(wide.warps[w][2 * i], wide.warps[w][2 * i + 1], warps[w][i], simd);
  }
}

// Products of at most 32 pairs of bytes sum to less than 2^24, so binary32 holds the sum exactly; D is added as an integer.
void accumulate_s32(std::span<const WarpAccumulators> warps, const PanelA& a, const PanelB& b, bool saturate,
                    bool clear, WideAccumulators& wide) {
  const uint32_t registers = 2 * b.units;
  wide.resize(static_cast<uint32_t>(warps.size()), registers);
  mma_kernel().run({wide.warps, warps.size()}, a, b, true);
  for (uint32_t w = 0; w < warps.size(); ++w) {
    for (uint32_t i = 0; i < registers; ++i) {
      uint32_t* d = warps[w][i];
      const uint32_t* added = wide.warps[w][i];
      for (uint32_t lane = 0; lane < kLanes; ++lane) {
        const auto sum = static_cast<int32_t>(std::bit_cast<float>(added[lane]));
        const int32_t before = clear ? 0 : static_cast<int32_t>(d[lane]);
        if (saturate) {
          const int64_t exact = int64_t{before} + sum;
          d[lane] = static_cast<uint32_t>(
              std::clamp<int64_t>(exact, std::numeric_limits<int32_t>::min(), std::numeric_limits<int32_t>::max()));
        } else {
          d[lane] = static_cast<uint32_t>(before) + static_cast<uint32_t>(sum);
        }
      }
    }
  }
}

}  // namespace

void mma_accumulate(const MmaArithmeticForm& form, std::span<const WarpAccumulators> warps, const PanelA& a,
                    const PanelB& b, bool clear) {
  thread_local WideAccumulators wide;
  switch (form.accumulator) {
    case MmaAccumulator::kF32: return accumulate(form, warps, a, b, clear);
    case MmaAccumulator::kF16: return accumulate_f16(form, warps, a, b, clear, wide);
    case MmaAccumulator::kS32: return accumulate_s32(warps, a, b, form.saturate, clear, wide);
  }
}

MmaArithmetic mma_arithmetic() { return arithmetic_setting().load(std::memory_order_relaxed); }
void set_mma_arithmetic(MmaArithmetic arithmetic) { arithmetic_setting().store(arithmetic, std::memory_order_relaxed); }

}  // namespace ptxbench::emu
