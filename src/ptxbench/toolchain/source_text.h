// C++ source as the policy check reads it.
#pragma once

#include <string>
#include <string_view>

#include "ptxbench/base/result.h"

namespace ptxbench::toolchain {

// Whether it is source text at all: not empty, no NUL bytes, valid UTF-8. The Error names the line.
Status check_text(std::string_view text, const std::string& file);

// The text with comments and the contents of string and character literals replaced by spaces; the same length, lines
// and columns. Handles line splices and raw strings. Names inside #include <...> and "..." stay.
std::string strip_comments_and_strings(std::string_view source);

// The line (from 1) of the first use of `identifier` followed by '(' in stripped text; 0 if none.
int line_of_call(std::string_view stripped, std::string_view identifier);

}  // namespace ptxbench::toolchain
