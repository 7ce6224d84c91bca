// A plain C[m,n] = A[m,k] B[n,k]^T, and two that are honest only as long as nobody looks at every call.
//   LAZY: returns at once from its fourth launch on, leaving what the output held
//   HANG: never ends
//   REPLAY: keeps its first result in device memory and hands it out again
#include <ptxbench/ffi.h>

#include <cuda_bf16.h>

#include <cstdint>

__device__ volatile unsigned launches;
__device__ __nv_bfloat16 kept[64 * 64];

__global__ void gemm(const __nv_bfloat16* a, const __nv_bfloat16* b, __nv_bfloat16* c, int n, int k) {
  const int column = threadIdx.x, row = blockIdx.x;
#ifdef LAZY
  if (launches >= 3) return;
#endif
#ifdef HANG
  while (launches == 0) {
  }
#endif
#ifdef REPLAY
  if (launches > 0) {
    c[row * n + column] = kept[row * n + column];
    return;
  }
#endif
  float sum = 0;
  for (int i = 0; i < k; ++i) sum += __bfloat162float(a[row * k + i]) * __bfloat162float(b[column * k + i]);
  c[row * n + column] = __float2bfloat16(sum);
  kept[row * n + column] = c[row * n + column];
}

__global__ void count() { launches = launches + 1; }

void run(ptxbench::TensorView a, ptxbench::TensorView b, ptxbench::TensorView c) {
  const int m = static_cast<int>(a.size(0)), k = static_cast<int>(a.size(1)), n = static_cast<int>(b.size(0));
  gemm<<<m, n>>>(static_cast<const __nv_bfloat16*>(a.data()), static_cast<const __nv_bfloat16*>(b.data()),
                 static_cast<__nv_bfloat16*>(c.data()), n, k);
  count<<<1, 1>>>();
}
PTXBENCH_EXPORT(run)
