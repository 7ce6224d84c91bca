// What reports count: one observation per turn, without the kernels, prompts and verdicts behind it. Made from run folders,
// or imported from results that others published (ptxbench.observations.v2):
//   observations.json   where the data come from, and what was planned: Observations without its turns
//   turns.jsonl         one TurnRecord per line, in the order of trajectories and turns
//   transcripts/N.json  what was said in trajectory N (transcript.h), where the source of the import told it
#pragma once

#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "ptxbench/base/file.h"
#include "ptxbench/base/result.h"
#include "ptxbench/schema/transcript.h"

namespace ptxbench::schema {

inline constexpr std::string_view kObservationsSchema = "ptxbench.observations.v2";

// What became of a turn: a verdict's status, or why there was no verdict.
enum class TurnStatus {
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
  kNoKernel,  // the answer held none
  kOther,     // an imported label that does not say which
};
inline constexpr int kTurnStatuses = 13;
std::string_view to_string(TurnStatus status);  // "PASSED", ..., "NO_KERNEL", "OTHER"
std::optional<TurnStatus> turn_status_from(std::string_view text);

// What the trajectories of one cell have in common. `run` keeps cells of equal settings apart that were run at different
// times.
struct Cell {
  std::string run, model, target, task, workload, language;
  std::string model_date;  // ISO 8601; empty: not known
  std::string date_kind;   // "knowledge", "release", "not stated"; empty without a date
  bool recording = false;  // the answers come from a recording and say nothing about a model
  bool operator==(const Cell&) const = default;
};

// What a task's name says of attention: "gqa_ragged_prefill_causal_h32_kv4_d128" is of family "gqa_ragged_prefill_causal",
// with head dimension "128" and heads "32:4" (queries to keys); "-" where the name does not say.
struct TaskTraits {
  std::string family, head_dim, heads;
};
TaskTraits traits_of(std::string_view task);

struct TrajectoryInfo {
  std::string id;
  std::uint32_t cell = 0;
  std::string pack;
  int planned_turns = 8;
  bool open = false;  // not over: planned turns that are not there are not known, instead of no success
  bool operator==(const TrajectoryInfo&) const = default;
};

// Rates that a publication gives for a cell as a whole, for comparison: within the first `turns` turns.
struct PublishedCell {
  std::uint32_t cell = 0;
  int turns = 0;
  int trajectories = 0, correct = 0;
  std::optional<int> target_correct;         // by executed SASS
  std::optional<int> unknown_correct_turns;  // correct turns without conclusive evidence
  std::optional<double> best_speedup;
  bool operator==(const PublishedCell&) const = default;
};

// A day that models' dates are read against: an instruction set's or a library's release.
struct ReferenceDate {
  std::string name;    // "hopper instructions", "fa3"
  std::string kind;    // "instructions" or "library"
  std::string target;  // as Cell::target
  std::string date;    // ISO 8601
  bool operator==(const ReferenceDate&) const = default;
};

// Absent means that nobody looked, or that the evidence is gone: neither success nor failure.
struct TurnRecord {
  std::uint32_t trajectory = 0;  // index
  int turn = 0;                  // from 1
  TurnStatus status = TurnStatus::kOther;
  std::optional<bool> correct_paper, correct_strict;  // layer 1 under each rule set
  std::optional<bool> target_paper, target_strict;    // layer 2, of correct turns
  std::optional<double> speedup;
  std::optional<std::int64_t> input_tokens, output_tokens, reasoning_tokens;
  std::optional<double> cost_usd, seconds;
  bool operator==(const TurnRecord&) const = default;
};

struct Observations {
  std::string source;              // "import of ...", "run folder ..."
  std::vector<std::string> notes;  // what a reader must know: kinds of evidence, known disagreements
  std::vector<Cell> cells;
  std::vector<TrajectoryInfo> trajectories;
  std::vector<PublishedCell> published;
  std::vector<ReferenceDate> references;
  std::vector<TurnRecord> turns;  // by trajectory, then turn; each turn once
};

// A new folder, whole or not at all.
class ObservationsFolder {
 public:
  // kInvalidInput when `folder` exists.
  static Result<ObservationsFolder> create(const std::filesystem::path& folder);
  // One at a time, since all of a run's texts need not fit into memory.
  Status add(std::uint32_t trajectory, const Transcript& transcript);
  Status finish(const Observations& observations);

 private:
  explicit ObservationsFolder(PartialFolder partial) : partial_(std::move(partial)) {}
  PartialFolder partial_;
};

Status save_observations(const Observations& observations, const std::filesystem::path& folder);

// Errors name file and line. A last line without its newline is refused: the folder was written whole.
Result<Observations> load_observations(const std::filesystem::path& folder);

// Where the transcript of a trajectory lies, if there is one.
std::filesystem::path transcript_file(const std::filesystem::path& folder, std::uint32_t trajectory);

}  // namespace ptxbench::schema
