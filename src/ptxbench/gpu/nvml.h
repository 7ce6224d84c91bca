// Clocks, power, temperature and identity of a card, read through NVML (libnvidia-ml.so.1, part of the driver).
#pragma once

#include <string>

#include "ptxbench/base/result.h"
#include "ptxbench/gpu/identity.h"
#include "ptxbench/wire/records.h"

namespace ptxbench::gpu {

// Of the device with that identity, found by its UUID and else by the bus id of its card, never by number. For a MIG slice:
// name and UUID of the slice, clocks, power, temperature and throttle reasons of the card that it is part of, since
// slices have none of their own; `mig` says so. Fails if NVML cannot be had or knows neither; a figure that a card does not
// give is listed in `missing`.
Result<wire::Telemetry> read_telemetry(const Identity& identity);

// The library, opened or not, for the list of what this machine has: "13.580.159.04".
struct NvmlLibrary {
  std::string path, version;
};
Result<NvmlLibrary> nvml_library();

// Names of the bits of nvmlDeviceGetCurrentClocksEventReasons that mean less than full speed; idleness is none. Unknown
// bits are named by number.
std::vector<std::string> throttle_reasons(unsigned long long bits);

}  // namespace ptxbench::gpu
