#include "ptxbench/judge/tool_runs.h"

#include <fmt/format.h>
#include <unistd.h>

#include <chrono>
#include <cstdlib>

#include "ptxbench/judge/audit.h"
#include "ptxbench/judge/candidate_session.h"
#include "ptxbench/judge/outcome.h"

namespace ptxbench::judge {
namespace {

namespace fs = std::filesystem;
using schema::VerdictStatus;
using std::chrono::milliseconds;
using Clock = std::chrono::steady_clock;

constexpr int kSlowdown = 20;  // of a kernel under a tool, and more: racecheck looks at every access
constexpr milliseconds kStartLimit{60'000};
constexpr milliseconds kReportLimit{60'000};  // from the end of the device process to that of the tool
constexpr milliseconds kVersionLimit{10'000};
constexpr char kReport[] = "report", kLog[] = "log";
constexpr std::uint64_t kReportBytes = std::uint64_t{256} << 20;

std::string environment(const char* name) {
  const char* value = std::getenv(name);
  return value != nullptr ? value : "";
}

double seconds_since(Clock::time_point start) { return std::chrono::duration<double>(Clock::now() - start).count(); }

// The last lines of what a tool wrote, in one line. Only shown, never read.
std::string last_words(std::string text) {
  constexpr std::size_t kMost = 600;
  while (!text.empty() && std::isspace(static_cast<unsigned char>(text.back()))) text.pop_back();
  if (text.size() > kMost) text.erase(0, text.size() - kMost);
  for (char& c : text)
    if (c == '\n') c = ' ';
  return text;
}

// An error with all that the processes said, as one message.
std::string in_full(const Error& error, std::string_view tool, const std::string& log) {
  std::string text = error.message;
  for (const std::string& note : error.notes)
    if (const std::string words = last_words(note); !words.empty()) text += ": " + words;
  if (const std::string words = last_words(log); !words.empty()) text += fmt::format("; {} says: {}", tool, words);
  if (!error.hint.empty()) text += fmt::format(" ({})", error.hint);
  return text;
}

std::string version_of(const fs::path& tool, const std::vector<std::string>& environment) {
  Command command;
  command.argv = {tool.string(), "--version"};
  command.environment = environment;
  command.stdout_to = OutputTo::capture(16 << 10);
  const Result<Finished> answer = run(command, kVersionLimit);
  constexpr std::string_view kMark = "Version ";  // "Version 2025.3.1.0 (build 36398880)"
  const std::size_t at = answer ? answer->out.bytes.find(kMark) : std::string::npos;
  if (at == std::string::npos) return "";
  const std::string_view rest = std::string_view(answer->out.bytes).substr(at + kMark.size());
  return std::string(rest.substr(0, rest.find_first_not_of("0123456789.")));
}

// prefix: what stands before the device program's argv.
StartedTool start(TempDir folder, DeviceProgram program, std::vector<std::string> prefix) {
  program.start_limit = kStartLimit;
  auto version = std::async(std::launch::async, version_of, fs::path(prefix.front()), program.environment);
  program.wrapper = std::move(prefix);
  auto device = std::async(std::launch::async, [program] { return DeviceProcess::start(program); });
  return {std::move(folder), std::move(device), std::move(version)};
}

// The candidate's run under a tool, up to the end of the tool itself. An Error says why the tool did not get so far.
Result<RunOutcome> execute(StartedTool& started, const ToolRun& what) {
  RunRequest request = what.request;
  request.limits.wall *= kSlowdown;
  request.limits.host_cpu *= kSlowdown;
  const double limit = static_cast<double>(request.limits.wall.count()) / 1000;
  PTXBENCH_TRY(DeviceProcess device, started.device.get());
  PTXBENCH_TRY(CandidateSession session, CandidateSession::open(std::move(device), std::move(request)));
  PTXBENCH_TRY(RunOutcome outcome, session.run());
  if (outcome.end == HostEnd::kDeviceTimeout)
    return fail(ErrorKind::kTimeout, fmt::format("a kernel did not end within {:g} s under the tool", limit));
  DeviceProcess& process = session.device();
  if (!process.broken()) static_cast<void>(process.call(wire::Shutdown{}));
  const Exit& exit = process.child().wait(kReportLimit);
  if (exit.how == Ending::kExited) return outcome;
  Error error{ErrorKind::kUnavailable, "the tool did not end by itself: it " + exit.describe(), {}, {}, {}};
  error.notes = {process.child().captured_stderr().bytes};
  return fail(std::move(error));
}

// Whether the tool saw the whole run that was judged.
Status saw_all(const RunOutcome& outcome, const ToolRun& what) {
  if (const auto problem = problem_of(outcome))
    return fail(ErrorKind::kUnavailable, "the run under the tool did not end well: " + problem->message);
  if (what.launches && *what.launches != outcome.launches.size())
    return fail(ErrorKind::kUnavailable, fmt::format("under the tool the candidate launched {} kernels, without it {}",
                                                     outcome.launches.size(), *what.launches));
  return {};
}

Status sanitize(Result<StartedTool>& started, const ToolRun& what, std::vector<schema::SanitizerFinding>& findings) {
  if (!started) return fail(started.error());
  const Result<RunOutcome> outcome = execute(*started, what);
  const Result<std::string> xml = read_file(started->folder.path() / kReport, kReportBytes);
  Result<std::vector<schema::SanitizerFinding>> read =
      xml ? read_sanitizer_report(*xml)
          : fail(ErrorKind::kProtocol, "compute-sanitizer wrote no report: " + xml.error().message);
  // What is there counts, however the run ended.
  if (read) findings = std::move(*read);
  const Error* failed = !outcome ? &outcome.error() : !read ? &read.error() : nullptr;
  if (failed == nullptr) return saw_all(*outcome, what);
  const std::string log = read_file(started->folder.path() / kLog, kReportBytes).value_or("");
  return fail(failed->kind, in_full(*failed, "compute-sanitizer", log));
}

Result<schema::Audit> audit(Result<StartedTool>& started, const ToolRun& what,
                            const std::vector<schema::InstructionCount>& counted) {
  if (!started) return fail(started.error());
  const Result<RunOutcome> outcome = execute(*started, what);
  const Result<std::string> text = read_file(started->folder.path() / kReport, kReportBytes);
  if (!outcome) return fail(outcome.error().kind, in_full(outcome.error(), "ncu", text.value_or("")));
  if (!text) return fail(ErrorKind::kProtocol, "ncu wrote no report: " + text.error().message);
  PTXBENCH_TRY_STATUS(saw_all(*outcome, what));
  PTXBENCH_TRY(const std::vector<AuditedLaunch> launches, read_audit_report(*text));
  return compare_audit(counted, launches);
}

bool worth_a_run(const schema::VerdictFields& fields) {
  switch (fields.status) {
    case VerdictStatus::kPassed:
    case VerdictStatus::kRuntimeError:
    case VerdictStatus::kIncorrectNumerical:
    case VerdictStatus::kTargetNotExecuted:
    case VerdictStatus::kMeasurementVoid: return true;
    default: return false;
  }
}

}  // namespace

Result<fs::path> locate_cuda_tool(std::string_view name) {
  std::vector<fs::path> folders;
  const std::string path = environment("PATH");
  for (std::size_t at = 0; at <= path.size();) {
    const std::size_t end = std::min(path.find(':', at), path.size());
    // A relative folder would depend on where ptxbench was started.
    if (end > at && path[at] == '/') folders.emplace_back(path.substr(at, end - at));
    at = end + 1;
  }
  if (const std::string home = environment("CUDA_HOME"); !home.empty()) folders.push_back(fs::path(home) / "bin");
  folders.emplace_back("/usr/local/cuda/bin");
  std::error_code ignored;
  for (const fs::path& folder : folders) {
    const fs::path file = folder / name;
    if (fs::is_regular_file(file, ignored) && ::access(file.c_str(), X_OK) == 0) return file;
  }
  return fail(ErrorKind::kNotFound,
              fmt::format("'{}' is not on PATH, in $CUDA_HOME/bin or in /usr/local/cuda/bin", name),
              "it is part of the CUDA toolkit");
}

Result<StartedTool> start_sanitizer(SanitizerTool tool, const DeviceProgram& program) {
  PTXBENCH_TRY(const fs::path sanitizer, locate_cuda_tool("compute-sanitizer"));
  PTXBENCH_TRY(TempDir folder, TempDir::create("ptxbench-sanitizer"));
  auto prefix = sanitizer_prefix(sanitizer, tool, folder.path() / kReport, folder.path() / kLog);
  return start(std::move(folder), program, std::move(prefix));
}

Result<StartedTool> start_ncu(const DeviceProgram& program) {
  PTXBENCH_TRY(const fs::path ncu, locate_cuda_tool("ncu"));
  PTXBENCH_TRY(TempDir folder, TempDir::create("ptxbench-audit"));
  auto prefix = audit_prefix(ncu, folder.path() / kReport);
  return start(std::move(folder), program, std::move(prefix));
}

schema::SanitizerRun run_sanitizer(SanitizerTool tool, Result<StartedTool>& started, const ToolRun& what) {
  const Clock::time_point start = Clock::now();
  schema::SanitizerRun record;
  record.tool = to_string(tool);
  const Status done = sanitize(started, what, record.findings);
  record.complete = done.has_value();
  if (!done) record.message = in_full(done.error(), "", "");
  record.seconds = seconds_since(start);
  return record;
}

schema::Audit run_audit(Result<StartedTool> started, const ToolRun& what,
                        const std::vector<schema::InstructionCount>& counted) {
  const Clock::time_point start = Clock::now();
  Result<schema::Audit> done = audit(started, what, counted);
  schema::Audit record;
  if (done)
    record = std::move(*done);
  else
    record.message = in_full(done.error(), "", "");
  record.tool = "ncu";
  if (started) record.version = started->version.get();
  record.seconds = seconds_since(start);
  return record;
}

ToolRuns::ToolRuns(Draft& draft, const DeviceProgram& program) : draft_(draft), program_(program) { start_next(); }

void ToolRuns::start_next() {
  const std::vector<SanitizerTool>& tools = draft_.request().sanitize;
  started_.reset();
  if (next_ < tools.size()) started_ = start_sanitizer(tools[next_++], program_);
}

void ToolRuns::sanitize(SanitizerTool tool, const ToolRun& what) {
  const std::string name = fmt::format("sanitize {}", to_string(tool));
  draft_.say(name);
  Result<StartedTool> started = std::move(*started_);
  start_next();  // meanwhile
  draft_.take_sanitizer(draft_.phase(name.c_str(), [&] { return run_sanitizer(tool, started, what); }));
  std::vector<schema::ToolVersion>& versions = draft_.fields().versions;
  if (started && (versions.empty() || versions.back().name != "compute-sanitizer"))
    versions.push_back({"compute-sanitizer", started->version.get()});
}

void ToolRuns::run(const std::function<Result<std::vector<HostTensor>>()>& inputs_of_run) {
  const EvaluateRequest& request = draft_.request();
  if ((request.sanitize.empty() && !request.audit) || !worth_a_run(draft_.fields())) return;
  const Result<std::vector<HostTensor>> inputs = draft_.phase("inputs", inputs_of_run);
  if (!inputs) return draft_.end(VerdictStatus::kInfraError, inputs.error().message);
  ToolRun what{request.run, {}};
  what.request.artifact = request.build.library;
  what.request.arguments = draft_.arguments(*inputs);
  const schema::CorrectLayer& correct = draft_.fields().correct;
  // A run that failed stopped somewhere.
  if (!correct.failure) what.launches = static_cast<std::size_t>(correct.runs.front().launches);
  for (const SanitizerTool tool : request.sanitize) sanitize(tool, what);
  schema::ExecutedLayer& executed = draft_.fields().executed;
  const bool counted = executed.state == schema::LayerState::kPassed || executed.state == schema::LayerState::kFailed;
  if (!request.audit || !counted) return;
  draft_.say("audit");
  executed.audit = draft_.phase("audit", [&] { return run_audit(start_ncu(program_), what, executed.families); });
}

}  // namespace ptxbench::judge
