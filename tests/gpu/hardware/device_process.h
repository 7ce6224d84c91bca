// A ptxbench-device-gpu of our own and a control connection to it, without sandbox or supervisor.
#pragma once

#include <chrono>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "ptxbench/wire/client.h"

namespace ptxbench::gpu {

double milliseconds_since(std::chrono::steady_clock::time_point start);

// Any failed call ends the program with its message: nothing after it would mean anything.
[[noreturn]] void give_up(const std::string& message);
std::string read_file(const std::string& path);

class DeviceProcess {
 public:
  explicit DeviceProcess(const std::string& program, const std::vector<std::string>& options = {});
  ~DeviceProcess();  // kills
  DeviceProcess(const DeviceProcess&) = delete;
  DeviceProcess& operator=(const DeviceProcess&) = delete;

  template <class Request>
  typename Request::Reply call(const Request& request, std::span<const std::byte> out = {},
                               std::span<std::byte> in = {}) {
    auto answer = client_->call(request, out, in);
    if (!answer) give_up("call failed: " + answer.error().message + fate());
    return std::move(*answer);
  }
  // For calls that are expected to fail.
  template <class Request>
  wire::Answer<typename Request::Reply> attempt(const Request& request) {
    return client_->call(request);
  }

  std::uint32_t load(const std::string& image);
  std::uint32_t kernel(std::uint32_t module, const std::string& name);
  // Parameters one behind the other, each aligned to its size.
  wire::Launch launch(std::uint32_t kernel, wire::Dim3 grid, wire::Dim3 block, const std::string& params);
  std::vector<std::uint32_t> read_words(std::uint64_t address, std::size_t n);

  // Asks it to shut down (false: closes the connection only) and waits; milliseconds until it was gone. `status` as of
  // waitpid.
  double end(bool ask, int* status);
  double start_ms = 0;  // until Hello was answered
  wire::DeviceInfo info;

 private:
  std::string fate();  // of a process that broke its connection

  int pid_ = -1;
  std::unique_ptr<wire::Client> client_;
};

// The exit code of `program` with these arguments; its time goes to *ms.
int run_program(const std::vector<std::string>& argv, double* ms);

}  // namespace ptxbench::gpu
