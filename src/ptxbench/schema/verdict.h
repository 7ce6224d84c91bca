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
#include "ptxbench/schema/executed_layer.h"
#include "ptxbench/schema/fast_layer.h"
#include "ptxbench/schema/record_basics.h"

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

// What compute-sanitizer found in a replay of the run.
struct SanitizerFinding {
  std::string kind;      // "InvalidRead", "Race", ...: the tool's word for it
  std::string severity;  // "error", "warning", "info"
  std::string message;
  std::string kernel, source_file;
  int source_line = 0;
  std::optional<std::uint64_t> address;
  std::int64_t count = 1;  // how many threads or times
};
struct SanitizerRun {
  std::string tool;       // "memcheck", "racecheck", "synccheck", "initcheck"
  bool complete = false;  // it ran to its end; else message says why not, and no findings means nothing
  std::string message;
  double seconds = 0;
  std::vector<SanitizerFinding> findings;
};

// How a run ended when it did not end well.
struct RunFailure {
  // "trap", "returned an error", "exited", "signal", "timeout", "api refused", "protocol", "sanitizer"
  std::string what;
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
  std::vector<SanitizerRun> sanitizers;
  bool paper_passed = false;  // both are always computed; Verdict::rules says which one decides
  bool strict_passed = false;
  std::string candidate_output;  // what the candidate printed, capped; never parsed
};

// ---- The record ----------------------------------------------------------------------------------------------------

struct ToolVersion {
  std::string name, version;
};

// A part of the evaluation's wall time.
struct Phase {
  std::string name;  // "candidate's first run", "timing", ...
  double ms = 0;
};

// The same candidate, workload and seed on two devices, compared.
struct OutputDifference {
  std::string output;
  double rel_l2 = 0;         // ||a - b|| / ||a||, over all runs
  double max_abs_error = 0;  // largest |a - b|
  double limit = 0;          // of rel_l2
};
struct CountDifference {
  std::string family;
  std::uint64_t here = 0, there = 0;  // predicate-true thread instructions, or FLOPs
  std::string what;                   // "thread instructions", "FLOPs"
};
struct DeviceComparison {
  std::string other;  // the device that this verdict is compared with: "emu"
  bool agrees = false;
  std::string message;  // the first disagreement, in words; empty when there is none
  VerdictStatus other_status = VerdictStatus::kInfraError;
  std::vector<OutputDifference> outputs;
  std::vector<CountDifference> counts;
};

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
  std::vector<Phase> phases;  // where it went; phases may overlap, so they need not add up
  std::vector<ToolVersion> versions;

  // The judge's own: makes the inputs reproducible. Left out of what a candidate's author sees before a retry.
  std::optional<std::uint64_t> seed;

  CompileLayer compile;
  CorrectLayer correct;
  ExecutedLayer executed;
  FastLayer fast;
  std::optional<DeviceComparison> comparison;
};

class Verdict {
 public:
  // Refuses fields that contradict each other, naming every contradiction in Error.notes:
  // - PASSED only if no layer failed or was not reached, and compile, correct and executed passed;
  // - each failing status has its layer failed, the layers before it passed, and the layers after it not reached
  //   (or not measured): COMPILE_ERROR compile; POLICY_VIOLATION compile, or correct when a run was stopped for it; RUNTIME_ERROR,
  //   TIMEOUT and INCORRECT_* correct; TARGET_NOT_EXECUTED executed. MEASUREMENT_VOID blames executed or fast, which is
  //   void (no other status has a void layer) and names its reasons;
  // - layer fast passed only with times of the candidate and of a chosen baseline, samples that their figures can be
  //   from, a speed-up that is their ratio, every timed call verified, and no reason for being void;
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
