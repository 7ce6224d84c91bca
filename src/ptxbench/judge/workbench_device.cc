// DeviceWorkbench: reference.cc's steps as launches of our kernels over the wire.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <cstring>
#include <optional>
#include <string>

#include "ptxbench/judge/compare.h"
#include "ptxbench/judge/diagnose.h"
#include "ptxbench/judge/trusted/params.h"
#include "ptxbench/judge/workbench.h"
#include "ptxbench/judge/workbench_memory.h"

namespace ptxbench::judge {
namespace {

using trusted::GradientParams;
using trusted::MatmulParams;
using trusted::ScanParams;
using trusted::SoftmaxParams;

std::uint32_t blocks(std::int64_t extent, std::int64_t tile) {
  return static_cast<std::uint32_t>((extent + tile - 1) / tile);
}

}  // namespace

Result<std::unique_ptr<DeviceWorkbench>> DeviceWorkbench::create(CommandQueue& queue,
                                                                 std::span<const std::byte> fatbin) {
  std::unique_ptr<DeviceWorkbench> bench(new DeviceWorkbench(queue));
  PTXBENCH_TRY(const wire::HandleReply module, trusted_result(queue.call(wire::LoadModule{fatbin.size()}, fatbin)));
  bench->module_ = module.handle;
  const auto find = [&](const char* name, std::uint32_t& kernel) -> Status {
    PTXBENCH_TRY(const wire::KernelReply found, trusted_result(queue.call(wire::GetKernel{module.handle, name})));
    kernel = found.kernel;
    return {};
  };
  Kernels& kernels = bench->kernels_;
  PTXBENCH_TRY_STATUS(find("ptxbench_matmul_bf16", kernels.matmul_bf16));
  PTXBENCH_TRY_STATUS(find("ptxbench_matmul_f64", kernels.matmul_f64));
  PTXBENCH_TRY_STATUS(find("ptxbench_softmax", kernels.softmax));
  PTXBENCH_TRY_STATUS(find("ptxbench_gradient", kernels.gradient));
  PTXBENCH_TRY_STATUS(find("ptxbench_compare", kernels.compare));
  PTXBENCH_TRY_STATUS(find("ptxbench_scan", kernels.scan));
  PTXBENCH_TRY_STATUS(find("ptxbench_inputs", kernels.inputs));
  PTXBENCH_TRY_STATUS(find("ptxbench_round", kernels.round));
  return bench;
}

DeviceWorkbench::~DeviceWorkbench() {
  for (const auto& [bytes, address] : kept_) static_cast<void>(queue_.call(wire::Free{address}));
  for (const std::uint64_t table : {normal_, narrow_})
    if (table != 0) static_cast<void>(queue_.call(wire::Free{table}));
  if (module_ != 0) static_cast<void>(queue_.call(wire::UnloadModule{module_}));
}

template <class Params>
Status DeviceWorkbench::multiply(std::uint32_t kernel, const Params& params, std::int64_t batches) {
  return launch(kernel,
                {blocks(params.n, trusted::kTileColumns), blocks(params.m, trusted::kTileRows),
                 static_cast<std::uint32_t>(batches)},
                trusted::kMatmulThreads, params);
}

Result<std::vector<std::uint64_t>> DeviceWorkbench::place(Memory& memory, const InputSet& inputs) {
  std::vector<std::uint64_t> addresses;
  for (const HostTensor& tensor : inputs.tensors) {
    PTXBENCH_TRY(addresses.emplace_back(), memory.upload(tensor.bytes));
  }
  return addresses;
}

Result<DeviceWorkbench::Block> DeviceWorkbench::gemm_rows_at(Memory& memory, const Problem& problem, std::uint64_t a,
                                                             std::uint64_t b, std::uint64_t row_list,
                                                             std::int64_t rows) {
  MatmulParams p{};
  p.a = a, p.b = b, p.rows = row_list;
  p.m = rows, p.n = problem.n, p.k = problem.k;
  p.a_row = p.k, p.a_column = 1, p.b_group = 1, p.b_row = 1, p.b_column = p.k, p.c_row = p.n, p.alpha = 1;
  PTXBENCH_TRY(p.c, memory.alloc(p.m * p.n * sizeof(double)));
  PTXBENCH_TRY_STATUS(multiply(kernels_.matmul_bf16, p, 1));
  return Block{p.c, static_cast<std::uint64_t>(p.m * p.n)};
}

Result<std::vector<double>> DeviceWorkbench::gemm_rows(const Problem& problem, const InputSet& inputs,
                                                       std::span<const std::uint32_t> rows) {
  if (problem.operation != schema::Operation::kGemmNt)
    return fail(ErrorKind::kUnsupported, "single rows are recomputed for GEMM only");
  for (const std::uint32_t row : rows)
    if (row >= problem.m)
      return fail(ErrorKind::kInvalidInput, fmt::format("row {} of a matrix with {} rows", row, problem.m));
  if (rows.empty()) return std::vector<double>{};
  Memory memory(queue_);
  PTXBENCH_TRY(const std::vector<std::uint64_t> in, place(memory, inputs));
  PTXBENCH_TRY(const std::uint64_t list, memory.upload(std::as_bytes(rows)));
  PTXBENCH_TRY(const Block c,
               gemm_rows_at(memory, problem, in[0], in[1], list, static_cast<std::int64_t>(rows.size())));
  return memory.download<double>(c.address, c.elements);
}

namespace {

// Products over a batch of query heads of one attention problem; the shapes that both passes need. Scores are
// [heads, length, length]. Head h of the batch uses head h / group of K and V.
struct Products {
  std::int64_t length, dim, group;

  // x[l, d] y[l, d]^T, x of the query heads, y of the K/V heads.
  MatmulParams scores(std::uint64_t x, std::uint64_t y, std::uint64_t to, double alpha) const {
    MatmulParams p{};
    p.a = x, p.b = y, p.c = to, p.alpha = alpha;
    p.m = p.n = length, p.k = dim;
    p.a_batch = length * dim, p.a_row = dim, p.a_column = 1;
    p.b_batch = length * dim, p.b_group = group, p.b_row = 1, p.b_column = dim;
    p.c_batch = length * length, p.c_row = length;
    return p;
  }
  // w[l, l] y[l, d], y of the K/V heads.
  MatmulParams per_query(std::uint64_t w, std::uint64_t y, std::uint64_t to) const {
    MatmulParams p = per_key(w, y, to, 0);
    p.a_batch = length * length, p.a_row = length, p.a_column = 1;
    p.b_batch = length * dim, p.b_group = group;
    p.accumulate = 0;
    return p;
  }
  // w[l, l]^T x[l, d] of the member-th query head of every group, added up per K/V head.
  MatmulParams per_key(std::uint64_t w, std::uint64_t x, std::uint64_t to, std::int64_t member) const {
    MatmulParams p{};
    p.a = w + member * length * length * sizeof(double), p.b = x + member * length * dim * sizeof(std::uint16_t);
    p.c = to, p.alpha = 1, p.accumulate = member > 0;
    p.m = length, p.n = dim, p.k = length;
    p.a_batch = group * length * length, p.a_row = 1, p.a_column = length;
    p.b_batch = group * length * dim, p.b_group = 1, p.b_row = dim, p.b_column = 1;
    p.c_batch = length * dim, p.c_row = dim;
    return p;
  }
};

// K/V heads whose scores fit together.
std::int64_t heads_at_once(const AttentionShape& shape, std::uint64_t score_bytes, int buffers) {
  const std::uint64_t group_bytes = shape.group() * shape.length * shape.length * sizeof(double) * buffers;
  constexpr std::int64_t kMaxBatches = 65535;  // grid.z
  return std::clamp<std::int64_t>(score_bytes / group_bytes, 1,
                                  std::min(shape.batch * shape.kv_heads, kMaxBatches / shape.group()));
}

}  // namespace

Result<std::vector<DeviceWorkbench::Block>> DeviceWorkbench::forward_at(Memory& memory, const AttentionShape& shape,
                                                                        std::uint64_t q, std::uint64_t k,
                                                                        std::uint64_t v) {
  const std::int64_t kv_heads = shape.batch * shape.kv_heads, group = shape.group(), head = shape.length * shape.dim;
  const std::int64_t step = heads_at_once(shape, score_bytes_, 1);
  const Products products{shape.length, shape.dim, group};
  const double scale = 1 / std::sqrt(static_cast<double>(shape.dim));
  PTXBENCH_TRY(const std::uint64_t o, memory.alloc(shape.query_elements() * sizeof(double)));
  PTXBENCH_TRY(const std::uint64_t lse, memory.alloc(shape.rows() * sizeof(double)));
  PTXBENCH_TRY(const std::uint64_t scores, memory.alloc(step * group * shape.length * shape.length * sizeof(double)));
  for (std::int64_t first = 0; first < kv_heads; first += step) {
    const std::int64_t count = std::min(step, kv_heads - first), heads = count * group, query = first * group;
    const std::uint64_t kv_bytes = first * head * sizeof(std::uint16_t), q_bytes = kv_bytes * group;
    PTXBENCH_TRY_STATUS(
        multiply(kernels_.matmul_bf16, products.scores(q + q_bytes, k + kv_bytes, scores, scale), heads));
    PTXBENCH_TRY_STATUS(
        launch(kernels_.softmax, {static_cast<std::uint32_t>(heads * shape.length), 1, 1}, trusted::kRowThreads,
               SoftmaxParams{scores, lse + query * shape.length * sizeof(double), shape.length, shape.causal ? 1 : 0}));
    PTXBENCH_TRY_STATUS(multiply(kernels_.matmul_f64,
                                 products.per_query(scores, v + kv_bytes, o + query * head * sizeof(double)), heads));
  }
  const std::uint64_t queries = shape.query_elements(), rows = shape.rows();
  return std::vector<Block>{{o, queries}, {lse, rows}};
}

Result<std::vector<DeviceWorkbench::Block>> DeviceWorkbench::backward_at(Memory& memory, const AttentionShape& shape,
                                                                         std::span<const std::uint64_t> in) {
  const std::int64_t kv_heads = shape.batch * shape.kv_heads, group = shape.group(), head = shape.length * shape.dim;
  const std::int64_t step = heads_at_once(shape, score_bytes_, 2);
  const Products products{shape.length, shape.dim, group};
  const double scale = 1 / std::sqrt(static_cast<double>(shape.dim));
  PTXBENCH_TRY(const std::uint64_t d_q, memory.alloc(shape.query_elements() * sizeof(double)));
  PTXBENCH_TRY(const std::uint64_t d_k, memory.alloc(shape.key_elements() * sizeof(double)));
  PTXBENCH_TRY(const std::uint64_t d_v, memory.alloc(shape.key_elements() * sizeof(double)));
  const std::uint64_t score_bytes = step * group * shape.length * shape.length * sizeof(double);
  PTXBENCH_TRY(const std::uint64_t p, memory.alloc(score_bytes));
  PTXBENCH_TRY(const std::uint64_t d_s, memory.alloc(score_bytes));
  for (std::int64_t first = 0; first < kv_heads; first += step) {
    const std::int64_t count = std::min(step, kv_heads - first), heads = count * group, query = first * group;
    const std::uint64_t kv = first * head * sizeof(std::uint16_t), qs = kv * group, row = query * shape.length;
    PTXBENCH_TRY_STATUS(multiply(kernels_.matmul_bf16, products.scores(in[0] + qs, in[1] + kv, p, scale), heads));
    PTXBENCH_TRY_STATUS(multiply(kernels_.matmul_bf16, products.scores(in[4] + qs, in[2] + kv, d_s, 1), heads));
    PTXBENCH_TRY_STATUS(launch(kernels_.gradient, {static_cast<std::uint32_t>(heads * shape.length), 1, 1},
                               trusted::kRowThreads,
                               GradientParams{p, d_s, in[3] + qs, in[4] + qs, in[5] + row * sizeof(float), shape.length,
                                              shape.dim, shape.causal ? 1 : 0, scale}));
    PTXBENCH_TRY_STATUS(
        multiply(kernels_.matmul_f64, products.per_query(d_s, in[1] + kv, d_q + query * head * sizeof(double)), heads));
    const std::uint64_t to = first * head * sizeof(double);
    for (std::int64_t member = 0; member < group; ++member) {
      PTXBENCH_TRY_STATUS(multiply(kernels_.matmul_f64, products.per_key(d_s, in[0] + qs, d_k + to, member), count));
      PTXBENCH_TRY_STATUS(multiply(kernels_.matmul_f64, products.per_key(p, in[4] + qs, d_v + to, member), count));
    }
  }
  const std::uint64_t queries = shape.query_elements(), keys = shape.key_elements();
  return std::vector<Block>{{d_q, queries}, {d_k, keys}, {d_v, keys}};
}

Result<std::vector<DeviceWorkbench::Block>> DeviceWorkbench::expected(Memory& memory, const Problem& problem,
                                                                      std::span<const std::uint64_t> in) {
  switch (problem.operation) {
    case schema::Operation::kGemmNt: {
      PTXBENCH_TRY(const Block c, gemm_rows_at(memory, problem, in[0], in[1], 0, problem.m));
      return std::vector<Block>{c};
    }
    case schema::Operation::kAttentionForward: return forward_at(memory, problem.attention, in[0], in[1], in[2]);
    case schema::Operation::kAttentionBackward: return backward_at(memory, problem.attention, in);
  }
  return fail(ErrorKind::kUnsupported, "an operation that the judge has no reference for");
}

Result<std::vector<std::vector<double>>> DeviceWorkbench::reference(const Problem& problem, const InputSet& inputs) {
  Memory memory(queue_);
  PTXBENCH_TRY(const std::vector<std::uint64_t> in, place(memory, inputs));
  PTXBENCH_TRY(const std::vector<Block> blocks, expected(memory, problem, in));
  std::vector<std::vector<double>> values;
  for (const Block& block : blocks) {
    PTXBENCH_TRY(values.emplace_back(), memory.download<double>(block.address, block.elements));
  }
  return values;
}

Result<std::vector<RowRecord>> DeviceWorkbench::records_of(Memory& memory, const OutputShape& shape,
                                                           std::uint64_t output, const Block& expected) {
  const std::int64_t columns = shape.columns(), rows = shape.elements() / columns;
  std::vector<RowRecord> records;
  if (shape.dtype != schema::DType::kFloat32) {
    PTXBENCH_TRY_STATUS(compare_at(memory, output, 0, rows, columns, expected.address, records));
    PTXBENCH_TRY_STATUS(memory.flush());
    return records;
  }
  // One value per row of another output: few enough to be compared here.
  PTXBENCH_TRY(const std::vector<double> values, memory.download<double>(expected.address, expected.elements));
  PTXBENCH_TRY(const std::vector<float> got, memory.download<float>(output, expected.elements));
  const OutputView view(shape.name, shape.dtype, shape.shape, std::as_bytes(std::span(got)), values);
  for (std::int64_t row = 0; row < rows; ++row) records.push_back(record_of(view, row));
  return records;
}

Status DeviceWorkbench::compare_at(Memory& memory, std::uint64_t values, std::uint64_t row_list, std::int64_t rows,
                                   std::int64_t columns, std::uint64_t expected, std::vector<RowRecord>& records) {
  trusted::CompareParams p{};
  p.expected = expected;
  p.values = values, p.rows = row_list;
  PTXBENCH_TRY(p.records, memory.alloc(rows * sizeof(RowRecord)));
  p.columns = columns;
  p.poison = kPoison & 0xffff;
  p.tolerance = kPaperTolerance;
  PTXBENCH_TRY_STATUS(launch(kernels_.compare, {static_cast<std::uint32_t>(rows), 1, 1}, trusted::kRowThreads, p));
  records.resize(rows);
  return memory.read(p.records, std::span(records));
}

Result<std::vector<schema::FamilyFigures>> DeviceWorkbench::compare(const Problem& problem, const RunPlan& plan,
                                                                    const InputSet& inputs,
                                                                    const std::vector<RunOutput>& outputs, int run) {
  Memory memory(queue_);
  PTXBENCH_TRY(const std::vector<std::uint64_t> in, place(memory, inputs));
  std::vector<std::uint64_t> out;
  std::vector<OutputShape> shapes;
  for (const RunOutput& output : outputs) {
    const std::size_t bytes =
        static_cast<std::size_t>(output.elements()) * (output.dtype == schema::DType::kFloat32 ? 4 : 2);
    if (output.bytes.size() != bytes)
      return fail(ErrorKind::kProtocol,
                  fmt::format("output {} has {} bytes, expected {}", output.name, output.bytes.size(), bytes));
    PTXBENCH_TRY(out.emplace_back(), memory.upload(output.bytes));
    shapes.push_back(output);
  }
  return compare_placed(
      problem, plan, [&] { return inputs; }, in, shapes, out, run);
}

Result<std::vector<schema::FamilyFigures>> DeviceWorkbench::compare_placed(
    const Problem& problem, const RunPlan& plan, const std::function<InputSet()>& inputs,
    std::span<const std::uint64_t> input_addresses, const std::vector<OutputShape>& shapes,
    std::span<const std::uint64_t> output_addresses, int run) {
  Memory memory(queue_);
  PTXBENCH_TRY(const std::vector<Block> blocks, expected(memory, problem, input_addresses));
  std::vector<std::vector<RowRecord>> records;
  std::int64_t elements = 0;
  for (std::size_t i = 0; i < shapes.size(); ++i) {
    if (shapes[i].elements() != static_cast<std::int64_t>(blocks[i].elements))
      return fail(ErrorKind::kProtocol, fmt::format("output {} has {} elements, expected {}", shapes[i].name,
                                                    shapes[i].elements(), blocks[i].elements));
    PTXBENCH_TRY(records.emplace_back(), records_of(memory, shapes[i], output_addresses[i], blocks[i]));
    elements += shapes[i].elements();
  }
  const auto figures = [&](std::size_t i, const FamilyPart& part) {
    const RowRanges rows = rows_of(shapes[i], part, problem.units());
    std::vector<RowRecord> chosen;
    for (const auto& [first, last] : rows)
      chosen.insert(chosen.end(), records[i].begin() + first, records[i].begin() + last);
    return add_up(shapes[i], rows, chosen, part.family == Family::kInteger);
  };
  std::optional<InputSet> made;
  std::vector<std::vector<double>> values;  // these two are brought here when the first hint is asked for
  std::vector<std::vector<std::byte>> bytes;
  const auto bring = [&]() -> Status {
    for (std::size_t i = values.size(); i < shapes.size(); ++i) {
      PTXBENCH_TRY(values.emplace_back(), memory.download<double>(blocks[i].address, blocks[i].elements));
      const std::uint64_t size = blocks[i].elements * (shapes[i].dtype == schema::DType::kFloat32 ? 4 : 2);
      PTXBENCH_TRY(bytes.emplace_back(), memory.download<std::byte>(output_addresses[i], size));
    }
    return {};
  };
  const auto hints = [&](const FamilyPart& part, const std::vector<schema::OutputFigures>& part_figures) {
    if (elements > hint_elements_)
      return std::vector<std::string>{
          fmt::format("no pattern was looked for: the outputs have {} elements, hints are made for up to {}", elements,
                      hint_elements_)};
    if (const Status brought = bring(); !brought)
      return std::vector<std::string>{"no pattern was looked for: " + brought.error().message};
    std::vector<OutputView> views;
    for (std::size_t i = 0; i < shapes.size(); ++i)
      views.emplace_back(shapes[i].name, shapes[i].dtype, shapes[i].shape, bytes[i], values[i]);
    if (!made) made = inputs();
    return diagnose(problem, part, *made, views, part_figures);
  };
  return judge_families(problem, plan, run, shapes.size(), figures, hints);
}

Result<ScanCounts> DeviceWorkbench::scan(schema::DType dtype, std::span<const std::byte> output) {
  Memory memory(queue_);
  PTXBENCH_TRY(const std::uint64_t values, memory.upload(output));
  const std::size_t width = dtype == schema::DType::kFloat32 ? 4 : 2;
  std::array<std::uint64_t, 2> counts{};
  PTXBENCH_TRY_STATUS(scan_at(memory, dtype, values, static_cast<std::int64_t>(output.size() / width), counts));
  PTXBENCH_TRY_STATUS(memory.flush());
  return ScanCounts{counts[0], counts[1]};
}

Status DeviceWorkbench::scan_at(Memory& memory, schema::DType dtype, std::uint64_t address, std::int64_t elements,
                                std::array<std::uint64_t, 2>& counts) {
  const bool wide = dtype == schema::DType::kFloat32;
  ScanParams p{};
  p.values = address;
  PTXBENCH_TRY(p.counts, memory.alloc(sizeof counts));
  p.elements = elements;
  p.is_f32 = wide;
  p.poison = kPoison;
  PTXBENCH_TRY_STATUS(trusted_result(queue_.add(wire::FillMemory{p.counts, sizeof counts / 4, 0, 4, 0})));
  constexpr std::uint32_t kThreads = 256, kMostBlocks = 1024;
  PTXBENCH_TRY_STATUS(launch(kernels_.scan, {std::min(kMostBlocks, blocks(p.elements, kThreads)), 1, 1}, kThreads, p));
  return memory.read(p.counts, std::span<std::uint64_t>(counts));
}

}  // namespace ptxbench::judge
