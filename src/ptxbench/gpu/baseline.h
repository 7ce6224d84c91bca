// Library baselines: what a vendor's library takes for the task that a candidate solves.
//
// A library offers plans (algorithms of cuBLASLt, engines of cuDNN). The judge times every one on the candidate's inputs
// and takes the fastest, so nothing is chosen here. A further library is one more entry of baseline_libraries().
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "ptxbench/base/result.h"
#include "ptxbench/wire/records.h"

struct CUstream_st;

namespace ptxbench::gpu {

// All matrices compact and row-major in device memory, BF16 with FP32 accumulation unless said otherwise.
//   kGemmNt             A[m,k] B[n,k]                  -> C[m,n] = A Bᵀ
//   kAttentionForward   Q[b,hq,sq,d] K,V[b,hkv,skv,d]  -> O[b,hq,sq,d], L[b,hq,sq] FP32: natural logarithm of the sum of
//                                                         exponentials of the scaled scores
//   kAttentionBackward  Q K V O dO L                   -> dQ dK dV, shaped as Q K V
// Query head i uses head i / (hq / hkv) of K and V. Causal: query i sees keys 0..i. tensors: addresses in that order.
using BaselineTask = wire::BaselineProblem;
using BaselineOperation = wire::Operation;
using wire::BaselinePlan;

// A task prepared by one library. The device's context must be current in the calling thread at every call.
class Baseline {
 public:
  virtual ~Baseline() = default;
  const std::vector<BaselinePlan>& plans() const { return plans_; }  // best first by the library's own guess
  // Puts one plan's work on the stream and returns at once. `workspace`: device memory of the plan's workspace_bytes.
  virtual Status enqueue(std::size_t plan, std::uint64_t workspace, CUstream_st* stream) = 0;

 protected:
  std::vector<BaselinePlan> plans_;
};

struct BaselineLibrary {
  std::string_view name;
  std::vector<BaselineOperation> operations;
  std::function<Result<std::unique_ptr<Baseline>>(const BaselineTask&)> prepare;
};
const std::vector<BaselineLibrary>& baseline_libraries();

// Plans of all libraries for one task.
class Baselines {
 public:
  // kUnavailable names every library that has the operation and why it cannot do it here. One that can is enough: the
  // others' reasons are then in notes().
  static Result<Baselines> prepare(const BaselineTask& task,
                                   std::span<const BaselineLibrary> libraries = baseline_libraries());

  const std::vector<BaselinePlan>& plans() const { return plans_; }
  const std::vector<std::string>& notes() const { return notes_; }
  std::uint64_t workspace_bytes() const;  // the largest of all plans
  Status enqueue(std::size_t plan, std::uint64_t workspace, CUstream_st* stream);

 private:
  std::vector<std::unique_ptr<Baseline>> prepared_;
  std::vector<BaselinePlan> plans_;
  std::vector<std::pair<std::size_t, std::size_t>> places_;  // of each plan: its Baseline and the number there
  std::vector<std::string> notes_;
};

}  // namespace ptxbench::gpu
