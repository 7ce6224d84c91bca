#include "ptxbench/isa/form.h"

#include <deque>
#include <map>

#include "ptxbench/base/check.h"
#include "ptxbench/isa/notation.h"
#include "ptxbench/isa/operands.h"

namespace ptxbench::isa {
namespace {

using enum Scope;

#define PTX(major, minor) \
  Version { major, minor }
#define Full FormStatus::kFull, ""
#define ParseOnly FormStatus::kParseOnly, ""
#define Refused(why) FormStatus::kRefused, why
constexpr Form kForms[] = {
#define PTX_FORM(id, head, modifiers, operands, ptx, ...) \
  {FormId::k##id, #id, head, modifiers, operands, ptx, __VA_ARGS__},
#include "ptxbench/isa/forms.def"
#undef PTX_FORM
};
#undef PTX
#undef Full
#undef ParseOnly
#undef Refused
static_assert(std::size(kForms) == kFormCount);

struct SlotRow {
  std::string_view name;
  std::string_view words;
};
constexpr SlotRow kSlots[] = {
#define PTX_SLOT(id, name, words) {name, words},
#include "ptxbench/isa/slots.def"
#undef PTX_SLOT
};
static_assert(std::size(kSlots) == static_cast<std::size_t>(Slot::kCount));

// What the notation strings say, decoded once.
struct Decoded {
  TargetRule targets;
  std::vector<ModifierElement> modifiers;
  std::vector<OperandPattern> operands;
};

const std::vector<Decoded>& decoded() {
  static const std::vector<Decoded> all = [] {
    std::vector<Decoded> result;
    result.reserve(kFormCount);
    for (const Form& row : kForms) {
      Decoded d{parse_target_rule(row.targets), {}, {}};
      if (row.status != FormStatus::kRefused || row.modifiers != "*") {
        d.modifiers = parse_modifiers(row);
        d.operands = parse_operands(row);
      }
      result.push_back(std::move(d));
    }
    return result;
  }();
  return all;
}

const Decoded& decoded(FormId id) {
  PTXBENCH_CHECK(static_cast<std::size_t>(id) < kFormCount, "form id {} out of range", static_cast<int>(id));
  return decoded()[static_cast<std::size_t>(id)];
}

}  // namespace

std::span<const Form> forms() { return kForms; }

const Form& form(FormId id) {
  PTXBENCH_CHECK(static_cast<std::size_t>(id) < kFormCount, "form id {} out of range", static_cast<int>(id));
  return kForms[static_cast<std::size_t>(id)];
}

const TargetRule& target_rule(FormId id) { return decoded(id).targets; }
std::span<const ModifierElement> modifier_elements(FormId id) { return decoded(id).modifiers; }
std::span<const OperandPattern> operand_patterns(FormId id) { return decoded(id).operands; }

std::string_view spelling(Slot slot) {
  return slot < Slot::kCount ? kSlots[static_cast<std::size_t>(slot)].name : std::string_view{};
}
std::string_view default_words(Slot slot) {
  return slot < Slot::kCount ? kSlots[static_cast<std::size_t>(slot)].words : std::string_view{};
}

std::string_view spelling(Family family) {
  static constexpr std::string_view kNames[] = {"none",        "wgmma",      "wgmma.sync", "tma",    "bulk",
                                                "tcgen05.mma", "tcgen05.ld", "tcgen05",    "mma",    "ldmatrix",
                                                "mbarrier",    "cluster",    "cp.async",   "tma.aux"};
  static_assert(std::size(kNames) == static_cast<std::size_t>(Family::kCount));
  return kNames[static_cast<std::size_t>(family)];
}

bool ModifierElement::admits(Mod mod) const {
  if (slot == Slot::kFlag) return mod == word;
  return words->test(static_cast<std::size_t>(mod));
}

}  // namespace ptxbench::isa
