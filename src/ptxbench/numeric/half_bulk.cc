// Bulk conversions between binary32 and the 16-bit formats.
#include <cstddef>
#include <cstring>

#include "ptxbench/base/check.h"
#include "ptxbench/numeric/half.h"
#include "ptxbench/numeric/simd.h"

#if defined(__x86_64__)
#include <immintrin.h>
#define PTXBENCH_AVX2 __attribute__((target("avx2,fma,f16c")))
#endif

namespace ptxbench::numeric {
namespace {

// Each SIMD function converts the first n - n % 8 elements and returns how many; the scalar code does the rest.
#if defined(__x86_64__)
PTXBENCH_AVX2 size_t widen_bf16_avx2(const uint16_t* from, float* to, size_t n) {
  size_t i = 0;
  for (; i + 8 <= n; i += 8) {
    const __m128i half = _mm_loadu_si128(reinterpret_cast<const __m128i*>(from + i));
    const __m256i wide = _mm256_slli_epi32(_mm256_cvtepu16_epi32(half), 16);
    _mm256_storeu_ps(to + i, _mm256_castsi256_ps(wide));
  }
  return i;
}

PTXBENCH_AVX2 size_t widen_f16_avx2(const uint16_t* from, float* to, size_t n) {
  size_t i = 0;
  for (; i + 8 <= n; i += 8) {
    _mm256_storeu_ps(to + i, _mm256_cvtph_ps(_mm_loadu_si128(reinterpret_cast<const __m128i*>(from + i))));
  }
  return i;
}

PTXBENCH_AVX2 size_t narrow_bf16_avx2(const float* from, uint16_t* to, size_t n) {
  const __m256i bias = _mm256_set1_epi32(0x7fff);
  const __m256i one = _mm256_set1_epi32(1);
  size_t i = 0;
  for (; i + 8 <= n; i += 8) {
    const __m256 value = _mm256_loadu_ps(from + i);
    const __m256i bits = _mm256_castps_si256(value);
    const __m256i odd = _mm256_and_si256(_mm256_srli_epi32(bits, 16), one);
    const __m256i rounded = _mm256_srli_epi32(_mm256_add_epi32(bits, _mm256_add_epi32(bias, odd)), 16);
    const __m256i nan = _mm256_castps_si256(_mm256_cmp_ps(value, value, _CMP_UNORD_Q));
    const __m256i words = _mm256_blendv_epi8(rounded, bias, nan);
    const __m256i packed = _mm256_permute4x64_epi64(_mm256_packus_epi32(words, words), 0x08);
    _mm_storeu_si128(reinterpret_cast<__m128i*>(to + i), _mm256_castsi256_si128(packed));
  }
  return i;
}

PTXBENCH_AVX2 size_t narrow_f16_avx2(const float* from, uint16_t* to, size_t n) {
  const __m128i nan_word = _mm_set1_epi16(0x7fff);
  size_t i = 0;
  for (; i + 8 <= n; i += 8) {
    const __m256 value = _mm256_loadu_ps(from + i);
    const __m128i half = _mm256_cvtps_ph(value, _MM_FROUND_TO_NEAREST_INT | _MM_FROUND_NO_EXC);
    const __m256i nan = _mm256_castps_si256(_mm256_cmp_ps(value, value, _CMP_UNORD_Q));
    const __m128i nan16 = _mm_packs_epi32(_mm256_castsi256_si128(nan), _mm256_extracti128_si256(nan, 1));
    _mm_storeu_si128(reinterpret_cast<__m128i*>(to + i), _mm_blendv_epi8(half, nan_word, nan16));
  }
  return i;
}

bool has_avx2() { return simd_level() >= SimdLevel::kAvx2; }
#else
size_t widen_bf16_avx2(const uint16_t*, float*, size_t) { return 0; }
size_t widen_f16_avx2(const uint16_t*, float*, size_t) { return 0; }
size_t narrow_bf16_avx2(const float*, uint16_t*, size_t) { return 0; }
size_t narrow_f16_avx2(const float*, uint16_t*, size_t) { return 0; }
bool has_avx2() { return false; }
#endif

template <class From, class To, class Simd, class Scalar>
void convert(std::span<const From> from, std::span<To> to, Simd simd, Scalar scalar) {
  PTXBENCH_CHECK(from.size() == to.size(), "{} elements into {}", from.size(), to.size());
  const size_t done = has_avx2() ? simd(from.data(), to.data(), from.size()) : 0;
  for (size_t i = done; i < from.size(); ++i) {
    From value;
    std::memcpy(&value, reinterpret_cast<const char*>(from.data()) + i * sizeof(From),
                sizeof value);  // may be unaligned
    const To result = scalar(value);
    std::memcpy(reinterpret_cast<char*>(to.data()) + i * sizeof(To), &result, sizeof result);
  }
}

}  // namespace

void bf16_to_f32(std::span<const uint16_t> from, std::span<float> to) {
  convert(from, to, widen_bf16_avx2, [](uint16_t value) { return bf16_to_f32(value); });
}
void f16_to_f32(std::span<const uint16_t> from, std::span<float> to) {
  convert(from, to, widen_f16_avx2, [](uint16_t value) { return f16_to_f32(value); });
}
void f32_to_bf16(std::span<const float> from, std::span<uint16_t> to) {
  convert(from, to, narrow_bf16_avx2, [](float value) { return f32_to_bf16(value); });
}
void f32_to_f16(std::span<const float> from, std::span<uint16_t> to) {
  convert(from, to, narrow_f16_avx2, [](float value) { return f32_to_f16(value); });
}

}  // namespace ptxbench::numeric
