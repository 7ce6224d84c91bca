#include "ptxbench/toolchain/source_text.h"

#include <algorithm>
#include <cctype>

namespace ptxbench::toolchain {

namespace {

bool is_word(char c) { return std::isalnum(static_cast<unsigned char>(c)) || c == '_'; }

class Stripper {
 public:
  explicit Stripper(std::string_view source) : text_(source) {}

  std::string run() {
    while (at_ < text_.size()) step();
    return std::move(text_);
  }

 private:
  char peek(std::size_t ahead = 0) const { return at_ + ahead < text_.size() ? text_[at_ + ahead] : '\0'; }

  void blank() {
    if (text_[at_] != '\n') text_[at_] = ' ';
    ++at_;
  }

  void step() {
    const char c = peek();
    if (c == '/' && peek(1) == '/') return line_comment();
    if (c == '/' && peek(1) == '*') return block_comment();
    if (c == '"') return is_raw() ? raw_string() : literal('"');
    if (c == '\'' && !(at_ > 0 && std::isdigit(static_cast<unsigned char>(text_[at_ - 1]))))
      return literal('\'');  // not 1'000
    ++at_;
  }

  void line_comment() {
    while (at_ < text_.size() && peek() != '\n') {
      if (peek() == '\\' && peek(1) == '\n') blank();  // a splice continues the comment
      blank();
    }
  }

  void block_comment() {
    blank();
    blank();
    while (at_ < text_.size() && !(peek() == '*' && peek(1) == '/')) blank();
    for (int i = 0; i < 2 && at_ < text_.size(); ++i) blank();
  }

  // Whether the quote at at_ opens R"delimiter( and whether it is that of an #include.
  bool is_raw() const {
    return at_ > 0 && text_[at_ - 1] == 'R' &&
           (at_ < 2 || !is_word(text_[at_ - 2]) ||
            std::string_view("LuU8").find(text_[at_ - 2]) != std::string_view::npos);
  }
  bool in_include() const {
    const std::size_t begin = text_.rfind('\n', at_) == std::string::npos ? 0 : text_.rfind('\n', at_) + 1;
    const std::string_view line = std::string_view(text_).substr(begin, at_ - begin);
    return line.find('#') != std::string_view::npos && line.find("include") != std::string_view::npos;
  }

  void raw_string() {
    const std::size_t open = text_.find('(', at_);
    if (open == std::string::npos || open - at_ > 17) return literal('"');
    const std::string close = ")" + text_.substr(at_ + 1, open - at_ - 1) + "\"";
    const std::size_t end = std::min(text_.find(close, open), text_.size() - close.size()) + close.size();
    while (at_ < std::min(end, text_.size())) blank();
  }

  void literal(char quote) {
    const bool keep = quote == '"' && in_include();
    ++at_;
    while (at_ < text_.size() && peek() != quote && peek() != '\n') {
      if (peek() == '\\' && at_ + 1 < text_.size()) keep ? void(++at_) : blank();
      keep ? void(++at_) : blank();
    }
    if (peek() == quote) ++at_;
  }

  std::string text_;
  std::size_t at_ = 0;
};

}  // namespace

namespace {

// Bytes of the UTF-8 sequence at text[at] (RFC 3629, table 3-7 of Unicode); 0 if it is none.
std::size_t utf8_length(std::string_view text, std::size_t at) {
  const auto byte = [&](std::size_t i) { return at + i < text.size() ? static_cast<unsigned char>(text[at + i]) : 0u; };
  const unsigned first = byte(0);
  const auto follows = [&](std::size_t i, unsigned low = 0x80, unsigned high = 0xBF) {
    return byte(i) >= low && byte(i) <= high;
  };
  if (first < 0x80) return 1;
  if (first >= 0xC2 && first <= 0xDF) return follows(1) ? 2 : 0;
  if (first >= 0xE0 && first <= 0xEF)
    return follows(1, first == 0xE0 ? 0xA0 : 0x80, first == 0xED ? 0x9F : 0xBF) && follows(2) ? 3 : 0;
  if (first >= 0xF0 && first <= 0xF4)
    return follows(1, first == 0xF0 ? 0x90 : 0x80, first == 0xF4 ? 0x8F : 0xBF) && follows(2) && follows(3) ? 4 : 0;
  return 0;
}

}  // namespace

Status check_text(std::string_view text, const std::string& file) {
  const auto refuse = [&](std::size_t at, const char* what) -> Status {
    const int line =
        1 + static_cast<int>(std::count(text.begin(), text.begin() + static_cast<std::ptrdiff_t>(at), '\n'));
    return fail(
        Error{ErrorKind::kInvalidInput, what, "a candidate is one CUDA source file in UTF-8", {file, line, 0}, {}});
  };
  if (std::all_of(text.begin(), text.end(), [](unsigned char c) { return std::isspace(c); }))
    return refuse(0, "the file is empty");
  for (std::size_t at = 0; at < text.size();) {
    if (text[at] == '\0') return refuse(at, "the file is binary: it has a NUL byte");
    const std::size_t length = utf8_length(text, at);
    if (length == 0) return refuse(at, "the file is not UTF-8 text");
    at += length;
  }
  return {};
}

std::string strip_comments_and_strings(std::string_view source) { return Stripper(source).run(); }

int line_of_call(std::string_view stripped, std::string_view identifier) {
  for (std::size_t at = 0; (at = stripped.find(identifier, at)) != std::string_view::npos; at += identifier.size()) {
    if (at > 0 && is_word(stripped[at - 1])) continue;
    std::size_t next = at + identifier.size();
    while (next < stripped.size() && std::isspace(static_cast<unsigned char>(stripped[next]))) ++next;
    if (next < stripped.size() && (stripped[next] == '(' || stripped[next] == '<'))
      return 1 +
             static_cast<int>(std::count(stripped.begin(), stripped.begin() + static_cast<std::ptrdiff_t>(at), '\n'));
  }
  return 0;
}

}  // namespace ptxbench::toolchain
