#include "ptxbench/judge/gradient_hints.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <span>

#include "ptxbench/judge/bf16.h"
#include "ptxbench/judge/reference.h"

namespace ptxbench::judge {
namespace {

constexpr std::int64_t kLongest = 2048;  // one variant takes as long as the head's reference

struct Gradients {
  std::vector<double> d_q, d_k, d_v;
};

// One head of K and V with its query heads.
class Group {
 public:
  Group(const AttentionShape& shape, const InputSet& inputs, std::int64_t kv) : shape_(shape) {
    const std::int64_t size = shape.length * shape.dim, queries = shape.group();
    const auto take = [&](int tensor, std::int64_t first, std::int64_t count) {
      std::vector<double> values;
      for (const std::uint16_t bits : inputs.tensors[tensor].bf16().subspan(first * size, count * size))
        values.push_back(bf16_value(bits));
      return values;
    };
    q_ = take(0, kv * queries, queries), k_ = take(1, kv, 1), v_ = take(2, kv, 1);
    o_ = take(3, kv * queries, queries), d_o_ = take(4, kv * queries, queries);
    const auto lse = inputs.tensors[5].f32().subspan(kv * queries * shape.length, queries * shape.length);
    lse_.assign(lse.begin(), lse.end());
  }

  // heads: how many of the query heads are summed into dK and dV.
  Gradients compute(bool causal, bool with_delta, std::int64_t heads) const {
    const std::int64_t size = shape_.length * shape_.dim;
    Gradients g{std::vector<double>(q_.size()), std::vector<double>(size), std::vector<double>(size)};
    const std::vector<double> nothing(size);
    for (std::int64_t head = 0; head < heads; ++head) {
      const double* o = with_delta ? &o_[head * size] : nothing.data();  // rowsum(dO * 0) = 0
      attention_backward_head(shape_.length, shape_.dim, causal, &q_[head * size], k_.data(), v_.data(), o,
                              &d_o_[head * size], &lse_[head * shape_.length], &g.d_q[head * size], g.d_k.data(),
                              g.d_v.data());
    }
    return g;
  }

 private:
  const AttentionShape shape_;
  std::vector<double> q_, k_, v_, o_, d_o_, lse_;
};

// The output's elements of one K/V head against a variant.
bool agrees(const OutputView& output, std::int64_t first, std::span<const double> variant) {
  double error = 0, norm = 0;
  for (std::size_t i = 0; i < variant.size(); ++i) {
    const double got = output.value(first + static_cast<std::int64_t>(i)), difference = got - variant[i];
    error += difference * difference;
    norm += got * got;
  }
  return norm > 0 && error < kRowLimit * kRowLimit * norm;
}

}  // namespace

void hint_gradient(const Problem& problem, const InputSet& inputs, const OutputView& output, const RowRanges& rows,
                   std::vector<std::string>& hints) {
  const AttentionShape& shape = problem.attention;
  if (shape.length > kLongest || rows.empty()) return;
  const std::int64_t per_head = output.elements() / (shape.batch * shape.kv_heads);
  const std::int64_t kv = rows.front().first * output.columns() / per_head, first = kv * per_head;
  const Group group(shape, inputs, kv);
  const auto part = [&](const Gradients& g) -> std::span<const double> {
    return output.name.ends_with("K") ? g.d_k : output.name.ends_with("V") ? g.d_v : g.d_q;
  };
  const auto matches = [&](bool causal, bool delta, std::int64_t heads) {
    return agrees(output, first, part(group.compute(causal, delta, heads)));
  };
  if (!output.name.ends_with("V") && matches(shape.causal, false, shape.group())) {
    hints.push_back(
        fmt::format("{} is what comes without delta: dS = P * (dP - rowsum(dO * O)), not P * dP", output.name));
  } else if (shape.causal && matches(false, true, shape.group())) {
    hints.push_back(fmt::format("{} is what comes without the causal mask", output.name));
  } else if (shape.group() > 1 && !output.name.ends_with("Q") && matches(shape.causal, true, 1)) {
    hints.push_back(fmt::format("{} holds the first query head's share only: sum over the {} query heads of a K/V head",
                                output.name, shape.group()));
  }
}

}  // namespace ptxbench::judge
