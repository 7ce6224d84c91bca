// Driver functions by name, for cudaGetDriverEntryPoint and cuGetProcAddress.
#pragma once

namespace ptxbench::shim {

// The function that `name` means today ("cuMemAlloc" gives cuMemAlloc_v2); nullptr for a name that the driver does not
// have. A function that the shim refuses is found and answers with its refusal.
void* driver_entry(const char* name);

}  // namespace ptxbench::shim
