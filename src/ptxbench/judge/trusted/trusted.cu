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

// To nearest even in one step, as bf16.h does it: by way of binary32 a value could be rounded twice.
__device__ std::uint32_t bf16_bits(double value) {
  const float narrow = __double2float_rn(value);
  std::uint32_t bits = __float_as_uint(narrow);
  if (static_cast<double>(narrow) != value && isfinite(narrow)) {
    if (fabs(static_cast<double>(narrow)) > fabs(value)) --bits;
    bits |= 1;  // sticky
  }
  return isinf(narrow) ? bits >> 16 : (bits + 0x7fff + ((bits >> 16) & 1)) >> 16;
}

constexpr std::int64_t kNoColumn = std::int64_t{1} << 62;

__device__ void take_element(RowRecord& r, std::int64_t column, std::uint32_t bits, double expected,
                             const CompareParams& p) {
  r.reference += expected * expected;
  const std::uint32_t right = bf16_bits(expected);
  r.other_bits += bits != right && ((bits | right) & 0x7fff) != 0;
  if ((bits & 0x7f80) == 0x7f80) {
    if (r.non_finite++ == 0) r.worst_column = column;
    ++r.paper_failing, ++r.allclose_failing;
    if (bits == static_cast<std::uint32_t>(p.poison) && r.never_written++ == 0) r.first_never_written = column;
    return;
  }
  const double error = fabs(static_cast<double>(__uint_as_float(bits << 16)) - expected),
               relative = error / (fabs(expected) + 1e-8);
  r.error += error * error;
  if (r.non_finite == 0 && (r.worst_column == kNoColumn || error > r.max_abs_error)) r.worst_column = column;
  r.max_abs_error = fmax(r.max_abs_error, error);
  r.max_rel_error = fmax(r.max_rel_error, relative);
  r.paper_failing += !(error <= p.tolerance || relative <= p.tolerance);
  r.allclose_failing += !(error <= p.tolerance + p.tolerance * fabs(expected));
}

// The columns of `from` are others than those of `to`; of equals the first column counts, as if one thread read the row.
__device__ void join(RowRecord& to, const RowRecord& from) {
  const bool bad = to.non_finite > 0, other_bad = from.non_finite > 0;
  const bool earlier = from.worst_column < to.worst_column;
  const bool worse = bad || other_bad
                         ? other_bad && (!bad || earlier)
                         : from.max_abs_error > to.max_abs_error || (from.max_abs_error == to.max_abs_error && earlier);
  if (worse) to.worst_column = from.worst_column;
  if (from.first_never_written < to.first_never_written) to.first_never_written = from.first_never_written;
  to.error += from.error;
  to.reference += from.reference;
  to.max_abs_error = fmax(to.max_abs_error, from.max_abs_error);
  to.max_rel_error = fmax(to.max_rel_error, from.max_rel_error);
  to.non_finite += from.non_finite;
  to.never_written += from.never_written;
  to.paper_failing += from.paper_failing;
  to.allclose_failing += from.allclose_failing;
  to.other_bits += from.other_bits;
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

extern "C" __global__ void __launch_bounds__(kRowThreads) ptxbench_compare(CompareParams p) {
  __shared__ __align__(16) unsigned char bytes[kRowThreads * sizeof(RowRecord)];  // records are not trivial
  auto* parts = reinterpret_cast<RowRecord*>(bytes);
  const std::int64_t row = blockIdx.x;
  const std::int64_t of = p.rows != 0 ? reinterpret_cast<const std::uint32_t*>(p.rows)[row] : row;
  const auto* values = reinterpret_cast<const std::uint16_t*>(p.values) + of * p.columns;
  const auto* expected = reinterpret_cast<const double*>(p.expected) + row * p.columns;
  RowRecord record;
  record.worst_column = record.first_never_written = kNoColumn;
  for (std::int64_t column = threadIdx.x; column < p.columns; column += kRowThreads)
    take_element(record, column, values[column], expected[column], p);
  parts[threadIdx.x] = record;
  __syncthreads();
  for (unsigned half = kRowThreads / 2; half > 0; half /= 2) {
    if (threadIdx.x < half) join(parts[threadIdx.x], parts[threadIdx.x + half]);
    __syncthreads();
  }
  if (threadIdx.x != 0) return;
  record = parts[0];
  record.worst_expected = expected[record.worst_column];
  record.worst_got = __uint_as_float(static_cast<std::uint32_t>(values[record.worst_column]) << 16);
  reinterpret_cast<RowRecord*>(p.records)[row] = record;
}

// As philox.h; block i of the stream makes elements 8 i to 8 i + 7.
extern "C" __global__ void ptxbench_normal(NormalParams p) {
  const auto* table = reinterpret_cast<const std::uint16_t*>(p.table);
  const std::int64_t step = std::int64_t{gridDim.x} * blockDim.x;
  for (std::int64_t i = std::int64_t{blockIdx.x} * blockDim.x + threadIdx.x; i < p.blocks; i += step) {
    std::uint32_t c0 = static_cast<std::uint32_t>(i), c1 = static_cast<std::uint32_t>(i >> 32), c2 = p.stream[0],
                  c3 = p.stream[1], k0 = p.key[0], k1 = p.key[1];
#pragma unroll
    for (int round = 0; round < 10; ++round) {
      const std::uint32_t h0 = __umulhi(0xD2511F53u, c0), l0 = 0xD2511F53u * c0;
      const std::uint32_t h1 = __umulhi(0xCD9E8D57u, c2), l1 = 0xCD9E8D57u * c2;
      c0 = h1 ^ c1 ^ k0, c1 = l1, c2 = h0 ^ c3 ^ k1, c3 = l0;
      k0 += 0x9E3779B9u, k1 += 0xBB67AE85u;
    }
    const auto two = [table](std::uint32_t bits) {
      return table[bits & 0xffff] | static_cast<std::uint32_t>(table[bits >> 16]) << 16;
    };
    reinterpret_cast<uint4*>(p.out)[i] = make_uint4(two(c0), two(c1), two(c2), two(c3));
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
