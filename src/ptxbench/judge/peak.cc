#include "ptxbench/judge/peak.h"

#include <algorithm>

namespace ptxbench::judge {
namespace {

// Data sheets give BF16 with sparsity; the dense rate is half. Hopper does 4096 dense BF16 FLOPs per clock and
// multiprocessor (1024 fused multiply-adds in each of four tensor cores, by two clocks), Blackwell 8192.
constexpr PeakFigures kPeaks[] = {
    {"NVIDIA H200", 989.5, 4800, 1830, "NVIDIA H200 data sheet (SXM): 1979 TFLOPS BF16 with sparsity, 4.8 TB/s"},
    {"NVIDIA H200 NVL", 835.5, 4800, 1545, "NVIDIA H200 data sheet (NVL): 1671 TFLOPS BF16 with sparsity, 4.8 TB/s"},
    {"NVIDIA H100 80GB HBM3", 989.5, 3350, 1830,
     "NVIDIA H100 data sheet (SXM): 1979 TFLOPS BF16 with sparsity, 3.35 TB/s"},
    {"NVIDIA H100 PCIe", 756.5, 2000, 1620, "NVIDIA H100 data sheet (PCIe): 1513 TFLOPS BF16 with sparsity, 2 TB/s"},
    {"NVIDIA H100 NVL", 835.5, 3900, 1545, "NVIDIA H100 data sheet (NVL): 1671 TFLOPS BF16 with sparsity, 3.9 TB/s"},
    {"NVIDIA B200", 2250, 8000, 1855,
     "NVIDIA DGX B200 data sheet: 36 PFLOPS BF16 with sparsity and 64 TB/s for 8 GPUs"},
};

}  // namespace

const PeakFigures* peak_figures(std::string_view device_name) {
  for (const PeakFigures& peak : kPeaks)
    if (peak.name == device_name) return &peak;
  return nullptr;
}

double flop_floor_ms(const PeakFigures& peak, std::uint64_t flops, double mhz) {
  const double tflops = peak.bf16_tflops * std::max(mhz, peak.rated_mhz) / peak.rated_mhz;
  return static_cast<double>(flops) / tflops * 1e-9;
}

double byte_floor_ms(const PeakFigures& peak, std::uint64_t bytes) {
  return static_cast<double>(bytes) / peak.gb_per_s * 1e-6;
}

}  // namespace ptxbench::judge
