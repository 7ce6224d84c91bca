// The fixed-point sum of mma_hopper.h on vectors of 8 elements of D (2 rows, 4 columns).
//
// Two passes over the products of one instruction. The first finds the largest exponent, in 16-bit integers: exponents of
// A and B were put into panels of their own. The second multiplies in binary32, which is exact, scales by the power of two that
// makes the last bit that counts an integer's, and converts to integers by truncation: that is the cut. The host rounds towards zero
// meanwhile, so that the conversion of the sum back to binary32 cuts too. Elements with addends that are not finite, or so large
// or small that binary32 would not be exact, or whose sum does not fit 32 bits, are done one by one.
#include "ptxbench/emu/tensor/mma_hopper_avx2.h"

#include "ptxbench/base/check.h"

#if defined(__x86_64__)
#include <immintrin.h>

#include <bit>
#include <cstddef>
#define PTXBENCH_AVX2 __attribute__((target("avx2,fma")))

namespace ptxbench::emu {
namespace {

// Exponents of operands that are zero or not finite. Sums of two saturate, and stay apart from all sums of real exponents.
constexpr int kZeroExponent = -6000, kSpecialExponent = 20000;
constexpr int kZeroProduct = -4000;           // below: one of the factors is zero
constexpr int kLeast = -100, kLargest = 120;  // where products, scales and results are exact in binary32

struct Exponents {
  std::vector<int16_t> a;  // [group][k][32]: the 8 rows 4 times each, in the order 0 2 1 3 | 4 6 5 7 of packing
  std::vector<int16_t> b;  // [unit][k][4]
};

// Exponents of 8 values as 32-bit integers.
PTXBENCH_AVX2 inline __m256i exponents(__m256i bits, __m256i least) {
  const __m256i magnitude = _mm256_and_si256(bits, _mm256_set1_epi32(0x7fffffff));
  const __m256i field = _mm256_srli_epi32(magnitude, 23);
  __m256i result = _mm256_max_epi32(_mm256_sub_epi32(field, _mm256_set1_epi32(127)), least);
  const __m256i zero = _mm256_cmpeq_epi32(magnitude, _mm256_setzero_si256());
  result = _mm256_blendv_epi8(result, _mm256_set1_epi32(kZeroExponent), zero);
  const __m256i special = _mm256_cmpeq_epi32(field, _mm256_set1_epi32(255));
  return _mm256_blendv_epi8(result, _mm256_set1_epi32(kSpecialExponent), special);
}

PTXBENCH_AVX2 inline __m256i load_bits(const void* from) {
  return _mm256_loadu_si256(static_cast<const __m256i*>(from));
}

PTXBENCH_AVX2 void fill_exponents(const HopperSum& sum, uint32_t groups, const PanelA& a, const PanelB& b,
                                  Exponents& out) {
  const __m256i least_a = _mm256_set1_epi32(sum.least_a), least_b = _mm256_set1_epi32(sum.least_b);
  const size_t words = size_t{groups} * a.k * kGroupFloats;
  out.a.resize(words);
  for (size_t i = 0; i < words; i += 16) {
    const __m256i packed =
        _mm256_packs_epi32(exponents(load_bits(a.data + i), least_a), exponents(load_bits(a.data + i + 8), least_a));
    _mm256_storeu_si256(reinterpret_cast<__m256i*>(out.a.data() + i), packed);
  }
  out.b.resize(size_t{b.units} * b.k * kUnitColumns);
  for (uint32_t u = 0; u < b.units; ++u) {
    const PanelB::Unit unit = b.unit(u);
    int16_t* to = out.b.data() + size_t{u} * b.k * kUnitColumns;
    for (uint32_t k = 0; k < b.k; ++k, to += kUnitColumns) {
      const __m128i four = _mm_loadu_si128(reinterpret_cast<const __m128i*>(unit.start + size_t{k} * unit.stride));
      const __m256i found = exponents(_mm256_castsi128_si256(four), least_b);
      const __m128i packed = _mm_packs_epi32(_mm256_castsi256_si128(found), _mm_setzero_si128());
      _mm_storel_epi64(reinterpret_cast<__m128i*>(to), packed);
    }
  }
}

// The largest exponent of the products of each element: rows 0-3 and rows 4-7, packed as the panels are.
struct Largest {
  __m256i low, high;
};
// For two units at once, so that the exponents of A are loaded once.
PTXBENCH_AVX2 inline void largest_exponents(const int16_t* a, const int16_t* b0, const int16_t* b1, uint32_t k,
                                            Largest (&out)[2]) {
  __m256i low0 = _mm256_set1_epi16(-32768), high0 = low0, low1 = low0, high1 = low0;
  for (; k != 0; --k, a += kGroupFloats, b0 += kUnitColumns, b1 += kUnitColumns) {
    long long four0, four1;
    __builtin_memcpy(&four0, b0, sizeof four0);
    __builtin_memcpy(&four1, b1, sizeof four1);
    const __m256i rows_low = load_bits(a), rows_high = load_bits(a + 16);
    const __m256i columns0 = _mm256_set1_epi64x(four0), columns1 = _mm256_set1_epi64x(four1);
    low0 = _mm256_max_epi16(low0, _mm256_adds_epi16(rows_low, columns0));
    high0 = _mm256_max_epi16(high0, _mm256_adds_epi16(rows_high, columns0));
    low1 = _mm256_max_epi16(low1, _mm256_adds_epi16(rows_low, columns1));
    high1 = _mm256_max_epi16(high1, _mm256_adds_epi16(rows_high, columns1));
  }
  out[0] = {low0, high0};
  out[1] = {low1, high1};
}

// What HopperSum means to the vectors; by value, since stores to D might otherwise change it in the compiler's eyes.
struct Constants {
  __m256i keep;        // bits of a result
  __m256i scale_bias;  // exponent fields of 2^(fraction_bits - e) and 2^(e - fraction_bits), e left out
  __m256i unscale_bias;
  __m256i least_c;
  uint32_t k;
  bool f16_result;
};
PTXBENCH_AVX2 inline Constants constants_of(const HopperSum& sum) {
  return {_mm256_set1_epi32(static_cast<int>(~0u << (23 - sum.result_bits))),
          _mm256_set1_epi32(127 + sum.fraction_bits),
          _mm256_set1_epi32(127 - sum.fraction_bits),
          _mm256_set1_epi32(sum.least_c),
          sum.k,
          sum.f16_result};
}

// Rounding towards zero, for the life of the object.
class TowardZero {
 public:
  TowardZero() : before_(_mm_getcsr()) { _mm_setcsr(before_ | _MM_ROUND_TOWARD_ZERO); }
  ~TowardZero() { _mm_setcsr(before_); }
  TowardZero(const TowardZero&) = delete;
  unsigned before() const { return before_; }

 private:
  unsigned before_;
};

// One vector of D: rows 2q, 2q + 1 of the group.
struct Quad {
  __m256i exponent;  // of the sum, clamped to where the arithmetic below is exact
  __m256 scale;
  int unusual;  // lanes to be done one by one
};
// `most`: largest exponents of its products as 32-bit integers.
PTXBENCH_AVX2 inline Quad prepare(__m256i most, __m256i c, const Constants& form) {
  const __m256i all = _mm256_max_epi32(most, exponents(c, form.least_c));
  const __m256i large = _mm256_cmpgt_epi32(all, _mm256_set1_epi32(kLargest));
  const __m256i small = _mm256_and_si256(_mm256_cmpgt_epi32(_mm256_set1_epi32(kLeast), all),
                                         _mm256_cmpgt_epi32(all, _mm256_set1_epi32(kZeroProduct)));
  Quad quad;
  quad.unusual = _mm256_movemask_ps(_mm256_castsi256_ps(_mm256_or_si256(large, small)));
  quad.exponent = _mm256_min_epi32(_mm256_max_epi32(all, _mm256_set1_epi32(kLeast)), _mm256_set1_epi32(kLargest));
  const __m256i biased = _mm256_sub_epi32(form.scale_bias, quad.exponent);
  quad.scale = _mm256_castsi256_ps(_mm256_slli_epi32(biased, 23));
  return quad;
}

PTXBENCH_AVX2 inline __m256i cut(__m256 value, __m256 scale) {
  return _mm256_cvttps_epi32(_mm256_mul_ps(value, scale));
}

// (sum of the products + c) * 2^(e - fraction_bits), cut to the bits of the result. Adds lanes that do not fit to quad.unusual.
PTXBENCH_AVX2 inline __m256i finish(__m256i products, __m256i c, Quad& quad, const Constants& form) {
  const __m256i added = cut(_mm256_castsi256_ps(c), quad.scale);
  const __m256i total = _mm256_add_epi32(products, added);
  const __m256i wrapped = _mm256_and_si256(_mm256_xor_si256(products, total), _mm256_xor_si256(added, total));
  quad.unusual |= _mm256_movemask_ps(_mm256_castsi256_ps(wrapped));
  const __m256 whole = _mm256_castsi256_ps(_mm256_and_si256(_mm256_castps_si256(_mm256_cvtepi32_ps(total)), form.keep));
  const __m256i biased = _mm256_add_epi32(quad.exponent, form.unscale_bias);
  const __m256 result = _mm256_mul_ps(whole, _mm256_castsi256_ps(_mm256_slli_epi32(biased, 23)));
  if (!form.f16_result) return _mm256_castps_si256(result);
  const __m256i exact = _mm256_cmpeq_epi32(_mm256_cvttps_epi32(whole), total);
  const __m256i odd = _mm256_or_si256(_mm256_castps_si256(result), _mm256_andnot_si256(exact, _mm256_set1_epi32(1)));
  // What rounds to zero is +0, whatever its sign.
  const __m256i magnitude = _mm256_and_si256(odd, _mm256_set1_epi32(0x7fffffff));
  const __m256i limit = _mm256_set1_epi32(std::bit_cast<int>(0x1p-25f));
  return _mm256_and_si256(odd, _mm256_cmpgt_epi32(magnitude, limit));
}

struct Block {
  uint32_t* d;  // the 32 lanes of the accumulator register
  const float* a;
  const float* b;
  uint32_t b_stride;
};

// The lanes of vector q that the fast way cannot do; `before` is D as it was.
void one_by_one(const HopperSum& form, const Block& block, uint32_t q, int lanes, const uint32_t (&before)[8],
                unsigned csr) {
  const unsigned rounding = _mm_getcsr();
  _mm_setcsr(csr);
  for (uint32_t i = 0; i < 8; ++i) {
    if ((lanes >> i & 1) == 0) continue;
    const uint32_t lane = 8 * q + i;
    block.d[lane] = hopper_dot(form, block.a + lane, kGroupFloats, block.b + lane % 4, block.b_stride,
                               std::bit_cast<float>(before[i]));
  }
  _mm_setcsr(rounding);
}

// Who does the unusual lanes.
struct Slow {
  const HopperSum& form;
  unsigned csr;  // the host's own rounding
};

PTXBENCH_AVX2 inline void store_quad(const Constants& form, const Slow& slow, const Block& block, uint32_t q,
                                     __m256i products, __m256i c, Quad quad) {
  const __m256i result = finish(products, c, quad, form);
  _mm256_storeu_si256(reinterpret_cast<__m256i*>(block.d + 8 * q), result);
  if (quad.unusual == 0) [[likely]]
    return;
  uint32_t before[8];
  _mm256_storeu_si256(reinterpret_cast<__m256i*>(before), c);
  one_by_one(slow.form, block, q, quad.unusual, before, slow.csr);
}

// 8 rows and the 4 columns of one unit, over one instruction.
PTXBENCH_AVX2 inline void run_block(const Constants form, const Slow& slow, const Block block, const Largest most) {
  const __m256i c0 = load_bits(block.d), c1 = load_bits(block.d + 8), c2 = load_bits(block.d + 16),
                c3 = load_bits(block.d + 24);
  const Quad q0 = prepare(_mm256_srai_epi32(_mm256_unpacklo_epi16(most.low, most.low), 16), c0, form);
  const Quad q1 = prepare(_mm256_srai_epi32(_mm256_unpackhi_epi16(most.low, most.low), 16), c1, form);
  const Quad q2 = prepare(_mm256_srai_epi32(_mm256_unpacklo_epi16(most.high, most.high), 16), c2, form);
  const Quad q3 = prepare(_mm256_srai_epi32(_mm256_unpackhi_epi16(most.high, most.high), 16), c3, form);
  __m256i s0 = _mm256_setzero_si256(), s1 = s0, s2 = s0, s3 = s0;
  const float* rows = block.a;
  const float* column = block.b;
  const size_t stride = block.b_stride;
  for (uint32_t k = form.k; k != 0; --k, rows += kGroupFloats, column += stride) {
    const __m256 columns = _mm256_broadcast_ps(reinterpret_cast<const __m128*>(column));
    s0 = _mm256_add_epi32(s0, cut(_mm256_mul_ps(_mm256_loadu_ps(rows), columns), q0.scale));
    s1 = _mm256_add_epi32(s1, cut(_mm256_mul_ps(_mm256_loadu_ps(rows + 8), columns), q1.scale));
    s2 = _mm256_add_epi32(s2, cut(_mm256_mul_ps(_mm256_loadu_ps(rows + 16), columns), q2.scale));
    s3 = _mm256_add_epi32(s3, cut(_mm256_mul_ps(_mm256_loadu_ps(rows + 24), columns), q3.scale));
  }
  store_quad(form, slow, block, 0, s0, c0, q0);
  store_quad(form, slow, block, 1, s1, c1, q1);
  store_quad(form, slow, block, 2, s2, c2, q2);
  store_quad(form, slow, block, 3, s3, c3, q3);
}

}  // namespace

PTXBENCH_AVX2 void hopper_run_avx2(const HopperSum& sum, std::span<const WarpAccumulators> warps, const PanelA& a,
                                   const PanelB& b, bool clear) {
  thread_local Exponents space;
  const auto groups = static_cast<uint32_t>(2 * warps.size());
  fill_exponents(sum, groups, a, b, space);
  const TowardZero rounding;
  const Slow slow{sum, rounding.before()};
  const Constants constants = constants_of(sum);
  for (uint32_t u = 0; u < b.units; u += 2) {  // units come in pairs, of 8 columns
    const PanelB::Unit units[2] = {b.unit(u), b.unit(u + 1)};
    const int16_t* eb0 = space.b.data() + size_t{u} * b.k * kUnitColumns;
    const int16_t* eb1 = eb0 + size_t{b.k} * kUnitColumns;
    for (uint32_t group = 0; group < groups; ++group) {
      uint32_t* const* d = warps[group / 2] + u / 2 * 4 + group % 2 * 2;
      for (uint32_t k = 0; k < a.k; k += sum.k) {
        if (clear && k == 0) {
          __builtin_memset(d[0], 0, 32 * sizeof(uint32_t));
          __builtin_memset(d[1], 0, 32 * sizeof(uint32_t));
        }
        Largest most[2];
        largest_exponents(space.a.data() + (size_t{group} * a.k + k) * kGroupFloats, eb0 + size_t{k} * kUnitColumns,
                          eb1 + size_t{k} * kUnitColumns, sum.k, most);
        for (uint32_t i = 0; i < 2; ++i) {
          const Block block{d[i], a.at(group, k), units[i].start + size_t{k} * units[i].stride, units[i].stride};
          run_block(constants, slow, block, most[i]);
        }
      }
    }
  }
}

}  // namespace ptxbench::emu

#else

namespace ptxbench::emu {
// simd_level() never says kAvx2 on another processor.
void hopper_run_avx2(const HopperSum&, std::span<const WarpAccumulators>, const PanelA&, const PanelB&, bool) {
  PTXBENCH_CHECK(false, "no AVX2 here");
}
}  // namespace ptxbench::emu

#endif
