#include "ptxbench/gpu/baseline_cublaslt.h"

#include <cublasLt.h>
#include <fmt/format.h>

#include <algorithm>
#include <array>

#include "ptxbench/gpu/vendor_library.h"

namespace ptxbench::gpu {
namespace {

constexpr int kMaxPlans = 8;
constexpr std::size_t kMaxWorkspace = std::size_t{64} << 20;

// The functions used, by the header's own types.
struct Functions {
  decltype(cublasLtGetVersion)* get_version;
  decltype(cublasLtGetStatusString)* status_string;
  decltype(cublasLtCreate)* create;
  decltype(cublasLtDestroy)* destroy;
  decltype(cublasLtMatmulDescCreate)* desc_create;
  decltype(cublasLtMatmulDescDestroy)* desc_destroy;
  decltype(cublasLtMatmulDescSetAttribute)* desc_set;
  decltype(cublasLtMatrixLayoutCreate)* layout_create;
  decltype(cublasLtMatrixLayoutDestroy)* layout_destroy;
  decltype(cublasLtMatmulPreferenceCreate)* preference_create;
  decltype(cublasLtMatmulPreferenceDestroy)* preference_destroy;
  decltype(cublasLtMatmulPreferenceSetAttribute)* preference_set;
  decltype(cublasLtMatmulAlgoGetHeuristic)* get_heuristic;
  decltype(cublasLtMatmulAlgoConfigGetAttribute)* algo_get;
  decltype(cublasLtMatmul)* matmul;
};

Result<Functions> load_functions() {
  PTXBENCH_TRY(const VendorLibrary library, VendorLibrary::open("libcublasLt.so.13"));
  Functions f{};
  PTXBENCH_TRY_STATUS(library.bind(f.get_version, "cublasLtGetVersion"));
  PTXBENCH_TRY_STATUS(library.bind(f.status_string, "cublasLtGetStatusString"));
  PTXBENCH_TRY_STATUS(library.bind(f.create, "cublasLtCreate"));
  PTXBENCH_TRY_STATUS(library.bind(f.destroy, "cublasLtDestroy"));
  PTXBENCH_TRY_STATUS(library.bind(f.desc_create, "cublasLtMatmulDescCreate"));
  PTXBENCH_TRY_STATUS(library.bind(f.desc_destroy, "cublasLtMatmulDescDestroy"));
  PTXBENCH_TRY_STATUS(library.bind(f.desc_set, "cublasLtMatmulDescSetAttribute"));
  PTXBENCH_TRY_STATUS(library.bind(f.layout_create, "cublasLtMatrixLayoutCreate"));
  PTXBENCH_TRY_STATUS(library.bind(f.layout_destroy, "cublasLtMatrixLayoutDestroy"));
  PTXBENCH_TRY_STATUS(library.bind(f.preference_create, "cublasLtMatmulPreferenceCreate"));
  PTXBENCH_TRY_STATUS(library.bind(f.preference_destroy, "cublasLtMatmulPreferenceDestroy"));
  PTXBENCH_TRY_STATUS(library.bind(f.preference_set, "cublasLtMatmulPreferenceSetAttribute"));
  PTXBENCH_TRY_STATUS(library.bind(f.get_heuristic, "cublasLtMatmulAlgoGetHeuristic"));
  PTXBENCH_TRY_STATUS(library.bind(f.algo_get, "cublasLtMatmulAlgoConfigGetAttribute"));
  PTXBENCH_TRY_STATUS(library.bind(f.matmul, "cublasLtMatmul"));
  return f;
}

Status check(const Functions& f, cublasStatus_t status, std::string_view what) {
  if (status == CUBLAS_STATUS_SUCCESS) return {};
  return fail(ErrorKind::kUnavailable, fmt::format("cuBLASLt: {}: {}", what, f.status_string(status)));
}

// "13.1.0" for 130100.
std::string version_text(std::size_t version) {
  return fmt::format("{}.{}.{}", version / 10000, version / 100 % 100, version % 100);
}

std::string describe(const Functions& f, const cublasLtMatmulAlgo_t& algo) {
  // All of them 32 bits wide but the two shapes.
  const auto read = [&f, &algo](cublasLtMatmulAlgoConfigAttributes_t attribute, std::size_t size) {
    std::uint32_t value = 0;
    std::size_t written = 0;
    f.algo_get(&algo, attribute, &value, size, &written);
    return value;
  };
  return fmt::format(
      "algorithm {}, tile {}, stages {}, split-k {}, reduction {}, swizzle {}, custom {}, inner {}, cluster {}",
      read(CUBLASLT_ALGO_CONFIG_ID, 4), read(CUBLASLT_ALGO_CONFIG_TILE_ID, 4), read(CUBLASLT_ALGO_CONFIG_STAGES_ID, 4),
      read(CUBLASLT_ALGO_CONFIG_SPLITK_NUM, 4), read(CUBLASLT_ALGO_CONFIG_REDUCTION_SCHEME, 4),
      read(CUBLASLT_ALGO_CONFIG_CTA_SWIZZLING, 4), read(CUBLASLT_ALGO_CONFIG_CUSTOM_OPTION, 4),
      read(CUBLASLT_ALGO_CONFIG_INNER_SHAPE_ID, 2), read(CUBLASLT_ALGO_CONFIG_CLUSTER_SHAPE_ID, 2));
}

class CublasLt : public Baseline {
 public:
  CublasLt(const Functions& f, const BaselineTask& task)
      : f_(f), tensors_{task.tensors[0], task.tensors[1], task.tensors[2]} {}
  ~CublasLt() override {
    if (preference_ != nullptr) f_.preference_destroy(preference_);
    for (cublasLtMatrixLayout_t layout : {first_, second_, result_})
      if (layout != nullptr) f_.layout_destroy(layout);
    if (desc_ != nullptr) f_.desc_destroy(desc_);
    if (handle_ != nullptr) f_.destroy(handle_);
  }

  Status prepare(const BaselineTask& task);
  Status enqueue(std::size_t plan, std::uint64_t workspace, CUstream_st* stream) override;

 private:
  Status describe_product(const BaselineTask& task);
  Status describe_preference();
  Status set_preference(cublasLtMatmulPreferenceAttributes_t attribute, const void* value, std::size_t size) {
    return check(f_, f_.preference_set(preference_, attribute, value, size), "setting a preference");
  }

  const Functions f_;
  const std::array<std::uint64_t, 3> tensors_;  // A, B, C of the task
  cublasLtHandle_t handle_ = nullptr;
  cublasLtMatmulDesc_t desc_ = nullptr;
  cublasLtMatrixLayout_t first_ = nullptr, second_ = nullptr, result_ = nullptr;
  cublasLtMatmulPreference_t preference_ = nullptr;
  std::vector<cublasLtMatmulHeuristicResult_t> found_;
};

// cuBLAS counts matrices column by column: the row-major C[m,n] is its Cᵀ[n,m], and Cᵀ = B Aᵀ, where B[n,k] read by columns
// is Bᵀ and must be transposed, and A[m,k] read by columns is Aᵀ already. So B comes first.
Status CublasLt::describe_product(const BaselineTask& task) {
  PTXBENCH_TRY_STATUS(check(f_, f_.desc_create(&desc_, CUBLAS_COMPUTE_32F, CUDA_R_32F), "creating the product"));
  const cublasOperation_t first = CUBLAS_OP_T, second = CUBLAS_OP_N;
  PTXBENCH_TRY_STATUS(
      check(f_, f_.desc_set(desc_, CUBLASLT_MATMUL_DESC_TRANSA, &first, sizeof first), "transposition"));
  PTXBENCH_TRY_STATUS(
      check(f_, f_.desc_set(desc_, CUBLASLT_MATMUL_DESC_TRANSB, &second, sizeof second), "transposition"));
  PTXBENCH_TRY_STATUS(check(f_, f_.layout_create(&first_, CUDA_R_16BF, task.k, task.n, task.k), "layout of B"));
  PTXBENCH_TRY_STATUS(check(f_, f_.layout_create(&second_, CUDA_R_16BF, task.k, task.m, task.k), "layout of A"));
  return check(f_, f_.layout_create(&result_, CUDA_R_16BF, task.n, task.m, task.n), "layout of C");
}

Status CublasLt::describe_preference() {
  PTXBENCH_TRY_STATUS(check(f_, f_.preference_create(&preference_), "creating preferences"));
  PTXBENCH_TRY_STATUS(set_preference(CUBLASLT_MATMUL_PREF_MAX_WORKSPACE_BYTES, &kMaxWorkspace, sizeof kMaxWorkspace));
  // The library assumes 256 unless told; a tensor may be less aligned.
  const auto alignment = [](std::uint64_t address) {
    return static_cast<std::uint32_t>(std::min<std::uint64_t>(256, address & (~address + 1)));
  };
  const std::uint32_t a = alignment(tensors_[0]), b = alignment(tensors_[1]), c = alignment(tensors_[2]);
  PTXBENCH_TRY_STATUS(set_preference(CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_A_BYTES, &b, sizeof b));
  PTXBENCH_TRY_STATUS(set_preference(CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_B_BYTES, &a, sizeof a));
  PTXBENCH_TRY_STATUS(set_preference(CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_C_BYTES, &c, sizeof c));
  return set_preference(CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_D_BYTES, &c, sizeof c);
}

Status CublasLt::prepare(const BaselineTask& task) {
  PTXBENCH_TRY_STATUS(check(f_, f_.create(&handle_), "creating a handle"));
  PTXBENCH_TRY_STATUS(describe_product(task));
  PTXBENCH_TRY_STATUS(describe_preference());
  std::array<cublasLtMatmulHeuristicResult_t, kMaxPlans> results{};
  int count = 0;
  PTXBENCH_TRY_STATUS(check(f_,
                            f_.get_heuristic(handle_, desc_, first_, second_, result_, result_, preference_, kMaxPlans,
                                             results.data(), &count),
                            fmt::format("no algorithm for m={} n={} k={} in BF16", task.m, task.n, task.k)));
  const std::string version = version_text(f_.get_version());
  for (int i = 0; i < count; ++i) {
    if (results[i].state != CUBLAS_STATUS_SUCCESS) continue;
    found_.push_back(results[i]);
    plans_.push_back({"cuBLASLt", version, describe(f_, results[i].algo), results[i].workspaceSize});
  }
  return {};
}

Status CublasLt::enqueue(std::size_t plan, std::uint64_t workspace, CUstream_st* stream) {
  const float one = 1, zero = 0;
  const auto pointer = [](std::uint64_t address) { return reinterpret_cast<void*>(address); };
  return check(f_,
               f_.matmul(handle_, desc_, &one, pointer(tensors_[1]), first_, pointer(tensors_[0]), second_, &zero,
                         pointer(tensors_[2]), result_, pointer(tensors_[2]), result_, &found_[plan].algo,
                         pointer(workspace), found_[plan].workspaceSize, stream),
               "starting the product");
}

}  // namespace

Result<std::unique_ptr<Baseline>> prepare_cublaslt(const BaselineTask& task) {
  PTXBENCH_TRY(const Functions functions, load_functions());
  auto baseline = std::make_unique<CublasLt>(functions, task);
  PTXBENCH_TRY_STATUS(baseline->prepare(task));
  return baseline;
}

}  // namespace ptxbench::gpu
