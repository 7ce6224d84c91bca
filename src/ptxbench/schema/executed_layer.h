// The second layer of a verdict: which instructions ran, and how much of the task's work they did.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "ptxbench/schema/record_basics.h"

namespace ptxbench::schema {

struct InstructionCount {
  std::string family;                       // "wgmma", "tma", "tcgen05", "mma", ... (isa's names)
  bool target = false;                      // one of the families that the task asks for on this target
  std::optional<std::int64_t> static_sass;  // in the artifact's SASS; none when it could not be read
  std::optional<std::int64_t> static_ptx;
  std::uint64_t warp_instructions = 0;
  std::uint64_t thread_instructions = 0;  // predicate-true
  std::uint64_t flops = 0;                // 2 M N K per matrix instruction
  // Moved by bulk copies. None: the device counts instructions and not bytes, and the launch's tensor maps do not all
  // have one box size; ExecutedLayer::bytes_note says so.
  std::optional<std::uint64_t> bytes = 0;
};

// One SASS opcode of a family, over all launches of the deciding run. GPU only: the emulator executes PTX.
struct OpcodeCount {
  std::string family, opcode;  // "wgmma", "HGMMA.64x256x16.F32.BF16"
  std::int64_t places = 0;     // instructions in the code that executed
  std::uint64_t warp_instructions = 0;
  std::uint64_t thread_instructions = 0;  // predicate-true
};

struct LaunchEvidence {
  int run = 0;
  std::string kernel;
  Dim3Record grid, block, cluster;
  std::uint32_t shared_bytes = 0;
  std::uint64_t thread_instructions = 0;   // of every kind, predicate-true
  std::vector<InstructionCount> families;  // static counts unset here
};

// The same launches counted by a second tool.
struct AuditRow {
  std::string family;
  std::uint64_t counted = 0, audited = 0;  // predicate-true thread instructions
};
struct Audit {
  std::string tool, version;  // "ncu", "2025.3.1"
  bool agrees = false;        // every row is equal
  std::string message;        // why the audit failed or disagrees; empty when it agrees
  double seconds = 0;
  std::vector<AuditRow> rows;
};

struct ExecutedLayer {
  LayerState state = LayerState::kNotReached;
  std::string message;                 // which family, how much, what is missing
  std::string source;                  // who counted: "emulator", "CUPTI SASS metrics"
  std::uint64_t required_flops = 0;    // what the task needs, per run
  std::string flops_formula;           // e.g. "2*M*N*K"
  std::uint64_t compulsory_bytes = 0;  // inputs read once and outputs written once, per run
  // The run with the least target work decides; families and opcodes hold that run's counts summed over its launches.
  double target_flops_share = 0;             // target MMA FLOPs / required_flops
  std::optional<double> target_bytes_share;  // target bulk-copy bytes / compulsory_bytes; none: bytes are not known
  std::string bytes_note;                    // why they are not known
  std::vector<InstructionCount> families;
  std::vector<OpcodeCount> opcodes;
  std::vector<LaunchEvidence> launches;
  std::optional<Audit> audit;
  bool paper_passed = false;
  bool strict_passed = false;
  std::vector<std::string> not_checked;   // what this evidence does not prove
  std::vector<std::string> void_reasons;  // kVoid only
};

}  // namespace ptxbench::schema
