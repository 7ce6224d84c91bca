// The judge's own kernels: references in FP64, for workloads that the CPU is too slow for. They follow reference.cc step
// by step, so that the two can be held against each other; no part of them is a candidate's.
#include <cuda_bf16.h>

#include "ptxbench/judge/trusted/params.h"

namespace ptxbench::judge::trusted {
namespace {

__device__ double widen(const __nv_bfloat16& value) { return static_cast<double>(__bfloat162float(value)); }
__device__ double widen(double value) { return value; }

constexpr int kDepth = 16, kThreadRows = 8, kThreadColumns = 8;

// A tile of an operand, k-major: to[k][i], zero outside of the matrix. Neighbouring threads read neighbouring addresses.
template <int kExtent, class T>
__device__ void load_tile(const T* from, const std::uint32_t* rows, std::int64_t i_stride, std::int64_t k_stride,
                          std::int64_t first, std::int64_t extent, std::int64_t k0, std::int64_t depth,
                          double (*to)[kExtent + 2]) {
  const bool along_k = k_stride == 1;
#pragma unroll
  for (int step = 0; step < kExtent * kDepth / kMatmulThreads; ++step) {
    const int at = step * kMatmulThreads + static_cast<int>(threadIdx.x);
    const int k = along_k ? at % kDepth : at / kExtent, i = along_k ? at / kDepth : at % kExtent;
    const bool inside = first + i < extent && k0 + k < depth;
    double value = 0;
    if (inside) {
      const std::int64_t row = rows != nullptr ? rows[first + i] : first + i;
      value = widen(from[row * i_stride + (k0 + k) * k_stride]);
    }
    to[k][i] = value;
  }
}

// 8 x 8 sums per thread: 16 operands from shared memory feed 64 multiply-adds. The columns of a thread lie in pairs, 32
// apart, so that a warp's reads of one pair meet no bank twice.
template <class A>
__device__ void matmul(const MatmulParams& p) {
  __shared__ __align__(16) double a_tile[kDepth][kTileRows + 2], b_tile[kDepth][kTileColumns + 2];
  const std::int64_t z = blockIdx.z, row0 = std::int64_t{blockIdx.y} * kTileRows,
                     column0 = std::int64_t{blockIdx.x} * kTileColumns;
  const A* a = reinterpret_cast<const A*>(p.a) + z * p.a_batch;
  const auto* b = reinterpret_cast<const __nv_bfloat16*>(p.b) + z / p.b_group * p.b_batch;
  const int thread_row = static_cast<int>(threadIdx.x) / 16 * kThreadRows,
            pair = static_cast<int>(threadIdx.x) % 16 * 2;
  double sum[kThreadRows][kThreadColumns] = {};
  for (std::int64_t k0 = 0; k0 < p.k; k0 += kDepth) {
    __syncthreads();
    load_tile<kTileRows>(a, reinterpret_cast<const std::uint32_t*>(p.rows), p.a_row, p.a_column, row0, p.m, k0, p.k,
                         a_tile);
    load_tile<kTileColumns>(b, nullptr, p.b_column, p.b_row, column0, p.n, k0, p.k, b_tile);
    __syncthreads();
#pragma unroll 2
    for (int k = 0; k < kDepth; ++k) {
      double left[kThreadRows], right[kThreadColumns];
#pragma unroll
      for (int i = 0; i < kThreadRows; ++i) left[i] = a_tile[k][thread_row + i];
#pragma unroll
      for (int j = 0; j < kThreadColumns; ++j) right[j] = b_tile[k][pair + j / 2 * 32 + j % 2];
#pragma unroll
      for (int i = 0; i < kThreadRows; ++i)
#pragma unroll
        for (int j = 0; j < kThreadColumns; ++j) sum[i][j] = fma(left[i], right[j], sum[i][j]);
    }
  }
  double* c = reinterpret_cast<double*>(p.c) + z * p.c_batch;
  for (int i = 0; i < kThreadRows; ++i)
    for (int j = 0; j < kThreadColumns; ++j) {
      const std::int64_t row = row0 + thread_row + i, column = column0 + pair + j / 2 * 32 + j % 2;
      if (row >= p.m || column >= p.n) continue;
      double& to = c[row * p.c_row + column];
      to = p.accumulate != 0 ? to + p.alpha * sum[i][j] : p.alpha * sum[i][j];
    }
}

// The same value in every thread of the block. combine: associative.
template <class Combine>
__device__ double reduce(double value, Combine combine) {
  __shared__ double parts[kRowThreads];
  __syncthreads();
  parts[threadIdx.x] = value;
  __syncthreads();
  for (unsigned half = kRowThreads / 2; half > 0; half /= 2) {
    if (threadIdx.x < half) parts[threadIdx.x] = combine(parts[threadIdx.x], parts[threadIdx.x + half]);
    __syncthreads();
  }
  return parts[0];
}

__device__ double total(double value) {
  return reduce(value, [](double a, double b) { return a + b; });
}

// Keys that a row of a head sees.
__device__ std::int64_t visible(std::int64_t row, std::int64_t length, std::int64_t causal) {
  return causal != 0 ? row % length + 1 : length;
}

}  // namespace

extern "C" __global__ void __launch_bounds__(kMatmulThreads, 2) ptxbench_matmul_bf16(MatmulParams p) {
  matmul<__nv_bfloat16>(p);
}

extern "C" __global__ void __launch_bounds__(kMatmulThreads, 2) ptxbench_matmul_f64(MatmulParams p) {
  matmul<double>(p);
}

extern "C" __global__ void __launch_bounds__(kRowThreads) ptxbench_softmax(SoftmaxParams p) {
  const std::int64_t row = blockIdx.x, keys = visible(row, p.length, p.causal);
  double* scores = reinterpret_cast<double*>(p.scores) + row * p.length;
  double maximum = -INFINITY;
  for (std::int64_t j = threadIdx.x; j < keys; j += kRowThreads) maximum = fmax(maximum, scores[j]);
  maximum = reduce(maximum, [](double a, double b) { return fmax(a, b); });
  double sum = 0;
  for (std::int64_t j = threadIdx.x; j < keys; j += kRowThreads) sum += scores[j] = exp(scores[j] - maximum);
  sum = total(sum);
  for (std::int64_t j = threadIdx.x; j < p.length; j += kRowThreads) scores[j] = j < keys ? scores[j] / sum : 0;
  if (threadIdx.x == 0) reinterpret_cast<double*>(p.lse)[row] = maximum + log(sum);
}

extern "C" __global__ void __launch_bounds__(kRowThreads) ptxbench_gradient(GradientParams p) {
  const std::int64_t row = blockIdx.x, keys = visible(row, p.length, p.causal);
  const auto* o = reinterpret_cast<const __nv_bfloat16*>(p.o) + row * p.dim;
  const auto* d_o = reinterpret_cast<const __nv_bfloat16*>(p.d_o) + row * p.dim;
  double delta = 0;
  for (std::int64_t d = threadIdx.x; d < p.dim; d += kRowThreads) delta += widen(o[d]) * widen(d_o[d]);
  delta = total(delta);
  const double lse = reinterpret_cast<const float*>(p.lse)[row];
  double* scores = reinterpret_cast<double*>(p.scores) + row * p.length;
  double* d_p = reinterpret_cast<double*>(p.d_p) + row * p.length;
  for (std::int64_t j = threadIdx.x; j < p.length; j += kRowThreads) {
    const double weight = j < keys ? exp(scores[j] - lse) : 0;
    scores[j] = weight;
    d_p[j] = j < keys ? weight * (d_p[j] - delta) * p.scale : 0;
  }
}

extern "C" __global__ void ptxbench_scan(ScanParams p) {
  unsigned long long poisoned = 0, not_finite = 0;
  const std::int64_t step = std::int64_t{gridDim.x} * blockDim.x;
  for (std::int64_t i = std::int64_t{blockIdx.x} * blockDim.x + threadIdx.x; i < p.elements; i += step) {
    const std::uint32_t bits = p.is_f32 != 0 ? reinterpret_cast<const std::uint32_t*>(p.values)[i]
                                             : reinterpret_cast<const std::uint16_t*>(p.values)[i];
    const std::uint32_t exponent = p.is_f32 != 0 ? 0x7f800000u : 0x7f80u;
    const std::uint32_t pattern = p.is_f32 != 0 ? static_cast<std::uint32_t>(p.poison) : p.poison & 0xffffu;
    poisoned += bits == pattern;
    not_finite += (bits & exponent) == exponent;
  }
  auto* counts = reinterpret_cast<unsigned long long*>(p.counts);
  if (poisoned != 0) atomicAdd(counts, poisoned);
  if (not_finite != 0) atomicAdd(counts + 1, not_finite);
}

}  // namespace ptxbench::judge::trusted
