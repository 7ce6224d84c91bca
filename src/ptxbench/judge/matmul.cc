#include "ptxbench/judge/matmul.h"

#include <algorithm>
#include <bit>
#include <memory>
#include <new>
#include <vector>

#if defined(__x86_64__)
#include <immintrin.h>
#endif

namespace ptxbench::judge {
namespace {

// A tile of 4 x 12 doubles fills 12 of the 16 vector registers of AVX2 and leaves room for operands. One packed panel
// of B (kDepth x 12) is 12 KiB and stays in the first-level cache, the packed blocks (128 and 192 KiB) in the second.
constexpr std::int64_t kTileRows = 4, kTileColumns = 12, kDepth = 128, kBlockRows = 128, kBlockColumns = 192;

double load(const double* data, std::int64_t at) { return data[at]; }
double load(const std::uint16_t* data, std::int64_t at) { return std::bit_cast<float>(std::uint32_t{data[at]} << 16); }

// Panels of kWidth rows: to[panel][k][row in panel], missing rows are zero. Strides as seen by (row, k). The rows are
// read side by side, so that the panel is written in one sweep.
template <int kWidth, class T>
void pack_panels(const T* from, std::int64_t row_stride, std::int64_t k_stride, std::int64_t rows, std::int64_t depth,
                 double* to) {
  static constexpr T kZero = 0;
  for (std::int64_t panel = 0; panel < rows; panel += kWidth) {
    const T* lines[kWidth];
    std::int64_t strides[kWidth];
    for (int row = 0; row < kWidth; ++row) {
      const bool live = panel + row < rows;
      lines[row] = live ? from + (panel + row) * row_stride : &kZero;
      strides[row] = live ? k_stride : 0;
    }
    for (std::int64_t k = 0; k < depth; ++k, to += kWidth)
      for (int row = 0; row < kWidth; ++row) to[row] = load(lines[row], k * strides[row]);
  }
}

template <int kWidth>
void pack(MatrixView view, std::int64_t rows, std::int64_t depth, double* to) {
  if (view.type == MatrixView::Type::kDouble) {
    pack_panels<kWidth>(static_cast<const double*>(view.data), view.row_stride, view.column_stride, rows, depth, to);
  } else {
    pack_panels<kWidth>(static_cast<const std::uint16_t*>(view.data), view.row_stride, view.column_stride, rows, depth,
                        to);
  }
}

using TileKernel = void (*)(std::int64_t depth, const double* a, const double* b, double* tile);

// tile[4][12] = sum over k of a[k][4] b[k][12].
void tile_generic(std::int64_t depth, const double* a, const double* b, double* tile) {
  double sum[kTileRows * kTileColumns] = {};
  for (std::int64_t k = 0; k < depth; ++k, a += kTileRows, b += kTileColumns)
    for (int i = 0; i < kTileRows; ++i)
      for (int j = 0; j < kTileColumns; ++j) sum[i * kTileColumns + j] += a[i] * b[j];
  std::copy_n(sum, kTileRows * kTileColumns, tile);
}

#if defined(__x86_64__)
__attribute__((target("avx2,fma"))) void tile_avx2(std::int64_t depth, const double* a, const double* b, double* tile) {
  // Every loop over `sum` is unrolled: only then does it live in registers.
  __m256d sum[kTileRows][3];
#pragma GCC unroll 4
  for (int i = 0; i < kTileRows; ++i) sum[i][0] = sum[i][1] = sum[i][2] = _mm256_setzero_pd();
  for (std::int64_t k = 0; k < depth; ++k, a += kTileRows, b += kTileColumns) {
    const __m256d b0 = _mm256_loadu_pd(b), b1 = _mm256_loadu_pd(b + 4), b2 = _mm256_loadu_pd(b + 8);
#pragma GCC unroll 4
    for (int i = 0; i < kTileRows; ++i) {
      const __m256d ai = _mm256_broadcast_sd(a + i);
      sum[i][0] = _mm256_fmadd_pd(ai, b0, sum[i][0]);
      sum[i][1] = _mm256_fmadd_pd(ai, b1, sum[i][1]);
      sum[i][2] = _mm256_fmadd_pd(ai, b2, sum[i][2]);
    }
  }
#pragma GCC unroll 4
  for (int i = 0; i < kTileRows; ++i) {
    _mm256_storeu_pd(tile + i * kTileColumns, sum[i][0]);
    _mm256_storeu_pd(tile + i * kTileColumns + 4, sum[i][1]);
    _mm256_storeu_pd(tile + i * kTileColumns + 8, sum[i][2]);
  }
}
#endif

TileKernel choose(MatmulKernel kernel) {
#if defined(__x86_64__)
  if (kernel == MatmulKernel::kBest && __builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma"))
    return tile_avx2;
#endif
  return tile_generic;
}

void multiply_block(std::int64_t rows, std::int64_t columns, std::int64_t depth, const double* packed_a,
                    const double* packed_b, double* c, std::int64_t ldc, TileKernel kernel) {
  double tile[kTileRows * kTileColumns];
  for (std::int64_t j = 0; j < columns; j += kTileColumns) {
    for (std::int64_t i = 0; i < rows; i += kTileRows) {
      kernel(depth, packed_a + i * depth, packed_b + j * depth, tile);
      const std::int64_t live_rows = std::min(kTileRows, rows - i), live_columns = std::min(kTileColumns, columns - j);
      for (std::int64_t r = 0; r < live_rows; ++r)
        for (std::int64_t s = 0; s < live_columns; ++s) c[(i + r) * ldc + j + s] += tile[r * kTileColumns + s];
    }
  }
}

}  // namespace

MatrixView MatrixView::offset(std::int64_t rows, std::int64_t columns) const {
  const std::int64_t elements = rows * row_stride + columns * column_stride;
  const std::int64_t size = type == Type::kDouble ? sizeof(double) : sizeof(std::uint16_t);
  return {static_cast<const char*>(data) + elements * size, type, row_stride, column_stride};
}

void matmul_add(std::int64_t m, std::int64_t n, std::int64_t k, MatrixView a, MatrixView b, double* c, std::int64_t ldc,
                MatmulKernel kernel) {
  const TileKernel tile = choose(kernel);
  std::vector<double> packed_a(kBlockRows * kDepth), packed_b(kBlockColumns * kDepth);
  for (std::int64_t jj = 0; jj < n; jj += kBlockColumns) {
    const std::int64_t columns = std::min(kBlockColumns, n - jj);
    for (std::int64_t kk = 0; kk < k; kk += kDepth) {
      const std::int64_t depth = std::min(kDepth, k - kk);
      pack<kTileColumns>(b.offset(kk, jj).transposed(), columns, depth, packed_b.data());
      for (std::int64_t ii = 0; ii < m; ii += kBlockRows) {
        const std::int64_t rows = std::min(kBlockRows, m - ii);
        pack<kTileRows>(a.offset(ii, kk), rows, depth, packed_a.data());
        multiply_block(rows, columns, depth, packed_a.data(), packed_b.data(), c + ii * ldc + jj, ldc, tile);
      }
    }
  }
}

}  // namespace ptxbench::judge
