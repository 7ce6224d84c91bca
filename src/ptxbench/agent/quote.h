// Pieces of texts that others wrote, cut to a size and marked as theirs.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>

namespace ptxbench::agent {

// The name under which a kernel is compiled, and under which verdicts know it.
inline constexpr std::string_view kKernelFile = "kernel.cu";

// At most `bytes` from the start or the end, cut between characters, with a remark when something was left out. Bytes
// that are no UTF-8 and control characters become '?'.
std::string head(std::string_view text, std::size_t bytes);
std::string tail(std::string_view text, std::size_t bytes);

// Every line behind "| ": nothing in it can be mistaken for the judge's own words. Ends in a newline.
std::string quoted(std::string_view text);

// "  41 | code" for the line and `around` lines before and after it; "" when the source has no such line.
std::string source_lines(std::string_view source, int line, int around);

}  // namespace ptxbench::agent
