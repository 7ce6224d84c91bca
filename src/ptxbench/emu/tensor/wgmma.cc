#include "ptxbench/emu/tensor/wgmma.h"

#include <fmt/format.h>

#include <algorithm>
#include <vector>

#include "ptxbench/base/check.h"
#include "ptxbench/emu/tensor/mma_accumulate.h"
#include "ptxbench/emu/tensor/mma_pack.h"

namespace ptxbench::emu {
namespace {

constexpr uint32_t kM = 64, kWarps = 4, kMostN = 256;
constexpr uint32_t kMostK = 64;  // k of one pass of the kernel: bounds the panels so that they stay in the L2 cache
constexpr uint32_t kAddressField = 0x3ffff;

// Space of one emulating thread, kept between instructions.
struct Scratch {
  std::vector<float> a = std::vector<float>(kM * 4 * kMostK);
  std::vector<float> b = std::vector<float>(kMostN * kMostK);
};
Scratch& scratch() {
  thread_local Scratch space;
  return space;
}

bool is_integer(MmaType type) { return type == MmaType::kS8 || type == MmaType::kU8; }
bool is_float8(MmaType type) { return type == MmaType::kE4M3 || type == MmaType::kE5M2; }
bool is_half(MmaType type) { return type == MmaType::kF16 || type == MmaType::kBF16; }

tl::unexpected<Fault> not_listed(const char* rule, std::string found) {
  return fault(FaultKind::kUnsupported, rule, std::move(found));
}

Checked<void> check_types(const WgmmaForm& form) {
  const MmaType a = form.a_type, b = form.b_type;
  const bool mixable = (is_float8(a) && is_float8(b)) || (is_integer(a) && is_integer(b));
  if (a != b && !mixable)
    return not_listed("wgmma multiplies one type, or two 8-bit types of a kind", "A and B differ in type");
  const MmaAccumulator d = form.accumulator;
  const bool fits =
      is_integer(a) ? d == MmaAccumulator::kS32
                    : d == MmaAccumulator::kF32 || (d == MmaAccumulator::kF16 && (a == MmaType::kF16 || is_float8(a)));
  if (!fits)
    return not_listed("f16 and 8-bit floats accumulate in f16 or f32, bf16 and tf32 in f32, integers in s32",
                      "the accumulator has another type");
  return {};
}

struct StepOperands {
  SharedOperand a, b;
};

// Descriptors of one step, decoded and checked against the memory.
Checked<StepOperands> operands(const WgmmaForm& form, const WgmmaStep& step, SharedView shared) {
  StepOperands result;
  // Descriptors hold 18 bits of an address; the rest is that of the CTA's own memory.
  const uint32_t window = shared.base & ~kAddressField;
  const auto decode = [&](uint64_t bits, const char* name, SharedOperand& operand) -> Checked<void> {
    const Checked<MatrixDescriptor> descriptor = decode_matrix_descriptor(bits);
    if (!descriptor) return tl::unexpected(descriptor.error());
    operand.descriptor = *descriptor;
    operand.descriptor.start_address += window;
    return check_bounds(operand, name, shared);
  };
  const bool negate = form.negate_a != form.negate_b;
  if (!form.a_in_registers) {
    result.a = {{}, form.transpose_a ? Major::kMN : Major::kK, form.a_type, kM, negate};
    if (auto good = decode(step.a_descriptor, "A", result.a); !good) return tl::unexpected(good.error());
  }
  result.b = {{}, form.transpose_b ? Major::kMN : Major::kK, form.b_type, form.n, false};
  if (auto good = decode(step.b_descriptor, "B", result.b); !good) return tl::unexpected(good.error());
  return result;
}

// D += A * B over several steps, which only binary32 accumulators allow: the others round after each.
void multiply(const WgmmaForm& form, std::span<const StepOperands> steps, std::span<const WgmmaWarp> warps,
              SharedView shared, bool clear) {
  const numeric::SimdLevel level = numeric::simd_level();
  const uint32_t k = wgmma_k(form.a_type), total = k * static_cast<uint32_t>(steps.size());
  const PanelA a{scratch().a.data(), total};
  const PanelB b(scratch().b.data(), total, form.n, mma_kernel().most_units);
  for (uint32_t s = 0; s < steps.size(); ++s) {
    if (form.a_in_registers) {
      for (uint32_t w = 0; w < kWarps; ++w) {
        pack_a_registers(form.a_type, form.negate_a != form.negate_b, warps[w].a, kWgmmaARegisters, w, a, s * k, level);
      }
    } else {
      pack_a(steps[s].a, shared, a, s * k, level);
    }
    pack_b(steps[s].b, shared, b, s * k, level);
  }
  WarpAccumulators d[kWarps];
  for (uint32_t w = 0; w < kWarps; ++w) d[w] = warps[w].d;
  mma_accumulate({form.a_type, form.b_type, form.accumulator, form.saturate, k}, d, a, b, clear);
}

void compute(const WgmmaForm& form, std::span<const StepOperands> all, std::span<const WgmmaStep> steps,
             std::span<const WgmmaWarp> warps, SharedView shared) {
  // Whatever came before the last step that clears D does not count.
  size_t first = 0;
  for (size_t s = 0; s < steps.size(); ++s) {
    if (!steps[s].scale_d) first = s;
  }
  const size_t most = form.accumulator == MmaAccumulator::kF32 ? kMostK / wgmma_k(form.a_type) : 1;
  for (size_t s = first; s < steps.size(); s += most) {
    multiply(form, all.subspan(s, std::min(most, steps.size() - s)), warps, shared, !steps[s].scale_d);
  }
}

}  // namespace

uint32_t wgmma_k(MmaType type) { return 32 / mma_element_bytes(type); }

uint32_t wgmma_accumulator_registers(const WgmmaForm& form) {
  return form.accumulator == MmaAccumulator::kF16 ? form.n / 4 : form.n / 2;
}

Checked<void> check_wgmma_form(const WgmmaForm& form) {
  if (auto types = check_types(form); !types) return types;
  const bool integer = is_integer(form.a_type);
  const bool good_n =
      form.n >= 8 && form.n <= kMostN && form.n % 8 == 0 && (!integer || form.n <= 32 || form.n % 16 == 0);
  if (!good_n) {
    return not_listed("wgmma has n = 8, 16, ..., 256; for integers above 32 only multiples of 16",
                      fmt::format("n is {}", form.n));
  }
  if ((form.transpose_a || form.transpose_b) && !is_half(form.a_type)) {
    return not_listed("only f16 and bf16 operands may be transposed", "imm-trans-a or imm-trans-b is 1");
  }
  if (form.transpose_a && form.a_in_registers) {
    return not_listed("A in registers is not transposed", "imm-trans-a is 1");
  }
  if (integer && (form.negate_a || form.negate_b)) {
    return not_listed("integers have no imm-scale-a and imm-scale-b", "imm-scale-a or imm-scale-b is -1");
  }
  if (form.saturate && !integer)
    return not_listed(".satfinite is for integers", "a floating-point wgmma has .satfinite");
  return {};
}

Checked<void> wgmma_compute(const WgmmaForm& form, const WgmmaStep& step, std::span<const WgmmaWarp> warps,
                            SharedView shared) {
  PTXBENCH_CHECK(warps.size() == kWarps, "a warpgroup of {} warps", warps.size());
  const Checked<StepOperands> decoded = operands(form, step, shared);
  if (!decoded) return tl::unexpected(decoded.error());
  compute(form, {&*decoded, 1}, {&step, 1}, warps, shared);
  return {};
}

Checked<void> wgmma_compute_chain(const WgmmaForm& form, std::span<const WgmmaStep> steps,
                                  std::span<const WgmmaWarp> warps, SharedView shared) {
  PTXBENCH_CHECK(warps.size() == kWarps, "a warpgroup of {} warps", warps.size());
  PTXBENCH_CHECK(!form.a_in_registers || steps.size() <= 1, "a chain of {} steps with A in registers", steps.size());
  std::vector<StepOperands> decoded;
  decoded.reserve(steps.size());
  for (const WgmmaStep& step : steps) {
    const Checked<StepOperands> one = operands(form, step, shared);
    if (!one) return tl::unexpected(one.error());
    decoded.push_back(*one);
  }
  if (!steps.empty()) compute(form, decoded, steps, warps, shared);
  return {};
}

const char* wgmma_kernel_name() { return mma_kernel().name; }

FragmentPlace wgmma_d_place(const WgmmaForm& form, uint32_t row, uint32_t column) {
  const uint32_t warp = row / 16, half_rows = row % 16 / 8, lane = row % 8 * 4 + column % 8 / 2;
  if (form.accumulator == MmaAccumulator::kF16) return {warp, lane, column / 8 * 2 + half_rows, column % 2};
  return {warp, lane, column / 8 * 4 + half_rows * 2 + column % 2, 0};
}

FragmentPlace wgmma_a_place(MmaType type, uint32_t row, uint32_t k) {
  const uint32_t per_register = 4 / mma_element_bytes(type);
  const uint32_t word = k / per_register;
  return {row / 16, row % 8 * 4 + word % 4, word / 4 * 2 + row % 16 / 8, k % per_register};
}

}  // namespace ptxbench::emu
