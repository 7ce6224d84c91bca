// Is the card in order? Asked after a kernel hung: a tiny kernel of our own in a fresh process.
#pragma once

#include "ptxbench/gpu/device.h"

namespace ptxbench::gpu {

// Runs a kernel that fills memory with known values, within a few seconds, and reads them back.
Status check_health(GpuDevice& device);

// What there is for GPU work, line by line, for people: driver, devices, CUPTI, NVML. `usable`: a device could be used.
struct Probe {
  bool usable = false;
  std::string text;
};
Probe probe();

}  // namespace ptxbench::gpu
