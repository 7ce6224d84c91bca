// parse(): PTX text to a resolved module. Takes the output of 'nvcc --ptx' and the stripped text embedded in fat binaries.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "ptxbench/base/result.h"
#include "ptxbench/ptx/ast.h"

namespace ptxbench::ptx {

inline constexpr std::size_t kMaxErrors = 20;
inline constexpr std::size_t kMaxTextBytes = std::size_t{64} << 20;

// Never throws on any bytes. The Error is the first one (with file:line:col, the source line and a caret as notes); the
// others follow in its notes.
Result<Module> parse(std::string_view text, std::string file_name);

// The same with every error as a value of its own, at most max_errors. The module holds what could be understood.
struct ParseOutcome {
  Module module;
  std::vector<Error> errors;
};
ParseOutcome parse_all(std::string_view text, std::string file_name, std::size_t max_errors = kMaxErrors);

// One Error out of several: the first, with the others as notes.
Error combine(std::vector<Error> errors);

}  // namespace ptxbench::ptx
