// Operands against the patterns of the table.
#pragma once

#include <span>
#include <string>
#include <vector>

#include "ptxbench/isa/operands.h"
#include "ptxbench/ptx/ast.h"

namespace ptxbench::ptx {

// Whether the operands have the shapes that the form asks for; problem says in words why not. Types are validate()'s.
bool operands_fit(const Function& function, isa::FormId form, std::span<const isa::Mod> mods,
                  std::span<const Operand> operands, std::string& problem, std::size_t& bad_operand);

// For each operand of a parsed instruction the alternative of the table that it took.
std::vector<const isa::OperandAlternative*> fitted_alternatives(const Function& function,
                                                                const Instruction& instruction);

}  // namespace ptxbench::ptx
