// Which SIMD instructions the host has, asked once. Code with several variants picks by this; all must give the same bits.
#pragma once

#include <cstdint>

namespace ptxbench::numeric {

enum class SimdLevel : uint8_t {
  kGeneric,  // plain C++
  kAvx2,     // AVX2, FMA, F16C
  kAvx512,   // the above and AVX-512 F, BW, DQ, VL
};

// The highest level of this CPU. The environment variable PTXBENCH_SIMD=generic|avx2|avx512 lowers it (never raises it).
SimdLevel simd_level();

}  // namespace ptxbench::numeric
