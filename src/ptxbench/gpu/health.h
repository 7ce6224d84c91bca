// Is the card in order? Asked after a kernel hung: a tiny kernel of our own in a fresh process.
#pragma once

#include "ptxbench/gpu/device.h"

namespace ptxbench::gpu {

// Runs a kernel that fills memory with known values, within a few seconds, and reads them back.
Status check_health(GpuDevice& device);

}  // namespace ptxbench::gpu
