#include "ptxbench/wire/device_table.h"

#include <iterator>

namespace ptxbench::wire {
namespace {

// cudaDeviceGetAttribute(0..147) of an NVIDIA H200, driver 580, CUDA 13.0. PCI ids are left at 0.
constexpr std::int32_t kH200[] = {
    // clang-format off
    /*   0 */ 0, 1024, 1024, 1024, 64, 2147483647, 65535, 65535, 49152, 65536,
    /*  10 */ 32, 2147483647, 65536, 1980000, 512, 1, 132, 0, 0, 1,
    /*  20 */ 0, 131072, 131072, 65536, 16384, 16384, 16384, 32768, 32768, 2048,
    /*  30 */ 512, 1, 1, 0, 0, 0, 3201000, 6016, 62914560, 2048,
    /*  40 */ 3, 1, 32768, 2048, 1, 32768, 32768, 8192, 8192, 32768,
    /*  50 */ 0, 32, 32768, 32768, 2046, 32768, 131072, 65536, 16384, 16384,
    /*  60 */ 16384, 32768, 2048, 32768, 32768, 2048, 32768, 32768, 2046, 268435456,
    /*  70 */ 131072, 65000, 2097120, 32768, 32768, 9, 0, 32768, 1, 1,
    /*  80 */ 1, 233472, 65536, 1, 0, 0, 0, 2, 0, 1,
    /*  90 */ 1, 1, 0, 0, 0, 1, 1, 232448, 0, 1,
    /* 100 */ 0, 0, 1, 1, 0, 0, 32, 1, 39321600, 134217728,
    /* 110 */ 1, 1024, 1, 1, 1, 1, 1, 1, 100, 9,
    /* 120 */ 1, 1, 1, 1, 1, 1, 4, 1, 1, 1,
    /* 130 */ 0, -1, 0, 0, 0, 0, 0, 0, 0, 590680286,
    /* 140 */ 415174878, 1, 1, 0, 1, 1, 0, 0,
    // clang-format on
};

}  // namespace

DeviceInfo h200_info(std::uint64_t total_memory) {
  DeviceInfo info;
  info.name = "NVIDIA H200";
  info.compute_major = 9;
  info.compute_minor = 0;
  info.total_memory = total_memory;
  info.attributes.assign(std::begin(kH200), std::end(kH200));
  // GPU processing clusters of the measured card: the only split of 132 multiprocessors into eight that gives the
  // cudaOccupancyMaxActiveClusters it reported (132, 66, 30, 15, 7 for 1, 2, 4, 8, 16 CTAs) with 18 or 16 in seven.
  info.gpcs = {18, 18, 18, 18, 18, 16, 16, 10};
  return info;
}

}  // namespace ptxbench::wire
