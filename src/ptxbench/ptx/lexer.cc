#include "ptxbench/ptx/lexer.h"

#include <fmt/format.h>

#include <array>

namespace ptxbench::ptx {
namespace {

constexpr bool is_digit(char c) { return c >= '0' && c <= '9'; }
constexpr bool is_letter(char c) { return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z'); }
constexpr bool is_follow(char c) { return is_letter(c) || is_digit(c) || c == '_' || c == '$'; }
constexpr bool is_name_start(char c) { return is_letter(c) || c == '_' || c == '$' || c == '%'; }
constexpr bool is_hex(char c) { return is_digit(c) || (c >= 'a' && c <= 'f') || (c >= 'A' && c <= 'F'); }

class Lexer {
 public:
  Lexer(std::string_view text, Diagnostics& diagnostics) : text_(text), diagnostics_(diagnostics) {}

  std::vector<Token> run() {
    tokens_.reserve(text_.size() / 4 + 1);
    while (skip_blanks()) next();
    push(TokenKind::kEnd, position_, 0);
    return std::move(tokens_);
  }

 private:
  char at(std::size_t i) const { return i < text_.size() ? text_[i] : '\0'; }

  void push(TokenKind kind, std::size_t start, char punct) {
    tokens_.push_back(
        {kind, punct, static_cast<std::uint32_t>(start), static_cast<std::uint32_t>(position_ - start), line_});
  }

  void report(std::size_t start, std::string message, std::string hint = {}) {
    diagnostics_.report(static_cast<std::uint32_t>(start), static_cast<std::uint32_t>(position_ - start),
                        std::move(message), std::move(hint));
  }

  // False at the end of the text. Embedded text ends with a NUL; whatever follows it is not PTX.
  bool skip_blanks() {
    while (position_ < text_.size()) {
      const char c = text_[position_];
      if (c == '\n') {
        ++line_;
        ++position_;
      } else if (c == ' ' || c == '\t' || c == '\r' || c == '\f' || c == '\v') {
        ++position_;
      } else if (c == '/' && at(position_ + 1) == '/') {
        position_ = std::min(text_.find('\n', position_), text_.size());
      } else if (c == '/' && at(position_ + 1) == '*') {
        skip_block_comment();
      } else if (c == '\0') {
        return false;
      } else {
        return true;
      }
    }
    return false;
  }

  void skip_block_comment() {
    const std::size_t start = position_;
    const std::size_t end = text_.find("*/", position_ + 2);
    if (end == std::string_view::npos) {
      position_ = start + 2;
      report(start, "this comment has no end", "write '*/'");
      position_ = text_.size();
      return;
    }
    for (std::size_t i = position_; i < end; ++i) line_ += text_[i] == '\n';
    position_ = end + 2;
  }

  void next() {
    const std::size_t start = position_;
    const char c = text_[position_];
    if (is_name_start(c)) {
      ++position_;
      while (is_follow(at(position_))) ++position_;
      push(TokenKind::kName, start, 0);
    } else if (c == '.' && is_follow(at(position_ + 1))) {
      dotted(start);
    } else if (is_digit(c)) {
      number(start);
    } else if (c == '"') {
      string(start);
    } else if (static_cast<unsigned char>(c) > 0x20 && static_cast<unsigned char>(c) < 0x7f) {
      ++position_;
      push(TokenKind::kPunct, start, c);
    } else {
      ++position_;
      report(start, fmt::format("the byte 0x{:02x} cannot start a word of PTX", static_cast<unsigned char>(c)));
    }
  }

  // .word or .word::word
  void dotted(std::size_t start) {
    ++position_;
    while (true) {
      while (is_follow(at(position_))) ++position_;
      if (at(position_) != ':' || at(position_ + 1) != ':' || !is_follow(at(position_ + 2))) break;
      position_ += 2;
    }
    push(TokenKind::kDot, start, 0);
  }

  void number(std::size_t start) {
    const char second = at(start + 1);
    if (text_[start] == '0' && (second == 'f' || second == 'F' || second == 'd' || second == 'D')) {
      const std::size_t digits = second == 'f' || second == 'F' ? 8 : 16;
      position_ = start + 2;
      while (is_hex(at(position_))) ++position_;
      if (position_ - start - 2 != digits || is_follow(at(position_))) {
        while (is_follow(at(position_))) ++position_;
        report(start, fmt::format("'{}' is not a floating-point constant", text_.substr(start, position_ - start)),
               fmt::format("'0{}' is followed by exactly {} hexadecimal digits", second, digits));
      }
      push(TokenKind::kFloat, start, 0);
      return;
    }
    bool is_float = false;
    while (is_follow(at(position_))) ++position_;
    if (at(position_) == '.' && is_digit(at(position_ + 1)) && is_decimal(start)) {
      is_float = true;
      ++position_;
      while (is_digit(at(position_))) ++position_;
      if ((at(position_) == 'e' || at(position_) == 'E')) exponent();
    }
    push(is_float ? TokenKind::kFloat : TokenKind::kInteger, start, 0);
  }

  void exponent() {
    std::size_t i = position_ + 1;
    if (at(i) == '+' || at(i) == '-') ++i;
    if (!is_digit(at(i))) return;
    while (is_digit(at(i))) ++i;
    position_ = i;
  }

  bool is_decimal(std::size_t start) const {
    for (std::size_t i = start; i < position_; ++i) {
      if (!is_digit(text_[i])) return false;
    }
    return true;
  }

  void string(std::size_t start) {
    ++position_;
    while (position_ < text_.size() && text_[position_] != '"' && text_[position_] != '\n') {
      position_ += text_[position_] == '\\' && at(position_ + 1) != '\n' ? 2 : 1;
    }
    position_ = std::min(position_, text_.size());
    if (at(position_) != '"') {
      report(start, "this string has no end", "write '\"' on the same line");
      push(TokenKind::kString, start, 0);
      return;
    }
    ++position_;
    push(TokenKind::kString, start, 0);
  }

  std::string_view text_;
  Diagnostics& diagnostics_;
  std::vector<Token> tokens_;
  std::size_t position_ = 0;
  std::uint32_t line_ = 1;
};

}  // namespace

std::vector<Token> lex(std::string_view text, Diagnostics& diagnostics) { return Lexer(text, diagnostics).run(); }

}  // namespace ptxbench::ptx
