// Driver API: memory.
#include "ptxbench/shim/driver.h"

using namespace ptxbench::shim;

PTXBENCH_API_EXPORT int cuMemAlloc_v2(DevicePointer* out, std::size_t bytes) {
  if (out == nullptr || bytes == 0) return kInvalid;
  auto made = core().call(ptxbench::wire::Alloc{bytes});
  if (made) *out = made->address;
  return result(made);
}
PTXBENCH_API_EXPORT int cuMemAllocAsync(DevicePointer* out, std::size_t bytes, void* stream) {
  auto id = core().stream_id(stream);
  return id ? cuMemAlloc_v2(out, bytes) : result(id);
}
PTXBENCH_API_ALIAS(cuMemAllocAsync_ptsz, cuMemAllocAsync);
PTXBENCH_API_EXPORT int cuMemFree_v2(DevicePointer address) {
  return address == 0 ? kOk : result(core().call(ptxbench::wire::Free{address}));
}
PTXBENCH_API_EXPORT int cuMemFreeAsync(DevicePointer address, void* stream) {
  auto id = core().stream_id(stream);
  return id ? cuMemFree_v2(address) : result(id);
}
PTXBENCH_API_ALIAS(cuMemFreeAsync_ptsz, cuMemFreeAsync);
PTXBENCH_API_EXPORT int cuMemGetInfo_v2(std::size_t* free, std::size_t* total) {
  auto info = core().call(ptxbench::wire::MemoryInfo{});
  if (info && free != nullptr) *free = info->free;
  if (info && total != nullptr) *total = info->total;
  return result(info);
}
PTXBENCH_API_EXPORT int cuMemGetAddressRange_v2(DevicePointer* base, std::size_t* bytes, DevicePointer address) {
  auto info = core().pointer(as_pointer(address));
  if (!info) return result(info);
  if (!info->device) return static_cast<int>(Code::kSymbolNotFound);
  if (base != nullptr) *base = info->base;
  if (bytes != nullptr) *bytes = info->bytes;
  return kOk;
}

PTXBENCH_API_EXPORT int cuMemcpyHtoDAsync_v2(DevicePointer to, const void* from, std::size_t bytes, void* stream) {
  return result(core().copy(as_pointer(to), from, bytes, CopyKind::kHostToDevice, stream));
}
PTXBENCH_API_ALIAS(cuMemcpyHtoDAsync_v2_ptsz, cuMemcpyHtoDAsync_v2);
PTXBENCH_API_EXPORT int cuMemcpyHtoD_v2(DevicePointer to, const void* from, std::size_t bytes) {
  return cuMemcpyHtoDAsync_v2(to, from, bytes, nullptr);
}
PTXBENCH_API_ALIAS(cuMemcpyHtoD_v2_ptds, cuMemcpyHtoD_v2);
PTXBENCH_API_EXPORT int cuMemcpyDtoHAsync_v2(void* to, DevicePointer from, std::size_t bytes, void* stream) {
  return result(core().copy(to, as_pointer(from), bytes, CopyKind::kDeviceToHost, stream));
}
PTXBENCH_API_ALIAS(cuMemcpyDtoHAsync_v2_ptsz, cuMemcpyDtoHAsync_v2);
PTXBENCH_API_EXPORT int cuMemcpyDtoH_v2(void* to, DevicePointer from, std::size_t bytes) {
  const int error = cuMemcpyDtoHAsync_v2(to, from, bytes, nullptr);
  return error != kOk ? error : result(core().synchronize());
}
PTXBENCH_API_ALIAS(cuMemcpyDtoH_v2_ptds, cuMemcpyDtoH_v2);
PTXBENCH_API_EXPORT int cuMemcpyDtoDAsync_v2(DevicePointer to, DevicePointer from, std::size_t bytes, void* stream) {
  return result(core().copy(as_pointer(to), as_pointer(from), bytes, CopyKind::kDeviceToDevice, stream));
}
PTXBENCH_API_ALIAS(cuMemcpyDtoDAsync_v2_ptsz, cuMemcpyDtoDAsync_v2);
PTXBENCH_API_EXPORT int cuMemcpyDtoD_v2(DevicePointer to, DevicePointer from, std::size_t bytes) {
  return cuMemcpyDtoDAsync_v2(to, from, bytes, nullptr);
}
PTXBENCH_API_ALIAS(cuMemcpyDtoD_v2_ptds, cuMemcpyDtoD_v2);
PTXBENCH_API_EXPORT int cuMemcpyAsync(DevicePointer to, DevicePointer from, std::size_t bytes, void* stream) {
  return result(core().copy(as_pointer(to), as_pointer(from), bytes, CopyKind::kDefault, stream));
}
PTXBENCH_API_ALIAS(cuMemcpyAsync_ptsz, cuMemcpyAsync);
PTXBENCH_API_EXPORT int cuMemcpy(DevicePointer to, DevicePointer from, std::size_t bytes) {
  return cuMemcpyAsync(to, from, bytes, nullptr);
}
PTXBENCH_API_ALIAS(cuMemcpy_ptds, cuMemcpy);

PTXBENCH_API_EXPORT int cuMemsetD8Async(DevicePointer to, unsigned char value, std::size_t count, void* stream) {
  return result(core().fill(to, value, 1, count, stream));
}
PTXBENCH_API_ALIAS(cuMemsetD8Async_ptsz, cuMemsetD8Async);
PTXBENCH_API_EXPORT int cuMemsetD16Async(DevicePointer to, unsigned short value, std::size_t count, void* stream) {
  return result(core().fill(to, value, 2, count, stream));
}
PTXBENCH_API_ALIAS(cuMemsetD16Async_ptsz, cuMemsetD16Async);
PTXBENCH_API_EXPORT int cuMemsetD32Async(DevicePointer to, unsigned value, std::size_t count, void* stream) {
  return result(core().fill(to, value, 4, count, stream));
}
PTXBENCH_API_ALIAS(cuMemsetD32Async_ptsz, cuMemsetD32Async);
PTXBENCH_API_EXPORT int cuMemsetD8_v2(DevicePointer to, unsigned char value, std::size_t count) {
  return cuMemsetD8Async(to, value, count, nullptr);
}
PTXBENCH_API_ALIAS(cuMemsetD8_v2_ptds, cuMemsetD8_v2);
PTXBENCH_API_EXPORT int cuMemsetD16_v2(DevicePointer to, unsigned short value, std::size_t count) {
  return cuMemsetD16Async(to, value, count, nullptr);
}
PTXBENCH_API_ALIAS(cuMemsetD16_v2_ptds, cuMemsetD16_v2);
PTXBENCH_API_EXPORT int cuMemsetD32_v2(DevicePointer to, unsigned value, std::size_t count) {
  return cuMemsetD32Async(to, value, count, nullptr);
}
PTXBENCH_API_ALIAS(cuMemsetD32_v2_ptds, cuMemsetD32_v2);

PTXBENCH_API_EXPORT int cuMemHostAlloc(void** out, std::size_t bytes, unsigned) {
  return result(core().host_alloc(bytes), out);
}
PTXBENCH_API_EXPORT int cuMemAllocHost_v2(void** out, std::size_t bytes) { return cuMemHostAlloc(out, bytes, 0); }
PTXBENCH_API_EXPORT int cuMemFreeHost(void* address) { return result(core().host_free(address)); }
PTXBENCH_API_EXPORT int cuMemHostRegister_v2(void* address, std::size_t bytes, unsigned) {
  return result(core().host_register(address, bytes));
}
PTXBENCH_API_EXPORT int cuMemHostUnregister(void* address) { return result(core().host_unregister(address)); }

PTXBENCH_API_EXPORT int cuPointerGetAttribute(void* out, int attribute, DevicePointer address) {
  constexpr int kMemoryType = 2, kDevicePointerAttribute = 3, kIsManaged = 8, kDeviceOrdinal = 9, kRangeStart = 11,
                kRangeSize = 12;
  auto info = core().pointer(as_pointer(address));
  if (!info) return result(info);
  const bool host = !info->device && core().is_pinned(as_pointer(address));
  if (out == nullptr || (!info->device && !host)) return kInvalid;
  switch (attribute) {
    case kMemoryType: *static_cast<unsigned*>(out) = info->device ? 2 : 1; return kOk;
    case kIsManaged: *static_cast<unsigned*>(out) = 0; return kOk;
    case kDeviceOrdinal: *static_cast<int*>(out) = 0; return kOk;
    case kDevicePointerAttribute:
      if (!info->device) break;
      *static_cast<DevicePointer*>(out) = address;
      return kOk;
    case kRangeStart: *static_cast<DevicePointer*>(out) = info->device ? info->base : address; return kOk;
    case kRangeSize:
      if (!info->device) break;
      *static_cast<std::size_t*>(out) = info->bytes;
      return kOk;
    default: break;
  }
  return driver_code(core().refuse("cuPointerGetAttribute", "attribute " + std::to_string(attribute)).code);
}
