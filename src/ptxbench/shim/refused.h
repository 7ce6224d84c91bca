#pragma once

namespace ptxbench::shim {

// Reports that the program called `api`, which is not supported, and returns 801.
int refused(const char* api);

}  // namespace ptxbench::shim
