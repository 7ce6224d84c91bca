#include "ptxbench/emu/tensor/mma_sync.h"

#include <fmt/format.h>

#include <cstring>

#include "ptxbench/emu/tensor/mma_accumulate.h"
#include "ptxbench/emu/tensor/mma_pack.h"

namespace ptxbench::emu {
namespace {

constexpr uint32_t kMostK = 32;

bool is_integer(MmaType type) { return type == MmaType::kS8 || type == MmaType::kU8; }
bool is_float8(MmaType type) { return type == MmaType::kE4M3 || type == MmaType::kE5M2; }

bool good_k(const MmaForm& form) {
  switch (mma_element_bytes(form.a_type)) {
    case 2: return form.k == 8 || form.k == 16;
    case 4: return form.k == 4 || form.k == 8;
    default: return form.k == 32 || (form.k == 16 && is_integer(form.a_type));
  }
}

bool good_accumulator(const MmaForm& form) {
  if (is_integer(form.a_type)) return form.accumulator == MmaAccumulator::kS32;
  if (form.accumulator == MmaAccumulator::kF16) return form.a_type == MmaType::kF16 || is_float8(form.a_type);
  return form.accumulator == MmaAccumulator::kF32;
}

}  // namespace

MmaRegisterCounts mma_register_counts(const MmaForm& form) {
  const uint32_t row_words = form.k * mma_element_bytes(form.a_type) / 4;  // 32-bit words of one row of A
  return {static_cast<uint8_t>(form.m * row_words / 32), static_cast<uint8_t>(form.n * row_words / 32),
          static_cast<uint8_t>(form.accumulator == MmaAccumulator::kF16 ? 2 : 4)};
}

Checked<void> check_mma_form(const MmaForm& form) {
  const bool mixable =
      (is_integer(form.a_type) && is_integer(form.b_type)) || (is_float8(form.a_type) && is_float8(form.b_type));
  const bool good = form.m == 16 && form.n == 8 && good_k(form) && (form.a_type == form.b_type || mixable) &&
                    good_accumulator(form) && (!form.saturate || is_integer(form.a_type));
  if (good) return {};
  return fault(
      FaultKind::kUnsupported,
      "mma.sync is emulated as m16n8k8 and k16 (f16, bf16), k4 and k8 (tf32), k16 and k32 (s8, u8), k32 (e4m3, e5m2)",
      fmt::format("this one is m{}n{}k{} of types that do not go together so", form.m, form.n, form.k));
}

void mma_sync(const MmaForm& form, const uint32_t* const* a, const uint32_t* const* b, const uint32_t* const* c,
              uint32_t* const* d) {
  const MmaRegisterCounts counts = mma_register_counts(form);
  float a_data[16 * 4 * kMostK], b_data[8 * kMostK];
  const PanelA panel_a{a_data, form.k};
  const PanelB panel_b(b_data, form.k, 8, mma_kernel().most_units);
  pack_a_registers(form.a_type, false, a, counts.a, 0, panel_a, 0, numeric::simd_level());
  pack_b_registers(form.b_type, b, counts.b, panel_b);
  for (uint32_t i = 0; i < counts.c; ++i) {
    if (d[i] != c[i]) std::memcpy(d[i], c[i], 32 * sizeof(uint32_t));
  }
  mma_accumulate({form.a_type, form.b_type, form.accumulator, form.saturate, form.k}, {&d, 1}, panel_a, panel_b, false);
}

}  // namespace ptxbench::emu
