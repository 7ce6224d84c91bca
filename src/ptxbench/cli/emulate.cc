// ptxbench emulate: runs any CUDA program that was linked with the shared runtime on the emulated GPU.
#include <fmt/format.h>

#include "ptxbench/cli/command.h"
#include "ptxbench/judge/runner.h"
#include "ptxbench/wire/emulate.h"

namespace ptxbench::cli {
namespace {

int emulate(const std::vector<std::string>& command, const std::string& schedule) {
  judge::RunRequest programs;
  if (auto found = judge::locate_programs(programs); !found) return report(found.error());
  wire::EmulateRequest request;
  request.device_program = programs.device_program;
  request.shim_folder = programs.shim_folder;
  request.argv = command;
  request.schedule = schedule == "earliest" ? wire::Schedule::kEarliest : wire::Schedule::kLatest;
  auto outcome = wire::emulate(request);
  if (!outcome) return report(outcome.error());
  for (const wire::LaunchRecord& launch : outcome->report.launches)
    if (launch.trap) fmt::print(stderr, "ptxbench: trap in kernel {}\n{}\n", launch.kernel, launch.trap->text);
  for (const wire::Refusal& refusal : outcome->report.refusals)
    fmt::print(stderr, "ptxbench: {} was refused: {}\n", refusal.call, refusal.why);
  if (!outcome->used_device)
    fmt::print(
        stderr,
        "ptxbench: '{}' made no CUDA call through the shared runtime\n  hint: link it with nvcc -cudart shared\n",
        command.front());
  return outcome->exit_code;
}

}  // namespace

void add_emulate(CLI::App& app, int& exit_code) {
  CLI::App* command = add_command(app, "emulate", "Runs a CUDA program (nvcc -cudart shared) on the emulated GPU",
                                  "ptxbench emulate -- ./program --its-own-option");
  command->footer(command->get_footer() +
                  "\nThe program's output and exit code are its own; it is not sandboxed. Traps go to stderr.");
  auto program = std::make_shared<std::vector<std::string>>();
  auto schedule = std::make_shared<std::string>("latest");
  command->add_option("--schedule", *schedule, "When asynchronous copies and wgmma take effect")
      ->check(CLI::IsMember({"latest", "earliest"}))
      ->capture_default_str();
  command->add_option("PROGRAM", *program, "The program and its arguments, after --")->required();
  command->callback([&exit_code, program, schedule] { exit_code = emulate(*program, *schedule); });
}

}  // namespace ptxbench::cli
