#include "ptxbench/agent/quote.h"

#include <fmt/format.h>

#include <algorithm>

namespace ptxbench::agent {
namespace {

// Length of the UTF-8 sequence at `at`; 0 when there is none. Overlong forms and surrogates count as none.
std::size_t sequence(std::string_view text, std::size_t at) {
  const auto byte = [&](std::size_t i) { return i < text.size() ? static_cast<unsigned char>(text[i]) : 0U; };
  const unsigned first = byte(at);
  const std::size_t length = first < 0x80                    ? 1
                             : first >= 0xC2 && first < 0xE0 ? 2
                             : first >= 0xE0 && first < 0xF0 ? 3
                             : first >= 0xF0 && first < 0xF5 ? 4
                                                             : 0;
  for (std::size_t i = 1; i < length; ++i)
    if ((byte(at + i) & 0xC0U) != 0x80) return 0;
  if (first == 0xE0 && byte(at + 1) < 0xA0) return 0;
  if (first == 0xED && byte(at + 1) > 0x9F) return 0;
  if (first == 0xF0 && byte(at + 1) < 0x90) return 0;
  if (first == 0xF4 && byte(at + 1) > 0x8F) return 0;
  return length;
}

std::string clean(std::string_view text) {
  std::string out;
  out.reserve(text.size());
  for (std::size_t i = 0; i < text.size();) {
    const std::size_t length = sequence(text, i);
    const auto byte = static_cast<unsigned char>(text[i]);
    const bool control = length == 1 && (byte == 0x7F || (byte < 0x20 && byte != '\n' && byte != '\t'));
    if (length == 0 || control)
      out += byte == '\r' ? "" : "?";
    else
      out += text.substr(i, length);
    i += std::max<std::size_t>(1, length);
  }
  return out;
}

bool continues(char byte) { return (static_cast<unsigned char>(byte) & 0xC0U) == 0x80; }

}  // namespace

std::string head(std::string_view text, std::size_t bytes) {
  if (text.size() <= bytes) return clean(text);
  std::size_t end = bytes;
  while (end > 0 && continues(text[end])) --end;
  return fmt::format("{} (... {} more bytes)", clean(text.substr(0, end)), text.size() - end);
}

std::string tail(std::string_view text, std::size_t bytes) {
  if (text.size() <= bytes) return clean(text);
  std::size_t begin = text.size() - bytes;
  while (begin < text.size() && continues(text[begin])) ++begin;
  return fmt::format("({} bytes before this ...) {}", begin, clean(text.substr(begin)));
}

std::string quoted(std::string_view text) {
  std::string out;
  while (!text.empty()) {
    const std::size_t end = std::min(text.find('\n'), text.size());
    out += fmt::format("| {}\n", text.substr(0, end));
    text.remove_prefix(std::min(end + 1, text.size()));
  }
  return out;
}

std::string source_lines(std::string_view source, int line, int around) {
  std::string out;
  int number = 1;
  for (std::size_t begin = 0; begin < source.size() && line > 0; ++number) {
    const std::size_t end = std::min(source.find('\n', begin), source.size());
    if (number >= line - around && number <= line + around)
      out += fmt::format("{} {:>5} | {}\n", number == line && around > 0 ? '>' : ' ', number,
                         head(source.substr(begin, end - begin), 200));
    begin = end + 1;
  }
  return out;
}

}  // namespace ptxbench::agent
