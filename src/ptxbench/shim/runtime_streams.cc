// Runtime API: streams and events. The device executes in the order of the calls, so all work of a stream is done when
// the call that queued it returns.
#include "ptxbench/shim/runtime.h"

using namespace ptxbench::shim;

PTXBENCH_API_EXPORT int cudaDeviceSynchronize() { return finish(core().synchronize()); }

PTXBENCH_API_EXPORT int cudaStreamCreateWithPriority(void** stream, unsigned flags, int priority) {
  return finish(core().create_stream(flags, priority), stream);
}
PTXBENCH_API_EXPORT int cudaStreamCreateWithFlags(void** stream, unsigned flags) {
  return cudaStreamCreateWithPriority(stream, flags, 0);
}
PTXBENCH_API_EXPORT int cudaStreamCreate(void** stream) { return cudaStreamCreateWithPriority(stream, 0, 0); }
PTXBENCH_API_EXPORT int cudaStreamDestroy(void* stream) { return finish(core().destroy_stream(stream)); }
PTXBENCH_API_EXPORT int cudaStreamSynchronize(void* stream) {
  Answer<std::uint32_t> id = core().stream_id(stream);
  return id ? finish(core().synchronize()) : finish(id);
}
PTXBENCH_API_ALIAS(cudaStreamSynchronize_ptsz, cudaStreamSynchronize);
PTXBENCH_API_ALIAS(cudaStreamQuery, cudaStreamSynchronize);
PTXBENCH_API_ALIAS(cudaStreamQuery_ptsz, cudaStreamSynchronize);

PTXBENCH_API_EXPORT int cudaStreamWaitEvent(void* stream, void* event, unsigned) {
  Answer<std::uint32_t> id = core().stream_id(stream);
  return id ? finish(core().event_of(event)) : finish(id);
}
PTXBENCH_API_ALIAS(cudaStreamWaitEvent_ptsz, cudaStreamWaitEvent);

PTXBENCH_API_EXPORT int cudaStreamGetFlags(void* stream, unsigned* flags) {
  if (reinterpret_cast<std::uintptr_t>(stream) <= 2) {
    *flags = 0;
    return 0;
  }
  Answer<Stream*> known = core().stream_of(stream);
  if (known) *flags = (*known)->flags;
  return finish(known);
}
PTXBENCH_API_ALIAS(cudaStreamGetFlags_ptsz, cudaStreamGetFlags);
PTXBENCH_API_EXPORT int cudaStreamGetPriority(void* stream, int* priority) {
  if (reinterpret_cast<std::uintptr_t>(stream) <= 2) {
    *priority = 0;
    return 0;
  }
  Answer<Stream*> known = core().stream_of(stream);
  if (known) *priority = (*known)->priority;
  return finish(known);
}
PTXBENCH_API_ALIAS(cudaStreamGetPriority_ptsz, cudaStreamGetPriority);
PTXBENCH_API_EXPORT int cudaStreamGetDevice(void* stream, int* device) {
  Answer<std::uint32_t> id = core().stream_id(stream);
  if (id) *device = 0;
  return finish(id);
}
PTXBENCH_API_ALIAS(cudaStreamGetDevice_ptsz, cudaStreamGetDevice);
PTXBENCH_API_EXPORT int cudaStreamGetId(void* stream, unsigned long long* out) {
  Answer<std::uint32_t> id = core().stream_id(stream);
  return finish(id, out);
}
PTXBENCH_API_ALIAS(cudaStreamGetId_ptsz, cudaStreamGetId);
// Capture is refused, so no stream is ever being captured.
PTXBENCH_API_EXPORT int cudaStreamIsCapturing(void* stream, int* status) {
  Answer<std::uint32_t> id = core().stream_id(stream);
  if (id) *status = 0;
  return finish(id);
}
PTXBENCH_API_ALIAS(cudaStreamIsCapturing_ptsz, cudaStreamIsCapturing);
// Cache window, synchronisation policy, priority and memory domains are hints; there is no other stream attribute.
PTXBENCH_API_EXPORT int cudaStreamSetAttribute(void* stream, int attribute, const void*) {
  Answer<std::uint32_t> id = core().stream_id(stream);
  if (!id) return finish(id);
  const bool hint = attribute == 1 || attribute == 3 || attribute == 8 || attribute == 9 || attribute == 10;
  return finish(hint ? Code::kSuccess : Code::kInvalidValue);
}
PTXBENCH_API_ALIAS(cudaStreamSetAttribute_ptsz, cudaStreamSetAttribute);
PTXBENCH_API_EXPORT int cudaDeviceGetStreamPriorityRange(int* least, int* greatest) {
  if (least != nullptr) *least = 0;
  if (greatest != nullptr) *greatest = -5;
  return 0;
}

PTXBENCH_API_EXPORT int cudaEventCreateWithFlags(void** event, unsigned flags) {
  constexpr unsigned kBlockingSync = 1, kDisableTiming = 2, kInterprocess = 4;
  if ((flags & ~(kBlockingSync | kDisableTiming | kInterprocess)) != 0) return finish(Code::kInvalidValue);
  if ((flags & kInterprocess) != 0) {
    return finish(core().refuse("cudaEventCreateWithFlags", "interprocess events").code);
  }
  return finish(core().create_event((flags & kDisableTiming) == 0), event);
}
PTXBENCH_API_EXPORT int cudaEventCreate(void** event) { return cudaEventCreateWithFlags(event, 0); }
PTXBENCH_API_EXPORT int cudaEventDestroy(void* event) { return finish(core().destroy_event(event)); }
PTXBENCH_API_EXPORT int cudaEventRecord(void* event, void* stream) {
  Answer<std::uint32_t> id = core().stream_id(stream);
  if (!id) return finish(id);
  Answer<Event*> known = core().event_of(event);
  if (!known) return finish(known);
  return finish(core().call(ptxbench::wire::EventRecord{(*known)->id, *id}));
}
PTXBENCH_API_ALIAS(cudaEventRecord_ptsz, cudaEventRecord);
PTXBENCH_API_EXPORT int cudaEventRecordWithFlags(void* event, void* stream, unsigned flags) {
  return flags == 0 ? cudaEventRecord(event, stream) : finish(Code::kInvalidValue);
}
PTXBENCH_API_ALIAS(cudaEventRecordWithFlags_ptsz, cudaEventRecordWithFlags);
PTXBENCH_API_EXPORT int cudaEventSynchronize(void* event) {
  Answer<Event*> known = core().event_of(event);
  return known ? finish(core().synchronize()) : finish(known);
}
PTXBENCH_API_ALIAS(cudaEventQuery, cudaEventSynchronize);
PTXBENCH_API_EXPORT int cudaEventElapsedTime(float* milliseconds, void* start, void* end) {
  return finish(core().elapsed(start, end), milliseconds);
}
