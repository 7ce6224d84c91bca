// Loops over the lanes of a warp, for the exec functions of one SIMD level. Included only by exec/simd/*.cc, which define
// PTXBENCH_EXEC_NAMESPACE. Functors must be total: they also run for lanes that are masked off.
#pragma once

#include <bit>
#include <cmath>
#include <cstdint>
#include <cstring>
#include <type_traits>
#if defined(__AVX2__)
#include <immintrin.h>
#endif

#include "ptxbench/emu/exec/exec_set.h"
#include "ptxbench/emu/warp.h"

#ifndef PTXBENCH_EXEC_NAMESPACE
#error "exec/simd is compiled per SIMD level; see emu/CMakeLists.txt"
#endif

namespace ptxbench::emu::PTXBENCH_EXEC_NAMESPACE {

using isa::FormId;
using isa::Mod;
using isa::Slot;
using isa::Type;
using s8 = std::int8_t;
using s16 = std::int16_t;
using s32 = std::int32_t;
using s64 = std::int64_t;
using u8 = std::uint8_t;
using u16 = std::uint16_t;
using u32 = std::uint32_t;
using u64 = std::uint64_t;
__extension__ typedef __int128 s128;
__extension__ typedef unsigned __int128 u128;

namespace {

// How a value of type T is kept in a register: 64-bit values in uint64_t, all others in uint32_t, zero-extended.
template <class T>
using Cell = std::conditional_t<sizeof(T) == 8, std::uint64_t, std::uint32_t>;

template <class T>
inline T from_cell(Cell<T> cell) {
  if constexpr (std::is_floating_point_v<T>) {
    return std::bit_cast<T>(cell);
  } else {
    return static_cast<T>(cell);
  }
}
template <class T>
inline Cell<T> to_cell(T value) {
  if constexpr (std::is_floating_point_v<T>) {
    return std::bit_cast<Cell<T>>(value);
  } else {
    return static_cast<std::make_unsigned_t<T>>(value);
  }
}

#define PTXBENCH_LANES _Pragma("GCC ivdep") for (unsigned i = 0; i < kLanes; ++i)

template <class C, class F>
inline void for_lanes(C* d, Mask mask, F value) {
  if (mask == kAllLanes) {
    PTXBENCH_LANES d[i] = value(i);
  } else {
    PTXBENCH_LANES {
      const C v = value(i);
      d[i] = (mask >> i & 1) != 0 ? v : d[i];
    }
  }
}

template <class D, class A, auto F>
Flow unary(Warp& warp, const Op& op, Mask mask) {
  const Cell<A>* a = warp.at<Cell<A>>(op.a);
  for_lanes(warp.at<Cell<D>>(op.d), mask, [=](unsigned i) { return to_cell<D>(F(from_cell<A>(a[i]))); });
  return Flow::kNext;
}

template <class D, class A, class B, auto F>
Flow binary(Warp& warp, const Op& op, Mask mask) {
  const Cell<A>* a = warp.at<Cell<A>>(op.a);
  const Cell<B>* b = warp.at<Cell<B>>(op.b);
  for_lanes(warp.at<Cell<D>>(op.d), mask,
            [=](unsigned i) { return to_cell<D>(F(from_cell<A>(a[i]), from_cell<B>(b[i]))); });
  return Flow::kNext;
}

template <class D, class A, class B, class C, auto F>
Flow ternary(Warp& warp, const Op& op, Mask mask) {
  const Cell<A>* a = warp.at<Cell<A>>(op.a);
  const Cell<B>* b = warp.at<Cell<B>>(op.b);
  const Cell<C>* c = warp.at<Cell<C>>(op.c);
  for_lanes(warp.at<Cell<D>>(op.d), mask,
            [=](unsigned i) { return to_cell<D>(F(from_cell<A>(a[i]), from_cell<B>(b[i]), from_cell<C>(c[i]))); });
  return Flow::kNext;
}

// A bit per lane out of a 0 / -1 word per lane.
inline Mask pack_mask(const std::int32_t* flags) {
#if defined(__AVX2__)
  Mask mask = 0;
  for (unsigned i = 0; i < kLanes; i += 8)
    mask |= Mask(unsigned(_mm256_movemask_ps(
                _mm256_castsi256_ps(_mm256_load_si256(reinterpret_cast<const __m256i*>(flags + i))))))
            << i;
  return mask;
#else
  Mask mask = 0;
  for (unsigned i = 0; i < kLanes; ++i) mask |= Mask(flags[i] & 1) << i;
  return mask;
#endif
}

template <class F>
inline Mask mask_of(F predicate) {
  alignas(64) std::int32_t flags[kLanes];
  PTXBENCH_LANES flags[i] = predicate(i) ? -1 : 0;
  return pack_mask(flags);
}

inline void set_predicate(Warp& warp, Ref ref, Mask lanes, Mask value) {
  if (ref == kNoRef) return;
  Mask& p = *warp.at<Mask>(ref);
  p = (p & ~lanes) | (value & lanes);
}

// --- binary32 rules of PTX ---
inline float flush(float x) { return std::fabs(x) < 0x1p-126f ? std::copysign(0.0f, x) : x; }
inline float canonical(float x) { return x == x ? x : std::bit_cast<float>(0x7fffffffu); }
inline float saturate(float x) { return x > 0.0f ? (x < 1.0f ? x : 1.0f) : 0.0f; }  // NaN: +0

template <bool kFtz>
inline float in(float x) {
  return kFtz ? flush(x) : x;
}
template <bool kFtz, bool kSat>
inline float out(float x) {
  x = kSat ? saturate(x) : canonical(x);
  return kFtz ? flush(x) : x;
}

}  // namespace
}  // namespace ptxbench::emu::PTXBENCH_EXEC_NAMESPACE
