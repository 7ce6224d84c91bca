#include "ptxbench/gpu/cupti.h"

#include <fmt/format.h>

#include "ptxbench/gpu/vendor_library.h"

namespace ptxbench::gpu {
namespace {

constexpr const char* kHowToGet =
    "CUPTI comes with the CUDA toolkit (extras/CUPTI/lib64; set CUDA_HOME), or: pip install nvidia-cuda-cupti";

Result<Cupti> load_cupti() {
  // The records and parameters of one major version are compatible with each other, of two are not.
  const std::string name = fmt::format("libcupti.so.{}", CUDA_VERSION / 1000);
  const Result<VendorLibrary> opened = VendorLibrary::open(name);
  if (!opened) return fail(opened.error().kind, opened.error().message, kHowToGet);
  const VendorLibrary& library = *opened;
  Cupti cupti;
  cupti.path = library.path().string();
#define PTXBENCH_LOOK_UP(member, function)                                                                  \
  cupti.member = reinterpret_cast<decltype(cupti.member)>(library.symbol(#function));                       \
  if (cupti.member == nullptr) {                                                                            \
    return fail(ErrorKind::kUnavailable, fmt::format("{} is too old: it has no {}", cupti.path, #function), \
                kHowToGet);                                                                                 \
  }
  PTXBENCH_CUPTI_FUNCTIONS(PTXBENCH_LOOK_UP)
#undef PTXBENCH_LOOK_UP
  PTXBENCH_TRY_STATUS(cupti.check(cupti.version(&cupti.api_version), "cuptiGetVersion"));
  return cupti;
}

}  // namespace

Status Cupti::check(CUptiResult result, const char* what) const {
  if (result == CUPTI_SUCCESS) return {};
  const char* text = nullptr;
  if (result_string(result, &text) != CUPTI_SUCCESS || text == nullptr) text = "unknown CUPTI error";
  std::string hint;
  switch (result) {
    case CUPTI_ERROR_INSUFFICIENT_PRIVILEGES:
      hint = "the driver lets only administrators profile: NVreg_RestrictProfilingToAdminUsers=0, or run as root";
      break;
    case CUPTI_ERROR_MULTIPLE_SUBSCRIBERS_NOT_SUPPORTED:
    case CUPTI_ERROR_HARDWARE_BUSY:
    case CUPTI_ERROR_NOT_COMPATIBLE: hint = "another profiler or a debugger is attached; end it"; break;
    case CUPTI_ERROR_NOT_SUPPORTED: hint = "this device, or its virtualisation, does not support it"; break;
    default: break;
  }
  return fail(ErrorKind::kUnavailable, fmt::format("{}: {} ({})", what, text, static_cast<int>(result)),
              std::move(hint));
}

Result<const Cupti*> open_cupti() {
  static const Result<Cupti> cupti = load_cupti();
  if (!cupti) return fail(cupti.error());
  return &*cupti;
}

}  // namespace ptxbench::gpu
