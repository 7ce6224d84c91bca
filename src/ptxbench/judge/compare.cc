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

bool same_bits(const OutputView& output, std::int64_t element) {
  std::uint16_t bits;
  std::memcpy(&bits, output.bytes.data() + element * sizeof bits, sizeof bits);
  const std::uint16_t expected = bf16_from(output.expected[element]);
  return bits == expected || (((bits | expected) & 0x7fff) == 0);  // the sign of a zero sum depends on the order
}

// Root mean square of the part's row norms: the tensor's scale for the floor.
double row_scale(std::span<const RowRecord> records) {
  double sum = 0;
  for (const RowRecord& record : records) sum += record.reference;
  return records.empty() ? 0 : std::sqrt(sum / static_cast<double>(records.size()));
}

// The row's figure under the strict rules, and whether it is good.
struct RowMeasure {
  double value = 0;
  bool good = false;
};

RowMeasure measure_row(const RowRecord& sums, double scale, DType dtype) {
  if (sums.non_finite > 0) return {std::numeric_limits<double>::quiet_NaN(), false};
  const double error = std::sqrt(sums.error);
  if (dtype == DType::kFloat32) return {error, error <= kLseLimit};
  const double norm = std::max(std::sqrt(sums.reference), kRowFloor * scale);
  const double relative = error == 0 ? 0 : error / norm;
  return {relative, relative <= kRowLimit};
}

}  // namespace

std::int64_t OutputShape::elements() const {
  std::int64_t count = 1;
  for (const std::int64_t extent : shape) count *= extent;
  return count;
}

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

RowRanges rows_of(const OutputShape& output, const FamilyPart& part, std::int64_t units) {
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

RowRecord record_of(const OutputView& output, std::int64_t row) {
  RowRecord record;
  const std::int64_t columns = output.columns();
  double worst_error = -1;
  for (std::int64_t column = 0; column < columns; ++column) {
    const std::int64_t element = row * columns + column;
    const double expected = output.expected[element], got = output.value(element);
    record.reference += expected * expected;
    if (output.dtype == DType::kBFloat16) record.other_bits += !same_bits(output, element);
    if (!std::isfinite(got)) {
      if (record.non_finite++ == 0) record.worst_column = column, worst_error = HUGE_VAL;
      if (output.poisoned(element) && record.never_written++ == 0) record.first_never_written = column;
      continue;
    }
    const double error = std::fabs(got - expected), relative = error / (std::fabs(expected) + 1e-8);
    record.error += error * error;
    if (error > worst_error) record.worst_column = column, worst_error = error;
    record.max_abs_error = std::max(record.max_abs_error, error);
    record.max_rel_error = std::max(record.max_rel_error, relative);
    record.paper_failing += !(error <= kPaperTolerance || relative <= kPaperTolerance);
    record.allclose_failing += !(error <= kPaperTolerance + kPaperTolerance * std::fabs(expected));
  }
  record.paper_failing += record.non_finite;
  record.allclose_failing += record.non_finite;
  const std::int64_t worst = row * columns + record.worst_column;
  record.worst_expected = output.expected[worst];
  record.worst_got = output.value(worst);
  return record;
}

OutputFigures add_up(const OutputShape& output, const RowRanges& rows, std::span<const RowRecord> records,
                     bool exact_bits) {
  OutputFigures figures;
  figures.output = output.name;
  const bool exact = exact_bits && output.dtype == DType::kBFloat16;
  figures.strict_measure = exact ? "exact bits" : output.dtype == DType::kFloat32 ? "absolute" : "row relative L2";
  figures.strict_limit = exact ? 0 : output.dtype == DType::kFloat32 ? kLseLimit : kRowLimit;
  const double scale = row_scale(records);
  double error = 0, reference = 0, worst_value = -1;
  auto next = records.begin();
  for (const auto& [first, last] : rows) {
    for (std::int64_t row = first; row < last; ++row) {
      const RowRecord& record = *next++;
      const RowMeasure measure = measure_row(record, scale, output.dtype);
      error += record.error;
      reference += record.reference;
      if (record.never_written > 0 && figures.never_written == 0)
        figures.first_never_written = index_of(row * output.columns() + record.first_never_written, output.shape);
      figures.non_finite += record.non_finite;
      figures.never_written += record.never_written;
      figures.paper_failing += record.paper_failing;
      figures.allclose_failing += record.allclose_failing;
      figures.max_abs_error = std::max(figures.max_abs_error, record.max_abs_error);
      figures.max_rel_error = std::max(figures.max_rel_error, record.max_rel_error);
      ++figures.rows;
      figures.elements += output.columns();
      figures.strict_failing += exact ? record.other_bits : !measure.good;
      const double rank = record.non_finite == 0 ? measure.value : std::numeric_limits<double>::infinity();
      if (rank > worst_value) {
        worst_value = rank, figures.strict_worst = measure.value;
        figures.worst = {index_of(row * output.columns() + record.worst_column, output.shape), record.worst_expected,
                         record.worst_got};
      }
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
  return figures;
}

OutputFigures figures_of(const OutputView& output, const RowRanges& rows, bool exact_bits) {
  PTXBENCH_CHECK(output.dtype == DType::kBFloat16 || output.dtype == DType::kFloat32, "output {} is {}", output.name,
                 to_string(output.dtype));
  std::vector<RowRecord> records;
  for (const auto& [first, last] : rows)
    for (std::int64_t row = first; row < last; ++row) records.push_back(record_of(output, row));
  return add_up(output, rows, records, exact_bits);
}

std::vector<schema::FamilyFigures> judge_families(const Problem& problem, const RunPlan& plan, int run,
                                                  std::size_t outputs, const PartFigures& figures,
                                                  const PartHints& hints) {
  std::vector<schema::FamilyFigures> families;
  for (const FamilyPart& part : parts_of(problem, plan)) {
    schema::FamilyFigures family;
    family.family = std::string(to_string(part.family));
    family.what = describe(part.family, problem);
    family.run = run;
    family.part = part.where;
    family.paper_applies = part.family == Family::kNormal;
    family.paper_passed = family.strict_passed = true;
    for (std::size_t output = 0; output < outputs; ++output) {
      family.outputs.push_back(figures(output, part));
      family.paper_passed &= family.outputs.back().paper_failing == 0;
      family.strict_passed &= family.outputs.back().strict_failing == 0;
    }
    if (!family.strict_passed || (family.paper_applies && !family.paper_passed))
      family.hints = hints(part, family.outputs);
    families.push_back(std::move(family));
  }
  return families;
}

std::vector<schema::FamilyFigures> compare_run(const Problem& problem, const RunPlan& plan, const InputSet& inputs,
                                               const std::vector<OutputView>& outputs, int run) {
  return judge_families(
      problem, plan, run, outputs.size(),
      [&](std::size_t i, const FamilyPart& part) {
        return figures_of(outputs[i], rows_of(outputs[i], part, problem.units()), part.family == Family::kInteger);
      },
      [&](const FamilyPart& part, const std::vector<OutputFigures>& figures) {
        return diagnose(problem, part, inputs, outputs, figures);
      });
}

}  // namespace ptxbench::judge
