// Which operands of an instruction are read and which are written, from the form's notation.
#pragma once

#include <vector>

#include "ptxbench/isa/operands.h"
#include "ptxbench/ptx/ast.h"

namespace ptxbench::emu {

// The pattern of each operand that is present, in order. Optional operands are filled from the left.
std::vector<const isa::OperandPattern*> match_operands(const ptx::Instruction& instruction);

// The alternative of a pattern that this operand takes.
const isa::OperandAlternative& chosen_alternative(const isa::OperandPattern& pattern, const ptx::Operand& operand);

// The type that the notation gives the operand; kNone if it gives none.
isa::Type operand_type(const ptx::Instruction& instruction, const isa::OperandAlternative& alternative);

// Calls use(register) and def(register) for every register of the instruction, the guard included (as a use).
struct RegisterAccess {
  std::vector<std::uint32_t> uses, defs;
};
RegisterAccess register_access(const ptx::Function& function, const ptx::Instruction& instruction);

}  // namespace ptxbench::emu
