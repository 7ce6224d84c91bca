#include "ptxbench/isa/rules.h"

#include <fmt/format.h>

#include <vector>

#include "ptxbench/base/check.h"

namespace ptxbench::isa {
namespace {

enum class RuleKind { kGate, kNeeds, kExcludes };

struct RuleRow {
  RuleKind kind;
  std::string_view forms;
  std::string_view words;
  std::string_view others;
  Version ptx;
  std::string_view targets;
};
#define PTX(major, minor) \
  Version { major, minor }
constexpr RuleRow kRows[] = {
    {RuleKind::kExcludes, "-", "", "", {}, ""},  // so that the array is never empty
#define PTX_GATE(forms, words, ptx, targets) {RuleKind::kGate, forms, words, "", ptx, targets},
#define PTX_NEEDS(forms, words, others) {RuleKind::kNeeds, forms, words, others, {}, ""},
#define PTX_EXCLUDES(forms, words, others) {RuleKind::kExcludes, forms, words, others, {}, ""},
#include "ptxbench/isa/rules.def"
#undef PTX_GATE
#undef PTX_NEEDS
#undef PTX_EXCLUDES
};
#undef PTX

struct Rule {
  RuleKind kind;
  ModSet words;
  ModSet others;
  Version ptx;
  TargetRule targets;
  std::string_view others_text;
};

ModSet parse_words(std::string_view text) {
  ModSet set;
  while (!text.empty()) {
    const auto space = text.find(' ');
    const auto mod = mod_from_spelling(text.substr(0, space));
    PTXBENCH_CHECK(mod.has_value(), "rules.def: unknown word in '{}'", text);
    set.set(static_cast<std::size_t>(*mod));
    text = space == std::string_view::npos ? std::string_view{} : text.substr(space + 1);
  }
  return set;
}

// Whether a head is one of the forms named: equal, or followed by a dot.
bool names_head(std::string_view forms, std::string_view head) {
  if (forms.empty()) return true;
  while (!forms.empty()) {
    const auto space = forms.find(' ');
    const auto name = forms.substr(0, space);
    if (head == name || (name.ends_with(".*") && head.starts_with(name.substr(0, name.size() - 1)))) return true;
    forms = space == std::string_view::npos ? std::string_view{} : forms.substr(space + 1);
  }
  return false;
}

const std::vector<std::vector<Rule>>& rules_by_form() {
  static const auto table = [] {
    std::vector<std::vector<Rule>> result(kFormCount);
    for (const RuleRow& row : kRows) {
      Rule rule{row.kind, parse_words(row.words), parse_words(row.others), row.ptx, parse_target_rule(row.targets), row.others};
      bool used = row.forms == "-";
      for (const Form& form : forms()) {
        if (!names_head(row.forms, form.head) && row.forms != form.name) continue;
        result[static_cast<std::size_t>(form.id)].push_back(rule);
        used = true;
      }
      PTXBENCH_CHECK(used, "rules.def: no form is called '{}'", row.forms);
    }
    return result;
  }();
  return table;
}

Mod first_of(std::span<const Mod> mods, const ModSet& set) {
  for (const Mod mod : mods) {
    if (mod != Mod::kNone && set.test(static_cast<std::size_t>(mod))) return mod;
  }
  return Mod::kNone;
}

}  // namespace

std::optional<std::string> broken_rule(FormId id, std::span<const Mod> mods, Version version, Target target) {
  for (const Rule& rule : rules_by_form()[static_cast<std::size_t>(id)]) {
    const Mod word = first_of(mods, rule.words);
    if (word == Mod::kNone && rule.words.any()) continue;
    switch (rule.kind) {
      case RuleKind::kGate:
        if (version < rule.ptx) {
          return fmt::format("'.{}' needs PTX {}.{}, but the module says {}.{}", spelling(word), rule.ptx.major, rule.ptx.minor, version.major, version.minor);
        }
        if (!rule.targets.alternatives.empty() && !rule.targets.allows(target)) {
          return fmt::format("'.{}' needs {}, but the module's target is {}", spelling(word), rule.targets.describe(), to_string(target));
        }
        break;
      case RuleKind::kNeeds:
        if (first_of(mods, rule.others) == Mod::kNone) return fmt::format("'.{}' needs one of: {}", spelling(word), rule.others_text);
        break;
      case RuleKind::kExcludes:
        if (const Mod other = first_of(mods, rule.others); other != Mod::kNone) {
          return fmt::format("'.{}' and '.{}' do not go together", spelling(word), spelling(other));
        }
        break;
    }
  }
  return std::nullopt;
}

}  // namespace ptxbench::isa
