// The JSON forms of ptxbench.run.v1 and ptxbench.events.v1 (json_io.h).
#include "ptxbench/schema/enum_text.h"
#include "ptxbench/schema/quick_json.h"
#include "ptxbench/schema/trajectory.h"

namespace ptxbench::schema {
namespace {

constexpr std::pair<ContextPolicy, std::string_view> kPolicies[] = {
    {ContextPolicy::kFull, "full"},
    {ContextPolicy::kLatestPair, "latest-pair"},
    {ContextPolicy::kSingleUser, "single-user"},
};

constexpr std::pair<FinishReason, std::string_view> kFinishReasons[] = {
    {FinishReason::kTargetReached, "target_reached"},
    {FinishReason::kTurnsUsed, "turns_used"},
    {FinishReason::kContextOverflow, "context_overflow"},
    {FinishReason::kError, "error"},
};

// The value of "event" in a log line.
template <class T>
constexpr std::string_view kEventName = "";
template <>
constexpr std::string_view kEventName<StartEvent> = "start";
template <>
constexpr std::string_view kEventName<RequestEvent> = "request";
template <>
constexpr std::string_view kEventName<ReplyEvent> = "reply";
template <>
constexpr std::string_view kEventName<JudgedEvent> = "judged";
template <>
constexpr std::string_view kEventName<SuspendEvent> = "suspend";
template <>
constexpr std::string_view kEventName<FinishEvent> = "finish";

std::string dump(const Json& json, int indent) {
  // A model's answer or a compiler's log may hold any bytes: invalid UTF-8 is replaced, never thrown at.
  return json.dump(indent, ' ', false, Json::error_handler_t::replace);
}

Error wrong_record(const std::string& file, int line, const std::vector<std::string>& errors) {
  Error error{ErrorKind::kInvalidInput, errors.front(), "", {file, line, 0}, {}};
  error.notes.assign(errors.begin() + 1, errors.end());
  return error;
}

}  // namespace

std::string_view to_string(ContextPolicy policy) { return enum_to_text(kPolicies, policy); }
std::optional<ContextPolicy> context_policy_from(std::string_view text) { return enum_from_text(kPolicies, text); }
std::string_view to_string(FinishReason reason) { return enum_to_text(kFinishReasons, reason); }
std::optional<FinishReason> finish_reason_from(std::string_view text) { return enum_from_text(kFinishReasons, text); }

template <>
struct EnumFromText<ContextPolicy> {
  static auto parse(std::string_view text) { return context_policy_from(text); }
};
template <>
struct EnumFromText<FinishReason> {
  static auto parse(std::string_view text) { return finish_reason_from(text); }
};
template <>
struct EnumFromText<RuleSet> {
  static auto parse(std::string_view text) { return rule_set_from(text); }
};

// Record is T when reading and const T when writing.
template <class Record, class T>
concept RecordOf = std::same_as<std::remove_const_t<Record>, T>;

template <class Archive>
void describe(Archive& archive, RecordOf<ExperimentRecord> auto& record) {
  archive.field("name", record.name);
  archive.field("tasks", record.tasks);
  archive.field("targets", record.targets);
  archive.field("models", record.models);
  archive.field("packs", record.packs);
  archive.field("trajectories", record.trajectories);
  archive.field("turns", record.turns);
  archive.field("target_speedup", record.target_speedup);
  archive.field("context", record.context);
  archive.field("rules", record.rules);
  archive.field("workload", record.workload);
  archive.field("device", record.device);
  archive.field("max_cost_usd", record.max_cost_usd);
}

template <class Archive>
void describe(Archive& archive, RecordOf<ModelRecord> auto& record) {
  archive.field("name", record.name);
  archive.field("api", record.api);
  archive.field("model", record.model);
  archive.field("settings_sha256", record.settings_sha256);
  archive.field("recording", record.recording);
}

template <class Archive>
void describe(Archive& archive, RecordOf<PackRecord> auto& record) {
  archive.field("target", record.target);
  archive.field("level", record.level);
  archive.field("sha256", record.sha256);
  archive.field("tokens", record.tokens);
}

template <class Archive>
void describe(Archive& archive, RecordOf<ToolVersion> auto& record) {
  archive.field("name", record.name);
  archive.field("version", record.version);
}

template <class Archive>
void describe(Archive& archive, RecordOf<TrajectoryPlan> auto& record) {
  archive.field("id", record.id);
  archive.field("task", record.task);
  archive.field("target", record.target);
  archive.field("model", record.model);
  archive.field("pack", record.pack);
  archive.field("repeat", record.repeat);
  archive.field("judged_task", record.judged_task);
  archive.field("workloads", record.workloads);
  archive.field("system_sha256", record.system_sha256);
  archive.field("task_sha256", record.task_sha256);
}

template <class Archive>
void describe_manifest(Archive& archive, RecordOf<RunManifest> auto& record, auto& schema) {
  archive.field("schema", schema);
  archive.field("created", record.created);
  archive.field("experiment", record.experiment);
  archive.field("models", record.models);
  archive.field("packs", record.packs);
  archive.field("versions", record.versions);
  archive.field("seed", record.seed);
  archive.field("trajectories", record.trajectories);
}

template <class Archive>
void describe(Archive& archive, RecordOf<TokenUsage> auto& record) {
  archive.field("input", record.input);
  archive.field("cached_input", record.cached_input);
  archive.field("cache_write", record.cache_write);
  archive.field("output", record.output);
  archive.field("reasoning", record.reasoning);
}

template <class Archive>
void describe(Archive& archive, RecordOf<StartEvent> auto& record) {
  archive.field("id", record.id);
  archive.field("at", record.at);
}

template <class Archive>
void describe(Archive& archive, RecordOf<RequestEvent> auto& record) {
  archive.field("turn", record.turn);
  archive.field("messages_sha256", record.messages_sha256);
  archive.field("messages", record.messages);
  archive.field("bytes", record.bytes);
  archive.field("possible_cost_usd", record.possible_cost_usd);
  archive.field("at", record.at);
}

template <class Archive>
void describe(Archive& archive, RecordOf<ReplyEvent> auto& record) {
  archive.field("turn", record.turn);
  archive.field("outcome", record.outcome);
  archive.field("is_turn", record.is_turn);
  archive.field("detail", record.detail);
  archive.field("text", record.text);
  archive.field("reasoning_text", record.reasoning_text);
  archive.field("finish_reason", record.finish_reason);
  archive.field("served_model", record.served_model);
  archive.field("usage", record.usage);
  archive.field("cost_usd", record.cost_usd);
  archive.field("cost_is_lower_bound", record.cost_is_lower_bound);
  archive.field("attempts", record.attempts);
  archive.field("seconds", record.seconds);
  archive.field("first_token_seconds", record.first_token_seconds);
  archive.field("at", record.at);
}

// Without the verdicts, which have their own reader and writer.
template <class Archive>
void describe(Archive& archive, RecordOf<JudgedEvent> auto& record) {
  archive.field("turn", record.turn);
  archive.field("extraction", record.extraction);
  archive.field("source", record.source);
  archive.field("source_sha256", record.source_sha256);
  archive.field("version", record.version);
  archive.field("feedback", record.feedback);
  archive.field("wait_seconds", record.wait_seconds);
  archive.field("judge_seconds", record.judge_seconds);
  archive.field("at", record.at);
}

template <class Archive>
void describe(Archive& archive, RecordOf<SuspendEvent> auto& record) {
  archive.field("reason", record.reason);
  archive.field("detail", record.detail);
  archive.field("at", record.at);
}

template <class Archive>
void describe(Archive& archive, RecordOf<FinishEvent> auto& record) {
  archive.field("reason", record.reason);
  archive.field("detail", record.detail);
  archive.field("at", record.at);
}

std::string to_json(const RunManifest& manifest) {
  Json json;
  JsonWriter writer(json);
  const std::string schema(kRunSchema);
  describe_manifest(writer, manifest, schema);
  return dump(json, 2) + "\n";
}

Result<RunManifest> run_manifest_from_json(std::string_view text, std::string file_name) {
  RunManifest manifest;
  std::string schema;
  simdjson::dom::parser parser;
  if (simdjson::dom::element quick; parser.parse(text).get(quick) == simdjson::SUCCESS) {
    QuickReader reader(quick, std::string::npos);
    describe_manifest(reader, manifest, schema);
    if (reader.done() && schema == kRunSchema) return manifest;
  }
  PTXBENCH_TRY(const Json json, parse_json(text, file_name));
  manifest = {};
  std::vector<std::string> errors;
  JsonReader reader(json, "", errors);
  describe_manifest(reader, manifest, schema);
  reader.refuse_unknown();
  if (json.is_object() && schema != kRunSchema)
    errors.insert(errors.begin(), fmt::format("schema: found '{}', expected '{}'", schema, kRunSchema));
  if (!errors.empty()) return fail(reading_error(text, file_name, std::move(errors)));
  return manifest;
}

std::string to_json(const Event& event) {
  Json json = Json::object();
  std::visit(
      [&json]<class T>(const T& record) {
        json["event"] = kEventName<T>;
        if constexpr (std::same_as<T, StartEvent>) json["schema"] = kEventsSchema;
        Json body;
        JsonWriter writer(body);
        describe(writer, record);
        if constexpr (std::same_as<T, JudgedEvent>) {
          Json verdicts = Json::array();
          for (const Verdict& verdict : record.verdicts)
            verdicts.push_back(Json::parse(to_json(verdict, Audience::kJudge, -1)));
          body["verdicts"] = std::move(verdicts);
        }
        json.update(body);
      },
      event);
  return dump(json, -1);
}

namespace {

Status read_verdicts(Json& json, JudgedEvent& event, const std::string& file_name, int line) {
  const auto found = json.find("verdicts");
  if (found == json.end() || !found->is_array())
    return fail(wrong_record(file_name, line, {"verdicts: expected an array"}));
  for (std::size_t i = 0; i < found->size(); ++i) {
    Result<Verdict> verdict = verdict_from_json(dump((*found)[i], -1), fmt::format("verdicts[{}]", i));
    if (!verdict) {
      verdict.error().where = {file_name, line, 0};
      return fail(std::move(verdict.error()));
    }
    event.verdicts.push_back(std::move(*verdict));
  }
  json.erase("verdicts");
  return {};
}

template <class T>
Result<Event> read_event(Json& json, const std::string& file_name, int line) {
  T event;
  std::vector<std::string> errors;
  if constexpr (std::same_as<T, JudgedEvent>) PTXBENCH_TRY_STATUS(read_verdicts(json, event, file_name, line));
  if constexpr (std::same_as<T, StartEvent>) {
    if (json.value("schema", "") != kEventsSchema)
      errors.push_back(fmt::format("schema: found '{}', expected '{}'", json.value("schema", ""), kEventsSchema));
    json.erase("schema");
  }
  json.erase("event");
  JsonReader reader(json, "", errors);
  describe(reader, event);
  reader.refuse_unknown();
  if (!errors.empty()) return fail(wrong_record(file_name, line, errors));
  return Event(std::move(event));
}

}  // namespace

namespace {

template <class T>
std::optional<Event> read_quickly(QuickReader& reader, std::size_t longest) {
  T event;
  if constexpr (std::same_as<T, StartEvent>) {
    std::string schema;
    reader.field("schema", schema);
    if (schema != kEventsSchema) return std::nullopt;
  }
  describe(reader, event);
  if constexpr (std::same_as<T, JudgedEvent>) {
    const auto verdicts = reader.take("verdicts");
    simdjson::dom::array array;
    if (!verdicts || verdicts->get(array) != simdjson::SUCCESS) return std::nullopt;
    for (const simdjson::dom::element json : array) {
      std::optional<Verdict> verdict = quick_verdict(json, longest);
      if (!verdict) return std::nullopt;
      event.verdicts.push_back(std::move(*verdict));
    }
  }
  return reader.done() ? std::optional(Event(std::move(event))) : std::nullopt;
}

}  // namespace

std::optional<Event> quick_event(simdjson::dom::element json, std::size_t longest) {
  QuickReader reader(json, longest);
  std::string name;
  reader.field("event", name);
  if (name == kEventName<StartEvent>) return read_quickly<StartEvent>(reader, longest);
  if (name == kEventName<RequestEvent>) return read_quickly<RequestEvent>(reader, longest);
  if (name == kEventName<ReplyEvent>) return read_quickly<ReplyEvent>(reader, longest);
  if (name == kEventName<JudgedEvent>) return read_quickly<JudgedEvent>(reader, longest);
  if (name == kEventName<SuspendEvent>) return read_quickly<SuspendEvent>(reader, longest);
  if (name == kEventName<FinishEvent>) return read_quickly<FinishEvent>(reader, longest);
  return std::nullopt;
}

Result<Event> event_from_json(std::string_view text, const std::string& file_name, int line) {
  PTXBENCH_TRY(Json json, parse_json(text, file_name, line == 0 ? 1 : line));
  const auto found = json.is_object() ? json.find("event") : json.end();
  const std::string name = found != json.end() && found->is_string() ? found->get<std::string>() : "";
  if (name == kEventName<StartEvent>) return read_event<StartEvent>(json, file_name, line);
  if (name == kEventName<RequestEvent>) return read_event<RequestEvent>(json, file_name, line);
  if (name == kEventName<ReplyEvent>) return read_event<ReplyEvent>(json, file_name, line);
  if (name == kEventName<JudgedEvent>) return read_event<JudgedEvent>(json, file_name, line);
  if (name == kEventName<SuspendEvent>) return read_event<SuspendEvent>(json, file_name, line);
  if (name == kEventName<FinishEvent>) return read_event<FinishEvent>(json, file_name, line);
  return fail(wrong_record(
      file_name, line,
      {fmt::format("event: found '{}', expected start, request, reply, judged, suspend or finish", name)}));
}

}  // namespace ptxbench::schema
