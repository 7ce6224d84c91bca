#include "ptxbench/toolchain/compiler_log.h"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <optional>
#include <regex>

namespace ptxbench::toolchain {

namespace {

constexpr std::size_t kMaxDiagnostics = 100;
constexpr std::size_t kMaxLine = 2000;  // std::regex recurses over the text

std::vector<std::string> lines_of(std::string_view text) {
  std::vector<std::string> lines;
  while (!text.empty()) {
    const std::size_t end = std::min(text.find('\n'), text.size());
    lines.emplace_back(text.substr(0, std::min(end, kMaxLine)));
    text.remove_prefix(std::min(end + 1, text.size()));
  }
  return lines;
}

std::string without_marker(std::string text) {
  for (std::size_t at; (at = text.find(kMarkerFolder)) != std::string::npos;) text.erase(at, kMarkerFolder.size());
  return text;
}

int to_int(const std::string& text) {
  int value = 0;
  std::from_chars(text.data(), text.data() + text.size(), value);
  return value;
}

// The source place of line `line` of the PTX text: the last ".loc FILE LINE COLUMN" at or above it.
struct Place {
  std::string file;
  int line = 0, column = 0;
};
Place place_in_source(const std::vector<std::string>& ptx, int line) {
  static const std::regex kLoc(R"(^\s*\.loc\s+(\d+)\s+(\d+)\s+(\d+))");
  Place place;
  int file = 0;
  std::smatch match;
  // A plain search first: a PTX text has many thousand lines, and std::regex is slow.
  for (int at = std::min(line, static_cast<int>(ptx.size())) - 1; at >= 0 && place.line == 0; --at) {
    const std::string& text = ptx[static_cast<std::size_t>(at)];
    if (text.find(".loc") == std::string::npos || !std::regex_search(text, match, kLoc)) continue;
    file = to_int(match[1]);
    place.line = to_int(match[2]);
    place.column = to_int(match[3]);
  }
  if (place.line == 0) return place;
  const std::regex file_entry(fmt::format(R"re(^\s*\.file\s+{}\s+"([^"]*)")re", file));
  for (const std::string& text : ptx)
    if (text.find(".file") != std::string::npos && std::regex_search(text, match, file_entry))
      place.file = without_marker(match[1]);
  return place;
}

std::optional<Diagnostic> parse_line(const std::string& line, const std::vector<std::string>& ptx) {
  // cudafe++ and cicc: "gemm.cu(10): error: text" or "gemm.cu(10): warning #177-D: text"
  static const std::regex kFrontEnd(
      R"(^(.+)\((\d+)\): (?:catastrophic |internal )?(error|warning|remark)(?: #[0-9A-Za-z-]+)?: (.*)$)");
  // gcc: "gemm.cu:3:10: fatal error: text"
  static const std::regex kHost(R"(^(.+?):(\d+):(?:(\d+):)? (fatal error|error|warning): (.*)$)");
  // ptxas: "ptxas keep/kernel.ptx, line 71; error   : text"
  static const std::regex kAssembler(R"(^ptxas .*, line (\d+); (error|fatal|warning)\s*: (.*)$)");
  static const std::regex kNowhere(R"(^(?:ptxas |nvlink |nvcc )(error|fatal|warning)\s*: (.*)$)");
  std::smatch match;
  if (std::regex_match(line, match, kFrontEnd))
    return Diagnostic{match[1], to_int(match[2]), 0, match[3] == "error", match[4]};
  if (std::regex_match(line, match, kHost))
    return Diagnostic{match[1], to_int(match[2]), match[3].matched ? to_int(match[3]) : 0, match[4] != "warning",
                      match[5]};
  if (std::regex_match(line, match, kAssembler)) {
    const Place place = place_in_source(ptx, to_int(match[1]));
    return Diagnostic{place.file.empty() ? "kernel.ptx" : place.file,
                      place.file.empty() ? to_int(match[1]) : place.line, place.column, match[2] != "warning",
                      fmt::format("PTX: {}", match[3].str())};
  }
  if (std::regex_match(line, match, kNowhere)) return Diagnostic{"", 0, 0, match[1] != "warning", match[2]};
  if (line.find("undefined reference to") != std::string::npos || line.find("ld: cannot find") != std::string::npos)
    return Diagnostic{"", 0, 0, true, line};
  return std::nullopt;
}

}  // namespace

std::vector<Diagnostic> parse_diagnostics(std::string_view log, std::string_view ptx) {
  const std::vector<std::string> ptx_lines = lines_of(ptx);
  std::vector<Diagnostic> found;
  for (const std::string& line : lines_of(log)) {
    if (found.size() == kMaxDiagnostics) break;
    auto one = parse_line(without_marker(line), ptx_lines);
    if (!one) continue;
    // nvcc compiles the host part and the device part: most errors come twice.
    const bool seen = std::any_of(found.begin(), found.end(), [&](const Diagnostic& other) {
      return other.file == one->file && other.line == one->line && other.message == one->message;
    });
    if (!seen) found.push_back(std::move(*one));
  }
  return found;
}

std::vector<schema::KernelResources> parse_kernel_resources(std::string_view log) {
  static const std::regex kEntry(R"(Compiling entry function '([^']+)')");
  static const std::regex kProperties(R"(Function properties for (\S+))");
  static const std::regex kStack(R"((\d+) bytes stack frame, (\d+) bytes spill stores, (\d+) bytes spill loads)");
  static const std::regex kRegisters(R"(Used (\d+) registers)");
  static const std::regex kBarriers(R"(used (\d+) barriers)");
  static const std::regex kShared(R"((\d+) bytes smem)");
  static const std::regex kConstant(R"((\d+) bytes cmem)");
  std::vector<schema::KernelResources> kernels;
  bool of_entry = false;  // the stack line of a called function is not the kernel's
  std::smatch match;
  const auto number = [&](const std::string& line, const std::regex& pattern) -> std::uint32_t {
    std::smatch found;
    return std::regex_search(line, found, pattern) ? static_cast<std::uint32_t>(to_int(found[1])) : 0;
  };
  for (const std::string& line : lines_of(log)) {
    if (std::regex_search(line, match, kEntry)) {
      kernels.emplace_back().name = match[1];
      of_entry = false;
    } else if (std::regex_search(line, match, kProperties)) {
      of_entry = !kernels.empty() && kernels.back().name == match[1];
    } else if (of_entry && std::regex_search(line, match, kStack)) {
      kernels.back().stack_bytes = static_cast<std::uint32_t>(to_int(match[1]));
      kernels.back().spill_store_bytes = static_cast<std::uint32_t>(to_int(match[2]));
      kernels.back().spill_load_bytes = static_cast<std::uint32_t>(to_int(match[3]));
    } else if (!kernels.empty() && std::regex_search(line, kRegisters)) {
      schema::KernelResources& kernel = kernels.back();
      kernel.registers = number(line, kRegisters);
      kernel.barriers = number(line, kBarriers);
      kernel.static_shared_bytes = number(line, kShared);
      for (auto it = std::sregex_iterator(line.begin(), line.end(), kConstant); it != std::sregex_iterator(); ++it)
        kernel.constant_bytes += static_cast<std::uint32_t>(to_int((*it)[1]));
    }
  }
  return kernels;
}

std::string tidy_log(std::string_view log, std::uint64_t max_bytes) {
  std::string tidy;
  for (const std::string& line : lines_of(log)) {
    if (line.rfind("ptxas info", 0) == 0 || line.find("bytes stack frame,") != std::string::npos) continue;
    tidy += without_marker(line) + "\n";
    if (tidy.size() > max_bytes) {
      tidy.resize(static_cast<std::size_t>(max_bytes));
      return tidy + "\n... (cut)\n";
    }
  }
  return tidy;
}

}  // namespace ptxbench::toolchain
