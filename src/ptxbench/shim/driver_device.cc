// Driver API: initialisation, device, contexts, errors, entry points.
#include <cstring>

#include "ptxbench/shim/driver.h"
#include "ptxbench/shim/driver_entry.h"
#include "ptxbench/shim/error_text.h"

using namespace ptxbench::shim;

namespace {

constexpr int kVersion = 13000;
constexpr int kInvalidDeviceCode = static_cast<int>(Code::kInvalidDevice);
char the_context;  // its address is the handle of the one context
thread_local void* current = nullptr;

int set(int* out, int value) {
  if (out == nullptr) return kInvalid;
  *out = value;
  return kOk;
}

}  // namespace

PTXBENCH_API_EXPORT int cuInit(unsigned flags) { return flags == 0 ? result(core().device()) : kInvalid; }
PTXBENCH_API_EXPORT int cuDriverGetVersion(int* version) { return set(version, kVersion); }
PTXBENCH_API_EXPORT int cuDeviceGetCount(int* count) { return set(count, 1); }
PTXBENCH_API_EXPORT int cuDeviceGet(int* device, int ordinal) {
  return ordinal == 0 ? set(device, 0) : kInvalidDeviceCode;
}
PTXBENCH_API_EXPORT int cuDeviceGetName(char* name, int bytes, int device) {
  if (device != 0) return kInvalidDeviceCode;
  auto info = core().device();
  if (!info) return result(info);
  if (name == nullptr || bytes <= 0) return kInvalid;
  std::strncpy(name, (*info)->name.c_str(), static_cast<std::size_t>(bytes) - 1);
  name[bytes - 1] = '\0';
  return kOk;
}
PTXBENCH_API_EXPORT int cuDeviceGetAttribute(int* value, int attribute, int device) {
  if (device != 0) return kInvalidDeviceCode;
  auto info = core().device();
  if (!info) return result(info);
  if (attribute < 1 || static_cast<std::size_t>(attribute) >= (*info)->attributes.size()) return kInvalid;
  return set(value, (*info)->attributes[static_cast<std::size_t>(attribute)]);
}
PTXBENCH_API_EXPORT int cuDeviceTotalMem_v2(std::size_t* bytes, int device) {
  if (device != 0) return kInvalidDeviceCode;
  auto info = core().device();
  if (info && bytes != nullptr) *bytes = (*info)->total_memory;
  return result(info);
}
PTXBENCH_API_EXPORT int cuDeviceGetUuid_v2(char* uuid, int device) {
  if (device != 0) return kInvalidDeviceCode;
  std::memcpy(uuid, "ptxbench-device0", 16);
  return kOk;
}
PTXBENCH_API_ALIAS(cuDeviceGetUuid, cuDeviceGetUuid_v2);
PTXBENCH_API_EXPORT int cuDeviceComputeCapability(int* major, int* minor, int device) {
  const int error = cuDeviceGetAttribute(major, 75, device);
  return error != kOk ? error : cuDeviceGetAttribute(minor, 76, device);
}
PTXBENCH_API_EXPORT int cuDeviceCanAccessPeer(int* can, int, int) { return set(can, 0); }

PTXBENCH_API_EXPORT int cuDevicePrimaryCtxRetain(void** context, int device) {
  if (device != 0) return kInvalidDeviceCode;
  if (context == nullptr) return kInvalid;
  *context = &the_context;
  return kOk;
}
PTXBENCH_API_EXPORT int cuDevicePrimaryCtxRelease_v2(int device) { return device == 0 ? kOk : kInvalidDeviceCode; }
PTXBENCH_API_EXPORT int cuDevicePrimaryCtxSetFlags_v2(int device, unsigned) {
  return device == 0 ? kOk : kInvalidDeviceCode;
}
PTXBENCH_API_EXPORT int cuDevicePrimaryCtxGetState(int device, unsigned* flags, int* active) {
  if (device != 0) return kInvalidDeviceCode;
  if (flags != nullptr) *flags = 0;
  return set(active, 1);
}
PTXBENCH_API_EXPORT int cuCtxCreate_v2(void** context, unsigned, int device) {
  const int error = cuDevicePrimaryCtxRetain(context, device);
  if (error == kOk) current = &the_context;
  return error;
}
PTXBENCH_API_EXPORT int cuCtxCreate_v4(void** context, void*, unsigned flags, int device) {
  return cuCtxCreate_v2(context, flags, device);
}
PTXBENCH_API_EXPORT int cuCtxDestroy_v2(void* context) {
  if (context != &the_context) return static_cast<int>(Code::kInvalidResourceHandle);
  current = nullptr;
  return kOk;
}
PTXBENCH_API_EXPORT int cuCtxSetCurrent(void* context) {
  if (context != nullptr && context != &the_context) return 201;  // invalid context
  current = context;
  return kOk;
}
PTXBENCH_API_ALIAS(cuCtxPushCurrent_v2, cuCtxSetCurrent);
PTXBENCH_API_EXPORT int cuCtxGetCurrent(void** context) {
  if (context == nullptr) return kInvalid;
  *context = current;
  return kOk;
}
PTXBENCH_API_EXPORT int cuCtxPopCurrent_v2(void** context) {
  if (context != nullptr) *context = current;
  current = nullptr;
  return kOk;
}
PTXBENCH_API_EXPORT int cuCtxGetDevice(int* device) { return set(device, 0); }
PTXBENCH_API_EXPORT int cuCtxGetFlags(unsigned* flags) {
  if (flags == nullptr) return kInvalid;
  *flags = 0;
  return kOk;
}
PTXBENCH_API_EXPORT int cuCtxGetApiVersion(void*, unsigned* version) {
  if (version == nullptr) return kInvalid;
  *version = kVersion;
  return kOk;
}
PTXBENCH_API_EXPORT int cuCtxSynchronize() { return result(core().synchronize()); }
PTXBENCH_API_EXPORT int cuCtxSetCacheConfig(int) { return kOk; }
PTXBENCH_API_EXPORT int cuProfilerStart() { return kOk; }
PTXBENCH_API_EXPORT int cuProfilerStop() { return kOk; }

PTXBENCH_API_EXPORT int cuGetErrorName(int error, const char** name) {
  const char* known = driver_error_name(error);
  if (name != nullptr) *name = known;
  return known != nullptr ? kOk : kInvalid;
}
PTXBENCH_API_EXPORT int cuGetErrorString(int error, const char** text) {
  const char* known = error_text(error);
  if (known == nullptr) known = driver_error_name(error);
  if (text != nullptr) *text = known;
  return known != nullptr ? kOk : kInvalid;
}

PTXBENCH_API_EXPORT int cuGetProcAddress_v2(const char* name, void** function, int, unsigned long long, int* status) {
  if (name == nullptr || function == nullptr) return kInvalid;
  *function = driver_entry(name);
  if (status != nullptr) *status = *function != nullptr ? 0 : 1;
  return *function != nullptr ? kOk : static_cast<int>(Code::kSymbolNotFound);
}
PTXBENCH_API_EXPORT int cuGetProcAddress(const char* name, void** function, int version, unsigned long long flags) {
  return cuGetProcAddress_v2(name, function, version, flags, nullptr);
}
