// Parameters of the judge's own kernels, in the layout that the host packs and the kernels read. Addresses are device
// addresses; strides and offsets count elements.
#pragma once

#include <cstdint>

namespace ptxbench::judge::trusted {

// C[z][m x n] (+)= alpha * A[z][m x k] B[z][k x n] in FP64. Element (i, j) of A lies at
// a + z * a_batch + row(i) * a_row + j * a_column, row(i) = rows ? rows[i] : i; of B at b + z / b_group * b_batch + ...;
// C is row-major. B is bf16; A is bf16 (ptxbench_matmul_bf16) or double (ptxbench_matmul_f64).
struct MatmulParams {
  std::uint64_t a, b, c, rows;  // rows: uint32 row numbers of A, or 0
  std::int64_t a_batch, a_row, a_column;
  std::int64_t b_batch, b_group, b_row, b_column;
  std::int64_t c_batch, c_row;
  std::int64_t m, n, k;
  double alpha;
  std::int64_t accumulate;
};

inline constexpr int kTileRows = 64, kTileColumns = 128, kMatmulThreads = 128;

// One block per row of scores[heads * length][length]: weights in their place, and lse[heads * length].
struct SoftmaxParams {
  std::uint64_t scores, lse;
  std::int64_t length, causal;
};

// One block per row: scores become P = exp(scores - lse), d_p becomes dS = P (d_p - rowsum(dO O)) scale.
struct GradientParams {
  std::uint64_t scores, d_p, o, d_o, lse;  // o, d_o: bf16, lse: binary32; of the first row
  std::int64_t length, dim, causal;
  double scale;
};

inline constexpr int kRowThreads = 128;

// Counts of an output, added up over the grid: [0] elements that still hold the poison, [1] NaN or infinite ones.
struct ScanParams {
  std::uint64_t values, counts;  // counts: two uint64, zeroed by the caller
  std::int64_t elements, is_f32;
  std::uint64_t poison;
};

}  // namespace ptxbench::judge::trusted
