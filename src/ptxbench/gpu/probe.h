// What this machine has for work on a GPU. Nothing is changed on any card, and no context is made.
#pragma once

#include <vector>

#include "ptxbench/base/result.h"
#include "ptxbench/schema/inventory.h"

namespace ptxbench::gpu {

// Whether device number `ordinal` can be used, as far as the driver tells: there is a driver, new enough, and the device.
Status usable(int ordinal);

// The driver, each device that CUDA sees, and NVIDIA's libraries, found or not. Opens all of them.
std::vector<schema::Piece> probe();

}  // namespace ptxbench::gpu
