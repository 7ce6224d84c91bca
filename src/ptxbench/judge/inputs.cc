#include "ptxbench/judge/inputs.h"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <numeric>

#include "ptxbench/base/check.h"
#include "ptxbench/judge/bf16.h"
#include "ptxbench/judge/parallel.h"
#include "ptxbench/judge/philox.h"

namespace ptxbench::judge {
namespace {

using schema::Operation;

// Inverse of the normal distribution function by Newton steps from a near value.
double normal_quantile(double probability, double near) {
  for (int i = 0; i < 8; ++i) {
    const double excess = 0.5 * std::erfc(-near / std::sqrt(2.0)) - probability;
    near -= excess * std::sqrt(2 * M_PI) * std::exp(near * near / 2);
  }
  return near;
}

// N(0,1) from 16 random bits: the middle of each of 65536 equally likely intervals. The tails end at 4.3; the family
// "spikes" has the large values.
const std::vector<float>& normal_table() {
  static const std::vector<float> table = [] {
    std::vector<float> values(1 << 16);
    double quantile = 0;
    for (int i = (1 << 15) - 1; i >= 0; --i) {  // from the middle outwards: each starts from its neighbour
      quantile = normal_quantile((i + 0.5) / 65536, quantile);
      values[i] = static_cast<float>(quantile);
      values[65535 - i] = -values[i];
    }
    return values;
  }();
  return table;
}

// Random streams of one tensor in one run.
class TensorRandom {
 public:
  enum Purpose { kValues, kSpikes, kRows };
  TensorRandom(std::uint64_t seed, int run, int tensor) : seed_(seed), base_(((run + 1ull) << 32) | (tensor << 8)) {}
  PhiloxStream stream(Purpose purpose) const { return {seed_, base_ | purpose}; }

 private:
  std::uint64_t seed_, base_;
};

// Calls set(column, sixteen random bits) for a row; rows use disjoint blocks of the stream.
template <class Set>
void random_row(const PhiloxStream& stream, std::int64_t row, std::int64_t columns, Set&& set) {
  const std::int64_t blocks = (columns + 7) / 8, whole = columns / 8;
  const auto half = [](const PhiloxBlock& words, std::int64_t i) { return (words[i / 2] >> (i % 2 * 16)) & 0xffff; };
  for (std::int64_t b = 0; b < whole; ++b) {
    const PhiloxBlock words = stream.block(row * blocks + b);
#pragma GCC unroll 8
    for (std::int64_t i = 0; i < 8; ++i) set(8 * b + i, half(words, i));
  }
  if (whole == blocks) return;
  const PhiloxBlock words = stream.block(row * blocks + whole);
  for (std::int64_t i = 0; i < columns - 8 * whole; ++i) set(8 * whole + i, half(words, i));
}

// Sixteen random bits to an integer in [-amplitude, amplitude], as bf16: exact, for up to 8 bits.
std::vector<std::uint16_t> integer_table(std::int64_t amplitude) {
  std::vector<std::uint16_t> table(1 << 16);
  for (std::int64_t bits = 0; bits < 1 << 16; ++bits)
    table[bits] = bf16_from(static_cast<double>((bits * (2 * amplitude + 1) >> 16) - amplitude));
  return table;
}

void table_row(const PhiloxStream& stream, std::int64_t row, const std::vector<std::uint16_t>& table,
               std::span<std::uint16_t> out) {
  const std::uint16_t* values = table.data();
  random_row(stream, row, out.size(), [&](std::int64_t i, std::uint32_t bits) { out[i] = values[bits]; });
}

// factor * z + mean, rounded to bf16.
void affine_row(const PhiloxStream& stream, std::int64_t row, double factor, double mean,
                std::span<std::uint16_t> out) {
  const float* table = normal_table().data();
  random_row(stream, row, out.size(),
             [&](std::int64_t i, std::uint32_t bits) { out[i] = bf16_from(factor * table[bits] + mean); });
}

void normal_row(const PhiloxStream& stream, std::int64_t row, std::span<std::uint16_t> out) {
  table_row(stream, row, normal_bf16_table(), out);
}

void spiky_row(const TensorRandom& random, std::int64_t row, double factor, std::span<std::uint16_t> out) {
  normal_row(random.stream(TensorRandom::kValues), row, out);
  random_row(random.stream(TensorRandom::kSpikes), row, out.size(), [&](std::int64_t i, std::uint32_t bits) {
    if (bits < 66) out[i] = bf16_from(factor * bf16_value(out[i]));  // one in a thousand
  });
}

void code_row(const PhiloxStream& stream, std::int64_t row, std::span<std::uint16_t> out) {
  random_row(stream, row, out.size(),
             [&](std::int64_t i, std::uint32_t bits) { out[i] = bits & 1 ? 0x3f80 : 0xbf80; });  // +1 or -1
}

HostTensor tensor_of(std::int64_t elements, std::size_t element_bytes = sizeof(std::uint16_t)) {
  return {std::vector<std::byte>(elements * element_bytes)};
}

std::span<std::uint16_t> bf16_of(HostTensor& tensor) {
  return {reinterpret_cast<std::uint16_t*>(tensor.bytes.data()), tensor.bytes.size() / sizeof(std::uint16_t)};
}

constexpr std::int64_t kChunk = 64;  // rows per parallel step

InputSet make_gemm(const Problem& problem, const RunPlan& plan, std::uint64_t seed, int run, unsigned threads) {
  InputSet set;
  set.tensors.push_back(tensor_of(problem.m * problem.k));
  set.tensors.push_back(tensor_of(problem.n * problem.k));
  set.signature.assign(problem.m, -1);
  const auto a = bf16_of(set.tensors[0]), b = bf16_of(set.tensors[1]);
  const std::int64_t k = problem.k;
  const std::vector<std::uint16_t> integers = integer_table(integer_amplitude(k));
  const TensorRandom a_random(seed, run, 0), b_random(seed, run, 1);
  const PhiloxStream values = a_random.stream(TensorRandom::kValues), rows = a_random.stream(TensorRandom::kRows);
  parallel_for(problem.m, threads, [&](std::int64_t row) {
    const auto out = a.subspan(row * k, k);
    switch (plan.family_of_unit[row]) {
      case Family::kInteger: return table_row(values, row, integers, out);
      case Family::kOffset: return affine_row(values, row, 1, 1, out);
      case Family::kSpikes: return spiky_row(a_random, row, 100, out);
      case Family::kScaled:
        return affine_row(values, row, std::ldexp(1.0, static_cast<int>(rows.below(row, 25)) - 12), 0, out);
      case Family::kSignature:
        set.signature[row] = static_cast<std::int64_t>(rows.below(row, k));
        out[set.signature[row]] = 0x3f80;  // 1
        return;
      default: return normal_row(values, row, out);
    }
  });
  const std::vector<std::uint16_t>& table =
      plan.family_of_unit.front() == Family::kInteger ? integers : normal_bf16_table();
  parallel_for((problem.n + kChunk - 1) / kChunk, threads, [&](std::int64_t chunk) {
    const PhiloxStream stream = b_random.stream(TensorRandom::kValues);
    for (std::int64_t row = chunk * kChunk; row < std::min(problem.n, (chunk + 1) * kChunk); ++row)
      table_row(stream, row, table, b.subspan(row * k, k));
  });
  return set;
}

// Factor and mean of a head's elements, z -> factor z + mean.
struct Affine {
  double factor = 1, mean = 0;
};

enum class Role { kQuery, kKey, kValue, kGradient };

Affine affine_of(Family family, Role role, bool backward, const PhiloxStream& rows, std::int64_t head) {
  constexpr double kWideSigma[] = {4, 8, 16, 30};
  if (family == Family::kWide && role == Role::kQuery) return {backward ? 3.0 : kWideSigma[rows.below(head, 4)], 0};
  if (family == Family::kOffset) {
    // A constant part of Q . K cancels in the softmax but not in the LSE.
    if (role == Role::kQuery) return {1, 0.25};
    if (role == Role::kKey) return {1, backward ? 0.25 : 1.0};
    if (role == Role::kValue) return {1, backward ? 0.5 : 2.0};
    return {1, 0.25};
  }
  return {};
}

// One head of one tensor.
void attention_head(Family family, Role role, bool backward, const TensorRandom& random, std::int64_t head,
                    std::int64_t length, std::span<std::uint16_t> out) {
  const std::int64_t dim = static_cast<std::int64_t>(out.size()) / length;
  const PhiloxStream values = random.stream(TensorRandom::kValues), rows = random.stream(TensorRandom::kRows);
  const Affine affine = affine_of(family, role, backward, rows, head);
  for (std::int64_t i = 0; i < length; ++i) {
    const std::int64_t row = head * length + i;
    const auto line = out.subspan(i * dim, dim);
    if (family == Family::kSpikes) {
      spiky_row(random, row, 10, line);
    } else if (family == Family::kSignature && role == Role::kKey) {
      code_row(values, row, line);
    } else if (family == Family::kImpulse && role == Role::kGradient) {
      if (i % 2 == 1) line[rows.below(row, dim)] = 0x3f80;
    } else if (affine.factor != 1 || affine.mean != 0) {
      affine_row(values, row, affine.factor, affine.mean, line);
    } else {
      normal_row(values, row, line);
    }
  }
}

// The key that each query row of a signature head points at. Without a mask every key once; with one, half of the rows
// point at themselves and the others at any earlier key.
std::int64_t pointed_key(const PhiloxStream& rows, std::int64_t head, std::int64_t i, std::int64_t length,
                         bool causal) {
  if (causal) return i % 2 == head % 2 ? i : static_cast<std::int64_t>(rows.below(head * length + i, i + 1));
  std::int64_t step = 1 + static_cast<std::int64_t>(rows.below(head, length));
  while (std::gcd(step, length) != 1) step = step % length + 1;
  return (i * step + head) % length;
}

// Q = 8 code(key): the key's scaled score is 8 sqrt(D), the others' have a standard deviation of 8, so that for D >= 64
// the row returns that key's V.
void point_queries(const AttentionShape& shape, const RunPlan& plan, const TensorRandom& random,
                   std::span<const std::uint16_t> k, std::span<std::uint16_t> q, std::vector<std::int64_t>& signature) {
  const PhiloxStream rows = random.stream(TensorRandom::kRows);
  for (std::int64_t head = 0; head < shape.batch * shape.heads; ++head) {
    const std::int64_t kv = head / shape.group();
    if (plan.family_of_unit[kv] != Family::kSignature) continue;
    for (std::int64_t i = 0; i < shape.length; ++i) {
      const std::int64_t key = pointed_key(rows, head, i, shape.length, shape.causal), row = head * shape.length + i;
      signature[row] = key;
      for (std::int64_t d = 0; d < shape.dim; ++d)
        q[row * shape.dim + d] = k[(kv * shape.length + key) * shape.dim + d] + 0x0180;  // exponent + 3: times 8
    }
  }
}

InputSet make_attention(const Problem& problem, const RunPlan& plan, std::uint64_t seed, int run, unsigned threads) {
  const AttentionShape& shape = problem.attention;
  const bool backward = problem.operation == Operation::kAttentionBackward;
  const std::int64_t head_elements = shape.length * shape.dim;
  InputSet set;
  set.signature.assign(shape.rows(), -1);
  const auto fill = [&](HostTensor& tensor, Role role, int index) {
    const bool queries = role == Role::kQuery || role == Role::kGradient;
    const auto out = bf16_of(tensor);
    const TensorRandom random(seed, run, index);
    parallel_for(static_cast<std::int64_t>(out.size()) / head_elements, threads, [&](std::int64_t head) {
      const Family family = plan.family_of_unit[queries ? head / shape.group() : head];
      attention_head(family, role, backward, random, head, shape.length,
                     out.subspan(head * head_elements, head_elements));
    });
  };
  set.tensors = {tensor_of(shape.query_elements()), tensor_of(shape.key_elements()), tensor_of(shape.key_elements())};
  fill(set.tensors[0], Role::kQuery, 0);
  fill(set.tensors[1], Role::kKey, 1);
  fill(set.tensors[2], Role::kValue, 2);
  point_queries(shape, plan, TensorRandom(seed, run, 0), set.tensors[1].bf16(), bf16_of(set.tensors[0]), set.signature);
  if (!backward) return set;

  std::vector<double> o(shape.query_elements()), lse(shape.rows());
  attention_forward_reference(shape, set.tensors[0].bf16(), set.tensors[1].bf16(), set.tensors[2].bf16(), o, lse,
                              threads);
  HostTensor o_tensor = tensor_of(shape.query_elements()), d_o = tensor_of(shape.query_elements()),
             lse_tensor = tensor_of(shape.rows(), sizeof(float));
  std::transform(o.begin(), o.end(), bf16_of(o_tensor).begin(), bf16_from);
  fill(d_o, Role::kGradient, 4);
  for (std::size_t i = 0; i < lse.size(); ++i) {
    const float narrow = static_cast<float>(lse[i]);
    std::memcpy(lse_tensor.bytes.data() + i * sizeof narrow, &narrow, sizeof narrow);
  }
  set.tensors.push_back(std::move(o_tensor));
  set.tensors.push_back(std::move(d_o));
  set.tensors.push_back(std::move(lse_tensor));
  return set;
}

}  // namespace

const std::vector<std::uint16_t>& normal_bf16_table() {
  static const std::vector<std::uint16_t> table = [] {
    std::vector<std::uint16_t> bits;
    for (const float value : normal_table()) bits.push_back(bf16_from(value));
    return bits;
  }();
  return table;
}

PhiloxStream normal_stream(std::uint64_t seed, int run, int tensor) {
  return TensorRandom(seed, run, tensor).stream(TensorRandom::kValues);
}

std::span<const std::uint16_t> HostTensor::bf16() const {
  return {reinterpret_cast<const std::uint16_t*>(bytes.data()), bytes.size() / sizeof(std::uint16_t)};
}

std::span<const float> HostTensor::f32() const {
  return {reinterpret_cast<const float*>(bytes.data()), bytes.size() / sizeof(float)};
}

InputSet make_inputs(const Problem& problem, const RunPlan& plan, std::uint64_t seed, int run, unsigned threads) {
  PTXBENCH_CHECK(static_cast<std::int64_t>(plan.family_of_unit.size()) == problem.units(), "a plan for {} of {} units",
                 plan.family_of_unit.size(), problem.units());
  return problem.operation == Operation::kGemmNt ? make_gemm(problem, plan, seed, run, threads)
                                                 : make_attention(problem, plan, seed, run, threads);
}

std::vector<std::vector<double>> make_reference(const Problem& problem, const InputSet& inputs, unsigned threads) {
  const auto& t = inputs.tensors;
  std::vector<std::vector<double>> expected;
  if (problem.operation == Operation::kGemmNt) {
    expected.emplace_back(problem.m * problem.n);
    gemm_nt_reference(problem.m, problem.n, problem.k, t[0].bf16(), t[1].bf16(), expected[0], threads);
    return expected;
  }
  const AttentionShape& shape = problem.attention;
  expected.emplace_back(shape.query_elements());
  if (problem.operation == Operation::kAttentionForward) {
    expected.emplace_back(shape.rows());
    attention_forward_reference(shape, t[0].bf16(), t[1].bf16(), t[2].bf16(), expected[0], expected[1], threads);
    return expected;
  }
  expected.emplace_back(shape.key_elements());
  expected.emplace_back(shape.key_elements());
  attention_backward_reference(shape, {t[0].bf16(), t[1].bf16(), t[2].bf16(), t[3].bf16(), t[4].bf16(), t[5].f32()},
                               expected[0], expected[1], expected[2], threads);
  return expected;
}

}  // namespace ptxbench::judge
