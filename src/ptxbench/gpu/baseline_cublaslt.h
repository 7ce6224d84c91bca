// cuBLASLt as a baseline: BF16 matrix products with FP32 accumulation.
#pragma once

#include "ptxbench/gpu/baseline.h"

namespace ptxbench::gpu {

// kGemmNt only. The plans are the algorithms that cuBLASLt's heuristics put first, up to eight, with up to 64 MiB of
// workspace each. Where cublasLt.h was missing at build time, or libcublasLt.so.13 is missing here: kUnavailable.
Result<std::unique_ptr<Baseline>> prepare_cublaslt(const BaselineTask& task);

}  // namespace ptxbench::gpu
