#include "ptxbench/isa/match.h"

#include <fmt/format.h>

#include <algorithm>
#include <unordered_map>

#include "ptxbench/isa/operands.h"

namespace ptxbench::isa {
namespace {

struct Head {
  std::vector<std::string_view> words;
  std::vector<FormId> forms;
};

std::vector<std::string_view> split(std::string_view text) {
  std::vector<std::string_view> words;
  while (!text.empty()) {
    const auto dot = text.find('.');
    words.push_back(text.substr(0, dot));
    text = dot == std::string_view::npos ? std::string_view{} : text.substr(dot + 1);
  }
  return words;
}

// By first word; longer heads first.
const std::unordered_map<std::string_view, std::vector<Head>>& heads() {
  static const auto index = [] {
    std::unordered_map<std::string_view, std::vector<Head>> map;
    for (const Form& row : forms()) {
      auto words = split(row.head);
      auto& list = map[words[0]];
      auto place = std::find_if(list.begin(), list.end(), [&](const Head& head) { return head.words == words; });
      if (place == list.end()) place = list.insert(list.end(), Head{std::move(words), {}});
      place->forms.push_back(row.id);
    }
    for (auto& [word, list] : map) {
      std::stable_sort(list.begin(), list.end(),
                       [](const Head& a, const Head& b) { return a.words.size() > b.words.size(); });
    }
    return map;
  }();
  return index;
}

// Words of the same group keep their order; group 0 has none.
enum class Group { kNone, kType, kSpace, kLayout };

Group group_of(Mod mod) {
  if (type_of(mod) != Type::kNone) return Group::kType;
  if (space_of(mod) != Space::kGeneric) return Group::kSpace;
  if (mod == Mod::kRow || mod == Mod::kCol) return Group::kLayout;
  return Group::kNone;
}

Group group_of(const ModifierElement& element) {
  if (element.slot == Slot::kFlag) return group_of(element.word);
  for (std::size_t i = 1; i < kModCount; ++i) {
    if (element.words->test(i)) return group_of(static_cast<Mod>(i));
  }
  return Group::kNone;
}

struct Attempt {
  ModList mods{};
  std::size_t matched = 0;  // words taken before the first misfit
  bool complete = false;
};

Attempt try_form(FormId id, std::span<const Mod> words) {
  Attempt attempt;
  const auto elements = modifier_elements(id);
  std::array<std::size_t, 4> next{};  // by Group: elements before it may not be used any more
  for (const Mod word : words) {
    const Group group = group_of(word);
    const std::size_t start = group == Group::kNone ? 0 : next[static_cast<std::size_t>(group)];
    std::size_t i = start;
    for (; i < elements.size(); ++i) {
      if (attempt.mods[i] != Mod::kNone) continue;
      if (elements[i].admits(word)) break;
      // A required element of the same group may not be passed over.
      if (group != Group::kNone && !elements[i].optional && group_of(elements[i]) == group) return attempt;
    }
    if (i == elements.size()) return attempt;
    attempt.mods[i] = word;
    next[static_cast<std::size_t>(group)] = i + 1;
    ++attempt.matched;
  }
  attempt.complete = true;
  for (std::size_t i = 0; i < elements.size(); ++i) {
    if (!elements[i].optional && attempt.mods[i] == Mod::kNone) attempt.complete = false;
  }
  return attempt;
}

std::string required_words(FormId id, const ModList& mods) {
  std::string text;
  const auto elements = modifier_elements(id);
  for (std::size_t i = 0; i < elements.size(); ++i) {
    if (elements[i].optional || mods[i] != Mod::kNone) continue;
    text += text.empty() ? "'." : ", '.";
    text += elements[i].slot == Slot::kFlag ? spelling(elements[i].word) : spelling(elements[i].slot);
    text += "'";
  }
  return text;
}

// Says why no form of this head fits: an unknown word, a misplaced one, or a missing one.
void explain(const Head& head, std::span<const std::string_view> words, std::span<const Mod> mods,
             OpcodeMatch& result) {
  std::string opcode;
  for (const auto word : head.words) opcode += (opcode.empty() ? "" : ".") + std::string(word);
  const std::size_t offset = head.words.size();
  for (std::size_t i = 0; i < mods.size(); ++i) {
    const bool used = std::any_of(head.forms.begin(), head.forms.end(), [&](FormId id) {
      const auto elements = modifier_elements(id);
      return std::any_of(elements.begin(), elements.end(), [&](const ModifierElement& e) { return e.admits(mods[i]); });
    });
    if (mods[i] != Mod::kNone && used) continue;
    result.bad_word = offset + i;
    result.problem = fmt::format("'.{}' is not a modifier of '{}'", words[offset + i], opcode);
    result.hint = fmt::format("the forms are like '{}'", syntax(head.forms.front()));
    return;
  }
  FormId best = head.forms.front();
  Attempt best_attempt = try_form(best, mods);
  for (const FormId id : head.forms) {
    const Attempt attempt = try_form(id, mods);
    if (attempt.matched > best_attempt.matched) {
      best = id;
      best_attempt = attempt;
    }
  }
  if (best_attempt.matched == mods.size()) {
    result.problem = fmt::format("'{}' lacks {}", opcode, required_words(best, best_attempt.mods));
    result.bad_word = words.size() - 1;
  } else {
    result.bad_word = offset + best_attempt.matched;
    result.problem = fmt::format("'.{}' does not fit here in '{}'", words[result.bad_word], opcode);
  }
  result.hint = fmt::format("the nearest form is '{}'", syntax(best));
}

bool starts_with(std::span<const std::string_view> words, const Head& head) {
  return words.size() >= head.words.size() && std::equal(head.words.begin(), head.words.end(), words.begin());
}

}  // namespace

OpcodeMatch match_opcode(std::span<const std::string_view> words) {
  OpcodeMatch result;
  const auto found = words.empty() ? heads().end() : heads().find(words[0]);
  if (found == heads().end()) {
    result.problem = fmt::format("'{}' is not a PTX instruction", words.empty() ? std::string_view{} : words[0]);
    return result;
  }
  const Head* explained = nullptr;
  std::vector<Mod> explained_mods;
  for (const Head& head : found->second) {
    if (!starts_with(words, head)) continue;
    // A refused row takes any modifiers.
    if (const Form& row = form(head.forms.front()); row.modifiers == "*") {
      result.candidates.push_back({row.id, {}});
      return result;
    }
    std::vector<Mod> mods;
    for (const auto word : words.subspan(head.words.size()))
      mods.push_back(mod_from_spelling(word).value_or(Mod::kNone));
    if (std::find(mods.begin(), mods.end(), Mod::kNone) == mods.end() && mods.size() <= kMaxModifiers) {
      for (const FormId id : head.forms) {
        const Attempt attempt = try_form(id, mods);
        if (attempt.complete) result.candidates.push_back({id, attempt.mods});
      }
    }
    if (!result.candidates.empty()) return result;
    if (explained == nullptr) {
      explained = &head;
      explained_mods = std::move(mods);
    }
  }
  if (explained != nullptr) {
    explain(*explained, words, explained_mods, result);
    return result;
  }
  result.bad_word = words.size() > 1 ? 1 : 0;
  result.problem = words.size() > 1
                       ? fmt::format("'{}' is not followed by '.{}' in any PTX instruction", words[0], words[1])
                       : fmt::format("'{}' alone is not a PTX instruction", words[0]);
  result.hint = fmt::format("the forms are like '{}'", syntax(found->second.front().forms.front()));
  return result;
}

std::string syntax(FormId id) {
  const Form& row = form(id);
  std::string text(row.head);
  if (row.modifiers == "*") return text;
  for (const ModifierElement& element : modifier_elements(id)) {
    if (element.optional) text += '{';
    text += '.';
    if (element.slot == Slot::kFlag) {
      text += spelling(element.word);
    } else if (element.words->count() == 1) {
      std::size_t only = 1;
      while (!element.words->test(only)) ++only;
      text += spelling(static_cast<Mod>(only));
    } else {
      text += spelling(element.slot);
    }
    if (element.optional) text += '}';
  }
  bool first = true;
  for (const OperandPattern& operand : operand_patterns(id)) {
    const bool optional = operand.optional || !operand.conditions.empty();
    text += fmt::format("{}{}{}{}", optional ? "{" : "", first ? " " : ", ", operand.name, optional ? "}" : "");
    first = false;
  }
  return text;
}

std::string opcode_text(FormId id, std::span<const Mod> mods) {
  std::string text(form(id).head);
  for (std::size_t i = 0; i < modifier_elements(id).size() && i < mods.size(); ++i) {
    if (mods[i] == Mod::kNone) continue;
    text += '.';
    text += spelling(mods[i]);
  }
  return text;
}

}  // namespace ptxbench::isa
