// Special registers (PTX manual, "Special Registers").
#pragma once

#include <cstdint>
#include <optional>
#include <string_view>

#include "ptxbench/isa/target.h"
#include "ptxbench/isa/types.h"

namespace ptxbench::isa {

enum class Sreg : std::uint8_t {
#define PTX_SREG(id, spelling, type, ptx_major, ptx_minor, sm) k##id,
#include "ptxbench/isa/sregs.def"
#undef PTX_SREG
  kCount
};

struct SregInfo {
  std::string_view spelling;  // "%tid.x"
  Type type;
  Version min_ptx;
  int min_sm;
};
const SregInfo& info(Sreg sreg);
std::optional<Sreg> sreg_from_spelling(std::string_view text);

}  // namespace ptxbench::isa
