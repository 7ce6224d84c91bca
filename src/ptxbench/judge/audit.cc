#include "ptxbench/judge/audit.h"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <optional>

#include "ptxbench/toolchain/sass.h"

namespace ptxbench::judge {
namespace {

// ncu's names. The last one comes along with kThreads, by opcode with all modifiers.
constexpr std::string_view kWarps = "inst_executed", kThreads = "thread_inst_executed_true",
                           kOpcodes = "sass__thread_inst_executed_true_per_opcode_with_modifier_all",
                           kKernel = "Kernel Name";

// One line of RFC 4180 without line breaks in fields, as ncu writes it: all fields quoted.
std::vector<std::string> split_csv(std::string_view line) {
  std::vector<std::string> fields;
  bool quoted = false;
  std::string field;
  for (std::size_t i = 0; i < line.size(); ++i) {
    const char c = line[i];
    if (c == '"' && quoted && i + 1 < line.size() && line[i + 1] == '"')
      field += line[++i];
    else if (c == '"')
      quoted = !quoted;
    else if (c == ',' && !quoted)
      fields.push_back(std::move(field)), field.clear();
    else
      field += c;
  }
  fields.push_back(std::move(field));
  return fields;
}

// "40,960".
std::optional<std::uint64_t> grouped_number(std::string text) {
  std::erase(text, ',');
  std::uint64_t value = 0;
  const auto [stop, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc() || stop != text.data() + text.size()) return std::nullopt;
  return value;
}

// "30,716 (IMAD: 3,672; UMOV: 3,240)": the parts in parentheses, name and figure.
Result<std::vector<std::pair<std::string, std::uint64_t>>> instances(std::string_view column, const std::string& text) {
  std::vector<std::pair<std::string, std::uint64_t>> parts;
  const std::size_t open = text.find('(');
  if (open == std::string::npos || text.back() != ')') return parts;
  for (std::size_t at = open + 1; at < text.size();) {
    const std::size_t end = std::min(text.find(';', at), text.size() - 1);
    const std::string part = text.substr(at, end - at);
    at = text.find_first_not_of("; )", end);
    const std::size_t colon = part.rfind(": ");
    const auto value = colon == std::string::npos ? std::nullopt : grouped_number(part.substr(colon + 2));
    if (!value) return fail(ErrorKind::kProtocol, fmt::format("ncu: {}: cannot read '{}'", column, part));
    parts.emplace_back(part.substr(0, colon), *value);
  }
  return parts;
}

// ncu's own complaints, for a report without a table.
std::string complaints(std::string_view text) {
  std::string found;
  for (std::size_t at = text.find("==ERROR=="); at != std::string_view::npos; at = text.find("==ERROR==", at + 1))
    found += fmt::format("{}{}", found.empty() ? "" : "; ",
                         text.substr(at + 10, std::min(text.find('\n', at), text.size()) - at - 10));
  return found;
}

std::size_t column_of(const std::vector<std::string>& header, std::string_view name) {
  return static_cast<std::size_t>(std::find(header.begin(), header.end(), name) - header.begin());
}

Result<std::map<std::uint64_t, std::uint64_t>> by_address(std::string_view column, const std::string& text) {
  PTXBENCH_TRY(const auto parts, instances(column, text));
  std::map<std::uint64_t, std::uint64_t> counts;
  for (const auto& [name, value] : parts) {
    std::uint64_t address = 0;
    const char* end = name.data() + name.size();
    if (!name.starts_with("0x") || std::from_chars(name.data() + 2, end, address, 16).ptr != end)
      return fail(ErrorKind::kProtocol, fmt::format("ncu: {}: '{}' is no address", column, name));
    counts[address] = value;
  }
  return counts;
}

Result<AuditedLaunch> read_launch(const std::vector<std::string>& header, const std::vector<std::string>& row) {
  AuditedLaunch launch;
  launch.kernel = row[column_of(header, kKernel)];
  PTXBENCH_TRY(const auto opcodes, instances(kOpcodes, row[column_of(header, kOpcodes)]));
  launch.opcodes = {opcodes.begin(), opcodes.end()};
  PTXBENCH_TRY(auto warps, by_address(kWarps, row[column_of(header, kWarps)]));
  PTXBENCH_TRY(auto threads, by_address(kThreads, row[column_of(header, kThreads)]));
  if (warps.empty() || warps.size() != threads.size())
    return fail(ErrorKind::kProtocol, fmt::format("ncu: {}: {} instructions with warp counts, {} with thread counts",
                                                  launch.kernel, warps.size(), threads.size()));
  const std::uint64_t first = warps.begin()->first;
  for (const auto& [address, count] : warps)
    launch.instructions.push_back({static_cast<std::uint32_t>(address - first), count, threads[address]});
  return launch;
}

// Their instructions are tried again and again until something has happened.
bool waits(std::string_view family) { return family == "mbarrier"; }

}  // namespace

std::vector<std::string> audit_prefix(const std::filesystem::path& ncu, const std::filesystem::path& report) {
  return {ncu.string(),
          "--clock-control",
          "none",
          "--target-processes",
          "all",
          "--csv",
          "--page",
          "raw",
          "--print-units",
          "base",
          "--print-kernel-base",
          "mangled",
          "--print-metric-instances",
          "details",
          "--log-file",
          report.string(),
          "--metrics",
          fmt::format("{},{}", kWarps, kThreads)};
}

Result<std::vector<AuditedLaunch>> read_audit_report(std::string_view text) {
  std::vector<std::string> header;
  std::vector<AuditedLaunch> launches;
  bool units = false;  // the line after the header
  for (std::size_t at = 0; at < text.size();) {
    const std::size_t end = std::min(text.find('\n', at), text.size());
    const std::string_view line = text.substr(at, end - at);
    at = end + 1;
    if (!line.starts_with('"')) continue;  // "==PROF== Connected to process 5"
    std::vector<std::string> row = split_csv(line);
    if (header.empty()) {
      header = std::move(row);
      for (const std::string_view column : {kKernel, kWarps, kThreads, kOpcodes})
        if (column_of(header, column) == header.size())
          return fail(ErrorKind::kProtocol, fmt::format("ncu's table has no column '{}'", column),
                      "another version of ncu?");
      continue;
    }
    if (row.size() != header.size())
      return fail(ErrorKind::kProtocol,
                  fmt::format("ncu's table: {} fields in a row, {} in its header", row.size(), header.size()));
    if (!units) {
      units = true;
      continue;
    }
    PTXBENCH_TRY(AuditedLaunch launch, read_launch(header, row));
    launches.push_back(std::move(launch));
  }
  if (launches.empty()) {
    const std::string why = complaints(text);
    return fail(ErrorKind::kProtocol, fmt::format("ncu counted no kernel{}{}", why.empty() ? "" : ": ", why));
  }
  return launches;
}

schema::Audit compare_audit(const std::vector<schema::InstructionCount>& counted,
                            const std::vector<AuditedLaunch>& audited) {
  std::map<std::string, schema::AuditRow> rows;
  for (const schema::InstructionCount& count : counted)
    if (!waits(count.family)) rows[count.family].counted = count.thread_instructions;
  for (const AuditedLaunch& launch : audited)
    for (const auto& [opcode, threads] : launch.opcodes)
      if (const std::string_view family = toolchain::sass_family(opcode); !family.empty() && !waits(family))
        rows[std::string(family)].audited += threads;
  schema::Audit audit;
  audit.tool = "ncu";
  for (auto& [family, row] : rows) {
    row.family = family;
    if (row.counted != row.audited && audit.message.empty())
      audit.message = fmt::format("{}: {} predicate-true thread instructions counted, ncu says {}", family, row.counted,
                                  row.audited);
    if (row.counted != 0 || row.audited != 0) audit.rows.push_back(row);
  }
  audit.agrees = audit.message.empty();
  return audit;
}

}  // namespace ptxbench::judge
