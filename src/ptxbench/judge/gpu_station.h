// What the evaluations on one GPU have in common: the judge's own device process, which lives as long as this does, and
// device processes for candidates, of which one is always being prepared.
#pragma once

#include <future>
#include <memory>

#include "ptxbench/judge/device_process.h"
#include "ptxbench/judge/workbench.h"

namespace ptxbench::judge {

// The trusted process with our kernels loaded. It never sees a candidate's code.
struct TrustedDevice {
  std::unique_ptr<DeviceProcess> process;
  std::unique_ptr<DeviceWorkbench> bench;  // before the process goes
};

class GpuStation {
 public:
  // Begins to start both processes at once.
  explicit GpuStation(DeviceProgram gpu);
  ~GpuStation();

  const DeviceProgram& gpu() const { return gpu_; }
  // A fresh process for one candidate; the next one begins to start.
  Result<DeviceProcess> candidate_device();
  // The judge's own. A process that broke is replaced by the next call.
  Result<TrustedDevice*> trusted();

 private:
  DeviceProgram gpu_;
  DevicePool pool_;
  std::future<Result<TrustedDevice>> starting_;
  std::unique_ptr<TrustedDevice> trusted_;
};

}  // namespace ptxbench::judge
