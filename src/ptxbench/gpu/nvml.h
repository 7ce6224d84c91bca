// Clocks, power, temperature and identity of a card, read through NVML (libnvidia-ml.so.1, part of the driver).
#pragma once

#include <string>

#include "ptxbench/base/result.h"
#include "ptxbench/wire/records.h"

namespace ptxbench::gpu {

// The card at a PCI bus id as cuDeviceGetPCIBusId writes it ("0000:1b:00.0"); for a MIG slice, the card that it is part
// of. Fails only if NVML itself cannot be had; a figure that a card does not give is listed in `missing`.
Result<wire::Telemetry> read_telemetry(const std::string& pci_bus_id);

// Names of the bits of nvmlDeviceGetCurrentClocksEventReasons that mean less than full speed; idleness is none. Unknown
// bits are named by number.
std::vector<std::string> throttle_reasons(unsigned long long bits);

}  // namespace ptxbench::gpu
