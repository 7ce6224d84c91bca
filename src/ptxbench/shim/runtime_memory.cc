// Runtime API: memory and symbols.
#include <cstring>

#include "ptxbench/shim/runtime.h"

using namespace ptxbench::shim;

namespace {

std::uint64_t number(const void* pointer) { return reinterpret_cast<std::uint64_t>(pointer); }

int copy(void* to, const void* from, std::size_t bytes, int kind, void* stream, bool blocking) {
  Answer<void> done = core().copy(to, from, bytes, static_cast<CopyKind>(kind), stream);
  if (done && blocking) done = core().synchronize();
  return finish(done);
}

// Part of a symbol, checked against its size.
Answer<std::uint64_t> inside(const void* symbol, std::size_t bytes, std::size_t offset) {
  auto found = core().symbol(symbol);
  if (!found) return tl::unexpected(found.error());
  if (offset > found->bytes || bytes > found->bytes - offset) {
    return ptxbench::wire::refuse(Code::kInvalidValue, "a copy past the end of a device variable");
  }
  return found->address + offset;
}

}  // namespace

PTXBENCH_API_EXPORT int cudaMalloc(void** pointer, std::size_t bytes) {
  if (pointer == nullptr) return finish(Code::kInvalidValue);
  *pointer = nullptr;
  if (bytes == 0) return 0;
  auto made = core().call(ptxbench::wire::Alloc{bytes});
  if (made) *pointer = reinterpret_cast<void*>(made->address);
  return finish(made);
}
PTXBENCH_API_EXPORT int cudaMallocAsync(void** pointer, std::size_t bytes, void* stream) {
  Answer<std::uint32_t> id = core().stream_id(stream);
  return id ? cudaMalloc(pointer, bytes) : finish(id);
}
PTXBENCH_API_ALIAS(cudaMallocAsync_ptsz, cudaMallocAsync);

PTXBENCH_API_EXPORT int cudaFree(void* pointer) {
  if (pointer == nullptr) return finish(core().device());
  return finish(core().call(ptxbench::wire::Free{number(pointer)}));
}
PTXBENCH_API_EXPORT int cudaFreeAsync(void* pointer, void* stream) {
  Answer<std::uint32_t> id = core().stream_id(stream);
  return id ? cudaFree(pointer) : finish(id);
}
PTXBENCH_API_ALIAS(cudaFreeAsync_ptsz, cudaFreeAsync);

PTXBENCH_API_EXPORT int cudaMallocPitch(void** pointer, std::size_t* pitch, std::size_t width, std::size_t height) {
  if (pitch == nullptr) return finish(Code::kInvalidValue);
  *pitch = (width + 511) / 512 * 512;
  if (height != 0 && *pitch > SIZE_MAX / height) return finish(Code::kMemoryAllocation);
  return cudaMalloc(pointer, *pitch * height);
}

PTXBENCH_API_EXPORT int cudaMemGetInfo(std::size_t* free, std::size_t* total) {
  auto info = core().call(ptxbench::wire::MemoryInfo{});
  if (info && free != nullptr) *free = info->free;
  if (info && total != nullptr) *total = info->total;
  return finish(info);
}

PTXBENCH_API_EXPORT int cudaMemcpy(void* to, const void* from, std::size_t bytes, int kind) {
  return copy(to, from, bytes, kind, nullptr, true);
}
PTXBENCH_API_ALIAS(cudaMemcpy_ptds, cudaMemcpy);
PTXBENCH_API_EXPORT int cudaMemcpyAsync(void* to, const void* from, std::size_t bytes, int kind, void* stream) {
  return copy(to, from, bytes, kind, stream, false);
}
PTXBENCH_API_ALIAS(cudaMemcpyAsync_ptsz, cudaMemcpyAsync);

PTXBENCH_API_EXPORT int cudaMemcpy2DAsync(void* to, std::size_t to_pitch, const void* from, std::size_t from_pitch,
                                          std::size_t width, std::size_t height, int kind, void* stream) {
  if (height > 1 && (to_pitch < width || from_pitch < width)) return finish(static_cast<Code>(12));  // invalid pitch
  for (std::size_t row = 0; row < height; ++row) {
    const int error = copy(static_cast<char*>(to) + row * to_pitch, static_cast<const char*>(from) + row * from_pitch,
                           width, kind, stream, false);
    if (error != 0) return error;
  }
  return 0;
}
PTXBENCH_API_ALIAS(cudaMemcpy2DAsync_ptsz, cudaMemcpy2DAsync);
PTXBENCH_API_EXPORT int cudaMemcpy2D(void* to, std::size_t to_pitch, const void* from, std::size_t from_pitch,
                                     std::size_t width, std::size_t height, int kind) {
  const int error = cudaMemcpy2DAsync(to, to_pitch, from, from_pitch, width, height, kind, nullptr);
  return error != 0 ? error : finish(core().synchronize());
}
PTXBENCH_API_ALIAS(cudaMemcpy2D_ptds, cudaMemcpy2D);

PTXBENCH_API_EXPORT int cudaMemcpyPeer(void* to, int to_device, const void* from, int from_device, std::size_t bytes) {
  if (to_device != 0 || from_device != 0) return finish(Code::kInvalidDevice);
  return cudaMemcpy(to, from, bytes, static_cast<int>(CopyKind::kDeviceToDevice));
}

PTXBENCH_API_EXPORT int cudaMemsetAsync(void* pointer, int value, std::size_t bytes, void* stream) {
  return finish(core().fill(number(pointer), static_cast<std::uint8_t>(value), 1, bytes, stream));
}
PTXBENCH_API_ALIAS(cudaMemsetAsync_ptsz, cudaMemsetAsync);
PTXBENCH_API_EXPORT int cudaMemset(void* pointer, int value, std::size_t bytes) {
  return cudaMemsetAsync(pointer, value, bytes, nullptr);
}
PTXBENCH_API_ALIAS(cudaMemset_ptds, cudaMemset);
PTXBENCH_API_EXPORT int cudaMemset2DAsync(void* pointer, std::size_t pitch, int value, std::size_t width,
                                          std::size_t height, void* stream) {
  for (std::size_t row = 0; row < height; ++row) {
    const int error = cudaMemsetAsync(static_cast<char*>(pointer) + row * pitch, value, width, stream);
    if (error != 0) return error;
  }
  return 0;
}
PTXBENCH_API_ALIAS(cudaMemset2DAsync_ptsz, cudaMemset2DAsync);
PTXBENCH_API_EXPORT int cudaMemset2D(void* pointer, std::size_t pitch, int value, std::size_t width,
                                     std::size_t height) {
  return cudaMemset2DAsync(pointer, pitch, value, width, height, nullptr);
}
PTXBENCH_API_ALIAS(cudaMemset2D_ptds, cudaMemset2D);

PTXBENCH_API_EXPORT int cudaGetSymbolAddress(void** pointer, const void* symbol) {
  auto found = core().symbol(symbol);
  if (found) *pointer = reinterpret_cast<void*>(found->address);
  return finish(found);
}
PTXBENCH_API_EXPORT int cudaGetSymbolSize(std::size_t* bytes, const void* symbol) {
  auto found = core().symbol(symbol);
  if (found) *bytes = found->bytes;
  return finish(found);
}
PTXBENCH_API_EXPORT int cudaMemcpyToSymbolAsync(const void* symbol, const void* from, std::size_t bytes,
                                                std::size_t offset, int kind, void* stream) {
  Answer<std::uint64_t> address = inside(symbol, bytes, offset);
  if (!address) return finish(address);
  return copy(reinterpret_cast<void*>(*address), from, bytes, kind, stream, false);
}
PTXBENCH_API_ALIAS(cudaMemcpyToSymbolAsync_ptsz, cudaMemcpyToSymbolAsync);
PTXBENCH_API_EXPORT int cudaMemcpyToSymbol(const void* symbol, const void* from, std::size_t bytes, std::size_t offset,
                                           int kind) {
  return cudaMemcpyToSymbolAsync(symbol, from, bytes, offset, kind, nullptr);
}
PTXBENCH_API_ALIAS(cudaMemcpyToSymbol_ptds, cudaMemcpyToSymbol);
PTXBENCH_API_EXPORT int cudaMemcpyFromSymbolAsync(void* to, const void* symbol, std::size_t bytes, std::size_t offset,
                                                  int kind, void* stream) {
  Answer<std::uint64_t> address = inside(symbol, bytes, offset);
  if (!address) return finish(address);
  return copy(to, reinterpret_cast<const void*>(*address), bytes, kind, stream, false);
}
PTXBENCH_API_ALIAS(cudaMemcpyFromSymbolAsync_ptsz, cudaMemcpyFromSymbolAsync);
PTXBENCH_API_EXPORT int cudaMemcpyFromSymbol(void* to, const void* symbol, std::size_t bytes, std::size_t offset,
                                             int kind) {
  return cudaMemcpyFromSymbolAsync(to, symbol, bytes, offset, kind, nullptr);
}
PTXBENCH_API_ALIAS(cudaMemcpyFromSymbol_ptds, cudaMemcpyFromSymbol);

PTXBENCH_API_EXPORT int cudaHostAlloc(void** pointer, std::size_t bytes, unsigned flags) {
  if (pointer == nullptr || flags > 7) return finish(Code::kInvalidValue);
  return finish(core().host_alloc(bytes), pointer);
}
PTXBENCH_API_EXPORT int cudaMallocHost(void** pointer, std::size_t bytes) { return cudaHostAlloc(pointer, bytes, 0); }
PTXBENCH_API_EXPORT int cudaFreeHost(void* pointer) { return finish(core().host_free(pointer)); }
PTXBENCH_API_EXPORT int cudaHostRegister(void* pointer, std::size_t bytes, unsigned) {
  return finish(core().host_register(pointer, bytes));
}
PTXBENCH_API_EXPORT int cudaHostUnregister(void* pointer) { return finish(core().host_unregister(pointer)); }

PTXBENCH_API_EXPORT int cudaPointerGetAttributes(ApiPointerAttributes* out, const void* pointer) {
  if (out == nullptr) return finish(Code::kInvalidValue);
  auto info = core().pointer(pointer);
  if (!info) return finish(info);
  *out = {};
  if (info->device) {
    out->type = 2;
    out->device_pointer = const_cast<void*>(pointer);
    return 0;
  }
  out->type = core().is_pinned(pointer) ? 1 : 0;
  out->device = out->type == 1 ? 0 : -2;
  out->host_pointer = const_cast<void*>(pointer);
  return 0;
}
