// Texts that arrive in broken UTF-8. A server that cuts a character in two between two events (as raw bytes, or as two
// halves of a surrogate pair) makes JSON that no parser takes, though the pieces fit together again.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

namespace ptxbench::agent {

// JSON text in which each byte that is not part of UTF-8, and each escaped surrogate without its other half, stands as
// a private-use character of plane 16, so that a parser takes it and no piece is lost.
std::string shelter_broken_utf8(std::string_view json);

struct Repaired {
  std::string text;                // valid UTF-8
  std::uint64_t broken_bytes = 0;  // bytes (and lone surrogates) that found no partner; each stands as U+FFFD
};
// The reverse, on the joined texts: pieces that meet become the character again.
Repaired join_sheltered(std::string_view text);

}  // namespace ptxbench::agent
