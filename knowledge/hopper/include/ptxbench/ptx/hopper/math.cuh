// Fast functions that the special function unit has. Powers and logarithms are to base 2.
#pragma once

namespace ptxbench::ptx {

// "ex2.approx.ftz": 2^x; exp(x) = exp2_approx(x * log2(e)). exp2_approx(-inf) = 0.
__device__ __forceinline__ float exp2_approx(float x) {
  float y;
  asm("ex2.approx.ftz.f32 %0, %1;" : "=f"(y) : "f"(x));
  return y;
}

// "lg2.approx.ftz": ln(x) = log2_approx(x) * ln(2).
__device__ __forceinline__ float log2_approx(float x) {
  float y;
  asm("lg2.approx.ftz.f32 %0, %1;" : "=f"(y) : "f"(x));
  return y;
}

// "rcp.approx.ftz": 1 / x within 1 ulp.
__device__ __forceinline__ float reciprocal_approx(float x) {
  float y;
  asm("rcp.approx.ftz.f32 %0, %1;" : "=f"(y) : "f"(x));
  return y;
}

}  // namespace ptxbench::ptx
