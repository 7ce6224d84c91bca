// Arithmetic with .rz, .rm and .rp, in the host's own rounding modes. Compiled with -frounding-math; the operands go through
// volatile so that nothing is computed ahead of the mode.
#include <cfenv>
#include <cmath>

#include "ptxbench/emu/exec/exec_set.h"
#include "ptxbench/emu/exec/lanes_active.h"
#include "ptxbench/emu/warp.h"

namespace ptxbench::emu {
namespace {

using isa::FormId;
using isa::Mod;
using isa::Slot;
using isa::Type;
using u32 = std::uint32_t;
using u64 = std::uint64_t;

class RoundingMode {
 public:
  explicit RoundingMode(int mode) : saved_(std::fegetround()) { std::fesetround(mode); }
  ~RoundingMode() { std::fesetround(saved_); }
  RoundingMode(const RoundingMode&) = delete;
  RoundingMode& operator=(const RoundingMode&) = delete;

 private:
  int saved_;
};

float flush(float x) { return std::fabs(x) < 0x1p-126f ? std::copysign(0.0f, x) : x; }
double flush(double x) { return x; }

enum class Kind : std::uint8_t { kAdd, kSub, kMul, kFma, kDiv, kRcp, kSqrt };

template <Kind kKind, class T>
T compute(T a, T b, T c) {
  volatile T x = a, y = b, z = c;
  volatile T r;
  switch (kKind) {
    case Kind::kAdd: r = x + y; break;
    case Kind::kSub: r = x - y; break;
    case Kind::kMul: r = x * y; break;
    case Kind::kFma: r = std::fma(T(x), T(y), T(z)); break;
    case Kind::kDiv: r = x / y; break;
    case Kind::kRcp: r = T(1) / x; break;
    default: r = std::sqrt(T(x)); break;
  }
  return r;
}

// op.imm: not used by these forms, so the decoder leaves the modifiers of the instruction there: bit 0 ftz, bit 1 sat.
template <Kind kKind, class T, int kMode, bool kFtz, bool kSat>
Flow arithmetic(Warp& warp, const Op& op, Mask mask) {
  using C = std::conditional_t<sizeof(T) == 8, u64, u32>;
  const RoundingMode mode(kMode);
  auto read = [&](Ref ref, unsigned i) {
    const T x = ref == kNoRef ? T(0) : std::bit_cast<T>(warp.at<C>(ref)[i]);
    return kFtz ? flush(x) : x;
  };
  for_active(mask, [&](unsigned i) {
    T r = compute<kKind, T>(read(op.a, i), read(op.b, i), read(op.c, i));
    if (kFtz) r = flush(r);
    if (kSat) r = r > T(0) ? (r < T(1) ? r : T(1)) : T(0);
    C bits = std::bit_cast<C>(r);
    if (sizeof(T) == 4 && r != r) bits = C(0x7fffffffu);
    warp.at<C>(op.d)[i] = bits;
  });
  return Flow::kNext;
}

template <Kind kKind, class T, int kMode>
ExecFn with_flags(bool ftz, bool sat) {
  if (ftz) return sat ? arithmetic<kKind, T, kMode, true, true> : arithmetic<kKind, T, kMode, true, false>;
  return sat ? arithmetic<kKind, T, kMode, false, true> : arithmetic<kKind, T, kMode, false, false>;
}
template <Kind kKind, class T>
ExecFn with_mode(Mod mode, bool ftz, bool sat) {
  switch (mode) {
    case Mod::kRz: return with_flags<kKind, T, FE_TOWARDZERO>(ftz, sat);
    case Mod::kRm: return with_flags<kKind, T, FE_DOWNWARD>(ftz, sat);
    default: return with_flags<kKind, T, FE_UPWARD>(ftz, sat);
  }
}

template <class D, class A, int kMode>
Flow from_int(Warp& warp, const Op& op, Mask mask) {
  using CD = std::conditional_t<sizeof(D) == 8, u64, u32>;
  using CA = std::conditional_t<sizeof(A) == 8, u64, u32>;
  const RoundingMode mode(kMode);
  for_active(mask, [&](unsigned i) {
    volatile A a = A(warp.at<CA>(op.a)[i]);
    volatile D r = D(a);
    warp.at<CD>(op.d)[i] = std::bit_cast<CD>(D(r));
  });
  return Flow::kNext;
}
template <class D, class A>
ExecFn from_int_mode(Mod mode) {
  switch (mode) {
    case Mod::kRz: return from_int<D, A, FE_TOWARDZERO>;
    case Mod::kRm: return from_int<D, A, FE_DOWNWARD>;
    default: return from_int<D, A, FE_UPWARD>;
  }
}
template <class D>
ExecFn from_int_type(Type a, Mod mode) {
  switch (a) {
    case Type::kU8: return from_int_mode<D, std::uint8_t>(mode);
    case Type::kU16: return from_int_mode<D, std::uint16_t>(mode);
    case Type::kU32: return from_int_mode<D, u32>(mode);
    case Type::kS8: return from_int_mode<D, std::int8_t>(mode);
    case Type::kS16: return from_int_mode<D, std::int16_t>(mode);
    case Type::kS32: return from_int_mode<D, std::int32_t>(mode);
    case Type::kS64: return from_int_mode<D, std::int64_t>(mode);
    default: return nullptr;  // u64: the host has no directed conversion of it in one step
  }
}

}  // namespace

ExecFn directed_rounding_function(const ptx::Instruction& i) {
  const Mod mode = i.slot(Slot::kRnd);
  const bool ftz = i.has(Mod::kFtz), sat = i.has(Mod::kSat);
  switch (i.form) {
    case FormId::kAddF32: return with_mode<Kind::kAdd, float>(mode, ftz, sat);
    case FormId::kSubF32: return with_mode<Kind::kSub, float>(mode, ftz, sat);
    case FormId::kMulF32: return with_mode<Kind::kMul, float>(mode, ftz, sat);
    case FormId::kFmaF32:
    case FormId::kMadF32: return with_mode<Kind::kFma, float>(mode, ftz, sat);
    case FormId::kDivF32: return with_mode<Kind::kDiv, float>(mode, ftz, sat);
    case FormId::kRcpF32: return with_mode<Kind::kRcp, float>(mode, ftz, sat);
    case FormId::kSqrtF32: return with_mode<Kind::kSqrt, float>(mode, ftz, sat);
    case FormId::kAddF64: return with_mode<Kind::kAdd, double>(mode, false, false);
    case FormId::kSubF64: return with_mode<Kind::kSub, double>(mode, false, false);
    case FormId::kMulF64: return with_mode<Kind::kMul, double>(mode, false, false);
    case FormId::kFmaF64:
    case FormId::kMadF64: return with_mode<Kind::kFma, double>(mode, false, false);
    case FormId::kDivF64: return with_mode<Kind::kDiv, double>(mode, false, false);
    case FormId::kRcpF64: return with_mode<Kind::kRcp, double>(mode, false, false);
    case FormId::kSqrtF64: return with_mode<Kind::kSqrt, double>(mode, false, false);
    case FormId::kCvtIntToFloat:
      if (sat) return nullptr;
      if (i.type(Slot::kDtype) == Type::kF32) return from_int_type<float>(i.type(Slot::kAtype), mode);
      if (i.type(Slot::kDtype) == Type::kF64) return from_int_type<double>(i.type(Slot::kAtype), mode);
      return nullptr;
    default: return nullptr;
  }
}

}  // namespace ptxbench::emu
