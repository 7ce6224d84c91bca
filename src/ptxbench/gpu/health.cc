#include "ptxbench/gpu/health.h"

#include <fmt/format.h>

#include <cstring>

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

}  // namespace ptxbench::gpu
