// What the runtime API's functions share: the thread's last error.
#pragma once

#include "ptxbench/shim/core.h"

namespace ptxbench::shim {

// Remembers `code` as the thread's last error unless it is 0, and returns it.
int finish(Code code);

template <class T>
int finish(const Answer<T>& answer) {
  return finish(answer ? Code::kSuccess : answer.error().code);
}
// Stores the value through `out` on success.
template <class T, class Out>
int finish(const Answer<T>& answer, Out* out) {
  if (answer && out == nullptr) return finish(Code::kInvalidValue);
  if (answer) *out = static_cast<Out>(*answer);
  return finish(answer);
}

// Reading the last error, with and without clearing it.
int take_last_error();
int peek_last_error();

inline bool is_device_zero(int device) { return device == 0; }

}  // namespace ptxbench::shim
