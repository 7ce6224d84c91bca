// print(): canonical PTX text of a module. parse(print(m)) equals m up to text positions, and printing is idempotent.
#pragma once

#include <string>

#include "ptxbench/ptx/ast.h"

namespace ptxbench::ptx {

std::string print(const Module& module);
// One instruction without guard indentation, label or newline: "@%p1 add.s32 %r1, %r2, 3;"
std::string print(const Module& module, const Function& function, const Instruction& instruction);

}  // namespace ptxbench::ptx
