// DeviceWorkbench's inputs: the recipes of input_recipes.h as launches of our kernel.
#include <algorithm>

#include "ptxbench/judge/input_recipes.h"
#include "ptxbench/judge/workbench.h"
#include "ptxbench/judge/workbench_memory.h"

namespace ptxbench::judge {
namespace {

constexpr std::uint32_t kThreads = 256;

wire::Dim3 grid_for(std::int64_t threads) {
  constexpr std::int64_t kMostBlocks = 2048;
  return {static_cast<std::uint32_t>(std::min(kMostBlocks, (threads + kThreads - 1) / kThreads)), 1, 1};
}

// Units that are all alike as one, so that a timed call has no list to send.
void merge_units(InputRecipe& recipe) {
  const trusted::UnitRecipe first = recipe.units.front();
  const bool alike = std::all_of(recipe.units.begin(), recipe.units.end(), [&](const trusted::UnitRecipe& unit) {
    return unit.draw == first.draw && unit.factor == first.factor && unit.mean == first.mean;
  });
  if (!alike || first.draw >= trusted::Draw::kOnes) return;  // those look at the row's place in its unit
  recipe.units.resize(1);
  recipe.unit_rows = recipe.rows;
}

}  // namespace

bool DeviceWorkbench::can_draw(const Problem& problem) {
  return (problem.operation == schema::Operation::kGemmNt ? problem.k : problem.attention.dim) % 8 == 0;
}

Status DeviceWorkbench::draw_input(Memory& memory, const InputRecipe& recipe, std::uint64_t out, std::uint64_t keys) {
  trusted::InputParams p{};
  PTXBENCH_TRY(p.units, memory.upload(std::as_bytes(std::span(recipe.units))));
  p.out = out, p.normal = normal_, p.narrow = narrow_, p.keys = keys;
  p.rows = recipe.rows, p.columns = recipe.columns, p.unit_rows = recipe.unit_rows;
  p.amplitude = recipe.amplitude, p.group = recipe.group, p.causal = recipe.causal ? 1 : 0;
  const auto copy = [](const auto& from, std::uint32_t(&to)[2]) { std::copy(from.begin(), from.end(), to); };
  copy(recipe.values.key(), p.key);
  copy(recipe.values.number(), p.values);
  copy(recipe.spikes.number(), p.spikes);
  copy(recipe.per_row.number(), p.per_row);
  return launch(kernels_.inputs, grid_for(recipe.rows * recipe.columns / 8), kThreads, p);
}

// The O and L that a forward pass gives, rounded to what the tensors hold.
Status DeviceWorkbench::draw_forward(const AttentionShape& shape, std::span<const std::uint64_t> inputs) {
  Memory memory(queue_);
  PTXBENCH_TRY(const std::vector<Block> made, forward_at(memory, shape, inputs[0], inputs[1], inputs[2]));
  const auto round = [&](const Block& from, std::uint64_t to, bool f32) {
    const auto elements = static_cast<std::int64_t>(from.elements);
    return launch(kernels_.round, grid_for(elements), kThreads,
                  trusted::RoundParams{from.address, to, elements, f32 ? 1 : 0});
  };
  PTXBENCH_TRY_STATUS(round(made[0], inputs[3], false));
  PTXBENCH_TRY_STATUS(round(made[1], inputs[5], true));
  return memory.flush();  // before the memory goes
}

Status DeviceWorkbench::draw_inputs(const Problem& problem, const RunPlan& plan, std::span<const std::uint64_t> inputs,
                                    std::uint64_t seed, int run, Forward forward) {
  if (!can_draw(problem))
    return fail(ErrorKind::kUnsupported,
                "inputs whose rows are no whole blocks of 8 elements cannot be drawn on a device");
  Memory memory(queue_, &kept_);
  for (auto [table, bytes] : {std::pair{&normal_, std::as_bytes(std::span(normal_table()))},
                              std::pair{&narrow_, std::as_bytes(std::span(normal_bf16_table()))}}) {
    if (*table != 0) continue;
    PTXBENCH_TRY(const wire::AddressReply block, trusted_result(queue_.call(wire::Alloc{bytes.size()})));
    *table = block.address;
    PTXBENCH_TRY_STATUS(trusted_result(queue_.write(*table, bytes)));
  }
  std::vector<std::optional<InputRecipe>> recipes = input_recipes(problem, plan, seed, run);
  constexpr std::size_t kKeys = 1;  // drawn first: queries may point at them
  std::vector<std::size_t> order(recipes.size());
  for (std::size_t i = 0; i < order.size(); ++i) order[i] = i == 0 ? kKeys : i == kKeys ? 0 : i;
  for (const std::size_t i : order) {
    if (!recipes[i]) continue;
    merge_units(*recipes[i]);
    PTXBENCH_TRY_STATUS(draw_input(memory, *recipes[i], inputs[i], inputs[kKeys]));
  }
  if (problem.operation == schema::Operation::kAttentionBackward && forward == Forward::kComputed)
    return draw_forward(problem.attention, inputs);
  return {};
}

}  // namespace ptxbench::judge
