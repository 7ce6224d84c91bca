// ptxbench-device-emu: an emulated GPU that serves the device protocol on an inherited socket, for one candidate.
#include <fcntl.h>
#include <fmt/format.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <CLI/CLI.hpp>

#include <csignal>
#include <cstdio>

#include "ptxbench/cli/emu_device.h"
#include "ptxbench/wire/server.h"

namespace {

bool is_socket(int fd) {
  struct stat info;
  return ::fstat(fd, &info) == 0 && S_ISSOCK(info.st_mode);
}

}  // namespace

int main(int argc, char** argv) {
  ::prctl(PR_SET_PDEATHSIG, SIGKILL);
  CLI::App app("Emulated GPU behind the ptxbench device protocol. Started by ptxbench; not meant to be run by hand.");
  int control_fd = -1;
  double memory_mib = 8192;
  unsigned threads = 0;
  std::string target = "hopper";
  app.add_option("--control-fd", control_fd, "Inherited stream socket of the control connection")->required();
  app.add_option("--memory", memory_mib, "Device memory in MiB")->check(CLI::Range(1.0, 1048576.0));
  app.add_option("--threads", threads, "Workers per launch; 0: one per core")->check(CLI::Range(0u, 1024u));
  app.add_option("--target", target, "GPU generation")->check(CLI::IsMember({"hopper", "blackwell"}));
  CLI11_PARSE(app, argc, argv);
  if (!is_socket(control_fd)) {
    fmt::print(stderr, "ptxbench-device-emu: --control-fd {} is no socket; ptxbench starts this program itself\n",
               control_fd);
    return 2;
  }
  ::fcntl(control_fd, F_SETFD, FD_CLOEXEC);
  try {
    ptxbench::emu::MachineConfig config;
    config.target = target == "blackwell" ? ptxbench::emu::Target::kBlackwell : ptxbench::emu::Target::kHopper;
    config.memory_bytes = static_cast<std::uint64_t>(memory_mib * 1048576.0);
    config.threads = threads;
    ptxbench::cli::EmuDevice device(config);
    ptxbench::wire::DeviceServer server(device);
    const ptxbench::Status served = server.serve(ptxbench::wire::Connection(control_fd));
    if (served) return 0;
    fmt::print(stderr, "ptxbench-device-emu: {}\n", served.error().format());
    return 3;
  } catch (const std::exception& error) {
    fmt::print(stderr, "ptxbench-device-emu: internal error: {}\n", error.what());
    return 70;
  }
}
