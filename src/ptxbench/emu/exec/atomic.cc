// atom and red on global and shared memory. PTX ISA 9.7.13.5, 9.7.13.6. Lane after lane, each with a host atomic, so that CTAs on
// other host threads see indivisible operations.
#include <cmath>
#include <cstring>

#include "ptxbench/emu/exec/address.h"
#include "ptxbench/emu/exec/lanes_active.h"
#include "ptxbench/emu/trap.h"
#include "ptxbench/emu/worker.h"
#include "ptxbench/numeric/half.h"

namespace ptxbench::emu {
namespace {

using isa::Mod;
using isa::Type;
using u16 = std::uint16_t;
using u32 = std::uint32_t;
using u64 = std::uint64_t;

template <class T>
T apply_int(Mod operation, T old, T value) {
  switch (operation) {
    case Mod::kAdd: return T(std::make_unsigned_t<T>(old) + std::make_unsigned_t<T>(value));
    case Mod::kMin: return old < value ? old : value;
    case Mod::kMax: return old > value ? old : value;
    case Mod::kAnd: return old & value;
    case Mod::kOr: return old | value;
    case Mod::kXor: return old ^ value;
    case Mod::kInc: return old >= value ? T(0) : T(old + 1);
    case Mod::kDec: return old == 0 || old > value ? value : T(old - 1);
    default: return value;  // exch
  }
}
u16 apply_half(Type type, Mod operation, u16 a, u16 b) {
  const auto format = type == Type::kBf16 || type == Type::kBf16x2 ? numeric::Format::kBF16 : numeric::Format::kF16;
  if (operation == Mod::kAdd) return numeric::half_add(format, a, b);
  const double x = numeric::decode(format, a), y = numeric::decode(format, b);
  if (x != x) return b;
  if (y != y) return a;
  return (operation == Mod::kMin ? x < y : x > y) ? a : b;
}

// New value of a cell of 16, 32 or 64 bits.
u64 apply(Type type, Mod operation, u64 old, u64 value) {
  switch (type) {
    case Type::kF32: return std::bit_cast<u32>(std::bit_cast<float>(u32(old)) + std::bit_cast<float>(u32(value)));
    case Type::kF64: return std::bit_cast<u64>(std::bit_cast<double>(old) + std::bit_cast<double>(value));
    case Type::kF16:
    case Type::kBf16: return apply_half(type, operation, u16(old), u16(value));
    case Type::kF16x2:
    case Type::kBf16x2:
      return u64{apply_half(type, operation, u16(old), u16(value))} |
             u64{apply_half(type, operation, u16(old >> 16), u16(value >> 16))} << 16;
    case Type::kS32: return u32(apply_int<std::int32_t>(operation, std::int32_t(old), std::int32_t(value)));
    case Type::kS64: return u64(apply_int<std::int64_t>(operation, std::int64_t(old), std::int64_t(value)));
    case Type::kU64:
    case Type::kB64: return apply_int<u64>(operation, old, value);
    default: return apply_int<u32>(operation, u32(old), u32(value));
  }
}

template <class T>
u64 read_modify_write(std::byte* p, const MemoryExtra& x, u64 value, u64 expected) {
  T* cell = reinterpret_cast<T*>(p);
  T old = __atomic_load_n(cell, __ATOMIC_RELAXED);
  while (true) {
    T next;
    if (x.operation == Mod::kCas) {
      if (old != T(expected)) return old;
      next = T(value);
    } else {
      next = T(apply(x.type, x.operation, old, value));
    }
    if (__atomic_compare_exchange_n(cell, &old, next, false, __ATOMIC_SEQ_CST, __ATOMIC_RELAXED)) return old;
  }
}

u64 read_modify_write(std::byte* p, const MemoryExtra& x, u64 value, u64 expected) {
  switch (x.bytes) {
    case 2: return read_modify_write<u16>(p, x, value, expected);
    case 4: return read_modify_write<u32>(p, x, value, expected);
    default: return read_modify_write<u64>(p, x, value, expected);
  }
}

u64 value_of(const Warp& warp, Ref ref, unsigned bytes, unsigned lane) {
  return bytes == 8 ? warp.at<u64>(ref)[lane] : u64{warp.at<u32>(ref)[lane]};
}

// op.d result (kNoRef: none), op.b value, op.c new value of cas (then op.b is what is compared).
Flow atomic(Warp& warp, const Op& op, Mask mask) {
  const auto& x = static_cast<const MemoryExtra&>(*op.extra);
  warp.poll(4);
  ++warp.cta->progress;
  for_active(mask, [&](unsigned i) {
    const u64 address = lane_address(warp, op.a, x.base_is_64, op.imm, x.adds_shared_base, i);
    std::byte* p = resolve_lane(warp, x.space, address, x.bytes, x.bytes, Access::kWrite, i);
    const bool cas = x.operation == Mod::kCas;
    const u64 b = value_of(warp, op.b, x.bytes, i);
    const u64 old = cas ? read_modify_write(p, x, value_of(warp, op.c, x.bytes, i), b) : read_modify_write(p, x, b, 0);
    if (op.d == kNoRef) return;
    if (x.bytes == 8) {
      warp.at<u64>(op.d)[i] = old;
    } else {
      warp.at<u32>(op.d)[i] = u32(old);
    }
  });
  return Flow::kNext;
}

// Vector forms: each element is an atomic of its own. registers: destinations (kNoRef: none), then as many values.
Flow atomic_vector(Warp& warp, const Op& op, Mask mask) {
  const auto& x = static_cast<const MemoryExtra&>(*op.extra);
  const std::size_t count = x.registers.size() / 2;
  warp.poll(4);
  for_active(mask, [&](unsigned i) {
    const u64 address = lane_address(warp, op.a, x.base_is_64, op.imm, x.adds_shared_base, i);
    const auto bytes = u32(count * x.bytes);
    std::byte* p = resolve_lane(warp, x.space, address, bytes, bytes, Access::kWrite, i);
    for (std::size_t e = 0; e < count; ++e) {
      const u64 old = read_modify_write(p + e * x.bytes, x, warp.at<u32>(x.registers[count + e])[i], 0);
      if (x.registers[e] != kNoRef) warp.at<u32>(x.registers[e])[i] = u32(old);
    }
  });
  return Flow::kNext;
}

// exch and cas of 128 bits: under the launch's lock.
Flow atomic128(Warp& warp, const Op& op, Mask mask) {
  const auto& x = static_cast<const MemoryExtra&>(*op.extra);
  warp.poll(4);
  for_active(mask, [&](unsigned i) {
    const u64 address = lane_address(warp, op.a, x.base_is_64, op.imm, x.adds_shared_base, i);
    std::byte* p = resolve_lane(warp, x.space, address, 16, 16, Access::kWrite, i);
    const std::lock_guard lock(warp.worker->launch.mutex);
    u64 old[2], next[2];
    std::memcpy(old, p, 16);
    const Ref source = x.operation == Mod::kCas ? op.c : op.b;
    for (unsigned w = 0; w < 2; ++w) next[w] = warp.at<u64>(source)[i + w * kLanes];
    bool write = true;
    if (x.operation == Mod::kCas)
      for (unsigned w = 0; w < 2; ++w) write &= old[w] == warp.at<u64>(op.b)[i + w * kLanes];
    if (write) std::memcpy(p, next, 16);
    if (op.d != kNoRef)
      for (unsigned w = 0; w < 2; ++w) warp.at<u64>(op.d)[i + w * kLanes] = old[w];
  });
  return Flow::kNext;
}

}  // namespace

ExecFn atomic_function(const MemoryExtra& x, bool) {
  if (x.bytes == 16) return atomic128;
  if (!x.registers.empty()) return atomic_vector;
  return atomic;
}

}  // namespace ptxbench::emu
