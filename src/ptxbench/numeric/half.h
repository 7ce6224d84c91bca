// f16 and bf16 arithmetic and fast conversions. Results equal the exact value rounded once (round to nearest even).
#pragma once

#include <bit>
#include <cstdint>
#include <span>

#include "ptxbench/numeric/format.h"

namespace ptxbench::numeric {

// Widening is exact; NaN payloads are kept (quiet).
inline float bf16_to_f32(uint16_t bits) { return std::bit_cast<float>(uint32_t{bits} << 16); }
float f16_to_f32(uint16_t bits);

// Narrowing, round to nearest even; NaN becomes 0x7fff, as PTX cvt does.
uint16_t f32_to_bf16(float value);
uint16_t f32_to_f16(float value);
// Every rounding and modifier. `format` is kF16 or kBF16. ftz does nothing, as on an H200 (captures convert: cvt.*.ftz.f16.f32).
uint16_t f32_to_half(Format format, float value, ConvertOptions options);

// cvt.rna.tf32.f32 and friends: a binary32 pattern whose low 13 mantissa bits are zero. A NaN becomes 0x7fffe000, but .rna only
// cuts its low bits, which may leave an infinity (both seen on an H200).
uint32_t f32_to_tf32(float value, ConvertOptions options = {Rounding::kNearestAway});
// What the tensor core reads from a register that was not converted: the low 13 bits are dropped.
inline float tf32_operand(uint32_t bits) { return std::bit_cast<float>(bits & 0xffffe000u); }

struct HalfOptions {
  bool ftz = false;   // f16 only: denormal inputs and results become zero of their sign
  bool sat = false;   // f16 only: clamp to [0, 1], NaN becomes +0
  bool relu = false;  // negative results become +0, NaN the canonical NaN
};
// `format` is kF16 or kBF16. NaN results are the canonical NaN 0x7fff.
uint16_t half_add(Format format, uint16_t a, uint16_t b, HalfOptions options = {});
uint16_t half_sub(Format format, uint16_t a, uint16_t b, HalfOptions options = {});
uint16_t half_mul(Format format, uint16_t a, uint16_t b, HalfOptions options = {});
uint16_t half_fma(Format format, uint16_t a, uint16_t b, uint16_t c, HalfOptions options = {});

// Bulk conversions; spans of equal length (checked), which may be unaligned but not overlap.
void bf16_to_f32(std::span<const uint16_t> from, std::span<float> to);
void f16_to_f32(std::span<const uint16_t> from, std::span<float> to);
void f32_to_bf16(std::span<const float> from, std::span<uint16_t> to);
void f32_to_f16(std::span<const float> from, std::span<uint16_t> to);

}  // namespace ptxbench::numeric
