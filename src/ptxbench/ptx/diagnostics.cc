#include "ptxbench/ptx/diagnostics.h"

#include <algorithm>
#include <tuple>

namespace ptxbench::ptx {
namespace {

constexpr std::size_t kQuoteWidth = 120;

// The line as it can be shown in a terminal: other than printable ASCII and blanks becomes '?', so that the caret stays in place.
std::string printable(std::string_view line) {
  std::string text(line);
  for (char& c : text) {
    if (c == '\t') c = ' ';
    if (static_cast<unsigned char>(c) < 0x20 || static_cast<unsigned char>(c) >= 0x7f) c = '?';
  }
  return text;
}

// The source line and a caret line; a long line is cut to a window around the place.
std::vector<std::string> quote(std::string_view line, std::size_t column, std::size_t length) {
  std::size_t start = 0;
  if (column > kQuoteWidth * 3 / 4) start = column - kQuoteWidth / 2;
  const std::string shown = printable(line.substr(start, kQuoteWidth));
  const std::size_t caret = column - start;
  const std::size_t room = shown.size() > caret ? shown.size() - caret : 1;
  const std::size_t width = std::clamp<std::size_t>(length, 1, room);
  return {"    " + shown, "    " + std::string(caret, ' ') + "^" + std::string(width - 1, '~')};
}

}  // namespace

Diagnostics::Diagnostics(std::string_view text, std::string file_name, std::size_t limit)
    : text_(text), file_name_(std::move(file_name)), limit_(limit) {
  line_starts_.push_back(0);
  for (std::size_t i = text.find('\n'); i != std::string_view::npos; i = text.find('\n', i + 1)) {
    line_starts_.push_back(static_cast<std::uint32_t>(i + 1));
  }
}

std::uint32_t Diagnostics::line_of(std::uint32_t offset) const {
  const auto after = std::upper_bound(line_starts_.begin(), line_starts_.end(), offset);
  return static_cast<std::uint32_t>(after - line_starts_.begin());
}

std::uint32_t Diagnostics::column_of(std::uint32_t offset) const {
  return offset - line_starts_[line_of(offset) - 1] + 1;
}

void Diagnostics::report(std::uint32_t offset, std::uint32_t length, std::string message, std::string hint,
                         ErrorKind kind) {
  if (full()) return;
  Error error;
  error.kind = kind;
  error.message = std::move(message);
  error.hint = std::move(hint);
  error.where = {file_name_, static_cast<int>(line_of(offset)), static_cast<int>(column_of(offset))};
  const std::size_t start = line_starts_[line_of(offset) - 1];
  const std::size_t end = std::min(text_.find('\n', start), text_.size());
  error.notes = quote(text_.substr(start, end - start), offset - start, length);
  errors_.push_back(std::move(error));
}

void Diagnostics::report_at(std::uint32_t line, std::uint32_t column, std::string message, std::string hint,
                            ErrorKind kind) {
  if (full()) return;
  if (line >= 1 && line <= line_starts_.size() && !text_.empty()) {
    const auto offset = std::min<std::size_t>(line_starts_[line - 1] + std::size_t{column} - 1, text_.size());
    // Underline up to the end of the word.
    std::size_t end = offset;
    while (end < text_.size() && text_[end] > ' ' && text_[end] != ',' && text_[end] != ';') ++end;
    report(static_cast<std::uint32_t>(offset), static_cast<std::uint32_t>(end - offset), std::move(message),
           std::move(hint), kind);
    return;
  }
  Error error{
      kind, std::move(message), std::move(hint), {file_name_, static_cast<int>(line), static_cast<int>(column)}, {}};
  errors_.push_back(std::move(error));
}

std::vector<Error> Diagnostics::take() {
  std::stable_sort(errors_.begin(), errors_.end(), [](const Error& a, const Error& b) {
    return std::tie(a.where.line, a.where.column) < std::tie(b.where.line, b.where.column);
  });
  return std::move(errors_);
}

}  // namespace ptxbench::ptx
