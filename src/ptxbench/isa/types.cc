#include "ptxbench/isa/types.h"

#include <array>

#include "ptxbench/isa/mods.h"

namespace ptxbench::isa {
namespace {

struct TypeRow {
  std::string_view spelling;
  unsigned bits;
  TypeClass cls;
};
constexpr TypeRow kTypes[] = {
    {"", 0, TypeClass::kNone},
#define PTX_TYPE(id, spelling, bits, cls) {spelling, bits, TypeClass::cls},
#include "ptxbench/isa/types.def"
#undef PTX_TYPE
};
constexpr std::string_view kSpaces[] = {"",      "reg",    "const",       "global",         "local",
                                        "param", "shared", "shared::cta", "shared::cluster"};

}  // namespace

unsigned bits(Type type) { return kTypes[static_cast<std::size_t>(type)].bits; }
unsigned bytes(Type type) { return (bits(type) + 7) / 8; }
TypeClass type_class(Type type) { return kTypes[static_cast<std::size_t>(type)].cls; }
std::string_view spelling(Type type) { return kTypes[static_cast<std::size_t>(type)].spelling; }
std::string_view spelling(Space space) { return kSpaces[static_cast<std::size_t>(space)]; }

std::optional<Type> type_from_spelling(std::string_view text) {
  const auto mod = mod_from_spelling(text);
  if (!mod || type_of(*mod) == Type::kNone) return std::nullopt;
  return type_of(*mod);
}

}  // namespace ptxbench::isa
