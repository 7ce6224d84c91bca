#include "ptxbench/judge/reference.h"

#include <gtest/gtest.h>

#include <bit>
#include <cmath>
#include <random>
#include <vector>

namespace ptxbench::judge {
namespace {

using Matrix = std::vector<double>;

Matrix random_matrix(std::int64_t elements, unsigned seed) {
  std::mt19937 engine(seed);
  std::normal_distribution<double> normal;
  Matrix matrix(elements);
  for (double& value : matrix) value = normal(engine);
  return matrix;
}

// bf16 by truncation: any bf16 values will do as inputs.
std::vector<std::uint16_t> random_bf16(std::int64_t elements, unsigned seed) {
  std::vector<std::uint16_t> bits;
  for (const double value : random_matrix(elements, seed))
    bits.push_back(std::bit_cast<std::uint32_t>(static_cast<float>(value)) >> 16);
  return bits;
}

double value_of(std::uint16_t bf16) { return std::bit_cast<float>(std::uint32_t{bf16} << 16); }

struct MatmulCase {
  std::int64_t m, n, k;
};

TEST(Matmul, EdgesAndStridesAgainstLongDouble) {
  for (const auto& [m, n, k] : std::initializer_list<MatmulCase>{
           {1, 1, 1}, {4, 12, 256}, {5, 13, 257}, {127, 191, 300}, {130, 200, 3}, {3, 400, 511}}) {
    const Matrix a = random_matrix(m * k, 1), b = random_matrix(n * k, 2);
    for (const MatmulKernel kernel : {MatmulKernel::kBest, MatmulKernel::kGeneric}) {
      Matrix c(m * n, 0.5);  // the product is added
      matmul_add(m, n, k, MatrixView::of(a.data(), k), MatrixView::of(b.data(), k).transposed(), c.data(), n, kernel);
      for (std::int64_t i = 0; i < m; ++i)
        for (std::int64_t j = 0; j < n; ++j) {
          long double sum = 0.5L;
          for (std::int64_t x = 0; x < k; ++x) sum += static_cast<long double>(a[i * k + x]) * b[j * k + x];
          ASSERT_NEAR(c[i * n + j], static_cast<double>(sum), 1e-12)
              << m << "x" << n << "x" << k << " at " << i << "," << j;
        }
    }
  }
}

TEST(Reference, GemmAgainstLongDouble) {
  const std::int64_t m = 70, n = 200, k = 333;
  const auto a = random_bf16(m * k, 3), b = random_bf16(n * k, 4);
  Matrix c(m * n);
  gemm_nt_reference(m, n, k, a, b, c, 2);
  for (std::int64_t i = 0; i < m; ++i)
    for (std::int64_t j = 0; j < n; ++j) {
      long double sum = 0;
      for (std::int64_t x = 0; x < k; ++x)
        sum += static_cast<long double>(value_of(a[i * k + x])) * value_of(b[j * k + x]);
      ASSERT_NEAR(c[i * n + j], static_cast<double>(sum), 1e-12);
    }
}

// Integers whose sums stay below 2^53 have one right answer, to the bit.
TEST(Reference, GemmOfIntegersIsExact) {
  const std::int64_t m = 8, n = 16, k = 5120;
  std::mt19937 engine(5);
  std::uniform_int_distribution<int> digit(-255, 255);
  std::vector<std::uint16_t> a(m * k), b(n * k);
  std::vector<std::int64_t> ai(a.size()), bi(b.size());
  const auto fill = [&](auto& bits, auto& integers) {
    for (std::size_t i = 0; i < bits.size(); ++i) {
      integers[i] = digit(engine);
      bits[i] = std::bit_cast<std::uint32_t>(static_cast<float>(integers[i])) >> 16;
    }
  };
  fill(a, ai), fill(b, bi);
  Matrix c(m * n);
  gemm_nt_reference(m, n, k, a, b, c, 1);
  for (std::int64_t i = 0; i < m; ++i)
    for (std::int64_t j = 0; j < n; ++j) {
      std::int64_t sum = 0;
      for (std::int64_t x = 0; x < k; ++x) sum += ai[i * k + x] * bi[j * k + x];
      ASSERT_EQ(c[i * n + j], static_cast<double>(sum));
    }
}

// Straight from the definition, one row at a time, without subtracting the maximum.
void naive_forward(std::int64_t s, std::int64_t d, bool causal, const double* q, const double* k, const double* v,
                   std::vector<long double>& o, std::vector<long double>& lse) {
  o.assign(s * d, 0), lse.assign(s, 0);
  for (std::int64_t i = 0; i < s; ++i) {
    long double total = 0;
    for (std::int64_t j = 0; j < (causal ? i + 1 : s); ++j) {
      long double score = 0;
      for (std::int64_t x = 0; x < d; ++x) score += static_cast<long double>(q[i * d + x]) * k[j * d + x];
      const long double weight = std::exp(score / std::sqrt(static_cast<long double>(d)));
      total += weight;
      for (std::int64_t x = 0; x < d; ++x) o[i * d + x] += weight * v[j * d + x];
    }
    for (std::int64_t x = 0; x < d; ++x) o[i * d + x] /= total;
    lse[i] = std::log(total);
  }
}

TEST(Reference, ForwardAgainstTheDefinition) {
  const std::int64_t s = 150, d = 24;  // crosses a block of 128 rows
  const Matrix q = random_matrix(s * d, 6), k = random_matrix(s * d, 7), v = random_matrix(s * d, 8);
  for (const bool causal : {false, true}) {
    Matrix o(s * d), lse(s);
    attention_forward_head(s, d, causal, q.data(), k.data(), v.data(), o.data(), lse.data());
    std::vector<long double> o_expected, lse_expected;
    naive_forward(s, d, causal, q.data(), k.data(), v.data(), o_expected, lse_expected);
    for (std::int64_t i = 0; i < s * d; ++i) ASSERT_NEAR(o[i], static_cast<double>(o_expected[i]), 1e-13);
    for (std::int64_t i = 0; i < s; ++i) ASSERT_NEAR(lse[i], static_cast<double>(lse_expected[i]), 1e-13);
  }
}

TEST(Reference, ForwardSurvivesHugeLogits) {
  const std::int64_t s = 4, d = 1;
  const Matrix q = {1000, 1000, -1000, 0}, k = {1, 2, 3, 4}, v = {1, 2, 3, 4};
  Matrix o(s), lse(s);
  attention_forward_head(s, d, false, q.data(), k.data(), v.data(), o.data(), lse.data());
  EXPECT_DOUBLE_EQ(o[0], 4);
  EXPECT_DOUBLE_EQ(lse[0], 4000);
  EXPECT_DOUBLE_EQ(o[2], 1);
  EXPECT_DOUBLE_EQ(o[3], 2.5);
  EXPECT_DOUBLE_EQ(lse[3], std::log(4.0));
}

// Query heads 0..3 of each batch share one of two heads of K and V.
TEST(Reference, GroupedHeadsUseTheirKeys) {
  const AttentionShape shape{2, 4, 2, 33, 8, true};
  const std::int64_t head = shape.length * shape.dim;
  const auto q = random_bf16(shape.query_elements(), 9), k = random_bf16(shape.key_elements(), 10),
             v = random_bf16(shape.key_elements(), 11);
  Matrix o(shape.query_elements()), lse(shape.rows());
  attention_forward_reference(shape, q, k, v, o, lse, 2);
  for (std::int64_t b = 0; b < 2; ++b)
    for (std::int64_t h = 0; h < 4; ++h) {
      const std::int64_t at = (b * 4 + h) * head, kv = (b * 2 + h / 2) * head;
      Matrix qh(head), kh(head), vh(head);
      for (std::int64_t i = 0; i < head; ++i)
        qh[i] = value_of(q[at + i]), kh[i] = value_of(k[kv + i]), vh[i] = value_of(v[kv + i]);
      std::vector<long double> o_expected, lse_expected;
      naive_forward(shape.length, shape.dim, true, qh.data(), kh.data(), vh.data(), o_expected, lse_expected);
      for (std::int64_t i = 0; i < head; ++i) ASSERT_NEAR(o[at + i], static_cast<double>(o_expected[i]), 1e-13);
    }
}

// The scalar whose gradient backward computes.
double loss(std::int64_t s, std::int64_t d, bool causal, const Matrix& q, const Matrix& k, const Matrix& v,
            const Matrix& d_o) {
  Matrix o(s * d), lse(s);
  attention_forward_head(s, d, causal, q.data(), k.data(), v.data(), o.data(), lse.data());
  double sum = 0;
  for (std::int64_t i = 0; i < s * d; ++i) sum += o[i] * d_o[i];
  return sum;
}

TEST(Reference, BackwardAgainstFiniteDifferences) {
  const std::int64_t s = 11, d = 5;
  for (const bool causal : {false, true}) {
    Matrix q = random_matrix(s * d, 12), k = random_matrix(s * d, 13), v = random_matrix(s * d, 14);
    const Matrix d_o = random_matrix(s * d, 15);
    Matrix o(s * d), lse(s), d_q(s * d), d_k(s * d, 0.0), d_v(s * d, 0.0);
    attention_forward_head(s, d, causal, q.data(), k.data(), v.data(), o.data(), lse.data());
    attention_backward_head(s, d, causal, q.data(), k.data(), v.data(), o.data(), d_o.data(), lse.data(), d_q.data(),
                            d_k.data(), d_v.data());
    const double h = 1e-5;  // central differences: error about h^2 plus 1e-16 / h
    for (const auto& [input, gradient] : {std::pair(&q, &d_q), std::pair(&k, &d_k), std::pair(&v, &d_v)})
      for (std::int64_t i = 0; i < s * d; ++i) {
        double& x = (*input)[i];
        const double kept = x;
        x = kept + h;
        const double above = loss(s, d, causal, q, k, v, d_o);
        x = kept - h;
        const double below = loss(s, d, causal, q, k, v, d_o);
        x = kept;
        ASSERT_NEAR((*gradient)[i], (above - below) / (2 * h), 1e-8);
      }
  }
}

// Blocks of rows and grouped heads against one head at a time with everything in one block.
TEST(Reference, BackwardOfGroupsSumsOverQueryHeads) {
  const AttentionShape shape{1, 4, 2, 140, 8, true};
  const std::int64_t head = shape.length * shape.dim;
  const auto q = random_bf16(shape.query_elements(), 16), k = random_bf16(shape.key_elements(), 17),
             v = random_bf16(shape.key_elements(), 18), d_o = random_bf16(shape.query_elements(), 19);
  // O and L need not belong to a forward pass: backward is a function of what it is given.
  const auto o = random_bf16(shape.query_elements(), 20);
  std::vector<float> lse(shape.rows(), 3.5f);
  Matrix d_q(q.size()), d_k(k.size()), d_v(v.size());
  attention_backward_reference(shape, {q, k, v, o, d_o, lse}, d_q, d_k, d_v, 2);

  Matrix dq_expected(q.size()), dk_expected(k.size()), dv_expected(v.size());
  const double scale = 1 / std::sqrt(8.0);
  for (std::int64_t h = 0; h < 4; ++h)
    for (std::int64_t i = 0; i < shape.length; ++i)
      for (std::int64_t j = 0; j <= i; ++j) {
        const std::int64_t qi = h * head + i * 8, kj = h / 2 * head + j * 8;
        double score = 0, dp = 0, delta = 0;
        for (int x = 0; x < 8; ++x) {
          score += value_of(q[qi + x]) * value_of(k[kj + x]);
          dp += value_of(d_o[qi + x]) * value_of(v[kj + x]);
          delta += value_of(d_o[qi + x]) * value_of(o[qi + x]);
        }
        const double p = std::exp(score * scale - 3.5), ds = p * (dp - delta) * scale;
        for (int x = 0; x < 8; ++x) {
          dq_expected[qi + x] += ds * value_of(k[kj + x]);
          dk_expected[kj + x] += ds * value_of(q[qi + x]);
          dv_expected[kj + x] += p * value_of(d_o[qi + x]);
        }
      }
  for (std::size_t i = 0; i < d_q.size(); ++i) ASSERT_NEAR(d_q[i], dq_expected[i], 1e-11);
  for (std::size_t i = 0; i < d_k.size(); ++i) ASSERT_NEAR(d_k[i], dk_expected[i], 1e-11);
  for (std::size_t i = 0; i < d_v.size(); ++i) ASSERT_NEAR(d_v[i], dv_expected[i], 1e-11);
}

}  // namespace
}  // namespace ptxbench::judge
