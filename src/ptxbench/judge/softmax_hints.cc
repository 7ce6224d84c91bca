#include "ptxbench/judge/softmax_hints.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <span>

#include "ptxbench/judge/bf16.h"
#include "ptxbench/judge/reference.h"

namespace ptxbench::judge {
namespace {

constexpr std::size_t kRowsLookedAt = 48;
constexpr double kExplained = 0.9;  // share of the squared error that an explanation must cover

// One query row that is wrong, with everything that an explanation needs. Keys past the causal mask are included: a
// kernel may have used them.
struct Row {
  std::int64_t query = 0;               // position in the head
  std::vector<double> error, expected;  // [D]
  std::vector<double> scores, weights;  // [S]: scaled scores, exp(score - lse)
  double squared = 0;                   // ||error||^2
};

class HeadView {
 public:
  HeadView(const Problem& problem, const InputSet& inputs, const OutputView& output, std::int64_t head)
      : shape_(problem.attention), output_(output), head_(head) {
    const std::int64_t size = shape_.length * shape_.dim, kv = head / shape_.group();
    q_ = inputs.tensors[0].bf16().subspan(head * size, size);
    k_ = inputs.tensors[1].bf16().subspan(kv * size, size);
    v_ = inputs.tensors[2].bf16().subspan(kv * size, size);
  }

  const AttentionShape& shape() const { return shape_; }
  double v(std::int64_t key, std::int64_t d) const { return bf16_value(v_[key * shape_.dim + d]); }

  Row row(std::int64_t query) const {
    Row row;
    row.query = query;
    const std::int64_t dim = shape_.dim, first = (head_ * shape_.length + query) * dim;
    for (std::int64_t d = 0; d < dim; ++d) {
      row.expected.push_back(output_.expected[first + d]);
      row.error.push_back(output_.value(first + d) - row.expected.back());
      row.squared += row.error.back() * row.error.back();
    }
    double maximum = -INFINITY, sum = 0;
    for (std::int64_t key = 0; key < shape_.length; ++key) {
      double dot = 0;
      for (std::int64_t d = 0; d < dim; ++d) dot += bf16_value(q_[query * dim + d]) * bf16_value(k_[key * dim + d]);
      row.scores.push_back(dot / std::sqrt(static_cast<double>(dim)));
      if (visible(query, key)) maximum = std::max(maximum, row.scores.back());
    }
    for (std::int64_t key = 0; key < shape_.length; ++key)
      if (visible(query, key)) sum += std::exp(row.scores[key] - maximum);
    for (const double score : row.scores) row.weights.push_back(std::exp(score - maximum) / sum);
    return row;
  }
  bool visible(std::int64_t query, std::int64_t key) const { return !shape_.causal || key <= query; }

 private:
  const AttentionShape shape_;
  const OutputView& output_;
  const std::int64_t head_;
  std::span<const std::uint16_t> q_, k_, v_;
};

// The wrong rows of the head that has the first one; empty when too few are finite.
std::vector<std::int64_t> wrong_queries(const OutputView& output, const RowRanges& rows, std::int64_t length,
                                        std::int64_t& head) {
  std::vector<std::int64_t> queries;
  const std::int64_t columns = output.columns();
  for (const auto& [first, last] : rows)
    for (std::int64_t row = first; row < last; ++row) {
      if (!queries.empty() && row / length != head) return queries;
      double error = 0, reference = 0;
      for (std::int64_t e = row * columns; e < (row + 1) * columns; ++e) {
        const double difference = output.value(e) - output.expected[e];
        error += difference * difference;
        reference += output.expected[e] * output.expected[e];
      }
      if (std::isfinite(error) && error > kRowLimit * kRowLimit * reference) {
        head = row / length;
        queries.push_back(row % length);
      }
    }
  return queries;
}

// Projection of the errors on what one cause predicts, summed over rows: 1 when the cause is the whole story.
struct Fit {
  double dot = 0, norm = 0;
  void add(const Row& row, double factor, const std::vector<double>& direction) {
    for (std::size_t d = 0; d < direction.size(); ++d) {
      dot += row.error[d] * factor * direction[d];
      norm += factor * factor * direction[d] * direction[d];
    }
  }
  double coefficient() const { return norm > 0 ? dot / norm : 0; }
  // Share of the squared errors that vanishes when the fitted cause is taken out.
  double explained(double squared) const { return squared > 0 ? dot * coefficient() / squared : 0; }
};

std::vector<double> towards(const HeadView& head, const Row& row, std::int64_t key) {
  std::vector<double> direction;
  for (std::int64_t d = 0; d < head.shape().dim; ++d) direction.push_back(head.v(key, d) - row.expected[d]);
  return direction;
}

// Sums over the keys before each key, so that any run of keys is a difference of two.
struct Prefix {
  std::vector<double> weight, value;  // [S + 1], [S + 1][D]
};

Prefix prefix_of(const HeadView& head, const Row& row) {
  const std::int64_t length = head.shape().length, dim = head.shape().dim;
  Prefix prefix{std::vector<double>(length + 1), std::vector<double>((length + 1) * dim)};
  for (std::int64_t key = 0; key < length; ++key) {
    const double p = head.visible(row.query, key) ? row.weights[key] : 0;
    prefix.weight[key + 1] = prefix.weight[key] + p;
    for (std::int64_t d = 0; d < dim; ++d)
      prefix.value[(key + 1) * dim + d] = prefix.value[key * dim + d] + p * head.v(key, d);
  }
  return prefix;
}

// Whether the row is what remains without keys [first, last), (O - sum p v) / (1 - sum p), or with them twice,
// (O + sum p v) / (1 + sum p): sign is -1 or +1.
bool row_agrees(const Row& row, const Prefix& prefix, std::int64_t first, std::int64_t last, double sign) {
  const double total = 1 + sign * (prefix.weight[last] - prefix.weight[first]);
  const std::size_t dim = row.expected.size();
  double error = 0, reference = 0;
  for (std::size_t d = 0; d < dim; ++d) {
    const double part = prefix.value[last * dim + d] - prefix.value[first * dim + d];
    const double got = row.expected[d] + row.error[d], difference = got - (row.expected[d] + sign * part) / total;
    error += difference * difference;
    reference += got * got;
  }
  return total > 1e-6 && error <= kRowLimit * kRowLimit * reference;
}

// The shortest run of keys that explains every row. Most runs are refuted by the first row.
bool hint_keys(const HeadView& head, const std::vector<Row>& rows, const std::string& name,
               std::vector<std::string>& hints) {
  std::vector<Prefix> prefixes;
  const std::size_t used = std::min<std::size_t>(rows.size(), 12);
  const auto sample = [&](std::size_t i) -> const Row& {
    return rows[i * (rows.size() - 1) / (used - 1)];
  };  // with both ends
  for (std::size_t i = 0; i < used; ++i) prefixes.push_back(prefix_of(head, sample(i)));
  const std::int64_t length = head.shape().length;
  const std::int64_t longest =
      std::min(length / 2, (std::int64_t{1} << 18) / length);  // bounds the time for long heads
  for (std::int64_t keys = 1; keys <= longest; ++keys)
    for (std::int64_t first = 0; first + keys <= length; ++first)
      for (const double sign : {-1.0, 1.0}) {
        bool all = true;
        for (std::size_t i = 0; i < used && all; ++i)
          all = row_agrees(sample(i), prefixes[i], first, first + keys, sign);
        if (!all) continue;
        const std::string which =
            keys == 1 ? fmt::format("key {} had", first) : fmt::format("keys {}-{} had", first, first + keys - 1);
        hints.push_back(fmt::format("{} looks as if {} been {}", name, which,
                                    sign < 0 ? "left out of the softmax" : "counted twice"));
        return true;
      }
  return false;
}

// The key at a fixed distance from the diagonal: one too many, or the query's own one too few.
bool hint_mask(const HeadView& head, const std::vector<Row>& rows, const std::string& name, double squared,
               std::vector<std::string>& hints) {
  if (!head.shape().causal) return false;
  Fit beyond, diagonal;
  for (const Row& row : rows) {
    if (row.query + 1 < head.shape().length) {
      const double p = row.weights[row.query + 1];
      beyond.add(row, p / (1 + p), towards(head, row, row.query + 1));
    }
    const double p = row.weights[row.query];
    if (p < 0.999) diagonal.add(row, -p / (1 - p), towards(head, row, row.query));
  }
  if (beyond.explained(squared) > kExplained) {
    hints.push_back(fmt::format("{} looks as if query i had seen key i + 1: the causal mask is one too far", name));
  } else if (diagonal.explained(squared) > kExplained) {
    hints.push_back(fmt::format("{} looks as if query i had not seen key i: the causal mask is one too short", name));
  } else {
    return false;
  }
  return true;
}

// Scores times f = 1 + x: to first order O changes by x sum p_j s_j (v_j - O).
bool hint_scale(const HeadView& head, const std::vector<Row>& rows, const std::string& name, double squared,
                std::vector<std::string>& hints) {
  Fit fit;
  for (const Row& row : rows) {
    std::vector<double> direction(head.shape().dim);
    for (std::int64_t key = 0; key < head.shape().length; ++key) {
      if (!head.visible(row.query, key)) continue;
      const double factor = row.weights[key] * row.scores[key];
      for (std::int64_t d = 0; d < head.shape().dim; ++d) direction[d] += factor * (head.v(key, d) - row.expected[d]);
    }
    fit.add(row, 1, direction);
  }
  if (fit.explained(squared) < kExplained) return false;
  hints.push_back(fmt::format("{} looks as if the scores were {:.3g} times too large: check the scale 1/sqrt(D)", name,
                              1 + fit.coefficient()));
  return true;
}

// Softmax of scores times `factor`, over all keys or the visible ones, against what came; the whole row must agree.
bool agrees(const HeadView& head, const std::vector<Row>& rows, double factor, bool masked) {
  double error = 0, reference = 0;
  for (const Row& row : rows) {
    double maximum = -INFINITY, sum = 0;
    std::vector<double> out(head.shape().dim);
    for (std::int64_t key = 0; key < head.shape().length; ++key)
      if (!masked || head.visible(row.query, key)) maximum = std::max(maximum, factor * row.scores[key]);
    for (std::int64_t key = 0; key < head.shape().length; ++key) {
      if (masked && !head.visible(row.query, key)) continue;
      const double weight = std::exp(factor * row.scores[key] - maximum);
      sum += weight;
      for (std::int64_t d = 0; d < head.shape().dim; ++d) out[d] += weight * head.v(key, d);
    }
    for (std::int64_t d = 0; d < head.shape().dim; ++d) {
      const double got = row.expected[d] + row.error[d], difference = got - out[d] / sum;
      error += difference * difference;
      reference += got * got;
    }
  }
  return error < kRowLimit * kRowLimit * reference;
}

bool hint_variant(const HeadView& head, const std::vector<Row>& rows, const std::string& name,
                  std::vector<std::string>& hints) {
  const double root = std::sqrt(static_cast<double>(head.shape().dim));
  const std::pair<double, const char*> factors[] = {
      {root, "the scale 1/sqrt(D) were missing"},
      {1 / root, "the scale 1/sqrt(D) were applied twice"},
      {std::log(2.0), "exp2 had been used on scores that were not multiplied by log2(e)"},
      {1 / std::log(2.0), "the scores had been multiplied by log2(e) and then exponentiated to base e"},
  };
  if (head.shape().causal && agrees(head, rows, 1, false)) {
    hints.push_back(fmt::format("{} is what attention without the causal mask gives", name));
    return true;
  }
  for (const auto& [factor, meaning] : factors)
    if (agrees(head, rows, factor, true)) {
      hints.push_back(fmt::format("{} looks as if {}", name, meaning));
      return true;
    }
  return false;
}

}  // namespace

void hint_softmax(const Problem& problem, const InputSet& inputs, const OutputView& output, const RowRanges& rows,
                  std::vector<std::string>& hints) {
  std::int64_t head_index = 0;
  std::vector<std::int64_t> queries = wrong_queries(output, rows, problem.attention.length, head_index);
  if (queries.size() < 2) return;
  const HeadView head(problem, inputs, output, head_index);
  // Spread over the head, so that every key of a causal head has queries behind it.
  const std::size_t step = std::max<std::size_t>(1, queries.size() / kRowsLookedAt);
  std::vector<Row> looked_at;
  double squared = 0;
  for (std::size_t i = (queries.size() - 1) % step; i < queries.size();
       i += step) {  // the last one is always among them
    looked_at.push_back(head.row(queries[i]));
    squared += looked_at.back().squared;
  }
  // From the most specific to the most general; each must fit by itself.
  if (hint_variant(head, looked_at, output.name, hints) || hint_mask(head, looked_at, output.name, squared, hints) ||
      hint_scale(head, looked_at, output.name, squared, hints))
    return;
  hint_keys(head, looked_at, output.name, hints);
}

}  // namespace ptxbench::judge
