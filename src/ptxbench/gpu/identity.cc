#include "ptxbench/gpu/identity.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstdlib>

namespace ptxbench::gpu {

std::string Identity::uuid_text() const {
  std::string text;
  for (std::size_t i = 0; i < uuid.size(); ++i) {
    if (i == 4 || i == 6 || i == 8 || i == 10) text += '-';
    text += fmt::format("{:02x}", uuid[i]);
  }
  return text;
}

Result<CUdevice> find_device(const Driver& driver, int ordinal) {
  int devices = 0;
  if (const CUresult r = driver.device_count(&devices); r != CUDA_SUCCESS)
    return fail(ErrorKind::kUnavailable, fmt::format("cuDeviceGetCount: {}", driver.describe(r)));
  CUdevice device = 0;
  if (ordinal < 0 || ordinal >= devices) {
    return fail(ErrorKind::kNotFound,
                fmt::format("there is no GPU {}: CUDA sees {}", ordinal,
                            devices == 0   ? "none"
                            : devices == 1 ? "one, gpu:0"
                                           : fmt::format("{}, gpu:0 to gpu:{}", devices, devices - 1)),
                fmt::format("ptxbench doctor lists them; {}", visible_devices_text()));
  }
  if (const CUresult r = driver.device_get(&device, ordinal); r != CUDA_SUCCESS)
    return fail(ErrorKind::kUnavailable, fmt::format("cuDeviceGet of GPU {}: {}", ordinal, driver.describe(r)));
  return device;
}

Identity identify(const Driver& driver, CUdevice device) {
  Identity identity;
  char text[256] = {};
  if (driver.device_name(text, sizeof text - 1, device) == CUDA_SUCCESS) identity.name = text;
  if (driver.device_pci_bus_id(text, sizeof text - 1, device) == CUDA_SUCCESS) identity.pci_bus_id = text;
  CUuuid uuid{};
  static_assert(sizeof uuid.bytes == sizeof identity.uuid);
  if (driver.device_uuid(&uuid, device) == CUDA_SUCCESS) {
    std::transform(std::begin(uuid.bytes), std::end(uuid.bytes), identity.uuid.begin(),
                   [](char byte) { return static_cast<std::uint8_t>(byte); });
  }
  return identity;
}

std::string visible_devices_text() {
  const char* value = std::getenv("CUDA_VISIBLE_DEVICES");
  return value == nullptr ? "CUDA_VISIBLE_DEVICES is not set" : fmt::format("CUDA_VISIBLE_DEVICES is '{}'", value);
}

}  // namespace ptxbench::gpu
