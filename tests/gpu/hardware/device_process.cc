#include "device_process.h"

#include <fcntl.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <fstream>
#include <iterator>

namespace ptxbench::gpu {
namespace {

using Clock = std::chrono::steady_clock;

int start_program(const std::vector<std::string>& argv, int control_fd) {
  const int pid = ::fork();
  if (pid != 0) return pid;
  if (control_fd >= 0) {
    if (control_fd == 3) {
      ::fcntl(3, F_SETFD, 0);
    } else {
      ::dup2(control_fd, 3);
    }
  }
  std::vector<char*> pointers;
  for (const std::string& argument : argv) pointers.push_back(const_cast<char*>(argument.c_str()));
  pointers.push_back(nullptr);
  ::execv(pointers[0], pointers.data());
  ::_exit(127);
}

}  // namespace

double milliseconds_since(Clock::time_point start) {
  return std::chrono::duration<double, std::milli>(Clock::now() - start).count();
}

void give_up(const std::string& message) {
  std::printf("FAIL  %s\n", message.c_str());
  std::fflush(stdout);
  std::_Exit(1);
}

std::string read_file(const std::string& path) {
  std::ifstream in(path, std::ios::binary);
  if (!in) give_up("cannot read " + path);
  return {std::istreambuf_iterator<char>(in), {}};
}

DeviceProcess::DeviceProcess(const std::string& program, const std::vector<std::string>& options) {
  const Clock::time_point start = Clock::now();
  wire::Connection ours, theirs;
  if (!wire::make_pair(ours, theirs)) give_up("no socket pair");
  std::vector<std::string> argv = {program, "--control-fd", "3"};
  argv.insert(argv.end(), options.begin(), options.end());
  pid_ = start_program(argv, theirs.fd());
  theirs.close();
  ours.set_timeout(60'000);
  client_ = std::make_unique<wire::Client>(std::move(ours));
  info = call(wire::Hello{"hardware_check"}).info;
  start_ms = milliseconds_since(start);
}

DeviceProcess::~DeviceProcess() {
  if (pid_ <= 0) return;
  ::kill(pid_, SIGKILL);
  ::waitpid(pid_, nullptr, 0);
}

std::string DeviceProcess::fate() {
  int status = 0;
  if (client_ == nullptr || !client_->broken() || ::waitpid(pid_, &status, 0) != pid_) return {};
  pid_ = -1;
  return WIFSIGNALED(status) ? " (killed by signal " + std::to_string(WTERMSIG(status)) + ")"
                             : " (exit code " + std::to_string(WEXITSTATUS(status)) + ")";
}

double DeviceProcess::end(bool ask, int* status) {
  const Clock::time_point start = Clock::now();
  if (ask) static_cast<void>(client_->call(wire::Shutdown{}));
  client_->connection().close();
  ::waitpid(pid_, status, 0);
  pid_ = -1;
  return milliseconds_since(start);
}

std::uint32_t DeviceProcess::load(const std::string& image) {
  return call(wire::LoadModule{image.size()}, std::as_bytes(std::span(image))).handle;
}

std::uint32_t DeviceProcess::kernel(std::uint32_t module, const std::string& name) {
  return call(wire::GetKernel{module, name}).kernel;
}

wire::Launch DeviceProcess::launch(std::uint32_t kernel, wire::Dim3 grid, wire::Dim3 block, const std::string& params) {
  wire::Launch launch;
  launch.kernel = kernel;
  launch.geometry.grid = grid;
  launch.geometry.block = block;
  launch.params = params;
  return launch;
}

std::vector<std::uint32_t> DeviceProcess::read_words(std::uint64_t address, std::size_t n) {
  std::vector<std::uint32_t> words(n);
  call(wire::ReadMemory{address, n * 4, 0}, {}, std::as_writable_bytes(std::span(words)));
  return words;
}

int run_program(const std::vector<std::string>& argv, double* ms) {
  const Clock::time_point start = Clock::now();
  int status = 0;
  ::waitpid(start_program(argv, -1), &status, 0);
  *ms = milliseconds_since(start);
  return WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
}

}  // namespace ptxbench::gpu
