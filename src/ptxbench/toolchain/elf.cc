#include "ptxbench/toolchain/elf.h"

#include <elf.h>
#include <fmt/format.h>

#include <cstring>

namespace ptxbench::toolchain {

namespace {

tl::unexpected<Error> malformed(std::string what) {
  return fail(ErrorKind::kInvalidInput, "not a usable ELF file: " + std::move(what));
}

// The structure at an offset that the caller has checked.
template <class T>
T load(std::string_view bytes, std::size_t offset) {
  T value;
  std::memcpy(&value, bytes.data() + offset, sizeof(T));
  return value;
}

bool fits(std::string_view bytes, std::uint64_t offset, std::uint64_t size) {
  return offset <= bytes.size() && size <= bytes.size() - offset;
}

// The NUL-terminated string at an offset of a string table; empty if it leaves the table.
std::string_view string_at(std::string_view table, std::uint64_t offset) {
  if (offset >= table.size()) return {};
  const std::string_view rest = table.substr(static_cast<std::size_t>(offset));
  const std::size_t end = rest.find('\0');
  return end == std::string_view::npos ? std::string_view{} : rest.substr(0, end);
}

Status read_sections(std::string_view bytes, const Elf64_Ehdr& header, ElfFile& file) {
  if (header.e_shentsize != sizeof(Elf64_Shdr))
    return malformed(fmt::format("section headers of {} bytes", header.e_shentsize));
  if (!fits(bytes, header.e_shoff, std::uint64_t{header.e_shnum} * sizeof(Elf64_Shdr)))
    return malformed("section headers out of bounds");
  std::vector<std::uint32_t> names;
  for (unsigned i = 0; i < header.e_shnum; ++i) {
    const auto raw = load<Elf64_Shdr>(bytes, header.e_shoff + i * sizeof(Elf64_Shdr));
    ElfSection section{{}, raw.sh_type, raw.sh_flags, raw.sh_addr, {}, raw.sh_link};
    if (raw.sh_type != SHT_NOBITS && raw.sh_type != SHT_NULL) {
      if (!fits(bytes, raw.sh_offset, raw.sh_size)) return malformed(fmt::format("section {} out of bounds", i));
      section.data = bytes.substr(raw.sh_offset, raw.sh_size);
    }
    names.push_back(raw.sh_name);
    file.sections.push_back(section);
  }
  if (header.e_shstrndx >= file.sections.size()) return malformed("no section names");
  const std::string_view table = file.sections[header.e_shstrndx].data;
  for (std::size_t i = 0; i < names.size(); ++i) file.sections[i].name = string_at(table, names[i]);
  return {};
}

void read_dynamic(ElfFile& file) {
  for (const ElfSection& section : file.sections) {
    if (section.link >= file.sections.size()) continue;
    const std::string_view strings = file.sections[section.link].data;
    if (section.type == SHT_DYNAMIC)
      for (std::size_t at = 0; at + sizeof(Elf64_Dyn) <= section.data.size(); at += sizeof(Elf64_Dyn)) {
        const auto entry = load<Elf64_Dyn>(section.data, at);
        if (entry.d_tag == DT_NULL) break;
        if (entry.d_tag == DT_NEEDED) file.needed.push_back(string_at(strings, entry.d_un.d_val));
      }
    if (section.type == SHT_DYNSYM)
      for (std::size_t at = sizeof(Elf64_Sym); at + sizeof(Elf64_Sym) <= section.data.size(); at += sizeof(Elf64_Sym)) {
        const auto symbol = load<Elf64_Sym>(section.data, at);
        (symbol.st_shndx == SHN_UNDEF ? file.undefined : file.exported).push_back(string_at(strings, symbol.st_name));
      }
  }
}

}  // namespace

const ElfSection* ElfFile::section(std::string_view name) const {
  for (const ElfSection& section : sections)
    if (section.name == name) return &section;
  return nullptr;
}

Result<ElfFile> read_elf(std::string_view bytes) {
  if (bytes.size() < sizeof(Elf64_Ehdr) || std::memcmp(bytes.data(), ELFMAG, SELFMAG) != 0)
    return malformed("no ELF header");
  const auto header = load<Elf64_Ehdr>(bytes, 0);
  if (header.e_ident[EI_CLASS] != ELFCLASS64 || header.e_ident[EI_DATA] != ELFDATA2LSB)
    return malformed("expected 64 bits, little-endian");
  ElfFile file;
  file.machine = header.e_machine;
  PTXBENCH_TRY_STATUS(read_sections(bytes, header, file));
  read_dynamic(file);
  return file;
}

}  // namespace ptxbench::toolchain
