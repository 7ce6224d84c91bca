// Looks for system call instructions in x86-64 host code.
#pragma once

#include <filesystem>
#include <optional>
#include <string>

#include "ptxbench/base/result.h"
#include "ptxbench/base/sandbox.h"
#include "ptxbench/toolchain/elf.h"

namespace ptxbench::toolchain {

// The name of the first syscall, sysenter or int $0x80 instruction in the library's code, if there is one.
// x86 instructions have no fixed length, so their bytes can also be part of a constant: only if the bytes occur at all,
// objdump (in a sandbox) decides. Code that hides one behind a jump into an instruction passes here; the sandbox's
// filter stops it when it runs.
Result<std::optional<std::string>> find_system_call_instruction(const ElfFile& elf,
                                                                const std::filesystem::path& library, SandboxMode mode);

}  // namespace ptxbench::toolchain
