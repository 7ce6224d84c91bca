// From operands as the guest has them (descriptors into shared memory, registers) to the panels of the kernels.
// Internal to emu/tensor.
#pragma once

#include <cstdint>

#include "ptxbench/emu/tensor/memory_view.h"
#include "ptxbench/emu/tensor/mma_panel.h"
#include "ptxbench/emu/tensor/wgmma.h"
#include "ptxbench/emu/tensor/wgmma_descriptor.h"
#include "ptxbench/numeric/simd.h"

namespace ptxbench::emu {

constexpr uint32_t kLines = 8;  // of a core matrix
constexpr uint32_t kLineBytes = 16;
constexpr uint32_t kCoresAlongK = 2;  // every wgmma takes 32 bytes of k

// A matrix in shared memory: `outer` is m or n, 2 core matrices along k.
struct SharedOperand {
  MatrixDescriptor descriptor;
  Major major = Major::kK;
  MmaType type = MmaType::kBF16;
  uint32_t outer = 64;
  bool negate = false;
};

uint32_t mma_element_bytes(MmaType type);

// Fault kOutOfBounds unless all chunks of the matrix lie in `shared`. Done before packing, which does not check.
Checked<void> check_bounds(const SharedOperand& operand, const char* name, SharedView shared);

// Fill columns k_start .. of a panel. `level` picks a variant of the code; the result is the same.
void pack_a(const SharedOperand& operand, SharedView shared, const PanelA& panel, uint32_t k_start,
            numeric::SimdLevel level);
void pack_b(const SharedOperand& operand, SharedView shared, const PanelB& panel, uint32_t k_start,
            numeric::SimdLevel level);
// A from `count` registers of one warp, into row groups 2 * warp and 2 * warp + 1. Register r, lane 4i + c: row i + 8 (r % 2),
// word 4 (r / 2) + c of k. wgmma and mma.m16n8 have this in common, for all element sizes.
void pack_a_registers(MmaType type, bool negate, const uint32_t* const* registers, uint32_t count, uint32_t warp,
                      const PanelA& panel, uint32_t k_start, numeric::SimdLevel level);
// B of mma.m16n8 (8 columns). Register r, lane 4i + c: column i, word 4r + c of k.
void pack_b_registers(MmaType type, const uint32_t* const* registers, uint32_t count, const PanelB& panel);

// One element of a register or of memory as binary32; exact for every type.
float mma_value(MmaType type, uint32_t bits);
// The values of all 256 patterns of an 8-bit type.
const float* mma_byte_values(MmaType type);

}  // namespace ptxbench::emu
