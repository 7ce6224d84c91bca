// Rounding of reference values to BF16. From double in one step: by way of binary32 a value could be rounded twice.
#pragma once

#include <bit>
#include <cmath>
#include <cstdint>

namespace ptxbench::judge {

// Round to nearest even. NaN becomes 0x7fff, as PTX cvt makes it.
inline std::uint16_t bf16_from(double value) {
  if (std::isnan(value)) return 0x7fff;
  float narrow = static_cast<float>(value);
  if (static_cast<double>(narrow) != value && std::isfinite(narrow)) {
    // Truncated with a sticky last bit ("round to odd"), the value rounds on as the exact one would.
    if (std::fabs(static_cast<double>(narrow)) > std::fabs(value)) narrow = std::nextafterf(narrow, 0.0f);
    narrow = std::bit_cast<float>(std::bit_cast<std::uint32_t>(narrow) | 1u);
  }
  const std::uint32_t bits = std::bit_cast<std::uint32_t>(narrow);
  if (std::isinf(narrow)) return static_cast<std::uint16_t>(bits >> 16);
  return static_cast<std::uint16_t>((bits + 0x7fff + ((bits >> 16) & 1)) >> 16);
}

inline double bf16_value(std::uint16_t bits) { return std::bit_cast<float>(std::uint32_t{bits} << 16); }

}  // namespace ptxbench::judge
