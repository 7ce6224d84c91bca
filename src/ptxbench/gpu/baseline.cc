#include "ptxbench/gpu/baseline.h"

#include <fmt/format.h>

#include <algorithm>

#include "ptxbench/gpu/baseline_cublaslt.h"
#include "ptxbench/gpu/baseline_cudnn.h"

namespace ptxbench::gpu {
namespace {

[[maybe_unused]] Result<std::unique_ptr<Baseline>> built_without(std::string_view library, std::string_view header) {
  return fail(ErrorKind::kUnavailable, fmt::format("this ptxbench was built without {}", library),
              fmt::format("build it where {} is installed", header));
}

constexpr std::size_t tensor_count(BaselineOperation operation) {
  switch (operation) {
    case BaselineOperation::kGemmNt: return 3;
    case BaselineOperation::kAttentionForward: return 5;
    case BaselineOperation::kAttentionBackward: return 9;
  }
  return 0;
}

Status check(const BaselineTask& task) {
  const std::size_t expected = tensor_count(task.operation);
  if (task.tensors.size() != expected)
    return fail(ErrorKind::kInvalidInput,
                fmt::format("baseline: {} tensors given, expected {}", task.tensors.size(), expected));
  if (std::count(task.tensors.begin(), task.tensors.end(), 0u) != 0)
    return fail(ErrorKind::kInvalidInput, "baseline: a tensor has the address 0");
  const bool gemm = task.operation == BaselineOperation::kGemmNt;
  const std::vector<std::uint32_t> sizes =
      gemm ? std::vector{task.m, task.n, task.k}
           : std::vector{task.batch, task.heads_q, task.heads_kv, task.seq_q, task.seq_kv, task.head_dim};
  if (std::count(sizes.begin(), sizes.end(), 0u) != 0)
    return fail(ErrorKind::kInvalidInput, "baseline: a size is zero");
  if (!gemm && task.heads_q % task.heads_kv != 0)
    return fail(ErrorKind::kInvalidInput,
                fmt::format("baseline: {} query heads are no multiple of {} key heads", task.heads_q, task.heads_kv));
  return {};
}

}  // namespace

#ifndef PTXBENCH_HAVE_CUBLASLT
Result<std::unique_ptr<Baseline>> prepare_cublaslt(const BaselineTask&) {
  return built_without("cuBLASLt", "cublasLt.h");
}
#endif
#ifndef PTXBENCH_HAVE_CUDNN
Result<std::unique_ptr<Baseline>> prepare_cudnn(const BaselineTask&) {
  return built_without("cuDNN", "cudnn.h and NVIDIA's cudnn-frontend");
}
#endif

const std::vector<BaselineLibrary>& baseline_libraries() {
  static const std::vector<BaselineLibrary> libraries = {
      {"cuBLASLt", {BaselineOperation::kGemmNt}, prepare_cublaslt},
      {"cuDNN", {BaselineOperation::kAttentionForward, BaselineOperation::kAttentionBackward}, prepare_cudnn},
  };
  return libraries;
}

Result<Baselines> Baselines::prepare(const BaselineTask& task, std::span<const BaselineLibrary> libraries) {
  PTXBENCH_TRY_STATUS(check(task));
  Baselines all;
  for (const BaselineLibrary& library : libraries) {
    if (std::count(library.operations.begin(), library.operations.end(), task.operation) == 0) continue;
    auto prepared = library.prepare(task);
    if (!prepared) {
      const Error& error = prepared.error();
      all.notes_.push_back(
          fmt::format("{}: {}{}{}", library.name, error.message, error.hint.empty() ? "" : "; ", error.hint));
      continue;
    }
    for (std::size_t plan = 0; plan < (*prepared)->plans().size(); ++plan) {
      all.plans_.push_back((*prepared)->plans()[plan]);
      all.places_.emplace_back(all.prepared_.size(), plan);
    }
    all.prepared_.push_back(std::move(*prepared));
  }
  if (!all.plans_.empty()) return all;
  Error error{ErrorKind::kUnavailable, "no library baseline for this task", "", {}, all.notes_};
  if (!all.notes_.empty()) error.message += fmt::format(": {}", all.notes_.front());
  return fail(std::move(error));
}

std::uint64_t Baselines::workspace_bytes() const {
  std::uint64_t bytes = 0;
  for (const BaselinePlan& plan : plans_) bytes = std::max(bytes, plan.workspace_bytes);
  return bytes;
}

Status Baselines::enqueue(std::size_t plan, std::uint64_t workspace, CUstream_st* stream) {
  if (plan >= plans_.size())
    return fail(ErrorKind::kInvalidInput, fmt::format("baseline plan {} of {} does not exist", plan, plans_.size()));
  const auto [library, number] = places_[plan];
  return prepared_[library]->enqueue(number, workspace, stream);
}

}  // namespace ptxbench::gpu
