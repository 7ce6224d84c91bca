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

// How the rows of a unit of an input are drawn; z is N(0,1) (judge/inputs.h has the families that they make up).
enum class Draw : std::int32_t {
  kNormal,    // z
  kIntegers,  // uniform in [-amplitude, amplitude]
  kAffine,    // factor z + mean
  kSpikes,    // z, one in a thousand times factor
  kSigns,     // +1 or -1
  kOnes,      // zero but for a 1 in one column
  kOddOnes,   // the same in rows of odd number, the others are zero
  kPointed,   // 8 times a row of the keys (step: which one, without a mask)
};
struct UnitRecipe {
  Draw draw = Draw::kNormal;
  std::int32_t step = 0;
  double factor = 1, mean = 0;
};

// One input, bf16 [rows][columns], columns a multiple of 8: row r is drawn by units[r / unit_rows]. Streams of
// Philox4x32-10: the key, and a number for values, spikes and what is drawn once per row.
struct InputParams {
  std::uint64_t out, units;      // UnitRecipe[]; out is 16-byte aligned
  std::uint64_t normal, narrow;  // z of all 16-bit numbers: 65536 float, and as bf16
  std::uint64_t keys;            // kPointed: bf16 [rows / group][columns], drawn before
  std::int64_t rows, columns, unit_rows, amplitude, group, causal;
  std::uint32_t key[2], values[2], spikes[2], per_row[2];
};

// Doubles to what a tensor holds, to nearest even: bf16 or binary32.
struct RoundParams {
  std::uint64_t from, to;
  std::int64_t elements, is_f32;
};

// Counts of an output, added up over the grid: [0] elements that still hold the poison, [1] NaN or infinite ones.
struct ScanParams {
  std::uint64_t values, counts;  // counts: two uint64, zeroed by the caller
  std::int64_t elements, is_f32;
  std::uint64_t poison;
};

// What the comparison says of one row of an output. Errors and maxima: finite elements only.
struct RowRecord {
  double error = 0, reference = 0;  // sums of squares
  double max_abs_error = 0, max_rel_error = 0;
  double worst_expected = 0, worst_got = 0;
  std::int64_t worst_column = 0;         // of the largest error; the first non-finite element beats all
  std::int64_t first_never_written = 0;  // a column; counts only if never_written > 0
  std::int64_t non_finite = 0, never_written = 0, paper_failing = 0, allclose_failing = 0;
  std::int64_t other_bits = 0;  // not the exact value rounded to nearest even, zeros of either sign being equal
};

// One block per row of `expected` and `records`. Row r is held against row rows[r] of the bf16 output, or r without rows.
struct CompareParams {
  std::uint64_t values, expected, records, rows;  // bf16, double, RowRecord, uint32 or 0
  std::int64_t columns, poison;
  double tolerance;  // of the paper's rule
};

}  // namespace ptxbench::judge::trusted
