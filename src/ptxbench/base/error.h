// Error: what went wrong with an input or a resource, as a value. Faults of the emulated program are Traps (emu),
// faults of our own code are InternalError (check.h); the three are never mixed.
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace ptxbench {

// The closed set of kinds; pick the most specific. It decides exit codes: the first four are the user's to mend (2 on
// the command line), the others are the machine's (3).
enum class ErrorKind {
  kInvalidInput,  // text, option or record that breaks its contract
  kNotFound,      // a named file, task, tool or symbol does not exist
  kUnsupported,   // understood, and refused by name
  kTooLarge,      // over a stated limit
  kTimeout,       // a deadline passed
  kUnavailable,   // a tool, device or resource that should be there is not (disk full, no nvcc, no memory)
  kProtocol,      // a peer process broke the wire protocol or died
};

std::string_view to_string(ErrorKind kind);

// A place in a text. line and column count from 1; 0 means unknown.
struct Location {
  std::string file;
  int line = 0;
  int column = 0;
};

struct Error {
  ErrorKind kind = ErrorKind::kInvalidInput;
  std::string message;             // what happened: what was found and what was expected
  std::string hint;                // what to do about it; may be empty
  Location where;                  // may be empty
  std::vector<std::string> notes;  // further lines: a compiler's log, the other place of a duplicate

  // "file:line:col: error: message", then notes, then "  hint: ..."; no trailing newline.
  std::string format() const;
};

}  // namespace ptxbench
