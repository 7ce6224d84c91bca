#include "ptxbench/isa/mods.h"

#include <array>
#include <charconv>
#include <unordered_map>

namespace ptxbench::isa {
namespace {

constexpr std::string_view kSpellings[] = {
    "",
#define PTX_TYPE(id, spelling, bits, cls) spelling,
#include "ptxbench/isa/types.def"
#undef PTX_TYPE
#define PTX_MOD(id, spelling) spelling,
#define PTX_SHAPE(m, n, k) "m" #m "n" #n "k" #k,
#include "ptxbench/isa/mods.def"
#undef PTX_MOD
#undef PTX_SHAPE
};
static_assert(std::size(kSpellings) == kModCount);

std::unordered_map<std::string_view, Mod> make_index() {
  std::unordered_map<std::string_view, Mod> index;
  for (std::size_t i = 1; i < kModCount; ++i) index.emplace(kSpellings[i], static_cast<Mod>(i));
  return index;
}

// The first run of digits in the text, or 0.
unsigned first_number(std::string_view text) {
  const auto start = text.find_first_of("0123456789");
  if (start == std::string_view::npos) return 0;
  unsigned value = 0;
  std::from_chars(text.data() + start, text.data() + text.size(), value);
  return value;
}

}  // namespace

std::string_view spelling(Mod mod) { return kSpellings[static_cast<std::size_t>(mod)]; }

std::optional<Mod> mod_from_spelling(std::string_view text) {
  static const auto index = make_index();
  const auto found = index.find(text);
  if (found == index.end()) return std::nullopt;
  return found->second;
}

Space space_of(Mod mod) {
  switch (mod) {
    case Mod::kConst: return Space::kConst;
    case Mod::kGlobal: return Space::kGlobal;
    case Mod::kLocal: return Space::kLocal;
    case Mod::kParam:
    case Mod::kParamEntry:
    case Mod::kParamFunc: return Space::kParam;
    case Mod::kShared: return Space::kShared;
    case Mod::kSharedCta: return Space::kSharedCta;
    case Mod::kSharedCluster: return Space::kSharedCluster;
    default: return Space::kGeneric;
  }
}

unsigned number_of(Mod mod) {
  auto text = spelling(mod);
  if (const auto colons = text.rfind("::"); colons != std::string_view::npos) text.remove_prefix(colons + 2);
  return first_number(text);
}

MatrixShape shape_of(Mod mod) {
  const auto text = spelling(mod);
  MatrixShape shape;
  if (text.size() < 4 || text[0] != 'm') return shape;
  const auto n = text.find('n', 1);
  if (n == std::string_view::npos || text.find_first_not_of("0123456789nk", 1) != std::string_view::npos) return shape;
  shape.m = first_number(text);
  shape.n = first_number(text.substr(n));
  if (const auto k = text.find('k', n); k != std::string_view::npos) shape.k = first_number(text.substr(k));
  return shape;
}

}  // namespace ptxbench::isa
