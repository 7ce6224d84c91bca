#include "ptxbench/judge/diagnose.h"

#include <fmt/format.h>

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstring>
#include <optional>
#include <set>

#include "ptxbench/judge/bf16.h"
#include "ptxbench/judge/missing.h"
#include "ptxbench/judge/ranges.h"

namespace ptxbench::judge {
namespace {

using schema::DType;
using schema::Operation;

// The rows of an output that a part covers, seen as positions (rows of C, or positions in a head) by columns. Heads are
// laid on top of each other: a kernel's tiles are the same in each.
struct Plane {
  const OutputView& output;
  RowRanges rows;
  std::int64_t positions = 0, columns = 0;
  std::string position_name, column_name;

  std::int64_t position_of(std::int64_t row) const { return row % positions; }
};

Plane plane_of(const Problem& problem, const FamilyPart& part, const OutputView& output) {
  const bool gemm = problem.operation == Operation::kGemmNt;
  const std::int64_t positions = gemm ? problem.m : problem.attention.length;
  return {output, rows_of(output, part, problem.units()), positions, output.columns(), "row", "column"};
}

// Positions and columns at which a predicate holds, over all rows of the plane.
struct Mask {
  std::set<std::int64_t> positions, columns, heads;
  std::int64_t count = 0, total = 0;
};

template <class Predicate>
Mask mask_of(const Plane& plane, Predicate&& holds) {
  Mask mask;
  for (const auto& [first, last] : plane.rows)
    for (std::int64_t row = first; row < last; ++row)
      for (std::int64_t column = 0; column < plane.columns; ++column, ++mask.total)
        if (holds(row, row * plane.columns + column)) {
          ++mask.count;
          mask.positions.insert(plane.position_of(row));
          mask.columns.insert(column);
          mask.heads.insert(row / plane.positions);
        }
  return mask;
}

std::vector<std::int64_t> list(const std::set<std::int64_t>& set) { return {set.begin(), set.end()}; }

// "columns 64-127 of all rows", "rows 448-511", "3 scattered elements".
std::string place(const Plane& plane, const Mask& mask) {
  if (mask.count == mask.total) return "every element";
  std::set<std::int64_t> possible, head_set;  // the part's own positions and heads
  for (const auto& [first, last] : plane.rows)
    for (std::int64_t row = first; row < last; ++row)
      possible.insert(plane.position_of(row)), head_set.insert(row / plane.positions);
  const bool all_rows = mask.positions == possible;
  const bool all_columns = static_cast<std::int64_t>(mask.columns.size()) == plane.columns;
  const std::string rows = describe_indices(list(mask.positions), plane.positions, "row", "rows");
  const std::string columns = describe_indices(list(mask.columns), plane.columns, "column", "columns");
  std::string heads;
  if (head_set.size() > 1 && mask.heads != head_set)
    heads = fmt::format(" of {}", describe_indices(list(mask.heads), -1, "head", "heads"));
  const std::int64_t rectangle = static_cast<std::int64_t>(mask.positions.size() * mask.columns.size() *
                                                           std::max<std::size_t>(1, mask.heads.size()));
  const bool filled = 10 * mask.count >= 7 * rectangle;  // bad elements are right by chance now and then
  if (!filled && mask.count <= 16) return fmt::format("{} scattered elements", mask.count);
  const std::string share = filled
                                ? ""
                                : fmt::format(" ({:.0f} % of the elements there)",
                                              100.0 * static_cast<double>(mask.count) / static_cast<double>(rectangle));
  if (all_rows && all_columns)
    return fmt::format("{}{}{}", filled ? "nearly every element" : "elements everywhere", heads, share);
  if (plane.columns == 1 || all_columns) return rows + heads + share;
  if (all_rows) return columns + " of all rows" + heads + share;
  return fmt::format("{}, {}{}{}", rows, columns, heads, share);
}

void hint_unwritten(const Plane& plane, const schema::OutputFigures& figures, std::vector<std::string>& hints) {
  if (figures.never_written == 0) return;
  const Mask mask = mask_of(plane, [&](std::int64_t, std::int64_t e) { return plane.output.poisoned(e); });
  if (mask.count == mask.total) {
    hints.push_back(
        fmt::format("{} was never written: does the kernel run, and does it store to the pointer that run() gets?",
                    plane.output.name));
  } else {
    hints.push_back(fmt::format("{}: never written: {}", plane.output.name, place(plane, mask)));
  }
}

void hint_non_finite(const Plane& plane, const schema::OutputFigures& figures, std::vector<std::string>& hints) {
  if (figures.non_finite == figures.never_written) return;
  const Mask mask = mask_of(plane, [&](std::int64_t, std::int64_t e) {
    return !std::isfinite(plane.output.value(e)) && !plane.output.poisoned(e);
  });
  hints.push_back(fmt::format("{}: NaN or infinity in {}", plane.output.name, place(plane, mask)));
}

struct Moments {
  double got_ref = 0, ref_ref = 0, got_got = 0, difference = 0, difference2 = 0;
  std::int64_t count = 0;
};

Moments moments_of(const Plane& plane) {
  Moments m;
  for (const auto& [first, last] : plane.rows)
    for (std::int64_t e = first * plane.columns; e < last * plane.columns; ++e) {
      const double got = plane.output.value(e), expected = plane.output.expected[e];
      if (!std::isfinite(got)) continue;
      m.got_ref += got * expected;
      m.ref_ref += expected * expected;
      m.got_got += got * got;
      m.difference += got - expected;
      m.difference2 += (got - expected) * (got - expected);
      ++m.count;
    }
  return m;
}

// What a factor may stand for.
std::string factor_meaning(const Problem& problem, const OutputView& output, double factor) {
  const auto near = [&](double value) { return std::fabs(factor / value - 1) < 3e-3; };
  if (output.dtype == DType::kFloat32 && near(1 / std::log(2.0)))
    return ": it is log2, the task wants ln (multiply by ln 2)";
  if (problem.operation != Operation::kGemmNt) {
    const double root = std::sqrt(static_cast<double>(problem.attention.dim));
    if (near(root)) return ": the factor sqrt(D), so 1/sqrt(D) is missing";
    if (near(1 / root)) return ": the factor 1/sqrt(D), so the scale is applied once too often";
  }
  if (near(1 / std::log(2.0))) return ": the factor log2(e)";
  if (near(std::log(2.0))) return ": the factor ln 2";
  return {};
}

// True when one factor explains the whole output.
bool hint_factor(const Problem& problem, const Plane& plane, std::vector<std::string>& hints) {
  const Moments m = moments_of(plane);
  if (m.count == 0 || m.ref_ref == 0) return false;
  if (m.got_got == 0) {
    hints.push_back(fmt::format("{} is all zeros", plane.output.name));
    return true;
  }
  const double factor = m.got_ref / m.ref_ref;
  const double rest = std::sqrt(std::max(0.0, m.got_got - factor * factor * m.ref_ref) / m.got_got);
  if (rest < 6e-3 && std::fabs(factor - 1) > 4e-3) {
    hints.push_back(fmt::format("{} is {:.4g} times the right result{}", plane.output.name, factor,
                                factor_meaning(problem, plane.output, factor)));
    return true;
  }
  if (plane.output.dtype == DType::kFloat32) {
    const double mean = m.difference / static_cast<double>(m.count);
    const double spread = std::sqrt(std::max(0.0, m.difference2 / static_cast<double>(m.count) - mean * mean));
    if (spread < 0.02 * std::fabs(mean) && std::fabs(mean) > kLseLimit) {
      hints.push_back(fmt::format("{} is off by the constant {:+.4g}", plane.output.name, mean));
      return true;
    }
  }
  return false;
}

// Integer family: every wrong bit pattern is the exact value cut off instead of rounded.
bool hint_truncation(const Plane& plane, std::vector<std::string>& hints) {
  std::int64_t wrong = 0;
  for (const auto& [first, last] : plane.rows)
    for (std::int64_t e = first * plane.columns; e < last * plane.columns; ++e) {
      std::uint16_t bits;
      std::memcpy(&bits, plane.output.bytes.data() + e * sizeof bits, sizeof bits);
      const float exact = static_cast<float>(plane.output.expected[e]);  // below 2^24: exact
      if (bits == bf16_from(exact)) continue;
      if (bits != std::bit_cast<std::uint32_t>(exact) >> 16) return false;
      ++wrong;
    }
  if (wrong == 0) return false;
  hints.push_back(
      fmt::format("{} is cut off where it should be rounded to nearest even (cvt.rn.bf16)", plane.output.name));
  return true;
}

void hint_place(const Plane& plane, bool exact, std::vector<std::string>& hints) {
  std::int64_t current = -1;
  double tolerance = 0;
  const Mask mask = mask_of(plane, [&](std::int64_t row, std::int64_t e) {
    if (row != current) {
      double sum = 0;
      for (std::int64_t c = row * plane.columns; c < (row + 1) * plane.columns; ++c)
        sum += plane.output.expected[c] * plane.output.expected[c];
      current = row;
      tolerance = plane.output.dtype == DType::kFloat32
                      ? kLseLimit
                      : kRowLimit * std::sqrt(sum / static_cast<double>(plane.columns));
    }
    const double got = plane.output.value(e), expected = plane.output.expected[e];
    if (!std::isfinite(got)) return false;
    if (exact) return bf16_from(got) != bf16_from(expected);
    const double allowed = plane.output.dtype == DType::kFloat32 ? tolerance : tolerance + 4e-3 * std::fabs(expected);
    return std::fabs(got - expected) > allowed;
  });
  if (mask.count > 0) hints.push_back(fmt::format("{}: wrong: {}", plane.output.name, place(plane, mask)));
}

}  // namespace

std::vector<std::string> diagnose(const Problem& problem, const FamilyPart& part, const InputSet& inputs,
                                  const std::vector<OutputView>& outputs,
                                  const std::vector<schema::OutputFigures>& figures) {
  std::vector<std::string> hints;
  for (std::size_t i = 0; i < outputs.size(); ++i) {
    const bool paper_fails = part.family == Family::kNormal && figures[i].paper_failing > 0;
    if (figures[i].strict_failing == 0 && !paper_fails) continue;
    const Plane plane = plane_of(problem, part, outputs[i]);
    hint_unwritten(plane, figures[i], hints);
    hint_non_finite(plane, figures[i], hints);
    if (figures[i].never_written == figures[i].elements || figures[i].non_finite == figures[i].elements) continue;
    const bool exact = part.family == Family::kInteger;
    if (hint_factor(problem, plane, hints)) continue;
    if (exact && hint_truncation(plane, hints)) continue;
    hint_missing(problem, part, inputs, outputs[i], plane.rows, hints);
    hint_place(plane, exact, hints);
  }
  return hints;
}

}  // namespace ptxbench::judge
