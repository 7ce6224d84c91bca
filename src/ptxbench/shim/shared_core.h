// The one Core of a process lives in libcuda.so.1, which exports it under this name for libcudart.so.13.
#pragma once

namespace ptxbench::shim {
class Core;
}

extern "C" ptxbench::shim::Core* ptxbench_shim_core();
extern "C" void* ptxbench_shim_driver_entry(const char* name);
