// What the policy check and the inspectors need of a 64-bit little-endian ELF file: sections, imports, exports and needed
// libraries. Input is hostile: every offset is checked.
// Layout: System V ABI, chapters 4 and 5 (Elf64_Ehdr, Elf64_Shdr, Elf64_Sym, Elf64_Dyn).
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "ptxbench/base/result.h"

namespace ptxbench::toolchain {

struct ElfSection {
  std::string_view name;
  std::uint32_t type = 0;
  std::uint64_t flags = 0, address = 0;
  std::string_view data;  // empty for SHT_NOBITS
  std::uint32_t link = 0;
};

struct ElfFile {              // views point into the bytes that were given
  std::uint16_t machine = 0;  // 62 x86-64, 190 CUDA
  std::vector<ElfSection> sections;
  std::vector<std::string_view> needed;     // DT_NEEDED
  std::vector<std::string_view> undefined;  // dynamic symbols that other libraries must provide
  std::vector<std::string_view> exported;   // dynamic symbols defined here

  const ElfSection* section(std::string_view name) const;
};

Result<ElfFile> read_elf(std::string_view bytes);

}  // namespace ptxbench::toolchain
