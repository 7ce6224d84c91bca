// Collects the errors of one text, each with its place, the source line and a caret.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "ptxbench/base/error.h"

namespace ptxbench::ptx {

class Diagnostics {
 public:
  Diagnostics(std::string_view text, std::string file_name, std::size_t limit);

  // The place is [offset, offset + length) of the text.
  void report(std::uint32_t offset, std::uint32_t length, std::string message, std::string hint = {},
              ErrorKind kind = ErrorKind::kInvalidInput);
  // By line and column (from 1), for what is found after parsing.
  void report_at(std::uint32_t line, std::uint32_t column, std::string message, std::string hint = {},
                 ErrorKind kind = ErrorKind::kInvalidInput);

  bool full() const { return errors_.size() >= limit_; }
  bool empty() const { return errors_.empty(); }
  std::vector<Error> take();  // in the order of the text

  std::uint32_t line_of(std::uint32_t offset) const;    // from 1
  std::uint32_t column_of(std::uint32_t offset) const;  // from 1

 private:
  std::string_view text_;
  std::string file_name_;
  std::size_t limit_;
  std::vector<std::uint32_t> line_starts_;
  std::vector<Error> errors_;
};

}  // namespace ptxbench::ptx
