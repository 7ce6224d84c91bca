// ptxbench.verdict.v1: what the judge found out about one candidate on one workload, in typed fields. Nothing in it
// was parsed from what a candidate printed. Percentages and texts for people are made elsewhere from these fields.
//
// A record cannot contradict itself: Verdict::create() checks the fields against each other (rules at the function),
// and reading a record from JSON goes through the same door.
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "ptxbench/base/result.h"

namespace ptxbench::schema {

inline constexpr std::string_view kVerdictSchema = "ptxbench.verdict.v1";

// The closed set. Order of the checks: compile, policy, run, shape and dtype, numbers, instructions, time.
enum class VerdictStatus {
  kPassed,
  kCompileError,
  kPolicyViolation,
  kRuntimeError,
  kTimeout,
  kIncorrectShape,
  kIncorrectDtype,
  kIncorrectNumerical,
  kTargetNotExecuted,
  kMeasurementVoid,
  kInfraError,
};
std::string_view to_string(VerdictStatus status);  // "PASSED", "COMPILE_ERROR", ...
std::optional<VerdictStatus> verdict_status_from(std::string_view text);

// 0 passed in every measured layer, 1 the candidate failed, 3 infrastructure (INFRA_ERROR, MEASUREMENT_VOID).
// 2 (bad usage or input) never comes from a verdict.
int exit_code(VerdictStatus status);

enum class LayerState { kPassed, kFailed, kNotMeasured, kNotReached };
std::string_view to_string(LayerState state);  // "passed", "failed", "not_measured", "not_reached"
std::optional<LayerState> layer_state_from(std::string_view text);

enum class RuleSet { kStrict, kPaper };
std::string_view to_string(RuleSet rules);  // "strict", "paper"
std::optional<RuleSet> rule_set_from(std::string_view text);

// ---- Layer 0: compile ----------------------------------------------------------------------------------------------

struct KernelUsage {
  std::string name;  // demangled where possible
  int registers = 0;
  int spill_store_bytes = 0;
  int spill_load_bytes = 0;
  int stack_bytes = 0;
  std::int64_t static_shared_bytes = 0;
};

struct CompilerMessage {
  std::string severity;  // "error", "warning", "note"
  std::string file;      // the candidate's own file name
  int line = 0;          // from 1; 0 unknown
  int column = 0;
  std::string text;
};

struct PolicyFinding {
  std::string rule;   // stable name, e.g. "forbidden-library"
  std::string where;  // "gemm.cu:12", a symbol, a section
  std::string what;   // in words: what was found, and what to do instead
};

struct CompileLayer {
  LayerState state = LayerState::kNotReached;
  std::string message;  // empty when passed; else why
  double seconds = 0;   // wall time of the build; 0 when taken from the cache
  bool cached = false;
  std::vector<KernelUsage> kernels;
  std::vector<CompilerMessage> diagnostics;
  std::string log;  // the compiler's own text, capped
  std::vector<PolicyFinding> policy;
};

// ---- Layer 1: correct ----------------------------------------------------------------------------------------------

// The worst element of an output: position in the tensor, what the reference says, what came.
struct WorstElement {
  std::vector<std::int64_t> index;
  double expected = 0;
  double got = 0;
};

// Error figures of one output on the part of a run that belongs to one input family. Non-finite values are legal here
// (in JSON they are the strings "nan", "inf", "-inf").
struct OutputFigures {
  std::string output;         // tensor name
  std::int64_t elements = 0;  // compared
  std::int64_t rows = 0;      // last-axis rows compared; LSE-like outputs have one row per element
  double max_abs_error = 0;
  double max_rel_error = 0;        // abs / (|ref| + 1e-8)
  double rel_l2 = 0;               // ||out - ref|| / ||ref|| over all compared elements
  std::int64_t non_finite = 0;     // elements that are NaN or infinite, poison included
  std::int64_t never_written = 0;  // elements that still hold the poison pattern
  std::optional<std::vector<std::int64_t>> first_never_written;

  std::int64_t paper_failing = 0;     // abs > 1e-2 and rel > 1e-2, or not finite
  std::int64_t allclose_failing = 0;  // abs > 1e-2 + 1e-2 |ref| (torch.allclose), or not finite; for information
  std::string strict_measure;         // "row relative L2", "absolute", "exact bits"
  double strict_limit = 0;            // of that measure
  double strict_worst = 0;
  std::int64_t strict_failing = 0;  // rows (or elements for "absolute" and "exact bits") over the limit

  std::optional<WorstElement> worst;
};

// One input family on one run of the candidate.
struct FamilyFigures {
  std::string family;          // "normal", "integer", "wide", ...
  std::string what;            // the family in words
  int run = 0;                 // index into CorrectLayer::runs
  std::string part;            // which part of the tensors, e.g. "all", "head 2", "rows 16-31"
  bool paper_applies = false;  // the paper's rule counts on its own input distribution only
  bool paper_passed = false;
  bool strict_passed = false;
  std::vector<OutputFigures> outputs;
  std::vector<std::string> hints;  // patterns seen in the errors, for the kernel's author
};

struct RunRecord {
  std::string schedule;  // "latest", "earliest": when asynchronous operations take effect
  double seconds = 0;    // wall time of the candidate's run
  int launches = 0;
};

struct Dim3Record {
  std::uint32_t x = 1, y = 1, z = 1;
  bool operator==(const Dim3Record&) const = default;
};

// A rule that the kernel broke while it ran, in words.
struct TrapRecord {
  std::string kind;     // "out-of-bounds", "deadlock", ...
  std::string rule;     // the rule in words
  std::string message;  // what happened: found and expected
  std::string kernel;
  std::string instruction;  // PTX text
  std::string source_file;  // may be empty
  int source_line = 0;
  int ptx_line = 0;
  Dim3Record cta;
  int warp = 0;
  int lane = 0;
  std::optional<std::uint64_t> address;
};

// How a run ended when it did not end well.
struct RunFailure {
  std::string what;  // "trap", "returned an error", "exited", "signal", "timeout", "api refused", "protocol"
  std::string message;
  std::optional<TrapRecord> trap;
  std::vector<std::string> refusals;  // API calls that were refused by name
};

struct CorrectLayer {
  LayerState state = LayerState::kNotReached;
  std::string message;  // the first reason of failure, in words
  std::vector<RunRecord> runs;
  std::vector<FamilyFigures> families;
  std::optional<RunFailure> failure;
  bool paper_passed = false;  // both are always computed; Verdict::rules says which one decides
  bool strict_passed = false;
  std::string candidate_output;  // what the candidate printed, capped; never parsed
};

// ---- Layer 2: executed ---------------------------------------------------------------------------------------------

struct InstructionCount {
  std::string family;                       // "wgmma", "tma", "tcgen05", "mma", ... (isa's names)
  bool target = false;                      // one of the families that the task asks for on this target
  std::optional<std::int64_t> static_sass;  // in the artifact's SASS; none when it could not be read
  std::optional<std::int64_t> static_ptx;
  std::uint64_t warp_instructions = 0;
  std::uint64_t thread_instructions = 0;  // predicate-true
  std::uint64_t flops = 0;                // 2 M N K per matrix instruction
  std::uint64_t bytes = 0;                // moved by bulk copies
};

struct LaunchEvidence {
  int run = 0;
  std::string kernel;
  Dim3Record grid, block, cluster;
  std::uint32_t shared_bytes = 0;
  std::uint64_t thread_instructions = 0;   // of every kind, predicate-true
  std::vector<InstructionCount> families;  // static counts unset here
};

struct ExecutedLayer {
  LayerState state = LayerState::kNotReached;
  std::string message;                 // which family, how much, what is missing
  std::uint64_t required_flops = 0;    // what the task needs, per run
  std::string flops_formula;           // e.g. "2*M*N*K"
  std::uint64_t compulsory_bytes = 0;  // inputs read once and outputs written once, per run
  // The run with the least target work decides; families holds that run's counts summed over its launches.
  double target_flops_share = 0;  // target MMA FLOPs / required_flops
  double target_bytes_share = 0;  // target bulk-copy bytes / compulsory_bytes
  std::vector<InstructionCount> families;
  std::vector<LaunchEvidence> launches;
  bool paper_passed = false;
  bool strict_passed = false;
  std::vector<std::string> not_checked;  // what this evidence does not prove
};

// ---- Layer 3: fast -------------------------------------------------------------------------------------------------

struct FastLayer {
  LayerState state = LayerState::kNotReached;
  std::string message;  // "not measured: no GPU"
  std::optional<double> candidate_ms, baseline_ms, speedup;
};

struct ToolVersion {
  std::string name, version;
};

// ---- The record ----------------------------------------------------------------------------------------------------

struct VerdictFields {
  VerdictStatus status = VerdictStatus::kInfraError;
  std::string message;  // one sentence: why this status; empty when PASSED

  std::string task;  // definition name
  std::string workload_uuid;
  std::vector<std::pair<std::string, std::int64_t>> axes;  // all axes with their values, in definition order
  bool emulator_sized = false;  // the workload (or its definition) is the small sibling of a full one
  std::string full_task;        // the definition that an emulator-sized sibling stands for; else equal to task

  std::string target;  // "hopper", "blackwell"
  std::string device;  // "emu", "gpu: NVIDIA H200"
  RuleSet rules = RuleSet::kStrict;
  std::string sandbox;        // which isolation the candidate ran under
  std::string artifact_hash;  // SHA-256 of the sealed artifact; empty when there is none
  std::string source_hash;    // SHA-256 of the candidate's source
  std::string timestamp;      // UTC, ISO 8601
  double seconds = 0;         // wall time of the whole evaluation
  std::vector<ToolVersion> versions;

  // The judge's own: makes the inputs reproducible. Left out of what a candidate's author sees before a retry.
  std::optional<std::uint64_t> seed;

  CompileLayer compile;
  CorrectLayer correct;
  ExecutedLayer executed;
  FastLayer fast;
};

class Verdict {
 public:
  // Refuses fields that contradict each other, naming every contradiction in Error.notes:
  // - PASSED only if no layer failed or was not reached, and compile, correct and executed passed;
  // - each failing status has its layer failed, the layers before it passed, and the layers after it not reached
  //   (or not measured): COMPILE_ERROR compile; POLICY_VIOLATION compile, or correct when a run was stopped for it; RUNTIME_ERROR,
  //   TIMEOUT and INCORRECT_* correct; TARGET_NOT_EXECUTED executed; MEASUREMENT_VOID fast;
  // - a layer's state agrees with its evidence under the chosen rules; POLICY_VIOLATION names a finding; every status
  //   but PASSED has a message;
  // - INFRA_ERROR blames no layer: none is failed.
  static Result<Verdict> create(VerdictFields fields);

  const VerdictFields& fields() const { return fields_; }
  const VerdictFields* operator->() const { return &fields_; }
  VerdictStatus status() const { return fields_.status; }

 private:
  explicit Verdict(VerdictFields fields) : fields_(std::move(fields)) {}
  VerdictFields fields_;
};

enum class Audience {
  kJudge,      // everything
  kCandidate,  // without the seed
};

// JSON text. indent < 0 gives one line (for JSONL).
std::string to_json(const Verdict& verdict, Audience audience = Audience::kJudge, int indent = 2);

// Unknown fields are an error here (the record is ours and versioned). file_name is for messages.
Result<Verdict> verdict_from_json(std::string_view text, std::string file_name = "verdict");

}  // namespace ptxbench::schema
