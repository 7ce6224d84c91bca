// Figures, not a test (docs/agent.md): a run of many parallel trajectories whose model and judge only wait.
#include <fmt/format.h>
#include <sys/resource.h>

#include "fake.h"
#include "ptxbench/base/file.h"

using namespace ptxbench;
using namespace ptxbench::agent;

namespace {

double cpu_seconds() {
  rusage usage{};
  ::getrusage(RUSAGE_SELF, &usage);
  return static_cast<double>(usage.ru_utime.tv_sec + usage.ru_stime.tv_sec) +
         static_cast<double>(usage.ru_utime.tv_usec + usage.ru_stime.tv_usec) / 1e6;
}

long peak_mib() {
  rusage usage{};
  ::getrusage(RUSAGE_SELF, &usage);
  return usage.ru_maxrss / 1024;
}

// `trajectories` at a time, eight turns each, with the pack L4 in every prompt.
int measure(int trajectories, std::chrono::milliseconds judge) {
  auto folder = TempDir::create();
  Experiment experiment = default_experiment();
  experiment.record.packs = {"L4"};
  experiment.record.trajectories = trajectories;
  const auto file = folder->path() / "r.json";
  if (!write_file_atomic(file, recording(std::vector<std::string>(8, "bad " + std::string(20'000, 'x'))))) return 1;
  experiment.record.models = {"replay:" + file.string()};
  FakeEvaluator evaluator;
  evaluator.delay = judge;
  const auto packs = load_packs(PTXBENCH_SOURCE_DIR "/knowledge");
  const auto plan = plan_run(experiment, evaluator, *packs);
  if (!plan || !create_run(folder->path() / "out", experiment, *plan)) return 1;
  RunOptions options;
  options.parallel = trajectories;
  const double cpu = cpu_seconds();
  const auto start = std::chrono::steady_clock::now();
  const auto result = run_all(folder->path() / "out", *plan, evaluator, options);
  const double wall = std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
  const int turns = 8 * trajectories;
  fmt::print(
      "{} trajectories at a time, {} turns, judge {} ms: {:.2f} s wall, {:.2f} s processor ({:.2f} ms a turn), "
      "{:.2f} ms wall a turn beside the judge, peak {} MiB\n",
      trajectories, turns, judge.count(), wall, cpu_seconds() - cpu, 1000 * (cpu_seconds() - cpu) / turns,
      (1000 * wall - static_cast<double>(turns) * static_cast<double>(judge.count())) / turns, peak_mib());
  return result && result->complete() ? 0 : 1;
}

}  // namespace

int main() {
  using namespace std::chrono_literals;
  return measure(1, 0ms) + measure(64, 0ms) + measure(64, 10ms);
}
