// A verdict as people read it.
#pragma once

#include <string>

#include "ptxbench/schema/verdict.h"

namespace ptxbench::cli {

// Several lines, ending in a newline. colour: ANSI colours for the states.
std::string render(const schema::Verdict& verdict, bool colour);

}  // namespace ptxbench::cli
