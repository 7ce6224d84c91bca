#include "ptxbench/isa/sregs.h"

#include <unordered_map>

namespace ptxbench::isa {
namespace {

constexpr SregInfo kSregs[] = {
#define PTX_SREG(id, spelling, type, ptx_major, ptx_minor, sm) {spelling, Type::k##type, {ptx_major, ptx_minor}, sm},
#include "ptxbench/isa/sregs.def"
#undef PTX_SREG
};

}  // namespace

const SregInfo& info(Sreg sreg) { return kSregs[static_cast<std::size_t>(sreg)]; }

std::optional<Sreg> sreg_from_spelling(std::string_view text) {
  static const auto index = [] {
    std::unordered_map<std::string_view, Sreg> map;
    for (std::size_t i = 0; i < std::size(kSregs); ++i) map.emplace(kSregs[i].spelling, static_cast<Sreg>(i));
    return map;
  }();
  const auto found = index.find(text);
  if (found == index.end()) return std::nullopt;
  return found->second;
}

}  // namespace ptxbench::isa
