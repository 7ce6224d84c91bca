#include "ptxbench/emu/tensor/mma_f64.h"

#include <algorithm>
#include <cmath>

namespace ptxbench::emu {

// With group = lane / 4 and thread = lane % 4: element i of A lies in row group + 8 (i % 2) and column thread + 4 (i / 2)
// (m8n8k4 has one), element i of B in row thread + 4 i and column group, element i of C in row group + 8 (i / 2) and
// column 2 thread + i % 2.
void mma_f64(const MmaF64Shape& s, const double* const* a, const double* const* b, const double* const* c,
             double* const* d) {
  constexpr int kMostM = 16, kMostK = 16, kN = 8;
  const int halves = s.m / 8;
  double a_rows[kMostM][kMostK], b_rows[kMostK][kN];
  for (int lane = 0; lane < 32; ++lane) {
    const int group = lane / 4, thread = lane % 4;
    for (int i = 0; i < s.m * s.k / 32; ++i) a_rows[group + 8 * (i % halves)][thread + 4 * (i / halves)] = a[i][lane];
    for (int i = 0; i < s.n * s.k / 32; ++i) b_rows[thread + 4 * i][group] = b[i][lane];
  }
  double sums[4][32];  // d may hold registers of c in another order
  for (int i = 0; i < 2 * halves; ++i)
    for (int lane = 0; lane < 32; ++lane) {
      const double* row = a_rows[lane / 4 + 8 * (i / 2)];
      const int column = lane % 4 * 2 + i % 2;
      double sum = c[i][lane];
      for (int k = 0; k < s.k; ++k) sum = std::fma(row[k], b_rows[k][column], sum);
      sums[i][lane] = sum;
    }
  for (int i = 0; i < 2 * halves; ++i) std::copy_n(sums[i], 32, d[i]);
}

}  // namespace ptxbench::emu
