// From the words of an opcode to the forms that it may be.
#pragma once

#include <array>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "ptxbench/isa/form.h"

namespace ptxbench::isa {

using ModList = std::array<Mod, kMaxModifiers>;

struct OpcodeCandidate {
  FormId form = FormId::kCount;
  ModList mods{};
};

// candidates is empty exactly when problem is not. Several candidates differ in their operands.
struct OpcodeMatch {
  std::vector<OpcodeCandidate> candidates;
  std::string problem;  // "'.foo' is not a modifier of 'add'"
  std::string hint;
  std::size_t bad_word = 0;  // index of the word that the problem is about
};

// words: the opcode split at its dots, {"add", "rn", "f32"}. Types, spaces and layouts match in sequence, other modifiers
// in any order, a head only in its own, as ptxas does.
OpcodeMatch match_opcode(std::span<const std::string_view> words);

// The manual's way to write a form: "add{.rnd}{.ftz}{.sat}.f32 d, a, b".
std::string syntax(FormId id);

// Head and modifiers in the table's order, "ld.global.v4.f32".
std::string opcode_text(FormId id, std::span<const Mod> mods);

}  // namespace ptxbench::isa
