#include "ptxbench/emu/tensor/reduce.h"

#include <fmt/format.h>

#include <bit>
#include <cmath>
#include <cstring>
#include <type_traits>

#include "ptxbench/numeric/half.h"

namespace ptxbench::emu {
namespace {

using numeric::Format;

template <size_t kBytes>
using BitsOf = std::conditional_t<kBytes == 2, uint16_t, std::conditional_t<kBytes == 4, uint32_t, uint64_t>>;

// Each element by itself is atomic, as the manual has it: other threads of the emulator may reduce into the same memory.
template <class T, T (*kCombine)(T, T)>
void reduce_elements(std::byte* destination, const std::byte* source, uint32_t bytes) {
  using Bits = BitsOf<sizeof(T)>;
  for (uint32_t i = 0; i < bytes; i += sizeof(T)) {
    T value;
    std::memcpy(&value, source + i, sizeof(T));
    auto* target = reinterpret_cast<Bits*>(destination + i);
    Bits old = __atomic_load_n(target, __ATOMIC_RELAXED);
    Bits wanted;
    do {
      wanted = std::bit_cast<Bits>(kCombine(std::bit_cast<T>(old), value));
    } while (!__atomic_compare_exchange_n(target, &old, wanted, true, __ATOMIC_RELAXED, __ATOMIC_RELAXED));
  }
}

template <class T>
T add_integer(T a, T b) {
  using Bits = std::make_unsigned_t<T>;
  return static_cast<T>(static_cast<Bits>(a) + static_cast<Bits>(b));
}
template <class T>
T min_integer(T a, T b) {
  return b < a ? b : a;
}
template <class T>
T max_integer(T a, T b) {
  return a < b ? b : a;
}
template <class T>
T and_bits(T a, T b) {
  return a & b;
}
template <class T>
T or_bits(T a, T b) {
  return a | b;
}
template <class T>
T xor_bits(T a, T b) {
  return a ^ b;
}
// PTX atom.inc and atom.dec, the source being the limit.
uint32_t increment(uint32_t value, uint32_t limit) { return value >= limit ? 0 : value + 1; }
uint32_t decrement(uint32_t value, uint32_t limit) { return value == 0 || value > limit ? limit : value - 1; }

// The manual says that the f32 addition flushes denormals; an H200 keeps them (captures mbarrier_bulk). NaN is the canonical one.
float add_f32(float a, float b) {
  const float sum = a + b;
  return std::isnan(sum) ? std::bit_cast<float>(0x7fffffffu) : sum;
}
// A NaN keeps its payload, that of the source first (as recorded); the host's addition would choose by the order of its operands.
double add_f64(double a, double b) {
  constexpr uint64_t kQuiet = uint64_t{1} << 51;
  if (std::isnan(b)) return std::bit_cast<double>(std::bit_cast<uint64_t>(b) | kQuiet);
  if (std::isnan(a)) return std::bit_cast<double>(std::bit_cast<uint64_t>(a) | kQuiet);
  return a + b;
}

template <Format kFormat>
uint16_t add_half(uint16_t a, uint16_t b) {
  return numeric::half_add(kFormat, a, b);
}
// min and max of PTX: a NaN operand loses, two NaNs give the canonical NaN, -0 is less than +0.
template <Format kFormat, bool kMax>
uint16_t extreme_half(uint16_t a, uint16_t b) {
  constexpr uint16_t kInfinity = kFormat == Format::kF16 ? 0x7c00 : 0x7f80;
  const bool a_nan = (a & 0x7fff) > kInfinity, b_nan = (b & 0x7fff) > kInfinity;
  if (a_nan && b_nan) return 0x7fff;
  if (a_nan) return b;
  if (b_nan) return a;
  // Sign and magnitude to an ordered integer; -0 maps just below +0.
  const auto key = [](uint16_t bits) { return (bits & 0x8000) != 0 ? -1 - int{bits & 0x7fff} : int{bits}; };
  return (key(a) < key(b)) == kMax ? b : a;
}

template <class T>
ReduceFunction integer_function(ReduceOp op) {
  switch (op) {
    case ReduceOp::kAdd: return reduce_elements<T, add_integer<T>>;
    case ReduceOp::kMin: return reduce_elements<T, min_integer<T>>;
    case ReduceOp::kMax: return reduce_elements<T, max_integer<T>>;
    case ReduceOp::kAnd: return reduce_elements<T, and_bits<T>>;
    case ReduceOp::kOr: return reduce_elements<T, or_bits<T>>;
    case ReduceOp::kXor: return reduce_elements<T, xor_bits<T>>;
    default: return nullptr;
  }
}

template <Format kFormat>
ReduceFunction half_function(ReduceOp op) {
  switch (op) {
    case ReduceOp::kAdd: return reduce_elements<uint16_t, add_half<kFormat>>;
    case ReduceOp::kMin: return reduce_elements<uint16_t, extreme_half<kFormat, false>>;
    case ReduceOp::kMax: return reduce_elements<uint16_t, extreme_half<kFormat, true>>;
    default: return nullptr;
  }
}

bool is_arithmetic(ReduceOp op) { return op == ReduceOp::kAdd || op == ReduceOp::kMin || op == ReduceOp::kMax; }
bool is_bitwise(ReduceOp op) { return op == ReduceOp::kAnd || op == ReduceOp::kOr || op == ReduceOp::kXor; }

ReduceFunction select(ReduceOp op, ReduceType type) {
  const bool bitwise = is_bitwise(op);
  switch (type) {
    case ReduceType::kU32:
      if (op == ReduceOp::kInc) return reduce_elements<uint32_t, increment>;
      if (op == ReduceOp::kDec) return reduce_elements<uint32_t, decrement>;
      return is_arithmetic(op) ? integer_function<uint32_t>(op) : nullptr;
    case ReduceType::kS32: return is_arithmetic(op) ? integer_function<int32_t>(op) : nullptr;
    case ReduceType::kU64: return is_arithmetic(op) ? integer_function<uint64_t>(op) : nullptr;
    case ReduceType::kS64: return op != ReduceOp::kAdd && is_arithmetic(op) ? integer_function<int64_t>(op) : nullptr;
    case ReduceType::kB32: return bitwise ? integer_function<uint32_t>(op) : nullptr;
    case ReduceType::kB64: return bitwise ? integer_function<uint64_t>(op) : nullptr;
    case ReduceType::kF16: return half_function<Format::kF16>(op);
    case ReduceType::kBF16: return half_function<Format::kBF16>(op);
    case ReduceType::kF32: return op == ReduceOp::kAdd ? reduce_elements<float, add_f32> : nullptr;
    case ReduceType::kF64: return op == ReduceOp::kAdd ? reduce_elements<double, add_f64> : nullptr;
  }
  return nullptr;
}

}  // namespace

uint32_t reduce_element_bytes(ReduceType type) {
  switch (type) {
    case ReduceType::kF16:
    case ReduceType::kBF16: return 2;
    case ReduceType::kU32:
    case ReduceType::kS32:
    case ReduceType::kB32:
    case ReduceType::kF32: return 4;
    default: return 8;
  }
}

Checked<ReduceFunction> reduce_function(ReduceOp op, ReduceType type, bool to_shared) {
  ReduceFunction function = select(op, type);
  if (to_shared) {
    // Shared memory: integers only; 64-bit ones only to add.
    const bool word = type == ReduceType::kU32 || type == ReduceType::kS32 || type == ReduceType::kB32;
    if (!word && !(type == ReduceType::kU64 && op == ReduceOp::kAdd)) function = nullptr;
  }
  if (function != nullptr) return function;
  constexpr const char* kOps[] = {"add", "min", "max", "inc", "dec", "and", "or", "xor"};
  constexpr const char* kTypes[] = {"u32", "s32", "u64", "s64", "b32", "b64", "f16", "bf16", "f32", "f64"};
  return fault(FaultKind::kUnsupported, "cp.reduce.async.bulk has a table of operations and element types",
               fmt::format(".{} of .{} in {} memory is not in it", kOps[static_cast<size_t>(op)],
                           kTypes[static_cast<size_t>(type)], to_shared ? "shared" : "global"));
}

}  // namespace ptxbench::emu
