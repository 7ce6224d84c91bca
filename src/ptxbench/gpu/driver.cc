#include "ptxbench/gpu/driver.h"

#include <fmt/format.h>

#include "ptxbench/gpu/identity.h"
#include "ptxbench/gpu/vendor_library.h"

namespace ptxbench::gpu {
namespace {

#define PTXBENCH_QUOTE(text) #text
// One more step, so that cuda.h's macros are expanded first: cuMemAlloc is looked up as "cuMemAlloc_v2".
#define PTXBENCH_SYMBOL(function) PTXBENCH_QUOTE(function)

constexpr const char* kHowToGet = "install NVIDIA's driver 570 (CUDA 12.8) or newer, or use --device emu";

Result<Driver> load_driver() {
  const Result<VendorLibrary> opened = VendorLibrary::open("libcuda.so.1");
  if (!opened)
    return fail(opened.error().kind, fmt::format("{}; {}", opened.error().message, opened.error().hint), kHowToGet);
  const VendorLibrary& library = *opened;
  Driver driver;
  driver.path = library.path().string();
#define PTXBENCH_LOOK_UP(member, function)                                                                     \
  driver.member = reinterpret_cast<decltype(driver.member)>(library.symbol(PTXBENCH_SYMBOL(function)));        \
  if (driver.member == nullptr) {                                                                              \
    return fail(ErrorKind::kUnavailable,                                                                       \
                fmt::format("the driver {} is too old: it has no {}", driver.path, PTXBENCH_SYMBOL(function)), \
                kHowToGet);                                                                                    \
  }
  PTXBENCH_DRIVER_FUNCTIONS(PTXBENCH_LOOK_UP)
#undef PTXBENCH_LOOK_UP
  if (const CUresult started = driver.init(0); started != CUDA_SUCCESS) {
    return fail(ErrorKind::kUnavailable, fmt::format("the CUDA driver does not start: {}", driver.describe(started)),
                fmt::format("nvidia-smi shows whether the driver sees a GPU, CUDA_VISIBLE_DEVICES may hide it; {}",
                            visible_devices_text()));
  }
  if (const CUresult known = driver.driver_version(&driver.version); known != CUDA_SUCCESS) {
    return fail(ErrorKind::kUnavailable, fmt::format("cuDriverGetVersion: {}", driver.describe(known)));
  }
  return driver;
}

}  // namespace

std::string Driver::describe(CUresult code) const {
  const char *name = nullptr, *text = nullptr;
  if (error_name(code, &name) != CUDA_SUCCESS || name == nullptr) name = "unknown CUDA error";
  if (error_string(code, &text) != CUDA_SUCCESS || text == nullptr) text = "no description";
  return fmt::format("{} ({}): {}", name, static_cast<int>(code), text);
}

Result<const Driver*> open_driver() {
  static const Result<Driver> driver = load_driver();
  if (!driver) return fail(driver.error());
  return &*driver;
}

}  // namespace ptxbench::gpu
