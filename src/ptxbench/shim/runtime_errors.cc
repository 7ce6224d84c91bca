// Runtime API: errors.
#include "ptxbench/shim/error_text.h"
#include "ptxbench/shim/runtime.h"

namespace ptxbench::shim {
namespace {
thread_local int last_error = 0;
}

int finish(Code code) {
  if (code != Code::kSuccess) last_error = static_cast<int>(code);
  return static_cast<int>(code);
}

int take_last_error() {
  const int error = last_error;
  last_error = 0;
  return error;
}

int peek_last_error() { return last_error; }

}  // namespace ptxbench::shim

using namespace ptxbench::shim;

PTXBENCH_API_EXPORT int cudaGetLastError() { return take_last_error(); }
PTXBENCH_API_EXPORT int cudaPeekAtLastError() { return peek_last_error(); }
PTXBENCH_API_EXPORT const char* cudaGetErrorName(int error) {
  const char* name = runtime_error_name(error);
  return name != nullptr ? name : "unrecognized error code";
}
PTXBENCH_API_EXPORT const char* cudaGetErrorString(int error) {
  const char* text = error_text(error);
  return text != nullptr ? text : cudaGetErrorName(error);
}
