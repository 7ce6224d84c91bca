#include "ptxbench/judge/inputs.h"

#include <algorithm>
#include <cmath>
#include <cstring>

#include "ptxbench/base/check.h"
#include "ptxbench/judge/bf16.h"
#include "ptxbench/judge/input_recipes.h"
#include "ptxbench/judge/parallel.h"
#include "ptxbench/judge/philox.h"

namespace ptxbench::judge {
namespace {

using schema::Operation;
using trusted::Draw;

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

constexpr std::uint16_t kOne = 0x3f80;  // bf16

// kPointed rows are left out: they need the keys.
void draw_row(const InputRecipe& recipe, std::int64_t row, std::span<std::uint16_t> out) {
  const trusted::UnitRecipe& unit = recipe.units[row / recipe.unit_rows];
  const auto each = [&](auto&& value) {
    random_row(recipe.values, row, recipe.columns, [&](std::int64_t i, std::uint32_t bits) { out[i] = value(bits); });
  };
  const std::uint16_t* narrow = normal_bf16_table().data();
  const float* z = normal_table().data();
  switch (unit.draw) {
    case Draw::kNormal: return each([&](std::uint32_t bits) { return narrow[bits]; });
    case Draw::kIntegers:
      return each([&](std::uint32_t bits) {  // exact, for up to 8 bits
        return bf16_from(static_cast<double>((bits * (2 * recipe.amplitude + 1) >> 16) - recipe.amplitude));
      });
    case Draw::kAffine: return each([&](std::uint32_t bits) { return bf16_from(unit.factor * z[bits] + unit.mean); });
    case Draw::kSpikes:
      each([&](std::uint32_t bits) { return narrow[bits]; });
      return random_row(recipe.spikes, row, recipe.columns, [&](std::int64_t i, std::uint32_t bits) {
        if (bits < 66) out[i] = bf16_from(unit.factor * bf16_value(out[i]));  // one in a thousand
      });
    case Draw::kSigns:
      return each([](std::uint32_t bits) { return static_cast<std::uint16_t>(bits & 1 ? kOne : kOne | 0x8000); });
    case Draw::kOnes:
    case Draw::kOddOnes:
      std::fill(out.begin(), out.end(), 0);
      if (const std::int64_t column = one_column(recipe, row); column >= 0) out[column] = kOne;
      return;
    case Draw::kPointed: return;
  }
}

HostTensor tensor_of(std::int64_t elements, std::size_t element_bytes = sizeof(std::uint16_t)) {
  return {std::vector<std::byte>(elements * element_bytes)};
}

std::span<std::uint16_t> bf16_of(HostTensor& tensor) {
  return {reinterpret_cast<std::uint16_t*>(tensor.bytes.data()), tensor.bytes.size() / sizeof(std::uint16_t)};
}

HostTensor draw(const InputRecipe& recipe, unsigned threads) {
  constexpr std::int64_t kChunk = 64;  // rows per parallel step
  HostTensor tensor = tensor_of(recipe.rows * recipe.columns);
  const auto out = bf16_of(tensor);
  parallel_for((recipe.rows + kChunk - 1) / kChunk, threads, [&](std::int64_t chunk) {
    for (std::int64_t row = chunk * kChunk; row < std::min(recipe.rows, (chunk + 1) * kChunk); ++row)
      draw_row(recipe, row, out.subspan(row * recipe.columns, recipe.columns));
  });
  return tensor;
}

void point_queries(const InputRecipe& queries, std::span<const std::uint16_t> keys, std::span<std::uint16_t> out,
                   std::vector<std::int64_t>& signature) {
  const std::int64_t length = queries.unit_rows, dim = queries.columns;
  for (std::int64_t row = 0; row < queries.rows; ++row) {
    const std::int64_t head = row / length;
    if (queries.units[head].draw != Draw::kPointed) continue;
    const std::int64_t key = signature[row] = pointed_key(queries, row);
    const std::int64_t from = head / queries.group * length + key;
    for (std::int64_t d = 0; d < dim; ++d) out[row * dim + d] = keys[from * dim + d] + 0x0180;  // exponent + 3: times 8
  }
}

// O and L of a forward pass, in the definition's order of backward's inputs.
void add_forward(const AttentionShape& shape, InputSet& set, unsigned threads) {
  std::vector<double> o(shape.query_elements()), lse(shape.rows());
  attention_forward_reference(shape, set.tensors[0].bf16(), set.tensors[1].bf16(), set.tensors[2].bf16(), o, lse,
                              threads);
  HostTensor o_tensor = tensor_of(shape.query_elements()), lse_tensor = tensor_of(shape.rows(), sizeof(float));
  std::transform(o.begin(), o.end(), bf16_of(o_tensor).begin(), bf16_from);
  for (std::size_t i = 0; i < lse.size(); ++i) {
    const float narrow = static_cast<float>(lse[i]);
    std::memcpy(lse_tensor.bytes.data() + i * sizeof narrow, &narrow, sizeof narrow);
  }
  set.tensors[3] = std::move(o_tensor);
  set.tensors[5] = std::move(lse_tensor);
}

}  // namespace

std::span<const std::uint16_t> HostTensor::bf16() const {
  return {reinterpret_cast<const std::uint16_t*>(bytes.data()), bytes.size() / sizeof(std::uint16_t)};
}

std::span<const float> HostTensor::f32() const {
  return {reinterpret_cast<const float*>(bytes.data()), bytes.size() / sizeof(float)};
}

InputSet make_inputs(const Problem& problem, const RunPlan& plan, std::uint64_t seed, int run, unsigned threads) {
  PTXBENCH_CHECK(static_cast<std::int64_t>(plan.family_of_unit.size()) == problem.units(), "a plan for {} of {} units",
                 plan.family_of_unit.size(), problem.units());
  const std::vector<std::optional<InputRecipe>> recipes = input_recipes(problem, plan, seed, run);
  InputSet set;
  for (const auto& recipe : recipes) set.tensors.push_back(recipe ? draw(*recipe, threads) : HostTensor{});
  const InputRecipe& first = *recipes.front();  // A or Q
  set.signature.assign(first.rows, -1);
  if (problem.operation == Operation::kGemmNt) {
    for (std::int64_t row = 0; row < first.rows; ++row)
      if (first.units[row].draw == Draw::kOnes) set.signature[row] = one_column(first, row);
    return set;
  }
  point_queries(first, set.tensors[1].bf16(), bf16_of(set.tensors[0]), set.signature);
  if (problem.operation == Operation::kAttentionBackward) add_forward(problem.attention, set, threads);
  return set;
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
