// Built as libcuda.so.1: a driver with two H200s, of which the second is a MIG slice of a third card. It answers what can be
// asked without a context. The other functions that we use are in fake_driver_rest.cc.
#include <cuda.h>

#include <cstdio>
#include <cstring>

namespace {

struct Card {
  const char *name, *bus;
  unsigned char uuid;  // its last byte; the others are 0
  std::size_t memory;
};
constexpr Card kCards[] = {{"NVIDIA H200", "0000:41:00.0", 0x41, std::size_t{143155} << 20},
                           {"NVIDIA H200 MIG 1g.18gb", "0000:61:00.0", 0x99, std::size_t{16384} << 20}};

}  // namespace

extern "C" {
CUresult cuInit(unsigned) { return CUDA_SUCCESS; }
CUresult cuDriverGetVersion(int* version) { return *version = 13000, CUDA_SUCCESS; }
CUresult cuDeviceGetCount(int* count) { return *count = 2, CUDA_SUCCESS; }
CUresult cuDeviceGet(CUdevice* device, int ordinal) { return *device = ordinal, CUDA_SUCCESS; }
CUresult cuDeviceGetName(char* name, int bytes, CUdevice device) {
  return std::snprintf(name, static_cast<std::size_t>(bytes), "%s", kCards[device].name), CUDA_SUCCESS;
}
CUresult cuDeviceGetPCIBusId(char* bus, int bytes, CUdevice device) {
  return std::snprintf(bus, static_cast<std::size_t>(bytes), "%s", kCards[device].bus), CUDA_SUCCESS;
}
CUresult cuDeviceGetUuid(CUuuid* uuid, CUdevice device) {
  std::memset(uuid->bytes, 0, sizeof uuid->bytes);
  std::memcpy(&uuid->bytes[15], &kCards[device].uuid, 1);
  return CUDA_SUCCESS;
}
CUresult cuDeviceTotalMem(std::size_t* bytes, CUdevice device) { return *bytes = kCards[device].memory, CUDA_SUCCESS; }
CUresult cuDeviceGetAttribute(int* value, CUdevice_attribute attribute, CUdevice device) {
  *value = 0;
  if (attribute == CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MAJOR) *value = 9;
  if (attribute == CU_DEVICE_ATTRIBUTE_MULTIPROCESSOR_COUNT) *value = device == 0 ? 132 : 16;
  return CUDA_SUCCESS;
}
}
