// cuDNN as a baseline: scaled dot-product attention, forward with its log-sum-exp and backward, by the graph API.
#pragma once

#include "ptxbench/gpu/baseline.h"

namespace ptxbench::gpu {

// kAttentionForward and kAttentionBackward, causal or not, with shared key heads. The plans are the engines that cuDNN's
// heuristics offer, up to four. Where the headers were missing at build time, or libcudnn.so.9 (with libcudart.so.13) is
// missing here, or cuDNN has no engine for the shape: kUnavailable with cuDNN's own words.
Result<std::unique_ptr<Baseline>> prepare_cudnn(const BaselineTask& task);

}  // namespace ptxbench::gpu
