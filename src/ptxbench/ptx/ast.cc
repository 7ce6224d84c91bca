#include "ptxbench/ptx/ast.h"

#include <bit>

namespace ptxbench::ptx {

double Operand::as_f64() const {
  if (imm_kind == ImmKind::kF32) return std::bit_cast<float>(static_cast<std::uint32_t>(value));
  if (imm_kind == ImmKind::kF64) return std::bit_cast<double>(value);
  return static_cast<double>(value);
}

isa::Mod Instruction::slot(isa::Slot wanted) const { return slot(wanted, 0); }

isa::Mod Instruction::slot(isa::Slot wanted, unsigned nth) const {
  const auto elements = isa::modifier_elements(form);
  for (std::size_t i = 0; i < elements.size(); ++i) {
    if (elements[i].slot == wanted && nth-- == 0) return mods[i];
  }
  return isa::Mod::kNone;
}

bool Instruction::has(isa::Mod word) const {
  for (const isa::Mod mod : mods) {
    if (mod == word) return true;
  }
  return false;
}

std::uint64_t Function::param_bytes() const { return params.empty() ? 0 : params.back().offset + params.back().size; }

const Function* Module::function(std::string_view wanted) const {
  for (const Function& candidate : functions) {
    if (candidate.name == wanted) return &candidate;
  }
  return nullptr;
}

const Variable* Module::variable(std::string_view wanted) const {
  for (const Variable& candidate : variables) {
    if (candidate.name == wanted) return &candidate;
  }
  return nullptr;
}

const SourceLoc* Module::user_location(const Instruction& instruction) const {
  if (instruction.loc >= locs.size()) return nullptr;
  const SourceLoc* loc = &locs[instruction.loc];
  // An inlined_at names an earlier entry, so the chain ends.
  while (loc->inlined_at < locs.size() && loc->inlined_at < static_cast<std::uint32_t>(loc - locs.data()))
    loc = &locs[loc->inlined_at];
  return loc;
}

std::string_view Module::file(std::uint32_t number) const {
  const auto found = files.find(number);
  return found == files.end() ? std::string_view{} : std::string_view(found->second);
}

}  // namespace ptxbench::ptx
