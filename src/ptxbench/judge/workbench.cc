#include "ptxbench/judge/workbench.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstring>

#include "ptxbench/judge/compare.h"

namespace ptxbench::judge {

Result<std::vector<std::vector<double>>> CpuWorkbench::reference(const Problem& problem, const InputSet& inputs) {
  return make_reference(problem, inputs, threads_);
}

Result<std::vector<schema::FamilyFigures>> CpuWorkbench::compare(const Problem& problem, const RunPlan& plan,
                                                                 const InputSet& inputs,
                                                                 const std::vector<RunOutput>& outputs, int run) {
  const std::vector<std::vector<double>> expected = make_reference(problem, inputs, threads_);
  std::vector<OutputView> views;
  for (std::size_t i = 0; i < outputs.size(); ++i)
    views.emplace_back(outputs[i].name, outputs[i].dtype, outputs[i].shape, outputs[i].bytes, expected[i]);
  return compare_run(problem, plan, inputs, views, run);
}

Result<std::vector<double>> CpuWorkbench::gemm_rows(const Problem& problem, const InputSet& inputs,
                                                    std::span<const std::uint32_t> rows) {
  if (problem.operation != schema::Operation::kGemmNt)
    return fail(ErrorKind::kUnsupported, "single rows are recomputed for GEMM only");
  const std::span<const std::uint16_t> a = inputs.tensors[0].bf16();
  std::vector<std::uint16_t> gathered;
  for (const std::uint32_t row : rows) {
    if (row >= problem.m)
      return fail(ErrorKind::kInvalidInput, fmt::format("row {} of a matrix with {} rows", row, problem.m));
    const auto line = a.subspan(row * problem.k, problem.k);
    gathered.insert(gathered.end(), line.begin(), line.end());
  }
  std::vector<double> c(rows.size() * problem.n);
  gemm_nt_reference(static_cast<std::int64_t>(rows.size()), problem.n, problem.k, gathered, inputs.tensors[1].bf16(), c,
                    threads_);
  return c;
}

Result<ScanCounts> CpuWorkbench::scan(schema::DType dtype, std::span<const std::byte> output) {
  const bool wide = dtype == schema::DType::kFloat32;
  const std::size_t size = wide ? 4 : 2;
  const std::uint32_t exponent = wide ? 0x7f800000 : 0x7f80, poison = wide ? kPoison : kPoison & 0xffff;
  ScanCounts counts;
  for (std::size_t at = 0; at + size <= output.size(); at += size) {
    std::uint32_t bits = 0;
    std::memcpy(&bits, output.data() + at, size);
    counts.never_written += bits == poison;
    counts.non_finite += (bits & exponent) == exponent;
  }
  return counts;
}

Result<std::filesystem::path> locate_trusted_kernels() {
  namespace fs = std::filesystem;
  std::error_code error;
  const fs::path self = fs::read_symlink("/proc/self/exe", error);
  fs::path file = self.parent_path().parent_path() / "lib/ptxbench/trusted.fatbin";
  if (!fs::exists(file, error))
    return fail(ErrorKind::kNotFound, fmt::format("'{}' does not exist", file.string()),
                "build with nvcc in reach (scripts/setup fetches one), or install the archive as a whole");
  return file;
}

}  // namespace ptxbench::judge
