#include "ptxbench/report/paper_labels.h"

#include <algorithm>

namespace ptxbench::report {
namespace {

using schema::TurnStatus;

constexpr std::pair<std::string_view, TurnStatus> kLabels[] = {
    {"Correct", TurnStatus::kPassed},
    {"Compilation error", TurnStatus::kCompileError},
    {"Runtime error", TurnStatus::kRuntimeError},
    {"Numerical error", TurnStatus::kIncorrectNumerical},
    {"Kernel Execution Timeout", TurnStatus::kTimeout},
    {"Extraction error", TurnStatus::kNoKernel},
    {"Sanitize Timeout", TurnStatus::kInfraError},
    {"Profiling Service Timeout", TurnStatus::kInfraError},
    {"Other error", TurnStatus::kOther},
};

bool has(std::string_view text, std::string_view words) { return text.find(words) != std::string_view::npos; }

bool digit(char c) { return c >= '0' && c <= '9'; }
bool space(char c) { return c == ' ' || (c >= '\t' && c <= '\r'); }
bool word(char c) { return digit(c) || (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_'; }

// "Timed out after N[.N]s waiting for sanitize"
bool sanitize_timed_out(std::string_view text) {
  constexpr std::string_view kBefore = "Timed out after ";
  for (std::size_t at = text.find(kBefore); at != text.npos; at = text.find(kBefore, at + 1)) {
    std::string_view rest = text.substr(at + kBefore.size());
    const auto digits = [&rest] {
      const std::size_t n = static_cast<std::size_t>(std::find_if_not(rest.begin(), rest.end(), digit) - rest.begin());
      rest.remove_prefix(n);
      return n > 0;
    };
    if (!digits()) continue;
    if (rest.starts_with('.')) {
      rest.remove_prefix(1);
      if (!digits()) continue;
    }
    if (rest.starts_with("s waiting for sanitize")) return true;
  }
  return false;
}

// A trace's line: "] TIMEOUT", the word standing alone.
bool trace_timed_out(std::string_view text) {
  constexpr std::string_view kWord = "TIMEOUT";
  for (std::size_t at = text.find(kWord); at != text.npos; at = text.find(kWord, at + 1)) {
    const std::size_t end = at + kWord.size();
    if (end < text.size() && word(text[end])) continue;
    std::size_t before = at;
    while (before > 0 && space(text[before - 1])) --before;
    if (before < at && before > 0 && text[before - 1] == ']') return true;
  }
  return false;
}

// What the implementation takes for a failure of its service when it resumes a run.
bool service_failed(std::string_view text) {
  return has(text, "INFRA_TIMEOUT") || has(text, "Task failed at the profiling server.") ||
         has(text, "within the memory budget") || has(text, "after clearing cached baselines") ||
         has(text, "Timed out after 240s waiting for evaluate");
}

}  // namespace

std::optional<TurnStatus> status_of_paper_label(std::string_view label) {
  for (const auto& [name, status] : kLabels)
    if (name == label) return status;
  return std::nullopt;
}

std::string_view paper_label(std::string_view text) {
  if (has(text, "PASSED")) return "Correct";
  if (has(text, "INCORRECT_NUMERICAL") || has(text, "Result is incorrect")) return "Numerical error";
  if (has(text, "Failed to compile kernel")) return "Compilation error";
  if (sanitize_timed_out(text)) return "Sanitize Timeout";
  if (has(text, "returncode 137")) return "Profiling Service Timeout";
  if (has(text, "Kernel execution timed out") || has(text, "Evaluation timeout after") ||
      has(text, "memcheck timed out") || trace_timed_out(text))
    return "Kernel Execution Timeout";
  if (has(text, "Could not extract")) return "Extraction error";
  if (has(text, "RUNTIME_ERROR") || has(text, "CUDA error") || has(text, "CU error")) return "Runtime error";
  return "Other error";
}

TurnStatus status_of(const schema::PaperTurn& turn, std::string_view label) {
  const TurnStatus status = status_of_paper_label(label).value_or(TurnStatus::kOther);
  if (status != TurnStatus::kOther) return status;
  if (turn.event.ends_with("_banned") || turn.event == "triton_validation_failed") return TurnStatus::kPolicyViolation;
  for (const schema::PaperTrace& trace : turn.traces)
    if (trace.status == "INCORRECT_SHAPE" || trace.status == "INCORRECT_DTYPE")
      return *schema::turn_status_from(trace.status);
  return service_failed(turn.feedback) ? TurnStatus::kInfraError : TurnStatus::kOther;
}

void set_correct(schema::TurnRecord& record, std::string_view label) {
  record.correct_paper = label == "Correct";
  if (!*record.correct_paper && record.status != TurnStatus::kInfraError) record.correct_strict = false;
}

}  // namespace ptxbench::report
