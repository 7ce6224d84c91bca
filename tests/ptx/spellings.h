// Instruction lines made from the table: for each form, spellings with every word of every slot, and mutations of them.
// Whether a line is legal is not decided here: ptxas and our parser are asked, and must agree.
#pragma once

#include <span>
#include <string>
#include <vector>

#include "ptxbench/isa/form.h"

namespace ptxbench::ptx {

struct Spelling {
  isa::FormId form;
  std::string text;  // one line
};

// Deterministic. Nothing for forms whose operands need surroundings of their own (branches, calls).
std::vector<Spelling> spellings(isa::FormId form);

// A module with these lines in the body of one kernel; the nth of them is in line first_line(module) + n.
struct OracleModule {
  std::string text;
  std::uint32_t first_line = 0;
};
OracleModule oracle_module(std::span<const Spelling> lines, isa::Version version, const std::string& target);

}  // namespace ptxbench::ptx
