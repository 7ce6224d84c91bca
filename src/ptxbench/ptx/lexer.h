// Tokens of PTX (PTX manual, "Syntax"). Comments and blanks separate tokens and are dropped.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "ptxbench/ptx/diagnostics.h"

namespace ptxbench::ptx {

enum class TokenKind : std::uint8_t {
  kEnd,
  kName,     // add, %r1, $L__BB0_1, _
  kDot,      // .reg, .shared::cta, .128x128b: text without the dot
  kInteger,  // 12, 0x1f, 017, 0b101, with an optional U
  kFloat,    // 0f3f800000, 0d..., 1.5e3
  kString,   // text between the quotes
  kPunct,    // one character
};

struct Token {
  TokenKind kind = TokenKind::kEnd;
  char punct = 0;
  std::uint32_t offset = 0;  // of the first character, the dot or quote included
  std::uint32_t length = 0;  // characters of the token in the text
  std::uint32_t line = 0;    // from 1

  bool is(char c) const { return kind == TokenKind::kPunct && punct == c; }
};

// Ends with a kEnd token. Characters that no token starts with are reported and skipped.
std::vector<Token> lex(std::string_view text, Diagnostics& diagnostics);

}  // namespace ptxbench::ptx
