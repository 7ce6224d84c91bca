#include "ptxbench/numeric/format.h"

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <limits>

#include "ptxbench/base/check.h"

namespace ptxbench::numeric {
namespace {

constexpr FormatInfo kFormats[] = {
    {32, 8, 23, 127, true, Specials::kIeee, 0x7fffffff},  // kF32
    {32, 8, 10, 127, true, Specials::kIeee, 0x7fffe000},  // kTF32
    {16, 5, 10, 15, true, Specials::kIeee, 0x7fff},       // kF16
    {16, 8, 7, 127, true, Specials::kIeee, 0x7fff},       // kBF16
    {8, 5, 2, 15, true, Specials::kIeee, 0x7f},           // kE5M2
    {8, 4, 3, 7, true, Specials::kNanOnly, 0x7f},         // kE4M3
    {6, 3, 2, 3, true, Specials::kNone, 0x1f},            // kE3M2: no NaN, so the largest value
    {6, 2, 3, 1, true, Specials::kNone, 0x1f},            // kE2M3
    {4, 2, 1, 1, true, Specials::kNone, 0x07},            // kE2M1
    {8, 8, 0, 127, false, Specials::kNanOnly, 0xff},      // kUE8M0
};

// tf32 keeps its 19 bits at the top of a 32-bit register.
constexpr unsigned storage_shift(Format format) { return format == Format::kTF32 ? 13 : 0; }

constexpr uint32_t magnitude_mask(const FormatInfo& f) {
  return (uint32_t{1} << (f.exponent_bits + f.mantissa_bits)) - 1;
}

// The largest finite pattern without sign.
constexpr uint32_t max_finite(const FormatInfo& f) {
  switch (f.specials) {
    case Specials::kIeee: return (((uint32_t{1} << f.exponent_bits) - 1) << f.mantissa_bits) - 1;
    case Specials::kNanOnly: return magnitude_mask(f) - 1;
    case Specials::kNone: return magnitude_mask(f);
  }
  return 0;
}

bool is_nan_pattern(const FormatInfo& f, uint32_t magnitude) {
  switch (f.specials) {
    case Specials::kIeee: return magnitude > max_finite(f) + 1;
    case Specials::kNanOnly: return magnitude == magnitude_mask(f);
    case Specials::kNone: return false;
  }
  return false;
}

// ue8m0 has neither sign nor zero nor denormals: the pattern is the exponent.
double decode_ue8m0(uint32_t bits) {
  return bits == 0xff ? std::numeric_limits<double>::quiet_NaN() : std::ldexp(1.0, static_cast<int>(bits) - 127);
}

// The sign is dropped, as cuda_fp8.h does where the instruction is missing.
uint32_t encode_ue8m0(double value, const ConvertOptions& options) {
  const Rounding rounding = options.rounding;
  PTXBENCH_CHECK(rounding == Rounding::kTowardZero || rounding == Rounding::kUp, "ue8m0 is rounded by .rz or .rp only");
  if (std::isnan(value)) return 0xff;
  const double magnitude = std::fabs(value);
  if (magnitude <= 0x1p-127) return 0;
  if (std::isinf(magnitude) || (magnitude > 0x1p127 && rounding == Rounding::kUp))
    return options.satfinite ? 254 : 0xff;
  if (magnitude >= 0x1p127) return 254;
  int exponent = 0;
  const double fraction = std::frexp(magnitude, &exponent);  // in [1/2, 1)
  const bool up = rounding == Rounding::kUp && fraction != 0.5;
  return static_cast<uint32_t>(exponent - 1 + (up ? 1 : 0) + 127);
}

// Does |value| move away from zero, given the bits cut off? half: the first cut bit, sticky: any below it.
bool rounds_away(Rounding rounding, bool negative, bool odd, bool half, bool sticky) {
  switch (rounding) {
    case Rounding::kNearestEven: return half && (sticky || odd);
    case Rounding::kNearestAway: return half;
    case Rounding::kTowardZero: return false;
    case Rounding::kDown: return negative && (half || sticky);
    case Rounding::kUp: return !negative && (half || sticky);
  }
  return false;
}

// The magnitude pattern of a finite non-zero value, overflow not yet considered (the result may exceed every pattern).
uint64_t round_magnitude(const FormatInfo& f, double magnitude, bool negative, Rounding rounding) {
  int exponent = 0;
  const double fraction = std::frexp(magnitude, &exponent);
  const auto significand = static_cast<uint64_t>(std::ldexp(fraction, 53));  // value = significand * 2^(exponent - 53)
  const int floor_log2 = exponent - 1;
  const int smallest = 1 - f.bias;  // exponent of the smallest normal number and of the denormals
  const int scale = std::max(floor_log2, smallest);
  const int cut = scale - f.mantissa_bits - (exponent - 53);  // low bits of the significand that do not fit
  uint64_t kept = significand;
  bool half = false, sticky = false;
  if (cut > 63) {
    kept = 0;
    sticky = true;
  } else if (cut > 0) {
    kept = significand >> cut;
    half = (significand >> (cut - 1)) & 1;
    sticky = (significand & ((uint64_t{1} << (cut - 1)) - 1)) != 0;
  } else {
    kept = significand << -cut;
  }
  if (rounds_away(rounding, negative, kept & 1, half, sticky)) ++kept;
  // For normal numbers `kept` holds the hidden bit, which adds one to the exponent field; a carry out of the mantissa does too.
  return (static_cast<uint64_t>(scale - smallest) << f.mantissa_bits) + kept;
}

uint32_t overflow(const FormatInfo& f, bool negative, const ConvertOptions& options, bool source_infinite) {
  if (options.satfinite || f.specials == Specials::kNone) return max_finite(f);
  if (f.specials == Specials::kNanOnly) return magnitude_mask(f);
  const bool to_infinity =
      source_infinite || options.rounding == Rounding::kNearestEven || options.rounding == Rounding::kNearestAway ||
      (options.rounding == Rounding::kUp && !negative) || (options.rounding == Rounding::kDown && negative);
  return to_infinity ? max_finite(f) + 1 : max_finite(f);
}

}  // namespace

const FormatInfo& info(Format format) { return kFormats[static_cast<size_t>(format)]; }

double decode(Format format, uint32_t bits) {
  if (format == Format::kUE8M0) return decode_ue8m0(bits & 0xff);
  const FormatInfo& f = info(format);
  bits >>= storage_shift(format);
  const uint32_t magnitude = bits & magnitude_mask(f);
  const bool negative = (bits >> (f.exponent_bits + f.mantissa_bits)) & 1;
  if (is_nan_pattern(f, magnitude)) return std::numeric_limits<double>::quiet_NaN();
  double value = std::numeric_limits<double>::infinity();
  if (magnitude <= max_finite(f)) {
    const uint32_t field = magnitude >> f.mantissa_bits;
    uint32_t significand = magnitude & ((uint32_t{1} << f.mantissa_bits) - 1);
    if (field != 0) significand |= uint32_t{1} << f.mantissa_bits;
    value = std::ldexp(significand, static_cast<int>(field != 0 ? field : 1) - f.bias - f.mantissa_bits);
  }
  return negative ? -value : value;
}

uint32_t encode(Format format, double value, ConvertOptions options) {
  if (format == Format::kUE8M0) return encode_ue8m0(value, options);
  const FormatInfo& f = info(format);
  if (std::isnan(value)) return f.canonical_nan;
  bool negative = std::signbit(value);
  if (options.relu && negative) return 0;
  double magnitude = std::fabs(value);
  if (options.ftz && format == Format::kF32 && magnitude < 0x1p-126) magnitude = 0;
  uint64_t pattern = 0;
  if (std::isinf(magnitude)) {
    pattern = overflow(f, negative, options, true);
  } else if (magnitude != 0) {
    pattern = round_magnitude(f, magnitude, negative, options.rounding);
    if (pattern > max_finite(f)) pattern = overflow(f, negative, options, false);
  }
  const uint32_t sign = negative ? uint32_t{1} << (f.exponent_bits + f.mantissa_bits) : 0;
  return (static_cast<uint32_t>(pattern) | sign) << storage_shift(format);
}

}  // namespace ptxbench::numeric
