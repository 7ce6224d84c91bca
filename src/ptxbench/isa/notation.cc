#include "ptxbench/isa/notation.h"

#include <charconv>
#include <deque>
#include <map>
#include <string>

#include "ptxbench/base/check.h"

namespace ptxbench::isa {
namespace {

std::optional<Slot> slot_from_name(std::string_view name) {
  for (std::size_t i = 0; i < static_cast<std::size_t>(Slot::kCount); ++i) {
    if (spelling(static_cast<Slot>(i)) == name) return static_cast<Slot>(i);
  }
  return std::nullopt;
}

// Word sets are shared between rows: few are different.
const ModSet* intern_words(const Form& row, std::string_view words) {
  static std::map<std::string, ModSet, std::less<>> pool;
  const auto [place, is_new] = pool.try_emplace(std::string(words));
  if (is_new) {
    while (!words.empty()) {
      const auto space = words.find(' ');
      const auto word = words.substr(0, space);
      words = space == std::string_view::npos ? std::string_view{} : words.substr(space + 1);
      if (word.empty()) continue;
      const auto mod = mod_from_spelling(word);
      PTXBENCH_CHECK(mod.has_value(), "form {}: unknown word '{}'", row.name, word);
      place->second.set(static_cast<std::size_t>(*mod));
    }
  }
  PTXBENCH_CHECK(place->second.any(), "form {}: a slot without words", row.name);
  return &place->second;
}

ModifierElement make_element(const Form& row, std::string_view text, bool optional) {
  ModifierElement element;
  element.optional = optional;
  const auto open = text.find('(');
  const auto name = text.substr(0, open);
  if (const auto slot = slot_from_name(name)) {
    element.slot = *slot;
    const auto words =
        open == std::string_view::npos ? default_words(*slot) : text.substr(open + 1, text.size() - open - 2);
    element.words = intern_words(row, words);
    return element;
  }
  const auto mod = mod_from_spelling(name);
  PTXBENCH_CHECK(mod.has_value() && open == std::string_view::npos, "form {}: '{}' is neither slot nor word", row.name,
                 text);
  element.word = *mod;
  return element;
}

struct KindName {
  std::string_view name;
  OperandShape shape;
};
constexpr KindName kKinds[] = {
    {"dst", OperandShape::kDst},           {"dstw", OperandShape::kDstWide},    {"dsts", OperandShape::kDstSink},
    {"dpair", OperandShape::kDstPair},     {"ppair", OperandShape::kPredPair},  {"dlist", OperandShape::kDstList},
    {"dvec", OperandShape::kDstVec},       {"vecio", OperandShape::kVecInOut},  {"reg", OperandShape::kReg},
    {"val", OperandShape::kVal},           {"valw", OperandShape::kValWide},    {"slist", OperandShape::kSrcList},
    {"vec", OperandShape::kVec},           {"any", OperandShape::kAny},         {"pval", OperandShape::kPredVal},
    {"pred", OperandShape::kPred},         {"imm", OperandShape::kImm},         {"mem", OperandShape::kMem},
    {"tmem", OperandShape::kTmem},         {"tensor", OperandShape::kTensor},   {"offsets", OperandShape::kOffsets},
    {"label", OperandShape::kLabel},       {"targets", OperandShape::kTargets}, {"func", OperandShape::kFunc},
    {"callargs", OperandShape::kCallArgs}, {"proto", OperandShape::kProto},
};

OperandAlternative make_alternative(const Form& row, std::string_view text) {
  OperandAlternative alternative;
  if (text.ends_with("*2")) {
    alternative.doubled = true;
    text.remove_suffix(2);
  }
  if (const auto dot = text.find('.'); dot != std::string_view::npos) {
    const auto type = text.substr(dot + 1);
    if (const auto slot = slot_from_name(type)) {
      alternative.type_slot = *slot;
    } else if (const auto named = type_from_spelling(type)) {
      alternative.type = *named;
    } else {
      alternative.type_rule = type;
    }
    text = text.substr(0, dot);
  }
  if (const auto hash = text.find('#'); hash != std::string_view::npos) {
    alternative.count = text.substr(hash + 1);
    text = text.substr(0, hash);
  }
  if (text == "pair") {
    alternative.pair_only = true;
    text = "dpair";
  }
  for (const auto& [name, shape] : kKinds) {
    if (name == text) {
      alternative.shape = shape;
      return alternative;
    }
  }
  PTXBENCH_CHECK(false, "form {}: unknown operand kind '{}'", row.name, text);
}

OperandPattern make_pattern(const Form& row, std::string_view text) {
  OperandPattern pattern;
  const auto colon = text.rfind(':');
  PTXBENCH_CHECK(colon != std::string_view::npos, "form {}: operand '{}' has no kind", row.name, text);
  auto name = text.substr(0, colon);
  if (const auto at = name.find('@'); at != std::string_view::npos) {
    auto words = name.substr(at + 1);
    while (!words.empty()) {
      const auto comma = words.find(',');
      const auto word = mod_from_spelling(words.substr(0, comma));
      PTXBENCH_CHECK(word.has_value(), "form {}: unknown word in '{}'", row.name, text);
      pattern.conditions.push_back(*word);
      words = comma == std::string_view::npos ? std::string_view{} : words.substr(comma + 1);
    }
    name = name.substr(0, at);
  }
  if (name.ends_with('?')) {
    pattern.optional = true;
    name.remove_suffix(1);
  }
  pattern.name = name;
  auto kinds = text.substr(colon + 1);
  while (!kinds.empty()) {
    const auto bar = kinds.find('|');
    pattern.alternatives.push_back(make_alternative(row, kinds.substr(0, bar)));
    kinds = bar == std::string_view::npos ? std::string_view{} : kinds.substr(bar + 1);
  }
  return pattern;
}

}  // namespace

std::vector<ModifierElement> parse_modifiers(const Form& row) {
  std::vector<ModifierElement> elements;
  std::string_view rest = row.modifiers;
  while (!rest.empty()) {
    const bool optional = rest.starts_with("{.");
    PTXBENCH_CHECK(optional || rest.starts_with('.'), "form {}: bad notation at '{}'", row.name, rest);
    rest.remove_prefix(optional ? 2 : 1);
    // An element ends at the next '.', '{' or '}' outside its word list.
    std::size_t end = 0;
    bool inside = false;
    while (end < rest.size() && (inside || (rest[end] != '.' && rest[end] != '{' && rest[end] != '}'))) {
      if (rest[end] == '(') inside = true;
      if (rest[end] == ')') inside = false;
      ++end;
    }
    elements.push_back(make_element(row, rest.substr(0, end), optional));
    rest.remove_prefix(end);
    if (optional) {
      PTXBENCH_CHECK(rest.starts_with('}'), "form {}: '}}' expected at '{}'", row.name, rest);
      rest.remove_prefix(1);
    }
  }
  PTXBENCH_CHECK(elements.size() <= kMaxModifiers, "form {}: more than {} modifiers", row.name, kMaxModifiers);
  return elements;
}

std::vector<OperandPattern> parse_operands(const Form& row) {
  std::vector<OperandPattern> patterns;
  std::string_view rest = row.operands;
  while (!rest.empty()) {
    const auto comma = rest.find(", ");
    patterns.push_back(make_pattern(row, rest.substr(0, comma)));
    rest = comma == std::string_view::npos ? std::string_view{} : rest.substr(comma + 2);
  }
  return patterns;
}

}  // namespace ptxbench::isa
