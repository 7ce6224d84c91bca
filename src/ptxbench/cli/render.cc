#include "ptxbench/cli/render.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

namespace ptxbench::cli {
namespace {

using namespace schema;

// Lines of one layer: its name and state stand once, at the left of the first line.
class Page {
 public:
  explicit Page(bool colour) : colour_(colour) {}

  void layer(std::string_view name, LayerState state) {
    std::string shown(to_string(state));
    std::replace(shown.begin(), shown.end(), '_', ' ');
    const int shade = state == LayerState::kPassed   ? 32
                      : state == LayerState::kFailed ? 31
                      : state == LayerState::kVoid   ? 33
                                                     : 90;
    heading_ = fmt::format("{:<10}{}  ", name, paint(fmt::format("{:<12}", shown), shade));
  }
  void line(std::string_view text) {
    out_ += heading_.empty() ? std::string(24, ' ') : heading_;
    heading_.clear();
    out_ += text;
    out_ += '\n';
  }
  // Every line of `text`, at the layer's indent.
  void lines(std::string_view text) {
    while (!text.empty()) {
      const std::size_t end = std::min(text.find('\n'), text.size());
      line(text.substr(0, end));
      text.remove_prefix(std::min(end + 1, text.size()));
    }
  }
  void raw(std::string_view text) { out_ += text; }
  void close() {
    if (!heading_.empty()) line("");
  }
  std::string paint(const std::string& text, int shade) const {
    return colour_ ? fmt::format("\x1b[{}m{}\x1b[0m", shade, text) : text;
  }
  std::string take() { return std::move(out_); }

 private:
  bool colour_;
  std::string heading_, out_;
};

// 1234567 -> "1,234,567"
std::string grouped(std::uint64_t value) {
  std::string digits = std::to_string(value);
  for (int at = static_cast<int>(digits.size()) - 3; at > 0; at -= 3) digits.insert(static_cast<std::size_t>(at), ",");
  return digits;
}

std::string scaled(double value, const char* unit) {
  static constexpr const char* kPrefixes[] = {"", "k", "M", "G", "T", "P"};
  int step = 0;
  for (; value >= 1000 && step < 5; ++step) value /= 1000;
  return fmt::format("{:.{}f} {}{}", value, step == 0 ? 0 : 2, kPrefixes[step], unit);
}

std::string at(const std::vector<std::int64_t>& index) { return fmt::format("[{}]", fmt::join(index, ", ")); }

void render_compile(Page& page, const CompileLayer& layer) {
  page.layer("compile", layer.state);
  if (!layer.message.empty()) page.lines(layer.message);
  for (const PolicyFinding& finding : layer.policy)
    page.line(fmt::format("{}: {} ({})", finding.where, finding.what, finding.rule));
  int shown = 0;
  for (const CompilerMessage& message : layer.diagnostics) {
    if (message.severity != "error" && layer.state != LayerState::kFailed) continue;
    if (++shown > 8) {
      page.line(fmt::format("... and {} more", layer.diagnostics.size() - 8));
      break;
    }
    page.line(fmt::format("{}:{}: {}: {}", message.file, message.line, message.severity, message.text));
  }
  if (layer.state == LayerState::kPassed)
    page.line(layer.cached ? "from the cache" : fmt::format("{:.1f} s", layer.seconds));
  for (const auto& kernel : layer.kernels)
    page.line(fmt::format(
        "{}: {} registers, {}, {} B static shared memory", kernel.name, kernel.registers,
        kernel.spill_store_bytes + kernel.spill_load_bytes == 0
            ? "no spills"
            : fmt::format("spills {} B stored {} B loaded", kernel.spill_store_bytes, kernel.spill_load_bytes),
        kernel.static_shared_bytes));
  page.close();
}

void render_output(Page& page, const FamilyFigures& family, const OutputFigures& output) {
  std::string line = fmt::format("{:<10} {:<4}", family.family, output.output);
  line += output.strict_measure == "exact bits"
              ? fmt::format(" strict: {} of {} elements differ from the exact bits", grouped(output.strict_failing),
                            grouped(output.elements))
              : fmt::format(" strict: {} worst {:.2e} of {:.0e}{}", output.strict_measure, output.strict_worst,
                            output.strict_limit,
                            output.strict_failing ? fmt::format(", {} over it", grouped(output.strict_failing)) : "");
  line += fmt::format("; paper: {} of {} fail{}; max abs {:.2e}, rel L2 {:.2e}", grouped(output.paper_failing),
                      grouped(output.elements), family.paper_applies ? "" : " (for information)", output.max_abs_error,
                      output.rel_l2);
  page.line(line);
  if (output.never_written)
    page.line(fmt::format("           {} elements never written, first at {}", grouped(output.never_written),
                          output.first_never_written ? at(*output.first_never_written) : "?"));
  else if (output.non_finite)
    page.line(fmt::format("           {} elements are NaN or infinite", grouped(output.non_finite)));
  if (output.strict_failing && output.worst)
    page.line(fmt::format("           worst {}{}: expected {:.6g}, got {:.6g}", output.output, at(output.worst->index),
                          output.worst->expected, output.worst->got));
}

void render_sanitizer(Page& page, const SanitizerRun& run) {
  const std::size_t found = run.findings.size();
  if (found > 0)
    page.line(fmt::format("{}: {} finding{} in {:.1f} s", run.tool, found, found == 1 ? "" : "s", run.seconds));
  else if (run.complete)
    page.line(fmt::format("{}: nothing found in {:.1f} s", run.tool, run.seconds));
  if (!run.complete) page.lines(fmt::format("{}: NOT COMPLETE: {}", run.tool, run.message));
  for (const SanitizerFinding& finding : run.findings) {
    std::string line = fmt::format("  {} ({}): {}", finding.severity, finding.kind, finding.message);
    if (!finding.kernel.empty()) line += ", kernel " + finding.kernel;
    if (!finding.source_file.empty()) line += fmt::format(", {}:{}", finding.source_file, finding.source_line);
    if (finding.address) line += fmt::format(", address 0x{:x}", *finding.address);
    if (finding.count > 1) line += fmt::format(", {} times", grouped(static_cast<std::uint64_t>(finding.count)));
    page.line(line);
  }
}

void render_correct(Page& page, const CorrectLayer& layer) {
  page.layer("correct", layer.state);
  if (!layer.message.empty()) page.lines(layer.message);
  if (layer.failure) {
    if (const auto& trap = layer.failure->trap) {
      if (!trap->source_file.empty()) page.line(fmt::format("at {}:{}", trap->source_file, trap->source_line));
      if (!trap->instruction.empty()) page.line(fmt::format("{}  (PTX line {})", trap->instruction, trap->ptx_line));
      page.line(fmt::format("kernel {}, CTA ({},{},{}), warp {}, lane {}{}", trap->kernel, trap->cta.x, trap->cta.y,
                            trap->cta.z, trap->warp, trap->lane,
                            trap->address ? fmt::format(", address 0x{:x}", *trap->address) : ""));
      if (!trap->rule.empty()) page.lines("rule: " + trap->rule);
    }
    for (const std::string& refusal : layer.failure->refusals) page.line("refused: " + refusal);
  }
  for (const SanitizerRun& run : layer.sanitizers) render_sanitizer(page, run);
  for (const FamilyFigures& family : layer.families) {
    for (const OutputFigures& output : family.outputs) render_output(page, family, output);
    for (const std::string& hint : family.hints) page.line("           hint: " + hint);
  }
  if (!layer.candidate_output.empty()) {
    page.line("the candidate printed (never read as a result):");
    std::string_view text = layer.candidate_output;
    page.lines(text.substr(0, std::min<std::size_t>(text.size(), 2000)));
  }
  page.close();
}

void render_audit(Page& page, const Audit& audit) {
  page.lines(fmt::format("audit by {}{}{}: {}", audit.tool, audit.version.empty() ? "" : " ", audit.version,
                         audit.agrees         ? fmt::format("agrees ({:.1f} s)", audit.seconds)
                         : audit.rows.empty() ? "NOT DONE: " + audit.message
                                              : "DISAGREES: " + audit.message));
  for (const AuditRow& row : audit.rows)
    page.line(fmt::format("  {:<8} {} counted, {} audited{}", row.family, grouped(row.counted), grouped(row.audited),
                          row.counted == row.audited ? "" : "  DIFFERS"));
}

void render_executed(Page& page, const ExecutedLayer& layer) {
  page.layer("executed", layer.state);
  if (!layer.message.empty()) page.lines(layer.message);
  for (const InstructionCount& count : layer.families) {
    std::string line = fmt::format("{:<8}", count.family);
    if (count.static_sass) line += fmt::format(" {} in SASS,", grouped(static_cast<std::uint64_t>(*count.static_sass)));
    if (count.static_ptx) line += fmt::format(" {} in PTX,", grouped(static_cast<std::uint64_t>(*count.static_ptx)));
    line += fmt::format(" {} predicate-true thread instructions", grouped(count.thread_instructions));
    if (count.flops) {
      line += ", " + scaled(static_cast<double>(count.flops), "FLOP");
      if (layer.required_flops)
        line += fmt::format(" = {:.1f} % of {}",
                            100.0 * static_cast<double>(count.flops) / static_cast<double>(layer.required_flops),
                            layer.flops_formula);
    }
    if (count.bytes.value_or(0) > 0) {
      line += ", " + scaled(static_cast<double>(*count.bytes), "B");
      if (layer.compulsory_bytes)
        line += fmt::format(" = {:.2f} x the compulsory traffic",
                            static_cast<double>(*count.bytes) / static_cast<double>(layer.compulsory_bytes));
    }
    if (count.target) line += "  (target)";
    page.line(line);
  }
  for (const OpcodeCount& count : layer.opcodes)
    page.line(fmt::format("  {}: {} places, {} warp and {} predicate-true thread instructions", count.opcode,
                          count.places, grouped(count.warp_instructions), grouped(count.thread_instructions)));
  if (!layer.source.empty() && layer.source != "emulator")
    page.line(fmt::format("counted by {}{}{}", layer.source,
                          layer.bytes_note.empty() ? "" : "; bytes not known: ", layer.bytes_note));
  if (layer.audit) render_audit(page, *layer.audit);
  page.close();
}

void render_comparison(Page& page, const schema::DeviceComparison& comparison) {
  page.raw(fmt::format("\ncompared with {}: {}\n", comparison.other,
                       comparison.agrees ? "agrees" : "DISAGREES: " + comparison.message));
  for (const schema::OutputDifference& output : comparison.outputs)
    page.raw(fmt::format("  {}: relative L2 {:.3g} of {:.3g}, largest difference {:.3g}\n", output.output,
                         output.rel_l2, output.limit, output.max_abs_error));
  for (const schema::CountDifference& count : comparison.counts)
    page.raw(fmt::format("  {}: {} {} here, {} there\n", count.family, grouped(count.here), count.what,
                         grouped(count.there)));
}

void render_fast(Page& page, const schema::FastLayer& layer) {
  page.layer("fast", layer.state);
  if (!layer.message.empty()) page.lines(layer.message);
  const auto series = [](const schema::TimeSeries& s) {
    return fmt::format("{:.4f} ms median of {} calls ({:.4f} to {:.4f}, spread {:.1f} %)", s.median_ms,
                       s.samples_ms.size(), s.min_ms, s.max_ms, 100 * s.spread);
  };
  if (layer.speedup) page.line(fmt::format("speed-up {:.3f} against the strongest baseline", *layer.speedup));
  if (layer.candidate) {
    std::string line = "candidate " + series(*layer.candidate);
    if (layer.tflops) line += fmt::format(", {:.0f} TFLOP/s", *layer.tflops);
    if (layer.roofline)
      line += fmt::format(", {:.1f} % of the roofline of {}", 100 * layer.roofline->share, layer.roofline->gpu);
    page.line(line);
  }
  if (layer.kernels.size() > 1)
    for (const schema::KernelTime& kernel : layer.kernels)
      page.line(fmt::format("  {} x {}: {:.4f} ms", kernel.launches, kernel.kernel, kernel.median_ms));
  for (const schema::BaselineTime& baseline : layer.baselines)
    page.line(fmt::format("{} {}: {}, best of {} plans: {}", baseline.library, baseline.version, series(baseline.time),
                          baseline.plans, baseline.algorithm));
  if (layer.verified_calls > 0)
    page.line(fmt::format("{} calls verified: all elements scanned, {} rows held against exact values",
                          layer.verified_calls, layer.verified_rows));
  for (const std::string& note : layer.notes) page.line("note: " + note);
  page.close();
}

}  // namespace

std::string render(const schema::Verdict& verdict, bool colour) {
  const VerdictFields& fields = verdict.fields();
  Page page(colour);
  const bool passed = fields.status == VerdictStatus::kPassed;
  page.raw(page.paint(std::string(to_string(fields.status)), passed ? 32 : 31));
  page.raw("  " + fields.task);
  for (const auto& [axis, value] : fields.axes) page.raw(fmt::format(" {}={}", axis, value));
  page.raw("\n");
  if (!fields.message.empty()) page.raw(fields.message + "\n");
  page.raw(fmt::format(
      "{} workload {}{}; target {}, device {}, {} rules\n\n", fields.emulator_sized ? "emulator-sized" : "full",
      fields.workload_uuid,
      fields.full_task.empty() || fields.full_task == fields.task ? "" : " standing for " + fields.full_task,
      fields.target, fields.device, to_string(fields.rules)));
  render_compile(page, fields.compile);
  render_correct(page, fields.correct);
  render_executed(page, fields.executed);
  render_fast(page, fields.fast);
  if (fields.comparison) render_comparison(page, *fields.comparison);
  page.raw(fmt::format("\n{:.1f} s in all", fields.seconds));
  for (const Phase& phase : fields.phases)
    page.raw(fmt::format("{}{} {:.0f} ms", &phase == &fields.phases.front() ? ": " : ", ", phase.name, phase.ms));
  if (!fields.sandbox.empty()) page.raw(", sandbox: " + fields.sandbox);
  if (fields.seed) page.raw(fmt::format(", seed {}", *fields.seed));
  page.raw("\n");
  return page.take();
}

}  // namespace ptxbench::cli
