#include "ptxbench/emu/tensor/mma_pack_avx2.h"

#include "ptxbench/base/check.h"

#if defined(__x86_64__)
#include <immintrin.h>
#define PTXBENCH_AVX2 __attribute__((target("avx2,fma,f16c")))

namespace ptxbench::emu {
namespace {

constexpr uint32_t kMostAlongK = 16;  // elements of k in one core matrix

// Which line of a core matrix goes to which of the 8 places of a vector.
constexpr uint8_t kInOrder[8] = {0, 1, 2, 3, 4, 5, 6, 7};
constexpr uint8_t kEvenThenOdd[8] = {0, 2, 4, 6, 1, 3, 5, 7};

// rows[i] holds 8 16-bit elements; afterwards rows[j] holds element j of the former rows 0..7.
PTXBENCH_AVX2 inline void transpose(__m128i (&r)[8]) {
  const __m128i a0 = _mm_unpacklo_epi16(r[0], r[1]), a1 = _mm_unpackhi_epi16(r[0], r[1]);
  const __m128i a2 = _mm_unpacklo_epi16(r[2], r[3]), a3 = _mm_unpackhi_epi16(r[2], r[3]);
  const __m128i a4 = _mm_unpacklo_epi16(r[4], r[5]), a5 = _mm_unpackhi_epi16(r[4], r[5]);
  const __m128i a6 = _mm_unpacklo_epi16(r[6], r[7]), a7 = _mm_unpackhi_epi16(r[6], r[7]);
  const __m128i b0 = _mm_unpacklo_epi32(a0, a2), b1 = _mm_unpackhi_epi32(a0, a2);
  const __m128i b2 = _mm_unpacklo_epi32(a1, a3), b3 = _mm_unpackhi_epi32(a1, a3);
  const __m128i b4 = _mm_unpacklo_epi32(a4, a6), b5 = _mm_unpackhi_epi32(a4, a6);
  const __m128i b6 = _mm_unpacklo_epi32(a5, a7), b7 = _mm_unpackhi_epi32(a5, a7);
  r[0] = _mm_unpacklo_epi64(b0, b4);
  r[1] = _mm_unpackhi_epi64(b0, b4);
  r[2] = _mm_unpacklo_epi64(b1, b5);
  r[3] = _mm_unpackhi_epi64(b1, b5);
  r[4] = _mm_unpacklo_epi64(b2, b6);
  r[5] = _mm_unpackhi_epi64(b2, b6);
  r[6] = _mm_unpacklo_epi64(b3, b7);
  r[7] = _mm_unpackhi_epi64(b3, b7);
}

// 8 rows of 4 elements of 32 bits to 4 vectors of 8 rows.
PTXBENCH_AVX2 inline void transpose_words(const __m128i (&r)[8], __m256 (&out)[kMostAlongK]) {
  __m256 v[4];
  for (uint32_t i = 0; i < 4; ++i) v[i] = _mm256_castsi256_ps(_mm256_set_m128i(r[i + 4], r[i]));
  const __m256 a0 = _mm256_unpacklo_ps(v[0], v[1]), a1 = _mm256_unpackhi_ps(v[0], v[1]);
  const __m256 a2 = _mm256_unpacklo_ps(v[2], v[3]), a3 = _mm256_unpackhi_ps(v[2], v[3]);
  out[0] = _mm256_shuffle_ps(a0, a2, 0x44);
  out[1] = _mm256_shuffle_ps(a0, a2, 0xee);
  out[2] = _mm256_shuffle_ps(a1, a3, 0x44);
  out[3] = _mm256_shuffle_ps(a1, a3, 0xee);
}

template <MmaType kType>
PTXBENCH_AVX2 inline __m256 widen(__m128i half) {
  if constexpr (kType == MmaType::kF16) return _mm256_cvtph_ps(half);
  return _mm256_castsi256_ps(_mm256_slli_epi32(_mm256_cvtepu16_epi32(half), 16));
}

constexpr uint32_t along_k(MmaType type, Major major) {
  if (major == Major::kMN) return 8;
  return type == MmaType::kTF32 ? 4 : type == MmaType::kF16 || type == MmaType::kBF16 ? 8 : 16;
}

// One core matrix as vectors of 8 along m or n, one for each k.
template <MmaType kType, Major kMajor>
PTXBENCH_AVX2 inline void load_core(const CoreMatrix& core, const MatrixDescriptor& descriptor, SharedView shared,
                                    const uint8_t (&order)[8], __m256 (&out)[kMostAlongK]) {
  __m128i lines[8];
  for (uint32_t i = 0; i < kLines; ++i) {
    const uint32_t line = kMajor == Major::kK ? order[i] : i;
    const std::byte* from = shared.at(descriptor.place(core.address + line * core.pitch));
    lines[i] = _mm_loadu_si128(reinterpret_cast<const __m128i*>(from));
  }
  if constexpr (kMajor == Major::kMN) {
    const __m256i pick = _mm256_cvtepu8_epi32(_mm_loadl_epi64(reinterpret_cast<const __m128i*>(order)));
    for (uint32_t k = 0; k < 8; ++k) out[k] = _mm256_permutevar8x32_ps(widen<kType>(lines[k]), pick);
  } else if constexpr (kType == MmaType::kF16 || kType == MmaType::kBF16) {
    transpose(lines);
    for (uint32_t k = 0; k < 8; ++k) out[k] = widen<kType>(lines[k]);
  } else if constexpr (kType == MmaType::kTF32) {
    const __m128i mask = _mm_set1_epi32(static_cast<int>(0xffffe000));
    for (__m128i& line : lines) line = _mm_and_si128(line, mask);
    transpose_words(lines, out);
  } else {
    // Transposing pairs of bytes leaves, for each pair along k, 8 words with two elements each.
    const float* table = mma_byte_values(kType);
    transpose(lines);
    const __m256i low_byte = _mm256_set1_epi32(0xff);
    for (uint32_t pair = 0; pair < 8; ++pair) {
      const __m256i words = _mm256_cvtepu16_epi32(lines[pair]);
      out[2 * pair] = _mm256_i32gather_ps(table, _mm256_and_si256(words, low_byte), 4);
      out[2 * pair + 1] = _mm256_i32gather_ps(table, _mm256_srli_epi32(words, 8), 4);
    }
  }
}

template <MmaType kType, Major kMajor>
PTXBENCH_AVX2 void pack_a_typed(const SharedOperand& operand, SharedView shared, const PanelA& panel,
                                uint32_t k_start) {
  constexpr uint32_t kAlong = along_k(kType, kMajor);
  const __m256 sign = _mm256_set1_ps(operand.negate ? -0.0f : 0.0f);
  const __m256i first = _mm256_setr_epi32(0, 0, 0, 0, 1, 1, 1, 1), two = _mm256_set1_epi32(2);
  for (uint32_t group = 0; group < operand.outer / kGroupRows; ++group) {
    for (uint32_t kc = 0; kc < kCoresAlongK; ++kc) {
      __m256 columns[kMostAlongK];
      load_core<kType, kMajor>(core_matrix(operand.descriptor, kMajor, group, kc), operand.descriptor, shared, kInOrder,
                               columns);
      float* to = panel.at(group, k_start + kc * kAlong);
      for (uint32_t k = 0; k < kAlong; ++k, to += kGroupFloats) {
        const __m256 rows = _mm256_xor_ps(columns[k], sign);
        __m256i pick = first;
        for (uint32_t q = 0; q < 4; ++q, pick = _mm256_add_epi32(pick, two)) {
          _mm256_storeu_ps(to + 8 * q, _mm256_permutevar8x32_ps(rows, pick));
        }
      }
    }
  }
}

template <MmaType kType, Major kMajor>
PTXBENCH_AVX2 void pack_b_typed(const SharedOperand& operand, SharedView shared, const PanelB& panel,
                                uint32_t k_start) {
  constexpr uint32_t kAlong = along_k(kType, kMajor);
  const __m256 sign = _mm256_set1_ps(operand.negate ? -0.0f : 0.0f);
  for (uint32_t group = 0; group < operand.outer / 8; ++group) {
    const PanelB::Unit even = panel.unit(2 * group), odd = panel.unit(2 * group + 1);
    for (uint32_t kc = 0; kc < kCoresAlongK; ++kc) {
      __m256 columns[kMostAlongK];
      load_core<kType, kMajor>(core_matrix(operand.descriptor, kMajor, group, kc), operand.descriptor, shared,
                               kEvenThenOdd, columns);
      for (uint32_t k = 0; k < kAlong; ++k) {
        const __m256 values = _mm256_xor_ps(columns[k], sign);
        const uint32_t at = k_start + kc * kAlong + k;
        _mm_storeu_ps(even.start + at * even.stride, _mm256_castps256_ps128(values));
        _mm_storeu_ps(odd.start + at * odd.stride, _mm256_extractf128_ps(values, 1));
      }
    }
  }
}

// The 8 halves in the low or high parts of 8 words.
PTXBENCH_AVX2 inline __m128i low_halves(__m256i words) {
  const __m256i low = _mm256_and_si256(words, _mm256_set1_epi32(0xffff));
  return _mm_packus_epi32(_mm256_castsi256_si128(low), _mm256_extracti128_si256(low, 1));
}
PTXBENCH_AVX2 inline __m128i high_halves(__m256i words) { return low_halves(_mm256_srli_epi32(words, 16)); }

PTXBENCH_AVX2 inline __m256i load_words(const uint32_t* from) {
  return _mm256_loadu_si256(reinterpret_cast<const __m256i*>(from));
}

template <MmaType kType>
PTXBENCH_AVX2 void pack_registers_typed(bool negate, const uint32_t* const* registers, uint32_t count, uint32_t warp,
                                        const PanelA& panel, uint32_t k_start) {
  const __m256 sign = _mm256_set1_ps(negate ? -0.0f : 0.0f);
  for (uint32_t reg = 0; reg < count; ++reg) {
    const uint32_t k = k_start + reg / 2 * 8;
    for (uint32_t q = 0; q < 4; ++q) {
      // Lanes 8q .. 8q + 7: words 0..3 of two rows. Each 128-bit half holds one row, and the panel wants a row's value 4 times.
      const __m256i words = load_words(registers[reg] + 8 * q);
      const __m256 even = _mm256_xor_ps(widen<kType>(low_halves(words)), sign);
      const __m256 odd = _mm256_xor_ps(widen<kType>(high_halves(words)), sign);
      float* to = panel.at(2 * warp + reg % 2, k) + 8 * q;
      _mm256_storeu_ps(to, _mm256_permute_ps(even, 0x00));
      _mm256_storeu_ps(to + kGroupFloats, _mm256_permute_ps(odd, 0x00));
      _mm256_storeu_ps(to + 2 * kGroupFloats, _mm256_permute_ps(even, 0x55));
      _mm256_storeu_ps(to + 3 * kGroupFloats, _mm256_permute_ps(odd, 0x55));
      _mm256_storeu_ps(to + 4 * kGroupFloats, _mm256_permute_ps(even, 0xaa));
      _mm256_storeu_ps(to + 5 * kGroupFloats, _mm256_permute_ps(odd, 0xaa));
      _mm256_storeu_ps(to + 6 * kGroupFloats, _mm256_permute_ps(even, 0xff));
      _mm256_storeu_ps(to + 7 * kGroupFloats, _mm256_permute_ps(odd, 0xff));
    }
  }
}

template <template <MmaType, Major> class Pack, class... Args>
void dispatch(const SharedOperand& operand, Args&&... args) {
  const bool mn = operand.major == Major::kMN;
  switch (operand.type) {
    case MmaType::kF16:
      return mn ? Pack<MmaType::kF16, Major::kMN>::run(operand, args...)
                : Pack<MmaType::kF16, Major::kK>::run(operand, args...);
    case MmaType::kBF16:
      return mn ? Pack<MmaType::kBF16, Major::kMN>::run(operand, args...)
                : Pack<MmaType::kBF16, Major::kK>::run(operand, args...);
    case MmaType::kTF32: return Pack<MmaType::kTF32, Major::kK>::run(operand, args...);
    case MmaType::kE4M3: return Pack<MmaType::kE4M3, Major::kK>::run(operand, args...);
    case MmaType::kE5M2: return Pack<MmaType::kE5M2, Major::kK>::run(operand, args...);
    case MmaType::kS8: return Pack<MmaType::kS8, Major::kK>::run(operand, args...);
    case MmaType::kU8: return Pack<MmaType::kU8, Major::kK>::run(operand, args...);
  }
}

template <MmaType kType, Major kMajor>
struct PackA {
  static void run(const SharedOperand& operand, SharedView shared, const PanelA& panel, uint32_t k_start) {
    pack_a_typed<kType, kMajor>(operand, shared, panel, k_start);
  }
};
template <MmaType kType, Major kMajor>
struct PackB {
  static void run(const SharedOperand& operand, SharedView shared, const PanelB& panel, uint32_t k_start) {
    pack_b_typed<kType, kMajor>(operand, shared, panel, k_start);
  }
};

}  // namespace

void pack_a_avx2(const SharedOperand& operand, SharedView shared, const PanelA& panel, uint32_t k_start) {
  dispatch<PackA>(operand, shared, panel, k_start);
}

void pack_b_avx2(const SharedOperand& operand, SharedView shared, const PanelB& panel, uint32_t k_start) {
  dispatch<PackB>(operand, shared, panel, k_start);
}

void pack_a_registers_avx2(MmaType type, bool negate, const uint32_t* const* registers, uint32_t count, uint32_t warp,
                           const PanelA& panel, uint32_t k_start) {
  if (type == MmaType::kF16) return pack_registers_typed<MmaType::kF16>(negate, registers, count, warp, panel, k_start);
  pack_registers_typed<MmaType::kBF16>(negate, registers, count, warp, panel, k_start);
}

PTXBENCH_AVX2 void widen_pairs_avx2(const uint32_t* pairs, uint32_t* low, uint32_t* high) {
  for (uint32_t lane = 0; lane < 32; lane += 8) {
    const __m256i words = load_words(pairs + lane);
    _mm256_storeu_si256(reinterpret_cast<__m256i*>(low + lane),
                        _mm256_castps_si256(_mm256_cvtph_ps(low_halves(words))));
    _mm256_storeu_si256(reinterpret_cast<__m256i*>(high + lane),
                        _mm256_castps_si256(_mm256_cvtph_ps(high_halves(words))));
  }
}

namespace {
// 8 binary32 values to f16 in the low halves of 8 words.
PTXBENCH_AVX2 inline __m256i narrow(const uint32_t* from) {
  const __m256 value = _mm256_castsi256_ps(load_words(from));
  const __m256i half = _mm256_cvtepu16_epi32(_mm256_cvtps_ph(value, _MM_FROUND_TO_NEAREST_INT | _MM_FROUND_NO_EXC));
  const __m256i nan = _mm256_castps_si256(_mm256_cmp_ps(value, value, _CMP_UNORD_Q));
  return _mm256_blendv_epi8(half, _mm256_set1_epi32(0x7fff), nan);
}
}  // namespace

PTXBENCH_AVX2 void narrow_pairs_avx2(const uint32_t* low, const uint32_t* high, uint32_t* pairs) {
  for (uint32_t lane = 0; lane < 32; lane += 8) {
    const __m256i words = _mm256_or_si256(narrow(low + lane), _mm256_slli_epi32(narrow(high + lane), 16));
    _mm256_storeu_si256(reinterpret_cast<__m256i*>(pairs + lane), words);
  }
}

}  // namespace ptxbench::emu

#else

namespace ptxbench::emu {

// simd_level() never says kAvx2 on another processor.
void pack_a_avx2(const SharedOperand&, SharedView, const PanelA&, uint32_t) { PTXBENCH_CHECK(false, "no AVX2 here"); }
void pack_b_avx2(const SharedOperand&, SharedView, const PanelB&, uint32_t) { PTXBENCH_CHECK(false, "no AVX2 here"); }
void pack_a_registers_avx2(MmaType, bool, const uint32_t* const*, uint32_t, uint32_t, const PanelA&, uint32_t) {
  PTXBENCH_CHECK(false, "no AVX2 here");
}
void widen_pairs_avx2(const uint32_t*, uint32_t*, uint32_t*) { PTXBENCH_CHECK(false, "no AVX2 here"); }
void narrow_pairs_avx2(const uint32_t*, const uint32_t*, uint32_t*) { PTXBENCH_CHECK(false, "no AVX2 here"); }

}  // namespace ptxbench::emu

#endif
