// ptxbench-device-gpu: a real GPU that serves the device protocol on an inherited socket, for one candidate or for the
// judge's own kernels.
#include <fcntl.h>
#include <fmt/format.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <unistd.h>
#include <CLI/CLI.hpp>

#include <algorithm>
#include <csignal>
#include <cstdio>
#include <cstdlib>

#include "ptxbench/cli/inventory.h"
#include "ptxbench/gpu/health.h"
#include "ptxbench/gpu/probe.h"
#include "ptxbench/wire/server.h"

namespace {

constexpr int kFailed = 3;

// Without destructors: the driver would wait for a kernel that never ends, and the kernel of the system frees the GPU's
// side anyway, faster.
[[noreturn]] void leave(int code) {
  std::fflush(nullptr);
  ::_exit(code);
}

bool is_socket(int fd) {
  struct stat info;
  return ::fstat(fd, &info) == 0 && S_ISSOCK(info.st_mode);
}

[[noreturn]] void fail_with(const ptxbench::Error& error) {
  fmt::print(stderr, "ptxbench-device-gpu: {}\n", error.format());
  leave(kFailed);
}

// Exit code 0 if any device could be used.
[[noreturn]] void probe(bool json) {
  const ptxbench::schema::Inventory found{ptxbench::gpu::probe()};
  fmt::print("{}", json ? ptxbench::schema::to_json(found) : ptxbench::cli::render(found));
  const auto is_gpu = [](const ptxbench::schema::Piece& piece) {
    return piece.name.starts_with("gpu:") && piece.state == ptxbench::schema::PieceState::kFound;
  };
  leave(std::ranges::any_of(found.pieces, is_gpu) ? 0 : kFailed);
}

// The problem and what to do about it, a line each: the judge makes an error of its own from them.
[[noreturn]] void say_whether_usable(int ordinal) {
  const ptxbench::Status usable = ptxbench::gpu::usable(ordinal);
  if (!usable) fmt::print("{}\n{}\n", usable.error().message, usable.error().hint);
  leave(usable ? 0 : kFailed);
}

[[noreturn]] void serve(int control_fd, bool health, const ptxbench::gpu::DeviceOptions& options) {
  auto device = ptxbench::gpu::GpuDevice::open(options);
  if (!device) fail_with(device.error());
  if (health) {
    const ptxbench::Status healthy = ptxbench::gpu::check_health(**device);
    if (!healthy) fail_with(healthy.error());
    leave(0);
  }
  ptxbench::wire::DeviceServer server(**device);
  const ptxbench::Status served = server.serve(ptxbench::wire::Connection(control_fd));
  if (!served) fail_with(served.error());
  leave(0);
}

}  // namespace

int main(int argc, char** argv) {
  ::prctl(PR_SET_PDEATHSIG, SIGKILL);
  CLI::App app(
      "A GPU behind the ptxbench device protocol. Started by ptxbench; by hand only with --probe, --usable or "
      "--health.");
  int control_fd = -1;
  double memory_mib = 0;
  bool want_probe = false, json = false, want_usable = false, health = false;
  ptxbench::gpu::DeviceOptions options;
  auto* control = app.add_option("--control-fd", control_fd, "Inherited stream socket of the control connection");
  app.add_option("--device", options.ordinal, "Number of the GPU among those that CUDA_VISIBLE_DEVICES leaves")
      ->check(CLI::NonNegativeNumber);
  app.add_option("--memory", memory_mib, "Device memory in MiB that clients may allocate; 0: all there is")
      ->check(CLI::Range(0.0, 16777216.0));
  app.add_flag("--probe", want_probe, "Print driver, devices and NVIDIA's libraries; exit code 3 if there is no GPU");
  app.add_flag("--json", json, "With --probe: the record ptxbench.inventory.v1");
  app.add_flag("--usable", want_usable, "Exit code 0 if GPU --device can be used; else print why not, and exit code 3");
  app.add_flag("--health", health, "Run a small kernel and check its result; exit code 3 if the GPU is not in order");
  CLI11_PARSE(app, argc, argv);
  // Kernels are loaded when they are first used. The user's own choice stands.
  ::setenv("CUDA_MODULE_LOADING", "LAZY", 0);
  options.memory_limit = static_cast<std::uint64_t>(memory_mib * 1048576.0);
  if (want_probe) probe(json);
  if (want_usable) say_whether_usable(options.ordinal);
  if (!health && (control->empty() || !is_socket(control_fd))) {
    fmt::print(stderr,
               "ptxbench-device-gpu: --control-fd {} is no socket; ptxbench starts this program itself. Try "
               "--probe or --health\n",
               control_fd);
    return 2;
  }
  if (!health) ::fcntl(control_fd, F_SETFD, FD_CLOEXEC);
  try {
    serve(control_fd, health, options);
  } catch (const std::exception& error) {
    fmt::print(stderr, "ptxbench-device-gpu: internal error: {}\n", error.what());
    leave(70);
  }
}
