// Driver API: streams and events. See runtime_streams.cc.
#include "ptxbench/shim/driver.h"

using namespace ptxbench::shim;

PTXBENCH_API_EXPORT int cuStreamCreateWithPriority(void** stream, unsigned flags, int priority) {
  return result(core().create_stream(flags, priority), stream);
}
PTXBENCH_API_EXPORT int cuStreamCreate(void** stream, unsigned flags) {
  return cuStreamCreateWithPriority(stream, flags, 0);
}
PTXBENCH_API_EXPORT int cuStreamDestroy_v2(void* stream) { return result(core().destroy_stream(stream)); }
PTXBENCH_API_EXPORT int cuStreamSynchronize(void* stream) {
  auto id = core().stream_id(stream);
  return id ? result(core().synchronize()) : result(id);
}
PTXBENCH_API_ALIAS(cuStreamSynchronize_ptsz, cuStreamSynchronize);
PTXBENCH_API_ALIAS(cuStreamQuery, cuStreamSynchronize);
PTXBENCH_API_ALIAS(cuStreamQuery_ptsz, cuStreamSynchronize);
PTXBENCH_API_EXPORT int cuStreamWaitEvent(void* stream, void* event, unsigned) {
  auto id = core().stream_id(stream);
  return id ? result(core().event_of(event)) : result(id);
}
PTXBENCH_API_ALIAS(cuStreamWaitEvent_ptsz, cuStreamWaitEvent);
PTXBENCH_API_EXPORT int cuStreamIsCapturing(void* stream, int* status) {
  auto id = core().stream_id(stream);
  if (id && status != nullptr) *status = 0;
  return result(id);
}
PTXBENCH_API_ALIAS(cuStreamIsCapturing_ptsz, cuStreamIsCapturing);
PTXBENCH_API_EXPORT int cuLaunchHostFunc(void* stream, void (*function)(void*), void* data) {
  auto id = core().stream_id(stream);
  if (!id) return result(id);
  if (function == nullptr) return kInvalid;
  function(data);
  return kOk;
}
PTXBENCH_API_ALIAS(cuLaunchHostFunc_ptsz, cuLaunchHostFunc);

PTXBENCH_API_EXPORT int cuEventCreate(void** event, unsigned flags) {
  constexpr unsigned kDisableTiming = 2, kInterprocess = 4;
  if ((flags & kInterprocess) != 0) return driver_code(core().refuse("cuEventCreate", "interprocess events").code);
  return result(core().create_event((flags & kDisableTiming) == 0), event);
}
PTXBENCH_API_EXPORT int cuEventDestroy_v2(void* event) { return result(core().destroy_event(event)); }
PTXBENCH_API_EXPORT int cuEventRecord(void* event, void* stream) {
  auto id = core().stream_id(stream);
  if (!id) return result(id);
  auto known = core().event_of(event);
  if (!known) return result(known);
  return result(core().call(ptxbench::wire::EventRecord{(*known)->id, *id}));
}
PTXBENCH_API_ALIAS(cuEventRecord_ptsz, cuEventRecord);
PTXBENCH_API_EXPORT int cuEventSynchronize(void* event) {
  auto known = core().event_of(event);
  return known ? result(core().synchronize()) : result(known);
}
PTXBENCH_API_ALIAS(cuEventQuery, cuEventSynchronize);
PTXBENCH_API_EXPORT int cuEventElapsedTime_v2(float* milliseconds, void* start, void* end) {
  return result(core().elapsed(start, end), milliseconds);
}
PTXBENCH_API_ALIAS(cuEventElapsedTime, cuEventElapsedTime_v2);
