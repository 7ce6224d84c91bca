// What the evaluations on one GPU have in common: the judge's own device process and that of the vendor's libraries, which
// live as long as this does, and device processes for candidates, which are started before they are needed.
#pragma once

#include <future>
#include <memory>
#include <optional>
#include <string_view>

#include "ptxbench/judge/device_process.h"
#include "ptxbench/judge/workbench.h"

namespace ptxbench::judge {

// ptxbench-device-gpu beside the running program, for the GPU of that number among the visible ones; nothing is started.
// kUnavailable: this build has none.
Result<DeviceProgram> gpu_program(int number);
// The same, if it says that this GPU can be used (--usable). kUnavailable says what is missing, or how many GPUs there are.
Result<DeviceProgram> find_gpu(int number);
Status usable(const DeviceProgram& gpu);
// The device program with its stand-alone options, until it ends.
Result<Finished> ask_device_program(const DeviceProgram& gpu, std::vector<std::string> options);

// The trusted process with our kernels loaded. It never sees a candidate's code.
struct TrustedDevice {
  std::unique_ptr<DeviceProcess> process;
  std::unique_ptr<DeviceWorkbench> bench;  // before the process goes
};

class GpuStation {
 public:
  // Begins to start all of them at once.
  explicit GpuStation(DeviceProgram gpu);
  ~GpuStation();

  const DeviceProgram& gpu() const { return gpu_; }
  // Waits for the candidate's process. kUnavailable says what is missing on this machine.
  Status ready();
  // Whether the GPU is of the target's generation: machine code of another one does not run on it. kUnsupported names both.
  // After ready().
  Status fits(std::string_view target) const;
  // A name of the card, or of the MIG slice, that does not depend on which GPUs are visible: its UUID. Before ready(), and if
  // the driver gives none, the number.
  std::string card() const;
  const std::string& name() const { return info_.name; }  // "NVIDIA H200"; after ready()
  // A fresh process for one candidate. another: one more candidate will come, and its process begins to start.
  Result<DeviceProcess> candidate_device(bool another);
  // The judge's own. A process that broke is replaced by the next call.
  Result<TrustedDevice*> trusted();
  // The process that the vendor's libraries run in, by the same rule.
  Result<DeviceProcess*> libraries();

 private:
  DeviceProgram gpu_;
  DevicePool pool_;
  std::optional<DeviceProcess> first_;
  wire::DeviceInfo info_;  // since ready()
  std::future<Result<TrustedDevice>> starting_;
  std::unique_ptr<TrustedDevice> trusted_;
  std::future<Result<DeviceProcess>> starting_libraries_;
  std::unique_ptr<DeviceProcess> libraries_;
};

}  // namespace ptxbench::judge
