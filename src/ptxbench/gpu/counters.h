// Instruction counts of single launches by CUPTI's SASS metrics: the kernel's machine code is patched with counters,
// run once, read out and restored. Times under patching mean nothing.
#pragma once

#include <memory>
#include <string_view>
#include <vector>

#include "ptxbench/gpu/context.h"
#include "ptxbench/gpu/cupti.h"

namespace ptxbench::gpu {

// Rules that CUPTI 13.0 (API 130001) showed on an H200 and does not document:
//   - Activity tracing must have been on once before open(), if only for a moment. Otherwise only the first function
//     that is launched gets counted, and tracing started later crashes the process.
//   - Metrics can be configured once per process: a second time, after unconfiguring, is CUPTI_ERROR_OUT_OF_MEMORY.
//   - Tracing and counting may alternate as often as one likes, but not overlap.
class InstructionCounter {
 public:
  // Configures the metrics for the context's device: once per process.
  static Result<std::unique_ptr<InstructionCounter>> open(Context& context);
  InstructionCounter(const InstructionCounter&) = delete;
  InstructionCounter& operator=(const InstructionCounter&) = delete;

  // Around one launch: arm() before it, while the device is idle; take() after it has ended.
  Status arm();
  // Instructions of the launch of `kernel` that were executed at all.
  Result<std::vector<wire::InstructionRecord>> take(std::string_view kernel);
  // Without reading: the launch did not happen or failed.
  void disarm();

 private:
  InstructionCounter(Context& context, const Cupti& cupti) : context_(context), cupti_(cupti) {}

  static constexpr std::size_t kMetrics = 3;
  Context& context_;
  const Cupti& cupti_;
  std::uint64_t ids_[kMetrics] = {};  // executed by warps, by active threads, by threads with a true predicate
  bool armed_ = false;
};

}  // namespace ptxbench::gpu
