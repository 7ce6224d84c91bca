// Finding the kernel in a model's answer.
#pragma once

#include <optional>
#include <string>
#include <string_view>

namespace ptxbench::agent {

struct Extraction {
  std::optional<std::string> source;  // LF line ends, final newline
  // What was taken and from where, or what was missing: shown to the model.
  std::string report;
  bool as_asked = false;  // one closed fence with a complete kernel: nothing to remark
};

// Code fences of three or more backticks or tildes, at any indent, LF or CRLF, whose language is cpp, cuda, c++, cu, c, cc,
// cxx or none; other languages are no kernel. A fence that is not closed ends at the next opening fence or at the end of the
// answer. A complete kernel has a __global__ function and exports run (PTXBENCH_EXPORT or TVM_FFI_DLL_EXPORT_TYPED_FUNC),
// both outside comments; the last complete kernel wins. Without any fence, an answer that is a kernel from some line on is
// taken from there. What stands between <think> and </think> is not the answer.
Extraction extract_kernel(std::string_view answer);

// Limits of a kernel's text, so that one answer cannot fill the disk.
inline constexpr std::size_t kLargestKernel = std::size_t{1} << 20;

}  // namespace ptxbench::agent
