#include "ptxbench/judge/compare.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <cstring>
#include <limits>

#include "ptxbench/base/check.h"
#include "ptxbench/judge/bf16.h"
#include "ptxbench/judge/diagnose.h"
#include "ptxbench/judge/ranges.h"

namespace ptxbench::judge {
namespace {

using schema::DType;
using schema::OutputFigures;

std::vector<std::int64_t> index_of(std::int64_t element, const std::vector<std::int64_t>& shape) {
  std::vector<std::int64_t> index(shape.size());
  for (std::size_t axis = shape.size(); axis-- > 0;) {
    index[axis] = element % shape[axis];
    element /= shape[axis];
  }
  return index;
}

// Sums of one row; finite elements only.
struct RowSums {
  double error = 0, reference = 0;  // squares
  bool finite = true;
  std::int64_t worst = -1;  // element with the largest error; a non-finite one beats all
  double worst_error = -1;
};

// Element counts and maxima that do not depend on the row measure.
RowSums take_row(const OutputView& output, std::int64_t row, OutputFigures& figures) {
  RowSums sums;
  const std::int64_t columns = output.columns();
  for (std::int64_t element = row * columns; element < (row + 1) * columns; ++element) {
    const double expected = output.expected[element], got = output.value(element);
    sums.reference += expected * expected;
    if (!std::isfinite(got)) {
      ++figures.non_finite;
      ++figures.paper_failing;
      ++figures.allclose_failing;
      if (output.poisoned(element) && figures.never_written++ == 0)
        figures.first_never_written = index_of(element, output.shape);
      if (sums.finite) sums.worst = element, sums.worst_error = std::numeric_limits<double>::infinity();
      sums.finite = false;
      continue;
    }
    const double error = std::fabs(got - expected), relative = error / (std::fabs(expected) + 1e-8);
    sums.error += error * error;
    if (error > sums.worst_error) sums.worst = element, sums.worst_error = error;
    figures.max_abs_error = std::max(figures.max_abs_error, error);
    figures.max_rel_error = std::max(figures.max_rel_error, relative);
    figures.paper_failing += !(error <= kPaperTolerance || relative <= kPaperTolerance);
    figures.allclose_failing += !(error <= kPaperTolerance + kPaperTolerance * std::fabs(expected));
  }
  return sums;
}

bool same_bits(const OutputView& output, std::int64_t element) {
  std::uint16_t bits;
  std::memcpy(&bits, output.bytes.data() + element * sizeof bits, sizeof bits);
  const std::uint16_t expected = bf16_from(output.expected[element]);
  return bits == expected || (((bits | expected) & 0x7fff) == 0);  // the sign of a zero sum depends on the order
}

// Root mean square of the part's row norms: the tensor's scale for the floor.
double row_scale(const OutputView& output, const RowRanges& rows) {
  double sum = 0;
  std::int64_t count = 0;
  const std::int64_t columns = output.columns();
  for (const auto& [first, last] : rows) {
    for (std::int64_t element = first * columns; element < last * columns; ++element)
      sum += output.expected[element] * output.expected[element];
    count += last - first;
  }
  return count > 0 ? std::sqrt(sum / static_cast<double>(count)) : 0;
}

// The row's figure under the strict rules, and whether it is good.
struct RowMeasure {
  double value = 0;
  bool good = false;
};

RowMeasure measure_row(const RowSums& sums, double scale, DType dtype) {
  if (!sums.finite) return {std::numeric_limits<double>::quiet_NaN(), false};
  const double error = std::sqrt(sums.error);
  if (dtype == DType::kFloat32) return {error, error <= kLseLimit};
  const double norm = std::max(std::sqrt(sums.reference), kRowFloor * scale);
  const double relative = error == 0 ? 0 : error / norm;
  return {relative, relative <= kRowLimit};
}

}  // namespace

double OutputView::value(std::int64_t element) const {
  if (dtype == DType::kFloat32) {
    float value;
    std::memcpy(&value, bytes.data() + element * sizeof value, sizeof value);
    return value;
  }
  std::uint16_t bits;
  std::memcpy(&bits, bytes.data() + element * sizeof bits, sizeof bits);
  return bf16_value(bits);
}

bool OutputView::poisoned(std::int64_t element) const {
  const std::size_t size = dtype == DType::kFloat32 ? 4 : 2;
  return std::memcmp(bytes.data() + element * size, &kPoison, size) == 0;
}

std::vector<FamilyPart> parts_of(const Problem& problem, const RunPlan& plan) {
  std::vector<FamilyPart> parts;
  for (std::size_t unit = 0; unit < plan.family_of_unit.size(); ++unit) {
    const Family family = plan.family_of_unit[unit];
    auto it = std::find_if(parts.begin(), parts.end(), [&](const FamilyPart& part) { return part.family == family; });
    if (it == parts.end()) it = parts.insert(parts.end(), {family, {}, ""});
    it->units.push_back(static_cast<std::int64_t>(unit));
  }
  const bool gemm = problem.operation == schema::Operation::kGemmNt;
  for (FamilyPart& part : parts) {
    const bool all = part.units.size() == plan.family_of_unit.size();
    const bool one = part.units.size() == 1;
    const char* unit = gemm                            ? (one ? "row" : "rows")
                       : problem.attention.group() > 1 ? (one ? "K/V head" : "K/V heads")
                                                       : (one ? "head" : "heads");
    part.where = all ? "all" : fmt::format("{} {}", unit, range_list(part.units));
  }
  return parts;
}

RowRanges rows_of(const OutputView& output, const FamilyPart& part, std::int64_t units) {
  const std::int64_t per_unit = output.elements() / output.columns() / units;
  RowRanges ranges;
  for (const std::int64_t unit : part.units) {
    if (!ranges.empty() && ranges.back().second == unit * per_unit) {
      ranges.back().second += per_unit;
    } else {
      ranges.emplace_back(unit * per_unit, (unit + 1) * per_unit);
    }
  }
  return ranges;
}

std::string describe(Family family, const Problem& problem) {
  const bool gemm = problem.operation == schema::Operation::kGemmNt;
  switch (family) {
    case Family::kNormal: return "N(0,1)";
    case Family::kInteger:
      return fmt::format("integers in [-{0}, {0}]: sums are exact, the output's bits are determined",
                         integer_amplitude(problem.k));
    case Family::kOffset: return "N(0,1) plus a mean that is not zero";
    case Family::kSpikes: return fmt::format("N(0,1) with one value in a thousand {} times larger", gemm ? 100 : 10);
    case Family::kScaled: return "N(0,1), each row of A times a power of two from 2^-12 to 2^12";
    case Family::kWide: return "N(0,1) with Q scaled up: wide logits";
    case Family::kSignature:
      return gemm ? "each row of A is one-hot, so that the row of C must equal one column of B"
                  : "each query matches one key only, so that its output must equal that key's V";
    case Family::kImpulse: return "N(0,1), dO one-hot in every other row and zero in the others";
  }
  return "";
}

OutputFigures figures_of(const OutputView& output, const RowRanges& rows, bool exact_bits) {
  PTXBENCH_CHECK(output.dtype == DType::kBFloat16 || output.dtype == DType::kFloat32, "output {} is {}", output.name,
                 to_string(output.dtype));
  OutputFigures figures;
  figures.output = output.name;
  const bool exact = exact_bits && output.dtype == DType::kBFloat16;
  figures.strict_measure = exact ? "exact bits" : output.dtype == DType::kFloat32 ? "absolute" : "row relative L2";
  figures.strict_limit = exact ? 0 : output.dtype == DType::kFloat32 ? kLseLimit : kRowLimit;
  const double scale = row_scale(output, rows);
  double error = 0, reference = 0, worst_value = -1;
  std::int64_t worst = -1;
  for (const auto& [first, last] : rows) {
    for (std::int64_t row = first; row < last; ++row) {
      const RowSums sums = take_row(output, row, figures);
      const RowMeasure measure = measure_row(sums, scale, output.dtype);
      error += sums.error;
      reference += sums.reference;
      ++figures.rows;
      figures.elements += output.columns();
      if (exact) {
        for (std::int64_t element = row * output.columns(); element < (row + 1) * output.columns(); ++element)
          figures.strict_failing += !same_bits(output, element);
      } else {
        figures.strict_failing += !measure.good;
      }
      const double rank = sums.finite ? measure.value : std::numeric_limits<double>::infinity();
      if (rank > worst_value) worst_value = rank, worst = sums.worst, figures.strict_worst = measure.value;
    }
  }
  if (exact && figures.elements > 0)
    figures.strict_worst = static_cast<double>(figures.strict_failing) / static_cast<double>(figures.elements);
  figures.rel_l2 = error == 0      ? 0
                   : reference > 0 ? std::sqrt(error / reference)
                                   : std::numeric_limits<double>::infinity();
  if (figures.non_finite > 0) {
    // A maximum over the finite elements alone would make an output of NaNs look flawless.
    figures.max_abs_error = figures.max_rel_error = figures.rel_l2 = std::numeric_limits<double>::quiet_NaN();
  }
  if (worst >= 0) figures.worst = {index_of(worst, output.shape), output.expected[worst], output.value(worst)};
  return figures;
}

std::vector<schema::FamilyFigures> compare_run(const Problem& problem, const RunPlan& plan, const InputSet& inputs,
                                               const std::vector<OutputView>& outputs, int run) {
  std::vector<schema::FamilyFigures> families;
  for (const FamilyPart& part : parts_of(problem, plan)) {
    schema::FamilyFigures family;
    family.family = std::string(to_string(part.family));
    family.what = describe(part.family, problem);
    family.run = run;
    family.part = part.where;
    family.paper_applies = part.family == Family::kNormal;
    family.paper_passed = family.strict_passed = true;
    for (const OutputView& output : outputs) {
      family.outputs.push_back(
          figures_of(output, rows_of(output, part, problem.units()), part.family == Family::kInteger));
      family.paper_passed &= family.outputs.back().paper_failing == 0;
      family.strict_passed &= family.outputs.back().strict_failing == 0;
    }
    if (!family.strict_passed || (family.paper_applies && !family.paper_passed))
      family.hints = diagnose(problem, part, inputs, outputs, family.outputs);
    families.push_back(std::move(family));
  }
  return families;
}

}  // namespace ptxbench::judge
