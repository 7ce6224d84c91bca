#include "ptxbench/judge/gpu_evidence.h"

#include <fmt/format.h>

#include <algorithm>

#include "ptxbench/base/symbol.h"
#include "ptxbench/judge/sass_work.h"

namespace ptxbench::judge {
namespace {

using toolchain::SassFunction;
using toolchain::SassInstruction;

const SassInstruction* instruction_at(const SassFunction& function, std::uint32_t offset) {
  const auto it = std::lower_bound(function.instructions.begin(), function.instructions.end(), offset,
                                   [](const SassInstruction& a, std::uint32_t b) { return a.offset < b; });
  return it == function.instructions.end() || it->offset != offset ? nullptr : &*it;
}

wire::FamilyRecord& family_of(std::vector<wire::FamilyRecord>& families, std::string_view name) {
  for (wire::FamilyRecord& family : families)
    if (family.family == name) return family;
  families.emplace_back().family = name;
  return families.back();
}

bool does_matrix_work(std::string_view family) {
  return family == "wgmma" || family == "mma" || family == "tcgen05.mma";
}

Status join_launch(const SassFunction& function, wire::LaunchRecord& launch) {
  launch.families.clear();
  launch.thread_instructions = launch.warp_instructions = 0;
  for (wire::InstructionRecord& record : launch.instructions) {
    const SassInstruction* instruction = instruction_at(function, record.offset);
    if (instruction == nullptr)
      return fail(ErrorKind::kProtocol,
                  fmt::format("kernel {} executed an instruction at offset 0x{:x}, where the artifact's code has none",
                              demangle(launch.kernel), record.offset));
    record.opcode = instruction->opcode;
    launch.thread_instructions += record.thread_instructions;
    launch.warp_instructions += record.warp_instructions;
    const std::string_view family = toolchain::sass_family(instruction->opcode);
    if (family.empty()) continue;
    wire::FamilyRecord& sum = family_of(launch.families, family);
    ++sum.static_count;
    sum.warp_instructions += record.warp_instructions;
    sum.thread_instructions += record.thread_instructions;
    if (!does_matrix_work(family) || record.thread_instructions == 0) continue;
    PTXBENCH_TRY(const std::uint64_t flops, sass_flops(instruction->opcode, record.thread_instructions));
    sum.flops += flops;
  }
  return {};
}

}  // namespace

Status join_disassembly(const std::vector<SassFunction>& listing, std::vector<wire::LaunchRecord>& launches) {
  for (wire::LaunchRecord& launch : launches) {
    const auto function = std::find_if(listing.begin(), listing.end(),
                                       [&](const SassFunction& candidate) { return candidate.name == launch.kernel; });
    if (function == listing.end())
      return fail(ErrorKind::kProtocol,
                  fmt::format("kernel {} is not in the artifact's code", demangle(launch.kernel)));
    if (launch.instructions.empty())
      return fail(ErrorKind::kUnavailable,
                  fmt::format("no instruction of kernel {} was counted", demangle(launch.kernel)));
    PTXBENCH_TRY_STATUS(join_launch(*function, launch));
  }
  return {};
}

}  // namespace ptxbench::judge
