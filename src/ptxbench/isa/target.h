// Targets and ISA versions, and the rule by which a form is available on a target.
#pragma once

#include <compare>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace ptxbench::isa {

// '.version 9.0'
struct Version {
  int major = 0;
  int minor = 0;
  auto operator<=>(const Version&) const = default;
};

// '.target sm_90a': sm = 90, suffix = 'a'. Suffix 0 is the portable target, 'a' architecture-specific, 'f' family-specific.
struct Target {
  int sm = 0;
  char suffix = 0;
  auto operator<=>(const Target&) const = default;
};
std::optional<Target> parse_target(std::string_view text);
std::string to_string(Target target);

// Alternatives, one of which must hold. Notation: "90" is sm_90 and every later target; "90a" is exactly sm_90a;
// "100f" is the family: sm_100f, sm_100a and the 'a'/'f' targets of later members of the same major version.
// Several are separated by '|' ("90a|100f").
struct TargetRule {
  std::vector<Target> alternatives;
  bool allows(Target target) const;
  std::string describe() const;  // "sm_90a, or sm_100f and its family"
};
TargetRule parse_target_rule(std::string_view notation);

}  // namespace ptxbench::isa
