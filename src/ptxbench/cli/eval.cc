// ptxbench eval: from a .cu file to a verdict in three layers.
#include <fcntl.h>
#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>

#include "ptxbench/agent/packs.h"
#include "ptxbench/cli/command.h"
#include "ptxbench/cli/render.h"
#include "ptxbench/judge/build_evidence.h"
#include "ptxbench/judge/device_comparison.h"
#include "ptxbench/judge/evaluate.h"
#include "ptxbench/judge/evaluate_gpu.h"
#include "ptxbench/judge/suite.h"
#include "ptxbench/schema/device_name.h"
#include "ptxbench/schema/trace.h"
#include "ptxbench/toolchain/build.h"

namespace ptxbench::cli {
namespace {

struct Options {
  std::vector<std::string> files;
  std::string task, target = "hopper", workload, device = "auto", rules = "strict", trace, pack, sanitize;
  std::uint64_t seed = 0;
  unsigned timeout = 60;  // seconds
  unsigned repeat = 1;
  bool seeded = false, json = false, quiet = false, no_cache = false, audit = false;
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
std::string is_tool_list(const std::string& text) {
  const auto tools = judge::sanitizer_tools_from(text);
  return tools ? "" : fmt::format("{}: {}", tools.error().message, tools.error().hint);
}

struct Device {
  std::optional<judge::DeviceProgram> gpu;  // none: the emulator
  bool both = false;
};

// auto: the first GPU if one can be used, else the emulator.
Result<Device> choose_device(const Options& options) {
  if (options.device == "both") {
    PTXBENCH_TRY(judge::DeviceProgram gpu, judge::gpu_program(0));
    return Device{std::move(gpu), true};
  }
  if (options.device == "auto") {
    if (auto gpu = judge::find_gpu(0)) return Device{std::move(*gpu), false};
  }
  const std::optional<int> number = schema::gpu_number(options.device);
  if (!number) {
    if (options.target == "blackwell")
      return fail(ErrorKind::kUnsupported, "--target blackwell: the emulated GPU executes Hopper only so far",
                  "use --target hopper");
    return Device{};
  }
  PTXBENCH_TRY(judge::DeviceProgram gpu, judge::gpu_program(*number));
  return Device{std::move(gpu), false};
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

// The build of one candidate.
Result<judge::BuildEvidence> build_candidate(const Options& options, const std::string& file) {
  PTXBENCH_TRY(const schema::GpuTarget target, schema::parse_gpu_target(options.target));
  toolchain::BuildRequest build;
  build.source = file;
  build.target = target;
  build.use_cache = !options.no_cache;
  if (!options.pack.empty()) {
    PTXBENCH_TRY(build.include_folders, pack_headers(options.target, options.pack));
  }
  PTXBENCH_TRY(const toolchain::BuildOutcome outcome, toolchain::build(build));
  return judge::build_evidence(outcome, build);
}

// On the GPU and on the emulator, with one seed.
Result<schema::Verdict> evaluate_on_both(judge::EvaluateRequest request, judge::GpuStation& station) {
  if (!request.workload.emulator && request.definition.extension->full_sibling.empty())
    return fail(ErrorKind::kUnsupported,
                fmt::format("--device both: workload {} is too large for the emulator", request.workload.uuid),
                "choose emulator-sized ones: --workload emu");
  if (!request.seed) {
    PTXBENCH_TRY(request.seed, judge::random_seed());
  }
  judge::KeptOutputs gpu_outputs, emu_outputs;
  request.keep_outputs = [&](int, const auto& outputs) { gpu_outputs.push_back(outputs); };
  PTXBENCH_TRY(const schema::Verdict gpu, judge::evaluate_on_gpu(request, station));
  request.keep_outputs = [&](int, const auto& outputs) { emu_outputs.push_back(outputs); };
  PTXBENCH_TRY(const schema::Verdict emu, judge::evaluate(request, judge::run_candidate));
  return judge::add_comparison(gpu, gpu_outputs, emu, emu_outputs, request.definition);
}

// Every file on every workload, as often as asked for; on a GPU all of them on the same station.
Result<std::vector<schema::Verdict>> evaluate_all(const Options& options, Progress& progress) {
  PTXBENCH_TRY(const Device device, choose_device(options));
  std::optional<judge::GpuStation> station;
  if (device.gpu) station.emplace(*device.gpu);  // contexts are made while the tasks are read
  PTXBENCH_TRY(const judge::Suite suite, load());
  if (station) {
    PTXBENCH_TRY_STATUS(station->ready());
    Status fits = station->fits(options.target);
    if (!fits && options.device != "auto") return fail(std::move(fits).error());
    if (!fits) station.reset();
  }
  const std::string selector = !options.workload.empty() ? options.workload : station && !device.both ? "full" : "emu";
  PTXBENCH_TRY(const auto choices, suite.choose(options.task, selector));

  judge::EvaluateRequest request;
  PTXBENCH_TRY_STATUS(judge::locate_programs(request.run));
  request.run.limits.wall = std::chrono::seconds(options.timeout);
  request.target = options.target;
  request.rules = *schema::rule_set_from(options.rules);
  if (options.seeded) request.seed = options.seed;
  if (!options.sanitize.empty()) {
    PTXBENCH_TRY(request.sanitize, judge::sanitizer_tools_from(options.sanitize));
  }
  request.audit = options.audit;
  if (!station || device.both) PTXBENCH_TRY_STATUS(judge::refuse_tools(request));
  request.progress = [&progress](std::string_view what) { progress.say(what); };
  std::vector<schema::Verdict> verdicts;
  const std::size_t all = options.files.size() * choices.size() * options.repeat;
  for (const std::string& file : options.files) {
    progress.say("compile");
    PTXBENCH_TRY(request.build, build_candidate(options, file));
    for (std::size_t i = 0; i < choices.size() * options.repeat; ++i) {
      const judge::Suite::Choice& choice = choices[i % choices.size()];
      request.definition = choice.task->definition;
      request.workload = *choice.workload;
      request.full_task = choice.task->definition.name == options.task ? "" : options.task;
      request.another_follows = verdicts.size() + 1 < all;
      PTXBENCH_TRY(schema::Verdict verdict, device.both ? evaluate_on_both(request, *station)
                                            : station   ? judge::evaluate_on_gpu(request, *station)
                                                        : judge::evaluate(request, judge::run_candidate));
      if (!options.trace.empty() && verdict.status() != schema::VerdictStatus::kInfraError)
        PTXBENCH_TRY_STATUS(append_trace(options.trace, verdict, request.workload, file));
      verdicts.push_back(std::move(verdict));
    }
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
  // One evaluation gives one record; several give an array.
  if (options.json)
    fmt::print("{}{}{}\n", records.size() == 1 ? "" : "[", fmt::join(records, ",\n"), records.size() == 1 ? "" : "]");
  return exit_code;
}

}  // namespace

void add_eval(CLI::App& app, int& exit_code) {
  CLI::App* command = add_command(app, "eval", "Judges a kernel: compiles it, runs it, answers with a verdict",
                                  "ptxbench eval kernels/hopper/gemm.cu --task gemm_n7168_k5120 --json");
  auto options = std::make_shared<Options>();
  command->add_option("FILE", options->files, "Candidates: each one .cu file that exports run()")->required();
  command->add_option("--task", options->task, "A name that `ptxbench tasks` lists")->required();
  command->add_option("--target", options->target, "GPU generation whose instructions are asked for")
      ->check(CLI::IsMember({"hopper", "blackwell"}))
      ->capture_default_str();
  command->add_option("--workload", options->workload,
                      "A UUID, or emu (the small ones), full, all; by default emu on the emulator, full on a GPU");
  command
      ->add_option("--device", options->device,
                   "Where kernels run: emu, gpu, gpu:N, both (compared); auto: a GPU if there is one")
      ->check(CLI::IsMember({"auto", "emu", "gpu", "both"}) | gpu_name())
      ->capture_default_str();
  command->add_option("--rules", options->rules, "Rule set that decides; both are computed")
      ->check(CLI::IsMember({"strict", "paper"}))
      ->capture_default_str();
  auto* seed = command->add_option("--seed", options->seed, "Seed of the inputs; by default a fresh random one")
                   ->check(CLI::NonNegativeNumber);  // strtoull would take -1
  command->add_option("--timeout", options->timeout, "Seconds that one run of the candidate may take")
      ->check(CLI::Range(1, 3600))
      ->capture_default_str();
  command
      ->add_option("--repeat", options->repeat, "Evaluate so often, each time on fresh inputs unless --seed is given")
      ->check(CLI::Range(1, 1000))
      ->capture_default_str();
  command
      ->add_option(
          "--sanitize", options->sanitize,
          "Run the candidate under compute-sanitizer as well: memcheck, racecheck, synccheck, initcheck, or several "
          "with commas; an error found is RUNTIME_ERROR. Needs --device gpu")
      ->check(CLI::Validator(is_tool_list, "LIST"));
  command->add_flag("--audit", options->audit,
                    "Let Nsight Compute (ncu) count the instructions as well, and compare. Needs --device gpu");
  command->add_flag("--json", options->json, "Print the record ptxbench.verdict.v1; an array if there are several");
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
