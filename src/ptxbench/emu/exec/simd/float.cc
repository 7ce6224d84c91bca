// Single and double precision. PTX ISA 9.7.3. Round to nearest; directed roundings are in exec/rounding.cc.
//
// The approximations give results at least as close as the manual promises (it bounds them by 1 to 3 ulp):
//   rcp, sqrt, rsqrt, div   correctly rounded (rsqrt through binary64)
//   ex2                     within 1 ulp, exact for integers
//   lg2, sin, cos, tanh     the C library in binary64, rounded once
#include "ptxbench/emu/exec/simd/chapters.h"
#include "ptxbench/emu/exec/simd/lanes.h"

namespace ptxbench::emu::PTXBENCH_EXEC_NAMESPACE {
namespace {

template <bool kFtz, bool kSat>
ExecFn add_f32() {
  return binary<float, float, float, [](float a, float b) { return out<kFtz, kSat>(in<kFtz>(a) + in<kFtz>(b)); }>;
}
template <bool kFtz, bool kSat>
ExecFn sub_f32() {
  return binary<float, float, float, [](float a, float b) { return out<kFtz, kSat>(in<kFtz>(a) - in<kFtz>(b)); }>;
}
template <bool kFtz, bool kSat>
ExecFn mul_f32() {
  return binary<float, float, float, [](float a, float b) { return out<kFtz, kSat>(in<kFtz>(a) * in<kFtz>(b)); }>;
}
template <bool kFtz, bool kSat>
ExecFn fma_f32() {
  return ternary<float, float, float, float, [](float a, float b, float c) {
    return out<kFtz, kSat>(std::fma(in<kFtz>(a), in<kFtz>(b), in<kFtz>(c)));
  }>;
}
template <bool kFtz, bool kSat>
ExecFn div_f32() {
  return binary<float, float, float, [](float a, float b) { return out<kFtz, kSat>(in<kFtz>(a) / in<kFtz>(b)); }>;
}
template <bool kFtz, bool kSat>
ExecFn rcp_f32() {
  return unary<float, float, [](float a) { return out<kFtz, kSat>(1.0f / in<kFtz>(a)); }>;
}
template <bool kFtz, bool kSat>
ExecFn sqrt_f32() {
  return unary<float, float, [](float a) { return out<kFtz, kSat>(std::sqrt(in<kFtz>(a))); }>;
}
template <bool kFtz, bool kSat>
ExecFn rsqrt_f32() {
  return unary<float, float, [](float a) { return out<kFtz, kSat>(float(1.0 / std::sqrt(double(in<kFtz>(a))))); }>;
}
template <bool kFtz, bool kSat>
ExecFn sin_f32() {
  return unary<float, float, [](float a) { return out<kFtz, kSat>(float(std::sin(double(in<kFtz>(a))))); }>;
}
template <bool kFtz, bool kSat>
ExecFn cos_f32() {
  return unary<float, float, [](float a) { return out<kFtz, kSat>(float(std::cos(double(in<kFtz>(a))))); }>;
}
template <bool kFtz, bool kSat>
ExecFn lg2_f32() {
  return unary<float, float, [](float a) { return out<kFtz, kSat>(float(std::log2(double(in<kFtz>(a))))); }>;
}

// 2^x = 2^n * 2^f with n the nearest integer and f in [-1/2, 1/2]; the polynomial is the Taylor series of 2^f to degree 7, whose
// remainder is below 2^-31. The scaling goes in two steps so that denormal results are rounded once and overflow is exact.
inline float exp2_f32(float x) {
  const float clamped = x > 200.0f ? 200.0f : x < -200.0f ? -200.0f : x;  // NaN passes
  const float magic = 0x1.8p23f;
  const float shifted = clamped + magic;
  const float n = shifted - magic;
  const float f = clamped - n;
  float p = 1.5252733804059840e-05f;
  p = std::fma(p, f, 1.5403530393381608e-04f);
  p = std::fma(p, f, 1.3333558146428443e-03f);
  p = std::fma(p, f, 9.6181291076284772e-03f);
  p = std::fma(p, f, 5.5504108664821580e-02f);
  p = std::fma(p, f, 2.4022650695910071e-01f);
  p = std::fma(p, f, 6.9314718055994531e-01f);
  p = std::fma(p, f, 1.0f);
  const std::int32_t k = std::int32_t(std::bit_cast<u32>(shifted) - std::bit_cast<u32>(magic));
  const std::int32_t half = k >> 1;
  const float scale1 = std::bit_cast<float>(u32(half + 127) << 23);
  const float scale2 = std::bit_cast<float>(u32(k - half + 127) << 23);
  return p * scale1 * scale2;
}
template <bool kFtz, bool kSat>
ExecFn ex2_f32() {
  return unary<float, float, [](float a) { return out<kFtz, kSat>(exp2_f32(in<kFtz>(a))); }>;
}

inline float tanh_f32(float a) { return canonical(float(std::tanh(double(a)))); }

// One NaN gives the other operand, two the canonical NaN; -0 < +0.
template <bool kMax>
inline float pick(float a, float b) {
  const u32 ua = std::bit_cast<u32>(a), ub = std::bit_cast<u32>(b);
  const float zero = std::bit_cast<float>(kMax ? ua & ub : ua | ub);  // equal values differ at most in a zero's sign
  const float ordered = a == b ? zero : ((kMax ? a > b : a < b) ? a : b);
  return a != a ? canonical(b) : b != b ? a : ordered;
}
template <bool kMax, bool kFtz, bool kNan, bool kAbs, bool kXor>
inline float min_max(float a, float b) {
  a = in<kFtz>(a);
  b = in<kFtz>(b);
  const u32 sign = kXor ? (std::bit_cast<u32>(a) ^ std::bit_cast<u32>(b)) & 0x80000000u : 0u;
  if (kAbs) {
    a = std::fabs(a);
    b = std::fabs(b);
  }
  float r = pick<kMax>(a, b);
  if (kNan && (a != a || b != b)) r = std::bit_cast<float>(0x7fffffffu);
  if (kXor && r == r) r = std::bit_cast<float>((std::bit_cast<u32>(r) & 0x7fffffffu) | sign);
  return r;
}
template <bool kMax, bool kFtz>
ExecFn min_max_f32(const ptx::Instruction& i) {
  const bool nan = i.has(Mod::kPropagateNan), absolute = i.has(Mod::kAbs), xorsign = i.has(Mod::kXorsign);
  if (xorsign)
    return nan ? binary<float, float, float, min_max<kMax, kFtz, true, true, true>>
               : binary<float, float, float, min_max<kMax, kFtz, false, true, true>>;
  if (absolute)
    return nan ? binary<float, float, float, min_max<kMax, kFtz, true, true, false>>
               : binary<float, float, float, min_max<kMax, kFtz, false, true, false>>;
  return nan ? binary<float, float, float, min_max<kMax, kFtz, true, false, false>>
             : binary<float, float, float, min_max<kMax, kFtz, false, false, false>>;
}
// binary64 keeps NaN payloads, quieted (tests/captures/hardware.md).
inline bool is_nan64(u64 a) { return (a & ~(u64{1} << 63)) > 0x7ff0000000000000ull; }
inline u64 quiet64(u64 a) { return a | u64{1} << 51; }
inline u64 abs64(u64 a) { return is_nan64(a) ? quiet64(a) : a & ~(u64{1} << 63); }
inline u64 neg64(u64 a) { return is_nan64(a) ? quiet64(a) : a ^ (u64{1} << 63); }
template <bool kMax>
inline double pick64(double a, double b) {
  if (a != a) return b != b ? std::bit_cast<double>(quiet64(std::bit_cast<u64>(b))) : b;
  if (b != b) return a;
  if (a == b) return std::signbit(a) == kMax ? b : a;
  return (kMax ? a > b : a < b) ? a : b;
}

// rcp.approx.ftz.f64: the high 32 bits of the reciprocal, the low 32 bits zero (PTX ISA 9.7.3, rcp.approx.ftz.f64).
inline double gross_rcp(double a) {
  if (std::fabs(a) < 0x1p-1022) a = std::copysign(0.0, a);
  const double r = 1.0 / a;
  const double kept = std::bit_cast<double>(std::bit_cast<u64>(r) & 0xffffffff00000000ull);
  return std::fabs(kept) < 0x1p-1022 ? std::copysign(0.0, kept) : kept;
}

// Two binary32 values in a 64-bit register.
template <auto F>
inline u64 both(u64 a, u64 b, u64 c) {
  auto half = [](u64 x, unsigned k) { return std::bit_cast<float>(u32(x >> 32 * k)); };
  const float low = F(half(a, 0), half(b, 0), half(c, 0)), high = F(half(a, 1), half(b, 1), half(c, 1));
  return u64(std::bit_cast<u32>(low)) | u64(std::bit_cast<u32>(high)) << 32;
}
template <bool kFtz>
ExecFn packed_f32(FormId form) {
  switch (form) {
    case FormId::kAddF32x2:
      return binary<u64, u64, u64, [](u64 a, u64 b) {
        return both<[](float x, float y, float) { return out<kFtz, false>(in<kFtz>(x) + in<kFtz>(y)); }>(a, b, 0);
      }>;
    case FormId::kSubF32x2:
      return binary<u64, u64, u64, [](u64 a, u64 b) {
        return both<[](float x, float y, float) { return out<kFtz, false>(in<kFtz>(x) - in<kFtz>(y)); }>(a, b, 0);
      }>;
    case FormId::kMulF32x2:
      return binary<u64, u64, u64, [](u64 a, u64 b) {
        return both<[](float x, float y, float) { return out<kFtz, false>(in<kFtz>(x) * in<kFtz>(y)); }>(a, b, 0);
      }>;
    default:
      return ternary<u64, u64, u64, u64, [](u64 a, u64 b, u64 c) {
        return both<[](float x, float y, float z) {
          return out<kFtz, false>(std::fma(in<kFtz>(x), in<kFtz>(y), in<kFtz>(z)));
        }>(a, b, c);
      }>;
  }
}

template <bool kFtz, bool kSat>
ExecFn f32_form(const ptx::Instruction& i) {
  switch (i.form) {
    case FormId::kAddF32: return add_f32<kFtz, kSat>();
    case FormId::kSubF32: return sub_f32<kFtz, kSat>();
    case FormId::kMulF32: return mul_f32<kFtz, kSat>();
    case FormId::kFmaF32:
    case FormId::kMadF32: return fma_f32<kFtz, kSat>();
    default: break;
  }
  if constexpr (kSat) return nullptr;
  switch (i.form) {
    case FormId::kDivApproxF32:
    case FormId::kDivF32: return div_f32<kFtz, false>();
    case FormId::kRcpApproxF32:
    case FormId::kRcpF32: return rcp_f32<kFtz, false>();
    case FormId::kSqrtApproxF32:
    case FormId::kSqrtF32: return sqrt_f32<kFtz, false>();
    case FormId::kRsqrtF32: return rsqrt_f32<kFtz, false>();
    case FormId::kSinF32: return sin_f32<kFtz, false>();
    case FormId::kCosF32: return cos_f32<kFtz, false>();
    case FormId::kLg2F32: return lg2_f32<kFtz, false>();
    case FormId::kEx2F32: return ex2_f32<kFtz, false>();
    default: return nullptr;
  }
}

ExecFn f64_form(const ptx::Instruction& i) {
  switch (i.form) {
    case FormId::kAddF64: return binary<double, double, double, [](double a, double b) { return a + b; }>;
    case FormId::kSubF64: return binary<double, double, double, [](double a, double b) { return a - b; }>;
    case FormId::kMulF64: return binary<double, double, double, [](double a, double b) { return a * b; }>;
    case FormId::kFmaF64:
    case FormId::kMadF64:
      return ternary<double, double, double, double, [](double a, double b, double c) { return std::fma(a, b, c); }>;
    case FormId::kDivF64: return binary<double, double, double, [](double a, double b) { return a / b; }>;
    case FormId::kRcpF64: return unary<double, double, [](double a) { return 1.0 / a; }>;
    case FormId::kRcpApproxF64: return unary<double, double, gross_rcp>;
    case FormId::kSqrtF64: return unary<double, double, [](double a) { return std::sqrt(a); }>;
    case FormId::kRsqrtF64: return unary<double, double, [](double a) { return 1.0 / std::sqrt(a); }>;
    case FormId::kMinF64: return binary<double, double, double, pick64<false>>;
    case FormId::kMaxF64: return binary<double, double, double, pick64<true>>;
    case FormId::kAbsF64: return unary<u64, u64, abs64>;
    case FormId::kNegF64: return unary<u64, u64, neg64>;
    default: return nullptr;
  }
}

}  // namespace

ExecFn float_function(const ptx::Instruction& i) {
  const bool ftz = i.has(Mod::kFtz), sat = i.has(Mod::kSat);
  const Mod rounding = i.slot(Slot::kRnd);
  if (rounding == Mod::kRz || rounding == Mod::kRm || rounding == Mod::kRp) return directed_rounding_function(i);
  switch (i.form) {
    case FormId::kAddF32x2:
    case FormId::kSubF32x2:
    case FormId::kMulF32x2:
    case FormId::kFmaF32x2: return ftz ? packed_f32<true>(i.form) : packed_f32<false>(i.form);
    case FormId::kMinF32: return ftz ? min_max_f32<false, true>(i) : min_max_f32<false, false>(i);
    case FormId::kMaxF32: return ftz ? min_max_f32<true, true>(i) : min_max_f32<true, false>(i);
    case FormId::kAbsF32:
      return ftz ? unary<float, float, [](float a) { return canonical(std::fabs(flush(a))); }>
                 : unary<float, float, [](float a) { return canonical(std::fabs(a)); }>;
    case FormId::kNegF32:
      return ftz ? unary<float, float, [](float a) { return canonical(-flush(a)); }>
                 : unary<float, float, [](float a) { return canonical(-a); }>;
    case FormId::kTanhF32: return unary<float, float, tanh_f32>;
    case FormId::kCopysign:  // copysign d, a, b: the sign of a on b
      return i.type(Slot::kType) == Type::kF64
                 ? binary<u64, u64, u64, [](u64 a, u64 b) { return (a & u64{1} << 63) | (b & ~(u64{1} << 63)); }>
                 : binary<u32, u32, u32, [](u32 a, u32 b) { return (a & 0x80000000u) | (b & 0x7fffffffu); }>;
    default: break;
  }
  if (ExecFn fn = f64_form(i)) return fn;
  if (ftz) return sat ? f32_form<true, true>(i) : f32_form<true, false>(i);
  return sat ? f32_form<false, true>(i) : f32_form<false, false>(i);
}

}  // namespace ptxbench::emu::PTXBENCH_EXEC_NAMESPACE
