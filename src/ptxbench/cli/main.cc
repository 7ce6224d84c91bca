// ptxbench: the command line. Parses, dispatches, and catches what only a program root may catch.
#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <cerrno>
#include <csignal>
#include <cstdio>
#include <exception>
#include <system_error>

#include "ptxbench/base/check.h"
#include "ptxbench/base/file.h"
#include "ptxbench/base/interrupt.h"
#include "ptxbench/cli/command.h"

namespace {

constexpr const char* kAbout =
    "Judges CUDA kernels that use one GPU generation's own PTX: correct, target instructions executed, fast.\n"
    "Needs no GPU: kernels run on an emulated Hopper behind a wire.";

constexpr const char* kFooter =
    "Exit code: 0 passed or done, 1 the candidate failed, 2 bad usage or input, 3 this machine failed.\n"
    "Example:\n  ptxbench eval kernels/hopper/gemm.cu --task gemm_n7168_k5120";

int run(int argc, char** argv) {
  CLI::App app(kAbout, "ptxbench");
  app.footer(kFooter);
  app.set_version_flag("--version", PTXBENCH_VERSION);
  app.require_subcommand(1);
  int exit_code = 0;
  ptxbench::cli::add_eval(app, exit_code);
  ptxbench::cli::add_run(app, exit_code);
  ptxbench::cli::add_tasks(app, exit_code);
  ptxbench::cli::add_show(app, exit_code);
  ptxbench::cli::add_inspect(app, exit_code);
  ptxbench::cli::add_emulate(app, exit_code);
  ptxbench::cli::add_packs(app, exit_code);
  ptxbench::cli::add_report(app, exit_code);
  ptxbench::cli::add_serve_report(app, exit_code);
  ptxbench::cli::add_import_paper(app, exit_code);
  ptxbench::cli::add_doctor(app, exit_code);
  ptxbench::cli::add_models(app, exit_code);
  try {
    app.parse(argc, argv);
  } catch (const CLI::ParseError& error) {
    return app.exit(error) == 0 ? 0 : ptxbench::cli::kExitUsage;
  }
  return exit_code;
}

// What was to be said was not. Silent where nobody listens any more (`ptxbench tasks | head`).
int cannot_write(const std::error_code& why) {
  if (why != std::errc::broken_pipe)
    fmt::print(stderr, "ptxbench: error: cannot write the output: {}\n", why.message());
  return ptxbench::cli::kExitInfrastructure;
}

int internal_error(const std::exception& error) {
  fmt::print(stderr, "ptxbench: internal error: {}\n  hint: please report this with the command line\n", error.what());
  return ptxbench::cli::kExitInfrastructure;
}

}  // namespace

int main(int argc, char** argv) {
  std::signal(SIGPIPE, SIG_IGN);  // a peer or a pager that goes away is an error value, not our death
  ptxbench::exit_cleanly_on_signals();
  ptxbench::remove_stale_temp_dirs();
  try {
    const int exit_code = run(argc, argv);
    const bool written = std::fflush(stdout) == 0 && std::ferror(stdout) == 0;  // some write()s failed before the last
    return written ? exit_code : cannot_write({errno, std::generic_category()});
  } catch (const std::system_error& error) {
    return std::ferror(stdout) != 0 ? cannot_write(error.code()) : internal_error(error);
  } catch (const std::exception& error) {
    return internal_error(error);
  }
}
