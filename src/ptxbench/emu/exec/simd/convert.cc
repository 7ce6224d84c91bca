// cvt. PTX ISA 9.7.9, "cvt". Conversions between integers, and the common ones of floats, are loops over the lanes; those with
// unusual roundings or small formats go through the exact codecs of numeric/.
#include <algorithm>
#include <limits>

#include "ptxbench/emu/exec/simd/chapters.h"
#include "ptxbench/emu/exec/simd/lanes.h"
#include "ptxbench/numeric/format.h"
#include "ptxbench/numeric/half.h"

namespace ptxbench::emu::PTXBENCH_EXEC_NAMESPACE {
namespace {

// The register may be wider than the type: signed results are sign-extended, unsigned ones zero-extended to it. op.small is the mask of
// a register of up to 32 bits.
template <class D, class A>
Flow int_to_int(Warp& warp, const Op& op, Mask mask) {
  const Cell<A>* a = warp.at<Cell<A>>(op.a);
  using Extended = std::conditional_t<std::is_signed_v<D>, s64, u64>;
  if constexpr (sizeof(D) == 8) {
    for_lanes(warp.at<u64>(op.d), mask, [=](unsigned i) { return u64(Extended(D(from_cell<A>(a[i])))); });
  } else {
    const u32 kept = op.small;
    for_lanes(warp.at<u32>(op.d), mask, [=](unsigned i) { return u32(Extended(D(from_cell<A>(a[i])))) & kept; });
  }
  return Flow::kNext;
}
template <class D>
ExecFn from_int(Type a) {
  switch (a) {
    case Type::kU8: return int_to_int<D, u8>;
    case Type::kU16: return int_to_int<D, u16>;
    case Type::kU32: return int_to_int<D, u32>;
    case Type::kU64: return int_to_int<D, u64>;
    case Type::kS8: return int_to_int<D, s8>;
    case Type::kS16: return int_to_int<D, s16>;
    case Type::kS32: return int_to_int<D, s32>;
    case Type::kS64: return int_to_int<D, s64>;
    default: return nullptr;
  }
}
ExecFn int_to_int_form(Type d, Type a) {
  switch (d) {
    case Type::kU8: return from_int<u8>(a);
    case Type::kU16: return from_int<u16>(a);
    case Type::kU32: return from_int<u32>(a);
    case Type::kU64: return from_int<u64>(a);
    case Type::kS8: return from_int<s8>(a);
    case Type::kS16: return from_int<s16>(a);
    case Type::kS32: return from_int<s32>(a);
    case Type::kS64: return from_int<s64>(a);
    default: return nullptr;
  }
}

// --- binary32 to 32-bit integers, the common ones ---
enum class Integral : u8 { kNearest, kZero, kDown, kUp };
template <Integral kMode>
inline double to_integral(double x) {
  switch (kMode) {
    case Integral::kNearest: return std::nearbyint(x);
    case Integral::kZero: return std::trunc(x);
    case Integral::kDown: return std::floor(x);
    default: return std::ceil(x);
  }
}
// Out of range: the nearest bound. NaN: 0, and 2^63 for 64-bit results (what the hardware gives).
template <class D>
inline D clamp_to(double x) {
  constexpr double low = double(std::numeric_limits<D>::min());
  constexpr double high = double(std::numeric_limits<D>::max());  // rounds up to 2^63, 2^64 for the 64-bit types
  if (x != x) return sizeof(D) == 8 ? D(u64{1} << 63) : D(0);
  if (x <= low) return std::numeric_limits<D>::min();
  if (x >= high) return std::numeric_limits<D>::max();
  return D(x);
}
template <class D, Integral kMode>
ExecFn f32_to_int() {
  return unary<D, float, [](float x) { return clamp_to<D>(to_integral<kMode>(double(x))); }>;
}
template <class D>
ExecFn f32_to_int_mode(Mod mode) {
  switch (mode) {
    case Mod::kRni: return f32_to_int<D, Integral::kNearest>();
    case Mod::kRmi: return f32_to_int<D, Integral::kDown>();
    case Mod::kRpi: return f32_to_int<D, Integral::kUp>();
    default: return f32_to_int<D, Integral::kZero>();
  }
}

template <class D>
ExecFn int_to_float(Type a) {
  switch (a) {
    case Type::kU8: return unary<D, u8, [](u8 x) { return D(x); }>;
    case Type::kU16: return unary<D, u16, [](u16 x) { return D(x); }>;
    case Type::kU32: return unary<D, u32, [](u32 x) { return D(x); }>;
    case Type::kU64: return unary<D, u64, [](u64 x) { return D(x); }>;
    case Type::kS8: return unary<D, s8, [](s8 x) { return D(x); }>;
    case Type::kS16: return unary<D, s16, [](s16 x) { return D(x); }>;
    case Type::kS32: return unary<D, s32, [](s32 x) { return D(x); }>;
    case Type::kS64: return unary<D, s64, [](s64 x) { return D(x); }>;
    default: return nullptr;
  }
}

// --- float to float ---
numeric::Format format_of(Type type) {
  switch (type) {
    case Type::kF16:
    case Type::kF16x2: return numeric::Format::kF16;
    case Type::kBf16:
    case Type::kBf16x2: return numeric::Format::kBF16;
    case Type::kTf32: return numeric::Format::kTF32;
    case Type::kE4m3x2: return numeric::Format::kE4M3;
    case Type::kE5m2x2: return numeric::Format::kE5M2;
    case Type::kE2m1x2: return numeric::Format::kE2M1;
    case Type::kE2m3x2: return numeric::Format::kE2M3;
    case Type::kE3m2x2: return numeric::Format::kE3M2;
    case Type::kUe8m0x2: return numeric::Format::kUE8M0;
    default: return numeric::Format::kF32;
  }
}
numeric::Rounding rounding_of(Mod mod) {
  switch (mod) {
    case Mod::kRz: return numeric::Rounding::kTowardZero;
    case Mod::kRm: return numeric::Rounding::kDown;
    case Mod::kRp: return numeric::Rounding::kUp;
    case Mod::kRna: return numeric::Rounding::kNearestAway;
    default: return numeric::Rounding::kNearestEven;
  }
}

double round_integral(double x, Mod mode) {
  switch (mode) {
    case Mod::kRni: return std::nearbyint(x);
    case Mod::kRzi: return std::trunc(x);
    case Mod::kRmi: return std::floor(x);
    case Mod::kRpi: return std::ceil(x);
    default: return x;
  }
}
double saturate64(double x) { return x > 0.0 ? (x < 1.0 ? x : 1.0) : 0.0; }

// What the exact, lane by lane conversion does; kept in op.imm. kind_*: 0 a format of numeric/, 1 f64, 2 unsigned, 3 signed integer.
struct Descriptor {
  u8 from, to, kind_from, kind_to, integral, rounding, bits;  // bits: of the integers, source in the low nibble, log2
  u8 flags;                                                   // 1 satfinite, 2 relu, 4 ftz, 8 sat
};
static_assert(sizeof(Descriptor) == 8);

numeric::ConvertOptions options_of(const Descriptor& d) {
  return {numeric::Rounding(d.rounding), (d.flags & 1) != 0, (d.flags & 2) != 0, (d.flags & 4) != 0};
}

s128 integer_of(u64 cell, unsigned bits, bool is_signed) {
  const u64 kept = bits == 64 ? cell : cell & ((u64{1} << bits) - 1);
  if (!is_signed) return s128(kept);
  return s128(s64(kept << (64 - bits)) >> (64 - bits));
}
u64 narrowed(s128 value, unsigned bits, bool is_signed, bool saturates) {
  if (saturates) {
    const s128 low = is_signed ? -(s128{1} << (bits - 1)) : 0, high = (s128{1} << (is_signed ? bits - 1 : bits)) - 1;
    value = std::clamp(value, low, high);
  }
  return u64(integer_of(u64(value), bits, is_signed));  // extended to the register
}
// d_bits: width of the destination register, in op.small as a mask for up to 32 bits, 0 for 64.
Flow generic_convert(Warp& warp, const Op& op, Mask mask) {
  const Descriptor k = std::bit_cast<Descriptor>(op.imm);
  const auto options = options_of(k);
  const unsigned from_bits = 1u << (k.bits & 15), to_bits = 1u << (k.bits >> 4);
  const bool sat = (k.flags & 8) != 0, wide_source = k.kind_from == 1 || (k.kind_from >= 2 && from_bits == 64);
  for (Mask m = mask; m != 0; m &= m - 1) {
    const auto i = unsigned(std::countr_zero(m));
    const u64 cell = wide_source ? warp.at<u64>(op.a)[i] : u64{warp.at<u32>(op.a)[i]};
    u64 result;
    if (k.kind_from >= 2 && k.kind_to >= 2) {
      result = narrowed(integer_of(cell, from_bits, k.kind_from == 3), to_bits, k.kind_to == 3, sat);
    } else {
      double x = k.kind_from == 1   ? std::bit_cast<double>(cell)
                 : k.kind_from == 0 ? numeric::decode(numeric::Format(k.from), u32(cell))
                                    : double(integer_of(cell, from_bits, k.kind_from == 3));
      if (options.ftz && k.kind_from == 0 && std::fabs(x) < 0x1p-126) x = std::copysign(0.0, x);
      x = round_integral(x, Mod(u16(k.integral) + u16(Mod::kRn)));
      if (k.kind_to >= 2) {
        const double low = k.kind_to == 3 ? -std::ldexp(1.0, int(to_bits) - 1) : 0.0,
                     high = std::ldexp(1.0, int(to_bits) - (k.kind_to == 3 ? 1 : 0));
        if (x != x) {
          result =
              to_bits == 64 || k.kind_from == 1 ? u64(integer_of(u64{1} << (to_bits - 1), to_bits, k.kind_to == 3)) : 0;
        } else if (x >= high) {
          result = k.kind_to == 3 ? (u64{1} << (to_bits - 1)) - 1 : to_bits == 64 ? ~u64{0} : (u64{1} << to_bits) - 1;
        } else {
          result = u64(integer_of(u64(s128(x < low ? low : x)), to_bits, k.kind_to == 3));
        }
      } else {
        if (sat) x = saturate64(x);
        if (k.kind_to == 1) {
          result = std::bit_cast<u64>(x);
        } else {
          u32 bits = numeric::encode(numeric::Format(k.to), x, options);
          if (options.ftz && numeric::Format(k.to) == numeric::Format::kF32 && (bits & 0x7f800000u) == 0)
            bits &= 0x80000000u;
          result = bits;
        }
      }
    }
    if (op.small == 0) {
      warp.at<u64>(op.d)[i] = result;
    } else {
      warp.at<u32>(op.d)[i] = u32(result) & op.small;
    }
  }
  return Flow::kNext;
}
// Two f32 (or one packed register) to a packed register of two: op.a is the high half.
Flow generic_pack(Warp& warp, const Op& op, Mask mask) {
  const Descriptor k = std::bit_cast<Descriptor>(op.imm);
  const auto options = options_of(k);
  const unsigned bits = numeric::info(numeric::Format(k.to)).bits;
  const unsigned shift = bits <= 4 ? 4 : bits <= 8 ? 8 : 16;
  for (unsigned i = 0; i < kLanes; ++i) {
    if ((mask >> i & 1) == 0) continue;
    double high, low;
    if (numeric::Format(k.from) == numeric::Format::kF32) {
      high = double(std::bit_cast<float>(warp.at<u32>(op.a)[i]));
      low = double(std::bit_cast<float>(warp.at<u32>(op.b)[i]));
    } else {
      const u32 packed = warp.at<u32>(op.a)[i];
      const unsigned from_bits = numeric::info(numeric::Format(k.from)).bits;
      const unsigned from_shift = from_bits <= 4 ? 4 : from_bits <= 8 ? 8 : 16;
      const u32 field = (1u << from_shift) - 1;
      high = numeric::decode(numeric::Format(k.from), packed >> from_shift & field);
      low = numeric::decode(numeric::Format(k.from), packed & field);
    }
    warp.at<u32>(op.d)[i] = numeric::encode(numeric::Format(k.to), high, options) << shift |
                            numeric::encode(numeric::Format(k.to), low, options);
  }
  return Flow::kNext;
}

inline u32 bf16_bits(float x) {
  const u32 bits = std::bit_cast<u32>(x);
  return x != x ? 0x7fffu : (bits + 0x7fffu + (bits >> 16 & 1)) >> 16;
}
Flow pack_bf16(Warp& warp, const Op& op, Mask mask) {
  const u32 *a = warp.at<u32>(op.a), *b = warp.at<u32>(op.b);
  for_lanes(warp.at<u32>(op.d), mask, [=](unsigned i) {
    return bf16_bits(std::bit_cast<float>(a[i])) << 16 | bf16_bits(std::bit_cast<float>(b[i]));
  });
  return Flow::kNext;
}
#if defined(__AVX2__)
inline __m128i f16_of(const u32* values) {
  return _mm256_cvtps_ph(_mm256_load_ps(reinterpret_cast<const float*>(values)),
                         _MM_FROUND_TO_NEAREST_INT | _MM_FROUND_NO_EXC);
}
#endif
Flow pack_f16(Warp& warp, const Op& op, Mask mask) {
  const u32 *a = warp.at<u32>(op.a), *b = warp.at<u32>(op.b);
  alignas(64) u32 packed[kLanes];
#if defined(__AVX2__)
  for (unsigned i = 0; i < kLanes; i += 8) {
    const __m256i high = _mm256_cvtepu16_epi32(f16_of(a + i)), low = _mm256_cvtepu16_epi32(f16_of(b + i));
    _mm256_store_si256(reinterpret_cast<__m256i*>(packed + i), _mm256_or_si256(_mm256_slli_epi32(high, 16), low));
  }
  PTXBENCH_LANES {  // the canonical NaN
    const float x = std::bit_cast<float>(a[i]), y = std::bit_cast<float>(b[i]);
    packed[i] = (x != x ? 0x7fff0000u : packed[i] & 0xffff0000u) | (y != y ? 0x7fffu : packed[i] & 0xffffu);
  }
#else
  for (unsigned i = 0; i < kLanes; ++i)
    packed[i] =
        u32(numeric::f32_to_f16(std::bit_cast<float>(a[i]))) << 16 | numeric::f32_to_f16(std::bit_cast<float>(b[i]));
#endif
  for_lanes(warp.at<u32>(op.d), mask, [&](unsigned i) { return packed[i]; });
  return Flow::kNext;
}

ExecFn float_to_float(const ptx::Instruction& i, Type d, Type a) {
  const bool plain = !i.has(Mod::kFtz) && !i.has(Mod::kSat) && !i.has(Mod::kRelu) && !i.has(Mod::kSatfinite) &&
                     i.slot(Slot::kIrnd) == Mod::kNone;
  const Mod rounding = i.slot(Slot::kRnd);
  const bool nearest = rounding == Mod::kNone || rounding == Mod::kRn;
  if (plain && nearest) {
    if (d == Type::kF32 && a == Type::kF16)
      return unary<float, u16, [](u16 x) { return canonical(numeric::f16_to_f32(x)); }>;
    if (d == Type::kF32 && a == Type::kBf16) return unary<u32, u16, [](u16 x) { return u32(x) << 16; }>;
    if (d == Type::kF64 && a == Type::kF32) return unary<double, float, [](float x) { return double(x); }>;
    if (d == Type::kF32 && a == Type::kF64) return unary<float, double, [](double x) { return float(x); }>;
    if (d == Type::kBf16 && a == Type::kF32) return unary<u16, float, [](float x) { return u16(bf16_bits(x)); }>;
    if (d == Type::kF16 && a == Type::kF32) return unary<u16, float, [](float x) { return numeric::f32_to_f16(x); }>;
  }
  if (d == Type::kF32 && a == Type::kF32 && !i.has(Mod::kRelu)) {
    const bool ftz = i.has(Mod::kFtz), sat = i.has(Mod::kSat);
    if (sat && i.slot(Slot::kIrnd) == Mod::kNone)
      return ftz ? unary<float, float, [](float x) { return saturate(flush(x)); }>
                 : unary<float, float, [](float x) { return saturate(x); }>;
  }
  return generic_convert;
}

}  // namespace

ExecFn convert_function(const ptx::Instruction& i, unsigned destination_bits) {
  const Type d = i.type(Slot::kDtype), a = i.type(Slot::kAtype);
  switch (i.form) {
    case FormId::kCvtInt: {
      const bool usual = !i.has(Mod::kSat) && (isa::bits(d) == 64) == (destination_bits == 64);
      return usual ? int_to_int_form(d, a) : generic_convert;
    }
    case FormId::kCvtFloatToInt: {
      const bool usual = a == Type::kF32 && !i.has(Mod::kFtz) && destination_bits == 32;
      if (usual && d == Type::kS32) return f32_to_int_mode<s32>(i.slot(Slot::kIrnd));
      if (usual && d == Type::kU32) return f32_to_int_mode<u32>(i.slot(Slot::kIrnd));
      return generic_convert;
    }
    case FormId::kCvtIntToFloat: {
      const Mod rounding = i.slot(Slot::kRnd);
      if ((d == Type::kF32 || d == Type::kF64) && !i.has(Mod::kSat)) {
        if (rounding == Mod::kRz || rounding == Mod::kRm || rounding == Mod::kRp) return directed_rounding_function(i);
        return d == Type::kF32 ? int_to_float<float>(a) : int_to_float<double>(a);
      }
      return isa::bits(a) == 64 ? nullptr
                                : generic_convert;  // through binary64: one rounding as long as the integer fits there
    }
    case FormId::kCvtFloat:
    case FormId::kCvtRelu:
    case FormId::kCvtTf32Rna:
    case FormId::kCvtTf32: return float_to_float(i, d, a);
    case FormId::kCvtPack16: {
      const bool plain = i.slot(Slot::kRnd) == Mod::kRn && !i.has(Mod::kRelu) && !i.has(Mod::kSatfinite);
      if (plain) return d == Type::kBf16x2 ? pack_bf16 : pack_f16;
      return generic_pack;
    }
    case FormId::kCvtFp8FromF32:
    case FormId::kCvtFp8FromF16:
    case FormId::kCvtF16FromFp8:
    case FormId::kCvtFp4FromF32:
    case FormId::kCvtF16FromFp4:
    case FormId::kCvtFp6FromF32:
    case FormId::kCvtF16FromFp6:
    case FormId::kCvtUe8m0FromF32:
    case FormId::kCvtUe8m0FromBf16:
    case FormId::kCvtBf16FromUe8m0: return generic_pack;
    default: return nullptr;
  }
}

// What generic_float and generic_pack read from op.imm.
std::int64_t convert_descriptor(const ptx::Instruction& i) {
  const Type d = i.type(Slot::kDtype), a = i.type(Slot::kAtype);
  Descriptor k{};
  auto kind = [](Type type) -> u8 {
    const isa::TypeClass c = isa::type_class(type);
    return type == Type::kF64 ? 1 : c == isa::TypeClass::kUnsigned ? 2 : c == isa::TypeClass::kSigned ? 3 : 0;
  };
  auto log2_bits = [](Type type) { return u8(std::countr_zero(std::max(1u, isa::bits(type)))); };
  k.kind_from = kind(a);
  k.kind_to = kind(d);
  k.from = u8(format_of(a));
  k.to = u8(format_of(d));
  k.bits = u8(log2_bits(a) | log2_bits(d) << 4);
  Mod integral = i.slot(Slot::kIrnd);
  if (integral == Mod::kNone && k.kind_to >= 2 && k.kind_from < 2) integral = Mod::kRzi;
  k.integral = integral == Mod::kNone ? 0 : u8(u16(integral) - u16(Mod::kRn));
  k.rounding = u8(rounding_of(i.slot(Slot::kRnd)));
  k.flags = u8((i.has(Mod::kSatfinite) ? 1 : 0) | (i.has(Mod::kRelu) ? 2 : 0) |
               (i.has(Mod::kFtz) && d != Type::kF16 ? 4 : 0) | (i.has(Mod::kSat) ? 8 : 0));
  return std::bit_cast<std::int64_t>(k);
}

}  // namespace ptxbench::emu::PTXBENCH_EXEC_NAMESPACE
