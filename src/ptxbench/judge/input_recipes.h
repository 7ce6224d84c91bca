// How each row of each input is drawn: the families of inputs.h as recipes that both the CPU (inputs.cc) and the judge's
// own kernel (trusted/trusted.cu) carry out, with the same bits.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "ptxbench/judge/inputs.h"
#include "ptxbench/judge/trusted/params.h"

namespace ptxbench::judge {

// A bf16 tensor [rows][columns]: row r is drawn by units[r / unit_rows].
struct InputRecipe {
  std::int64_t rows = 0, columns = 0, unit_rows = 0;
  std::vector<trusted::UnitRecipe> units;
  std::int64_t amplitude = 0;            // kIntegers
  std::int64_t group = 1;                // kPointed: query heads per head of the keys
  bool causal = false;                   // kPointed
  PhiloxStream values, spikes, per_row;  // per_row: what is drawn once per row or unit
};

// Per input of the definition; nullopt for O and L of attention backward, which are computed from the others.
std::vector<std::optional<InputRecipe>> input_recipes(const Problem& problem, const RunPlan& plan, std::uint64_t seed,
                                                      int run);

// kOnes, kOddOnes: the column of the 1 in a row; -1: none.
std::int64_t one_column(const InputRecipe& recipe, std::int64_t row);
// kPointed: the key that a row points at. Without a mask every key once; with one, half of the rows point at themselves and
// the others at any earlier key.
std::int64_t pointed_key(const InputRecipe& recipe, std::int64_t row);

// N(0,1) from 16 random bits: the middle of each of 65536 equally likely intervals. The tails end at 4.3; the family
// "spikes" has the large values.
const std::vector<float>& normal_table();
const std::vector<std::uint16_t>& normal_bf16_table();

}  // namespace ptxbench::judge
