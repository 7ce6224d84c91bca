#include "ptxbench/agent/model/utf8.h"

#include <charconv>
#include <optional>

namespace ptxbench::agent {
namespace {

constexpr char32_t kByteBase = 0x10FE00;       // + the byte, 0x80..0xFF
constexpr char32_t kSurrogateBase = 0x100000;  // + the surrogate, 0xD800..0xDFFF
constexpr char32_t kReplacement = 0xFFFD;

bool is_high(char32_t c) { return c >= 0xD800 && c < 0xDC00; }
bool is_low(char32_t c) { return c >= 0xDC00 && c < 0xE000; }

void append(std::string& out, char32_t c) {
  if (c < 0x80) {
    out += static_cast<char>(c);
  } else if (c < 0x800) {
    out += static_cast<char>(0xC0 | c >> 6);
    out += static_cast<char>(0x80 | (c & 0x3F));
  } else if (c < 0x10000) {
    out += static_cast<char>(0xE0 | c >> 12);
    out += static_cast<char>(0x80 | (c >> 6 & 0x3F));
    out += static_cast<char>(0x80 | (c & 0x3F));
  } else {
    out += static_cast<char>(0xF0 | c >> 18);
    out += static_cast<char>(0x80 | (c >> 12 & 0x3F));
    out += static_cast<char>(0x80 | (c >> 6 & 0x3F));
    out += static_cast<char>(0x80 | (c & 0x3F));
  }
}

struct Character {
  char32_t code;
  std::size_t bytes;
};

// The character at the front (RFC 3629: no overlong forms, no surrogates), or none when the bytes are not one.
std::optional<Character> decode(std::string_view text) {
  const auto byte = [&](std::size_t i) { return static_cast<unsigned char>(text[i]); };
  const unsigned char first = byte(0);
  if (first < 0x80) return Character{first, 1};
  const std::size_t length = first >= 0xF0 ? 4 : first >= 0xE0 ? 3 : 2;
  if (first < 0xC2 || first > 0xF4 || text.size() < length) return std::nullopt;
  char32_t code = first & (0x7F >> length);
  for (std::size_t i = 1; i < length; ++i) {
    if ((byte(i) & 0xC0) != 0x80) return std::nullopt;
    code = code << 6 | (byte(i) & 0x3F);
  }
  constexpr char32_t kSmallest[] = {0, 0, 0x80, 0x800, 0x10000};
  if (code < kSmallest[length] || code > 0x10FFFF || is_high(code) || is_low(code)) return std::nullopt;
  return Character{code, length};
}

// The value of "\uXXXX" at the front.
std::optional<char32_t> unicode_escape(std::string_view text) {
  if (text.size() < 6 || text[0] != '\\' || text[1] != 'u') return std::nullopt;
  std::uint32_t value = 0;
  const auto [end, error] = std::from_chars(text.data() + 2, text.data() + 6, value, 16);
  if (error != std::errc() || end != text.data() + 6) return std::nullopt;
  return value;
}

}  // namespace

std::string shelter_broken_utf8(std::string_view json) {
  std::string out;
  out.reserve(json.size() + 16);
  for (std::size_t i = 0; i < json.size();) {
    const std::string_view rest = json.substr(i);
    if (rest[0] == '\\') {
      const auto code = unicode_escape(rest);
      const auto next = code && is_high(*code) ? unicode_escape(rest.substr(6)) : std::nullopt;
      if (next && is_low(*next)) {
        out += rest.substr(0, 12);
        i += 12;
      } else if (code && (is_high(*code) || is_low(*code))) {
        append(out, kSurrogateBase + *code);
        i += 6;
      } else {  // also keeps "\\" together, so that its second half starts no escape
        out += rest.substr(0, 2);
        i += 2;
      }
      continue;
    }
    if (const auto character = decode(rest)) {
      out += rest.substr(0, character->bytes);
      i += character->bytes;
    } else {
      append(out, kByteBase + static_cast<unsigned char>(rest[0]));
      ++i;
    }
  }
  return out;
}

Repaired join_sheltered(std::string_view text) {
  std::string bytes;
  bytes.reserve(text.size());
  Repaired result;
  char32_t pending = 0;  // a high surrogate that waits for its low half
  const auto give_up_pending = [&] {
    if (pending != 0) {
      append(bytes, kReplacement);
      ++result.broken_bytes;
    }
    pending = 0;
  };
  for (std::size_t i = 0; i < text.size();) {
    const auto character = decode(text.substr(i));
    const char32_t code = character ? character->code : kByteBase + static_cast<unsigned char>(text[i]);
    i += character ? character->bytes : 1;
    const char32_t surrogate = code - kSurrogateBase;
    if (pending != 0 && is_low(surrogate)) {
      append(bytes, 0x10000 + ((pending - 0xD800) << 10) + (surrogate - 0xDC00));
      pending = 0;
      continue;
    }
    give_up_pending();
    if (is_high(surrogate)) {
      pending = surrogate;
    } else if (is_low(surrogate)) {
      append(bytes, kReplacement);
      ++result.broken_bytes;
    } else if (code >= kByteBase + 0x80 && code <= kByteBase + 0xFF) {
      bytes += static_cast<char>(code - kByteBase);
    } else {
      append(bytes, code);
    }
  }
  give_up_pending();

  result.text.reserve(bytes.size());
  for (std::size_t i = 0; i < bytes.size();) {
    if (const auto character = decode(std::string_view(bytes).substr(i))) {
      result.text.append(bytes, i, character->bytes);
      i += character->bytes;
    } else {
      append(result.text, kReplacement);
      ++result.broken_bytes;
      ++i;
    }
  }
  return result;
}

}  // namespace ptxbench::agent
