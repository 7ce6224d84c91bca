#include "ptxbench/base/error.h"

#include <fmt/format.h>

namespace ptxbench {

std::string_view to_string(ErrorKind kind) {
  switch (kind) {
    case ErrorKind::kInvalidInput: return "invalid_input";
    case ErrorKind::kNotFound: return "not_found";
    case ErrorKind::kUnsupported: return "unsupported";
    case ErrorKind::kTooLarge: return "too_large";
    case ErrorKind::kTimeout: return "timeout";
    case ErrorKind::kUnavailable: return "unavailable";
    case ErrorKind::kProtocol: return "protocol";
  }
  return "unknown";
}

std::string Error::format() const {
  std::string out;
  if (!where.file.empty()) {
    out += where.file + ":";
    if (where.line > 0) out += fmt::format("{}:", where.line);
    if (where.column > 0) out += fmt::format("{}:", where.column);
    out += " ";
  }
  out += "error: " + message;
  for (const std::string& note : notes) out += "\n  " + note;
  if (!hint.empty()) out += "\n  hint: " + hint;
  return out;
}

}  // namespace ptxbench
