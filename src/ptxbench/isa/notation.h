// Decoding of the notation strings of forms/*.def. Private to isa; a bad row is our bug (InternalError at start-up).
#pragma once

#include <string_view>
#include <vector>

#include "ptxbench/isa/form.h"
#include "ptxbench/isa/operands.h"

namespace ptxbench::isa {

std::vector<ModifierElement> parse_modifiers(const Form& row);
std::vector<OperandPattern> parse_operands(const Form& row);
std::string_view default_words(Slot slot);  // of slots.def, space separated

}  // namespace ptxbench::isa
