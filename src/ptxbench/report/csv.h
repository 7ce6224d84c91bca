// Reading CSV files with a header line (RFC 4180, by libcsv), plain or gzipped. For data that others made: every error names
// the file and the line.
#pragma once

#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "ptxbench/base/result.h"

namespace ptxbench::report {

class CsvFile;

// One data line; valid as long as its file.
class CsvRow {
 public:
  CsvRow(const CsvFile& file, std::size_t index) : file_(file), index_(index) {}

  const std::string& text(std::string_view column) const;  // the column was asked for in read()
  // A number, or the Error that says what stands there instead. NaN and infinities are refused.
  Result<std::int64_t> integer(std::string_view column, std::int64_t low, std::int64_t high) const;
  Result<double> number(std::string_view column) const;
  // What is wrong with this line.
  Error error(const std::string& what) const;

 private:
  const CsvFile& file_;
  std::size_t index_;
};

class CsvFile {
 public:
  // `folder`/`name`, or `folder`/`name`.gz. kInvalidInput when one of `columns` is missing, a line has more or fewer fields
  // than the header, a quote is not closed, or the gzip data end early.
  static Result<CsvFile> read(const std::filesystem::path& folder, const std::string& name,
                              const std::vector<std::string>& columns);

  bool has(std::string_view column) const;  // a column that was not asked for
  std::size_t size() const { return lines_.size(); }
  CsvRow row(std::size_t index) const { return {*this, index}; }
  const std::string& file_name() const { return file_name_; }

 private:
  friend class CsvRow;
  Status parse(const std::string& text);
  std::size_t column(std::string_view name) const;

  std::string file_name_;
  std::vector<std::string> header_;
  std::vector<std::vector<std::string>> rows_;
  std::vector<int> lines_;  // where each row begins, from 1
};

}  // namespace ptxbench::report
