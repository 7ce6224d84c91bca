// The frame of candidates whose fault is in the host code: a correct call that launches one small kernel. The marked
// lines are replaced.
#include <cuda_runtime.h>

#include <cstdint>

#include <ptxbench/ffi.h>
// INCLUDES

namespace {
__global__ void clear(uint16_t* c) { c[blockIdx.x * 256 + threadIdx.x] = 0; }
}  // namespace

cudaError_t run(ptxbench::Tensor<__nv_bfloat16> a, ptxbench::Tensor<__nv_bfloat16> b,
                ptxbench::Tensor<__nv_bfloat16> c) {
  // FAULT
  clear<<<static_cast<unsigned>(c.numel() / 256), 256>>>(reinterpret_cast<uint16_t*>(c.data()));
  return cudaGetLastError();
}

PTXBENCH_EXPORT(run)
