// DeviceWorkbench's part in timed calls: the check of what came out.
#include "ptxbench/judge/workbench_calls.h"

#include <algorithm>

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

DeviceWorkbench::CallCheck DeviceWorkbench::PendingCheck::finish() const {
  for (std::size_t i = 0; i < shapes.size(); ++i)
    if (counts[i][1] > 0) return {0, {condemned(shapes[i], {counts[i][0], counts[i][1]})}};  // poison is a NaN
  CallCheck check{static_cast<std::int64_t>(parts.front().shape.elements() / parts.front().shape.columns()), {}};
  for (const Part& part : parts) {
    const std::int64_t rows = part.shape.elements() / part.shape.columns();
    std::vector<RowRecord> records = part.records;
    if (part.shape.dtype == schema::DType::kFloat32) {
      const OutputView view(part.shape.name, part.shape.dtype, part.shape.shape, std::as_bytes(std::span(part.got)),
                            part.expected);
      for (std::int64_t row = 0; row < rows; ++row) records.push_back(record_of(view, row));
    }
    check.figures.push_back(add_up(part.shape, {{0, rows}}, records, false));
  }
  return check;
}

Result<std::unique_ptr<DeviceWorkbench::PendingCheck>> DeviceWorkbench::check_call(
    const Problem& problem, std::span<const std::uint64_t> inputs, const std::vector<OutputShape>& shapes,
    std::span<const std::uint64_t> outputs, const PhiloxStream& draw) {
  auto check = std::make_unique<PendingCheck>(queue_, &kept_, shapes);
  for (std::size_t i = 0; i < shapes.size(); ++i)
    PTXBENCH_TRY_STATUS(scan_at(check->memory, shapes[i].dtype, outputs[i], shapes[i].elements(), check->counts[i]));
  // One batch with the scans: an output that these condemn is rare, and costs a comparison in vain.
  if (problem.operation == schema::Operation::kGemmNt)
    PTXBENCH_TRY_STATUS(check_gemm(*check, problem, inputs, outputs[0], draw));
  else
    PTXBENCH_TRY_STATUS(check_attention(*check, problem, inputs, outputs, draw));
  return check;
}

Status DeviceWorkbench::check_gemm(PendingCheck& check, const Problem& problem, std::span<const std::uint64_t> inputs,
                                   std::uint64_t output, const PhiloxStream& draw) {
  std::vector<std::uint32_t> rows;
  for (std::int64_t i = 0; i < kCheckedRows; ++i)
    rows.push_back(static_cast<std::uint32_t>(draw.below(i, static_cast<std::uint64_t>(problem.m))));
  PTXBENCH_TRY(const std::uint64_t list, check.memory.upload(std::as_bytes(std::span(rows))));
  PTXBENCH_TRY(const Block expected, gemm_rows_at(check.memory, problem, inputs[0], inputs[1], list, kCheckedRows));
  PendingCheck::Part& part = check.add(0, {kCheckedRows, problem.n});
  return compare_at(check.memory, output, list, kCheckedRows, problem.n, expected.address, part.records);
}

// One K/V head and its query heads, as a problem of its own.
Status DeviceWorkbench::check_attention(PendingCheck& check, const Problem& problem,
                                        std::span<const std::uint64_t> inputs, std::span<const std::uint64_t> outputs,
                                        const PhiloxStream& draw) {
  const AttentionShape& shape = problem.attention;
  const bool backward = problem.operation == schema::Operation::kAttentionBackward;
  const std::uint64_t unit = draw.below(0, static_cast<std::uint64_t>(problem.units()));
  const AttentionShape part{1, shape.group(), 1, shape.length, shape.dim, shape.causal};
  const std::uint64_t kv = unit * part.key_elements() * sizeof(std::uint16_t), q = kv * part.group(),
                      rows = unit * part.rows() * sizeof(float);
  std::vector<Block> expected;
  if (backward) {
    const std::uint64_t in[] = {inputs[0] + q, inputs[1] + kv, inputs[2] + kv,
                                inputs[3] + q, inputs[4] + q,  inputs[5] + rows};
    PTXBENCH_TRY(expected, backward_at(check.memory, part, in));
  } else {
    PTXBENCH_TRY(expected, forward_at(check.memory, part, inputs[0] + q, inputs[1] + kv, inputs[2] + kv));
  }
  for (std::size_t i = 0; i < outputs.size(); ++i) {
    const bool lse = check.shapes[i].dtype == schema::DType::kFloat32;
    const bool of_keys = backward && i > 0;
    PendingCheck::Part& to =
        lse ? check.add(i, {part.rows()}) : check.add(i, {of_keys ? part.length : part.rows(), part.dim});
    if (lse) {
      to.expected.resize(expected[i].elements), to.got.resize(expected[i].elements);
      PTXBENCH_TRY_STATUS(check.memory.read(expected[i].address, std::span(to.expected)));
      PTXBENCH_TRY_STATUS(check.memory.read(outputs[i] + rows, std::span(to.got)));
      continue;
    }
    PTXBENCH_TRY_STATUS(compare_at(check.memory, outputs[i] + (of_keys ? kv : q), 0, to.shape.shape[0], part.dim,
                                   expected[i].address, to.records));
  }
  return {};
}

}  // namespace ptxbench::judge
