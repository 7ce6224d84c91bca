#include "ptxbench/judge/missing.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <set>

#include "ptxbench/judge/bf16.h"
#include "ptxbench/judge/gradient_hints.h"
#include "ptxbench/judge/ranges.h"
#include "ptxbench/judge/softmax_hints.h"

namespace ptxbench::judge {
namespace {

using schema::Operation;

constexpr std::int64_t kBlock = 16;      // the depth of one matrix instruction for 16-bit types
constexpr std::int64_t kSamples = 4096;  // output elements that a fit looks at

double row_error(const OutputView& output, std::int64_t row) {
  double error = 0, reference = 0;
  for (std::int64_t e = row * output.columns(); e < (row + 1) * output.columns(); ++e) {
    const double difference = output.value(e) - output.expected[e];
    error += difference * difference;
    reference += output.expected[e] * output.expected[e];
  }
  return reference > 0 ? std::sqrt(error / reference) : std::sqrt(error);
}

// The row with the largest relative error that is finite; -1 when none is bad.
std::int64_t worst_row(const OutputView& output, const RowRanges& rows) {
  std::int64_t worst = -1;
  double worst_error = kRowLimit;
  for (const auto& [first, last] : rows)
    for (std::int64_t row = first; row < last; ++row)
      if (const double error = row_error(output, row); std::isfinite(error) && error > worst_error)
        worst_error = error, worst = row;
  return worst;
}

std::int64_t ranges_in(const std::vector<std::int64_t>& sorted) {
  std::int64_t ranges = 0;
  for (std::size_t i = 0; i < sorted.size(); ++i) ranges += i == 0 || sorted[i] != sorted[i - 1] + 1;
  return ranges;
}

// One row of C: error = sum over k blocks of coefficient * (the block's share of the sum). The coefficient, estimated by
// projection over the columns, is -1 for a block left out and +1 for one added twice; the noise of the projection is
// about sqrt(blocks left out / columns).
void hint_k_blocks(const Problem& problem, const InputSet& inputs, const OutputView& output, const RowRanges& rows,
                   std::vector<std::string>& hints) {
  const std::int64_t row = worst_row(output, rows);
  if (row < 0) return;
  const auto a = inputs.tensors[0].bf16().subspan(row * problem.k, problem.k), b = inputs.tensors[1].bf16();
  const std::int64_t columns = std::min(problem.n, kSamples), blocks = (problem.k + kBlock - 1) / kBlock;
  std::vector<double> dot(blocks), norm(blocks);
  for (std::int64_t n = 0; n < columns; ++n) {
    const double error = output.value(row * problem.n + n) - output.expected[row * problem.n + n];
    for (std::int64_t block = 0; block < blocks; ++block) {
      double share = 0;
      for (std::int64_t k = block * kBlock; k < std::min(problem.k, (block + 1) * kBlock); ++k)
        share += bf16_value(a[k]) * bf16_value(b[n * problem.k + k]);
      dot[block] += error * share;
      norm[block] += share * share;
    }
  }
  std::vector<std::int64_t> missing, doubled;
  for (std::int64_t block = 0; block < blocks; ++block) {
    const double coefficient = norm[block] > 0 ? dot[block] / norm[block] : 0;
    auto& list = coefficient < 0 ? missing : doubled;
    if (std::fabs(std::fabs(coefficient) - 1) > 0.25) continue;
    for (std::int64_t k = block * kBlock; k < std::min(problem.k, (block + 1) * kBlock); ++k) list.push_back(k);
  }
  // Errors of another kind project on some blocks by chance: many short ranges, or most of the sum, are no pattern.
  if (2 * static_cast<std::int64_t>(missing.size() + doubled.size()) > problem.k) return;
  if (ranges_in(missing) + ranges_in(doubled) > 4) return;
  if (!missing.empty())
    hints.push_back(fmt::format("{}: row {} lacks the products of k = {}", output.name, row, range_list(missing)));
  if (!doubled.empty())
    hints.push_back(fmt::format("{}: row {} has the products of k = {} twice", output.name, row, range_list(doubled)));
}

// Rows that must return one row of an input: those that do not name what is skipped.
void hint_signature(const Problem& problem, const InputSet& inputs, const OutputView& output, const RowRanges& rows,
                    std::vector<std::string>& hints) {
  std::set<std::int64_t> bad, good;
  for (const auto& [first, last] : rows)
    for (std::int64_t row = first; row < last; ++row) {
      const std::int64_t target = inputs.signature[row];
      if (target < 0) continue;
      const double error = row_error(output, row);
      (std::isfinite(error) && error <= kRowLimit ? good : bad).insert(target);
    }
  std::vector<std::int64_t> never;
  std::set_difference(bad.begin(), bad.end(), good.begin(), good.end(), std::back_inserter(never));
  if (never.empty() || good.empty()) return;
  const bool gemm = problem.operation == Operation::kGemmNt;
  hints.push_back(fmt::format("{}: no row that must pick {} {} does so: is it skipped, or read from the wrong place?",
                              output.name, gemm ? "k =" : "key", range_list(never)));
}

}  // namespace

void hint_missing(const Problem& problem, const FamilyPart& part, const InputSet& inputs, const OutputView& output,
                  const RowRanges& rows, std::vector<std::string>& hints) {
  const bool gemm = problem.operation == Operation::kGemmNt;
  const bool rows_are_queries = gemm || (problem.operation == Operation::kAttentionForward && output.columns() > 1);
  if (part.family == Family::kSignature && rows_are_queries)
    hint_signature(problem, inputs, output, rows, hints);
  else if (gemm)
    hint_k_blocks(problem, inputs, output, rows, hints);
  else if (rows_are_queries)
    hint_softmax(problem, inputs, output, rows, hints);
  else if (problem.operation == Operation::kAttentionBackward)
    hint_gradient(problem, inputs, output, rows, hints);
}

}  // namespace ptxbench::judge
