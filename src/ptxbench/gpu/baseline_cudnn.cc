#include "ptxbench/gpu/baseline_cudnn.h"

#include <fmt/format.h>

#include <exception>
#include <unordered_map>

#include "ptxbench/gpu/vendor_library.h"

#define NV_CUDNN_FRONTEND_USE_DYNAMIC_LOADING
#define CUDNN_FRONTEND_SKIP_JSON_LIB
#include <cudnn_frontend.h>

// The library that cudnn-frontend takes its functions from; it leaves the definition to its user.
void* cudnn_frontend::cudnn_dlhandle = nullptr;

namespace ptxbench::gpu {
namespace {

namespace fe = cudnn_frontend;
using Tensor = std::shared_ptr<fe::graph::Tensor_attributes>;

constexpr std::int64_t kMaxPlans = 4;

Status check(fe::error_t error, std::string_view what) {
  if (error.is_good()) return {};
  return fail(ErrorKind::kUnavailable, fmt::format("cuDNN: {}: {}", what, error.get_message()));
}

// cudnn-frontend opens libcudart by name, and cuDNN's run-time compiled engines open NVRTC: both are found by name once
// they are loaded from wherever they lie. NVRTC is needed by some engines only.
Status load_libraries() {
  PTXBENCH_TRY_STATUS(VendorLibrary::open("libcudart.so.13"));
  static_cast<void>(VendorLibrary::open("libnvrtc.so.13"));
  PTXBENCH_TRY(const VendorLibrary cudnn, VendorLibrary::open("libcudnn.so.9"));
  fe::cudnn_dlhandle = cudnn.handle();
  return {};
}

class Cudnn : public Baseline {
 public:
  ~Cudnn() override {
    graph_.reset();
    if (handle_ != nullptr) fe::detail::destroy_handle(handle_);
  }
  Status prepare(const BaselineTask& task);
  Status enqueue(std::size_t plan, std::uint64_t workspace, CUstream_st* stream) override;

 private:
  Status build(const BaselineTask& task);
  void describe_forward(const BaselineTask& task);
  void describe_backward(const BaselineTask& task);
  Status collect_plans();

  // Tensors are numbered by their place in the task.
  Tensor input(std::size_t place, const char* name, std::int64_t heads, std::int64_t rows, const BaselineTask& task);
  Tensor statistics(std::size_t place, const BaselineTask& task);
  void output(const Tensor& tensor, std::size_t place, std::int64_t heads, std::int64_t rows, const BaselineTask& task);

  cudnnHandle_t handle_ = nullptr;
  std::shared_ptr<fe::graph::Graph> graph_;
  std::unordered_map<std::int64_t, void*> pointers_;
  std::vector<std::int64_t> engines_;  // of each plan: its number in the graph
};

// [batch, heads, rows, head_dim], compact.
std::vector<std::int64_t> strides(std::int64_t heads, std::int64_t rows, std::int64_t width) {
  return {heads * rows * width, rows * width, width, 1};
}

Tensor Cudnn::input(std::size_t place, const char* name, std::int64_t heads, std::int64_t rows,
                    const BaselineTask& task) {
  return graph_->tensor(fe::graph::Tensor_attributes()
                            .set_name(name)
                            .set_uid(static_cast<std::int64_t>(place) + 1)
                            .set_dim({task.batch, heads, rows, task.head_dim})
                            .set_stride(strides(heads, rows, task.head_dim)));
}

Tensor Cudnn::statistics(std::size_t place, const BaselineTask& task) {
  return graph_->tensor(fe::graph::Tensor_attributes()
                            .set_name("L")
                            .set_uid(static_cast<std::int64_t>(place) + 1)
                            .set_dim({task.batch, task.heads_q, task.seq_q, 1})
                            .set_stride(strides(task.heads_q, task.seq_q, 1))
                            .set_data_type(fe::DataType_t::FLOAT));
}

void Cudnn::output(const Tensor& tensor, std::size_t place, std::int64_t heads, std::int64_t rows,
                   const BaselineTask& task) {
  tensor->set_output(true)
      .set_uid(static_cast<std::int64_t>(place) + 1)
      .set_dim({task.batch, heads, rows, task.head_dim})
      .set_stride(strides(heads, rows, task.head_dim));
}

void Cudnn::describe_forward(const BaselineTask& task) {
  const Tensor q = input(0, "Q", task.heads_q, task.seq_q, task), k = input(1, "K", task.heads_kv, task.seq_kv, task),
               v = input(2, "V", task.heads_kv, task.seq_kv, task);
  auto attributes =
      fe::graph::SDPA_attributes().set_name("attention").set_generate_stats(true).set_attn_scale(task.scale);
  if (task.causal)
    attributes.set_diagonal_alignment(fe::DiagonalAlignment_t::TOP_LEFT).set_diagonal_band_right_bound(0);
  const auto [o, l] = graph_->sdpa(q, k, v, attributes);
  output(o, 3, task.heads_q, task.seq_q, task);
  l->set_output(true)
      .set_uid(5)
      .set_dim({task.batch, task.heads_q, task.seq_q, 1})
      .set_stride(strides(task.heads_q, task.seq_q, 1))
      .set_data_type(fe::DataType_t::FLOAT);
}

void Cudnn::describe_backward(const BaselineTask& task) {
  const Tensor q = input(0, "Q", task.heads_q, task.seq_q, task), k = input(1, "K", task.heads_kv, task.seq_kv, task),
               v = input(2, "V", task.heads_kv, task.seq_kv, task), o = input(3, "O", task.heads_q, task.seq_q, task),
               d_o = input(4, "dO", task.heads_q, task.seq_q, task), l = statistics(5, task);
  auto attributes = fe::graph::SDPA_backward_attributes().set_name("attention backward").set_attn_scale(task.scale);
  if (task.causal)
    attributes.set_diagonal_alignment(fe::DiagonalAlignment_t::TOP_LEFT).set_diagonal_band_right_bound(0);
  const auto [dq, dk, dv] = graph_->sdpa_backward(q, k, v, o, d_o, l, attributes);
  output(dq, 6, task.heads_q, task.seq_q, task);
  output(dk, 7, task.heads_kv, task.seq_kv, task);
  output(dv, 8, task.heads_kv, task.seq_kv, task);
}

// Engines that cannot be built are left out; the last one's reason is told if none can.
Status Cudnn::collect_plans() {
  const std::string version = fe::detail::get_backend_version_string();
  const std::int64_t count = graph_->get_execution_plan_count();
  std::string reason = "the heuristics offer no engine";
  for (std::int64_t engine = 0; engine < count && std::ssize(plans_) < kMaxPlans; ++engine) {
    if (fe::error_t built = graph_->build_plan_at_index(engine); built.is_bad()) {
      reason = built.get_message();
      continue;
    }
    std::int64_t workspace = 0;
    std::string name;
    PTXBENCH_TRY_STATUS(check(graph_->get_workspace_size_plan_at_index(engine, workspace), "workspace size"));
    PTXBENCH_TRY_STATUS(check(graph_->get_plan_name_at_index(engine, name), "name of an engine"));
    plans_.push_back({"cuDNN", version, name, static_cast<std::uint64_t>(workspace)});
    engines_.push_back(engine);
  }
  if (plans_.empty())
    return fail(ErrorKind::kUnavailable, fmt::format("cuDNN {} has no engine for this shape: {}", version, reason));
  return {};
}

Status Cudnn::build(const BaselineTask& task) {
  if (const cudnnStatus_t status = fe::detail::create_handle(&handle_); status != CUDNN_STATUS_SUCCESS)
    return fail(ErrorKind::kUnavailable,
                fmt::format("cuDNN: creating a handle: {}", fe::detail::get_error_string(status)));
  graph_ = std::make_shared<fe::graph::Graph>();
  graph_->set_io_data_type(fe::DataType_t::BFLOAT16)
      .set_intermediate_data_type(fe::DataType_t::FLOAT)
      .set_compute_data_type(fe::DataType_t::FLOAT);
  task.operation == BaselineOperation::kAttentionForward ? describe_forward(task) : describe_backward(task);
  PTXBENCH_TRY_STATUS(check(graph_->validate(), "this attention"));
  PTXBENCH_TRY_STATUS(check(graph_->build_operation_graph(handle_), "building the graph"));
  PTXBENCH_TRY_STATUS(check(graph_->create_execution_plans({fe::HeurMode_t::A}), "asking the heuristics"));
  for (std::size_t i = 0; i < task.tensors.size(); ++i)
    pointers_[static_cast<std::int64_t>(i) + 1] = reinterpret_cast<void*>(task.tensors[i]);
  return collect_plans();
}

Status Cudnn::prepare(const BaselineTask& task) try {
  return build(task);
} catch (const std::exception& error) {  // cudnn-frontend throws where a library or a symbol is missing
  return fail(ErrorKind::kUnavailable, fmt::format("cuDNN: {}", error.what()));
}

Status Cudnn::enqueue(std::size_t plan, std::uint64_t workspace, CUstream_st* stream) try {
  if (const cudnnStatus_t status = fe::detail::set_stream(handle_, stream); status != CUDNN_STATUS_SUCCESS)
    return fail(ErrorKind::kUnavailable,
                fmt::format("cuDNN: choosing a stream: {}", fe::detail::get_error_string(status)));
  // The call adds its own entries to the map.
  auto pointers = pointers_;
  return check(graph_->execute_plan_at_index(handle_, pointers, reinterpret_cast<void*>(workspace), engines_[plan]),
               "starting attention");
} catch (const std::exception& error) {
  return fail(ErrorKind::kUnavailable, fmt::format("cuDNN: {}", error.what()));
}

}  // namespace

Result<std::unique_ptr<Baseline>> prepare_cudnn(const BaselineTask& task) {
  PTXBENCH_TRY_STATUS(load_libraries());
  auto baseline = std::make_unique<Cudnn>();
  PTXBENCH_TRY_STATUS(baseline->prepare(task));
  return baseline;
}

}  // namespace ptxbench::gpu
