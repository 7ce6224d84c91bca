// What a GPU's device process takes from the environment of the program that starts it: where the driver, CUPTI and the
// baselines' libraries are, and which GPUs are to be seen. Everything else stays behind.
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace ptxbench::wire {

// True for the names that are passed on: PTXBENCH_NVIDIA_LIBRARIES, LD_LIBRARY_PATH, PATH, VIRTUAL_ENV, HOME (the
// driver's cache), TMPDIR, and all that start with CUDA_ or NVIDIA_. Never LD_PRELOAD or CUDA_INJECTION64_PATH: they would
// load foreign code into the trusted process.
bool passed_to_device(std::string_view name);

// "NAME=value" of all that are set.
std::vector<std::string> device_environment();

}  // namespace ptxbench::wire
