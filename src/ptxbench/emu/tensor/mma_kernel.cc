#include "ptxbench/emu/tensor/mma_kernel.h"

#include <bit>
#include <cmath>

#if defined(__x86_64__)
#include <immintrin.h>
#endif

namespace ptxbench::emu {
namespace {

using numeric::SimdLevel;

constexpr uint32_t kMostUnits = 8;  // of any kernel

// Calls block(units, registers, panel of A, panel of B) for all blocks of D. registers[i]: the accumulator register of unit i.
template <class Block>
void for_each_block(std::span<const WarpAccumulators> warps, const PanelA& a, const PanelB& b, Block block) {
  for (uint32_t group = 0; group < 2 * warps.size(); ++group) {
    const WarpAccumulators d = warps[group / 2];
    const uint32_t half = group % 2;
    const float* b_block = b.data;
    uint32_t unit = 0;
    for (uint32_t index = 0; index < b.blocks; ++index) {
      const uint32_t units = b.block_units(index);
      uint32_t* registers[kMostUnits];
      for (uint32_t i = 0; i < units; ++i, ++unit) registers[i] = d[unit / 2 * 4 + half * 2 + unit % 2];
      block(units, registers, a.at(group, 0), b_block);
      b_block += size_t{units} * kUnitColumns * b.k;
    }
  }
}

void run_generic(std::span<const WarpAccumulators> warps, const PanelA& a, const PanelB& b, bool clear) {
  for_each_block(warps, a, b, [&](uint32_t units, uint32_t* const* registers, const float* pa, const float* pb) {
    for (uint32_t u = 0; u < units; ++u) {
      for (uint32_t lane = 0; lane < 32; ++lane) {
        float sum = clear ? 0.0f : std::bit_cast<float>(registers[u][lane]);
        for (uint32_t k = 0; k < a.k; ++k) {
          sum = std::fma(pa[k * kGroupFloats + lane], pb[(k * units + u) * kUnitColumns + lane % 4], sum);
        }
        registers[u][lane] = std::bit_cast<uint32_t>(sum);
      }
    }
  });
}

#if defined(__x86_64__)
#define PTXBENCH_AVX2 __attribute__((target("avx2,fma")))
#define PTXBENCH_AVX512 __attribute__((target("avx512f,avx512bw,avx512dq,avx512vl")))

// Register words as vectors of binary32; integer vector types may alias anything.
PTXBENCH_AVX2 inline __m256 load8(const uint32_t* from) {
  return _mm256_castsi256_ps(_mm256_loadu_si256(reinterpret_cast<const __m256i*>(from)));
}
PTXBENCH_AVX2 inline void store8(uint32_t* to, __m256 value) {
  _mm256_storeu_si256(reinterpret_cast<__m256i*>(to), _mm256_castps_si256(value));
}
PTXBENCH_AVX512 inline __m512 load16(const uint32_t* from) { return _mm512_castsi512_ps(_mm512_loadu_si512(from)); }
PTXBENCH_AVX512 inline void store16(uint32_t* to, __m512 value) { _mm512_storeu_si512(to, _mm512_castps_si512(value)); }

// All 8 rows and kUnits units: 4 * kUnits accumulators in registers.
template <uint32_t kUnits>
PTXBENCH_AVX2 void block_avx2(uint32_t* const* registers, const float* a, const float* b, uint32_t k, bool clear) {
  __m256 sum[4][kUnits];
#pragma GCC unroll 4
  for (uint32_t q = 0; q < 4; ++q) {
#pragma GCC unroll 4
    for (uint32_t u = 0; u < kUnits; ++u) {
      sum[q][u] = clear ? _mm256_setzero_ps() : load8(registers[u] + 8 * q);
    }
  }
  for (; k != 0; --k, a += kGroupFloats, b += kUnits * kUnitColumns) {
    __m256 columns[kUnits];
#pragma GCC unroll 4
    for (uint32_t u = 0; u < kUnits; ++u) {
      columns[u] = _mm256_broadcast_ps(reinterpret_cast<const __m128*>(b + kUnitColumns * u));
    }
#pragma GCC unroll 4
    for (uint32_t q = 0; q < 4; ++q) {
      const __m256 rows = _mm256_loadu_ps(a + 8 * q);
#pragma GCC unroll 4
      for (uint32_t u = 0; u < kUnits; ++u) sum[q][u] = _mm256_fmadd_ps(rows, columns[u], sum[q][u]);
    }
  }
#pragma GCC unroll 4
  for (uint32_t q = 0; q < 4; ++q) {
#pragma GCC unroll 4
    for (uint32_t u = 0; u < kUnits; ++u) store8(registers[u] + 8 * q, sum[q][u]);
  }
}

void run_avx2(std::span<const WarpAccumulators> warps, const PanelA& a, const PanelB& b, bool clear) {
  for_each_block(warps, a, b, [&](uint32_t units, uint32_t* const* registers, const float* pa, const float* pb) {
    switch (units) {
      case 1: return block_avx2<1>(registers, pa, pb, a.k, clear);
      case 2: return block_avx2<2>(registers, pa, pb, a.k, clear);
      default: return block_avx2<3>(registers, pa, pb, a.k, clear);
    }
  });
}

// 4 rows to a vector: 2 * kUnits accumulators.
template <uint32_t kUnits>
PTXBENCH_AVX512 void block_avx512(uint32_t* const* registers, const float* a, const float* b, uint32_t k, bool clear) {
  __m512 sum[2][kUnits];
#pragma GCC unroll 8
  for (uint32_t u = 0; u < kUnits; ++u) {
    sum[0][u] = clear ? _mm512_setzero_ps() : load16(registers[u]);
    sum[1][u] = clear ? _mm512_setzero_ps() : load16(registers[u] + 16);
  }
  for (; k != 0; --k, a += kGroupFloats, b += kUnits * kUnitColumns) {
    const __m512 low = _mm512_loadu_ps(a), high = _mm512_loadu_ps(a + 16);
#pragma GCC unroll 8
    for (uint32_t u = 0; u < kUnits; ++u) {
      const __m512 columns = _mm512_maskz_broadcast_f32x4(0xffff, _mm_loadu_ps(b + kUnitColumns * u));
      sum[0][u] = _mm512_fmadd_ps(low, columns, sum[0][u]);
      sum[1][u] = _mm512_fmadd_ps(high, columns, sum[1][u]);
    }
  }
#pragma GCC unroll 8
  for (uint32_t u = 0; u < kUnits; ++u) {
    store16(registers[u], sum[0][u]);
    store16(registers[u] + 16, sum[1][u]);
  }
}

void run_avx512(std::span<const WarpAccumulators> warps, const PanelA& a, const PanelB& b, bool clear) {
  for_each_block(warps, a, b, [&](uint32_t units, uint32_t* const* registers, const float* pa, const float* pb) {
    switch (units) {
      case 1: return block_avx512<1>(registers, pa, pb, a.k, clear);
      case 2: return block_avx512<2>(registers, pa, pb, a.k, clear);
      case 3: return block_avx512<3>(registers, pa, pb, a.k, clear);
      case 4: return block_avx512<4>(registers, pa, pb, a.k, clear);
      case 5: return block_avx512<5>(registers, pa, pb, a.k, clear);
      case 6: return block_avx512<6>(registers, pa, pb, a.k, clear);
      case 7: return block_avx512<7>(registers, pa, pb, a.k, clear);
      default: return block_avx512<8>(registers, pa, pb, a.k, clear);
    }
  });
}
#endif

constexpr MmaKernel kGeneric{"generic", 2, run_generic};
#if defined(__x86_64__)
constexpr MmaKernel kAvx2{"avx2", 3, run_avx2};
constexpr MmaKernel kAvx512{"avx512", 8, run_avx512};
#endif

}  // namespace

const MmaKernel& mma_kernel(SimdLevel level) {
#if defined(__x86_64__)
  if (level == SimdLevel::kAvx512) return kAvx512;
  if (level == SimdLevel::kAvx2) return kAvx2;
#endif
  (void)level;
  return kGeneric;
}

const MmaKernel& mma_kernel() {
  static const MmaKernel& kernel = mma_kernel(numeric::simd_level());
  return kernel;
}

}  // namespace ptxbench::emu
