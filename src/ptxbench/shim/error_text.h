// Names and texts of CUDA error numbers; nullptr for an unknown number.
#pragma once

namespace ptxbench::shim {

const char* runtime_error_name(int error);
const char* driver_error_name(int error);
const char* error_text(int error);

}  // namespace ptxbench::shim
