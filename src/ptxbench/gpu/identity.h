// Which card, or which slice of one, a CUDA device is. CUDA's numbers depend on CUDA_VISIBLE_DEVICES and CUDA_DEVICE_ORDER and
// are not NVML's; the UUID and the PCI bus id are the same everywhere.
#pragma once

#include <array>
#include <cstdint>
#include <string>

#include "ptxbench/base/result.h"
#include "ptxbench/gpu/driver.h"

namespace ptxbench::gpu {

struct Identity {
  std::string name;                     // "NVIDIA H200", "NVIDIA H200 MIG 1g.18gb"
  std::array<std::uint8_t, 16> uuid{};  // of the MIG slice where the device is one
  std::string pci_bus_id;               // of the card: "0000:1b:00.0"
  std::string uuid_text() const;        // "6f1c2a4e-...", without NVML's "GPU-" or "MIG-" in front
};

// Device number `ordinal` among those that CUDA_VISIBLE_DEVICES leaves. kNotFound says how many there are.
Result<CUdevice> find_device(const Driver& driver, int ordinal);

// What the driver does not tell stays empty.
Identity identify(const Driver& driver, CUdevice device);

// "CUDA_VISIBLE_DEVICES is '1'", or that it is not set: what decides which devices CUDA sees.
std::string visible_devices_text();

}  // namespace ptxbench::gpu
