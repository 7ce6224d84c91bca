#include "ptxbench/gpu/probe.h"

#include <fmt/format.h>

#include "ptxbench/gpu/cupti.h"
#include "ptxbench/gpu/identity.h"
#include "ptxbench/gpu/nvml.h"
#include "ptxbench/gpu/vendor_library.h"

namespace ptxbench::gpu {
namespace {

using schema::Piece;
using schema::PieceState;

constexpr char kDevices[] = "GPUs", kLibraries[] = "NVIDIA's libraries for work on a GPU";

struct Opened {
  std::string version, path;
};

// A library as it is described, with what opening it gave.
Piece piece(const char* name, const char* purpose, const Result<Opened>& opened, const char* how_to_get,
            const char* without) {
  Piece piece{kLibraries, name, purpose, PieceState::kFound, {}, {}, {}, {}, {}, {}};
  if (opened) {
    piece.version = opened->version;
    piece.path = opened->path;
    return piece;
  }
  piece.state = PieceState::kAbsent;
  piece.problem = opened.error().message;
  // Of a library that is nowhere, the hint says where it was looked for.
  if (const std::string& hint = opened.error().hint; hint.starts_with("looked in")) piece.problem += "; " + hint;
  piece.how_to_get = how_to_get;
  piece.without = without;
  return piece;
}

Result<Opened> open_piece(const char* soname, const char* version_function, std::string (*version)(void* function)) {
  PTXBENCH_TRY(const VendorLibrary library, VendorLibrary::open(soname));
  void* const function = library.symbol(version_function);
  if (function == nullptr)
    return fail(ErrorKind::kUnavailable,
                fmt::format("'{}' has no function {}", library.path().string(), version_function));
  return Opened{version(function), library.path().string()};
}

std::string three_numbers(std::size_t version, std::size_t major, std::size_t minor) {
  return fmt::format("{}.{}.{}", version / major, version % major / minor, version % minor);
}

// 130100 and 91400: the two libraries count alike since cuDNN 9.
std::string size_version(void* function) {
  const std::size_t version = reinterpret_cast<std::size_t (*)()>(function)();
  return three_numbers(version, 10000, 100);
}

std::string runtime_version(void* function) {
  int version = 0;
  reinterpret_cast<int (*)(int*)>(function)(&version);
  return fmt::format("{}.{}", version / 1000, version % 1000 / 10);
}

std::string nvrtc_version(void* function) {
  int major = 0, minor = 0;
  reinterpret_cast<int (*)(int*, int*)>(function)(&major, &minor);
  return fmt::format("{}.{}", major, minor);
}

Result<Opened> opened_cupti() {
  PTXBENCH_TRY(const Cupti* cupti, open_cupti());
  return Opened{fmt::format("API {}", cupti->api_version), cupti->path};
}

Result<Opened> opened_nvml() {
  PTXBENCH_TRY(const NvmlLibrary nvml, nvml_library());
  return Opened{nvml.version, nvml.path};
}

std::vector<Piece> libraries() {
  std::vector<Piece> pieces = {
      piece("CUPTI", "instruction counts (the second layer) and times (the third)", opened_cupti(),
            "pip install nvidia-cuda-cupti, package cuda-cupti-13-0 of NVIDIA's repository, or a CUDA 13 toolkit",
            "correctness on the GPU; verdicts end as MEASUREMENT_VOID. The emulator counts without it"),
      piece("NVML", "clocks, power, temperature, throttle reasons", opened_nvml(),
            "it is part of the driver: package libnvidia-ml1 (Debian), or libnvidia-compute-580 of NVIDIA's repository",
            "correctness and instruction counts on the GPU; times are void, since nobody saw the clocks"),
      piece("cuBLASLt", "the baseline of GEMM tasks",
            open_piece("libcublasLt.so.13", "cublasLtGetVersion", size_version),
            "pip install nvidia-cublas, package libcublas-13-0 of NVIDIA's repository, or a CUDA 13 toolkit",
            "all but the third layer of GEMM tasks, which is void: there is nothing to compare with"),
      piece("cuDNN", "the baseline of attention tasks", open_piece("libcudnn.so.9", "cudnnGetVersion", size_version),
            "pip install nvidia-cudnn-cu13, or package libcudnn9-cuda-13 of NVIDIA's repository",
            "all but the third layer of attention tasks, which is void: there is nothing to compare with"),
      piece("CUDA runtime", "loaded by cuDNN", open_piece("libcudart.so.13", "cudaRuntimeGetVersion", runtime_version),
            "pip install nvidia-cuda-runtime, package cuda-cudart-13-0 of NVIDIA's repository, or a CUDA 13 toolkit",
            "what works without cuDNN"),
      piece("NVRTC", "those of cuDNN's engines that are compiled when they are used",
            open_piece("libnvrtc.so.13", "nvrtcVersion", nvrtc_version),
            "pip install nvidia-cuda-nvrtc, package cuda-nvrtc-13-0 of NVIDIA's repository, or a CUDA 13 toolkit",
            "everything; cuDNN may then offer fewer plans"),
  };
#ifndef PTXBENCH_HAVE_CUBLASLT
  pieces[2].notes.push_back("this ptxbench was built without cublasLt.h and does not use it");
#endif
#ifndef PTXBENCH_HAVE_CUDNN
  pieces[3].notes.push_back("this ptxbench was built without cudnn.h or cudnn-frontend and does not use it");
#endif
  return pieces;
}

Piece describe_device(const Driver& driver, int ordinal) {
  Piece piece{kDevices, fmt::format("gpu:{}", ordinal), {}, PieceState::kFound, {}, {}, {}, {}, {}, {}};
  const Result<CUdevice> device = find_device(driver, ordinal);
  if (!device) {
    piece.state = PieceState::kAbsent;
    piece.problem = device.error().message;
    return piece;
  }
  const Identity identity = identify(driver, *device);
  std::size_t memory = 0;
  int major = 0, minor = 0, multiprocessors = 0;
  driver.device_total_memory(&memory, *device);
  driver.device_attribute(&major, CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MAJOR, *device);
  driver.device_attribute(&minor, CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MINOR, *device);
  driver.device_attribute(&multiprocessors, CU_DEVICE_ATTRIBUTE_MULTIPROCESSOR_COUNT, *device);
  piece.purpose = fmt::format("{}, sm_{}{}, {} multiprocessors, {} MiB", identity.name, major, minor, multiprocessors,
                              memory >> 20);
  piece.notes.push_back(fmt::format("UUID {}, bus {}", identity.uuid_text(), identity.pci_bus_id));
  const Result<wire::Telemetry> state = read_telemetry(identity);
  piece.notes.push_back(state ? fmt::format("{}driver {}, {} MHz, {:.0f} W, {} degrees",
                                            state->mig ? "a MIG slice of a card: " : "", state->driver_version,
                                            state->sm_mhz, state->power_w, state->temperature_c)
                              : "no telemetry: " + state.error().message);
  return piece;
}

std::vector<Piece> devices() {
  Piece driver_piece{kDevices, "driver", "CUDA on a GPU", PieceState::kAbsent, {}, {}, {}, {}, {}, {}};
  const Result<const Driver*> driver = open_driver();
  if (!driver) {
    driver_piece.problem = driver.error().message;
    driver_piece.how_to_get = driver.error().hint;
    driver_piece.without = "everything that the emulator does: all layers but times";
    return {std::move(driver_piece)};
  }
  driver_piece.state = PieceState::kFound;
  driver_piece.version = fmt::format("CUDA {}.{}", (*driver)->version / 1000, (*driver)->version % 1000 / 10);
  driver_piece.path = (*driver)->path;
  int count = 0;
  (*driver)->device_count(&count);
  driver_piece.notes.push_back(
      fmt::format("{} device{} to be seen; {}", count, count == 1 ? "" : "s", visible_devices_text()));
  std::vector<Piece> pieces = {std::move(driver_piece)};
  for (int i = 0; i < count; ++i) pieces.push_back(describe_device(**driver, i));
  return pieces;
}

}  // namespace

Status usable(int ordinal) {
  PTXBENCH_TRY(const Driver* driver, open_driver());
  PTXBENCH_TRY_STATUS(find_device(*driver, ordinal));
  return {};
}

std::vector<Piece> probe() {
  std::vector<Piece> pieces = devices();
  for (Piece& library : libraries()) pieces.push_back(std::move(library));
  return pieces;
}

}  // namespace ptxbench::gpu
