// ptxbench doctor: every tool and library, found or missed, what it is for and how to get it.
#include <fmt/format.h>
#include <unistd.h>

#include <thread>

#include "ptxbench/cli/command.h"
#include "ptxbench/judge/runner.h"
#include "ptxbench/judge/suite.h"
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
  fmt::print("  absent  gpu              this build has no GPU device process; verdicts say \"not measured\"\n");

  fmt::print("{}\n", missing == 0 ? "Everything that is needed is here."
                                  : fmt::format("{} needed piece{} missing.", missing, missing == 1 ? " is" : "s are"));
  return missing == 0 ? kExitPassed : kExitInfrastructure;
}

}  // namespace

void add_doctor(CLI::App& app, int& exit_code) {
  CLI::App* command =
      add_command(app, "doctor", "Names every tool and library that was found or missed", "ptxbench doctor");
  command->callback([&exit_code] { exit_code = doctor(); });
}

}  // namespace ptxbench::cli
