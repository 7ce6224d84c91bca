// mma.sync.aligned of one warp on double precision: D = A * B + C, m8n8k4 and m16n8k4, k8, k16. PTX ISA 9.7.14.5, "Matrix
// Fragments for mma.m8n8k4 with .f64" and the like. Each element is a chain of fused multiply-adds over k, from C on.
#pragma once

#include <cstdint>

namespace ptxbench::emu {

struct MmaF64Shape {
  uint8_t m = 16, n = 8, k = 4;
};
// Registers of 64 bits per thread; D has as many as C.
struct MmaF64Counts {
  uint8_t a, b, c;
};
inline MmaF64Counts mma_f64_counts(const MmaF64Shape& s) {
  return {static_cast<uint8_t>(s.m * s.k / 32), static_cast<uint8_t>(s.n * s.k / 32),
          static_cast<uint8_t>(s.m * s.n / 32)};
}

// Registers are arrays of 32 lanes. d may alias c.
void mma_f64(const MmaF64Shape& shape, const double* const* a, const double* const* b, const double* const* c,
             double* const* d);

}  // namespace ptxbench::emu
