#include "ptxbench/isa/rules.h"

#include <fmt/format.h>

#include <vector>

#include "ptxbench/base/check.h"

namespace ptxbench::isa {
namespace {

enum class RuleKind { kGate, kNeeds, kExcludes, kSaturates, kFloatRounding, kVectorBits };

struct RuleRow {
  RuleKind kind;
  std::string_view forms;
  std::string_view words;
  std::string_view others;
  Version ptx;
  std::string_view targets;
  unsigned limit = 0;
};
#define PTX(major, minor) \
  Version { major, minor }
constexpr RuleRow kRows[] = {
    {RuleKind::kExcludes, "-", "", "", {}, ""},  // so that the array is never empty
#define PTX_GATE(forms, words, ptx, targets) {RuleKind::kGate, forms, words, "", ptx, targets},
#define PTX_NEEDS(forms, words, others) {RuleKind::kNeeds, forms, words, others, {}, ""},
#define PTX_EXCLUDES(forms, words, others) {RuleKind::kExcludes, forms, words, others, {}, ""},
#define PTX_SATURATES(forms) {RuleKind::kSaturates, forms, "", "", {}, ""},
#define PTX_FLOAT_ROUNDING(forms) {RuleKind::kFloatRounding, forms, "", "", {}, ""},
#define PTX_VECTOR_BITS(forms, limit) {RuleKind::kVectorBits, forms, "vec=* evict2=*", "", {}, "", limit},
#include "ptxbench/isa/rules.def"
#undef PTX_SATURATES
#undef PTX_FLOAT_ROUNDING
#undef PTX_VECTOR_BITS
#undef PTX_GATE
#undef PTX_NEEDS
#undef PTX_EXCLUDES
};
#undef PTX

// Words, each perhaps in one slot only.
struct WordList {
  struct Item {
    Slot slot;  // kCount: any
    Mod word;   // kNone: whatever the slot holds
  };
  std::vector<Item> items;
};

struct Rule {
  RuleKind kind;
  WordList words;
  WordList others;
  Version ptx;
  TargetRule targets;
  std::string_view others_text;
  unsigned limit;
};

Slot slot_named(std::string_view name) {
  for (std::size_t i = 0; i < static_cast<std::size_t>(Slot::kCount); ++i) {
    if (spelling(static_cast<Slot>(i)) == name) return static_cast<Slot>(i);
  }
  PTXBENCH_CHECK(false, "rules.def: no slot is called '{}'", name);
}

WordList parse_words(std::string_view text) {
  WordList list;
  while (!text.empty()) {
    const auto space = text.find(' ');
    auto word = text.substr(0, space);
    Slot slot = Slot::kCount;
    if (const auto equal = word.find('='); equal != std::string_view::npos) {
      slot = slot_named(word.substr(0, equal));
      word = word.substr(equal + 1);
    }
    const auto mod = word == "*" ? Mod::kNone : mod_from_spelling(word);
    PTXBENCH_CHECK(mod.has_value(), "rules.def: unknown word '{}'", word);
    list.items.push_back({slot, *mod});
    text = space == std::string_view::npos ? std::string_view{} : text.substr(space + 1);
  }
  return list;
}

// Whether the list has the form: by its name, its head, or 'cp.async.*' for all heads that start so.
bool names_form(std::string_view forms, const Form& form) {
  const auto head = form.head;
  if (forms.empty()) return true;
  while (!forms.empty()) {
    const auto space = forms.find(' ');
    const auto name = forms.substr(0, space);
    if (form.name == name || head == name ||
        (name.ends_with(".*") && head.starts_with(name.substr(0, name.size() - 1))))
      return true;
    forms = space == std::string_view::npos ? std::string_view{} : forms.substr(space + 1);
  }
  return false;
}

const std::vector<std::vector<Rule>>& rules_by_form() {
  static const auto table = [] {
    std::vector<std::vector<Rule>> result(kFormCount);
    for (const RuleRow& row : kRows) {
      Rule rule{row.kind, parse_words(row.words),         parse_words(row.others),
                row.ptx,  parse_target_rule(row.targets), row.others,
                row.limit};
      bool used = row.forms == "-";
      for (const Form& form : forms()) {
        if (!names_form(row.forms, form)) continue;
        result[static_cast<std::size_t>(form.id)].push_back(rule);
        used = true;
      }
      PTXBENCH_CHECK(used, "rules.def: no form is called '{}'", row.forms);
    }
    return result;
  }();
  return table;
}

Mod slot_value(FormId id, std::span<const Mod> mods, Slot slot) {
  const auto elements = modifier_elements(id);
  for (std::size_t i = 0; i < elements.size() && i < mods.size(); ++i) {
    if (elements[i].slot == slot) return mods[i];
  }
  return Mod::kNone;
}

// Whether every value of the source is one of the destination, so that saturation has nothing to do.
bool holds_all(Type destination, Type source) {
  const bool from_signed = type_class(source) == TypeClass::kSigned;
  const bool to_signed = type_class(destination) == TypeClass::kSigned;
  if (from_signed) return to_signed && bits(destination) >= bits(source);
  return to_signed ? bits(destination) > bits(source) : bits(destination) >= bits(source);
}

std::optional<std::string> float_rounding_problem(FormId id, std::span<const Mod> mods) {
  const Type destination = type_of(slot_value(id, mods, Slot::kDtype));
  const Type source = type_of(slot_value(id, mods, Slot::kAtype));
  const bool same = destination == source;
  const bool exact = same || bits(destination) > bits(source);
  // f16 to bf16 and back: ptxas takes it with and without .rnd.
  if (!same && bits(destination) == bits(source)) return std::nullopt;
  const bool rounds = slot_value(id, mods, Slot::kRnd) != Mod::kNone;
  if (!exact && !rounds) return std::string("a rounding modifier is required: .rn, .rz, .rm or .rp");
  if (exact && rounds) return std::string("a conversion that is exact takes no rounding modifier");
  if (!same && slot_value(id, mods, Slot::kIrnd) != Mod::kNone)
    return std::string("rounding to an integer is for conversions within a type");
  return std::nullopt;
}

std::optional<std::string> vector_problem(FormId id, std::span<const Mod> mods, unsigned limit, Target target) {
  const unsigned count = number_of(slot_value(id, mods, Slot::kVec));
  const unsigned width = bits(type_of(slot_value(id, mods, Slot::kType)));
  const unsigned total = count * width;
  if (total > limit) return fmt::format("a vector of {} bits is over the limit of {}", total, limit);
  if (total > 128 && target.sm < 100) return std::string("vectors of 256 bits need sm_100 or later");
  const Space space = space_of(slot_value(id, mods, Slot::kSpace));
  if (total > 128 && space != Space::kGlobal && space != Space::kGeneric)
    return std::string("vectors of 256 bits are for global memory");
  if (slot_value(id, mods, Slot::kEvict2) != Mod::kNone && total != 256)
    return std::string("an L2 eviction priority needs '.v8.b32' or '.v4.b64'");
  return std::nullopt;
}

Mod first_of(FormId id, std::span<const Mod> mods, const WordList& list) {
  const auto elements = modifier_elements(id);
  for (const WordList::Item& item : list.items) {
    for (std::size_t i = 0; i < elements.size() && i < mods.size(); ++i) {
      if (mods[i] == Mod::kNone || (item.slot != Slot::kCount && elements[i].slot != item.slot)) continue;
      if (item.word == Mod::kNone || item.word == mods[i]) return mods[i];
    }
  }
  return Mod::kNone;
}

}  // namespace

std::optional<std::string> broken_rule(FormId id, std::span<const Mod> mods, Version version, Target target) {
  for (const Rule& rule : rules_by_form()[static_cast<std::size_t>(id)]) {
    const Mod word = first_of(id, mods, rule.words);
    if (word == Mod::kNone && !rule.words.items.empty()) continue;
    switch (rule.kind) {
      case RuleKind::kGate:
        if (version < rule.ptx) {
          return fmt::format("'.{}' needs PTX {}.{}, but the module says {}.{}", spelling(word), rule.ptx.major,
                             rule.ptx.minor, version.major, version.minor);
        }
        if (!rule.targets.alternatives.empty() && !rule.targets.allows(target)) {
          return fmt::format("'.{}' needs {}, but the module's target is {}", spelling(word), rule.targets.describe(),
                             to_string(target));
        }
        break;
      case RuleKind::kNeeds:
        if (first_of(id, mods, rule.others) == Mod::kNone)
          return fmt::format("'.{}' needs one of: {}", spelling(word), rule.others_text);
        break;
      case RuleKind::kExcludes:
        if (const Mod other = first_of(id, mods, rule.others); other != Mod::kNone) {
          return fmt::format("'.{}' and '.{}' do not go together", spelling(word), spelling(other));
        }
        break;
      case RuleKind::kSaturates:
        if (first_of(id, mods, {{{Slot::kCount, Mod::kSat}}}) != Mod::kNone &&
            holds_all(type_of(slot_value(id, mods, Slot::kDtype)), type_of(slot_value(id, mods, Slot::kAtype)))) {
          return std::string("'.sat' has nothing to do between these types");
        }
        break;
      case RuleKind::kFloatRounding:
        if (auto problem = float_rounding_problem(id, mods)) return problem;
        break;
      case RuleKind::kVectorBits:
        if (auto problem = vector_problem(id, mods, rule.limit, target)) return problem;
        break;
    }
  }
  return std::nullopt;
}

}  // namespace ptxbench::isa
