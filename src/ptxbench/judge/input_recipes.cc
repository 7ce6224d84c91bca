#include "ptxbench/judge/input_recipes.h"

#include <cmath>
#include <numeric>

#include "ptxbench/judge/bf16.h"

namespace ptxbench::judge {
namespace {

using trusted::Draw;
using trusted::UnitRecipe;

// Inverse of the normal distribution function by Newton steps from a near value.
double normal_quantile(double probability, double near) {
  for (int i = 0; i < 8; ++i) {
    const double excess = 0.5 * std::erfc(-near / std::sqrt(2.0)) - probability;
    near -= excess * std::sqrt(2 * M_PI) * std::exp(near * near / 2);
  }
  return near;
}

// One tensor in one run, without its units.
InputRecipe recipe_of(std::uint64_t seed, int run, int tensor, std::int64_t rows, std::int64_t columns,
                      std::int64_t unit_rows) {
  enum Purpose : std::uint64_t { kValues, kSpikes, kRows };
  const std::uint64_t base = ((run + 1ull) << 32) | (tensor << 8);
  return {rows,
          columns,
          unit_rows,
          {},
          0,
          1,
          false,
          PhiloxStream(seed, base | kValues),
          PhiloxStream(seed, base | kSpikes),
          PhiloxStream(seed, base | kRows)};
}

UnitRecipe gemm_unit(Family family, const InputRecipe& a, std::int64_t row) {
  switch (family) {
    case Family::kInteger: return {Draw::kIntegers};
    case Family::kOffset: return {Draw::kAffine, 0, 1, 1};
    case Family::kSpikes: return {Draw::kSpikes, 0, 100, 0};
    case Family::kScaled:
      return {Draw::kAffine, 0, std::ldexp(1.0, static_cast<int>(a.per_row.below(row, 25)) - 12), 0};
    case Family::kSignature: return {Draw::kOnes};
    default: return {};
  }
}

std::vector<std::optional<InputRecipe>> gemm_recipes(const Problem& problem, const RunPlan& plan, std::uint64_t seed,
                                                     int run) {
  InputRecipe a = recipe_of(seed, run, 0, problem.m, problem.k, 1),
              b = recipe_of(seed, run, 1, problem.n, problem.k, problem.n);
  a.amplitude = b.amplitude = integer_amplitude(problem.k);
  for (std::int64_t row = 0; row < problem.m; ++row) a.units.push_back(gemm_unit(plan.family_of_unit[row], a, row));
  b.units.push_back({plan.family_of_unit.front() == Family::kInteger ? Draw::kIntegers : Draw::kNormal});
  return {std::move(a), std::move(b)};
}

enum class Role { kQuery, kKey, kValue, kGradient };

UnitRecipe affine(double factor, double mean) { return {Draw::kAffine, 0, factor, mean}; }

UnitRecipe attention_unit(Family family, Role role, bool backward, const InputRecipe& tensor, std::int64_t head) {
  constexpr double kWideSigma[] = {4, 8, 16, 30};
  switch (family) {
    case Family::kSpikes: return {Draw::kSpikes, 0, 10, 0};
    case Family::kWide:
      if (role == Role::kQuery) return affine(backward ? 3.0 : kWideSigma[tensor.per_row.below(head, 4)], 0);
      return {};
    case Family::kOffset:
      // A constant part of Q . K cancels in the softmax but not in the LSE.
      if (role == Role::kKey) return affine(1, backward ? 0.25 : 1.0);
      if (role == Role::kValue) return affine(1, backward ? 0.5 : 2.0);
      return affine(1, 0.25);
    case Family::kSignature: {
      if (role == Role::kKey) return {Draw::kSigns};
      if (role != Role::kQuery) return {};
      // Q = 8 code(key): the key's scaled score is 8 sqrt(D), the others' have a standard deviation of 8, so that for
      // D >= 64 the row returns that key's V.
      const std::int64_t length = tensor.unit_rows;
      std::int64_t step = 1 + static_cast<std::int64_t>(tensor.per_row.below(head, length));
      while (std::gcd(step, length) != 1) step = step % length + 1;
      return {Draw::kPointed, static_cast<std::int32_t>(step)};
    }
    case Family::kImpulse: return {role == Role::kGradient ? Draw::kOddOnes : Draw::kNormal};
    default: return {};
  }
}

std::vector<std::optional<InputRecipe>> attention_recipes(const Problem& problem, const RunPlan& plan,
                                                          std::uint64_t seed, int run) {
  const AttentionShape& shape = problem.attention;
  const bool backward = problem.operation == schema::Operation::kAttentionBackward;
  const auto tensor = [&](Role role, int index) {
    const bool queries = role == Role::kQuery || role == Role::kGradient;
    const std::int64_t heads = shape.batch * (queries ? shape.heads : shape.kv_heads);
    InputRecipe recipe = recipe_of(seed, run, index, heads * shape.length, shape.dim, shape.length);
    recipe.group = shape.group();
    recipe.causal = shape.causal;
    for (std::int64_t head = 0; head < heads; ++head) {
      const Family family = plan.family_of_unit[queries ? head / shape.group() : head];
      recipe.units.push_back(attention_unit(family, role, backward, recipe, head));
    }
    return recipe;
  };
  std::vector<std::optional<InputRecipe>> recipes = {tensor(Role::kQuery, 0), tensor(Role::kKey, 1),
                                                     tensor(Role::kValue, 2)};
  if (backward) {
    recipes.emplace_back();  // O
    recipes.push_back(tensor(Role::kGradient, 4));
    recipes.emplace_back();  // L
  }
  return recipes;
}

}  // namespace

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

const std::vector<std::uint16_t>& normal_bf16_table() {
  static const std::vector<std::uint16_t> table = [] {
    std::vector<std::uint16_t> bits;
    for (const float value : normal_table()) bits.push_back(bf16_from(value));
    return bits;
  }();
  return table;
}

std::vector<std::optional<InputRecipe>> input_recipes(const Problem& problem, const RunPlan& plan, std::uint64_t seed,
                                                      int run) {
  return problem.operation == schema::Operation::kGemmNt ? gemm_recipes(problem, plan, seed, run)
                                                         : attention_recipes(problem, plan, seed, run);
}

std::int64_t one_column(const InputRecipe& recipe, std::int64_t row) {
  const Draw draw = recipe.units[row / recipe.unit_rows].draw;
  if (draw == Draw::kOddOnes && row % recipe.unit_rows % 2 == 0) return -1;
  return static_cast<std::int64_t>(recipe.per_row.below(row, recipe.columns));
}

std::int64_t pointed_key(const InputRecipe& recipe, std::int64_t row) {
  const std::int64_t head = row / recipe.unit_rows, i = row % recipe.unit_rows;
  if (!recipe.causal) return (i * recipe.units[head].step + head) % recipe.unit_rows;
  return i % 2 == head % 2 ? i : static_cast<std::int64_t>(recipe.per_row.below(row, i + 1));
}

}  // namespace ptxbench::judge
