// An inventory as people read it.
#pragma once

#include <string>

#include "ptxbench/schema/inventory.h"

namespace ptxbench::cli {

std::string render(const schema::Inventory& inventory);

}  // namespace ptxbench::cli
