#include "ptxbench/schema/observations.h"

#include <cmath>

#include "ptxbench/base/file.h"
#include "ptxbench/schema/enum_text.h"
#include "ptxbench/schema/json_io.h"

namespace ptxbench::schema {
namespace fs = std::filesystem;
namespace {

constexpr std::pair<TurnStatus, std::string_view> kStatuses[] = {
    {TurnStatus::kPassed, "PASSED"},
    {TurnStatus::kCompileError, "COMPILE_ERROR"},
    {TurnStatus::kPolicyViolation, "POLICY_VIOLATION"},
    {TurnStatus::kRuntimeError, "RUNTIME_ERROR"},
    {TurnStatus::kTimeout, "TIMEOUT"},
    {TurnStatus::kIncorrectShape, "INCORRECT_SHAPE"},
    {TurnStatus::kIncorrectDtype, "INCORRECT_DTYPE"},
    {TurnStatus::kIncorrectNumerical, "INCORRECT_NUMERICAL"},
    {TurnStatus::kTargetNotExecuted, "TARGET_NOT_EXECUTED"},
    {TurnStatus::kMeasurementVoid, "MEASUREMENT_VOID"},
    {TurnStatus::kInfraError, "INFRA_ERROR"},
    {TurnStatus::kNoKernel, "NO_KERNEL"},
    {TurnStatus::kOther, "OTHER"},
};
static_assert(std::size(kStatuses) == kTurnStatuses);

// The number after `letter` when the part is nothing else: 128 of "d128".
std::string number_after(std::string_view part, std::string_view letters) {
  if (!part.starts_with(letters) || part.size() == letters.size()) return "";
  part.remove_prefix(letters.size());
  const bool digits = part.find_first_not_of("0123456789") == std::string_view::npos;
  return digits ? std::string(part) : "";
}

constexpr std::string_view kManifestName = "observations.json", kTurnsName = "turns.jsonl";

}  // namespace

std::string_view to_string(TurnStatus status) { return enum_to_text(kStatuses, status); }
std::optional<TurnStatus> turn_status_from(std::string_view text) { return enum_from_text(kStatuses, text); }

TaskTraits traits_of(std::string_view task) {
  TaskTraits traits{"", "-", "-"};
  std::string queries, keys;
  for (std::size_t begin = 0, end = 0; begin <= task.size(); begin = end + 1) {
    end = std::min(task.find('_', begin), task.size());
    const std::string_view part = task.substr(begin, end - begin);
    const std::string dim = number_after(part, "d"), h = number_after(part, "h"), kv = number_after(part, "kv");
    if (!dim.empty()) traits.head_dim = dim;
    if (!h.empty()) queries = h;
    if (!kv.empty()) keys = kv;
    if (dim.empty() && h.empty() && kv.empty())
      traits.family += fmt::format("{}{}", traits.family.empty() ? "" : "_", part);
  }
  if (!queries.empty() && !keys.empty()) traits.heads = queries + ":" + keys;
  return traits;
}

template <>
struct EnumFromText<TurnStatus> {
  static auto parse(std::string_view text) { return turn_status_from(text); }
};

template <class Record, class T>
concept RecordOf = std::same_as<std::remove_const_t<Record>, T>;

template <class Archive>
void describe(Archive& archive, RecordOf<Cell> auto& record) {
  archive.field("run", record.run);
  archive.field("model", record.model);
  archive.field("target", record.target);
  archive.field("task", record.task);
  archive.field("workload", record.workload);
  archive.field("language", record.language);
  archive.field("model_date", record.model_date);
  archive.field("date_kind", record.date_kind);
  archive.field("recording", record.recording);
}

template <class Archive>
void describe(Archive& archive, RecordOf<TrajectoryInfo> auto& record) {
  archive.field("id", record.id);
  archive.field("cell", record.cell);
  archive.field("pack", record.pack);
  archive.field("planned_turns", record.planned_turns);
  archive.field("open", record.open);
}

template <class Archive>
void describe(Archive& archive, RecordOf<ReferenceDate> auto& record) {
  archive.field("name", record.name);
  archive.field("kind", record.kind);
  archive.field("target", record.target);
  archive.field("date", record.date);
}

template <class Archive>
void describe(Archive& archive, RecordOf<PublishedCell> auto& record) {
  archive.field("cell", record.cell);
  archive.field("turns", record.turns);
  archive.field("trajectories", record.trajectories);
  archive.field("correct", record.correct);
  archive.field("target_correct", record.target_correct);
  archive.field("unknown_correct_turns", record.unknown_correct_turns);
  archive.field("best_speedup", record.best_speedup);
}

template <class Archive>
void describe(Archive& archive, RecordOf<TurnRecord> auto& record) {
  archive.field("trajectory", record.trajectory);
  archive.field("turn", record.turn);
  archive.field("status", record.status);
  archive.field("correct_paper", record.correct_paper);
  archive.field("correct_strict", record.correct_strict);
  archive.field("target_paper", record.target_paper);
  archive.field("target_strict", record.target_strict);
  archive.field("speedup", record.speedup);
  archive.field("input_tokens", record.input_tokens);
  archive.field("output_tokens", record.output_tokens);
  archive.field("reasoning_tokens", record.reasoning_tokens);
  archive.field("cost_usd", record.cost_usd);
  archive.field("seconds", record.seconds);
}

template <class Archive>
void describe_manifest(Archive& archive, RecordOf<Observations> auto& record, auto& schema) {
  archive.field("schema", schema);
  archive.field("source", record.source);
  archive.field("notes", record.notes);
  archive.field("cells", record.cells);
  archive.field("trajectories", record.trajectories);
  archive.field("published", record.published);
  archive.field("references", record.references);
}

namespace {

Error wrong(const std::string& file, int line, std::vector<std::string> errors) {
  Error error{ErrorKind::kInvalidInput, errors.front(), "import the data again", {file, line, 0}, {}};
  error.notes.assign(errors.begin() + 1, errors.end());
  return error;
}

// What the description of single fields cannot say.
std::vector<std::string> check_references(const Observations& observations) {
  std::vector<std::string> errors;
  for (std::size_t i = 0; i < observations.trajectories.size(); ++i) {
    const TrajectoryInfo& info = observations.trajectories[i];
    if (info.cell >= observations.cells.size())
      errors.push_back(fmt::format("trajectories[{}].cell: found {}, expected less than {}", i, info.cell,
                                   observations.cells.size()));
    if (info.planned_turns < 1)
      errors.push_back(
          fmt::format("trajectories[{}].planned_turns: found {}, expected at least 1", i, info.planned_turns));
  }
  for (std::size_t i = 0; i < observations.published.size(); ++i)
    if (observations.published[i].cell >= observations.cells.size())
      errors.push_back(fmt::format("published[{}].cell: found {}, expected less than {}", i,
                                   observations.published[i].cell, observations.cells.size()));
  return errors;
}

// What a turn cannot be, by field.
std::vector<std::string> check_values(const TurnRecord& turn) {
  std::vector<std::string> errors;
  if (turn.turn < 1) errors.push_back(fmt::format("turn: found {}, expected 1 or more", turn.turn));
  const auto amount = [&](const char* name, const auto& value, bool above_zero = false) {
    if (value && !(std::isfinite(static_cast<double>(*value)) && *value >= 0 && (!above_zero || *value > 0)))
      errors.push_back(
          fmt::format("{}: found {}, expected a finite number {}", name, *value, above_zero ? "above 0" : "from 0"));
  };
  amount("speedup", turn.speedup, true);
  amount("input_tokens", turn.input_tokens);
  amount("output_tokens", turn.output_tokens);
  amount("reasoning_tokens", turn.reasoning_tokens);
  amount("cost_usd", turn.cost_usd);
  amount("seconds", turn.seconds);
  return errors;
}

Status read_turns(const fs::path& file, Observations& observations) {
  PTXBENCH_TRY(const std::string text, read_file(file));
  std::size_t begin = 0;
  int line = 0;
  for (std::size_t end = 0; (end = text.find('\n', begin)) != std::string::npos; begin = end + 1) {
    ++line;
    PTXBENCH_TRY(const Json json, parse_json(std::string_view(text).substr(begin, end - begin), file.string(), line));
    TurnRecord turn;
    std::vector<std::string> errors;
    JsonReader reader(json, "", errors);
    describe(reader, turn);
    reader.refuse_unknown();
    if (errors.empty()) errors = check_values(turn);
    if (errors.empty() && turn.trajectory >= observations.trajectories.size())
      errors.push_back(fmt::format("trajectory: found {}, expected less than {}", turn.trajectory,
                                   observations.trajectories.size()));
    if (errors.empty() && !observations.turns.empty()) {
      const TurnRecord& last = observations.turns.back();
      if (std::pair(turn.trajectory, turn.turn) <= std::pair(last.trajectory, last.turn))
        errors.push_back(
            fmt::format("trajectory {} turn {} after trajectory {} turn {}: expected each turn once and in order",
                        turn.trajectory, turn.turn, last.trajectory, last.turn));
    }
    if (!errors.empty()) return fail(wrong(file.string(), line, std::move(errors)));
    observations.turns.push_back(turn);
  }
  if (begin != text.size())
    return fail(wrong(file.string(), line + 1, {"the last line is cut off: expected a newline at its end"}));
  return {};
}

}  // namespace

Result<ObservationsFolder> ObservationsFolder::create(const fs::path& folder) {
  if (fs::exists(folder))
    return fail(ErrorKind::kInvalidInput, fmt::format("'{}' exists already", folder.string()),
                "choose another folder, or remove that one");
  PTXBENCH_TRY(PartialFolder partial, PartialFolder::create(folder));
  return ObservationsFolder(std::move(partial));
}

Status ObservationsFolder::add(std::uint32_t trajectory, const Transcript& transcript) {
  const fs::path file = transcript_file(partial_.path(), trajectory);
  std::error_code error;
  fs::create_directories(file.parent_path(), error);
  if (error)
    return fail(ErrorKind::kUnavailable,
                fmt::format("cannot create '{}': {}", file.parent_path().string(), error.message()));
  return write_file_atomic(file, to_json(transcript));
}

Status ObservationsFolder::finish(const Observations& observations) {
  Json json;
  JsonWriter writer(json);
  const std::string schema(kObservationsSchema);
  describe_manifest(writer, observations, schema);
  std::string turns;
  for (const TurnRecord& turn : observations.turns) {
    Json line;
    JsonWriter line_writer(line);
    describe(line_writer, turn);
    turns += line.dump() + "\n";
  }
  PTXBENCH_TRY_STATUS(write_file_atomic(partial_.path() / kManifestName, json.dump(1) + "\n"));
  PTXBENCH_TRY_STATUS(write_file_atomic(partial_.path() / kTurnsName, turns));
  return partial_.take_place();
}

Status save_observations(const Observations& observations, const fs::path& folder) {
  PTXBENCH_TRY(ObservationsFolder made, ObservationsFolder::create(folder));
  return made.finish(observations);
}

fs::path transcript_file(const fs::path& folder, std::uint32_t trajectory) {
  return folder / "transcripts" / fmt::format("{}.json", trajectory);
}

Result<Observations> load_observations(const fs::path& folder) {
  const fs::path file = folder / kManifestName;
  PTXBENCH_TRY(const std::string text, read_file(file));
  PTXBENCH_TRY(const Json json, parse_json(text, file.string()));
  Observations observations;
  std::string schema;
  std::vector<std::string> errors;
  JsonReader reader(json, "", errors);
  describe_manifest(reader, observations, schema);
  reader.refuse_unknown();
  if (json.is_object() && schema != kObservationsSchema)
    errors.insert(errors.begin(), fmt::format("schema: found '{}', expected '{}'", schema, kObservationsSchema));
  if (errors.empty()) errors = check_references(observations);
  if (!errors.empty()) return fail(reading_error(text, file.string(), std::move(errors), "import the data again"));
  PTXBENCH_TRY_STATUS(read_turns(folder / kTurnsName, observations));
  return observations;
}

}  // namespace ptxbench::schema
