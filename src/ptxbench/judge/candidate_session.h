// One candidate on one device process: its tensors are placed once, its host code runs once, and what it asked of the
// device is replayed as often as the judge wants, with whatever the tensors then hold.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "ptxbench/judge/device_process.h"
#include "ptxbench/judge/inputs.h"
#include "ptxbench/judge/runner.h"
#include "ptxbench/wire/host_orders.h"

namespace ptxbench::judge {

struct HostWait;

// A tensor argument as it lies in device memory, in call order.
struct PlacedTensor {
  std::string name;
  std::uint64_t address = 0, bytes = 0;
  bool output = false;
  std::uint32_t poison = 0;  // outputs: what they are filled with
};

struct ReplayOrder {
  wire::ReplayMode mode = wire::ReplayMode::kCheck;
  wire::Schedule schedule = wire::Schedule::kLatest;
  std::uint64_t flush_bytes = 0;                  // kTime
  std::vector<wire::BatchCommand> before, after;  // around it and not measured; `after` unless a kernel trapped
};

class CandidateSession {
 public:
  // Allocates the tensors. Inputs are written from RunTensor::bytes; those that have none are left for the caller to
  // write. Outputs are poisoned.
  static Result<CandidateSession> open(DeviceProcess device, RunRequest request);

  // Host code, once. Everything of the outcome but the outputs. An Error is the infrastructure's; a device that does not
  // come back from a kernel in time is HostEnd::kDeviceTimeout, and is ended.
  Result<RunOutcome> run();

  // The commands of that run again. kTimeout: a kernel did not end, and the device process was ended. A trap is in the
  // reply.
  Result<wire::RunReply> replay(ReplayOrder order);

  // One for each input tensor, in call order.
  Status write_inputs(const std::vector<HostTensor>& inputs);
  std::vector<wire::BatchCommand> poison() const;  // of all outputs
  Status poison_outputs();
  Result<std::vector<std::vector<std::byte>>> read_outputs();

  const std::vector<PlacedTensor>& tensors() const { return tensors_; }
  DeviceProcess& device() { return device_; }
  // An orderly end of the device process. Without it the destructor ends it.
  void close() { device_.shut_down(); }

 private:
  CandidateSession(DeviceProcess device, RunRequest request)
      : device_(std::move(device)), request_(std::move(request)) {}
  Status place(const RunArgument& argument);
  Status place_tensor(const RunTensor& tensor);
  Status finish(const HostWait& wait, RunOutcome& outcome);

  DeviceProcess device_;
  RunRequest request_;
  std::vector<PlacedTensor> tensors_;
  std::vector<wire::HostArgument> arguments_;
};

}  // namespace ptxbench::judge
