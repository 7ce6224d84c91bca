#include "ptxbench/judge/evidence.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <set>

#include "ptxbench/schema/expression.h"
#include "ptxbench/toolchain/sass.h"

namespace ptxbench::judge {
namespace {

using schema::InstructionCount;

InstructionCount& count_of(std::vector<InstructionCount>& counts, const std::string& family) {
  for (InstructionCount& count : counts)
    if (count.family == family) return count;
  counts.emplace_back();
  counts.back().family = family;
  return counts.back();
}

std::vector<InstructionCount> sum_launches(const std::vector<wire::LaunchRecord>& launches) {
  std::vector<InstructionCount> counts;
  for (const wire::LaunchRecord& launch : launches)
    for (const wire::FamilyRecord& record : launch.families) {
      InstructionCount& count = count_of(counts, record.family);
      count.warp_instructions += record.warp_instructions;
      count.thread_instructions += record.thread_instructions;
      count.flops += record.flops;
      *count.bytes += record.bytes;
    }
  return counts;
}

// Every target family stands in the list, executed or not; static counts are filled in where they are known.
void complete(std::vector<InstructionCount>& counts, const std::vector<std::string>& targets,
              const StaticCounts& statics) {
  for (const std::string& family : targets) count_of(counts, family).target = true;
  const auto look_up = [](const std::map<std::string, std::int64_t>& map, const std::string& family) {
    const auto it = map.find(family);
    return it == map.end() ? std::int64_t{0} : it->second;
  };
  for (InstructionCount& count : counts) {
    if (!statics.sass.empty()) count.static_sass = look_up(statics.sass, count.family);
    if (!statics.ptx.empty()) count.static_ptx = look_up(statics.ptx, count.family);
  }
  std::stable_sort(counts.begin(), counts.end(),
                   [](const InstructionCount& a, const InstructionCount& b) { return a.target > b.target; });
}

std::uint64_t target_flops(const std::vector<InstructionCount>& counts) {
  std::uint64_t sum = 0;
  for (const InstructionCount& count : counts) sum += count.target ? count.flops : 0;
  return sum;
}

std::uint64_t target_bytes(const std::vector<InstructionCount>& counts) {
  std::uint64_t sum = 0;
  for (const InstructionCount& count : counts) sum += count.target ? count.bytes.value_or(0) : 0;
  return sum;
}

double share(std::uint64_t part, std::uint64_t whole) {
  return whole == 0 ? 0 : static_cast<double>(part) / static_cast<double>(whole);
}

std::string percent(double value) {
  return value < 0.01 && value > 0 ? fmt::format("{:.2g} %", 100 * value) : fmt::format("{:.1f} %", 100 * value);
}

// A family that never executed: where it is, if it is anywhere.
std::string absence(const InstructionCount& count) {
  const std::int64_t in_code = count.static_sass ? *count.static_sass : count.static_ptx.value_or(0);
  if (in_code > 0)
    return fmt::format(
        "{} stands {} time{} in the code, but no thread executed it: its kernel is never launched, or its "
        "predicate or branch is never true",
        count.family, in_code, in_code == 1 ? "" : "s");
  return fmt::format("{} was never executed", count.family);
}

// Who did the work instead: other families with FLOPs.
std::string others(const std::vector<InstructionCount>& counts, std::uint64_t required) {
  std::string text;
  for (const InstructionCount& count : counts)
    if (!count.target && count.flops > 0)
      text += fmt::format("; {} did {} of it", count.family, percent(share(count.flops, required)));
  return text;
}

std::string explain(const std::vector<InstructionCount>& counts, const std::vector<std::string>& targets,
                    std::uint64_t required, bool enough_work, schema::RuleSet rules) {
  std::vector<std::string> absent;
  for (const InstructionCount& count : counts)
    if (count.target && count.thread_instructions == 0) absent.push_back(absence(count));
  const std::string work = fmt::format("target matrix instructions did {} of the {:.4g} GFLOP that the task needs{}",
                                       percent(share(target_flops(counts), required)),
                                       static_cast<double>(required) * 1e-9, others(counts, required));
  if (rules == schema::RuleSet::kPaper)
    return fmt::format("no instruction of {} was executed: {}", fmt::join(targets, ", "), fmt::join(absent, "; "));
  std::string text = fmt::format("{}", fmt::join(absent, "; "));
  if (!enough_work)
    text += (text.empty() ? "" : "; ") + work + fmt::format(" (at least {:.0f} % is asked for)", 100 * kRequiredShare);
  return text;
}

schema::Dim3Record dim3(const wire::Dim3& d) { return {d.x, d.y, d.z}; }

schema::LaunchEvidence launch_evidence(const wire::LaunchRecord& launch, int run,
                                       const std::vector<std::string>& targets) {
  schema::LaunchEvidence evidence{run,
                                  launch.kernel,
                                  dim3(launch.geometry.grid),
                                  dim3(launch.geometry.block),
                                  dim3(launch.geometry.cluster),
                                  launch.geometry.dynamic_shared,
                                  launch.thread_instructions,
                                  {}};
  for (const wire::FamilyRecord& record : launch.families) {
    InstructionCount count;
    count.family = record.family;
    count.target = std::find(targets.begin(), targets.end(), record.family) != targets.end();
    count.warp_instructions = record.warp_instructions;
    count.thread_instructions = record.thread_instructions;
    count.flops = record.flops;
    count.bytes = record.bytes;
    evidence.families.push_back(std::move(count));
  }
  return evidence;
}

// The opcodes of the families, over all launches of a run, in the order of the code.
std::vector<schema::OpcodeCount> sum_opcodes(const std::vector<wire::LaunchRecord>& launches) {
  std::vector<schema::OpcodeCount> counts;
  std::set<std::pair<std::string, std::uint32_t>> seen;  // several launches of one kernel execute the same places
  for (const wire::LaunchRecord& launch : launches)
    for (const wire::InstructionRecord& record : launch.instructions) {
      const std::string family(toolchain::sass_family(record.opcode));
      if (family.empty() || record.warp_instructions == 0) continue;
      auto it = std::find_if(counts.begin(), counts.end(),
                             [&](const schema::OpcodeCount& count) { return count.opcode == record.opcode; });
      if (it == counts.end()) it = counts.insert(counts.end(), {family, record.opcode, 0, 0, 0});
      it->places += seen.emplace(record.function.empty() ? launch.kernel : record.function, record.offset).second;
      it->warp_instructions += record.warp_instructions;
      it->thread_instructions += record.thread_instructions;
    }
  return counts;
}

void forget_bytes(schema::ExecutedLayer& layer) {
  for (InstructionCount& count : layer.families) count.bytes.reset();
  for (schema::LaunchEvidence& launch : layer.launches)
    for (InstructionCount& count : launch.families) count.bytes.reset();
}

std::vector<std::string> limits_of_the_evidence(std::size_t dropped) {
  std::vector<std::string> limits = {
      "that the outputs depend on the target instructions: their work is counted, what a kernel does with it is not",
      "that bulk copies moved the operands: TMA must execute; its bytes are given as a share, without a limit",
  };
  if (dropped > 0) limits.push_back(fmt::format("{} launches are counted in the sums but not listed", dropped));
  return limits;
}

}  // namespace

std::uint64_t compulsory_bytes(const schema::Definition& definition, const schema::AxisValues& axes) {
  std::uint64_t bits = 0;
  for (const auto* group : {&definition.inputs, &definition.outputs})
    for (const schema::TensorSpec& tensor : *group) {
      std::uint64_t elements = 1;
      for (const std::int64_t extent : schema::extents(tensor, axes)) elements *= static_cast<std::uint64_t>(extent);
      bits += elements * static_cast<std::uint64_t>(schema::bit_width(tensor.dtype));
    }
  return bits / 8;
}

Result<schema::ExecutedLayer> join_evidence(const schema::Definition& definition, const schema::AxisValues& axes,
                                            const std::string& target,
                                            const std::vector<std::vector<wire::LaunchRecord>>& launches,
                                            const StaticCounts& statics, schema::RuleSet rules,
                                            const CountSource& source) {
  const schema::TaskExtension& extension = *definition.extension;
  const auto named = extension.target_families.find(target);
  if (named == extension.target_families.end())
    return fail(ErrorKind::kInvalidInput,
                fmt::format("{}: names no instruction families for target '{}'", definition.name, target));
  PTXBENCH_TRY(const std::int64_t required, schema::evaluate_expression(extension.required_flops, axes));
  schema::ExecutedLayer layer;
  layer.source = source.name;
  layer.bytes_note = source.bytes_note;
  layer.required_flops = static_cast<std::uint64_t>(std::max<std::int64_t>(required, 0));
  layer.flops_formula = extension.required_flops;
  layer.compulsory_bytes = compulsory_bytes(definition, axes);
  layer.paper_passed = layer.strict_passed = !launches.empty();
  std::size_t dropped = 0;
  for (std::size_t run = 0; run < launches.size(); ++run) {
    std::vector<InstructionCount> counts = sum_launches(launches[run]);
    complete(counts, named->second, statics);
    bool any = false, all = true;
    for (const InstructionCount& count : counts)
      if (count.target) any |= count.thread_instructions > 0, all &= count.thread_instructions > 0;
    const double done = share(target_flops(counts), layer.required_flops);
    const bool enough = done >= kRequiredShare, strict = enough && all;
    const bool good = rules == schema::RuleSet::kStrict ? strict : any;
    if (!good && layer.message.empty()) {
      layer.message = explain(counts, named->second, layer.required_flops, enough, rules);
      if (launches[run].empty()) layer.message = "no kernel was launched";
    }
    layer.paper_passed &= any;
    layer.strict_passed &= strict;
    if (run == 0 || done < layer.target_flops_share) {
      layer.target_flops_share = done;
      if (source.bytes_note.empty()) layer.target_bytes_share = share(target_bytes(counts), layer.compulsory_bytes);
      layer.families = counts;
      layer.opcodes = sum_opcodes(launches[run]);
    }
    for (std::size_t i = 0; i < launches[run].size(); ++i) {
      if (i < kLaunchesKept)
        layer.launches.push_back(launch_evidence(launches[run][i], static_cast<int>(run), named->second));
      dropped += i >= kLaunchesKept;
    }
  }
  if (launches.empty()) layer.message = "no run was counted";
  if (!source.bytes_note.empty()) forget_bytes(layer);
  const bool passed = rules == schema::RuleSet::kStrict ? layer.strict_passed : layer.paper_passed;
  layer.state = passed ? schema::LayerState::kPassed : schema::LayerState::kFailed;
  layer.not_checked = limits_of_the_evidence(dropped);
  return layer;
}

}  // namespace ptxbench::judge
