// The figures that devices of this program report, by the numbers of cudaDeviceAttr.
#pragma once

#include "ptxbench/wire/records.h"

namespace ptxbench::wire {

// As an NVIDIA H200 (SXM) reports them; total_memory is what an emulated device lets a program have.
DeviceInfo h200_info(std::uint64_t total_memory);

}  // namespace ptxbench::wire
