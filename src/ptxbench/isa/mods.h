// Modifiers: the dotted words after a mnemonic, types included. One enum, so that a decoded instruction is a few small
// integers and semantics are written as switches.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string_view>

#include "ptxbench/isa/types.h"

namespace ptxbench::isa {

enum class Mod : std::uint16_t {
  kNone,  // the slot was left out
#define PTX_TYPE(id, spelling, bits, cls) k##id,
#include "ptxbench/isa/types.def"
#undef PTX_TYPE
#define PTX_MOD(id, spelling) k##id,
#define PTX_SHAPE(m, n, k) kM##m##N##n##K##k,
#include "ptxbench/isa/mods.def"
#undef PTX_MOD
#undef PTX_SHAPE
  kCount
};
inline constexpr std::size_t kModCount = static_cast<std::size_t>(Mod::kCount);

std::string_view spelling(Mod mod);  // without the dot; "" for kNone
std::optional<Mod> mod_from_spelling(std::string_view text);

// The type that the modifier names, or kNone.
constexpr Type type_of(Mod mod) { return mod >= Mod::kB1 && mod <= Mod::kPred ? static_cast<Type>(mod) : Type::kNone; }
// The state space that the modifier names; kGeneric for any other, kNone included.
Space space_of(Mod mod);
// The number in .v2, .x16, .3d, .cta_group::2 and .L2::128B; 0 if there is none.
unsigned number_of(Mod mod);

struct MatrixShape {
  unsigned m = 0, n = 0, k = 0;
};
// {0, 0, 0} if the modifier is not a shape mMnNkK or mMnN.
MatrixShape shape_of(Mod mod);

}  // namespace ptxbench::isa
