// Rules about combinations of modifiers that a form's row cannot express; the rows are in rules.def.
#pragma once

#include <optional>
#include <span>
#include <string>

#include "ptxbench/isa/form.h"

namespace ptxbench::isa {

// In words why this combination is not allowed for that version and target; nothing if it is.
std::optional<std::string> broken_rule(FormId id, std::span<const Mod> mods, Version version, Target target);

}  // namespace ptxbench::isa
