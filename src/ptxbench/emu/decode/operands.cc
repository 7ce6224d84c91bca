#include "ptxbench/emu/decode/operands.h"

#include <algorithm>

namespace ptxbench::emu {

using isa::OperandShape;
using ptx::OperandKind;

std::vector<const isa::OperandPattern*> match_operands(const ptx::Instruction& instruction) {
  std::vector<const isa::OperandPattern*> present;
  std::size_t required = 0;
  for (const isa::OperandPattern& pattern : isa::operand_patterns(instruction.form)) {
    const auto present_word = [&](isa::Mod word) { return instruction.has(word); };
    if (!pattern.conditions.empty() && std::ranges::none_of(pattern.conditions, present_word)) continue;
    present.push_back(&pattern);
    required += pattern.optional ? 0 : 1;
  }
  std::size_t extra = instruction.operand_count > required ? instruction.operand_count - required : 0;
  std::vector<const isa::OperandPattern*> matched;
  for (const isa::OperandPattern* pattern : present) {
    if (pattern->optional) {
      if (extra == 0) continue;
      --extra;
    }
    matched.push_back(pattern);
  }
  return matched;
}

const isa::OperandAlternative& chosen_alternative(const isa::OperandPattern& pattern, const ptx::Operand& operand) {
  for (const isa::OperandAlternative& alternative : pattern.alternatives) {
    const bool vector = alternative.shape == OperandShape::kVec || alternative.shape == OperandShape::kDstVec ||
                        alternative.shape == OperandShape::kVecInOut;
    if ((operand.kind == OperandKind::kVector) == vector) return alternative;
  }
  return pattern.alternatives.front();
}

isa::Type operand_type(const ptx::Instruction& instruction, const isa::OperandAlternative& alternative) {
  isa::Type type =
      alternative.type_slot == isa::Slot::kCount ? alternative.type : instruction.type(alternative.type_slot);
  if (!alternative.doubled) return type;
  switch (type) {
    case isa::Type::kU16: return isa::Type::kU32;
    case isa::Type::kS16: return isa::Type::kS32;
    case isa::Type::kU32: return isa::Type::kU64;
    case isa::Type::kS32: return isa::Type::kS64;
    default: return type;
  }
}

RegisterAccess register_access(const ptx::Function& function, const ptx::Instruction& instruction) {
  RegisterAccess access;
  if (instruction.predicate.reg != ptx::kNone) access.uses.push_back(instruction.predicate.reg);
  auto visit = [&](auto&& self, const ptx::Operand& operand, bool uses, bool defs) -> void {
    if (operand.kind == OperandKind::kAddress) {
      if (operand.reg != ptx::kNone) access.uses.push_back(operand.reg);
      uses = true;
      defs = false;
    } else if (operand.kind == OperandKind::kReg) {
      if (uses) access.uses.push_back(operand.reg);
      if (defs) access.defs.push_back(operand.reg);
    }
    if (operand.kind == OperandKind::kTargets) return;
    for (const ptx::Operand& element : function.elements(operand)) self(self, element, uses, defs);
  };
  const auto patterns = match_operands(instruction);
  const auto operands = function.operands(instruction);
  for (std::size_t i = 0; i < operands.size(); ++i) {
    bool uses = true, defs = false;
    if (i < patterns.size()) {
      switch (chosen_alternative(*patterns[i], operands[i]).shape) {
        case OperandShape::kDst:
        case OperandShape::kDstWide:
        case OperandShape::kDstSink:
        case OperandShape::kDstPair:
        case OperandShape::kPredPair:
        case OperandShape::kDstList:
        case OperandShape::kDstVec:
          uses = false;
          defs = true;
          break;
        case OperandShape::kVecInOut: uses = defs = true; break;
        case OperandShape::kCallArgs:
          defs = patterns[i]->name == "returns";
          uses = !defs;
          break;
        default: break;
      }
    }
    visit(visit, operands[i], uses, defs);
  }
  return access;
}

}  // namespace ptxbench::emu
