// What the driver API's functions share.
#pragma once

#include "ptxbench/shim/core.h"

namespace ptxbench::shim {

using DevicePointer = unsigned long long;

// CUresult of a device's answer: the numbers agree except for a few errors that only the runtime API has.
inline int driver_code(Code code) {
  switch (code) {
    case Code::kInvalidConfiguration:
    case Code::kInvalidMemcpyDirection: return static_cast<int>(Code::kInvalidValue);
    case Code::kInvalidSymbol:
    case Code::kInvalidDeviceFunction: return static_cast<int>(Code::kSymbolNotFound);
    default: return static_cast<int>(code);
  }
}
template <class T>
int result(const Answer<T>& answer) {
  return answer ? 0 : driver_code(answer.error().code);
}
template <class T, class Out>
int result(const Answer<T>& answer, Out* out) {
  if (answer && out == nullptr) return static_cast<int>(Code::kInvalidValue);
  if (answer) *out = static_cast<Out>(*answer);
  return result(answer);
}

constexpr int kOk = 0;
constexpr int kInvalid = static_cast<int>(Code::kInvalidValue);
inline void* as_pointer(DevicePointer address) { return reinterpret_cast<void*>(address); }

}  // namespace ptxbench::shim
