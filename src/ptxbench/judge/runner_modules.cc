#include "ptxbench/judge/runner_modules.h"

#include <elf.h>
#include <fmt/format.h>

#include <cstring>
#include <optional>
#include <span>
#include <string_view>

#include "ptxbench/base/fatbin.h"
#include "ptxbench/base/file.h"
#include "ptxbench/base/hash.h"

namespace ptxbench::judge {
namespace {

// A T at `offset`, if it lies inside.
template <class T>
std::optional<T> at(std::string_view bytes, std::uint64_t offset) {
  if (offset > bytes.size() || sizeof(T) > bytes.size() - offset) return std::nullopt;
  T value;
  bytes.copy(reinterpret_cast<char*>(&value), sizeof value, offset);
  return value;
}

std::string_view part(std::string_view bytes, std::uint64_t offset, std::uint64_t size) {
  if (offset > bytes.size() || size > bytes.size() - offset) return {};
  return bytes.substr(offset, size);
}

std::string_view section(std::string_view elf, std::string_view name) {
  const auto header = at<Elf64_Ehdr>(elf, 0);
  if (!header || std::memcmp(header->e_ident, ELFMAG, SELFMAG) != 0) return {};
  const auto names = at<Elf64_Shdr>(elf, header->e_shoff + std::uint64_t{header->e_shstrndx} * sizeof(Elf64_Shdr));
  if (!names) return {};
  const std::string_view strings = part(elf, names->sh_offset, names->sh_size);
  for (unsigned i = 0; i < header->e_shnum; ++i) {
    const auto found = at<Elf64_Shdr>(elf, header->e_shoff + std::uint64_t{i} * sizeof(Elf64_Shdr));
    if (!found || found->sh_name >= strings.size()) return {};
    const std::string_view rest = strings.substr(found->sh_name);
    if (rest.substr(0, rest.find('\0')) == name) return part(elf, found->sh_offset, found->sh_size);
  }
  return {};
}

}  // namespace

Result<std::vector<std::string>> module_hashes(const std::filesystem::path& library) {
  PTXBENCH_TRY(const std::string bytes, read_file(library));
  std::string_view rest = section(bytes, ".nv_fatbin");
  std::vector<std::string> hashes;
  constexpr std::size_t kAlignment = 8;
  while (rest.size() >= 16) {
    if (at<std::uint32_t>(rest, 0) != kFatbinMagic) {  // padding between containers
      rest.remove_prefix(kAlignment);
      continue;
    }
    Result<std::size_t> size = fatbin_container_size(std::as_bytes(std::span(rest)));
    if (!size || *size == 0) {
      return fail(ErrorKind::kInvalidInput, fmt::format("'{}': damaged .nv_fatbin section", library.string()));
    }
    hashes.push_back(sha256_hex(rest.substr(0, *size)));
    rest.remove_prefix(std::min(rest.size(), (*size + kAlignment - 1) / kAlignment * kAlignment));
  }
  return hashes;
}

}  // namespace ptxbench::judge
