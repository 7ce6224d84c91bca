#include "ptxbench/judge/outcome.h"

#include <fmt/format.h>

#include "ptxbench/base/symbol.h"
#include "ptxbench/toolchain/build.h"

namespace ptxbench::judge {
namespace {

using schema::VerdictStatus;

schema::TrapRecord trap_record(const wire::TrapRecord& trap, const std::string& kernel) {
  schema::TrapRecord record;
  record.kind = trap.kind;
  record.rule = trap.rule;
  record.message = toolchain::author_text(trap.message);
  record.kernel = demangle(kernel);
  record.instruction = trap.instruction;
  record.source_file = toolchain::author_text(trap.file);
  record.source_line = static_cast<int>(trap.line);
  record.ptx_line = static_cast<int>(trap.ptx_line);
  record.cta = {trap.cta.x, trap.cta.y, trap.cta.z};
  record.warp = static_cast<int>(trap.warp);
  record.lane = static_cast<int>(trap.lane);
  record.address = trap.address;
  return record;
}

RunProblem from_trap(const wire::TrapRecord& trap, const std::string& kernel) {
  RunProblem problem;
  problem.failure.what = "trap";
  problem.failure.trap = trap_record(trap, kernel);
  const std::string place = trap.file.empty() ? fmt::format("PTX line {}", trap.ptx_line)
                                              : fmt::format("{}:{}", toolchain::author_text(trap.file), trap.line);
  // A GPU seldom knows the place.
  const bool placed = !trap.file.empty() || trap.ptx_line > 0;
  problem.message = fmt::format("{} in kernel {}{}: {}", trap.kind, kernel.empty() ? "(unnamed)" : demangle(kernel),
                                placed ? " at " + place : "", toolchain::author_text(trap.message));
  if (!trap.rule.empty()) problem.message += fmt::format(" ({})", trap.rule);
  if (trap.kind == "work_limit" || trap.kind == "deadline") problem.status = VerdictStatus::kTimeout;
  if (trap.kind == "unsupported_instruction") {
    problem.status = VerdictStatus::kInfraError;
    problem.message = fmt::format("the emulator cannot execute this kernel: {} ({})", trap.message, place);
  }
  return problem;
}

// The launch that trapped; nullptr when none did.
const wire::LaunchRecord* trapped_launch(const RunOutcome& outcome) {
  for (const wire::LaunchRecord& launch : outcome.launches)
    if (launch.trap) return &launch;
  return nullptr;
}

// The load of device code that the artifact does not hold, whatever run() made of the refusal.
const wire::Refusal* broken_rule(const RunOutcome& outcome) {
  for (const wire::Refusal& refusal : outcome.refusals)
    if (refusal.call == wire::kForeignModule) return &refusal;
  return nullptr;
}

RunProblem from_broken_rule(const wire::Refusal& refusal) {
  RunProblem problem;
  problem.status = VerdictStatus::kPolicyViolation;
  problem.failure.what = "forbidden";
  problem.message = fmt::format("the host code tried what a candidate may not do: {}: {}", refusal.call, refusal.why);
  return problem;
}

// " Refused calls: cudaGraphCreate (why)." when there are any.
std::string refused(const RunOutcome& outcome) {
  std::string text;
  for (const wire::Refusal& refusal : outcome.refusals)
    text += fmt::format("{}{} ({})", text.empty() ? "; refused: " : ", ", refusal.call, refusal.why);
  // The API tells its caller a number only; the reason is worth more.
  if (!outcome.failures.empty()) {
    const wire::ApiFailure& last = outcome.failures.back();
    text += fmt::format("; the last failed CUDA call (error {}): {}", last.code, last.message);
  }
  return text;
}

RunProblem from_end(const RunOutcome& outcome) {
  RunProblem problem;
  auto& [status, message, failure] = problem;
  switch (outcome.end) {
    case HostEnd::kReturned:
      failure.what = outcome.return_code != 0 ? "returned an error" : "device error";
      message =
          outcome.return_code != 0
              ? fmt::format("run() returned the error {}: {}", outcome.return_code, outcome.error_text)
              : fmt::format("the device ended with CUDA error {}: {}", outcome.sticky_error, outcome.sticky_message);
      break;
    case HostEnd::kLoadFailed:
      failure.what = "load failed";
      message = fmt::format("the compiled library could not be loaded: {}", outcome.error_text);
      break;
    case HostEnd::kExited:
      failure.what = "exited";
      message = fmt::format("the host code ended its process with exit code {} instead of returning from run()",
                            outcome.exit_code);
      break;
    case HostEnd::kSignalled:
      failure.what = "signal";
      message = fmt::format("the host code died of signal {}", outcome.signal);
      break;
    case HostEnd::kForbidden:
      status = VerdictStatus::kPolicyViolation;
      failure.what = "forbidden";
      message = fmt::format("the host code tried what a candidate may not do: {}", outcome.forbidden);
      break;
    case HostEnd::kHostTimeout:
      status = VerdictStatus::kTimeout;
      failure.what = "timeout";
      message = "the host code did not return from run() in time";
      if (!outcome.error_text.empty()) message += ": it " + outcome.error_text;
      break;
    case HostEnd::kDeviceTimeout:
      status = VerdictStatus::kTimeout;
      failure.what = "timeout";
      message = "a kernel did not end in time";
      break;
    case HostEnd::kHostLimit:
      failure.what = "limit";
      message = fmt::format("the host code was ended: it {}", outcome.error_text);
      break;
    case HostEnd::kProtocol:
      failure.what = "protocol";
      message = fmt::format("the host process sent what is no message of the device protocol: {}", outcome.error_text);
      break;
  }
  message += refused(outcome);
  return problem;
}

}  // namespace

std::optional<RunProblem> problem_of(const RunOutcome& outcome) {
  const wire::LaunchRecord* trapped = trapped_launch(outcome);
  const wire::Refusal* broken = broken_rule(outcome);
  const bool returned = outcome.end == HostEnd::kReturned;
  if (returned && outcome.return_code == 0 && trapped == nullptr && outcome.sticky_error == 0 && broken == nullptr)
    return std::nullopt;
  // A trap explains what the host code made of it: an error that it returns, an exit, a wait without end. It excuses no
  // broken rule.
  const bool rule_kept = outcome.end != HostEnd::kForbidden && outcome.end != HostEnd::kProtocol;
  RunProblem problem;
  if (broken != nullptr) {
    problem = from_broken_rule(*broken);
  } else if (trapped != nullptr && rule_kept) {
    problem = from_trap(*trapped->trap, trapped->kernel);
    if (!returned && outcome.end != HostEnd::kDeviceTimeout) problem.message += "; then " + from_end(outcome).message;
  } else {
    problem = from_end(outcome);
  }
  problem.failure.message = problem.message;
  for (const wire::Refusal& refusal : outcome.refusals)
    problem.failure.refusals.push_back(fmt::format("{}: {}", refusal.call, refusal.why));
  return problem;
}

}  // namespace ptxbench::judge
