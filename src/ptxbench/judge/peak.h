// What GPUs can do at most, by the vendor's data sheets: the roofline that times are held against.
#pragma once

#include <cstdint>
#include <string_view>

namespace ptxbench::judge {

struct PeakFigures {
  std::string_view name;   // as the driver names the device: "NVIDIA H200"
  double bf16_tflops = 0;  // dense, at rated_mhz
  double gb_per_s = 0;     // memory
  double rated_mhz = 0;    // the multiprocessor clock of the figure: TFLOP/s / (multiprocessors x FLOPs per clock)
  std::string_view source;
};

// nullptr when the table has no row for the device.
const PeakFigures* peak_figures(std::string_view device_name);

// Milliseconds that a kernel needs at least: matrix FLOPs at the rate of `mhz` (the card's highest clock; the rated one if
// it is lower or 0), bytes at the memory's rate.
double flop_floor_ms(const PeakFigures& peak, std::uint64_t flops, double mhz = 0);
double byte_floor_ms(const PeakFigures& peak, std::uint64_t bytes);

}  // namespace ptxbench::judge
