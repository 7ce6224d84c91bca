// One candidate on one workload on a real GPU: all three layers. Host code runs once, in the first run; the runs on the
// other input families, the counting run and the timed calls replay what it asked of the device, with fresh inputs and
// poisoned outputs. Inputs and references of full workloads are computed on the judge's own device process, those of
// emulator-sized ones on the CPU.
#pragma once

#include "ptxbench/judge/device_process.h"
#include "ptxbench/judge/evaluate.h"
#include "ptxbench/judge/gpu_station.h"

namespace ptxbench::judge {

// As evaluate(); after station.ready(). Evaluations of other processes on the same GPU are waited for. A GPU that is ill
// after a hang is quarantined (quarantine.h): later calls fail with kUnavailable until that is lifted.
Result<schema::Verdict> evaluate_on_gpu(const EvaluateRequest& request, GpuStation& station);

}  // namespace ptxbench::judge
