// Types and state spaces of PTX (PTX manual, chapters "State Spaces, Types, and Variables").
#pragma once

#include <cstdint>
#include <optional>
#include <string_view>

namespace ptxbench::isa {

enum class Type : std::uint8_t {
  kNone,
#define PTX_TYPE(id, spelling, bits, cls) k##id,
#include "ptxbench/isa/types.def"
#undef PTX_TYPE
};

enum class TypeClass : std::uint8_t { kNone, kBits, kUnsigned, kSigned, kFloat, kPacked, kPredicate };

// Width of a register of the type, in bits; 0 for kNone.
unsigned bits(Type type);
// Size in memory, in bytes; .pred and sub-byte types count one byte.
unsigned bytes(Type type);
TypeClass type_class(Type type);
std::string_view spelling(Type type);  // without the dot
std::optional<Type> type_from_spelling(std::string_view text);

// kGeneric: an access without a state space. kShared is '.shared' as written; in instructions it means '.shared::cta'.
enum class Space : std::uint8_t {
  kGeneric,
  kReg,
  kConst,
  kGlobal,
  kLocal,
  kParam,
  kShared,
  kSharedCta,
  kSharedCluster,
};
std::string_view spelling(Space space);  // without the dot; "" for kGeneric

}  // namespace ptxbench::isa
