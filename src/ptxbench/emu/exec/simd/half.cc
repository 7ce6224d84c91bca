// Half precision: f16, f16x2, bf16, bf16x2. PTX ISA 9.7.4. Sums, products and quotients of two halves are exact or rounded far
// below the half's precision in binary32, so computing there and rounding once more gives the correctly rounded result;
// a fused multiply-add does not, and uses the exact routine.
#include "ptxbench/numeric/half.h"
#include "ptxbench/emu/exec/simd/chapters.h"
#include "ptxbench/emu/exec/simd/lanes.h"

namespace ptxbench::emu::PTXBENCH_EXEC_NAMESPACE {
namespace {

struct F16 {
  static constexpr numeric::Format kFormat = numeric::Format::kF16;
  static constexpr u16 kOne = 0x3c00;
  static float widen(u16 x) { return numeric::f16_to_f32(x); }
  static u16 narrow(float x) { return numeric::f32_to_f16(x); }
  static u16 flush(u16 x) { return (x & 0x7c00) == 0 ? u16(x & 0x8000) : x; }
};
struct Bf16 {
  static constexpr numeric::Format kFormat = numeric::Format::kBF16;
  static constexpr u16 kOne = 0x3f80;
  static float widen(u16 x) { return std::bit_cast<float>(u32(x) << 16); }
  static u16 narrow(float x) {
    const u32 bits = std::bit_cast<u32>(x);
    const u32 rounded = (bits + 0x7fffu + (bits >> 16 & 1)) >> 16;
    return u16(x != x ? 0x7fffu : rounded);
  }
  static u16 flush(u16 x) { return x; }
};

template <class H, bool kFtz, bool kSat>
inline u16 finish(float x) {
  if (kSat) x = saturate(x);
  const u16 r = H::narrow(x);
  return kFtz ? H::flush(r) : r;
}
template <class H, bool kFtz>
inline float start(u16 x) {
  return H::widen(kFtz ? H::flush(x) : x);
}

template <class H, bool kFtz, bool kSat>
u16 add(u16 a, u16 b) {
  return finish<H, kFtz, kSat>(start<H, kFtz>(a) + start<H, kFtz>(b));
}
template <class H, bool kFtz, bool kSat>
u16 sub(u16 a, u16 b) {
  return finish<H, kFtz, kSat>(start<H, kFtz>(a) - start<H, kFtz>(b));
}
template <class H, bool kFtz, bool kSat>
u16 mul(u16 a, u16 b) {
  return finish<H, kFtz, kSat>(start<H, kFtz>(a) * start<H, kFtz>(b));
}
template <class H, bool kFtz, bool kSat, bool kRelu>
u16 fma(u16 a, u16 b, u16 c) {
  return numeric::half_fma(H::kFormat, a, b, c, {kFtz, kSat, kRelu});
}

template <class H, bool kMax, bool kFtz, bool kNan, bool kXor, bool kAbs>
[[gnu::noinline]] u16 min_max(u16 a, u16 b) {
  if (kFtz) {
    a = H::flush(a);
    b = H::flush(b);
  }
  const u16 sign = kXor ? u16((a ^ b) & 0x8000) : u16(0);
  if (kAbs || kXor) {
    a &= 0x7fff;
    b &= 0x7fff;
  }
  const float x = H::widen(a), y = H::widen(b);
  u16 r;
  if (x != x || y != y) {
    if (kNan || (x != x && y != y)) return 0x7fff;
    r = x != x ? b : a;
  } else if (x == y) {
    r = kMax ? u16(a & b) : u16(a | b);
  } else {
    r = (kMax ? x > y : x < y) ? a : b;
  }
  return kXor ? u16((r & 0x7fff) | sign) : r;
}

template <auto F>
u32 pair2(u32 a, u32 b) {
  return u32(F(u16(a), u16(b))) | u32(F(u16(a >> 16), u16(b >> 16))) << 16;
}
template <auto F>
u32 pair3(u32 a, u32 b, u32 c) {
  return u32(F(u16(a), u16(b), u16(c))) | u32(F(u16(a >> 16), u16(b >> 16), u16(c >> 16))) << 16;
}
template <auto F>
u32 pair1(u32 a) {
  return u32(F(u16(a))) | u32(F(u16(a >> 16))) << 16;
}

template <auto F>
ExecFn fn1(bool packed) {
  return packed ? unary<u32, u32, pair1<F>> : unary<u16, u16, F>;
}
template <auto F>
ExecFn fn2(bool packed) {
  return packed ? binary<u32, u32, u32, pair2<F>> : binary<u16, u16, u16, F>;
}
template <auto F>
ExecFn fn3(bool packed) {
  return packed ? ternary<u32, u32, u32, u32, pair3<F>> : ternary<u16, u16, u16, u16, F>;
}

// ex2.approx and tanh.approx of halves: computed in binary32 or better and rounded once.
template <class H, bool kFtz>
u16 ex2(u16 a) {
  return finish<H, kFtz, false>(std::exp2(start<H, kFtz>(a)));
}
template <class H>
u16 tanh(u16 a) {
  return H::narrow(float(std::tanh(double(H::widen(a)))));
}
template <class H>
bool is_nan(u16 a) {
  return (a & 0x7fff) > (H::kFormat == numeric::Format::kF16 ? 0x7c00 : 0x7f80);
}
template <class H, bool kFtz>
u16 neg(u16 a) {
  return is_nan<H>(a) ? u16(0x7fff) : u16((kFtz ? H::flush(a) : a) ^ 0x8000);
}
template <class H, bool kFtz>
u16 abs(u16 a) {
  return is_nan<H>(a) ? u16(0x7fff) : u16((kFtz ? H::flush(a) : a) & 0x7fff);
}

template <class H, bool kMax, bool kFtz>
ExecFn min_max_for(const ptx::Instruction& i, bool packed) {
  const bool nan = i.has(Mod::kPropagateNan);
  if (i.has(Mod::kXorsign))
    return nan ? fn2<min_max<H, kMax, kFtz, true, true, true>>(packed)
               : fn2<min_max<H, kMax, kFtz, false, true, true>>(packed);
  if (i.has(Mod::kAbs))
    return nan ? fn2<min_max<H, kMax, kFtz, true, false, true>>(packed)
               : fn2<min_max<H, kMax, kFtz, false, false, true>>(packed);
  return nan ? fn2<min_max<H, kMax, kFtz, true, false, false>>(packed)
             : fn2<min_max<H, kMax, kFtz, false, false, false>>(packed);
}

template <bool kFtz, bool kSat>
ExecFn f16_form(const ptx::Instruction& i, bool packed) {
  switch (i.form) {
    case FormId::kAddF16: return fn2<add<F16, kFtz, kSat>>(packed);
    case FormId::kSubF16: return fn2<sub<F16, kFtz, kSat>>(packed);
    case FormId::kMulF16: return fn2<mul<F16, kFtz, kSat>>(packed);
    case FormId::kFmaF16: return fn3<fma<F16, kFtz, kSat, false>>(packed);
    case FormId::kFmaF16Relu: return fn3<fma<F16, kFtz, false, true>>(packed);
    case FormId::kNegF16: return fn1<neg<F16, kFtz>>(packed);
    case FormId::kAbsF16: return fn1<abs<F16, kFtz>>(packed);
    case FormId::kMinF16: return min_max_for<F16, false, kFtz>(i, packed);
    case FormId::kMaxF16: return min_max_for<F16, true, kFtz>(i, packed);
    case FormId::kEx2F16: return fn1<ex2<F16, false>>(packed);
    case FormId::kTanhF16: return fn1<tanh<F16>>(packed);
    default: return nullptr;
  }
}

ExecFn bf16_form(const ptx::Instruction& i, bool packed) {
  switch (i.form) {
    case FormId::kAddBf16: return fn2<add<Bf16, false, false>>(packed);
    case FormId::kSubBf16: return fn2<sub<Bf16, false, false>>(packed);
    case FormId::kMulBf16: return fn2<mul<Bf16, false, false>>(packed);
    case FormId::kFmaBf16:
      return i.has(Mod::kRelu) ? fn3<fma<Bf16, false, false, true>>(packed)
                               : fn3<fma<Bf16, false, false, false>>(packed);
    case FormId::kNegBf16: return fn1<neg<Bf16, false>>(packed);
    case FormId::kAbsBf16: return fn1<abs<Bf16, false>>(packed);
    case FormId::kMinBf16: return min_max_for<Bf16, false, false>(i, packed);
    case FormId::kMaxBf16: return min_max_for<Bf16, true, false>(i, packed);
    case FormId::kEx2Bf16: return fn1<ex2<Bf16, false>>(packed);
    case FormId::kTanhBf16: return fn1<tanh<Bf16>>(packed);
    default: return nullptr;
  }
}

}  // namespace

ExecFn half_function(const ptx::Instruction& i) {
  const Type type = i.type(Slot::kType);
  if (type == Type::kBf16 || type == Type::kBf16x2) return bf16_form(i, type == Type::kBf16x2);
  if (type != Type::kF16 && type != Type::kF16x2) return nullptr;
  const bool packed = type == Type::kF16x2;
  if (i.has(Mod::kFtz)) return i.has(Mod::kSat) ? f16_form<true, true>(i, packed) : f16_form<true, false>(i, packed);
  return i.has(Mod::kSat) ? f16_form<false, true>(i, packed) : f16_form<false, false>(i, packed);
}

}  // namespace ptxbench::emu::PTXBENCH_EXEC_NAMESPACE
