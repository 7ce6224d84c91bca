// Comparison and selection. PTX ISA 9.7.5, 9.7.6. setp: op.d and op.small are the two destinations (kNoRef: none), op.c the
// Boolean operand.
#include "ptxbench/emu/exec/simd/chapters.h"
#include "ptxbench/emu/exec/simd/lanes.h"
#include "ptxbench/numeric/half.h"

namespace ptxbench::emu::PTXBENCH_EXEC_NAMESPACE {
namespace {

enum class Cmp : std::uint8_t { kEq, kNe, kLt, kLe, kGt, kGe, kEqu, kNeu, kLtu, kLeu, kGtu, kGeu, kNum, kNan, kNone };

Cmp cmp_of(Mod mod) {
  switch (mod) {
    case Mod::kEq: return Cmp::kEq;
    case Mod::kNe: return Cmp::kNe;
    case Mod::kLt:
    case Mod::kLo: return Cmp::kLt;
    case Mod::kLe:
    case Mod::kLs: return Cmp::kLe;
    case Mod::kGt: return Cmp::kGt;
    case Mod::kHi: return Cmp::kGt;
    case Mod::kGe:
    case Mod::kHs: return Cmp::kGe;
    case Mod::kEqu: return Cmp::kEqu;
    case Mod::kNeu: return Cmp::kNeu;
    case Mod::kLtu: return Cmp::kLtu;
    case Mod::kLeu: return Cmp::kLeu;
    case Mod::kGtu: return Cmp::kGtu;
    case Mod::kGeu: return Cmp::kGeu;
    case Mod::kNum: return Cmp::kNum;
    case Mod::kIsNan: return Cmp::kNan;
    default: return Cmp::kNone;
  }
}

template <class T, Cmp kCmp>
inline bool holds(T a, T b) {
  const bool nan = a != a || b != b;
  switch (kCmp) {
    case Cmp::kEq: return a == b;
    case Cmp::kNe: return !nan && a != b;
    case Cmp::kLt: return a < b;
    case Cmp::kLe: return a <= b;
    case Cmp::kGt: return a > b;
    case Cmp::kGe: return a >= b;
    case Cmp::kEqu: return nan || a == b;
    case Cmp::kNeu: return nan || a != b;
    case Cmp::kLtu: return !(a >= b);
    case Cmp::kLeu: return !(a > b);
    case Cmp::kGtu: return !(a <= b);
    case Cmp::kGeu: return !(a < b);
    case Cmp::kNum: return !nan;
    default: return nan;
  }
}

// How an operand register is read: Load::get(cell) gives the compared value.
template <class T>
struct Plain {
  using Value = T;
  using In = Cell<T>;
  static T get(In cell) { return from_cell<T>(cell); }
};
struct FlushedF32 {
  using Value = float;
  using In = u32;
  static float get(u32 cell) { return flush(std::bit_cast<float>(cell)); }
};
template <class Load, Cmp kCmp>
inline Mask compare_lanes(Warp& warp, const Op& op) {
  const auto* a = warp.at<typename Load::In>(op.a);
  const auto* b = warp.at<typename Load::In>(op.b);
  return mask_of([=](unsigned i) { return holds<typename Load::Value, kCmp>(Load::get(a[i]), Load::get(b[i])); });
}

Mask combine(Mod operation, Mask a, Mask b) {
  switch (operation) {
    case Mod::kAnd: return a & b;
    case Mod::kOr: return a | b;
    case Mod::kXor: return a ^ b;
    default: return a;
  }
}

// op.imm: the Boolean operation (a Mod) for the forms that have one.
template <class Load, Cmp kCmp>
Flow setp(Warp& warp, const Op& op, Mask mask) {
  const Mask r = compare_lanes<Load, kCmp>(warp, op);
  if (op.c == kNoRef && op.small == kNoRef) {
    Mask& p = *warp.at<Mask>(op.d);
    p = (p & ~mask) | (r & mask);
    return Flow::kNext;
  }
  const Mod operation = Mod(op.imm);
  const Mask c = op.c == kNoRef ? 0 : warp.predicate(op.c);
  set_predicate(warp, op.d, mask, combine(operation, r, c));
  set_predicate(warp, op.small, mask, combine(operation, ~r, c));
  return Flow::kNext;
}
// Halves: rare, so the comparison is chosen lane by lane. For f16x2 and bf16x2 the first destination is the low half's result, the
// second the high half's.
bool holds_any(Cmp cmp, float a, float b) {
  switch (cmp) {
#define PTXBENCH_CASE(name) \
  case Cmp::name: return holds<float, Cmp::name>(a, b);
    // clang-format off
    PTXBENCH_CASE(kEq) PTXBENCH_CASE(kNe) PTXBENCH_CASE(kLt) PTXBENCH_CASE(kLe) PTXBENCH_CASE(kGt) PTXBENCH_CASE(kGe)
    PTXBENCH_CASE(kEqu) PTXBENCH_CASE(kNeu) PTXBENCH_CASE(kLtu) PTXBENCH_CASE(kLeu) PTXBENCH_CASE(kGtu) PTXBENCH_CASE(kGeu)
    PTXBENCH_CASE(kNum) PTXBENCH_CASE(kNan)
    // clang-format on
#undef PTXBENCH_CASE
                default : return false;
  }
}
template <bool kBf16, bool kFtz>
float half_value(u32 bits) {
  const u16 x = u16(bits);
  if (kBf16) return std::bit_cast<float>(u32(x) << 16);
  return numeric::f16_to_f32(kFtz && (x & 0x7c00) == 0 ? u16(x & 0x8000) : x);
}
template <Cmp kCmp, bool kBf16, bool kFtz, bool kPair>
Flow setp_half(Warp& warp, const Op& op, Mask mask) {
  const u32 *a = warp.at<u32>(op.a), *b = warp.at<u32>(op.b);
  const Mod operation = Mod(op.imm);
  const Mask c = op.c == kNoRef ? 0 : warp.predicate(op.c);
  Mask low = 0, high = 0;
  for (unsigned i = 0; i < kLanes; ++i) {
    low |= Mask(holds_any(kCmp, half_value<kBf16, kFtz>(a[i]), half_value<kBf16, kFtz>(b[i]))) << i;
    high |= Mask(kPair && holds_any(kCmp, half_value<kBf16, kFtz>(a[i] >> 16), half_value<kBf16, kFtz>(b[i] >> 16)))
            << i;
  }
  set_predicate(warp, op.d, mask, combine(operation, low, c));
  set_predicate(warp, op.small, mask, combine(operation, kPair ? high : ~low, c));
  return Flow::kNext;
}
template <Cmp kCmp>
ExecFn half_setp_for(Type type, bool ftz) {
  switch (type) {
    case Type::kF16: return ftz ? setp_half<kCmp, false, true, false> : setp_half<kCmp, false, false, false>;
    case Type::kF16x2: return ftz ? setp_half<kCmp, false, true, true> : setp_half<kCmp, false, false, true>;
    case Type::kBf16: return setp_half<kCmp, true, false, false>;
    case Type::kBf16x2: return setp_half<kCmp, true, false, true>;
    default: return nullptr;
  }
}
ExecFn half_setp(Type type, Cmp cmp, bool ftz) {
  switch (cmp) {
#define PTXBENCH_CASE(name) \
  case Cmp::name: return half_setp_for<Cmp::name>(type, ftz);
    // clang-format off
    PTXBENCH_CASE(kEq) PTXBENCH_CASE(kNe) PTXBENCH_CASE(kLt) PTXBENCH_CASE(kLe) PTXBENCH_CASE(kGt) PTXBENCH_CASE(kGe)
    PTXBENCH_CASE(kEqu) PTXBENCH_CASE(kNeu) PTXBENCH_CASE(kLtu) PTXBENCH_CASE(kLeu) PTXBENCH_CASE(kGtu) PTXBENCH_CASE(kGeu)
    PTXBENCH_CASE(kNum) PTXBENCH_CASE(kNan)
    // clang-format on
#undef PTXBENCH_CASE
                default : return nullptr;
  }
}

template <class Load>
ExecFn ordered(Cmp cmp) {
#define PTXBENCH_CASE(name) \
  case Cmp::name: return setp<Load, Cmp::name>;
  switch (cmp) {
    PTXBENCH_CASE(kEq)
    PTXBENCH_CASE(kNe)
    PTXBENCH_CASE(kLt) PTXBENCH_CASE(kLe) PTXBENCH_CASE(kGt) PTXBENCH_CASE(kGe) default : return nullptr;
  }
}
template <class Load>
ExecFn any(Cmp cmp) {
  switch (cmp) {
    PTXBENCH_CASE(kEqu)
    PTXBENCH_CASE(kNeu)
    PTXBENCH_CASE(kLtu)
    PTXBENCH_CASE(kLeu)
    PTXBENCH_CASE(kGtu) PTXBENCH_CASE(kGeu) PTXBENCH_CASE(kNum) PTXBENCH_CASE(kNan) default : return ordered<Load>(cmp);
  }
#undef PTXBENCH_CASE
}

ExecFn comparison(Type type, Cmp cmp, bool ftz) {
  switch (type) {
    case Type::kB16:
    case Type::kU16: return ordered<Plain<u16>>(cmp);
    case Type::kB32:
    case Type::kU32: return ordered<Plain<u32>>(cmp);
    case Type::kB64:
    case Type::kU64: return ordered<Plain<u64>>(cmp);
    case Type::kS16: return ordered<Plain<std::int16_t>>(cmp);
    case Type::kS32: return ordered<Plain<std::int32_t>>(cmp);
    case Type::kS64: return ordered<Plain<std::int64_t>>(cmp);
    case Type::kF32: return ftz ? any<FlushedF32>(cmp) : any<Plain<float>>(cmp);
    case Type::kF64: return any<Plain<double>>(cmp);
    default: return half_setp(type, cmp, ftz);
  }
}

template <class T>
Flow selp(Warp& warp, const Op& op, Mask mask) {
  const T *a = warp.at<T>(op.a), *b = warp.at<T>(op.b);
  const Mask c = warp.predicate(op.c);
  for_lanes(warp.at<T>(op.d), mask, [=](unsigned i) { return (c >> i & 1) != 0 ? a[i] : b[i]; });
  return Flow::kNext;
}

template <class T, class C, bool kFtz>
T slct(T a, T b, C c) {
  if constexpr (std::is_floating_point_v<C>) {
    const float x = kFtz ? flush(c) : c;
    return x >= 0.0f ? a : b;  // NaN selects b
  } else {
    return c >= 0 ? a : b;
  }
}

bool test_property(Mod property, double x, bool is_float32) {
  const double smallest = is_float32 ? 0x1p-126 : 0x1p-1022;
  switch (property) {
    case Mod::kFinite: return std::isfinite(x);
    case Mod::kInfinite: return std::isinf(x);
    case Mod::kNumber: return !std::isnan(x);
    case Mod::kNotanumber: return std::isnan(x);
    case Mod::kNormal: return std::isfinite(x) && std::fabs(x) >= smallest;
    default: return x != 0 && std::fabs(x) < smallest;  // subnormal
  }
}
template <class T>
Flow testp(Warp& warp, const Op& op, Mask mask) {  // op.imm: the property (a Mod)
  const auto* a = warp.at<Cell<T>>(op.a);
  Mask r = 0;
  for (unsigned i = 0; i < kLanes; ++i)
    r |= Mask(test_property(Mod(op.imm), double(from_cell<T>(a[i])), sizeof(T) == 4)) << i;
  set_predicate(warp, op.d, mask, r);
  return Flow::kNext;
}

}  // namespace

ExecFn compare_function(const ptx::Instruction& i) {
  const Type source = i.type(Slot::kStype);  // set; setp has one type
  return comparison(source == Type::kNone ? i.type(Slot::kType) : source, cmp_of(i.slot(Slot::kCmp)), i.has(Mod::kFtz));
}

ExecFn select_function(const ptx::Instruction& i) {
  switch (i.form) {
    case FormId::kSelp: return isa::bits(i.type(Slot::kType)) == 64 ? selp<u64> : selp<u32>;
    case FormId::kSlctInt:
      return isa::bits(i.type(Slot::kDtype)) == 64
                 ? ternary<u64, u64, u64, std::int32_t, slct<u64, std::int32_t, false>>
                 : ternary<u32, u32, u32, std::int32_t, slct<u32, std::int32_t, false>>;
    case FormId::kSlctF32:
      if (i.has(Mod::kFtz))
        return isa::bits(i.type(Slot::kDtype)) == 64 ? ternary<u64, u64, u64, float, slct<u64, float, true>>
                                                     : ternary<u32, u32, u32, float, slct<u32, float, true>>;
      return isa::bits(i.type(Slot::kDtype)) == 64 ? ternary<u64, u64, u64, float, slct<u64, float, false>>
                                                   : ternary<u32, u32, u32, float, slct<u32, float, false>>;
    case FormId::kTestp: return i.type(Slot::kType) == Type::kF64 ? testp<double> : testp<float>;
    default: return nullptr;
  }
}

}  // namespace ptxbench::emu::PTXBENCH_EXEC_NAMESPACE
