// ptxbench eval: from a .cu file to a verdict in three layers.
#include <fcntl.h>
#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <charconv>
#include <cstring>

#include "ptxbench/agent/packs.h"
#include "ptxbench/cli/command.h"
#include "ptxbench/cli/render.h"
#include "ptxbench/judge/build_evidence.h"
#include "ptxbench/judge/evaluate.h"
#include "ptxbench/judge/evaluate_gpu.h"
#include "ptxbench/judge/suite.h"
#include "ptxbench/schema/trace.h"
#include "ptxbench/toolchain/build.h"

namespace ptxbench::cli {
namespace {

struct Options {
  std::string file, task, target = "hopper", workload, device = "auto", rules = "strict", trace, pack;
  std::uint64_t seed = 0;
  unsigned timeout = 60;  // seconds
  bool seeded = false, json = false, quiet = false, no_cache = false;
};

// Progress goes to a terminal only, on one line of stderr that the next message overwrites.
class Progress {
 public:
  explicit Progress(bool quiet) : shown_(!quiet && isatty(STDERR_FILENO)) {}
  ~Progress() { clear(); }
  void say(std::string_view what) {
    if (shown_) fmt::print(stderr, "\r\x1b[K{} ...", what), std::fflush(stderr);
  }
  void clear() {
    if (shown_) fmt::print(stderr, "\r\x1b[K"), std::fflush(stderr);
  }

 private:
  bool shown_;
};

Result<judge::Suite> load() {
  PTXBENCH_TRY(const std::filesystem::path folder, judge::default_suite_folder());
  return judge::load_suite(folder);
}

// The wrapper headers that a candidate of a knowledge level may include.
Result<std::vector<std::filesystem::path>> pack_headers(const std::string& target, const std::string& level) {
  PTXBENCH_TRY(const std::filesystem::path folder, agent::default_pack_folder());
  PTXBENCH_TRY(const agent::PackSet packs, agent::load_packs(folder));
  PTXBENCH_TRY(agent::PackPrompt prompt, packs.prompt(target, level));
  return std::move(prompt.include_folders);
}

// CLI11's convention: empty when it is well formed.
std::string is_numbered_gpu(const std::string& text) {
  const bool good = text.starts_with("gpu:") && text.size() > 4 && text.size() < 8 &&
                    text.find_first_not_of("0123456789", 4) == std::string::npos;
  return good ? "" : fmt::format("'{}' is none of auto, emu, gpu, gpu:N", text);
}

struct Device {
  std::optional<judge::DeviceProgram> gpu;  // none: the emulator
};

// auto is the emulator: a GPU is taken when it is asked for.
Result<Device> choose_device(const Options& options) {
  if (!options.device.starts_with("gpu")) {
    if (options.target == "blackwell")
      return fail(ErrorKind::kUnsupported, "--target blackwell: the emulated GPU executes Hopper only so far",
                  "use --target hopper");
    return Device{};
  }
  int number = 0;
  if (options.device != "gpu") {
    const std::string_view digits = std::string_view(options.device).substr(4);
    std::from_chars(digits.begin(), digits.end(), number);  // at most three digits, by is_numbered_gpu
  }
  PTXBENCH_TRY(judge::DeviceProgram gpu, judge::find_gpu(number));
  return Device{std::move(gpu)};
}

// One line, appended in one write: lines of evaluations that run at the same time do not mix.
Status append_trace(const std::string& file, const schema::Verdict& verdict, const schema::Workload& workload,
                    const std::string& candidate) {
  PTXBENCH_TRY(const schema::Trace trace,
               schema::trace_of(verdict, workload, std::filesystem::path(candidate).stem().string()));
  const std::string line = schema::to_json(trace) + "\n";
  const int fd = ::open(file.c_str(), O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0644);
  const bool written = fd >= 0 && ::write(fd, line.data(), line.size()) == static_cast<ssize_t>(line.size());
  const int code = errno;
  if (fd >= 0) ::close(fd);
  if (!written)
    return fail(ErrorKind::kUnavailable, fmt::format("cannot append to '{}': {}", file, std::strerror(code)),
                "choose another file for --trace");
  return {};
}

Result<std::vector<schema::Verdict>> evaluate_all(const Options& options, Progress& progress) {
  PTXBENCH_TRY(const Device device, choose_device(options));
  std::optional<judge::GpuStation> station;
  if (device.gpu) station.emplace(*device.gpu);  // contexts are made while the candidate is compiled
  PTXBENCH_TRY(const judge::Suite suite, load());
  const std::string selector = !options.workload.empty() ? options.workload : device.gpu ? "full" : "emu";
  PTXBENCH_TRY(const auto choices, suite.choose(options.task, selector));
  PTXBENCH_TRY(const schema::GpuTarget target, schema::parse_gpu_target(options.target));

  judge::EvaluateRequest request;
  PTXBENCH_TRY_STATUS(judge::locate_programs(request.run));
  request.run.limits.wall = std::chrono::seconds(options.timeout);
  progress.say("compile");
  toolchain::BuildRequest build;
  build.source = options.file;
  build.target = target;
  build.use_cache = !options.no_cache;
  if (!options.pack.empty()) {
    PTXBENCH_TRY(build.include_folders, pack_headers(options.target, options.pack));
  }
  PTXBENCH_TRY(const toolchain::BuildOutcome outcome, toolchain::build(build));
  PTXBENCH_TRY(request.build, judge::build_evidence(outcome, build));

  request.target = options.target;
  request.rules = *schema::rule_set_from(options.rules);
  if (options.seeded) request.seed = options.seed;
  request.progress = [&progress](std::string_view what) { progress.say(what); };
  std::vector<schema::Verdict> verdicts;
  for (const judge::Suite::Choice& choice : choices) {
    request.definition = choice.task->definition;
    request.workload = *choice.workload;
    request.full_task = choice.task->definition.name == options.task ? "" : options.task;
    PTXBENCH_TRY(schema::Verdict verdict,
                 station ? judge::evaluate_on_gpu(request, *station) : judge::evaluate(request, judge::run_candidate));
    if (!options.trace.empty() && verdict.status() != schema::VerdictStatus::kInfraError)
      PTXBENCH_TRY_STATUS(append_trace(options.trace, verdict, request.workload, options.file));
    verdicts.push_back(std::move(verdict));
  }
  return verdicts;
}

int eval(const Options& options) {
  Progress progress(options.json);
  auto verdicts = evaluate_all(options, progress);
  progress.clear();
  if (!verdicts) return report(verdicts.error());
  int exit_code = kExitPassed;
  std::vector<std::string> records;
  for (const schema::Verdict& verdict : *verdicts) {
    exit_code = std::max(exit_code, schema::exit_code(verdict.status()));
    if (options.json)
      records.push_back(schema::to_json(verdict));
    else
      fmt::print("{}{}", &verdict == &verdicts->front() ? "" : "\n", render(verdict, isatty(STDOUT_FILENO)));
  }
  // One workload gives one record; several give an array.
  if (options.json)
    fmt::print("{}{}{}\n", records.size() == 1 ? "" : "[", fmt::join(records, ",\n"), records.size() == 1 ? "" : "]");
  return exit_code;
}

}  // namespace

void add_eval(CLI::App& app, int& exit_code) {
  CLI::App* command = add_command(app, "eval", "Judges a kernel: compiles it, runs it, answers with a verdict",
                                  "ptxbench eval kernels/hopper/gemm.cu --task gemm_n7168_k5120 --json");
  auto options = std::make_shared<Options>();
  command->add_option("FILE", options->file, "The candidate: one .cu file that exports run()")->required();
  command->add_option("--task", options->task, "A name that `ptxbench tasks` lists")->required();
  command->add_option("--target", options->target, "GPU generation whose instructions are asked for")
      ->check(CLI::IsMember({"hopper", "blackwell"}))
      ->capture_default_str();
  command->add_option("--workload", options->workload,
                      "A UUID, or emu (the small ones), full, all; by default emu on the emulator, full on a GPU");
  command->add_option("--device", options->device, "Where kernels run: emu, gpu, gpu:N; auto is emu")
      ->check(CLI::IsMember({"auto", "emu", "gpu"}) | CLI::Validator(is_numbered_gpu, "gpu:N"))
      ->capture_default_str();
  command->add_option("--rules", options->rules, "Rule set that decides; both are computed")
      ->check(CLI::IsMember({"strict", "paper"}))
      ->capture_default_str();
  auto* seed = command->add_option("--seed", options->seed, "Seed of the inputs; by default a fresh random one")
                   ->check(CLI::NonNegativeNumber);  // strtoull would take -1
  command->add_option("--timeout", options->timeout, "Seconds that one run of the candidate may take")
      ->check(CLI::Range(1, 3600))
      ->capture_default_str();
  command->add_flag("--json", options->json, "Print the record ptxbench.verdict.v1");
  command->add_option("--trace", options->trace,
                      "Append the evaluation to this file as a FlashInfer Trace (JSON lines)");
  command->add_option("--pack", options->pack,
                      "Knowledge level (L0 to L4) whose headers the candidate may include; by default none");
  command->add_flag("--no-cache", options->no_cache, "Compile anew");
  command->callback([&exit_code, options, seed] {
    options->seeded = seed->count() > 0;
    exit_code = eval(*options);
  });
}

}  // namespace ptxbench::cli
