// Integer expressions over axes, in Python's notation: "2*M*N*K", "S % 64 == 0 and S <= 16384". Used for a definition's
// constraints and its work formulas. Supported: integers, axis names, + - * // % **, comparisons (chained), and, or,
// not, parentheses. Anything else is refused by name.
#pragma once

#include <cstdint>
#include <functional>
#include <string_view>

#include "ptxbench/base/result.h"
#include "ptxbench/schema/definition.h"

namespace ptxbench::schema {

// The value; a comparison gives 1 or 0. kInvalidInput for a syntax error, an unknown name, a division by zero or a
// result outside 64 bits; the message holds the expression and the column.
Result<std::int64_t> evaluate_expression(std::string_view text, const AxisValues& axes);

// Syntax and names only, for axes whose values are not known yet.
Status check_expression(std::string_view text, const std::function<bool(std::string_view)>& is_axis);

}  // namespace ptxbench::schema
