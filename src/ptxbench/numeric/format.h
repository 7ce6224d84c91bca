// The narrow floating-point formats of PTX, described by data, and exact conversions to and from them.
// A bit pattern travels in the low bits of a uint32_t. Source of the formats: PTX ISA, "Fundamental Types" and
// "Alternate Floating-Point Data Formats"; OCP 8-bit and MX specifications for e4m3, e5m2, e2m3, e3m2, e2m1, ue8m0.
#pragma once

#include <cstdint>

namespace ptxbench::numeric {

enum class Format : uint8_t { kF32, kTF32, kF16, kBF16, kE5M2, kE4M3, kE3M2, kE2M3, kE2M1, kUE8M0 };

// How a format treats the all-ones exponent.
enum class Specials : uint8_t {
  kIeee,     // infinities and NaNs (f32, tf32, f16, bf16, e5m2)
  kNanOnly,  // the all-ones pattern alone is NaN, no infinity (e4m3; ue8m0: 0xff)
  kNone,     // every pattern is a number (e3m2, e2m3, e2m1)
};

struct FormatInfo {
  uint8_t bits;  // storage width; tf32 is stored in 32 bits, the low 13 of which do not count
  uint8_t exponent_bits;
  uint8_t mantissa_bits;
  int16_t bias;
  bool has_sign;
  Specials specials;
  uint32_t canonical_nan;  // what a conversion writes for a NaN
};

const FormatInfo& info(Format format);

// The PTX rounding modifiers .rn .rz .rm .rp .rna.
enum class Rounding : uint8_t { kNearestEven, kTowardZero, kDown, kUp, kNearestAway };

struct ConvertOptions {
  Rounding rounding = Rounding::kNearestEven;
  bool satfinite = false;  // out of range becomes the largest finite value of the sign; NaN stays the canonical NaN
  bool relu = false;       // negative results and -0 become +0; NaN stays the canonical NaN
  bool ftz = false;  // a denormal binary32 result becomes zero of its sign; narrower formats ignore it, as an H200 does
};

// The value of a bit pattern; exact, since binary64 holds every value of every format. NaN gives a quiet NaN.
double decode(Format format, uint32_t bits);

// The pattern nearest to `value` under the options, by exact integer rounding (one rounding, denormals included).
// Overflow: infinity or the largest finite value as IEEE 754 asks for the rounding; formats without infinity saturate
// (PTX permits them only with .satfinite). e4m3 without satfinite overflows to NaN. ue8m0 knows only .rz and .rp.
uint32_t encode(Format format, double value, ConvertOptions options = {});

}  // namespace ptxbench::numeric
