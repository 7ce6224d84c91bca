// A trace: one evaluation of a solution on a workload, as FlashInfer Trace stores it (one JSON object per line).
#pragma once

#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "ptxbench/base/result.h"
#include "ptxbench/schema/definition.h"
#include "ptxbench/schema/verdict.h"

namespace ptxbench::schema {

// The statuses of that format. Ours that it does not have are mapped by trace_of().
enum class TraceStatus {
  kPassed,
  kIncorrectShape,
  kIncorrectDtype,
  kIncorrectNumerical,
  kRuntimeError,
  kCompileError,
  kTimeout,
};
std::string_view to_string(TraceStatus status);

struct TraceCorrectness {
  double max_relative_error = 0, max_absolute_error = 0;  // non-finite: the strings "nan", "inf", "-inf" in files
};

struct TracePerformance {
  double latency_ms = 0, reference_latency_ms = 0, speedup_factor = 0;
};

struct TraceEvaluation {
  TraceStatus status = TraceStatus::kPassed;
  std::string hardware;
  std::map<std::string, std::string> libs;  // name -> version
  std::string timestamp;                    // ISO 8601
  std::string log;
  std::optional<TraceCorrectness> correctness;  // PASSED and INCORRECT_NUMERICAL have it, no other status does
  std::optional<TracePerformance> performance;  // PASSED only
};

struct Trace {
  std::string definition;
  Workload workload;
  std::string solution;                       // its name; empty in a record that is a workload only
  std::optional<TraceEvaluation> evaluation;  // with a solution only
  std::string verdict_json;                   // ptxbench's own record under "ptxbench"; may be empty
  std::vector<UnknownField> unknown;
};

// A verdict as a trace. TARGET_NOT_EXECUTED and MEASUREMENT_VOID become PASSED (the numbers are right, which is what that
// format's PASSED means), POLICY_VIOLATION becomes COMPILE_ERROR; the verdict itself goes along under "ptxbench".
// kUnsupported for INFRA_ERROR: that is no statement about the solution.
Result<Trace> trace_of(const Verdict& verdict, const Workload& workload, std::string solution_name);

std::string to_json(const Trace& trace);  // one line
Result<Trace> trace_from_json(std::string_view text, const Definition& definition, std::string file_name, int line = 0);

}  // namespace ptxbench::schema
