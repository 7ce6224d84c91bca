#include "ptxbench/isa/target.h"

#include <fmt/format.h>

#include <charconv>

#include "ptxbench/base/check.h"

namespace ptxbench::isa {

std::optional<Target> parse_target(std::string_view text) {
  if (!text.starts_with("sm_")) return std::nullopt;
  text.remove_prefix(3);
  Target target;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), target.sm);
  if (error != std::errc() || target.sm < 10 || target.sm > 999) return std::nullopt;
  const std::string_view rest(end, static_cast<std::size_t>(text.data() + text.size() - end));
  if (rest == "a" || rest == "f") {
    target.suffix = rest[0];
  } else if (!rest.empty()) {
    return std::nullopt;
  }
  return target;
}

std::string to_string(Target target) {
  return fmt::format("sm_{}{}", target.sm, target.suffix ? std::string(1, target.suffix) : "");
}

bool TargetRule::allows(Target target) const {
  for (const Target& rule : alternatives) {
    if (rule.suffix == 0 && target.sm >= rule.sm) return true;
    if (rule.suffix == 'a' && target == rule) return true;
    if (rule.suffix == 'f' && target.suffix != 0 && target.sm >= rule.sm && target.sm / 10 == rule.sm / 10) return true;
  }
  return false;
}

std::string TargetRule::describe() const {
  std::string text;
  for (const Target& rule : alternatives) {
    if (!text.empty()) text += ", or ";
    if (rule.suffix == 0) text += fmt::format("sm_{} or later", rule.sm);
    if (rule.suffix == 'a') text += fmt::format("exactly sm_{}a", rule.sm);
    if (rule.suffix == 'f')
      text += fmt::format("sm_{0}f, sm_{0}a or a later 'a' or 'f' target of that family", rule.sm);
  }
  return text;
}

TargetRule parse_target_rule(std::string_view notation) {
  TargetRule rule;
  while (!notation.empty()) {
    const auto bar = notation.find('|');
    const auto target = parse_target(fmt::format("sm_{}", notation.substr(0, bar)));
    PTXBENCH_CHECK(target.has_value(), "bad target rule '{}'", notation);
    rule.alternatives.push_back(*target);
    notation = bar == std::string_view::npos ? std::string_view{} : notation.substr(bar + 1);
  }
  return rule;
}

}  // namespace ptxbench::isa
