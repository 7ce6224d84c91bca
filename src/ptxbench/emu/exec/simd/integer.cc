// Integer arithmetic, logic and shifts. PTX ISA 9.7.1, 9.7.2, 9.7.8.
#include "ptxbench/emu/exec/simd/chapters.h"
#include "ptxbench/emu/exec/simd/lanes.h"

namespace ptxbench::emu::PTXBENCH_EXEC_NAMESPACE {
namespace {

template <class T>
using Unsigned = std::make_unsigned_t<T>;

template <class T>
T wrap_mul(T a, T b) {
  return T(u64(a) * u64(b));  // low bits; u64 keeps 16-bit products out of int
}
template <class T>
T high_mul(T a, T b) {
  if constexpr (sizeof(T) == 8) {
    using Wide = std::conditional_t<std::is_signed_v<T>, s128, u128>;
    return T((Wide(a) * Wide(b)) >> 64);
  } else {
    using Wide = std::conditional_t<std::is_signed_v<T>, s64, u64>;
    return T((Wide(a) * Wide(b)) >> (8 * sizeof(T)));
  }
}
// Division by zero gives all ones, for quotient and remainder (what the hardware does; the manual leaves it open).
template <class T>
T divide(T a, T b) {
  if (b == 0) return T(-1);
  if constexpr (std::is_signed_v<T>) {
    if (b == T(-1)) return T(0 - Unsigned<T>(a));
  }
  return T(a / b);
}
template <class T>
T remainder(T a, T b) {
  if (b == 0) return T(-1);
  if constexpr (std::is_signed_v<T>) {
    if (b == T(-1)) return 0;
  }
  return T(a % b);
}

#define PTXBENCH_PER_TYPE(expression) \
  switch (type) {                     \
    case Type::kU16: {                \
      using T = u16;                  \
      return expression;              \
    }                                 \
    case Type::kU32: {                \
      using T = u32;                  \
      return expression;              \
    }                                 \
    case Type::kU64: {                \
      using T = u64;                  \
      return expression;              \
    }                                 \
    case Type::kS16: {                \
      using T = s16;                  \
      return expression;              \
    }                                 \
    case Type::kS32: {                \
      using T = s32;                  \
      return expression;              \
    }                                 \
    case Type::kS64: {                \
      using T = s64;                  \
      return expression;              \
    }                                 \
    default: return nullptr;          \
  }
#define PTXBENCH_PER_WIDTH(expression) \
  switch (isa::bits(type)) {           \
    case 16: {                         \
      using T = u16;                   \
      return expression;               \
    }                                  \
    case 32: {                         \
      using T = u32;                   \
      return expression;               \
    }                                  \
    case 64: {                         \
      using T = u64;                   \
      return expression;               \
    }                                  \
    default: return nullptr;           \
  }

ExecFn add(Type type) {
  PTXBENCH_PER_WIDTH((binary<T, T, T, [](T a, T b) { return T(a + b); }>));
}
ExecFn sub(Type type) {
  PTXBENCH_PER_WIDTH((binary<T, T, T, [](T a, T b) { return T(a - b); }>));
}
ExecFn mul_lo(Type type) {
  PTXBENCH_PER_WIDTH((binary<T, T, T, [](T a, T b) { return wrap_mul(a, b); }>));
}
ExecFn mul_hi(Type type) {
  PTXBENCH_PER_TYPE((binary<T, T, T, [](T a, T b) { return high_mul(a, b); }>));
}
ExecFn mad_lo(Type type) {
  PTXBENCH_PER_WIDTH((ternary<T, T, T, T, [](T a, T b, T c) { return T(wrap_mul(a, b) + c); }>));
}
ExecFn mad_hi(Type type) {
  PTXBENCH_PER_TYPE(
      (ternary<T, T, T, T, [](T a, T b, T c) { return T(Unsigned<T>(high_mul(a, b)) + Unsigned<T>(c)); }>));
}
ExecFn div(Type type) {
  PTXBENCH_PER_TYPE((binary<T, T, T, [](T a, T b) { return divide(a, b); }>));
}
ExecFn rem(Type type) {
  PTXBENCH_PER_TYPE((binary<T, T, T, [](T a, T b) { return remainder(a, b); }>));
}
ExecFn min(Type type) {
  PTXBENCH_PER_TYPE((binary<T, T, T, [](T a, T b) { return a < b ? a : b; }>));
}
ExecFn max(Type type) {
  PTXBENCH_PER_TYPE((binary<T, T, T, [](T a, T b) { return (a > b) ? a : b; }>));
}
ExecFn sad(Type type) {
  PTXBENCH_PER_TYPE((ternary<T, T, T, T, [](T a, T b, T c) {
    return T(Unsigned<T>(c) +
             (a < b ? Unsigned<T>(Unsigned<T>(b) - Unsigned<T>(a)) : Unsigned<T>(Unsigned<T>(a) - Unsigned<T>(b))));
  }>));
}
template <class T>
T absolute(T a) {
  return T(a < 0 ? Unsigned<T>(0 - Unsigned<T>(a)) : Unsigned<T>(a));
}
ExecFn abs(Type type) {
  return type == Type::kS16   ? unary<s16, s16, absolute<s16>>
         : type == Type::kS32 ? unary<s32, s32, absolute<s32>>
                              : unary<s64, s64, absolute<s64>>;
}
ExecFn neg(Type type) {
  PTXBENCH_PER_WIDTH((unary<T, T, [](T a) { return T(0 - a); }>));
}

ExecFn mul_wide(Type type) {
  switch (type) {
    case Type::kU16: return binary<u32, u16, u16, [](u16 a, u16 b) { return u32(a) * u32(b); }>;
    case Type::kS16: return binary<s32, s16, s16, [](s16 a, s16 b) { return s32(a) * s32(b); }>;
    case Type::kU32: return binary<u64, u32, u32, [](u32 a, u32 b) { return u64(a) * u64(b); }>;
    case Type::kS32: return binary<s64, s32, s32, [](s32 a, s32 b) { return s64(a) * s64(b); }>;
    default: return nullptr;
  }
}
ExecFn mad_wide(Type type) {
  switch (type) {
    case Type::kU16: return ternary<u32, u16, u16, u32, [](u16 a, u16 b, u32 c) { return u32(a) * u32(b) + c; }>;
    case Type::kS16: return ternary<u32, s16, s16, u32, [](s16 a, s16 b, u32 c) { return u32(s32(a) * s32(b)) + c; }>;
    case Type::kU32: return ternary<u64, u32, u32, u64, [](u32 a, u32 b, u64 c) { return u64(a) * u64(b) + c; }>;
    case Type::kS32: return ternary<u64, s32, s32, u64, [](s32 a, s32 b, u64 c) { return u64(s64(a) * s64(b)) + c; }>;
    default: return nullptr;
  }
}

s32 saturated(s64 x) { return x > INT32_MAX ? INT32_MAX : x < INT32_MIN ? INT32_MIN : s32(x); }

// 24-bit operands, as mul24 reads them.
template <class T>
s64 low24(T a) {
  return std::is_signed_v<T> ? s64(s32(u32(a) << 8) >> 8) : s64(u32(a) & 0xffffffu);
}
template <class T, bool kHigh>
u32 product24(T a, T b) {
  const s64 product = low24(a) * low24(b);
  return u32(kHigh ? product >> 16 : product);
}
ExecFn mul24(Type type, bool high) {
  if (type == Type::kU32)
    return high ? binary<u32, u32, u32, product24<u32, true>> : binary<u32, u32, u32, product24<u32, false>>;
  return high ? binary<u32, s32, s32, product24<s32, true>> : binary<u32, s32, s32, product24<s32, false>>;
}
ExecFn mad24(Type type, bool high) {
  if (type == Type::kU32)
    return high ? ternary<u32, u32, u32, u32, [](u32 a, u32 b, u32 c) { return product24<u32, true>(a, b) + c; }>
                : ternary<u32, u32, u32, u32, [](u32 a, u32 b, u32 c) { return product24<u32, false>(a, b) + c; }>;
  return high ? ternary<u32, s32, s32, u32, [](s32 a, s32 b, u32 c) { return product24<s32, true>(a, b) + c; }>
              : ternary<u32, s32, s32, u32, [](s32 a, s32 b, u32 c) { return product24<s32, false>(a, b) + c; }>;
}

// Both 16-bit halves of a 32-bit register.
template <class T, auto F>
u32 halves(u32 a, u32 b) {
  return u32(u16(F(T(a), T(b)))) | u32(u16(F(T(a >> 16), T(b >> 16)))) << 16;
}
template <class T, bool kMax, bool kRelu>
T min_max(T a, T b) {
  const T r = kMax ? (a > b ? a : b) : (a < b ? a : b);
  return kRelu && r < T(0) ? T(0) : r;
}
template <bool kMax>
ExecFn min_max_relu(Type type, bool relu) {
  switch (type) {
    case Type::kU16x2: return binary<u32, u32, u32, halves<u16, min_max<u16, kMax, false>>>;
    case Type::kS16x2:
      return relu ? binary<u32, u32, u32, halves<s16, min_max<s16, kMax, true>>>
                  : binary<u32, u32, u32, halves<s16, min_max<s16, kMax, false>>>;
    case Type::kS32:
      return relu ? binary<s32, s32, s32, min_max<s32, kMax, true>> : binary<s32, s32, s32, min_max<s32, kMax, false>>;
    default: return nullptr;
  }
}

template <class T>
u32 find_leading(T a, bool shift) {
  using U = Unsigned<T>;
  const U bits = std::is_signed_v<T> && a < 0 ? U(~U(a)) : U(a);
  if (bits == 0) return 0xffffffffu;
  const u32 position = u32(sizeof(T) * 8 - 1) - u32(std::countl_zero(bits));
  return shift ? u32(sizeof(T) * 8 - 1) - position : position;
}
ExecFn bfind(Type type, bool shift) {
  if (shift) PTXBENCH_PER_TYPE((unary<u32, T, [](T a) { return find_leading(a, true); }>));
  PTXBENCH_PER_TYPE((unary<u32, T, [](T a) { return find_leading(a, false); }>));
}

template <class T>
T reverse_bits(T a) {
  T r = 0;
  for (unsigned i = 0; i < sizeof(T) * 8; ++i) r |= T((a >> i) & 1) << (sizeof(T) * 8 - 1 - i);
  return r;
}

template <class T>
T extract_field(T a, u32 b, u32 c) {
  constexpr u32 width = sizeof(T) * 8;
  const u32 position = b & 0xff, length = c & 0xff;
  using U = Unsigned<T>;
  const bool sign_bit = std::is_signed_v<T> && length != 0 &&
                        (U(a) >> (position + length - 1 < width ? position + length - 1 : width - 1) & 1) != 0;
  const U fill = sign_bit ? U(~U(0)) : U(0);
  if (length == 0) return 0;
  U field = position < width ? U(U(a) >> position) : U(0);
  const u32 available = position < width ? width - position : 0;
  const u32 kept = length < available ? length : available;
  if (kept == 0) return T(fill);
  if (kept < width) field = U((field & U((U(1) << kept) - 1)) | U(fill << kept));
  return T(field);
}
template <class T>
T insert_field(T a, T b, u32 c, u32 d) {
  constexpr u32 width = sizeof(T) * 8;
  const u32 position = c & 0xff, length = d & 0xff;
  if (length == 0 || position >= width) return b;
  const u32 kept = length < width - position ? length : width - position;
  const T ones = kept >= width ? T(~T(0)) : T((T(1) << kept) - 1);
  const T mask = T(ones << position);
  return T((b & T(~mask)) | (T(a << position) & mask));
}
template <class T>
Flow bfi(Warp& warp, const Op& op, Mask mask) {
  const T *a = warp.at<T>(op.a), *b = warp.at<T>(op.b);
  const u32 *c = warp.at<u32>(op.c), *d = warp.at<u32>(Ref(op.imm));
  for_lanes(warp.at<T>(op.d), mask, [=](unsigned i) { return insert_field(a[i], b[i], c[i], d[i]); });
  return Flow::kNext;
}

u32 bit_mask(u32 a, u32 b, bool clamp) {
  const u32 start = clamp ? a : a & 31, length = clamp ? b : b & 31;
  if (start >= 32 || length == 0) return 0;
  const u32 ones = length >= 32 ? ~0u : (1u << length) - 1;
  return ones << start;
}
template <class T>
T extend(T a, u32 b, bool clamp) {  // szext: the low b bits, extended
  const u32 length = clamp ? b : b & 31;
  if (length >= 32) return a;
  if (length == 0) return 0;
  return T(u32(a) << (32 - length)) >> (32 - length);
}

template <class TA, class TB, bool kFour>
u32 dot(u32 a, u32 b, u32 c, unsigned half) {
  for (unsigned i = 0; i < (kFour ? 4u : 2u); ++i) {
    const s32 x = kFour ? (std::is_signed_v<TA> ? s32(std::int8_t(a >> 8 * i)) : s32(a >> 8 * i & 0xff))
                        : (std::is_signed_v<TA> ? s32(s16(a >> 16 * i)) : s32(a >> 16 * i & 0xffff));
    const unsigned byte = kFour ? i : i + half;
    const s32 y = std::is_signed_v<TB> ? s32(std::int8_t(b >> 8 * byte)) : s32(b >> 8 * byte & 0xff);
    c += u32(x) * u32(y);
  }
  return c;
}
template <bool kFour, unsigned kHalf>
ExecFn dot_for(bool a_signed, bool b_signed) {
  if (a_signed && b_signed)
    return ternary<u32, u32, u32, u32, [](u32 a, u32 b, u32 c) { return dot<s32, s32, kFour>(a, b, c, kHalf); }>;
  if (a_signed)
    return ternary<u32, u32, u32, u32, [](u32 a, u32 b, u32 c) { return dot<s32, u32, kFour>(a, b, c, kHalf); }>;
  if (b_signed)
    return ternary<u32, u32, u32, u32, [](u32 a, u32 b, u32 c) { return dot<u32, s32, kFour>(a, b, c, kHalf); }>;
  return ternary<u32, u32, u32, u32, [](u32 a, u32 b, u32 c) { return dot<u32, u32, kFour>(a, b, c, kHalf); }>;
}

Flow lop3(Warp& warp, const Op& op, Mask mask) {
  const u32 *a = warp.at<u32>(op.a), *b = warp.at<u32>(op.b), *c = warp.at<u32>(op.c);
  u32 term[8];
  for (unsigned k = 0; k < 8; ++k) term[k] = (op.imm >> k & 1) != 0 ? ~0u : 0u;  // bit k: a = k>>2, b = k>>1, c = k
  for_lanes(warp.at<u32>(op.d), mask, [=](unsigned i) {
    const u32 c0 = (term[0] & ~c[i]) | (term[1] & c[i]), c1 = (term[2] & ~c[i]) | (term[3] & c[i]);
    const u32 c2 = (term[4] & ~c[i]) | (term[5] & c[i]), c3 = (term[6] & ~c[i]) | (term[7] & c[i]);
    const u32 b0 = (c0 & ~b[i]) | (c1 & b[i]), b1 = (c2 & ~b[i]) | (c3 & b[i]);
    return (b0 & ~a[i]) | (b1 & a[i]);
  });
  return Flow::kNext;
}

template <bool kLeft, bool kClamp>
u32 funnel(u32 a, u32 b, u32 c) {  // a: low word, b: high word
  const u32 n = kClamp ? (c < 32 ? c : 32) : c & 31;
  const u64 pair = u64(b) << 32 | a;
  return kLeft ? u32(pair << n >> 32) : u32(pair >> n);
}

template <class T>
T shift_left(T a, u32 n) {
  return n >= sizeof(T) * 8 ? T(0) : T(u64(a) << n);
}
template <class T>
T shift_right(T a, u32 n) {
  if (n >= sizeof(T) * 8) n = std::is_signed_v<T> ? sizeof(T) * 8 - 1 : sizeof(T) * 8;
  if (!std::is_signed_v<T> && n >= sizeof(T) * 8) return 0;
  return T(a >> n);
}
ExecFn shl(Type type) {
  PTXBENCH_PER_WIDTH((binary<T, T, u32, [](T a, u32 n) { return shift_left(a, n); }>));
}
ExecFn shr(Type type) {
  switch (type) {
    case Type::kS16: return binary<s16, s16, u32, [](s16 a, u32 n) { return shift_right(a, n); }>;
    case Type::kS32: return binary<s32, s32, u32, [](s32 a, u32 n) { return shift_right(a, n); }>;
    case Type::kS64: return binary<s64, s64, u32, [](s64 a, u32 n) { return shift_right(a, n); }>;
    default: break;
  }
  PTXBENCH_PER_WIDTH((binary<T, T, u32, [](T a, u32 n) { return shift_right(a, n); }>));
}

ExecFn logic(Mod operation, Type type) {
  switch (operation) {
    case Mod::kAnd: PTXBENCH_PER_WIDTH((binary<T, T, T, [](T a, T b) { return T(a & b); }>));
    case Mod::kOr: PTXBENCH_PER_WIDTH((binary<T, T, T, [](T a, T b) { return T(a | b); }>));
    default: PTXBENCH_PER_WIDTH((binary<T, T, T, [](T a, T b) { return T(a ^ b); }>));
  }
}
ExecFn bit_not(Type type) {
  PTXBENCH_PER_WIDTH((unary<T, T, [](T a) { return T(~a); }>));
}
ExecFn cnot(Type type) {
  PTXBENCH_PER_WIDTH((unary<T, T, [](T a) { return T(a == 0 ? 1 : 0); }>));
}

template <auto F>
Flow predicate_logic(Warp& warp, const Op& op, Mask mask) {
  set_predicate(warp, op.d, mask, F(warp.predicate(op.a), op.b == kNoRef ? Mask{0} : warp.predicate(op.b)));
  return Flow::kNext;
}

u32 find_nth_set(u32 mask, u32 base, u32 offset) {
  const s32 n = s32(offset);
  if (n == 0) return base < 32 && (mask >> base & 1) != 0 ? base : 0xffffffffu;
  s32 count = n > 0 ? n : -n;
  for (s32 position = s32(base & 31); position >= 0 && position<32; position += n> 0 ? 1 : -1)
    if ((mask >> position & 1) != 0 && --count == 0) return u32(position);
  return 0xffffffffu;
}

u32 permute(u32 a, u32 b, u32 selector) {
  const u64 bytes = u64(b) << 32 | a;
  u32 r = 0;
  for (unsigned i = 0; i < 4; ++i) {
    const u32 s = selector >> 4 * i & 0xf;
    u32 byte = u32(bytes >> 8 * (s & 7)) & 0xff;
    if ((s & 8) != 0) byte = (byte & 0x80) != 0 ? 0xff : 0;
    r |= byte << 8 * i;
  }
  return r;
}
template <unsigned kMode>  // 0 f4e, 1 b4e, 2 rc8, 3 ecl, 4 ecr, 5 rc16
u32 permute_mode(u32 a, u32 b, u32 c) {
  const u32 n = c & 3;
  constexpr std::uint16_t kSelectors[6][4] = {{0x3210, 0x4321, 0x5432, 0x6543}, {0x5670, 0x6701, 0x7012, 0x0123},
                                              {0x0000, 0x1111, 0x2222, 0x3333}, {0x3210, 0x3211, 0x3222, 0x3333},
                                              {0x0000, 0x1110, 0x2210, 0x3210}, {0x1010, 0x3232, 0x1010, 0x3232}};
  return permute(a, b, kSelectors[kMode][n]);
}
ExecFn prmt(Mod mode) {
  switch (mode) {
    case Mod::kNone: return ternary<u32, u32, u32, u32, permute>;
    case Mod::kF4e: return ternary<u32, u32, u32, u32, permute_mode<0>>;
    case Mod::kB4e: return ternary<u32, u32, u32, u32, permute_mode<1>>;
    case Mod::kRc8: return ternary<u32, u32, u32, u32, permute_mode<2>>;
    case Mod::kEcl: return ternary<u32, u32, u32, u32, permute_mode<3>>;
    case Mod::kEcr: return ternary<u32, u32, u32, u32, permute_mode<4>>;
    case Mod::kRc16: return ternary<u32, u32, u32, u32, permute_mode<5>>;
    default: return nullptr;
  }
}

u32 absolute_difference4(u32 a, u32 b, u32 c, bool add) {
  u32 sum = 0, packed = 0;
  for (unsigned i = 0; i < 4; ++i) {
    const s32 x = s32(a >> 8 * i & 0xff), y = s32(b >> 8 * i & 0xff);
    const u32 d = u32(x < y ? y - x : x - y);
    sum += d;
    packed |= d << 8 * i;
  }
  return add ? sum + c : packed;
}

// add/sub/mad with the carry flag, lane by lane: rare, so one function with switches.
enum class CarryKind : std::uint8_t { kAdd, kSub, kMadLo, kMadHi };
template <class T, CarryKind kKind, bool kUse, bool kSet>
Flow carry(Warp& warp, const Op& op, Mask mask) {
  using U = Unsigned<T>;
  using Wide = std::conditional_t<sizeof(T) == 8, u128, u64>;
  const U *a = warp.at<U>(op.a), *b = warp.at<U>(op.b);
  const U* c = op.c == kNoRef ? nullptr : warp.at<U>(op.c);
  U* d = warp.at<U>(op.d);
  for (unsigned i = 0; i < kLanes; ++i) {
    if ((mask >> i & 1) == 0) continue;
    const Wide in = kUse ? Wide(warp.carry >> i & 1) : 0;
    Wide wide;
    if constexpr (kKind == CarryKind::kAdd) {
      wide = Wide(a[i]) + Wide(b[i]) + in;
    } else if constexpr (kKind == CarryKind::kSub) {
      wide = Wide(a[i]) - Wide(b[i]) - in;
    } else {
      const U product = kKind == CarryKind::kMadLo ? U(wrap_mul(a[i], b[i])) : U(high_mul(T(a[i]), T(b[i])));
      wide = Wide(product) + Wide(c[i]) + in;
    }
    d[i] = U(wide);
    if (kSet) warp.carry = (warp.carry & ~(1u << i)) | (u32(wide >> (sizeof(U) * 8)) & 1u) << i;
  }
  return Flow::kNext;
}
template <CarryKind kKind, bool kUse, bool kSet>
ExecFn carry_for(Type type) {
  switch (type) {
    case Type::kU32: return carry<u32, kKind, kUse, kSet>;
    case Type::kS32: return carry<s32, kKind, kUse, kSet>;
    case Type::kU64: return carry<u64, kKind, kUse, kSet>;
    case Type::kS64: return carry<s64, kKind, kUse, kSet>;
    default: return nullptr;
  }
}
ExecFn carry_form(const ptx::Instruction& i, Type type) {
  const bool set = i.has(Mod::kCc), high = i.has(Mod::kHi);
  switch (i.form) {
    case FormId::kAddCc: return carry_for<CarryKind::kAdd, false, true>(type);
    case FormId::kAddc:
      return set ? carry_for<CarryKind::kAdd, true, true>(type) : carry_for<CarryKind::kAdd, true, false>(type);
    case FormId::kSubCc: return carry_for<CarryKind::kSub, false, true>(type);
    case FormId::kSubc:
      return set ? carry_for<CarryKind::kSub, true, true>(type) : carry_for<CarryKind::kSub, true, false>(type);
    case FormId::kMadCc:
      return high ? carry_for<CarryKind::kMadHi, false, true>(type) : carry_for<CarryKind::kMadLo, false, true>(type);
    default:
      if (set)
        return high ? carry_for<CarryKind::kMadHi, true, true>(type) : carry_for<CarryKind::kMadLo, true, true>(type);
      return high ? carry_for<CarryKind::kMadHi, true, false>(type) : carry_for<CarryKind::kMadLo, true, false>(type);
  }
}

ExecFn bits_form(const ptx::Instruction& i, Type type) {
  const bool wide = isa::bits(type) == 64, clamp = i.has(Mod::kClamp);
  switch (i.form) {
    case FormId::kPopc:
      return wide ? unary<u32, u64, [](u64 a) { return u32(std::popcount(a)); }>
                  : unary<u32, u32, [](u32 a) { return u32(std::popcount(a)); }>;
    case FormId::kClz:
      return wide ? unary<u32, u64, [](u64 a) { return u32(std::countl_zero(a)); }>
                  : unary<u32, u32, [](u32 a) { return u32(std::countl_zero(a)); }>;
    case FormId::kBfind: return bfind(type, i.has(Mod::kShiftamt));
    case FormId::kBrev: return wide ? unary<u64, u64, reverse_bits<u64>> : unary<u32, u32, reverse_bits<u32>>;
    case FormId::kBfe:
      if (type == Type::kU32) return ternary<u32, u32, u32, u32, extract_field<u32>>;
      if (type == Type::kS32) return ternary<s32, s32, u32, u32, extract_field<s32>>;
      if (type == Type::kU64) return ternary<u64, u64, u32, u32, extract_field<u64>>;
      return ternary<s64, s64, u32, u32, extract_field<s64>>;
    case FormId::kBfi: return wide ? bfi<u64> : bfi<u32>;
    case FormId::kBmsk:
      return clamp ? binary<u32, u32, u32, [](u32 a, u32 b) { return bit_mask(a, b, true); }>
                   : binary<u32, u32, u32, [](u32 a, u32 b) { return bit_mask(a, b, false); }>;
    case FormId::kSzext:
      if (type == Type::kU32)
        return clamp ? binary<u32, u32, u32, [](u32 a, u32 b) { return extend(a, b, true); }>
                     : binary<u32, u32, u32, [](u32 a, u32 b) { return extend(a, b, false); }>;
      return clamp ? binary<s32, s32, u32, [](s32 a, u32 b) { return extend(a, b, true); }>
                   : binary<s32, s32, u32, [](s32 a, u32 b) { return extend(a, b, false); }>;
    case FormId::kShf:
      if (i.has(Mod::kL))
        return clamp ? ternary<u32, u32, u32, u32, funnel<true, true>>
                     : ternary<u32, u32, u32, u32, funnel<true, false>>;
      return clamp ? ternary<u32, u32, u32, u32, funnel<false, true>>
                   : ternary<u32, u32, u32, u32, funnel<false, false>>;
    default: return nullptr;
  }
}

}  // namespace

ExecFn integer_function(const ptx::Instruction& i) {
  const Type type = i.type(Slot::kType);
  const bool high = i.has(Mod::kHi);
  switch (i.form) {
    case FormId::kAddInt: return add(type);
    case FormId::kAddSatInt: return binary<s32, s32, s32, [](s32 a, s32 b) { return saturated(s64(a) + b); }>;
    case FormId::kSubSatInt: return binary<s32, s32, s32, [](s32 a, s32 b) { return saturated(s64(a) - b); }>;
    case FormId::kAddIntX2: return binary<u32, u32, u32, halves<u16, [](u16 a, u16 b) { return u16(a + b); }>>;
    case FormId::kSubInt: return sub(type);
    case FormId::kMulInt: return high ? mul_hi(type) : mul_lo(type);
    case FormId::kMulWide: return mul_wide(type);
    case FormId::kMadInt: return high ? mad_hi(type) : mad_lo(type);
    case FormId::kMadSatInt:
      return ternary<s32, s32, s32, s32, [](s32 a, s32 b, s32 c) { return saturated(s64(high_mul(a, b)) + c); }>;
    case FormId::kMadWide: return mad_wide(type);
    case FormId::kMul24: return mul24(type, high);
    case FormId::kMad24: return mad24(type, high);
    case FormId::kMad24Sat:
      return ternary<s32, s32, s32, s32,
                     [](s32 a, s32 b, s32 c) { return saturated(s64(s32(product24<s32, true>(a, b))) + c); }>;
    case FormId::kSad: return sad(type);
    case FormId::kDivInt: return div(type);
    case FormId::kRemInt: return rem(type);
    case FormId::kAbsInt: return abs(type);
    case FormId::kNegInt: return neg(type);
    case FormId::kMinInt: return min(type);
    case FormId::kMaxInt: return max(type);
    case FormId::kMinIntRelu: return min_max_relu<false>(type, i.has(Mod::kRelu));
    case FormId::kMaxIntRelu: return min_max_relu<true>(type, i.has(Mod::kRelu));
    case FormId::kPopc:
    case FormId::kClz:
    case FormId::kBfind:
    case FormId::kBrev:
    case FormId::kBfe:
    case FormId::kBfi:
    case FormId::kBmsk:
    case FormId::kSzext:
    case FormId::kShf: return bits_form(i, type);
    case FormId::kFns: return ternary<u32, u32, u32, u32, find_nth_set>;
    case FormId::kDp4a: return dot_for<true, 0>(i.type(Slot::kAtype) == Type::kS32, i.type(Slot::kBtype) == Type::kS32);
    case FormId::kDp2a:
      return high ? dot_for<false, 2>(i.type(Slot::kAtype) == Type::kS32, i.type(Slot::kBtype) == Type::kS32)
                  : dot_for<false, 0>(i.type(Slot::kAtype) == Type::kS32, i.type(Slot::kBtype) == Type::kS32);
    case FormId::kAddCc:
    case FormId::kAddc:
    case FormId::kSubCc:
    case FormId::kSubc:
    case FormId::kMadCc:
    case FormId::kMadc: return carry_form(i, type);
    case FormId::kAndB: return logic(Mod::kAnd, type);
    case FormId::kOrB: return logic(Mod::kOr, type);
    case FormId::kXorB: return logic(Mod::kXor, type);
    case FormId::kNotB: return bit_not(type);
    case FormId::kCnot: return cnot(type);
    case FormId::kAndPred: return predicate_logic<[](Mask a, Mask b) { return a & b; }>;
    case FormId::kOrPred: return predicate_logic<[](Mask a, Mask b) { return a | b; }>;
    case FormId::kXorPred: return predicate_logic<[](Mask a, Mask b) { return a ^ b; }>;
    case FormId::kNotPred: return predicate_logic<[](Mask a, Mask) { return ~a; }>;
    case FormId::kLop3: return lop3;
    case FormId::kShl: return shl(type);
    case FormId::kShr: return shr(type);
    case FormId::kPrmt: return prmt(i.slot(Slot::kMode));
    case FormId::kVabsdiff4: {
      const bool unsigned_only =
          i.type(Slot::kAtype) == Type::kU32 && i.type(Slot::kBtype) == Type::kU32 && !i.has(Mod::kSat);
      if (!unsigned_only) return nullptr;
      return i.has(Mod::kAdd)
                 ? ternary<u32, u32, u32, u32, [](u32 a, u32 b, u32 c) { return absolute_difference4(a, b, c, true); }>
                 : ternary<u32, u32, u32, u32,
                           [](u32 a, u32 b, u32 c) { return absolute_difference4(a, b, c, false); }>;
    }
    default: return nullptr;
  }
}

}  // namespace ptxbench::emu::PTXBENCH_EXEC_NAMESPACE
