// Models of kernels, for tests of the judge: what an honest BF16 kernel computes (binary32 accumulation, P and dS
// rounded to BF16, BF16 outputs), and the same with one thing wrong.
#pragma once

#include <bit>
#include <cmath>
#include <cstdint>
#include <cstring>
#include <vector>

#include "ptxbench/judge/bf16.h"
#include "ptxbench/judge/compare.h"
#include "ptxbench/judge/inputs.h"

namespace ptxbench::judge::model {

using Bytes = std::vector<std::byte>;

struct Faults {
  std::int64_t drop_keys = 0;  // ignores the last keys
  std::int64_t drop_k = 0;     // GEMM: ignores the last terms
  double scale = 1;            // times the softmax scale
  double output = 1;           // times the output
  bool lse_base2 = false;
  int mask_shift = 0;  // query i sees keys 0..i + shift
  bool no_mask = false;
  bool first_head_only = false;  // backward of grouped heads: dK and dV without the other heads' share
  bool no_delta = false;         // dS = P * dP
  bool fp8_inputs = false;       // inputs rounded to four significant bits
  bool bf16_partials = false;    // GEMM: two halves of K, each rounded to BF16
  bool truncate = false;         // output cut off instead of rounded
  bool linear_exp = false;       // 2^f by 1 + f
};

inline float rounded(float value) { return static_cast<float>(bf16_value(bf16_from(value))); }

// e4m3's precision, without its range.
inline float four_bits(float value) {
  int exponent = 0;
  const float mantissa = std::frexp(value, &exponent);
  return std::ldexp(std::nearbyint(mantissa * 16), exponent - 4);
}

inline std::vector<float> floats(const HostTensor& tensor, const Faults& faults) {
  std::vector<float> values;
  for (const std::uint16_t bits : tensor.bf16()) {
    const float value = static_cast<float>(bf16_value(bits));
    values.push_back(faults.fp8_inputs ? four_bits(value) : value);
  }
  return values;
}

inline Bytes bf16_bytes(const std::vector<float>& values, const Faults& faults) {
  Bytes bytes(values.size() * 2);
  for (std::size_t i = 0; i < values.size(); ++i) {
    const float value = static_cast<float>(values[i] * faults.output);
    const std::uint16_t bits = faults.truncate ? std::bit_cast<std::uint32_t>(value) >> 16 : bf16_from(value);
    std::memcpy(bytes.data() + 2 * i, &bits, 2);
  }
  return bytes;
}

inline Bytes f32_bytes(const std::vector<float>& values) {
  Bytes bytes(values.size() * 4);
  std::memcpy(bytes.data(), values.data(), bytes.size());
  return bytes;
}

// Four chains, so that the compiler may use vectors; the order of a sum is a kernel's own choice.
inline float dot(const float* a, const float* b, std::int64_t count) {
  float sum[4] = {};
  std::int64_t i = 0;
  for (; i + 4 <= count; i += 4)
    for (int lane = 0; lane < 4; ++lane) sum[lane] += a[i + lane] * b[i + lane];
  for (; i < count; ++i) sum[0] += a[i] * b[i];
  return (sum[0] + sum[1]) + (sum[2] + sum[3]);
}

inline float exponential(float x, const Faults& faults) {
  if (!faults.linear_exp) return std::exp(x);
  const float power = x * 1.44269504f, whole = std::floor(power);
  return std::ldexp(1 + (power - whole), static_cast<int>(whole));
}

inline std::vector<Bytes> gemm(const Problem& p, const InputSet& in, const Faults& faults) {
  const auto a = floats(in.tensors[0], faults), b = floats(in.tensors[1], faults);
  std::vector<float> c(p.m * p.n);
  const std::int64_t k = p.k - faults.drop_k, half = faults.bf16_partials ? k / 2 : 0;
  for (std::int64_t i = 0; i < p.m; ++i)
    for (std::int64_t j = 0; j < p.n; ++j) {
      const float *x = &a[i * p.k], *y = &b[j * p.k];
      c[i * p.n + j] = half > 0 ? rounded(dot(x, y, half)) + rounded(dot(x + half, y + half, k - half)) : dot(x, y, k);
    }
  return {bf16_bytes(c, faults)};
}

inline std::int64_t keys_seen(const AttentionShape& s, std::int64_t i, const Faults& faults) {
  const std::int64_t keys = s.length - faults.drop_keys;
  return s.causal && !faults.no_mask ? std::max<std::int64_t>(0, std::min(keys, i + 1 + faults.mask_shift)) : keys;
}

inline std::vector<Bytes> forward(const Problem& problem, const InputSet& in, const Faults& faults) {
  const AttentionShape& s = problem.attention;
  const auto q = floats(in.tensors[0], faults), k = floats(in.tensors[1], faults), v = floats(in.tensors[2], faults);
  std::vector<float> o(q.size()), lse(s.rows()), weights(s.length), line(s.dim);
  const float scale = static_cast<float>(faults.scale / std::sqrt(static_cast<double>(s.dim)));
  for (std::int64_t row = 0; row < s.rows(); ++row) {
    const std::int64_t kv = row / s.length / s.group() * s.length, seen = keys_seen(s, row % s.length, faults);
    float maximum = -INFINITY, total = 0;
    for (std::int64_t j = 0; j < seen; ++j) {
      weights[j] = dot(&q[row * s.dim], &k[(kv + j) * s.dim], s.dim) * scale;
      maximum = std::max(maximum, weights[j]);
    }
    std::fill(line.begin(), line.end(), 0.0f);
    for (std::int64_t j = 0; j < seen; ++j) {
      const float weight = exponential(weights[j] - maximum, faults), narrow = rounded(weight);
      total += weight;
      for (std::int64_t d = 0; d < s.dim; ++d) line[d] += narrow * v[(kv + j) * s.dim + d];
    }
    for (std::int64_t d = 0; d < s.dim; ++d) o[row * s.dim + d] = line[d] / total;
    lse[row] = (maximum + std::log(total)) * (faults.lse_base2 ? 1.44269504f : 1.0f);
  }
  return {bf16_bytes(o, faults), f32_bytes(lse)};
}

inline std::vector<Bytes> backward(const Problem& problem, const InputSet& in, const Faults& faults) {
  const AttentionShape& s = problem.attention;
  const auto q = floats(in.tensors[0], faults), k = floats(in.tensors[1], faults), v = floats(in.tensors[2], faults),
             o = floats(in.tensors[3], {}), d_o = floats(in.tensors[4], faults);
  const auto lse = in.tensors[5].f32();
  std::vector<float> d_q(q.size()), d_k(k.size()), d_v(v.size());
  const float scale = static_cast<float>(faults.scale / std::sqrt(static_cast<double>(s.dim)));
  for (std::int64_t row = 0; row < s.rows(); ++row) {
    const std::int64_t kv = row / s.length / s.group() * s.length, seen = keys_seen(s, row % s.length, faults);
    const float *qi = &q[row * s.dim], *doi = &d_o[row * s.dim];
    const float delta = faults.no_delta ? 0 : dot(doi, &o[row * s.dim], s.dim);
    float* dqi = &d_q[row * s.dim];
    for (std::int64_t j = 0; j < seen; ++j) {
      const float *kj = &k[(kv + j) * s.dim], *vj = &v[(kv + j) * s.dim];
      const float p = std::exp(dot(qi, kj, s.dim) * scale - lse[row]);
      const float ds = rounded(p * (dot(doi, vj, s.dim) - delta)), narrow = rounded(p);
      float *dkj = &d_k[(kv + j) * s.dim], *dvj = &d_v[(kv + j) * s.dim];
      const bool shared = !faults.first_head_only || row / s.length % s.group() == 0;
      for (std::int64_t d = 0; d < s.dim; ++d) {
        dqi[d] += ds * kj[d];
        if (!shared) continue;
        dkj[d] += ds * qi[d];
        dvj[d] += narrow * doi[d];
      }
    }
    for (std::int64_t d = 0; d < s.dim; ++d) dqi[d] *= scale;
  }
  for (float& value : d_k) value *= scale;
  return {bf16_bytes(d_q, faults), bf16_bytes(d_k, faults), bf16_bytes(d_v, faults)};
}

inline std::vector<Bytes> outputs(const Problem& problem, const InputSet& in, const Faults& faults = {}) {
  switch (problem.operation) {
    case schema::Operation::kGemmNt: return gemm(problem, in, faults);
    case schema::Operation::kAttentionForward: return forward(problem, in, faults);
    case schema::Operation::kAttentionBackward: return backward(problem, in, faults);
  }
  return {};
}

inline Problem gemm_problem(std::int64_t m, std::int64_t n, std::int64_t k) {
  Problem problem;
  problem.m = m, problem.n = n, problem.k = k;
  return problem;
}

inline Problem attention_problem(const AttentionShape& shape, bool backward) {
  Problem problem;
  problem.operation = backward ? schema::Operation::kAttentionBackward : schema::Operation::kAttentionForward;
  problem.attention = shape;
  return problem;
}

// The outputs as the judge sees them.
inline std::vector<OutputView> views(const Problem& p, const std::vector<Bytes>& bytes,
                                     const std::vector<std::vector<double>>& expected) {
  const AttentionShape& s = p.attention;
  const std::vector<std::int64_t> query = {s.batch, s.heads, s.length, s.dim},
                                  key = {s.batch, s.kv_heads, s.length, s.dim};
  constexpr auto kBf16 = schema::DType::kBFloat16;
  switch (p.operation) {
    case schema::Operation::kGemmNt: return {{"C", kBf16, {p.m, p.n}, bytes[0], expected[0]}};
    case schema::Operation::kAttentionForward:
      return {{"O", kBf16, query, bytes[0], expected[0]},
              {"LSE", schema::DType::kFloat32, {s.batch, s.heads, s.length}, bytes[1], expected[1]}};
    case schema::Operation::kAttentionBackward:
      return {{"dQ", kBf16, query, bytes[0], expected[0]},
              {"dK", kBf16, key, bytes[1], expected[1]},
              {"dV", kBf16, key, bytes[2], expected[2]}};
  }
  return {};
}

}  // namespace ptxbench::judge::model
