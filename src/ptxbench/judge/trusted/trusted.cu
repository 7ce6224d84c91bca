// The judge's own kernels: references in FP64, for workloads that the CPU is too slow for. They follow reference.cc step
// by step, so that the two can be held against each other; no part of them is a candidate's.
#include <cuda_bf16.h>

#include "ptxbench/judge/trusted/params.h"

namespace ptxbench::judge::trusted {
namespace {

__device__ double widen(const __nv_bfloat16& value) { return static_cast<double>(__bfloat162float(value)); }

constexpr int kDepth = 16, kVector = 8;  // k of a tile; elements that a thread loads at once
constexpr int kWarpRows = 32, kWarpColumns = 64, kWarpsPerRow = kTileColumns / kWarpColumns;
static_assert(kTileRows / kWarpRows * kWarpsPerRow * 32 == kMatmulThreads);

// Eight elements on their way from memory to a tile.
template <class T>
struct Vector;
template <>
struct Vector<__nv_bfloat16> {
  uint4 words;
  __device__ void load(const __nv_bfloat16* from) { words = *reinterpret_cast<const uint4*>(from); }
  __device__ void set(int j, const __nv_bfloat16* from) {
    std::uint32_t& word = j / 2 == 0 ? words.x : j / 2 == 1 ? words.y : j / 2 == 2 ? words.z : words.w;
    const std::uint32_t bits = from == nullptr ? 0 : *reinterpret_cast<const std::uint16_t*>(from);
    word = j % 2 == 0 ? bits : word | bits << 16;
  }
  __device__ double at(int j) const {
    const std::uint32_t word = j / 2 == 0 ? words.x : j / 2 == 1 ? words.y : j / 2 == 2 ? words.z : words.w;
    return static_cast<double>(__uint_as_float(j % 2 == 0 ? word << 16 : word & 0xffff0000u));
  }
};
template <>
struct Vector<double> {
  double values[kVector];
  __device__ void load(const double* from) {
#pragma unroll
    for (int j = 0; j < kVector; j += 2) {
      const double2 pair = *reinterpret_cast<const double2*>(from + j);
      values[j] = pair.x, values[j + 1] = pair.y;
    }
  }
  __device__ void set(int j, const double* from) { values[j] = from == nullptr ? 0 : *from; }
  __device__ double at(int j) const { return values[j]; }
};

// One operand's way into shared memory, k-major: tile[k][i], zero outside of the matrix. A row of a tile is 4 doubles
// longer than the operand's extent, so that the 4 x 4 elements that half a warp reads for mma.sync lie in 16 banks.
template <class T, int kExtent>
class Operand {
 public:
  static constexpr int kStride = kExtent + 4, kPieces = kExtent * kDepth / kVector / kMatmulThreads;

  __device__ Operand(const T* from, const std::uint32_t* rows, std::int64_t i_stride, std::int64_t k_stride,
                     std::int64_t first, std::int64_t extent, std::int64_t depth)
      : from_(from),
        rows_(rows),
        i_stride_(i_stride),
        k_stride_(k_stride),
        first_(first),
        extent_(extent),
        depth_(depth),
        along_k_(k_stride == 1) {
    const std::int64_t other = along_k_ ? i_stride : k_stride;
    whole_ = (along_k_ || (i_stride == 1 && rows == nullptr)) && reinterpret_cast<std::uintptr_t>(from) % 16 == 0 &&
             other * sizeof(T) % 16 == 0;
  }

  // Begins to load the tile at depth k0; it arrives while the tile before is multiplied.
  __device__ void fetch(std::int64_t k0) {
#pragma unroll
    for (int piece = 0; piece < kPieces; ++piece) {
      const int at = piece * kMatmulThreads + static_cast<int>(threadIdx.x);
      const std::int64_t i = first_ + i_of(at), k = k0 + k_of(at);
      const bool inside = along_k_ ? i < extent_ && k + kVector <= depth_ : k < depth_ && i + kVector <= extent_;
      if (whole_ && inside) {
        held_[piece].load(place(i, k));
        continue;
      }
      for (int j = 0; j < kVector; ++j) {
        const std::int64_t ij = along_k_ ? i : i + j, kj = along_k_ ? k + j : k;
        held_[piece].set(j, ij < extent_ && kj < depth_ ? place(ij, kj) : nullptr);
      }
    }
  }
  __device__ void store(double (*tile)[kStride]) const {
#pragma unroll
    for (int piece = 0; piece < kPieces; ++piece) {
      const int at = piece * kMatmulThreads + static_cast<int>(threadIdx.x), i = i_of(at), k = k_of(at);
#pragma unroll
      for (int j = 0; j < kVector; ++j) (along_k_ ? tile[k + j][i] : tile[k][i + j]) = held_[piece].at(j);
    }
  }

 private:
  __device__ int i_of(int at) const { return along_k_ ? at / (kDepth / kVector) : at % (kExtent / kVector) * kVector; }
  __device__ int k_of(int at) const { return along_k_ ? at % (kDepth / kVector) * kVector : at / (kExtent / kVector); }
  __device__ const T* place(std::int64_t i, std::int64_t k) const {
    return from_ + (rows_ != nullptr ? rows_[i] : i) * i_stride_ + k * k_stride_;
  }

  const T* from_;
  const std::uint32_t* rows_;
  std::int64_t i_stride_, k_stride_, first_, extent_, depth_;
  bool along_k_, whole_;  // whole_: eight elements lie together and aligned
  Vector<T> held_[kPieces];
};

// 16 x 8 sums of a warp: PTX ISA, "Matrix Fragments for mma.m16n8k4 with .f64". Fused multiply-adds in FP64.
__device__ void multiply_add(double (&sum)[4], const double (&a)[2], double b) {
  asm("mma.sync.aligned.m16n8k4.row.col.f64.f64.f64.f64 {%0, %1, %2, %3}, {%4, %5}, {%6}, {%0, %1, %2, %3};"
      : "+d"(sum[0]), "+d"(sum[1]), "+d"(sum[2]), "+d"(sum[3])
      : "d"(a[0]), "d"(a[1]), "d"(b));
}

template <class T>
__device__ void matmul(const MatmulParams& p) {
  using A = Operand<T, kTileRows>;
  using B = Operand<__nv_bfloat16, kTileColumns>;
  __shared__ double a_tile[kDepth][A::kStride], b_tile[kDepth][B::kStride];
  const std::int64_t z = blockIdx.z, row0 = std::int64_t{blockIdx.y} * kTileRows,
                     column0 = std::int64_t{blockIdx.x} * kTileColumns;
  A a(reinterpret_cast<const T*>(p.a) + z * p.a_batch, reinterpret_cast<const std::uint32_t*>(p.rows), p.a_row,
      p.a_column, row0, p.m, p.k);
  B b(reinterpret_cast<const __nv_bfloat16*>(p.b) + z / p.b_group * p.b_batch, nullptr, p.b_column, p.b_row, column0,
      p.n, p.k);
  const int lane = static_cast<int>(threadIdx.x) % 32, warp = static_cast<int>(threadIdx.x) / 32;
  const int group = lane / 4, thread = lane % 4;  // the manual's names
  const int warp_row = warp / kWarpsPerRow * kWarpRows, warp_column = warp % kWarpsPerRow * kWarpColumns;
  double sum[kWarpRows / 16][kWarpColumns / 8][4] = {};
  a.fetch(0), b.fetch(0);
  for (std::int64_t k0 = 0; k0 < p.k; k0 += kDepth) {
    __syncthreads();
    a.store(a_tile), b.store(b_tile);
    __syncthreads();
    if (k0 + kDepth < p.k) a.fetch(k0 + kDepth), b.fetch(k0 + kDepth);
#pragma unroll
    for (int k = 0; k < kDepth; k += 4) {
      double left[kWarpRows / 16][2];
#pragma unroll
      for (int i = 0; i < kWarpRows / 16; ++i)
#pragma unroll
        for (int half = 0; half < 2; ++half) left[i][half] = a_tile[k + thread][warp_row + 16 * i + 8 * half + group];
#pragma unroll
      for (int j = 0; j < kWarpColumns / 8; ++j) {
        const double right = b_tile[k + thread][warp_column + 8 * j + group];
#pragma unroll
        for (int i = 0; i < kWarpRows / 16; ++i) multiply_add(sum[i][j], left[i], right);
      }
    }
  }
  double* c = reinterpret_cast<double*>(p.c) + z * p.c_batch;
#pragma unroll
  for (int i = 0; i < kWarpRows / 16; ++i)
#pragma unroll
    for (int j = 0; j < kWarpColumns / 8; ++j)
#pragma unroll
      for (int e = 0; e < 4; ++e) {
        const std::int64_t row = row0 + warp_row + 16 * i + 8 * (e / 2) + group,
                           column = column0 + warp_column + 8 * j + 2 * thread + e % 2;
        if (row >= p.m || column >= p.n) continue;
        double& to = c[row * p.c_row + column];
        to = p.accumulate != 0 ? to + p.alpha * sum[i][j][e] : p.alpha * sum[i][j][e];
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

// As philox.h.
__device__ uint4 philox(const std::uint32_t (&key)[2], const std::uint32_t (&stream)[2], std::int64_t block) {
  uint4 c = {static_cast<std::uint32_t>(block), static_cast<std::uint32_t>(block >> 32), stream[0], stream[1]};
  std::uint32_t k0 = key[0], k1 = key[1];
#pragma unroll
  for (int round = 0; round < 10; ++round) {
    const std::uint32_t h0 = __umulhi(0xD2511F53u, c.x), l0 = 0xD2511F53u * c.x;
    const std::uint32_t h1 = __umulhi(0xCD9E8D57u, c.z), l1 = 0xCD9E8D57u * c.z;
    c = {h1 ^ c.y ^ k0, l1, h0 ^ c.w ^ k1, l0};
    k0 += 0x9E3779B9u, k1 += 0xBB67AE85u;
  }
  return c;
}

// PhiloxStream::below of the stream that is drawn from once per row.
__device__ std::int64_t below(const InputParams& p, std::int64_t index, std::int64_t bound) {
  const uint4 bits = philox(p.key, p.per_row, index);
  return static_cast<std::int64_t>(__umul64hi(std::uint64_t{bits.x} << 32 | bits.y, static_cast<std::uint64_t>(bound)));
}

__device__ std::uint32_t half_of(const uint4& words, int j) {
  const std::uint32_t word = j / 2 == 0 ? words.x : j / 2 == 1 ? words.y : j / 2 == 2 ? words.z : words.w;
  return word >> (j % 2 * 16) & 0xffff;
}
__device__ void set_half(uint4& words, int j, std::uint32_t bits) {
  std::uint32_t& word = j / 2 == 0 ? words.x : j / 2 == 1 ? words.y : j / 2 == 2 ? words.z : words.w;
  word = j % 2 == 0 ? (word & 0xffff0000u) | bits : (word & 0xffffu) | bits << 16;
}

constexpr std::uint32_t kOne = 0x3f80;  // bf16

// Eight elements whose values come from sixteen random bits each.
__device__ uint4 drawn_by_value(const InputParams& p, const UnitRecipe& unit, std::int64_t block, const uint4& random) {
  const auto* z = reinterpret_cast<const float*>(p.normal);
  const auto* narrow = reinterpret_cast<const std::uint16_t*>(p.narrow);
  const uint4 spikes = unit.draw == Draw::kSpikes ? philox(p.key, p.spikes, block) : uint4{};
  uint4 out = {};
#pragma unroll
  for (int j = 0; j < 8; ++j) {
    const std::uint32_t bits = half_of(random, j);
    std::uint32_t value = narrow[bits];
    if (unit.draw == Draw::kIntegers) {
      value = bf16_bits(static_cast<double>((bits * (2 * p.amplitude + 1) >> 16) - p.amplitude));
    } else if (unit.draw == Draw::kAffine) {
      value = bf16_bits(__dadd_rn(__dmul_rn(unit.factor, z[bits]), unit.mean));
    } else if (unit.draw == Draw::kSigns) {
      value = (bits & 1) != 0 ? kOne : kOne | 0x8000u;
    } else if (unit.draw == Draw::kSpikes && half_of(spikes, j) < 66) {
      value = bf16_bits(__dmul_rn(unit.factor, static_cast<double>(__uint_as_float(value << 16))));
    }
    set_half(out, j, value);
  }
  return out;
}

// Eight elements of a row that is one draw: a 1 in one place, or a row of the keys.
__device__ uint4 drawn_by_row(const InputParams& p, const UnitRecipe& unit, std::int64_t row, std::int64_t first) {
  uint4 out = {};
  if (unit.draw != Draw::kPointed) {
    if (unit.draw == Draw::kOddOnes && row % p.unit_rows % 2 == 0) return out;
    const std::int64_t place = below(p, row, p.columns) - first;
    if (place >= 0 && place < 8) set_half(out, static_cast<int>(place), kOne);
    return out;
  }
  const std::int64_t head = row / p.unit_rows, i = row % p.unit_rows;
  const std::int64_t key = p.causal == 0       ? (i * unit.step + head) % p.unit_rows
                           : i % 2 == head % 2 ? i
                                               : below(p, row, i + 1);
  const std::int64_t from = (head / p.group * p.unit_rows + key) * p.columns + first;
  out = *reinterpret_cast<const uint4*>(reinterpret_cast<const std::uint16_t*>(p.keys) + from);
  for (int j = 0; j < 8; ++j) set_half(out, j, half_of(out, j) + 0x0180);  // exponent + 3
  return out;
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

// What judge/inputs.cc does, element by element; block i of the values makes elements 8 i to 8 i + 7.
extern "C" __global__ void ptxbench_inputs(InputParams p) {
  const auto* units = reinterpret_cast<const UnitRecipe*>(p.units);
  const std::int64_t row_blocks = p.columns / 8, blocks = p.rows * row_blocks,
                     step = std::int64_t{gridDim.x} * blockDim.x;
  for (std::int64_t i = std::int64_t{blockIdx.x} * blockDim.x + threadIdx.x; i < blocks; i += step) {
    const std::int64_t row = i / row_blocks, first = i % row_blocks * 8;
    const UnitRecipe& unit = units[row / p.unit_rows];
    const uint4 words = unit.draw >= Draw::kOnes ? drawn_by_row(p, unit, row, first)
                                                 : drawn_by_value(p, unit, i, philox(p.key, p.values, i));
    reinterpret_cast<uint4*>(p.out)[i] = words;
  }
}

extern "C" __global__ void ptxbench_round(RoundParams p) {
  const auto* from = reinterpret_cast<const double*>(p.from);
  const std::int64_t step = std::int64_t{gridDim.x} * blockDim.x;
  for (std::int64_t i = std::int64_t{blockIdx.x} * blockDim.x + threadIdx.x; i < p.elements; i += step) {
    if (p.is_f32 != 0)
      reinterpret_cast<float*>(p.to)[i] = __double2float_rn(from[i]);
    else
      reinterpret_cast<std::uint16_t*>(p.to)[i] = static_cast<std::uint16_t>(bf16_bits(from[i]));
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
