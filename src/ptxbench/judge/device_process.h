// A device process of ours and the control connection to it. It dies with this process.
#pragma once

#include <chrono>
#include <filesystem>
#include <future>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "ptxbench/base/result.h"
#include "ptxbench/base/subprocess.h"
#include "ptxbench/judge/command_queue.h"
#include "ptxbench/wire/client.h"

namespace ptxbench::judge {

// Which program, and how it is started. Two that are equal can stand for each other.
struct DeviceProgram {
  std::filesystem::path program;         // ptxbench-device-emu, ptxbench-device-gpu
  std::vector<std::string> arguments;    // behind --control-fd
  std::vector<std::string> wrapper;      // in front: a tool that runs the program, as compute-sanitizer does
  std::vector<std::string> environment;  // exactly these
  std::chrono::milliseconds start_limit{20'000};
  friend bool operator==(const DeviceProgram&, const DeviceProgram&) = default;
};

class DeviceProcess {
 public:
  // Returns when the device has answered Hello; a GPU's context takes some 0.3 s.
  static Result<DeviceProcess> start(const DeviceProgram& program);

  // A Failure of the control connection is an Error: the judge makes no mistakes that a device could forgive. Behind all
  // that was added before.
  template <class Request>
  Result<typename Request::Reply> call(const Request& request, std::span<const std::byte> out = {},
                                       std::span<std::byte> in = {}, int pass_fd = -1) {
    wire::Answer<typename Request::Reply> answer = queue_->call(request, out, in, pass_fd);
    if (answer) return std::move(*answer);
    return fail(explain(answer.error()));
  }

  // Gathered until flush() or the next call (command_queue.h).
  Status add(wire::BatchCommand command) { return status_of(queue_->add(std::move(command))); }
  Status write(std::uint64_t address, std::span<const std::byte> bytes) {
    return status_of(queue_->write(address, bytes));
  }
  Status read(std::uint64_t address, std::span<std::byte> to) { return status_of(queue_->read(address, to)); }
  Status carry_out(std::vector<wire::BatchCommand> commands) {
    for (wire::BatchCommand& command : commands) PTXBENCH_TRY_STATUS(add(std::move(command)));
    return flush();
  }
  Status flush() { return status_of(queue_->flush()); }

  // How long the device may take for an answer from now on.
  void set_patience(std::chrono::milliseconds limit);
  void reset_patience();

  // An orderly end; ended the hard way after two seconds.
  void shut_down();
  // Ends it at once: what it does on the device ends with it.
  void kill();

  const wire::HelloReply& hello() const { return hello_; }
  bool broken() const { return client_->broken(); }
  Child& child() { return child_; }
  CommandQueue& queue() { return *queue_; }

 private:
  DeviceProcess(Child child, std::unique_ptr<wire::Client> client)
      : child_(std::move(child)), client_(std::move(client)), queue_(std::make_unique<CommandQueue>(*client_)) {}
  Error explain(const wire::Failure& failure);
  Status status_of(const wire::Answer<void>& answer) {
    if (answer) return {};
    return fail(explain(answer.error()));
  }

  Child child_;
  std::unique_ptr<wire::Client> client_;
  std::unique_ptr<CommandQueue> queue_;
  wire::HelloReply hello_;
};

// Device processes that are started before they are needed, so that their start overlaps with other work.
class DevicePool {
 public:
  // Begins to start one, unless one of this kind is on its way already.
  void prepare(const DeviceProgram& program);
  // The prepared one if there is one, else a fresh one.
  Result<DeviceProcess> take(const DeviceProgram& program);

 private:
  struct Spare {
    DeviceProgram program;
    std::future<Result<DeviceProcess>> process;
  };
  std::vector<Spare> spares_;
};

}  // namespace ptxbench::judge
