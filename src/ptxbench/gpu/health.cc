#include "ptxbench/gpu/health.h"

#include <fmt/format.h>

#include <cstring>

#include "ptxbench/gpu/cupti.h"
#include "ptxbench/gpu/nvml.h"

namespace ptxbench::gpu {
namespace {

constexpr std::chrono::seconds kLimit{5};
constexpr std::uint32_t kBlocks = 256, kThreads = 128, kWords = kBlocks * kThreads;

// out[i] = 3 * i + 7 for one i per thread. PTX, so that it runs on every generation.
constexpr std::string_view kKernel = R"(.version 7.0
.target sm_70
.address_size 64
.visible .entry ptxbench_health(.param .u64 out) {
  .reg .b32 %r<6>;
  .reg .b64 %d<4>;
  ld.param.u64 %d1, [out];
  mov.u32 %r1, %ctaid.x;
  mov.u32 %r2, %ntid.x;
  mov.u32 %r3, %tid.x;
  mad.lo.u32 %r4, %r1, %r2, %r3;
  mad.lo.u32 %r5, %r4, 3, 7;
  mul.wide.u32 %d2, %r4, 4;
  add.u64 %d3, %d1, %d2;
  st.global.u32 [%d3], %r5;
  ret;
}
)";

Error of(const wire::Failure& failure) { return {ErrorKind::kUnavailable, failure.message, {}, {}, {}}; }

Status run_kernel(GpuDevice& device, std::uint64_t out) {
  wire::Answer<std::uint32_t> module = device.load_module(std::as_bytes(std::span(kKernel)));
  if (!module) return fail(of(module.error()));
  wire::LaunchOrder order;
  order.module = *module;
  order.kernel = "ptxbench_health";
  order.geometry.grid = {kBlocks, 1, 1};
  order.geometry.block = {kThreads, 1, 1};
  order.params = std::as_bytes(std::span(&out, 1));
  order.deadline = kLimit;
  wire::Answer<wire::LaunchReport> report = device.launch(order);
  if (!report) return fail(of(report.error()));
  if (report->trap) return fail(ErrorKind::kUnavailable, report->trap->text);
  return {};
}

}  // namespace

Status check_health(GpuDevice& device) {
  wire::Answer<std::uint64_t> out = device.alloc(kWords * 4);
  if (!out) return fail(of(out.error()));
  PTXBENCH_TRY_STATUS(run_kernel(device, *out));
  std::vector<std::uint32_t> words(kWords);
  wire::Answer<void> read = device.read(*out, std::as_writable_bytes(std::span(words)));
  if (!read) return fail(of(read.error()));
  for (std::uint32_t i = 0; i < kWords; ++i) {
    if (words[i] != 3 * i + 7) {
      return fail(ErrorKind::kUnavailable,
                  fmt::format("the GPU computed {} where {} is right (word {})", words[i], 3 * i + 7, i),
                  "the card, or its memory, is broken: nvidia-smi -q shows ECC and Xid errors");
    }
  }
  return {};
}

Probe probe() {
  Probe probe;
  const auto line = [&](std::string_view what, const std::string& text) {
    probe.text += fmt::format("{:<10} {}\n", what, text);
  };
  Result<const Driver*> driver = open_driver();
  if (!driver) {
    line("driver", "absent: " + driver.error().format());
    return probe;
  }
  line("driver",
       fmt::format("CUDA {}.{}, {}", (*driver)->version / 1000, (*driver)->version % 1000 / 10, (*driver)->path));
  int devices = 0;
  (*driver)->device_count(&devices);
  for (int i = 0; i < devices; ++i) {
    CUdevice device = 0;
    char name[256] = {}, bus[32] = {};
    std::size_t memory = 0;
    int major = 0, minor = 0;
    (*driver)->device_get(&device, i);
    (*driver)->device_name(name, sizeof name - 1, device);
    (*driver)->device_pci_bus_id(bus, sizeof bus - 1, device);
    (*driver)->device_total_memory(&memory, device);
    (*driver)->device_attribute(&major, CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MAJOR, device);
    (*driver)->device_attribute(&minor, CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MINOR, device);
    line(fmt::format("gpu:{}", i), fmt::format("{}, sm_{}{}, {} MiB, {}", name, major, minor, memory >> 20, bus));
    const Result<wire::Telemetry> state = read_telemetry(bus);
    line("", state ? fmt::format("driver {}, {} MHz, {:.0f} W, {} degrees, MIG {}", state->driver_version,
                                 state->sm_mhz, state->power_w, state->temperature_c, state->mig ? "on" : "off")
                   : "no NVML: " + state.error().message);
  }
  probe.usable = devices > 0;
  const Result<const Cupti*> cupti = open_cupti();
  line("cupti", cupti ? fmt::format("API {}, {}", (*cupti)->api_version, (*cupti)->path)
                      : "absent: no times and no counts. " + cupti.error().format());
  return probe;
}

}  // namespace ptxbench::gpu
