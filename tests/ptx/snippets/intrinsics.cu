// Ordinary device code: constants, dynamic and static shared memory, calls, printf, atomics, conversions.
#include <cuda_bf16.h>
#include <cuda_fp16.h>
#include <cstdio>
__constant__ float table[4] = {1, 2, 3, 4};
__device__ int counter;
__device__ __noinline__ float f(float x, int n) { for (int i = 0; i < n; ++i) x = x * x + sinf(x); return x; }
struct P { int a; double b; float c[5]; };
__global__ void k(float* out, const float* in, int n, P p) {
  extern __shared__ float sm[];
  __shared__ float st[32];
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  sm[threadIdx.x] = i < n ? in[i] : 0.f; st[threadIdx.x & 31] = p.c[i % 5];
  __syncthreads();
  float v = sm[threadIdx.x ^ 1] + table[i & 3] + st[(threadIdx.x + 1) & 31];
  v += __shfl_xor_sync(~0u, v, 3);
  v = f(v, p.a) + erff(v) + powf(v, 2.5f) / v;
  unsigned b = __ballot_sync(~0u, v > 0);
  if (i == 0) printf("%d %f\n", b, v);
  atomicAdd(&counter, 1); atomicAdd(out, v); atomicCAS(&counter, 1, 2);
  __nv_bfloat16 h = __float2bfloat16(v); __nv_bfloat162 h2 = __hmul2(__halves2bfloat162(h, h), __halves2bfloat162(h, h));
  out[i] = __low2float(h2) + (float)__half(v) + (float)(p.b * i / 3) + __popc(b) + __clz(i) + (i / 7) + (i % 13) + (int)(v);
}
