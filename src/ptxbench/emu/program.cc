#include "ptxbench/emu/program.h"

#include "ptxbench/ptx/ast.h"
#include "ptxbench/ptx/print.h"

namespace ptxbench::emu {

std::string Program::text(std::uint32_t site) const {
  const Site& s = sites.at(site);
  return s.instruction == nullptr ? std::string() : ptx::print(*module, *s.function, *s.instruction);
}

SourceLine Program::source(std::uint32_t site) const {
  const Site& s = sites.at(site);
  if (s.instruction == nullptr) return {};
  const ptx::SourceLoc* loc = module->user_location(*s.instruction);
  if (loc == nullptr) return {};
  return {std::string(module->file(loc->file)), loc->line};
}

std::uint32_t Program::ptx_line(std::uint32_t site) const {
  const Site& s = sites.at(site);
  return s.instruction == nullptr ? 0 : s.instruction->position.line;
}

std::uint32_t Program::ptx_line_at(std::uint32_t pc) const {
  for (; pc < ops.size(); ++pc)
    if (const std::uint32_t line = ptx_line(ops[pc].site); line != 0) return line;
  return 0;
}

}  // namespace ptxbench::emu
