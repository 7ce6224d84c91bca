// libcudart.so.13's way to the process's Core and to the driver's functions.
#include "ptxbench/shim/driver_entry.h"
#include "ptxbench/shim/refused.h"
#include "ptxbench/shim/runtime.h"
#include "ptxbench/shim/shared_core.h"

namespace ptxbench::shim {

Core& core() { return *ptxbench_shim_core(); }
void* driver_entry(const char* name) { return ptxbench_shim_driver_entry(name); }
int refused(const char* api) { return finish(core().refuse(api, "not supported by ptxbench's CUDA runtime").code); }

}  // namespace ptxbench::shim
