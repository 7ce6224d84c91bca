// The JSON form of ptxbench.verdict.v1: each record described once, for writing and reading (json_io.h).
#include "ptxbench/schema/layers_json.h"
#include "ptxbench/schema/quick_json.h"

namespace ptxbench::schema {

template <>
struct EnumFromText<VerdictStatus> {
  static auto parse(std::string_view text) { return verdict_status_from(text); }
};
template <>
struct EnumFromText<RuleSet> {
  static auto parse(std::string_view text) { return rule_set_from(text); }
};

template <class Archive>
void describe(Archive& archive, RecordOf<KernelUsage> auto& record) {
  archive.field("name", record.name);
  archive.field("registers", record.registers);
  archive.field("spill_store_bytes", record.spill_store_bytes);
  archive.field("spill_load_bytes", record.spill_load_bytes);
  archive.field("stack_bytes", record.stack_bytes);
  archive.field("static_shared_bytes", record.static_shared_bytes);
}

template <class Archive>
void describe(Archive& archive, RecordOf<CompilerMessage> auto& record) {
  archive.field("severity", record.severity);
  archive.field("file", record.file);
  archive.field("line", record.line);
  archive.field("column", record.column);
  archive.field("text", record.text);
}

template <class Archive>
void describe(Archive& archive, RecordOf<PolicyFinding> auto& record) {
  archive.field("rule", record.rule);
  archive.field("where", record.where);
  archive.field("what", record.what);
}

template <class Archive>
void describe(Archive& archive, RecordOf<CompileLayer> auto& record) {
  archive.field("state", record.state);
  archive.field("message", record.message);
  archive.field("seconds", record.seconds);
  archive.field("cached", record.cached);
  archive.field("kernels", record.kernels);
  archive.field("diagnostics", record.diagnostics);
  archive.field("log", record.log);
  archive.field("policy", record.policy);
}

template <class Archive>
void describe(Archive& archive, RecordOf<WorstElement> auto& record) {
  archive.field("index", record.index);
  archive.field("expected", record.expected);
  archive.field("got", record.got);
}

template <class Archive>
void describe(Archive& archive, RecordOf<OutputFigures> auto& record) {
  archive.field("output", record.output);
  archive.field("elements", record.elements);
  archive.field("rows", record.rows);
  archive.field("max_abs_error", record.max_abs_error);
  archive.field("max_rel_error", record.max_rel_error);
  archive.field("rel_l2", record.rel_l2);
  archive.field("non_finite", record.non_finite);
  archive.field("never_written", record.never_written);
  archive.field("first_never_written", record.first_never_written);
  archive.field("paper_failing", record.paper_failing);
  archive.field("allclose_failing", record.allclose_failing);
  archive.field("strict_measure", record.strict_measure);
  archive.field("strict_limit", record.strict_limit);
  archive.field("strict_worst", record.strict_worst);
  archive.field("strict_failing", record.strict_failing);
  archive.field("worst", record.worst);
}

template <class Archive>
void describe(Archive& archive, RecordOf<FamilyFigures> auto& record) {
  archive.field("family", record.family);
  archive.field("what", record.what);
  archive.field("run", record.run);
  archive.field("part", record.part);
  archive.field("paper_applies", record.paper_applies);
  archive.field("paper_passed", record.paper_passed);
  archive.field("strict_passed", record.strict_passed);
  archive.field("outputs", record.outputs);
  archive.field("hints", record.hints);
}

template <class Archive>
void describe(Archive& archive, RecordOf<RunRecord> auto& record) {
  archive.field("schedule", record.schedule);
  archive.field("seconds", record.seconds);
  archive.field("launches", record.launches);
}

template <class Archive>
void describe(Archive& archive, RecordOf<TrapRecord> auto& record) {
  archive.field("kind", record.kind);
  archive.field("rule", record.rule);
  archive.field("message", record.message);
  archive.field("kernel", record.kernel);
  archive.field("instruction", record.instruction);
  archive.field("source_file", record.source_file);
  archive.field("source_line", record.source_line);
  archive.field("ptx_line", record.ptx_line);
  archive.field("cta", record.cta);
  archive.field("warp", record.warp);
  archive.field("lane", record.lane);
  archive.field("address", record.address);
}

template <class Archive>
void describe(Archive& archive, RecordOf<SanitizerFinding> auto& record) {
  archive.field("kind", record.kind);
  archive.field("severity", record.severity);
  archive.field("message", record.message);
  archive.field("kernel", record.kernel);
  archive.field("source_file", record.source_file);
  archive.field("source_line", record.source_line);
  archive.field("address", record.address);
  archive.field("count", record.count);
}

template <class Archive>
void describe(Archive& archive, RecordOf<SanitizerRun> auto& record) {
  archive.field("tool", record.tool);
  archive.field("complete", record.complete);
  archive.field("message", record.message);
  archive.field("seconds", record.seconds);
  archive.field("findings", record.findings);
}

template <class Archive>
void describe(Archive& archive, RecordOf<RunFailure> auto& record) {
  archive.field("what", record.what);
  archive.field("message", record.message);
  archive.field("trap", record.trap);
  archive.field("refusals", record.refusals);
}

template <class Archive>
void describe(Archive& archive, RecordOf<CorrectLayer> auto& record) {
  archive.field("state", record.state);
  archive.field("message", record.message);
  archive.field("strict_passed", record.strict_passed);
  archive.field("paper_passed", record.paper_passed);
  archive.field("runs", record.runs);
  archive.field("families", record.families);
  archive.field("failure", record.failure);
  archive.field("sanitizers", record.sanitizers);
  archive.field("candidate_output", record.candidate_output);
}

template <class Archive>
void describe(Archive& archive, RecordOf<ToolVersion> auto& record) {
  archive.field("name", record.name);
  archive.field("version", record.version);
}

template <class Archive>
void describe(Archive& archive, RecordOf<Phase> auto& record) {
  archive.field("name", record.name);
  archive.field("ms", record.ms);
}

template <class Archive>
void describe(Archive& archive, RecordOf<OutputDifference> auto& record) {
  archive.field("output", record.output);
  archive.field("rel_l2", record.rel_l2);
  archive.field("max_abs_error", record.max_abs_error);
  archive.field("limit", record.limit);
}

template <class Archive>
void describe(Archive& archive, RecordOf<CountDifference> auto& record) {
  archive.field("family", record.family);
  archive.field("what", record.what);
  archive.field("here", record.here);
  archive.field("there", record.there);
}

template <class Archive>
void describe(Archive& archive, RecordOf<DeviceComparison> auto& record) {
  archive.field("other", record.other);
  archive.field("agrees", record.agrees);
  archive.field("message", record.message);
  archive.field("other_status", record.other_status);
  archive.field("outputs", record.outputs);
  archive.field("counts", record.counts);
}

template <class Archive>
void describe_verdict(Archive& archive, RecordOf<VerdictFields> auto& record, auto& schema) {
  archive.field("schema", schema);
  archive.field("status", record.status);
  archive.field("message", record.message);
  archive.field("task", record.task);
  archive.object("workload", [&](auto& nested) {
    nested.field("uuid", record.workload_uuid);
    nested.field("axes", record.axes);
    nested.field("emulator_sized", record.emulator_sized);
    nested.field("full_task", record.full_task);
  });
  archive.field("target", record.target);
  archive.field("device", record.device);
  archive.field("rules", record.rules);
  archive.field("sandbox", record.sandbox);
  archive.field("artifact_hash", record.artifact_hash);
  archive.field("source_hash", record.source_hash);
  archive.field("timestamp", record.timestamp);
  archive.field("seconds", record.seconds);
  archive.field("phases", record.phases);
  archive.field("versions", record.versions);
  archive.field("seed", record.seed);
  archive.object("layers", [&](auto& nested) {
    nested.field("compile", record.compile);
    nested.field("correct", record.correct);
    nested.field("executed", record.executed);
    nested.field("fast", record.fast);
  });
  archive.field("comparison", record.comparison);
}

std::string to_json(const Verdict& verdict, Audience audience, int indent) {
  VerdictFields fields = verdict.fields();
  if (audience == Audience::kCandidate) fields.seed.reset();
  Json json;
  JsonWriter writer(json);
  const VerdictFields& record = fields;
  const std::string schema(kVerdictSchema);
  describe_verdict(writer, record, schema);
  // A candidate's output and a compiler's log may hold any bytes: invalid UTF-8 is replaced, never thrown at.
  return json.dump(indent, ' ', false, Json::error_handler_t::replace);
}

std::optional<Verdict> quick_verdict(simdjson::dom::element json, std::size_t longest) {
  VerdictFields fields;
  std::string schema;
  QuickReader reader(json, longest);
  describe_verdict(reader, fields, schema);
  if (!reader.done() || schema != kVerdictSchema) return std::nullopt;
  Result<Verdict> verdict = Verdict::create(std::move(fields));
  return verdict ? std::optional(std::move(*verdict)) : std::nullopt;
}

Result<Verdict> verdict_from_json(std::string_view text, std::string file_name) {
  PTXBENCH_TRY(const Json json, parse_json(text, file_name));
  VerdictFields fields;
  std::string schema;
  std::vector<std::string> errors;
  JsonReader reader(json, "", errors);
  describe_verdict(reader, fields, schema);
  reader.refuse_unknown();
  if (json.is_object() && !schema.empty() && schema != kVerdictSchema)
    errors.insert(errors.begin(), fmt::format("schema: found '{}', expected '{}'", schema, kVerdictSchema));
  if (!errors.empty()) {
    Error error{ErrorKind::kInvalidInput, fmt::format("{}: {}", file_name, errors.front()), "", {file_name, 0, 0}, {}};
    error.notes.assign(errors.begin() + 1, errors.end());
    return fail(std::move(error));
  }
  return Verdict::create(std::move(fields));
}

}  // namespace ptxbench::schema
