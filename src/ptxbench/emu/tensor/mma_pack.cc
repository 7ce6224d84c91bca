#include "ptxbench/emu/tensor/mma_pack.h"

#include <fmt/format.h>

#include <array>
#include <bit>
#include <cstring>

#include "ptxbench/numeric/format.h"
#include "ptxbench/numeric/half.h"

#if defined(__x86_64__)
#include <immintrin.h>
#define PTXBENCH_AVX2 __attribute__((target("avx2,fma,f16c")))
#endif

namespace ptxbench::emu {
namespace {

using numeric::Format;
using numeric::SimdLevel;

constexpr uint32_t kLines = 8;  // of a core matrix
constexpr uint32_t kLineBytes = 16;
constexpr uint32_t kCoresAlongK = 2;

std::array<float, 256> byte_table(Format format) {
  std::array<float, 256> table;
  for (uint32_t i = 0; i < 256; ++i) table[i] = static_cast<float>(numeric::decode(format, i));
  return table;
}

// Writes single elements; the panel's repetition and order are hidden here.
void put_a(const PanelA& panel, uint32_t row, uint32_t k, float value) {
  float* to = panel.at(row / kGroupRows, k) + row % kGroupRows * 4;
  for (uint32_t i = 0; i < 4; ++i) to[i] = value;
}

void put_b(const PanelB& panel, uint32_t column, uint32_t k, float value) {
  const PanelB::Unit unit = panel.unit(column / 8 * 2 + column % 2);
  unit.start[k * unit.stride + column % 8 / 2] = value;
}

uint32_t load_element(const std::byte* from, uint32_t bytes) {
  uint32_t bits = 0;
  std::memcpy(&bits, from, bytes);  // little endian, as the guest
  return bits;
}

// Any type, element by element: put(outer index, k, value).
template <class Put>
void pack_elements(const SharedOperand& operand, SharedView shared, Put put) {
  const uint32_t size = mma_element_bytes(operand.type), per_line = kLineBytes / size;
  const bool k_major = operand.major == Major::kK;
  const uint32_t outer_per_core = k_major ? kLines : per_line, k_per_core = k_major ? per_line : kLines;
  for (uint32_t outer = 0; outer < operand.outer / outer_per_core; ++outer) {
    for (uint32_t kc = 0; kc < kCoresAlongK; ++kc) {
      const CoreMatrix core = core_matrix(operand.descriptor, operand.major, outer, kc);
      for (uint32_t line = 0; line < kLines; ++line) {
        const std::byte* from = shared.at(apply_swizzle(operand.descriptor.swizzle, core.address + line * core.pitch));
        for (uint32_t i = 0; i < per_line; ++i) {
          const float value = mma_value(operand.type, load_element(from + i * size, size));
          put(outer * outer_per_core + (k_major ? line : i), kc * k_per_core + (k_major ? i : line),
              operand.negate ? -value : value);
        }
      }
    }
  }
}

#if defined(__x86_64__)
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

template <MmaType kType>
PTXBENCH_AVX2 inline __m256 widen(__m128i half, __m256 sign) {
  const __m256 value = kType == MmaType::kF16 ? _mm256_cvtph_ps(half)
                                              : _mm256_castsi256_ps(_mm256_slli_epi32(_mm256_cvtepu16_epi32(half), 16));
  return _mm256_xor_ps(value, sign);
}

// The lines of a core matrix, first[i] being the line that goes to place i.
PTXBENCH_AVX2 inline void load_lines(const CoreMatrix& core, Swizzle swizzle, SharedView shared,
                                     const uint8_t (&order)[8], __m128i (&lines)[8]) {
  for (uint32_t i = 0; i < kLines; ++i) {
    const std::byte* from = shared.at(apply_swizzle(swizzle, core.address + order[i] * core.pitch));
    lines[i] = _mm_loadu_si128(reinterpret_cast<const __m128i*>(from));
  }
}

constexpr uint8_t kInOrder[8] = {0, 1, 2, 3, 4, 5, 6, 7};
constexpr uint8_t kEvenThenOdd[8] = {0, 2, 4, 6, 1, 3, 5, 7};

// 16-bit types, 8 x 8 elements at a time.
template <MmaType kType>
PTXBENCH_AVX2 void pack_a_avx2(const SharedOperand& operand, SharedView shared, const PanelA& panel, uint32_t k_start) {
  const __m256 sign = _mm256_set1_ps(operand.negate ? -0.0f : 0.0f);
  const __m256i spread = _mm256_setr_epi32(0, 0, 0, 0, 1, 1, 1, 1);
  const __m256i two = _mm256_set1_epi32(2);
  for (uint32_t group = 0; group < operand.outer / kGroupRows; ++group) {
    for (uint32_t kc = 0; kc < kCoresAlongK; ++kc) {
      __m128i lines[8];
      load_lines(core_matrix(operand.descriptor, operand.major, group, kc), operand.descriptor.swizzle, shared,
                 kInOrder, lines);
      if (operand.major == Major::kK) transpose(lines);
      float* to = panel.at(group, k_start + kc * kLines);
      for (uint32_t k = 0; k < kLines; ++k, to += kGroupFloats) {
        const __m256 rows = widen<kType>(lines[k], sign);
        __m256i pick = spread;
        for (uint32_t q = 0; q < 4; ++q, pick = _mm256_add_epi32(pick, two)) {
          _mm256_storeu_ps(to + 8 * q, _mm256_permutevar8x32_ps(rows, pick));
        }
      }
    }
  }
}

template <MmaType kType>
PTXBENCH_AVX2 void pack_b_avx2(const SharedOperand& operand, SharedView shared, const PanelB& panel, uint32_t k_start) {
  const __m256 sign = _mm256_set1_ps(operand.negate ? -0.0f : 0.0f);
  const __m256i even_then_odd = _mm256_setr_epi32(0, 2, 4, 6, 1, 3, 5, 7);
  const bool k_major = operand.major == Major::kK;
  for (uint32_t group = 0; group < operand.outer / 8; ++group) {
    const PanelB::Unit even = panel.unit(2 * group), odd = panel.unit(2 * group + 1);
    for (uint32_t kc = 0; kc < kCoresAlongK; ++kc) {
      __m128i lines[8];
      load_lines(core_matrix(operand.descriptor, operand.major, group, kc), operand.descriptor.swizzle, shared,
                 k_major ? kEvenThenOdd : kInOrder, lines);
      if (k_major) transpose(lines);
      for (uint32_t k = 0; k < kLines; ++k) {
        __m256 columns = widen<kType>(lines[k], sign);
        if (!k_major) columns = _mm256_permutevar8x32_ps(columns, even_then_odd);
        const uint32_t at = k_start + kc * kLines + k;
        _mm_storeu_ps(even.start + at * even.stride, _mm256_castps256_ps128(columns));
        _mm_storeu_ps(odd.start + at * odd.stride, _mm256_extractf128_ps(columns, 1));
      }
    }
  }
}
#endif

}  // namespace

uint32_t mma_element_bytes(MmaType type) {
  switch (type) {
    case MmaType::kF16:
    case MmaType::kBF16: return 2;
    case MmaType::kTF32: return 4;
    default: return 1;
  }
}

float mma_value(MmaType type, uint32_t bits) {
  static const std::array<float, 256> e4m3 = byte_table(Format::kE4M3), e5m2 = byte_table(Format::kE5M2);
  switch (type) {
    case MmaType::kF16: return numeric::f16_to_f32(static_cast<uint16_t>(bits));
    case MmaType::kBF16: return numeric::bf16_to_f32(static_cast<uint16_t>(bits));
    case MmaType::kTF32: return numeric::tf32_operand(bits);
    case MmaType::kE4M3: return e4m3[bits & 0xff];
    case MmaType::kE5M2: return e5m2[bits & 0xff];
    case MmaType::kS8: return static_cast<int8_t>(bits);
    case MmaType::kU8: return static_cast<uint8_t>(bits);
  }
  return 0;
}

Checked<void> check_bounds(const SharedOperand& operand, const char* name, SharedView shared) {
  const MatrixDescriptor& d = operand.descriptor;
  const uint32_t per_core = operand.major == Major::kK ? kLines : kLineBytes / mma_element_bytes(operand.type);
  for (uint32_t outer = 0; outer < operand.outer / per_core; ++outer) {
    for (uint32_t kc = 0; kc < kCoresAlongK; ++kc) {
      const CoreMatrix core = core_matrix(d, operand.major, outer, kc);
      // A swizzle moves chunks inside their line of 128 bytes.
      const uint32_t low = core.address & ~127u, high = (core.address + 7 * core.pitch + kLineBytes + 127) & ~127u;
      if (shared.contains(low, high - low)) continue;
      for (uint32_t line = 0; line < kLines; ++line) {
        const uint32_t address = apply_swizzle(d.swizzle, core.address + line * core.pitch);
        if (shared.contains(address, kLineBytes)) continue;
        return fault(
            FaultKind::kOutOfBounds, "wgmma reads its operands from the shared memory of the CTA",
            fmt::format("matrix {} reaches shared address {:#x} (start {:#x}, leading byte offset {}, stride byte "
                        "offset {}), where shared memory is {:#x} to {:#x}",
                        name, address, d.start_address, d.leading_byte_offset, d.stride_byte_offset, shared.base,
                        uint64_t{shared.base} + shared.size),
            address);
      }
    }
  }
  return {};
}

void pack_a(const SharedOperand& operand, SharedView shared, const PanelA& panel, uint32_t k_start, SimdLevel level) {
#if defined(__x86_64__)
  if (level >= SimdLevel::kAvx2 && operand.type == MmaType::kBF16) {
    return pack_a_avx2<MmaType::kBF16>(operand, shared, panel, k_start);
  }
  if (level >= SimdLevel::kAvx2 && operand.type == MmaType::kF16) {
    return pack_a_avx2<MmaType::kF16>(operand, shared, panel, k_start);
  }
#endif
  (void)level;
  pack_elements(operand, shared, [&](uint32_t row, uint32_t k, float value) { put_a(panel, row, k_start + k, value); });
}

void pack_b(const SharedOperand& operand, SharedView shared, const PanelB& panel, uint32_t k_start, SimdLevel level) {
#if defined(__x86_64__)
  if (level >= SimdLevel::kAvx2 && operand.type == MmaType::kBF16) {
    return pack_b_avx2<MmaType::kBF16>(operand, shared, panel, k_start);
  }
  if (level >= SimdLevel::kAvx2 && operand.type == MmaType::kF16) {
    return pack_b_avx2<MmaType::kF16>(operand, shared, panel, k_start);
  }
#endif
  (void)level;
  pack_elements(operand, shared,
                [&](uint32_t column, uint32_t k, float value) { put_b(panel, column, k_start + k, value); });
}

void pack_a_registers(MmaType type, bool negate, const uint32_t* const* registers, uint32_t warp, const PanelA& panel,
                      uint32_t k_start) {
  const uint32_t size = mma_element_bytes(type), per_register = 4 / size;
  const uint32_t mask = size == 4 ? ~0u : (1u << 8 * size) - 1;
  for (uint32_t reg = 0; reg < kWgmmaARegisters; ++reg) {
    for (uint32_t lane = 0; lane < 32; ++lane) {
      const uint32_t row = warp * 16 + reg % 2 * 8 + lane / 4;
      const uint32_t k = (reg / 2 * 4 + lane % 4) * per_register;
      for (uint32_t i = 0; i < per_register; ++i) {
        const float value = mma_value(type, registers[reg][lane] >> 8 * size * i & mask);
        put_a(panel, row, k_start + k + i, negate ? -value : value);
      }
    }
  }
}

}  // namespace ptxbench::emu
