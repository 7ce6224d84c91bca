#include "ptxbench/agent/feedback.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "ptxbench/agent/quote.h"
#include "ptxbench/base/symbol.h"

namespace ptxbench::agent {
namespace {

using namespace schema;

std::string grouped(std::uint64_t value) {
  std::string digits = std::to_string(value);
  for (int at = static_cast<int>(digits.size()) - 3; at > 0; at -= 3) digits.insert(static_cast<std::size_t>(at), ",");
  return digits;
}

std::string at(const std::vector<std::int64_t>& index) { return fmt::format("[{}]", fmt::join(index, ", ")); }

std::string plural(std::size_t count, std::string_view noun) {
  return fmt::format("{} {}{}", count, noun, count == 1 ? "" : noun.ends_with("ch") ? "es" : "s");
}

// ---- compile

void compile_errors(std::string& out, const CompileLayer& layer, std::string_view source) {
  constexpr std::size_t kShown = 8;
  std::vector<const CompilerMessage*> errors;
  for (const CompilerMessage& message : layer.diagnostics)
    if (message.severity == "error") errors.push_back(&message);
  if (errors.empty()) {
    out += "\nThe end of the compiler's log:\n" + quoted(tail(layer.log, 2000));
    return;
  }
  out += fmt::format("\n{}{}:\n", plural(errors.size(), "error"),
                     errors.size() > kShown ? fmt::format(", the first {} of them", kShown) : "");
  for (std::size_t i = 0; i < std::min(kShown, errors.size()); ++i) {
    const CompilerMessage& error = *errors[i];
    out += fmt::format("- {}:{}: {}\n", error.file, error.line, head(error.text, 600));
    if (error.file == kKernelFile) out += source_lines(source, error.line, 0);
  }
}

void resources(std::string& out, const CompileLayer& layer) {
  for (const KernelUsage& kernel : layer.kernels) {
    const int spills = kernel.spill_store_bytes + kernel.spill_load_bytes;
    out += fmt::format(
        "- {}: {} registers per thread, {}, {} B static shared memory\n", head(kernel.name, 200), kernel.registers,
        spills == 0 ? "no spills"
                    : fmt::format("spills {} B stored, {} B loaded", kernel.spill_store_bytes, kernel.spill_load_bytes),
        kernel.static_shared_bytes);
  }
}

// ---- correct

void trap(std::string& out, const TrapRecord& trap, std::string_view source) {
  out += fmt::format("\nTrap: {}\n", trap.kind);
  if (!trap.source_file.empty()) {
    out += fmt::format("At {}:{}", trap.source_file, trap.source_line);
    out += trap.kernel.empty() ? "\n" : fmt::format(", in kernel {}\n", head(trap.kernel, 200));
    if (trap.source_file == kKernelFile) out += source_lines(source, trap.source_line, 2);
  }
  if (!trap.instruction.empty()) out += fmt::format("Instruction: {}\n", head(trap.instruction, 400));
  out += fmt::format("By CTA ({}, {}, {}), warp {}, lane {}", trap.cta.x, trap.cta.y, trap.cta.z, trap.warp, trap.lane);
  out += trap.address ? fmt::format(", address 0x{:x}\n", *trap.address) : "\n";
  out += fmt::format("What happened: {}\n", head(trap.message, 2500));
  if (!trap.rule.empty()) out += fmt::format("The rule: {}\n", head(trap.rule, 600));
}

void sanitizer(std::string& out, const SanitizerRun& run, std::string_view source) {
  constexpr std::size_t kShown = 5;
  for (std::size_t i = 0; i < std::min(kShown, run.findings.size()); ++i) {
    const SanitizerFinding& finding = run.findings[i];
    out += fmt::format("- {} {}: {} ({} x), {}:{}\n", run.tool, finding.severity, head(finding.message, 300),
                       finding.count, finding.source_file, finding.source_line);
    if (finding.source_file == kKernelFile) out += source_lines(source, finding.source_line, 0);
  }
  if (run.findings.size() > kShown) out += fmt::format("- and {} more of {}\n", run.findings.size() - kShown, run.tool);
}

void run_failure(std::string& out, const CorrectLayer& layer, std::string_view source) {
  if (!layer.failure) return;
  const RunFailure& failure = *layer.failure;
  if (failure.trap) trap(out, *failure.trap, source);
  for (const std::string& refusal : failure.refusals) out += fmt::format("Refused: {}\n", head(refusal, 400));
  for (const SanitizerRun& run : layer.sanitizers) sanitizer(out, run, source);
  if (!layer.runs.empty() && !layer.runs.back().schedule.empty())
    out += fmt::format(
        "\nIt happened in run {}, in which asynchronous copies and wgmmas take effect {}.\n", layer.runs.size(),
        layer.runs.back().schedule == "latest" ? "as late as their waits allow" : "as soon as they are issued");
}

std::string measure(const OutputFigures& output) {
  if (output.strict_measure == "exact bits")
    return fmt::format("{} of {} elements are not right to the bit",
                       grouped(static_cast<std::uint64_t>(output.strict_failing)),
                       grouped(static_cast<std::uint64_t>(output.elements)));
  std::string text =
      fmt::format("{}: worst {:.2e}, allowed {:.0e}", output.strict_measure, output.strict_worst, output.strict_limit);
  if (output.strict_failing > 0)
    text += fmt::format(
        ", {} of {} over it", grouped(static_cast<std::uint64_t>(output.strict_failing)),
        grouped(static_cast<std::uint64_t>(output.strict_measure == "absolute" ? output.elements : output.rows)));
  return text;
}

bool failed(const OutputFigures& output, bool paper) {
  return output.non_finite > 0 || output.never_written > 0 ||
         (paper ? output.paper_failing > 0 : output.strict_failing > 0);
}

void wrong_output(std::string& out, const OutputFigures& output, bool paper) {
  out += fmt::format("  - {}: {}\n", output.output,
                     paper ? fmt::format("{} of {} elements are off by more than 1e-2, absolutely and relatively",
                                         grouped(static_cast<std::uint64_t>(output.paper_failing)),
                                         grouped(static_cast<std::uint64_t>(output.elements)))
                           : measure(output));
  if (output.never_written > 0)
    out += fmt::format("    {} elements were never written, the first at {}{}\n",
                       grouped(static_cast<std::uint64_t>(output.never_written)), output.output,
                       output.first_never_written ? at(*output.first_never_written) : "[?]");
  else if (output.non_finite > 0)
    out += fmt::format("    {} elements are NaN or infinite\n", grouped(static_cast<std::uint64_t>(output.non_finite)));
  if (output.worst)
    out +=
        fmt::format("    worst: {}{} should be {:.6g} and is {:.6g}; relative L2 error of the whole output {:.2e}\n",
                    output.output, at(output.worst->index), output.worst->expected, output.worst->got, output.rel_l2);
}

void wrong_numbers(std::string& out, const CorrectLayer& layer, bool paper) {
  constexpr int kShown = 4;
  int wrong = 0;
  std::vector<std::string> right;
  for (const FamilyFigures& family : layer.families) {
    if (paper ? family.paper_passed || !family.paper_applies : family.strict_passed) {
      right.push_back(fmt::format("{} ({})", family.family, family.part));
      continue;
    }
    if (++wrong > kShown) continue;
    out += fmt::format("\nWrong on inputs '{}' ({}), {}:\n", family.family, family.what, family.part);
    for (const OutputFigures& output : family.outputs)
      if (failed(output, paper)) wrong_output(out, output, paper);
    for (const std::string& hint : family.hints) out += fmt::format("  - pattern: {}\n", head(hint, 500));
  }
  if (wrong > kShown) out += fmt::format("\n{} more parts are wrong.\n", wrong - kShown);
  if (!right.empty()) out += fmt::format("\nRight on: {}.\n", fmt::join(right, ", "));
}

// ---- executed and fast

void evidence(std::string& out, const ExecutedLayer& layer) {
  for (const InstructionCount& count : layer.families) {
    if (!count.target && count.thread_instructions == 0) continue;
    out += fmt::format("- {}{}: {} thread instructions", count.family, count.target ? " (asked for)" : "",
                       grouped(count.thread_instructions));
    if (count.thread_instructions == 0 && count.static_sass)
      out += *count.static_sass > 0 ? fmt::format("; {} in the machine code, none executed", *count.static_sass)
                                    : "; none in the machine code";
    if (count.flops > 0 && layer.required_flops > 0)
      out += fmt::format(", {:.1f} % of the task's {} FLOP",
                         100.0 * static_cast<double>(count.flops) / static_cast<double>(layer.required_flops),
                         layer.flops_formula);
    if (count.bytes.value_or(0) > 0 && layer.compulsory_bytes > 0)
      out += fmt::format(", {:.2f} x the bytes of inputs and outputs",
                         static_cast<double>(*count.bytes) / static_cast<double>(layer.compulsory_bytes));
    out += "\n";
  }
}

void launches(std::string& out, const ExecutedLayer& layer) {
  constexpr std::size_t kShown = 6;
  std::size_t shown = 0;
  for (const LaunchEvidence& launch : layer.launches) {
    if (launch.run != 0 || ++shown > kShown) continue;
    out += fmt::format("- launch {}: {} grid ({}, {}, {}), block ({}, {}, {}), {} B shared memory\n", shown,
                       head(demangle(launch.kernel), 200), launch.grid.x, launch.grid.y, launch.grid.z, launch.block.x,
                       launch.block.y, launch.block.z, launch.shared_bytes);
  }
  if (shown > kShown) out += fmt::format("- and {} more launches\n", shown - kShown);
}

// What is known of the time, and how far the goal is.
void speed(std::string& out, const FastLayer& layer, const FeedbackRequest& request) {
  if (!layer.speedup) {
    out += fmt::format("\nTime: {}.\n", layer.message.empty() ? "not measured" : layer.message);
    return;
  }
  const BaselineTime* library = layer.strongest();
  const double mine = layer.candidate ? layer.candidate->median_ms : NAN;
  out += fmt::format("\nTime: {:.4f} ms (median)", mine);
  if (library != nullptr)
    out += fmt::format("; {} {} needs {:.4f} ms", library->library, library->version, library->time.median_ms);
  out += fmt::format(": {:.3f} x its speed", *layer.speedup);
  if (request.best_speedup) out += fmt::format(" (your best before: {:.3f})", *request.best_speedup);
  out += ".\n";
  for (const KernelTime& kernel : layer.kernels)
    out += fmt::format("- {}: {:.4f} ms, {}\n", head(kernel.kernel, 200), kernel.median_ms,
                       plural(static_cast<std::size_t>(kernel.launches), "launch"));
  if (layer.roofline)
    out += fmt::format("That is {:.1f} % of what {} allows ({:.4f} ms for the FLOPs, {:.4f} ms for the bytes).\n",
                       100 * layer.roofline->share, layer.roofline->gpu, layer.roofline->flop_floor_ms,
                       layer.roofline->byte_floor_ms);
  for (const std::string& note : layer.notes) out += fmt::format("- {}\n", head(note, 300));
  if (request.target_speedup && *layer.speedup < *request.target_speedup && library != nullptr)
    out += fmt::format("The goal of {:g} x is {:.4f} ms.\n", *request.target_speedup,
                       library->time.median_ms / *request.target_speedup);
}

// ---- one verdict

std::string_view in_words(VerdictStatus status) {
  switch (status) {
    case VerdictStatus::kPassed: return "the kernel is correct and uses the target's instructions";
    case VerdictStatus::kCompileError: return "the kernel did not compile";
    case VerdictStatus::kPolicyViolation: return "the kernel uses what a candidate may not use";
    case VerdictStatus::kRuntimeError: return "the kernel did not run to its end";
    case VerdictStatus::kTimeout: return "the kernel did not come to an end in time";
    case VerdictStatus::kIncorrectShape:
    case VerdictStatus::kIncorrectDtype: return "run() does not take the task's tensors as they are";
    case VerdictStatus::kIncorrectNumerical: return "the kernel ran and its results are wrong";
    case VerdictStatus::kTargetNotExecuted:
      return "the results are right, but the target's own instructions did not do the work";
    case VerdictStatus::kMeasurementVoid: return "the results are right; the time could not be measured";
    case VerdictStatus::kInfraError:
      return "the judge could not judge it; this says nothing about the kernel's results";
  }
  return "";
}

void printed(std::string& out, const CorrectLayer& layer) {
  if (layer.candidate_output.empty()) return;
  out += "\nYour program printed this (its own words; the judge reads none of it):\n" +
         quoted(head(layer.candidate_output, 1000));
}

void explain(std::string& out, const Verdict& verdict, const FeedbackRequest& request) {
  const VerdictFields& fields = verdict.fields();
  const std::string_view source = *request.extraction.source;
  switch (fields.status) {
    case VerdictStatus::kCompileError: return compile_errors(out, fields.compile, source);
    case VerdictStatus::kPolicyViolation:
      for (const PolicyFinding& finding : fields.compile.policy)
        out += fmt::format("- {}: {} ({})\n", finding.where, head(finding.what, 500), finding.rule);
      return run_failure(out, fields.correct, source);
    case VerdictStatus::kIncorrectNumerical: wrong_numbers(out, fields.correct, fields.rules == RuleSet::kPaper); break;
    case VerdictStatus::kInfraError:
    case VerdictStatus::kRuntimeError:
    case VerdictStatus::kTimeout:
    case VerdictStatus::kIncorrectShape:
    case VerdictStatus::kIncorrectDtype: run_failure(out, fields.correct, source); break;
    case VerdictStatus::kPassed:
    case VerdictStatus::kTargetNotExecuted:
    case VerdictStatus::kMeasurementVoid: break;
  }
  if (!fields.executed.families.empty()) {
    out += "\nInstructions executed, in the run with the least of them:\n";
    evidence(out, fields.executed);
  }
  if (fields.status == VerdictStatus::kPassed || fields.status == VerdictStatus::kMeasurementVoid)
    speed(out, fields.fast, request);
  if (!fields.compile.kernels.empty() || !fields.executed.launches.empty()) out += "\nAs compiled and launched:\n";
  resources(out, fields.compile);
  launches(out, fields.executed);
  printed(out, fields.correct);
}

// Not where trap, figures or diagnostics tell it again, longer.
bool message_adds(const VerdictFields& fields) {
  return !fields.message.empty() && !(fields.correct.failure && fields.correct.failure->trap) &&
         fields.compile.policy.empty() && fields.status != VerdictStatus::kTargetNotExecuted &&
         fields.status != VerdictStatus::kIncorrectNumerical &&
         !(fields.status == VerdictStatus::kCompileError && !fields.compile.diagnostics.empty());
}

void explain_all(std::string& out, const FeedbackRequest& request) {
  const Verdict& last = request.verdicts.back();
  const VerdictFields& fields = last.fields();
  out += fmt::format("{}: {}.\n", to_string(fields.status), in_words(fields.status));
  if (request.verdicts.size() > 1)
    out += fmt::format("It passed on {} and was then judged on another size.\n",
                       plural(request.verdicts.size() - 1, "workload"));
  std::vector<std::string> axes;
  for (const auto& [axis, value] : fields.axes) axes.push_back(fmt::format("{} = {}", axis, value));
  out +=
      fmt::format("Judged with {}, {} rules, on {}.\n", fmt::join(axes, ", "), to_string(fields.rules), fields.device);
  if (message_adds(fields)) out += head(fields.message, 1500) + "\n";
  if (fields.status == VerdictStatus::kTargetNotExecuted) out += head(fields.executed.message, 1500) + "\n";
  explain(out, last, request);
}

// What the answer lacked, when there was no kernel in it.
std::string missing_kernel(const FeedbackRequest& request) {
  std::string text = "NO_KERNEL: there was nothing to judge.\n";
  if (request.outcome == "truncated")
    text += "Your answer was cut off at its limit of tokens before the kernel was complete. Think and write less.\n";
  else if (request.outcome == "empty")
    text += "Your answer was empty: the whole limit of tokens may have gone into reasoning. Answer with the kernel.\n";
  else if (request.outcome != "answer")
    text += fmt::format("Your answer ended as '{}'{}\n", request.outcome,
                        request.outcome_detail.empty() ? "." : ": " + head(request.outcome_detail, 400));
  return text + request.extraction.report + "\n";
}

}  // namespace

std::string feedback(const FeedbackRequest& request) {
  std::string out = fmt::format("Turn {} of {}: ", request.turn, request.turns);
  if (request.verdicts.empty()) {
    out += missing_kernel(request);
  } else {
    explain_all(out, request);
    if (!request.extraction.as_asked) out += "\n" + request.extraction.report + "\n";
    if (request.outcome == "truncated") out += "Your answer was cut off at its limit of tokens.\n";
  }
  const int left = request.turns - request.turn;
  const std::string end = left <= 0 ? std::string("\nThis was the last turn.\n")
                                    : fmt::format("\n{} left. Answer with the whole file in one ```cuda block.\n",
                                                  plural(static_cast<std::size_t>(left), "turn"));
  if (out.size() + end.size() > kLargestFeedback)
    out = head(out, kLargestFeedback - end.size() - 40) + "\n(the rest was left out)\n";
  return out + end;
}

}  // namespace ptxbench::agent
