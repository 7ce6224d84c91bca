#include "ptxbench/judge/device_comparison.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <cstring>
#include <span>
#include <string_view>

#include "ptxbench/judge/bf16.h"

namespace ptxbench::judge {
namespace {

constexpr std::array<std::string_view, 5> kCompared = {"wgmma", "tma", "mma", "ldmatrix", "tcgen05.mma"};

double value_at(std::span<const std::byte> bytes, schema::DType dtype, std::size_t i) {
  if (dtype == schema::DType::kFloat32) {
    float value = 0;
    std::memcpy(&value, bytes.data() + 4 * i, 4);
    return value;
  }
  std::uint16_t bits = 0;
  std::memcpy(&bits, bytes.data() + 2 * i, 2);
  return bf16_value(bits);
}

schema::OutputDifference difference(const schema::TensorSpec& spec, std::size_t index, const KeptOutputs& a,
                                    const KeptOutputs& b) {
  schema::OutputDifference found;
  found.output = spec.name;
  found.limit = spec.dtype == schema::DType::kFloat32 ? kComparedF32 : kComparedBf16;
  double error = 0, norm = 0;
  for (std::size_t run = 0; run < std::min(a.size(), b.size()); ++run) {
    const auto &left = a[run][index], &right = b[run][index];
    const std::size_t elements = std::min(left.size(), right.size()) / (spec.dtype == schema::DType::kFloat32 ? 4 : 2);
    for (std::size_t i = 0; i < elements; ++i) {
      const double x = value_at(left, spec.dtype, i), y = value_at(right, spec.dtype, i);
      if (std::isnan(x) && std::isnan(y)) continue;
      error += (x - y) * (x - y);
      norm += x * x;
      // Not std::max: a NaN must stay.
      const double apart = std::fabs(x - y);
      if (std::isnan(apart) || apart > found.max_abs_error) found.max_abs_error = apart;
    }
  }
  found.rel_l2 = error == 0 ? 0 : std::sqrt(error / norm);
  return found;
}

const schema::InstructionCount* family_of(const schema::Verdict& verdict, std::string_view family) {
  for (const schema::InstructionCount& count : verdict->executed.families)
    if (count.family == family) return &count;
  return nullptr;
}

void compare_counts(const schema::Verdict& gpu, const schema::Verdict& emu, schema::DeviceComparison& comparison) {
  for (const std::string_view family : kCompared) {
    const auto *here = family_of(gpu, family), *there = family_of(emu, family);
    if (here == nullptr && there == nullptr) continue;
    const schema::InstructionCount none;
    const schema::InstructionCount &a = here != nullptr ? *here : none, &b = there != nullptr ? *there : none;
    const std::string name(family);
    comparison.counts.push_back({name, a.thread_instructions, b.thread_instructions, "thread instructions"});
    if (a.flops != 0 || b.flops != 0) comparison.counts.push_back({name, a.flops, b.flops, "FLOPs"});
  }
}

// The first disagreement, in words.
std::string disagreement(const schema::Verdict& gpu, const schema::DeviceComparison& comparison) {
  if (gpu.status() != comparison.other_status)
    return fmt::format("{} here, {} on {}", to_string(gpu.status()), to_string(comparison.other_status),
                       comparison.other);
  for (const schema::OutputDifference& output : comparison.outputs)
    if (!(output.rel_l2 <= output.limit))
      return fmt::format("{} differs by {:.3g} (relative L2, limit {:.3g})", output.output, output.rel_l2,
                         output.limit);
  for (const schema::CountDifference& count : comparison.counts)
    if (count.here != count.there)
      return fmt::format("{} {} of {} here, {} on {}", count.here, count.what, count.family, count.there,
                         comparison.other);
  return {};
}

}  // namespace

Result<schema::Verdict> add_comparison(const schema::Verdict& gpu, const KeptOutputs& gpu_outputs,
                                       const schema::Verdict& emu, const KeptOutputs& emu_outputs,
                                       const schema::Definition& definition) {
  schema::DeviceComparison comparison;
  comparison.other = emu->device;
  comparison.other_status = emu.status();
  for (std::size_t i = 0; i < definition.outputs.size(); ++i)
    comparison.outputs.push_back(difference(definition.outputs[i], i, gpu_outputs, emu_outputs));
  // Counts exist where both came that far.
  const bool counted = !gpu->executed.families.empty() && !emu->executed.families.empty();
  if (counted) compare_counts(gpu, emu, comparison);
  comparison.message = disagreement(gpu, comparison);
  comparison.agrees = comparison.message.empty();
  schema::VerdictFields fields = gpu.fields();
  fields.comparison = std::move(comparison);
  return schema::Verdict::create(std::move(fields));
}

}  // namespace ptxbench::judge
