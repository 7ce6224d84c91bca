// mma.sync.aligned of one warp: D = A * B + C. PTX ISA 9.7.14.5, "Matrix Fragments for mma.m16n8k*". Arithmetic as wgmma.h says.
#pragma once

#include <cstdint>

#include "ptxbench/emu/tensor/fault.h"
#include "ptxbench/emu/tensor/wgmma.h"

namespace ptxbench::emu {

struct MmaForm {
  uint8_t m = 16, n = 8, k = 16;  // m16n8k8/k16 (16-bit types), k4/k8 (tf32), k16/k32 (8-bit types)
  MmaType a_type = MmaType::kBF16;
  MmaType b_type = MmaType::kBF16;
  MmaAccumulator accumulator = MmaAccumulator::kF32;  // of C and D alike
  bool saturate = false;                              // .satfinite, integers only
};

struct MmaRegisterCounts {
  uint8_t a, b, c;  // registers of 32 bits per thread; D has as many as C
};
MmaRegisterCounts mma_register_counts(const MmaForm& form);

// Fault kUnsupported, by name, if the combination is not emulated.
Checked<void> check_mma_form(const MmaForm& form);

// Registers are arrays of 32 lanes. d may alias c. The form must have passed check_mma_form.
void mma_sync(const MmaForm& form, const uint32_t* const* a, const uint32_t* const* b, const uint32_t* const* c,
              uint32_t* const* d);

}  // namespace ptxbench::emu
