#include "ptxbench/toolchain/sass.h"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <optional>

#include "ptxbench/base/file.h"
#include "ptxbench/base/subprocess.h"
#include "ptxbench/toolchain/locate.h"

namespace ptxbench::toolchain {

namespace {

using namespace std::chrono_literals;

constexpr std::string_view kFamilyNames[] = {"wgmma",       "wgmma.sync", "tma",     "bulk",
                                             "tcgen05.mma", "tcgen05.ld", "tcgen05", "mma",
                                             "ldmatrix",    "mbarrier",   "cluster", "cp.async"};

struct Opcode {
  std::string_view name, family;
};
constexpr Opcode kOpcodes[] = {
    {"UTMALDG", "tma"},          {"UTMASTG", "tma"},        {"UTMAREDG", "tma"},        {"UTMAPF", "tma"},
    {"UBLKCP", "bulk"},          {"UBLKRED", "bulk"},       {"UBLKPF", "bulk"},         {"LDTM", "tcgen05.ld"},
    {"STTM", "tcgen05.ld"},      {"UTCCP", "tcgen05.ld"},   {"UTCSHIFT", "tcgen05.ld"}, {"WARPGROUP", "wgmma.sync"},
    {"LDSM", "ldmatrix"},        {"STSM", "ldmatrix"},      {"MOVM", "ldmatrix"},       {"SYNCS", "mbarrier"},
    {"LDGSTS", "cp.async"},      {"LDGDEPBAR", "cp.async"}, {"ARRIVES", "cp.async"},    {"UCGABAR_ARV", "cluster"},
    {"UCGABAR_WAIT", "cluster"},
};

std::string_view first_word(std::string_view opcode) { return opcode.substr(0, opcode.find_first_of(". ;")); }

struct Line {
  std::uint32_t offset = 0;
  std::string_view opcode;
};

// "        /*0080*/               @P0 BRA.U `(.L_x_1) ;" → {0x80, "BRA.U"}; none if the line is no instruction.
std::optional<Line> instruction_of(std::string_view line) {
  const std::size_t open = line.find("/*");
  if (open == std::string_view::npos || line.find_first_not_of(" \t") != open) return std::nullopt;
  const std::size_t close = line.find("*/", open);
  if (close == std::string_view::npos) return std::nullopt;
  Line found;
  const std::string_view digits = line.substr(open + 2, close - open - 2);
  const auto [end, code] = std::from_chars(digits.begin(), digits.end(), found.offset, 16);
  if (code != std::errc() || end != digits.end()) return std::nullopt;
  std::string_view rest = line.substr(close + 2);
  const auto skip_blanks = [&rest] { rest.remove_prefix(std::min(rest.find_first_not_of(" \t{"), rest.size())); };
  skip_blanks();
  if (!rest.empty() && rest[0] == '@') {
    rest.remove_prefix(std::min(rest.find(' '), rest.size()));
    skip_blanks();
  }
  found.opcode = rest.substr(0, rest.find_first_of(" ;"));
  if (found.opcode.empty()) return std::nullopt;
  return found;
}

}  // namespace

std::string_view sass_family(std::string_view opcode) {
  const std::string_view word = first_word(opcode);
  for (const Opcode& entry : kOpcodes)
    if (word == entry.name) return entry.family;
  if (word.size() == 5 && word.ends_with("GMMA")) return "wgmma";
  if (word.starts_with("UTC")) return word.ends_with("MMA") ? "tcgen05.mma" : "tcgen05";
  if (word.size() == 4 && word.ends_with("MMA")) return "mma";  // HMMA, IMMA, DMMA, BMMA, QMMA, OMMA
  return {};
}

const std::vector<std::string>& sass_families() {
  static const std::vector<std::string> names(std::begin(kFamilyNames), std::end(kFamilyNames));
  return names;
}

std::vector<SassFunction> read_disassembly(std::string_view text) {
  std::vector<SassFunction> functions;
  constexpr std::string_view kText = "\t.section\t.text.";
  while (!text.empty()) {
    const std::size_t end = std::min(text.find('\n'), text.size());
    const std::string_view line = text.substr(0, end);
    text.remove_prefix(std::min(end + 1, text.size()));
    if (line.starts_with(kText)) {
      const std::string_view rest = line.substr(kText.size());
      functions.emplace_back().name = rest.substr(0, rest.find(','));
    } else if (const auto found = instruction_of(line); found && !functions.empty()) {
      functions.back().instructions.push_back({found->offset, std::string(found->opcode)});
    }
  }
  return functions;
}

StaticCounts count_disassembly(std::string_view text) {
  StaticCounts counts;
  for (const std::string& family : sass_families()) counts.families[family] = 0;
  for (const SassFunction& function : read_disassembly(text)) {
    KernelCounts& kernel = counts.kernels.emplace_back();
    kernel.name = function.name;
    kernel.instructions = static_cast<std::int64_t>(function.instructions.size());
    for (const SassInstruction& instruction : function.instructions) {
      const std::string family(sass_family(instruction.opcode));
      if (family.empty()) continue;
      ++kernel.families[family];
      ++kernel.opcodes[std::string(first_word(instruction.opcode))];
      ++counts.families[family];
    }
  }
  return counts;
}

Result<std::string> disassemble(const std::filesystem::path& cubin, SandboxMode mode) {
  const auto nvdisasm = locate_nvdisasm();
  if (!nvdisasm)
    return fail(ErrorKind::kUnavailable, "machine code cannot be read: there is no nvdisasm",
                "scripts/setup fetches it from PyPI into .toolchain/");
  Command command;
  // Without the data flow analysis, which only makes the text nicer.
  command.argv = {nvdisasm->string(), "-c", "-ndf", std::filesystem::absolute(cubin).string()};
  command.environment = {"LC_ALL=C"};
  command.stdout_to = OutputTo::capture(std::uint64_t{256} << 20);
  command.stderr_to = OutputTo::capture(4096);
  command.sandbox.emplace();
  command.sandbox->mode = mode;
  command.sandbox->read_only = system_library_paths();
  command.sandbox->read_only.push_back(std::filesystem::absolute(cubin));
  PTXBENCH_TRY(Finished finished, run(command, 60s));
  if (!finished.exit.ok() || finished.out.truncated)
    return fail(ErrorKind::kUnavailable,
                fmt::format("nvdisasm {}: {}", finished.exit.describe(),
                            finished.err.bytes.substr(0, finished.err.bytes.find('\n'))),
                "is the file a cubin of a GPU that this nvdisasm knows?");
  return std::move(finished.out.bytes);
}

Result<StaticCounts> count_sass(const std::filesystem::path& cubin, SandboxMode mode) {
  PTXBENCH_TRY(const std::string text, disassemble(cubin, mode));
  StaticCounts counts = count_disassembly(text);
  if (counts.kernels.empty()) return fail(ErrorKind::kInvalidInput, fmt::format("'{}' has no kernel", cubin.string()));
  return counts;
}

Result<std::vector<SassFunction>> sass_listing(const schema::Artifact& artifact, SandboxMode mode) {
  const std::filesystem::path kept = artifact.folder / "kernel.sass";
  std::string text;
  if (auto bytes = read_file(kept)) {
    text = std::move(*bytes);
  } else {
    PTXBENCH_TRY(text, disassemble(artifact.cubin(), mode));
    static_cast<void>(write_file_atomic(kept, text));
  }
  std::vector<SassFunction> functions = read_disassembly(text);
  if (functions.empty())
    return fail(ErrorKind::kInvalidInput, fmt::format("'{}' has no kernel", artifact.cubin().string()));
  return functions;
}

}  // namespace ptxbench::toolchain
