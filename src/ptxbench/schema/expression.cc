#include "ptxbench/schema/expression.h"

#include <fmt/format.h>

#include <cctype>
#include <optional>

namespace ptxbench::schema {
namespace {

constexpr int kMaxDepth = 100;  // parentheses and unary operators; keeps hostile input off our stack

// Python's // and % round towards minus infinity.
std::int64_t floor_div(std::int64_t a, std::int64_t b) { return a / b - ((a % b != 0) && ((a < 0) != (b < 0))); }

// Recursive descent over the text; evaluates while it parses. Without values every name counts as 1 and arithmetic
// errors are not reported.
class Parser {
 public:
  using NameValue = std::function<std::optional<std::int64_t>(std::string_view)>;
  Parser(std::string_view text, NameValue names, bool values_known)
      : text_(text), names_(std::move(names)), values_known_(values_known) {}

  Result<std::int64_t> run() {
    next();
    const std::int64_t value = or_test();
    if (token_ != "") trouble(fmt::format("unexpected '{}'", token_));
    if (!error_.empty()) return fail(ErrorKind::kInvalidInput, error_);
    return value;
  }

 private:
  void trouble(const std::string& what) {
    if (error_.empty()) error_ = fmt::format("expression '{}', column {}: {}", text_, token_start_ + 1, what);
    token_ = "";
    position_ = text_.size();
  }

  // Reads the next token into token_; "" at the end.
  void next() {
    while (position_ < text_.size() && std::isspace(static_cast<unsigned char>(text_[position_]))) ++position_;
    token_start_ = position_;
    if (position_ == text_.size()) {
      token_ = "";
      return;
    }
    const auto is_word = [](char c) { return std::isalnum(static_cast<unsigned char>(c)) || c == '_'; };
    std::size_t length = 1;
    if (is_word(text_[position_])) {
      while (position_ + length < text_.size() && is_word(text_[position_ + length])) ++length;
    } else {
      for (const std::string_view two : {"//", "**", "==", "!=", "<=", ">="})
        if (text_.substr(position_, 2) == two) length = 2;
    }
    token_ = text_.substr(position_, length);
    position_ += length;
  }

  bool accept(std::string_view token) {
    if (token_ != token || token.empty()) return false;
    next();
    return true;
  }

  // By reference: the builtins write the value while the arguments are evaluated, in no fixed order.
  std::int64_t checked(bool overflowed, const std::int64_t& value) {
    if (overflowed && values_known_) trouble("the value does not fit in 64 bits");
    return overflowed ? 1 : value;
  }

  std::int64_t or_test() {
    std::int64_t value = and_test();
    while (accept("or")) {
      const std::int64_t right = and_test();
      value = value ? value : right;
    }
    return value;
  }

  std::int64_t and_test() {
    std::int64_t value = not_test();
    while (accept("and")) {
      const std::int64_t right = not_test();
      value = value ? right : value;
    }
    return value;
  }

  std::int64_t not_test() {
    if (!accept("not")) return comparison();
    const Depth depth(*this);
    return depth.ok() ? not_test() == 0 : 0;
  }

  std::int64_t comparison() {
    std::int64_t left = sum();
    bool compared = false, holds = true;
    for (;;) {
      const std::string_view op = token_;
      if (op != "==" && op != "!=" && op != "<" && op != "<=" && op != ">" && op != ">=") break;
      next();
      const std::int64_t right = sum();
      holds &= op == "=="   ? left == right
               : op == "!=" ? left != right
               : op == "<"  ? left < right
               : op == "<=" ? left <= right
               : op == ">"  ? left > right
                            : left >= right;
      left = right;
      compared = true;
    }
    return compared ? holds : left;
  }

  std::int64_t sum() {
    std::int64_t value = term();
    for (;;) {
      std::int64_t result = 0;
      if (accept("+")) {
        const std::int64_t right = term();
        value = checked(__builtin_add_overflow(value, right, &result), result);
      } else if (accept("-")) {
        const std::int64_t right = term();
        value = checked(__builtin_sub_overflow(value, right, &result), result);
      } else {
        return value;
      }
    }
  }

  std::int64_t term() {
    std::int64_t value = unary();
    for (;;) {
      std::int64_t result = 0;
      if (accept("*")) {
        const std::int64_t right = unary();
        value = checked(__builtin_mul_overflow(value, right, &result), result);
      } else if (token_ == "//" || token_ == "%") {
        const bool division = token_ == "//";
        next();
        value = divide(value, unary(), division);
      } else if (token_ == "/") {
        trouble("'/' gives a fraction; write '//'");
      } else {
        return value;
      }
    }
  }

  std::int64_t divide(std::int64_t left, std::int64_t right, bool division) {
    if (right == 0) {
      if (values_known_) trouble("division by zero");
      return 1;
    }
    if (right == -1) return division ? checked(left == INT64_MIN, left == INT64_MIN ? 0 : -left) : 0;
    const std::int64_t quotient = floor_div(left, right);
    return division ? quotient : left - quotient * right;
  }

  std::int64_t unary() {
    const Depth depth(*this);
    if (!depth.ok()) return 1;
    if (accept("-")) {
      const std::int64_t value = unary();
      return checked(value == INT64_MIN, value == INT64_MIN ? 0 : -value);
    }
    if (accept("+")) return unary();
    const std::int64_t base = atom();
    return accept("**") ? power(base, unary()) : base;
  }

  std::int64_t power(std::int64_t base, std::int64_t exponent) {
    if (exponent < 0) {
      if (values_known_) trouble("a negative exponent gives a fraction");
      return 1;
    }
    std::int64_t value = 1;
    for (std::int64_t i = 0; i < exponent && error_.empty(); ++i) {
      std::int64_t result = 0;
      const bool overflowed = __builtin_mul_overflow(value, base, &result);
      value = checked(overflowed, result);
      if (overflowed || value == 0 || base == 1) break;
      if (base == -1) return exponent % 2 ? -1 : 1;
    }
    return value;
  }

  std::int64_t atom() {
    if (accept("(")) {
      const std::int64_t value = or_test();
      if (!accept(")")) trouble(token_.empty() ? "')' is missing" : fmt::format("expected ')', found '{}'", token_));
      return value;
    }
    if (token_.empty()) {
      trouble("ends where a value should stand");
      return 1;
    }
    const char first = token_.front();
    if (std::isdigit(static_cast<unsigned char>(first))) return number();
    if (!std::isalpha(static_cast<unsigned char>(first)) && first != '_') {
      trouble(fmt::format("'{}' where a value should stand", token_));
      return 1;
    }
    const std::optional<std::int64_t> value = names_(token_);
    if (!value) {
      trouble(fmt::format("'{}' is not an axis of this definition", token_));
      return 1;
    }
    next();
    return *value;
  }

  std::int64_t number() {
    std::int64_t value = 0;
    bool overflowed = false;
    for (const char c : token_) {
      if (!std::isdigit(static_cast<unsigned char>(c))) {
        trouble(fmt::format("'{}' is not an integer", token_));
        return 1;
      }
      overflowed |= __builtin_mul_overflow(value, 10, &value) || __builtin_add_overflow(value, c - '0', &value);
    }
    if (overflowed) {
      trouble("the number does not fit in 64 bits");
      return 1;
    }
    next();
    return value;
  }

  // Counts nesting while it lives.
  class Depth {
   public:
    explicit Depth(Parser& parser) : parser_(parser) {
      if (++parser_.depth_ > kMaxDepth) parser_.trouble("nested too deeply");
    }
    ~Depth() { --parser_.depth_; }
    bool ok() const { return parser_.depth_ <= kMaxDepth; }

   private:
    Parser& parser_;
  };

  std::string_view text_;
  NameValue names_;
  bool values_known_;
  std::string_view token_;
  std::size_t token_start_ = 0, position_ = 0;
  int depth_ = 0;
  std::string error_;
};

}  // namespace

Result<std::int64_t> evaluate_expression(std::string_view text, const AxisValues& axes) {
  const auto lookup = [&](std::string_view name) -> std::optional<std::int64_t> {
    const auto it = axes.find(name);
    return it == axes.end() ? std::nullopt : std::optional(it->second);
  };
  return Parser(text, lookup, true).run();
}

Status check_expression(std::string_view text, const std::function<bool(std::string_view)>& is_axis) {
  const auto lookup = [&](std::string_view name) -> std::optional<std::int64_t> {
    return is_axis(name) ? std::optional<std::int64_t>(1) : std::nullopt;
  };
  PTXBENCH_TRY([[maybe_unused]] const auto value, Parser(text, lookup, false).run());
  return {};
}

}  // namespace ptxbench::schema
