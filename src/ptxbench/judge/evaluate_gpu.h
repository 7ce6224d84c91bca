// One candidate on one workload on a real GPU: layers 1 and 2. Host code runs once, in the first run; the runs on the other
// input families and the counting run replay what it asked of the device, with fresh inputs and poisoned outputs.
// Inputs and references are made on the CPU. Times are not measured here, and the verdict says so.
#pragma once

#include <filesystem>

#include "ptxbench/judge/device_process.h"
#include "ptxbench/judge/evaluate.h"

namespace ptxbench::judge {

// ptxbench-device-gpu beside the running program, for the GPU of that number among the visible ones. kUnavailable says
// what is missing: the program, or what it prints about driver and devices.
Result<DeviceProgram> find_gpu(int number);

// As evaluate(). A GPU that is ill after a hang is quarantined: later calls fail with kUnavailable until
// clear_quarantine().
Result<schema::Verdict> evaluate_on_gpu(const EvaluateRequest& request, const DeviceProgram& gpu, DevicePool& pool);

// Where the note of a quarantined GPU lies, if there is one.
std::filesystem::path quarantine_file(const DeviceProgram& gpu);
// Removes every note; how many there were.
int clear_quarantine();

}  // namespace ptxbench::judge
