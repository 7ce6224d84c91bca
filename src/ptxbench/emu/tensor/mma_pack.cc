#include "ptxbench/emu/tensor/mma_pack.h"

#include <fmt/format.h>

#include <array>
#include <cstring>

#include "ptxbench/emu/tensor/mma_pack_avx2.h"
#include "ptxbench/numeric/format.h"
#include "ptxbench/numeric/half.h"

namespace ptxbench::emu {
namespace {

using numeric::Format;
using numeric::SimdLevel;

std::array<float, 256> byte_table(MmaType type) {
  std::array<float, 256> table;
  for (uint32_t i = 0; i < 256; ++i) {
    switch (type) {
      case MmaType::kE4M3: table[i] = static_cast<float>(numeric::decode(Format::kE4M3, i)); break;
      case MmaType::kE5M2: table[i] = static_cast<float>(numeric::decode(Format::kE5M2, i)); break;
      case MmaType::kS8: table[i] = static_cast<int8_t>(i); break;
      default: table[i] = static_cast<float>(i); break;
    }
  }
  return table;
}

// Writes single elements; the panel's repetition and order are hidden here.
void put_a(const PanelA& panel, uint32_t row, uint32_t k, float value) {
  float* to = panel.at(row / kGroupRows, k) + row % kGroupRows * 4;
  for (uint32_t i = 0; i < 4; ++i) to[i] = value;
}

void put_b(const PanelB& panel, uint32_t column, uint32_t k, float value) {
  const PanelB::Unit unit = panel.unit(column / 8 * 2 + column % 2);
  unit.start[k * unit.stride + column % 8 / 2] = value;
}

uint32_t load_element(const std::byte* from, uint32_t bytes) {
  uint32_t bits = 0;
  std::memcpy(&bits, from, bytes);  // little endian, as the guest
  return bits;
}

// Any type, element by element: put(outer index, k, value).
template <class Put>
void pack_elements(const SharedOperand& operand, SharedView shared, Put put) {
  const uint32_t size = mma_element_bytes(operand.type), per_line = kLineBytes / size;
  const bool k_major = operand.major == Major::kK;
  const uint32_t outer_per_core = k_major ? kLines : per_line, k_per_core = k_major ? per_line : kLines;
  for (uint32_t outer = 0; outer < operand.outer / outer_per_core; ++outer) {
    for (uint32_t kc = 0; kc < kCoresAlongK; ++kc) {
      const CoreMatrix core = core_matrix(operand.descriptor, operand.major, outer, kc);
      for (uint32_t line = 0; line < kLines; ++line) {
        const std::byte* from = shared.at(operand.descriptor.place(core.address + line * core.pitch));
        for (uint32_t i = 0; i < per_line; ++i) {
          const float value = mma_value(operand.type, load_element(from + i * size, size));
          put(outer * outer_per_core + (k_major ? line : i), kc * k_per_core + (k_major ? i : line),
              operand.negate ? -value : value);
        }
      }
    }
  }
}

}  // namespace

uint32_t mma_element_bytes(MmaType type) {
  switch (type) {
    case MmaType::kF16:
    case MmaType::kBF16: return 2;
    case MmaType::kTF32: return 4;
    default: return 1;
  }
}

const float* mma_byte_values(MmaType type) {
  static const std::array<float, 256> e4m3 = byte_table(MmaType::kE4M3), e5m2 = byte_table(MmaType::kE5M2);
  static const std::array<float, 256> s8 = byte_table(MmaType::kS8), u8 = byte_table(MmaType::kU8);
  switch (type) {
    case MmaType::kE4M3: return e4m3.data();
    case MmaType::kE5M2: return e5m2.data();
    case MmaType::kS8: return s8.data();
    default: return u8.data();
  }
}

float mma_value(MmaType type, uint32_t bits) {
  switch (type) {
    case MmaType::kF16: return numeric::f16_to_f32(static_cast<uint16_t>(bits));
    case MmaType::kBF16: return numeric::bf16_to_f32(static_cast<uint16_t>(bits));
    case MmaType::kTF32: return numeric::tf32_operand(bits);
    default: return mma_byte_values(type)[bits & 0xff];
  }
}

Checked<void> check_bounds(const SharedOperand& operand, const char* name, SharedView shared) {
  const MatrixDescriptor& d = operand.descriptor;
  const uint32_t per_core = operand.major == Major::kK ? kLines : kLineBytes / mma_element_bytes(operand.type);
  for (uint32_t outer = 0; outer < operand.outer / per_core; ++outer) {
    for (uint32_t kc = 0; kc < kCoresAlongK; ++kc) {
      const CoreMatrix core = core_matrix(d, operand.major, outer, kc);
      // A swizzle moves chunks inside their line of 128 bytes.
      const uint32_t low = core.address & ~127u, high = (core.address + 7 * core.pitch + kLineBytes + 127) & ~127u;
      if (shared.contains(low, high - low)) continue;
      for (uint32_t line = 0; line < kLines; ++line) {
        const uint32_t address = d.place(core.address + line * core.pitch);
        if (shared.contains(address, kLineBytes)) continue;
        return fault(
            FaultKind::kOutOfBounds, "wgmma reads its operands from the shared memory of the CTA",
            fmt::format("matrix {} reaches shared address {:#x} (start {:#x}, leading byte offset {}, stride byte "
                        "offset {}), where shared memory is {:#x} to {:#x}",
                        name, address, d.start_address, d.leading_byte_offset, d.stride_byte_offset, shared.base,
                        uint64_t{shared.base} + shared.size),
            address);
      }
    }
  }
  return {};
}

void pack_a(const SharedOperand& operand, SharedView shared, const PanelA& panel, uint32_t k_start, SimdLevel level) {
  if (level >= SimdLevel::kAvx2) return pack_a_avx2(operand, shared, panel, k_start);
  pack_elements(operand, shared, [&](uint32_t row, uint32_t k, float value) { put_a(panel, row, k_start + k, value); });
}

void pack_b(const SharedOperand& operand, SharedView shared, const PanelB& panel, uint32_t k_start, SimdLevel level) {
  if (level >= SimdLevel::kAvx2) return pack_b_avx2(operand, shared, panel, k_start);
  pack_elements(operand, shared,
                [&](uint32_t column, uint32_t k, float value) { put_b(panel, column, k_start + k, value); });
}

namespace {
uint32_t element_of(uint32_t word, uint32_t size, uint32_t index) {
  return size == 4 ? word : word >> 8 * size * index & ((1u << 8 * size) - 1);
}
}  // namespace

void pack_a_registers(MmaType type, bool negate, const uint32_t* const* registers, uint32_t count, uint32_t warp,
                      const PanelA& panel, uint32_t k_start, SimdLevel level) {
  const uint32_t size = mma_element_bytes(type), per_register = 4 / size;
  if (level >= SimdLevel::kAvx2 && size == 2) {
    return pack_a_registers_avx2(type, negate, registers, count, warp, panel, k_start);
  }
  for (uint32_t reg = 0; reg < count; ++reg) {
    for (uint32_t lane = 0; lane < 32; ++lane) {
      const uint32_t row = warp * 16 + reg % 2 * 8 + lane / 4;
      const uint32_t k = k_start + (reg / 2 * 4 + lane % 4) * per_register;
      for (uint32_t i = 0; i < per_register; ++i) {
        const float value = mma_value(type, element_of(registers[reg][lane], size, i));
        put_a(panel, row, k + i, negate ? -value : value);
      }
    }
  }
}

void pack_b_registers(MmaType type, const uint32_t* const* registers, uint32_t count, const PanelB& panel) {
  const uint32_t size = mma_element_bytes(type), per_register = 4 / size;
  const PanelB::Unit units[2] = {panel.unit(0), panel.unit(1)};
  for (uint32_t reg = 0; reg < count; ++reg) {
    for (uint32_t lane = 0; lane < 32; ++lane) {
      const uint32_t column = lane / 4, k = (reg * 4 + lane % 4) * per_register;
      const PanelB::Unit& unit = units[column % 2];
      for (uint32_t i = 0; i < per_register; ++i) {
        unit.start[(k + i) * unit.stride + column / 2] = mma_value(type, element_of(registers[reg][lane], size, i));
      }
    }
  }
}

}  // namespace ptxbench::emu
