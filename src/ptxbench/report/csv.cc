#include "ptxbench/report/csv.h"

#include <csv.h>
#include <fmt/format.h>
#include <fmt/ranges.h>
#include <zlib.h>

#include <algorithm>
#include <charconv>
#include <cmath>
#include <memory>

#include "ptxbench/base/check.h"

namespace ptxbench::report {
namespace fs = std::filesystem;
namespace {

constexpr std::size_t kMaxBytes = std::size_t{1} << 30;

Error at_line(const std::string& file, int line, std::string what) {
  return {ErrorKind::kInvalidInput,
          std::move(what),
          "compare the file with its source, and fetch it again",
          {file, line, 0},
          {}};
}

// gzread passes plain files through.
Result<std::string> read_maybe_gzipped(const fs::path& path) {
  std::unique_ptr<gzFile_s, int (*)(gzFile)> file(gzopen(path.c_str(), "rb"), gzclose);
  if (!file) return fail(ErrorKind::kUnavailable, fmt::format("cannot open '{}'", path.string()));
  std::string text, block(1 << 16, '\0');
  int got = 0;
  while ((got = gzread(file.get(), block.data(), static_cast<unsigned>(block.size()))) > 0) {
    text.append(block, 0, static_cast<std::size_t>(got));
    if (text.size() > kMaxBytes)
      return fail(ErrorKind::kTooLarge, fmt::format("'{}' holds more than {} bytes", path.string(), kMaxBytes));
  }
  int code = Z_OK;
  const char* why = gzerror(file.get(), &code);
  if (got < 0 || code == Z_BUF_ERROR)
    return fail(
        at_line(path.string(), static_cast<int>(std::count(text.begin(), text.end(), '\n')) + 1,
                code == Z_BUF_ERROR ? "the gzip data end in the middle" : fmt::format("no gzip data: {}", why)));
  return text;
}

// Collects what libcsv calls back with.
struct Rows {
  std::vector<std::string> fields;
  std::vector<std::vector<std::string>> rows;
  std::vector<int> lines;
  int first_line = 1;  // of the row in progress
  bool open = false;   // a quoted field goes on in the next line
};

void on_field(void* data, std::size_t size, void* rows) {
  static_cast<Rows*>(rows)->fields.emplace_back(static_cast<const char*>(data), size);
}

void on_row(int, void* rows) {
  Rows& out = *static_cast<Rows*>(rows);
  out.rows.push_back(std::move(out.fields));
  out.lines.push_back(out.first_line);
  out.fields.clear();
  out.open = false;
}

}  // namespace

Result<CsvFile> CsvFile::read(const fs::path& folder, const std::string& name,
                              const std::vector<std::string>& columns) {
  const fs::path plain = folder / name, zipped = folder / (name + ".gz");
  const bool is_plain = fs::exists(plain);
  if (!is_plain && !fs::exists(zipped))
    return fail(ErrorKind::kNotFound, fmt::format("'{}' does not exist, nor '{}'", plain.string(), zipped.string()),
                "name the folder that holds the published CSV files");
  CsvFile file;
  file.file_name_ = (is_plain ? plain : zipped).string();
  PTXBENCH_TRY(const std::string text, read_maybe_gzipped(file.file_name_));
  PTXBENCH_TRY_STATUS(file.parse(text));
  std::vector<std::string> missing;
  for (const std::string& column : columns)
    if (std::find(file.header_.begin(), file.header_.end(), column) == file.header_.end()) missing.push_back(column);
  if (!missing.empty())
    return fail(at_line(file.file_name_, 1,
                        fmt::format("column{} {} missing; found: {}", missing.size() > 1 ? "s" : "",
                                    fmt::join(missing, ", "), fmt::join(file.header_, ", "))));
  return file;
}

Status CsvFile::parse(const std::string& text) {
  csv_parser parser;
  if (csv_init(&parser, CSV_STRICT | CSV_STRICT_FINI) != 0) return fail(ErrorKind::kUnavailable, "no memory for CSV");
  const std::unique_ptr<csv_parser, void (*)(csv_parser*)> guard(&parser, csv_free);
  Rows out;
  int line = 1;
  // Line by line: libcsv does not say where it is.
  for (std::size_t begin = 0; begin < text.size(); ++line) {
    const std::size_t found = text.find('\n', begin);
    const std::size_t end = found == std::string::npos ? text.size() : found + 1;
    if (!out.open) out.first_line = line;
    out.open = out.open || text.find_first_not_of("\r\n", begin) < end;
    if (csv_parse(&parser, text.data() + begin, end - begin, on_field, on_row, &out) != end - begin)
      return fail(at_line(file_name_, line, fmt::format("no CSV: {}", csv_strerror(csv_error(&parser)))));
    begin = end;
  }
  if (csv_fini(&parser, on_field, on_row, &out) != 0)
    return fail(at_line(file_name_, out.first_line, "the last line ends inside a quoted field"));
  // A cut number would still be a number.
  if (!text.empty() && text.back() != '\n')
    return fail(at_line(file_name_, line - 1, "the file ends in the middle of a line, expected a newline at its end"));
  if (out.rows.empty()) return fail(at_line(file_name_, 1, "the file is empty; expected a header line"));
  header_ = std::move(out.rows.front());
  for (std::size_t i = 1; i < out.rows.size(); ++i) {
    if (out.rows[i].size() != header_.size())
      return fail(at_line(file_name_, out.lines[i],
                          fmt::format("{} fields, expected {} as in the header", out.rows[i].size(), header_.size())));
    rows_.push_back(std::move(out.rows[i]));
    lines_.push_back(out.lines[i]);
  }
  return {};
}

bool CsvFile::has(std::string_view name) const {
  return std::find(header_.begin(), header_.end(), name) != header_.end();
}

std::size_t CsvFile::column(std::string_view name) const {
  const auto found = std::find(header_.begin(), header_.end(), name);
  PTXBENCH_CHECK(found != header_.end(), "column {} was not asked for", name);
  return static_cast<std::size_t>(found - header_.begin());
}

const std::string& CsvRow::text(std::string_view column) const { return file_.rows_[index_][file_.column(column)]; }

Result<std::int64_t> CsvRow::integer(std::string_view column, std::int64_t low, std::int64_t high) const {
  const std::string& field = text(column);
  std::int64_t value = 0;
  const auto [end, code] = std::from_chars(field.data(), field.data() + field.size(), value);
  if (code != std::errc() || end != field.data() + field.size() || value < low || value > high)
    return fail(error(fmt::format("{}: found '{}', expected an integer from {} to {}", column, field, low, high)));
  return value;
}

Result<double> CsvRow::number(std::string_view column) const {
  const std::string& field = text(column);
  double value = 0;
  const auto [end, code] = std::from_chars(field.data(), field.data() + field.size(), value);
  if (code != std::errc() || end != field.data() + field.size() || !std::isfinite(value))
    return fail(error(fmt::format("{}: found '{}', expected a finite number", column, field)));
  return value;
}

Error CsvRow::error(const std::string& what) const { return at_line(file_.file_name_, file_.lines_[index_], what); }

}  // namespace ptxbench::report
