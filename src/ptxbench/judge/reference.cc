#include "ptxbench/judge/reference.h"

#include <algorithm>
#include <bit>
#include <cmath>

#include "ptxbench/base/check.h"
#include "ptxbench/judge/parallel.h"

namespace ptxbench::judge {
namespace {

// Query rows per step: bounds the memory of the scores to kRows x S doubles, and lets causal steps stop early.
constexpr std::int64_t kRows = 128;

std::vector<double> widen(std::span<const std::uint16_t> bits) {
  std::vector<double> values(bits.size());
  for (std::size_t i = 0; i < bits.size(); ++i) values[i] = std::bit_cast<float>(std::uint32_t{bits[i]} << 16);
  return values;
}

// Scaled scores of query rows [first, first + rows) against keys [0, keys); masked ones are -inf.
void scaled_scores(std::int64_t first, std::int64_t rows, std::int64_t keys, std::int64_t dim, bool causal,
                   const double* q, const double* k, std::vector<double>& scores) {
  scores.assign(rows * keys, 0.0);
  matmul_add(rows, keys, dim, MatrixView::of(q + first * dim, dim), MatrixView::of(k, dim).transposed(), scores.data(),
             keys);
  const double scale = 1 / std::sqrt(static_cast<double>(dim));
  for (std::int64_t i = 0; i < rows; ++i)
    for (std::int64_t j = 0; j < keys; ++j) {
      double& score = scores[i * keys + j];
      score = causal && j > first + i ? -INFINITY : score * scale;
    }
}

std::int64_t visible_keys(std::int64_t first, std::int64_t rows, std::int64_t length, bool causal) {
  return causal ? std::min(length, first + rows) : length;
}

}  // namespace

void gemm_nt_reference(std::int64_t m, std::int64_t n, std::int64_t k, std::span<const std::uint16_t> a,
                       std::span<const std::uint16_t> b, std::span<double> c, unsigned threads) {
  PTXBENCH_CHECK(static_cast<std::int64_t>(a.size()) == m * k && static_cast<std::int64_t>(b.size()) == n * k &&
                     static_cast<std::int64_t>(c.size()) == m * n,
                 "sizes of a GEMM of {} x {} x {}", m, n, k);
  std::fill(c.begin(), c.end(), 0.0);
  constexpr std::int64_t kPartRows = 128, kPartColumns = 192;  // multiples of matmul's blocks: no work is done twice
  const std::int64_t row_parts = (m + kPartRows - 1) / kPartRows, column_parts = (n + kPartColumns - 1) / kPartColumns;
  parallel_for(row_parts * column_parts, threads, [&](std::int64_t part) {
    const std::int64_t row = part / column_parts * kPartRows, column = part % column_parts * kPartColumns;
    matmul_add(std::min(kPartRows, m - row), std::min(kPartColumns, n - column), k,
               MatrixView::of(a.data() + row * k, k), MatrixView::of(b.data() + column * k, k).transposed(),
               c.data() + row * n + column, n);
  });
}

void attention_forward_head(std::int64_t length, std::int64_t dim, bool causal, const double* q, const double* k,
                            const double* v, double* o, double* lse) {
  std::vector<double> scores;
  for (std::int64_t first = 0; first < length; first += kRows) {
    const std::int64_t rows = std::min(kRows, length - first), keys = visible_keys(first, rows, length, causal);
    scaled_scores(first, rows, keys, dim, causal, q, k, scores);
    for (std::int64_t i = 0; i < rows; ++i) {
      const std::span<double> row(scores.data() + i * keys, keys);
      const double maximum = *std::max_element(row.begin(), row.end());
      double sum = 0;
      for (double& score : row) sum += score = std::exp(score - maximum);
      for (double& weight : row) weight /= sum;
      lse[first + i] = maximum + std::log(sum);
    }
    std::fill_n(o + first * dim, rows * dim, 0.0);
    matmul_add(rows, dim, keys, MatrixView::of(scores.data(), keys), MatrixView::of(v, dim), o + first * dim, dim);
  }
}

void attention_backward_head(std::int64_t length, std::int64_t dim, bool causal, const double* q, const double* k,
                             const double* v, const double* o, const double* d_o, const double* lse, double* d_q,
                             double* d_k, double* d_v) {
  const double scale = 1 / std::sqrt(static_cast<double>(dim));
  std::vector<double> weights, gradients;  // P, then dP and dS / sqrt(D)
  for (std::int64_t first = 0; first < length; first += kRows) {
    const std::int64_t rows = std::min(kRows, length - first), keys = visible_keys(first, rows, length, causal);
    scaled_scores(first, rows, keys, dim, causal, q, k, weights);
    for (std::int64_t i = 0; i < rows; ++i)
      for (std::int64_t j = 0; j < keys; ++j) weights[i * keys + j] = std::exp(weights[i * keys + j] - lse[first + i]);
    const MatrixView d_o_rows = MatrixView::of(d_o + first * dim, dim), p = MatrixView::of(weights.data(), keys);
    matmul_add(keys, dim, rows, p.transposed(), d_o_rows, d_v, dim);

    gradients.assign(rows * keys, 0.0);
    matmul_add(rows, keys, dim, d_o_rows, MatrixView::of(v, dim).transposed(), gradients.data(), keys);
    for (std::int64_t i = 0; i < rows; ++i) {
      double delta = 0;
      for (std::int64_t d = 0; d < dim; ++d) delta += d_o[(first + i) * dim + d] * o[(first + i) * dim + d];
      for (std::int64_t j = 0; j < keys; ++j)
        gradients[i * keys + j] = weights[i * keys + j] * (gradients[i * keys + j] - delta) * scale;
    }
    const MatrixView d_s = MatrixView::of(gradients.data(), keys);
    std::fill_n(d_q + first * dim, rows * dim, 0.0);
    matmul_add(rows, dim, keys, d_s, MatrixView::of(k, dim), d_q + first * dim, dim);
    matmul_add(keys, dim, rows, d_s.transposed(), MatrixView::of(q + first * dim, dim), d_k, dim);
  }
}

void attention_forward_reference(const AttentionShape& shape, std::span<const std::uint16_t> q,
                                 std::span<const std::uint16_t> k, std::span<const std::uint16_t> v,
                                 std::span<double> o, std::span<double> lse, unsigned threads) {
  const std::int64_t head = shape.length * shape.dim;
  parallel_for(shape.batch * shape.heads, threads, [&](std::int64_t index) {
    const std::int64_t kv = index / shape.group();  // [B, H] and [B, Hkv] keep their ratio across batches
    const auto qh = widen(q.subspan(index * head, head)), kh = widen(k.subspan(kv * head, head)),
               vh = widen(v.subspan(kv * head, head));
    attention_forward_head(shape.length, shape.dim, shape.causal, qh.data(), kh.data(), vh.data(), &o[index * head],
                           &lse[index * shape.length]);
  });
}

void attention_backward_reference(const AttentionShape& shape, const AttentionGradientInputs& in, std::span<double> d_q,
                                  std::span<double> d_k, std::span<double> d_v, unsigned threads) {
  const std::int64_t head = shape.length * shape.dim;
  std::fill(d_k.begin(), d_k.end(), 0.0);
  std::fill(d_v.begin(), d_v.end(), 0.0);
  parallel_for(shape.batch * shape.kv_heads, threads, [&](std::int64_t kv) {
    const auto kh = widen(in.k.subspan(kv * head, head)), vh = widen(in.v.subspan(kv * head, head));
    for (std::int64_t index = kv * shape.group(); index < (kv + 1) * shape.group(); ++index) {
      const auto qh = widen(in.q.subspan(index * head, head)), oh = widen(in.o.subspan(index * head, head)),
                 doh = widen(in.d_o.subspan(index * head, head));
      const auto lse_row = in.lse.subspan(index * shape.length, shape.length);
      const std::vector<double> lse(lse_row.begin(), lse_row.end());
      attention_backward_head(shape.length, shape.dim, shape.causal, qh.data(), kh.data(), vh.data(), oh.data(),
                              doh.data(), lse.data(), &d_q[index * head], &d_k[kv * head], &d_v[kv * head]);
    }
  });
}

}  // namespace ptxbench::judge
