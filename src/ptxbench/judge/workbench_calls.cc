// DeviceWorkbench's part in timed calls: fresh inputs, and the check of what came out.
#include <algorithm>

#include "ptxbench/judge/trusted/params.h"
#include "ptxbench/judge/workbench.h"
#include "ptxbench/judge/workbench_memory.h"

namespace ptxbench::judge {
namespace {

constexpr std::int64_t kCheckedRows = 64;  // of C

// Of an output with elements that no comparison is needed to condemn.
schema::OutputFigures condemned(const OutputShape& shape, const ScanCounts& counts) {
  schema::OutputFigures figures;
  figures.output = shape.name;
  figures.elements = shape.elements();
  figures.rows = shape.elements() / shape.columns();
  figures.non_finite = static_cast<std::int64_t>(counts.non_finite);
  figures.never_written = static_cast<std::int64_t>(counts.never_written);
  figures.paper_failing = figures.allclose_failing = figures.non_finite;
  figures.strict_measure = "scan of all elements";
  figures.strict_failing = (figures.non_finite + shape.columns() - 1) / shape.columns();  // at least so many rows
  return figures;
}

}  // namespace

bool DeviceWorkbench::can_draw(const Problem& problem) {
  if (problem.operation == schema::Operation::kGemmNt) return problem.k % 8 == 0;
  return problem.operation == schema::Operation::kAttentionForward && problem.attention.dim % 8 == 0;
}

Status DeviceWorkbench::draw_inputs(const Problem& problem, std::span<const std::uint64_t> inputs, std::uint64_t seed,
                                    int run) {
  if (!can_draw(problem))
    return fail(ErrorKind::kUnsupported, "fresh inputs of this task cannot be drawn on a device yet");
  if (normal_table_ == 0) {
    const auto bytes = std::as_bytes(std::span(normal_bf16_table()));
    PTXBENCH_TRY(const wire::AddressReply table, trusted_result(queue_.call(wire::Alloc{bytes.size()})));
    normal_table_ = table.address;
    PTXBENCH_TRY_STATUS(trusted_result(queue_.write(normal_table_, bytes)));
  }
  const bool gemm = problem.operation == schema::Operation::kGemmNt;
  const AttentionShape& shape = problem.attention;
  for (int i = 0; i < static_cast<int>(inputs.size()); ++i) {
    const std::int64_t elements = gemm     ? (i == 0 ? problem.m : problem.n) * problem.k
                                  : i == 0 ? shape.query_elements()
                                           : shape.key_elements();
    const PhiloxStream stream = normal_stream(seed, run, i);
    trusted::NormalParams p{};
    p.out = inputs[i], p.table = normal_table_, p.blocks = elements / 8;
    std::copy(stream.key().begin(), stream.key().end(), p.key);
    std::copy(stream.number().begin(), stream.number().end(), p.stream);
    constexpr std::uint32_t kThreads = 256;
    constexpr std::int64_t kMostBlocks = 2048;
    const auto grid = static_cast<std::uint32_t>(std::min(kMostBlocks, (p.blocks + kThreads - 1) / kThreads));
    PTXBENCH_TRY_STATUS(launch(kernels_.normal, {grid, 1, 1}, kThreads, p));
  }
  return {};
}

Result<DeviceWorkbench::CallCheck> DeviceWorkbench::check_call(const Problem& problem,
                                                               std::span<const std::uint64_t> inputs,
                                                               const std::vector<OutputShape>& shapes,
                                                               std::span<const std::uint64_t> outputs,
                                                               const PhiloxStream& draw) {
  Memory memory(queue_, &kept_);
  std::vector<std::array<std::uint64_t, 2>> counts(shapes.size());
  for (std::size_t i = 0; i < shapes.size(); ++i)
    PTXBENCH_TRY_STATUS(scan_at(memory, shapes[i].dtype, outputs[i], shapes[i].elements(), counts[i]));
  // One batch with the scans: an output that these condemn is rare, and costs a comparison in vain.
  PTXBENCH_TRY(CallCheck check, check_parts(memory, problem, inputs, shapes, outputs, draw));
  for (std::size_t i = 0; i < shapes.size(); ++i)
    if (counts[i][1] > 0) return CallCheck{0, {condemned(shapes[i], {counts[i][0], counts[i][1]})}};  // poison is a NaN
  return check;
}

Result<DeviceWorkbench::CallCheck> DeviceWorkbench::check_parts(Memory& memory, const Problem& problem,
                                                                std::span<const std::uint64_t> inputs,
                                                                const std::vector<OutputShape>& shapes,
                                                                std::span<const std::uint64_t> outputs,
                                                                const PhiloxStream& draw) {
  switch (problem.operation) {
    case schema::Operation::kGemmNt: return check_gemm(memory, problem, inputs, shapes[0], outputs[0], draw);
    case schema::Operation::kAttentionForward: return check_forward(memory, problem, inputs, shapes, outputs, draw);
    case schema::Operation::kAttentionBackward: break;
  }
  return fail(ErrorKind::kUnsupported, "timed calls of attention backward are not checked yet");
}

Result<DeviceWorkbench::CallCheck> DeviceWorkbench::check_gemm(Memory& memory, const Problem& problem,
                                                               std::span<const std::uint64_t> inputs,
                                                               const OutputShape& shape, std::uint64_t output,
                                                               const PhiloxStream& draw) {
  std::vector<std::uint32_t> rows;
  for (std::int64_t i = 0; i < kCheckedRows; ++i)
    rows.push_back(static_cast<std::uint32_t>(draw.below(i, static_cast<std::uint64_t>(problem.m))));
  PTXBENCH_TRY(const std::uint64_t list, memory.upload(std::as_bytes(std::span(rows))));
  PTXBENCH_TRY(const Block expected, gemm_rows_at(memory, problem, inputs[0], inputs[1], list, kCheckedRows));
  std::vector<RowRecord> records;
  PTXBENCH_TRY_STATUS(compare_at(memory, output, list, kCheckedRows, problem.n, expected.address, records));
  PTXBENCH_TRY_STATUS(memory.flush());
  const OutputShape checked{shape.name, shape.dtype, {kCheckedRows, problem.n}};
  return CallCheck{kCheckedRows, {add_up(checked, {{0, kCheckedRows}}, records, false)}};
}

Result<DeviceWorkbench::CallCheck> DeviceWorkbench::check_forward(Memory& memory, const Problem& problem,
                                                                  std::span<const std::uint64_t> inputs,
                                                                  const std::vector<OutputShape>& shapes,
                                                                  std::span<const std::uint64_t> outputs,
                                                                  const PhiloxStream& draw) {
  const AttentionShape& shape = problem.attention;
  const auto unit = static_cast<std::int64_t>(draw.below(0, static_cast<std::uint64_t>(problem.units())));
  const AttentionShape part{1, shape.group(), 1, shape.length, shape.dim, shape.causal};
  const std::uint64_t kv = unit * part.key_elements() * sizeof(std::uint16_t), q = kv * part.group();
  PTXBENCH_TRY(const std::vector<Block> expected,
               forward_at(memory, part, inputs[0] + q, inputs[1] + kv, inputs[2] + kv));
  const std::int64_t rows = part.rows();
  std::vector<RowRecord> records;
  std::vector<double> lse;
  std::vector<float> got;
  if (shapes.size() > 1) {
    lse.resize(rows), got.resize(rows);
    PTXBENCH_TRY_STATUS(memory.read(expected[1].address, std::span(lse)));
    PTXBENCH_TRY_STATUS(memory.read(outputs[1] + unit * rows * sizeof(float), std::span(got)));
  }
  PTXBENCH_TRY_STATUS(compare_at(memory, outputs[0] + q, 0, rows, shape.dim, expected[0].address, records));
  PTXBENCH_TRY_STATUS(memory.flush());
  const OutputShape o{shapes[0].name, shapes[0].dtype, {rows, shape.dim}};
  CallCheck check{rows, {add_up(o, {{0, rows}}, records, false)}};
  if (shapes.size() > 1) {
    const OutputView view(shapes[1].name, shapes[1].dtype, {rows}, std::as_bytes(std::span(got)), lse);
    records.clear();
    for (std::int64_t row = 0; row < rows; ++row) records.push_back(record_of(view, row));
    check.figures.push_back(add_up(view, {{0, rows}}, records, false));
  }
  return check;
}

}  // namespace ptxbench::judge
