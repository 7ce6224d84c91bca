// Outputs against the reference, under both rule sets.
//
// paper:  an element fails if its absolute error exceeds 1e-2 and its relative error, abs / (|ref| + 1e-8), does too.
// strict: BF16 outputs by rows (last axis): ||out - ref|| <= 8e-3 max(||ref||, 1e-2 rms of the part's row norms); the
//         floor is for rows whose exact value is zero. FP32 outputs (LSE): absolute error <= 1e-3 per element. Outputs of
//         the integer family: the bits of the exact value rounded to nearest even.
// Under both an element is good only if it is finite; there is no matched ratio.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <span>
#include <string>
#include <vector>

#include "ptxbench/judge/inputs.h"
#include "ptxbench/judge/problem.h"
#include "ptxbench/judge/trusted/params.h"
#include "ptxbench/schema/definition.h"
#include "ptxbench/schema/verdict.h"

namespace ptxbench::judge {

inline constexpr double kPaperTolerance = 1e-2;
inline constexpr double kRowLimit = 8e-3;
inline constexpr double kRowFloor = 1e-2;
inline constexpr double kLseLimit = 1e-3;

// What outputs are filled with before a run: a signalling NaN in bf16 and binary32 that no instruction produces.
inline constexpr std::uint32_t kPoison = 0xffa5ffa5;

using trusted::RowRecord;

struct OutputShape {
  std::string name;
  schema::DType dtype = schema::DType::kBFloat16;  // kBFloat16 or kFloat32
  std::vector<std::int64_t> shape;

  std::int64_t elements() const;
  // Last axis; 1 where every element counts for itself (FP32 outputs).
  std::int64_t columns() const { return dtype == schema::DType::kFloat32 ? 1 : shape.back(); }
};

// One output tensor of a run.
struct OutputView : OutputShape {
  OutputView(std::string tensor_name, schema::DType type, std::vector<std::int64_t> extents,
             std::span<const std::byte> contents, std::span<const double> reference)
      : OutputShape{std::move(tensor_name), type, std::move(extents)}, bytes(contents), expected(reference) {}

  std::span<const std::byte> bytes;
  std::span<const double> expected;

  double value(std::int64_t element) const;
  bool poisoned(std::int64_t element) const;
};

// The rows of an output that belong to one family: [first, last) pairs in units of columns().
using RowRanges = std::vector<std::pair<std::int64_t, std::int64_t>>;

struct FamilyPart {
  Family family = Family::kNormal;
  std::vector<std::int64_t> units;
  std::string where;  // "all", "rows 8-15 and 40-47", "head 2"
};
std::vector<FamilyPart> parts_of(const Problem& problem, const RunPlan& plan);

RowRanges rows_of(const OutputShape& output, const FamilyPart& part, std::int64_t units);

// The family's meaning in words.
std::string describe(Family family, const Problem& problem);

// One row's part of the figures: what a device reports per row, and what the CPU makes itself.
RowRecord record_of(const OutputView& output, std::int64_t row);

// records: one per row of `rows`, in their order.
schema::OutputFigures add_up(const OutputShape& output, const RowRanges& rows, std::span<const RowRecord> records,
                             bool exact_bits);

schema::OutputFigures figures_of(const OutputView& output, const RowRanges& rows, bool exact_bits);

// Every family of one run. figures: of one output on one part; hints: asked for where something is wrong.
using PartFigures = std::function<schema::OutputFigures(std::size_t output, const FamilyPart& part)>;
using PartHints =
    std::function<std::vector<std::string>(const FamilyPart& part, const std::vector<schema::OutputFigures>& figures)>;
std::vector<schema::FamilyFigures> judge_families(const Problem& problem, const RunPlan& plan, int run,
                                                  std::size_t outputs, const PartFigures& figures,
                                                  const PartHints& hints);

// The same from outputs and expected values that are both here.
std::vector<schema::FamilyFigures> compare_run(const Problem& problem, const RunPlan& plan, const InputSet& inputs,
                                               const std::vector<OutputView>& outputs, int run);

}  // namespace ptxbench::judge
