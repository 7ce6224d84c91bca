// Nsight Compute as the auditor of our instruction counts: how to start a device process under it, its counts as records,
// and the comparison.
#pragma once

#include <cstdint>
#include <filesystem>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "ptxbench/base/result.h"
#include "ptxbench/schema/executed_layer.h"

namespace ptxbench::judge {

// What stands before the argv of the device process. ncu writes its table to `report`. It profiles every kernel of the
// process, replays each several times with its memory restored, and leaves the clocks alone.
std::vector<std::string> audit_prefix(const std::filesystem::path& ncu, const std::filesystem::path& report);

// One launch as ncu counted it.
struct AuditedInstruction {
  std::uint32_t offset = 0;  // bytes from the kernel's start
  std::uint64_t warp_instructions = 0;
  std::uint64_t thread_instructions = 0;  // predicate-true
};
struct AuditedLaunch {
  std::string kernel;                            // mangled
  std::map<std::string, std::uint64_t> opcodes;  // "HGMMA.64x256x16.F32.BF16" -> predicate-true thread instructions
  std::vector<AuditedInstruction> instructions;  // by offset
};

// The launches of a report, in order. kProtocol if there is no table, a column is missing, or a figure cannot be read;
// ncu's own words ("==ERROR== ...": no permission, another profiler) are then in the message.
Result<std::vector<AuditedLaunch>> read_audit_report(std::string_view text);

// Compares our counts of one run with ncu's of the same launches, family by family. Families whose instructions wait in
// loops are left out: how often they try depends on the moment, so two executions of one kernel differ.
schema::Audit compare_audit(const std::vector<schema::InstructionCount>& counted,
                            const std::vector<AuditedLaunch>& audited);

}  // namespace ptxbench::judge
