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

const SassFunction* function_named(const std::vector<SassFunction>& listing, std::string_view name) {
  for (const SassFunction& function : listing)
    if (function.name == name) return &function;
  return nullptr;
}

Result<const SassInstruction*> find_instruction(const std::vector<SassFunction>& listing,
                                                const wire::LaunchRecord& launch,
                                                const wire::InstructionRecord& record) {
  const std::string& name = record.function.empty() ? launch.kernel : record.function;
  const SassFunction* function = function_named(listing, name);
  if (function == nullptr)
    return fail(ErrorKind::kProtocol, fmt::format("{} is not in the artifact's code", demangle(name)));
  if (const SassInstruction* instruction = instruction_at(*function, record.offset)) return instruction;
  return fail(ErrorKind::kProtocol,
              fmt::format("{} executed an instruction at offset 0x{:x}, where the artifact's code has none",
                          demangle(name), record.offset));
}

Status join_launch(const std::vector<SassFunction>& listing, wire::LaunchRecord& launch) {
  launch.families.clear();
  launch.thread_instructions = launch.warp_instructions = 0;
  for (wire::InstructionRecord& record : launch.instructions) {
    PTXBENCH_TRY(const SassInstruction* instruction, find_instruction(listing, launch, record));
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
    if (launch.trap)
      return fail(
          ErrorKind::kUnavailable,
          fmt::format("kernel {} failed while its instructions were counted, which it did not do before: {}: {}; "
                      "counted kernels run slower, so this is most likely a race of the kernel",
                      demangle(launch.kernel), launch.trap->kind, launch.trap->message));
    if (launch.instructions.empty())
      return fail(ErrorKind::kUnavailable,
                  fmt::format("no instruction of kernel {} was counted", demangle(launch.kernel)));
    PTXBENCH_TRY_STATUS(join_launch(listing, launch));
  }
  return {};
}

}  // namespace ptxbench::judge
