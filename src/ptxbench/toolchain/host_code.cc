#include "ptxbench/toolchain/host_code.h"

#include <elf.h>
#include <fmt/format.h>

#include "ptxbench/base/subprocess.h"

namespace ptxbench::toolchain {

namespace {

using namespace std::chrono_literals;
using namespace std::string_view_literals;

constexpr std::string_view kBytes[] = {"\x0F\x05"sv, "\x0F\x34"sv, "\xCD\x80"sv};
constexpr const char* kObjdump = "/usr/bin/objdump";  // binutils: g++ cannot be without it

bool bytes_occur(const ElfFile& elf) {
  for (const ElfSection& section : elf.sections)
    if (section.flags & SHF_EXECINSTR)
      for (std::string_view bytes : kBytes)
        if (section.data.find(bytes) != std::string_view::npos) return true;
  return false;
}

}  // namespace

Result<std::optional<std::string>> find_system_call_instruction(const ElfFile& elf,
                                                                const std::filesystem::path& library,
                                                                SandboxMode mode) {
  if (!bytes_occur(elf)) return std::optional<std::string>();
  Command command;
  command.argv = {kObjdump, "--disassemble", "--no-show-raw-insn", library.string()};
  command.environment = {"LC_ALL=C"};
  command.stdout_to = OutputTo::capture(std::uint64_t{256} << 20);
  command.sandbox.emplace();
  command.sandbox->mode = mode;
  command.sandbox->read_only = system_library_paths();
  command.sandbox->read_only.push_back(library);
  PTXBENCH_TRY(const Finished finished, run(command, 60s));
  if (!finished.exit.ok() || finished.out.truncated)
    return fail(ErrorKind::kUnavailable,
                fmt::format("objdump could not read the host code: {}", finished.exit.describe()));
  for (std::string_view name : {"\tsyscall"sv, "\tsysenter"sv, "\tint    $0x80"sv})
    if (finished.out.bytes.find(name) != std::string::npos) return std::optional<std::string>(name.substr(1));
  return std::optional<std::string>();
}

}  // namespace ptxbench::toolchain
