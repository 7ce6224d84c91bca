// Instruction counts of single launches by CUPTI's SASS metrics: the kernel's machine code is patched with counters,
// run once, read out and restored. Times under patching mean nothing.
#pragma once

#include <string_view>
#include <vector>

#include "ptxbench/gpu/context.h"
#include "ptxbench/gpu/cupti.h"

namespace ptxbench::gpu {

class InstructionCounter {
 public:
  // Configures the metrics for the context's device. No activity tracing may be on.
  static Result<InstructionCounter> open(Context& context);
  InstructionCounter(InstructionCounter&& other) noexcept;
  InstructionCounter& operator=(InstructionCounter&&) = delete;
  ~InstructionCounter();  // restores everything

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
  bool configured_ = false, armed_ = false;
};

}  // namespace ptxbench::gpu
