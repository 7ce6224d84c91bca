// ptxbench doctor: every tool and library, found or missed, what it is for and how to get it.
#include <fmt/format.h>
#include <unistd.h>

#include <thread>

#include "ptxbench/cli/command.h"
#include "ptxbench/judge/evaluate_gpu.h"
#include "ptxbench/judge/runner.h"
#include "ptxbench/judge/suite.h"
#include "ptxbench/judge/tool_runs.h"
#include "ptxbench/toolchain/locate.h"

namespace ptxbench::cli {
namespace {

void part(const char* name, const std::filesystem::path& path) {
  fmt::print("  ok      {:<16} {}\n", name, path.string());
}

int doctor() {
  int missing = 0;
  fmt::print("Tools and headers\n");
  for (const toolchain::Tool& tool : toolchain::locate_all()) {
    const char* mark = tool.found ? "ok     " : tool.required ? "MISSING" : "absent ";
    fmt::print("  {} {:<16} {}\n", mark, tool.name, tool.purpose);
    if (tool.found) {
      fmt::print("          {}{}{}\n", tool.path.string(), tool.version.empty() ? "" : ", version ", tool.version);
      continue;
    }
    missing += tool.required;
    if (!tool.problem.empty()) fmt::print("          {}\n", tool.problem);
    fmt::print("          get it: {}\n", tool.how_to_get);
  }

  fmt::print("Parts of ptxbench\n");
  judge::RunRequest programs;
  if (auto found = judge::locate_programs(programs)) {
    part("device-emu", programs.device_program);
    part("host", programs.host_program);
    part("shim", programs.shim_folder);
  } else {
    ++missing;
    fmt::print("  MISSING {}\n", found.error().message);
  }
  if (auto suites = judge::default_suite_folder()) {
    part("suites", *suites);
  } else {
    ++missing;
    fmt::print("  MISSING {}\n", suites.error().message);
  }

  fmt::print("Devices\n");
  fmt::print("  ok      emulator         {} host threads\n", std::thread::hardware_concurrency());
  if (const auto gpu = judge::find_gpu(0)) {
    part("gpu", gpu->program);
    std::error_code ignored;
    if (std::filesystem::exists(judge::quarantine_file(*gpu), ignored))
      fmt::print("          quarantined after a failed health check; ptxbench doctor --clear-quarantine lifts it\n");
  } else {
    fmt::print("  absent  gpu              {}; kernels run on the emulator\n", gpu.error().message);
    for (const std::string& note : gpu.error().notes) fmt::print("          {}\n", note.substr(0, note.find('\n')));
  }

  for (const auto& [name, option] : {std::pair{"compute-sanitizer", "--sanitize"}, std::pair{"ncu", "--audit"}}) {
    if (const auto tool = judge::locate_cuda_tool(name))
      part(name, *tool);
    else
      fmt::print("  absent  {:<16} for eval {} on a GPU; {}\n", name, option, tool.error().hint);
  }

  fmt::print("{}\n", missing == 0 ? "Everything that is needed is here."
                                  : fmt::format("{} needed piece{} missing.", missing, missing == 1 ? " is" : "s are"));
  return missing == 0 ? kExitPassed : kExitInfrastructure;
}

}  // namespace

void add_doctor(CLI::App& app, int& exit_code) {
  CLI::App* command =
      add_command(app, "doctor", "Names every tool and library that was found or missed", "ptxbench doctor");
  auto clear = std::make_shared<bool>(false);
  command->add_flag("--clear-quarantine", *clear, "Take GPUs back that failed their health check after a hang");
  command->callback([&exit_code, clear] {
    if (*clear) fmt::print("{} GPUs taken back\n", judge::clear_quarantine());
    exit_code = doctor();
  });
}

}  // namespace ptxbench::cli
