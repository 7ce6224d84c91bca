// Built as libnvidia-ml.so.1: the cards behind the fake driver as NVML shows them, in another order, with one card more that
// CUDA does not see. Each figure tells which card it is of.
#include <cstdio>
#include <cstring>

namespace {

struct Card {
  const char *uuid, *bus;
  unsigned mhz;
  bool divided;  // into MIG slices
};
// The slice is part of the last card.
constexpr Card kCards[] = {{"GPU-00000000-0000-0000-0000-000000000021", "0000:21:00.0", 210, false},
                           {"GPU-00000000-0000-0000-0000-000000000061", "0000:61:00.0", 610, true},
                           {"GPU-00000000-0000-0000-0000-000000000041", "0000:41:00.0", 410, false}};
constexpr const char* kSlice = "MIG-00000000-0000-0000-0000-000000000099";
int slice = 0;  // its address stands for the slice
constexpr int kNotFound = 6, kNotSupported = 3;

const Card& card(const void* device) { return *static_cast<const Card*>(device); }

}  // namespace

extern "C" {
int nvmlInit_v2() { return 0; }
const char* nvmlErrorString(int code) {
  return code == kNotFound ? "Not Found" : code == kNotSupported ? "Not Supported" : "an error";
}
int nvmlSystemGetDriverVersion(char* text, unsigned bytes) { return std::snprintf(text, bytes, "580.1"), 0; }
int nvmlSystemGetNVMLVersion(char* text, unsigned bytes) { return std::snprintf(text, bytes, "13.580.1"), 0; }
int nvmlSystemGetCudaDriverVersion_v2(int* version) { return *version = 13000, 0; }
int nvmlDeviceGetHandleByUUID(const char* uuid, const void** device) {
  for (const Card& known : kCards)
    if (std::strcmp(known.uuid, uuid) == 0) return *device = &known, 0;
  if (std::strcmp(kSlice, uuid) == 0) return *device = &slice, 0;
  return kNotFound;
}
int nvmlDeviceGetHandleByPciBusId_v2(const char* bus, const void** device) {
  for (const Card& known : kCards)
    if (std::strcmp(known.bus, bus) == 0) return *device = &known, 0;
  return kNotFound;
}
int nvmlDeviceGetDeviceHandleFromMigDeviceHandle(const void* device, const void** parent) {
  return device == &slice ? (*parent = &kCards[1], 0) : kNotSupported;
}
int nvmlDeviceGetClockInfo(const void* device, unsigned, unsigned* mhz) {
  return device == &slice ? kNotSupported : (*mhz = card(device).mhz, 0);
}
int nvmlDeviceGetMaxClockInfo(const void*, unsigned, unsigned* mhz) { return *mhz = 1980, 0; }
int nvmlDeviceGetPowerUsage(const void* device, unsigned* milliwatts) {
  return *milliwatts = card(device).mhz * 1000, 0;
}
int nvmlDeviceGetEnforcedPowerLimit(const void*, unsigned*) { return kNotSupported; }
int nvmlDeviceGetTemperature(const void*, unsigned, unsigned* degrees) { return *degrees = 36, 0; }
int nvmlDeviceGetCurrentClocksEventReasons(const void*, unsigned long long* bits) { return *bits = 0x4, 0; }
int nvmlDeviceGetEccMode(const void*, unsigned* current, unsigned* pending) { return *current = *pending = 1, 0; }
int nvmlDeviceGetMigMode(const void* device, unsigned* current, unsigned* pending) {
  return *current = *pending = card(device).divided, 0;
}
}
