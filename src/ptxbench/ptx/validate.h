// validate(): the rules of the manual that are not syntax: ISA version and target of each form, operand types.
// parse() does not apply them, so that tools can read modules for any target.
#pragma once

#include <vector>

#include "ptxbench/base/result.h"
#include "ptxbench/ptx/ast.h"
#include "ptxbench/ptx/parse.h"

namespace ptxbench::ptx {

// At most max_errors, in order of the text. text: the source, for the quoted lines; may be empty.
std::vector<Error> validate_all(const Module& module, std::string_view text = {}, std::size_t max_errors = kMaxErrors);
Status validate(const Module& module, std::string_view text = {});

}  // namespace ptxbench::ptx
