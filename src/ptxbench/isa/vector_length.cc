#include <charconv>

#include "ptxbench/base/check.h"
#include "ptxbench/isa/operands.h"

namespace ptxbench::isa {
namespace {

Mod slot_value(FormId id, std::span<const Mod> mods, Slot slot) {
  const auto elements = modifier_elements(id);
  for (std::size_t i = 0; i < elements.size() && i < mods.size(); ++i) {
    if (elements[i].slot == slot) return mods[i];
  }
  return Mod::kNone;
}

unsigned bits_of(FormId id, std::span<const Mod> mods, Slot slot) { return bits(type_of(slot_value(id, mods, slot))); }

// Registers per thread of a fragment of rows x columns elements over a warp; elements are packed into 32-bit registers,
// f64 has a 64-bit register per element (PTX manual, "Matrix Fragments for mma").
unsigned fragment(unsigned elements, unsigned element_bits) {
  const unsigned per_thread = elements / 32;
  return element_bits == 64 ? per_thread : per_thread * element_bits / 32;
}

unsigned mma_fragment(FormId id, std::span<const Mod> mods, char which) {
  const auto shape = shape_of(slot_value(id, mods, Slot::kShape));
  if (shape.k == 0) return 0;
  // m8n8k4 for f16 is four independent multiplications by quarter warps: 2 registers of A and B, 8 or 4 of C and D.
  if (id == FormId::kMmaF16K4) {
    if (which == 'a' || which == 'b') return 2;
    return bits_of(id, mods, which == 'd' ? Slot::kDtype : Slot::kCtype) == 32 ? 8 : 4;
  }
  switch (which) {
    // The narrow float formats of kind::f8f6f4 take a byte each.
    case 'a': {
      const unsigned width = bits_of(id, mods, Slot::kAtype);
      return fragment(shape.m * shape.k, shape.k == 64 && width == 8 ? 4 : width);
    }
    case 'b': {
      const unsigned width = bits_of(id, mods, Slot::kBtype);
      return fragment(shape.n * shape.k, shape.k == 64 && width == 8 ? 4 : width);
    }
    case 'c': return fragment(shape.m * shape.n, bits_of(id, mods, Slot::kCtype));
    default: return fragment(shape.m * shape.n, bits_of(id, mods, Slot::kDtype));
  }
}

// 32-bit registers of tcgen05.ld/st (PTX manual, "tcgen05 Data Path Layout Organization": registers by shape and .num).
unsigned tmem_registers(FormId id, std::span<const Mod> mods) {
  const unsigned num = number_of(slot_value(id, mods, Slot::kNum));
  switch (slot_value(id, mods, Slot::kShape)) {
    case Mod::kN16x128b: return 2 * num;
    case Mod::kN16x256b: return 4 * num;
    default: return num;
  }
}

}  // namespace

unsigned vector_length(FormId id, std::span<const Mod> mods, std::string_view count) {
  if (count.empty() || count[0] == '%') return 0;
  unsigned literal = 0;
  if (const auto [end, error] = std::from_chars(count.data(), count.data() + count.size(), literal);
      error == std::errc())
    return literal;
  if (count == "num") return number_of(slot_value(id, mods, Slot::kNum));
  if (count == "num2") return 2 * number_of(slot_value(id, mods, Slot::kNum));
  if (count == "vec") return number_of(slot_value(id, mods, Slot::kVec));
  if (count == "tmem") return tmem_registers(id, mods);
  if (count.starts_with("frag_")) return mma_fragment(id, mods, count[5]);
  const auto shape = shape_of(slot_value(id, mods, Slot::kShape));
  // The accumulator is 64 x N over 128 threads, packed in pairs for f16; A from registers is 64 x K, four registers always.
  if (count == "wgmma_d") return shape.n / 2 * bits_of(id, mods, Slot::kDtype) / 32;
  if (count == "wgmma_a") return 4;
  PTXBENCH_CHECK(false, "form {}: unknown vector length '{}'", form(id).name, count);
}

}  // namespace ptxbench::isa
