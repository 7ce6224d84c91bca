// What the C++ intrinsics and library headers emit: half, bf16, fp8/6/4, cooperative groups, wmma, printf, virtual calls, recursion.
#include <cooperative_groups.h>
#include <cooperative_groups/reduce.h>
#include <cuda_bf16.h>
#include <cuda_fp16.h>
#include <cuda_fp8.h>
#include <cuda_fp6.h>
#include <cuda_fp4.h>
#include <mma.h>
#include <cstdio>
#include <cassert>
namespace cg = cooperative_groups;
__device__ int (*table[2])(int);
__device__ int plus1(int x) { return x + 1; }
__device__ int times2(int x) { return x * 2; }
__managed__ int managed_counter;
__device__ double ddata[3] = {1.5, -2.25, 3};
__device__ const char* names[2] = {"one", "two"};
struct S { virtual __device__ int f(int x) { return x; } int y; };
struct T : S { __device__ int f(int x) override { return x * y; } };
__device__ __noinline__ int fact(int n) { return n < 2 ? 1 : n * fact(n - 1); }
__global__ void many(int* out, float* f, double* d, __half* h, __nv_bfloat16* b, unsigned long long* u, int n) {
  auto block = cg::this_thread_block(); auto tile = cg::tiled_partition<32>(block);
  int i = block.thread_rank();
  assert(n > 0);
  out[i] = cg::reduce(tile, i, cg::plus<int>()) + fact(n) + table[i & 1](i) + managed_counter + names[i & 1][0];
  block.sync(); tile.sync();
  f[i] = __expf(f[i]) + __logf(f[i]) + rsqrtf(f[i]) + tanhf(f[i]) + __fdividef(f[i], 3.f) + fmodf(f[i], 2.f) + cbrtf(f[i]) + __saturatef(f[i]) + __fmaf_rz(f[i], 2.f, 1.f) + rintf(f[i]) + lgammaf(f[i]);
  d[i] = sin(d[i]) + exp(d[i]) + pow(d[i], 1.3) + ddata[i % 3] + __dadd_rz(d[i], 1.0) + floor(d[i]);
  h[i] = hexp(h[i]) + __hfma(h[i], h[i], h[i]) + __hmax(h[i], __float2half(1.f)); if (__hlt(h[i], h[0])) h[i] = hsqrt(h[i]);
  __half2 h2 = __halves2half2(h[i], h[i]); h2 = __hfma2_relu(h2, h2, h2); if (__hbgt2(h2, h2)) h[1] = __low2half(__hadd2_sat(h2, h2)); h[2] = __low2half(__hgt2(h2, h2));
  b[i] = __hadd(b[i], b[i]) * __float2bfloat16_rn(2.f); b[1] = __hmax(b[0], b[1]);
  u[i] = __brevll(u[i]) + __clzll(u[i]) + __umul64hi(u[i], 3) + __ffsll(u[i]) + clock64() + __popcll(u[i]) + __funnelshift_l(i, n, 3) + __byte_perm(i, n, 0x3210) + __vabsdiffu4(i, n) + __dp4a(i, n, 5) + __usad(i, n, 3) + __vadd2(i,n) + __vmaxs2(i, n);
  __nv_fp8_e4m3 q(f[i]); f[i] += float(q); __nv_fp8x2_e5m2 q2(make_float2(f[i], f[i])); f[i] += float2(q2).x;
  __nv_fp4x2_e2m1 q4(make_float2(f[i], f[i])); f[i] += float2(q4).x; __nv_fp6x2_e3m2 q6(make_float2(f[i], f[i])); f[i] += float2(q6).y;
  atomicMax(out, i); atomicExch(out, i); atomicAdd(d, 1.0); atomicAdd(u, 3ull); atomicCAS_system(out, 1, 2); atomicInc((unsigned*)out, 7); atomicAdd(h, h[1]); atomicAdd((__nv_bfloat162*)b, *(__nv_bfloat162*)b);
  __threadfence(); __threadfence_system(); __threadfence_block(); __nanosleep(20); __syncwarp(); 
  out[0] = __syncthreads_count(i) + __syncthreads_or(i) + __match_any_sync(~0u, i) + __reduce_add_sync(~0u, i) + __activemask() + __all_sync(~0u, i) + __shfl_down_sync(~0u, i, 2) + __ldg(out + 3) + __ldcg(out + 2) + __ldcs(out + 1);
  __stcg(out, 1); __stwt(out, 2);
  S* s = i & 1 ? new T : new S; out[3] = s->f(i); delete s;
  printf("%d %f %s\n", i, f[i], "x");
  switch (n) { case 0: out[5] = 1; break; case 1: out[6] = 3; break; case 2: out[8] = 1; break; case 3: out[9] = 13; break; case 7: out[7] = 4; break; default: __trap(); }
}
using namespace nvcuda;
__global__ void wm(half* a, half* b, float* c) {
  wmma::fragment<wmma::matrix_a, 16, 16, 16, half, wmma::row_major> fa; wmma::fragment<wmma::matrix_b, 16, 16, 16, half, wmma::col_major> fb; wmma::fragment<wmma::accumulator, 16, 16, 16, float> fc;
  wmma::fill_fragment(fc, 0.f); wmma::load_matrix_sync(fa, a, 16); wmma::load_matrix_sync(fb, b, 16); wmma::mma_sync(fc, fa, fb, fc); wmma::store_matrix_sync(c, fc, 16, wmma::mem_row_major);
}
__global__ void gridsync(int* x) { cg::this_grid().sync(); cg::this_cluster().sync(); x[0] = cg::this_cluster().block_rank(); }
