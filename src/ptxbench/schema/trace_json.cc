#include <algorithm>
#include <cmath>
#include <limits>

#include "ptxbench/schema/enum_text.h"
#include "ptxbench/schema/open_json.h"
#include "ptxbench/schema/trace.h"

namespace ptxbench::schema {
namespace {

constexpr std::pair<TraceStatus, std::string_view> kStatuses[] = {
    {TraceStatus::kPassed, "PASSED"},
    {TraceStatus::kIncorrectShape, "INCORRECT_SHAPE"},
    {TraceStatus::kIncorrectDtype, "INCORRECT_DTYPE"},
    {TraceStatus::kIncorrectNumerical, "INCORRECT_NUMERICAL"},
    {TraceStatus::kRuntimeError, "RUNTIME_ERROR"},
    {TraceStatus::kCompileError, "COMPILE_ERROR"},
    {TraceStatus::kTimeout, "TIMEOUT"},
};

std::optional<TraceStatus> mapped(VerdictStatus status) {
  switch (status) {
    case VerdictStatus::kPassed:
    case VerdictStatus::kTargetNotExecuted:
    case VerdictStatus::kMeasurementVoid: return TraceStatus::kPassed;
    case VerdictStatus::kCompileError:
    case VerdictStatus::kPolicyViolation: return TraceStatus::kCompileError;
    case VerdictStatus::kRuntimeError: return TraceStatus::kRuntimeError;
    case VerdictStatus::kTimeout: return TraceStatus::kTimeout;
    case VerdictStatus::kIncorrectShape: return TraceStatus::kIncorrectShape;
    case VerdictStatus::kIncorrectDtype: return TraceStatus::kIncorrectDtype;
    case VerdictStatus::kIncorrectNumerical: return TraceStatus::kIncorrectNumerical;
    case VerdictStatus::kInfraError: return std::nullopt;
  }
  return std::nullopt;
}

bool has_correctness(TraceStatus status) {
  return status == TraceStatus::kPassed || status == TraceStatus::kIncorrectNumerical;
}

// The larger one; NaN wins, so that it is not lost.
double worse(double a, double b) { return std::isnan(a) || std::isnan(b) ? std::nan("") : std::max(a, b); }

TraceCorrectness errors_of(const CorrectLayer& layer) {
  TraceCorrectness errors;
  for (const FamilyFigures& family : layer.families)
    for (const OutputFigures& output : family.outputs) {
      errors.max_absolute_error = worse(errors.max_absolute_error, output.max_abs_error);
      errors.max_relative_error = worse(errors.max_relative_error, output.max_rel_error);
    }
  return errors;
}

Json number(double value) {
  if (std::isfinite(value)) return value;
  return std::isnan(value) ? "nan" : value > 0 ? "inf" : "-inf";
}

double read_number(OpenObject& object, std::string_view key) {
  const Json* found = object.require(key);
  if (found == nullptr) return 0;
  if (found->is_number()) return found->get<double>();
  std::string text = found->is_string() ? found->get<std::string>() : "";
  std::transform(text.begin(), text.end(), text.begin(), [](unsigned char c) { return std::tolower(c); });
  if (text == "nan") return std::nan("");
  if (text == "inf" || text == "infinity") return std::numeric_limits<double>::infinity();
  if (text == "-inf" || text == "-infinity") return -std::numeric_limits<double>::infinity();
  object.wrong(key, "a number", *found);
  return 0;
}

void read_figures(OpenObject& entry, TraceEvaluation& evaluation, OpenReading& reading) {
  const auto given = [&](const char* key) {
    const Json* found = entry.take(key);
    return found != nullptr && !found->is_null();
  };
  if (given("correctness")) {
    OpenObject object = entry.object("correctness");
    evaluation.correctness =
        TraceCorrectness{read_number(object, "max_relative_error"), read_number(object, "max_absolute_error")};
    object.leave();
  }
  if (given("performance")) {
    OpenObject object = entry.object("performance");
    evaluation.performance =
        TracePerformance{read_number(object, "latency_ms"), read_number(object, "reference_latency_ms"),
                         read_number(object, "speedup_factor")};
    object.leave();
  }
  if (evaluation.correctness.has_value() != has_correctness(evaluation.status))
    reading.error(
        entry.path_of("correctness"),
        fmt::format("{} with status {}", evaluation.correctness ? "present" : "missing", to_string(evaluation.status)));
  if (evaluation.performance && evaluation.status != TraceStatus::kPassed)
    reading.error(entry.path_of("performance"), fmt::format("present with status {}", to_string(evaluation.status)));
}

TraceEvaluation read_evaluation(OpenObject& top, const Json& json, OpenReading& reading) {
  TraceEvaluation evaluation;
  OpenObject entry = top.object("evaluation");
  if (!entry.valid()) return evaluation;
  const std::string status = entry.string("status");
  if (const auto known = enum_from_text(kStatuses, status)) {
    evaluation.status = *known;
  } else {
    reading.error("evaluation.status", fmt::format("'{}' is not a status of this format", status));
    return evaluation;
  }
  OpenObject environment = entry.object("environment");
  if (environment.valid()) {
    evaluation.hardware = environment.string("hardware");
    if (const Json* libs = environment.take("libs"); libs != nullptr && libs->is_object()) {
      OpenObject versions = environment.object("libs");
      for (const auto& [name, version] : json.at("evaluation").at("environment").at("libs").items())
        evaluation.libs[name] = versions.string(name);
    }
    environment.leave();
  }
  evaluation.timestamp = entry.string("timestamp");
  evaluation.log = entry.optional_string("log");
  read_figures(entry, evaluation, reading);
  entry.leave();
  return evaluation;
}

}  // namespace

std::string_view to_string(TraceStatus status) { return enum_to_text(kStatuses, status); }

Result<Trace> trace_of(const Verdict& verdict, const Workload& workload, std::string solution_name) {
  const auto status = mapped(verdict.status());
  if (!status)
    return fail(ErrorKind::kUnsupported,
                "an infrastructure failure says nothing about the solution: no trace is written");
  Trace trace;
  trace.definition = verdict->task;
  trace.workload = workload;
  trace.solution = std::move(solution_name);
  TraceEvaluation& evaluation = trace.evaluation.emplace();
  evaluation.status = *status;
  evaluation.hardware = verdict->device;
  for (const ToolVersion& version : verdict->versions) evaluation.libs[version.name] = version.version;
  evaluation.timestamp = verdict->timestamp;
  evaluation.log = verdict->message;
  if (has_correctness(*status)) evaluation.correctness = errors_of(verdict->correct);
  const FastLayer& fast = verdict->fast;
  // A void measurement has times on record that nobody should rank.
  if (*status == TraceStatus::kPassed && fast.state == LayerState::kPassed)
    evaluation.performance =
        TracePerformance{fast.candidate->median_ms, fast.strongest()->time.median_ms, *fast.speedup};
  trace.verdict_json = to_json(verdict, Audience::kJudge, -1);
  return trace;
}

std::string to_json(const Trace& trace) {
  Json json = Json::parse(to_json(trace.workload));
  json["definition"] = trace.definition;
  if (!trace.solution.empty()) json["solution"] = trace.solution;
  if (trace.evaluation) {
    const TraceEvaluation& evaluation = *trace.evaluation;
    Json& out = json["evaluation"] = Json::object();
    out["status"] = std::string(to_string(evaluation.status));
    out["environment"]["hardware"] = evaluation.hardware;
    Json& libs = out["environment"]["libs"] = Json::object();
    for (const auto& [name, version] : evaluation.libs) libs[name] = version;
    out["timestamp"] = evaluation.timestamp;
    out["log"] = evaluation.log;
    out["correctness"] = nullptr;
    out["performance"] = nullptr;
    if (evaluation.correctness)
      out["correctness"] = {{"max_relative_error", number(evaluation.correctness->max_relative_error)},
                            {"max_absolute_error", number(evaluation.correctness->max_absolute_error)}};
    if (evaluation.performance)
      out["performance"] = {{"latency_ms", number(evaluation.performance->latency_ms)},
                            {"reference_latency_ms", number(evaluation.performance->reference_latency_ms)},
                            {"speedup_factor", number(evaluation.performance->speedup_factor)}};
  }
  if (!trace.verdict_json.empty()) json["ptxbench"]["verdict"] = Json::parse(trace.verdict_json);
  restore_unknown(json, trace.unknown);
  return json.dump(-1, ' ', false, Json::error_handler_t::replace);
}

Result<Trace> trace_from_json(std::string_view text, const Definition& definition, std::string file_name, int line) {
  PTXBENCH_TRY(Json json, parse_json(text, file_name, line > 0 ? line : 1));
  OpenReading reading{file_name, line, {}, {}};
  if (!json.is_object() || !json.contains("workload")) {
    reading.error("", "expected an object with definition, workload, solution and evaluation");
    return fail(reading.take_error());
  }
  Trace trace;
  OpenObject top(json, "", "", reading);
  trace.definition = top.string("definition");
  top.take("workload");
  trace.solution = top.optional_string("solution");
  if (const Json* found = top.take("evaluation"); found != nullptr && !found->is_null())
    trace.evaluation = read_evaluation(top, json, reading);
  if (trace.evaluation && trace.solution.empty()) reading.error("solution", "missing: an evaluation is of a solution");
  if (!trace.evaluation && !trace.solution.empty()) reading.error("evaluation", "missing: a solution without a result");
  if (const Json* own = top.take("ptxbench"); own != nullptr && own->is_object() && own->contains("verdict"))
    trace.verdict_json = own->at("verdict").dump();
  top.leave();
  if (!reading.errors.empty()) return fail(reading.take_error());
  // The workload is read by its own rules, as a record without a result.
  const Json workload = {{"definition", json["definition"]}, {"workload", json["workload"]}};
  PTXBENCH_TRY(trace.workload, workload_from_json(workload.dump(), definition, std::move(file_name), line));
  trace.unknown = std::move(reading.unknown);
  return trace;
}

}  // namespace ptxbench::schema
