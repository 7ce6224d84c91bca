#include "ptxbench/toolchain/policy.h"

#include <fmt/format.h>

#include <algorithm>
#include <set>
#include <span>

#include "ptxbench/base/fatbin.h"
#include "ptxbench/base/file.h"
#include "ptxbench/toolchain/elf.h"
#include "ptxbench/toolchain/host_code.h"
#include "ptxbench/toolchain/policy_rules.h"
#include "ptxbench/toolchain/source_text.h"

namespace ptxbench::toolchain {

namespace {

PolicyFinding finding(PolicyRule rule, std::string what, std::string where) {
  return {rule, std::move(what), std::move(where), std::string(hint_for(rule))};
}

// The header named by one line of stripped source; empty if the line is no #include.
std::string_view included_header(std::string_view line) {
  const auto skip_blanks = [&line] {
    while (!line.empty() && (line[0] == ' ' || line[0] == '\t')) line.remove_prefix(1);
  };
  skip_blanks();
  if (line.empty() || line[0] != '#') return {};
  line.remove_prefix(1);
  skip_blanks();
  if (!line.starts_with("include")) return {};
  line.remove_prefix(7);
  skip_blanks();
  if (line.empty() || (line[0] != '<' && line[0] != '"')) return {};
  const std::size_t end = line.find(line[0] == '<' ? '>' : '"', 1);
  return end == std::string_view::npos ? std::string_view{} : line.substr(1, end - 1);
}

// dlopen of the source, or the library if a macro hid it.
std::string place_of(std::string_view stripped, std::string_view symbol, const std::string& name) {
  const std::string_view readable = readable_symbol(symbol);
  const std::size_t colons = readable.rfind("::");
  int line = line_of_call(stripped, colons == std::string_view::npos ? readable : readable.substr(colons + 2));
  if (line == 0 && readable == "std::thread") {
    const std::size_t at = stripped.find("std::thread");
    if (at != std::string_view::npos)
      line =
          1 + static_cast<int>(std::count(stripped.begin(), stripped.begin() + static_cast<std::ptrdiff_t>(at), '\n'));
  }
  return line ? fmt::format("{}:{}", name, line) : fmt::format("{} (compiled: an import of the library)", name);
}

void check_imports(const ElfFile& elf, std::string_view stripped, const std::string& name,
                   std::vector<PolicyFinding>& findings) {
  for (std::string_view symbol : elf.undefined)
    if (const auto rule = rule_for_symbol(symbol))
      findings.push_back(
          finding(*rule, fmt::format("calls {}", readable_symbol(symbol)), place_of(stripped, symbol, name)));
  for (std::string_view library : elf.needed)
    if (!library_allowed(library))
      findings.push_back(finding(PolicyRule::kForeignLibrary, fmt::format("needs the library {}", library), name));
}

std::size_t occurrences(std::string_view text, std::string_view part) {
  std::size_t count = 0;
  for (std::size_t at = 0; (at = text.find(part, at)) != std::string_view::npos; at += part.size()) ++count;
  return count;
}

// The device code section must be the compilation's containers and nothing else, and no container may stand elsewhere.
void check_device_code(const ElfFile& elf, std::string_view library, const std::vector<std::string>& fatbins,
                       const std::string& name, std::vector<PolicyFinding>& findings) {
  const std::set<std::string_view> known(fatbins.begin(), fatbins.end());
  constexpr std::string_view kContainerStart("\x50\xED\x55\xBA\x01\x00\x10\x00", 8);  // magic, version 1, header 16
  std::size_t inside = 0;
  for (const ElfSection& section : elf.sections) {
    if (section.name != ".nv_fatbin") continue;
    inside += occurrences(section.data, kContainerStart);
    std::string_view rest = section.data;
    while (!rest.empty()) {
      if (rest[0] == '\0') {  // alignment between containers
        rest.remove_prefix(1);
        continue;
      }
      const auto size = fatbin_container_size(std::as_bytes(std::span(rest)));
      if (!size || !known.count(rest.substr(0, *size))) {
        findings.push_back(
            finding(PolicyRule::kForeignDeviceCode, "embeds device code that this compilation did not make", name));
        return;
      }
      rest.remove_prefix(*size);
    }
  }
  if (occurrences(library, kContainerStart) > inside)
    findings.push_back(
        finding(PolicyRule::kForeignDeviceCode, "holds a fat binary outside its device code section", name));
}

}  // namespace

std::vector<PolicyFinding> check_source(std::string_view source, const std::string& name) {
  std::vector<PolicyFinding> findings;
  const std::string stripped = strip_comments_and_strings(source);
  std::string_view rest = stripped;
  for (int line = 1; !rest.empty(); ++line) {
    const std::size_t end = std::min(rest.find('\n'), rest.size());
    const std::string_view header = included_header(rest.substr(0, end));
    if (const auto rule = rule_for_header(header))
      findings.push_back(finding(*rule, fmt::format("includes {}", header), fmt::format("{}:{}", name, line)));
    rest.remove_prefix(std::min(end + 1, rest.size()));
  }
  return findings;
}

Result<std::vector<PolicyFinding>> check_library(const std::filesystem::path& path,
                                                 const std::vector<std::string>& fatbins, std::string_view source,
                                                 const std::string& name, SandboxMode mode) {
  PTXBENCH_TRY(const std::string library, read_file(path));
  PTXBENCH_TRY(const ElfFile elf, read_elf(library));
  std::vector<PolicyFinding> findings;
  const std::string stripped = strip_comments_and_strings(source);
  check_imports(elf, stripped, name, findings);
  check_device_code(elf, library, fatbins, name, findings);
  PTXBENCH_TRY(const auto instruction, find_system_call_instruction(elf, path, mode));
  if (instruction)
    findings.push_back(
        finding(PolicyRule::kDirectSystemCall, fmt::format("host code has the instruction {}", *instruction), name));
  return findings;
}

PolicyFinding finding_for_system_call(const std::string& call, const std::string& detail) {
  PolicyRule rule = rule_for_symbol(call).value_or(PolicyRule::kDirectSystemCall);
  if (call == "clone" && detail.find("thread") != std::string::npos) rule = PolicyRule::kThread;
  PolicyFinding result =
      finding(rule, fmt::format("made the system call {}", detail.empty() ? call : detail), "while run() was running");
  if (rule == PolicyRule::kDirectSystemCall)
    result.hint = "remove it; a candidate may only use memory, clocks and the CUDA functions";
  return result;
}

}  // namespace ptxbench::toolchain
