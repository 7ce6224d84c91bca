#include "ptxbench/shim/error_text.h"

namespace ptxbench::shim {

const char* runtime_error_name(int error) {
  switch (error) {
#define PTXBENCH_RT_ERROR(number, name) \
  case number:                          \
    return name;
#define PTXBENCH_DRV_ERROR(number, name)
#define PTXBENCH_ERROR_TEXT(number, text)
#include "ptxbench/shim/errors.def"
#undef PTXBENCH_RT_ERROR
#undef PTXBENCH_DRV_ERROR
#undef PTXBENCH_ERROR_TEXT
    default: return nullptr;
  }
}

const char* driver_error_name(int error) {
  switch (error) {
#define PTXBENCH_RT_ERROR(number, name)
#define PTXBENCH_DRV_ERROR(number, name) \
  case number:                           \
    return name;
#define PTXBENCH_ERROR_TEXT(number, text)
#include "ptxbench/shim/errors.def"
#undef PTXBENCH_RT_ERROR
#undef PTXBENCH_DRV_ERROR
#undef PTXBENCH_ERROR_TEXT
    default: return nullptr;
  }
}

const char* error_text(int error) {
  switch (error) {
#define PTXBENCH_RT_ERROR(number, name)
#define PTXBENCH_DRV_ERROR(number, name)
#define PTXBENCH_ERROR_TEXT(number, text) \
  case number:                            \
    return text;
#include "ptxbench/shim/errors.def"
#undef PTXBENCH_RT_ERROR
#undef PTXBENCH_DRV_ERROR
#undef PTXBENCH_ERROR_TEXT
    default: return nullptr;
  }
}

}  // namespace ptxbench::shim
