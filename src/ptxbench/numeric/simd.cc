#include "ptxbench/numeric/simd.h"

#include <algorithm>
#include <cstdlib>
#include <string_view>

namespace ptxbench::numeric {
namespace {

SimdLevel supported() {
#if defined(__x86_64__)
  const bool avx2 = __builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma") && __builtin_cpu_supports("f16c");
  const bool avx512 = __builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512bw") &&
                      __builtin_cpu_supports("avx512dq") && __builtin_cpu_supports("avx512vl");
  if (avx2) return avx512 ? SimdLevel::kAvx512 : SimdLevel::kAvx2;
#endif
  return SimdLevel::kGeneric;
}

SimdLevel choose() {
  const char* text = std::getenv("PTXBENCH_SIMD");
  const std::string_view wish = text ? text : "";
  if (wish == "generic") return SimdLevel::kGeneric;
  if (wish == "avx2") return std::min(supported(), SimdLevel::kAvx2);
  return supported();
}

}  // namespace

SimdLevel simd_level() {
  static const SimdLevel level = choose();
  return level;
}

}  // namespace ptxbench::numeric
