// ld, st, moves and shuffles.
#include "ptxbench/emu/exec/address.h"
#include "ptxbench/emu/exec/simd/chapters.h"
#include "ptxbench/emu/exec/simd/lanes.h"
#include "ptxbench/emu/trap.h"
#include "ptxbench/emu/worker.h"

namespace ptxbench::emu::PTXBENCH_EXEC_NAMESPACE {
namespace {

using isa::Space;

enum class Where : u8 { kShared, kGlobal, kLocal, kGeneric, kOther };

constexpr int kStrongPoll = 4;  // cost of an access that may be a poll, in backward branches

inline u32 access_bytes(const MemoryExtra& x) { return u32(x.bytes) * u32(x.registers.size()); }

// Where the lanes' addresses lie in the CTA's own shared memory. False: some active lane is outside it; resolve lane by lane.
inline bool shared_offsets(Warp& warp, const Op& op, const MemoryExtra& x, Mask mask, u32* offsets) {
  const Cta& cta = *warp.cta;
  const u32 bytes = access_bytes(x), own = cta.shared_base();
  if (cta.shared_bytes < bytes) return false;
  const u32 offset = u32(op.imm) - (x.adds_shared_base ? 0 : own);
  if (op.a == kNoRef) {
    PTXBENCH_LANES offsets[i] = offset;
  } else if (x.base_is_64) {
    const u64* a = warp.at<u64>(op.a);
    PTXBENCH_LANES offsets[i] = u32(a[i]) + offset;
  } else {
    const u32* a = warp.at<u32>(op.a);
    PTXBENCH_LANES offsets[i] = a[i] + offset;
  }
  const u32 limit = cta.shared_bytes - bytes, align = bytes - 1;
  const Mask bad =
      mask_of([=](unsigned i) { return (offsets[i] - kSharedStart > limit) | ((offsets[i] & align) != 0); });
  return (bad & mask) == 0;
}
inline bool range_pointers(Warp& warp, const u64* addresses, Mask mask, u32 bytes, const RangeCache& range,
                           std::byte** pointers) {
  if (range.size < bytes) return false;
  const u64 limit = range.size - bytes, start = range.base, align = bytes - 1;
  alignas(64) u64 flags[kLanes];
  PTXBENCH_LANES flags[i] = u64(addresses[i] - start > limit) | (addresses[i] & align);
  u64 bad = 0;
  if (mask == kAllLanes) {
    PTXBENCH_LANES bad |= flags[i];
  } else {
    for (unsigned i = 0; i < kLanes; ++i) bad |= (mask >> i & 1) != 0 ? flags[i] : 0;
  }
  if (bad != 0) return false;
  std::byte* const base = warp.worker->launch.memory->host(DeviceMemory::kBase) - DeviceMemory::kBase;
  PTXBENCH_LANES pointers[i] = base + addresses[i];
  return true;
}

template <Where kWhere>
inline void pointers_of(Warp& warp, const Op& op, const MemoryExtra& x, Mask mask, Access access,
                        std::byte** pointers) {
  const u32 bytes = access_bytes(x);
  if constexpr (kWhere == Where::kShared) {
    alignas(64) u32 offsets[kLanes];
    if (shared_offsets(warp, op, x, mask, offsets)) [[likely]] {
      std::byte* const base = warp.cta->shared.data();
      PTXBENCH_LANES pointers[i] = base + offsets[i];
      return;
    }
  } else {
    const u64 offset = u64(op.imm) + (x.adds_shared_base ? warp.cta->shared_base() : 0);
    alignas(64) u64 wide[kLanes];
    if (op.a == kNoRef) {
      PTXBENCH_LANES wide[i] = offset;
    } else if (x.base_is_64) {
      const u64* a = warp.at<u64>(op.a);
      PTXBENCH_LANES wide[i] = a[i] + offset;
    } else {
      const u32* a = warp.at<u32>(op.a);
      PTXBENCH_LANES wide[i] = u32(a[i] + u32(offset));
    }
    if constexpr (kWhere == Where::kGlobal || kWhere == Where::kGeneric) {
      const RangeCache& range = warp.worker->ranges[x.range];
      if ((access == Access::kRead || range.writable) && range_pointers(warp, wide, mask, bytes, range, pointers))
          [[likely]]
        return;
    }
    if constexpr (kWhere == Where::kLocal) {
      const u32 size = warp.program->local_bytes, stride = (size + 15) / 16 * 16;
      bool good = size >= bytes;
      for (unsigned i = 0; i < kLanes; ++i)
        good &= (mask >> i & 1) == 0 || (wide[i] <= size - bytes && (wide[i] & (bytes - 1)) == 0);
      if (good) {
        for (unsigned i = 0; i < kLanes; ++i) pointers[i] = warp.local + u64(i) * stride + wide[i];
        return;
      }
    }
  }
  for (unsigned i = 0; i < kLanes; ++i) {
    if ((mask >> i & 1) == 0) continue;
    const u64 address = lane_address(warp, op.a, x.base_is_64, op.imm, x.adds_shared_base, i);
    pointers[i] = resolve_lane(warp, x.space, address, bytes, bytes, access, i, &warp.worker->ranges[x.range]);
  }
}

template <class T>
inline T read_as(const std::byte* p) {
  return __atomic_load_n(reinterpret_cast<const T*>(p), __ATOMIC_RELAXED);
}
template <class T>
inline void write_as(std::byte* p, T value) {
  __atomic_store_n(reinterpret_cast<T*>(p), value, __ATOMIC_RELAXED);
}

template <class C, class T>
inline void load_element(C* d, std::byte* const* pointers, u32 offset, Mask mask) {
  if (mask == kAllLanes) {
    for (unsigned i = 0; i < kLanes; ++i) d[i] = C(read_as<T>(pointers[i] + offset));
  } else {
    for (Mask m = mask; m != 0; m &= m - 1) {
      const auto i = unsigned(std::countr_zero(m));
      d[i] = C(read_as<T>(pointers[i] + offset));
    }
  }
}

// All lanes, one 32-bit word after the other: the usual case of ordinary code, one block move.
inline bool consecutive(std::byte* const* pointers, Mask mask) {
  if (mask != kAllLanes) return false;
  std::ptrdiff_t off = 0;
  for (unsigned i = 0; i + 1 < kLanes; ++i) off |= pointers[i + 1] - pointers[i] - 4;
  return off == 0;
}

// How eight lanes' offsets lie: all the same, or words one after the other.
struct Pattern {
  bool same, row;
};
inline Pattern pattern_of(const u32* at) {
#if defined(__AVX2__)
  const __m256i from_first =
      _mm256_sub_epi32(_mm256_load_si256(reinterpret_cast<const __m256i*>(at)), _mm256_set1_epi32(std::int32_t(at[0])));
  const __m256i from_row = _mm256_sub_epi32(from_first, _mm256_setr_epi32(0, 4, 8, 12, 16, 20, 24, 28));
  return {_mm256_testz_si256(from_first, from_first) != 0, _mm256_testz_si256(from_row, from_row) != 0};
#else
  u32 from_first = 0, from_row = 0;
  for (u32 i = 0; i < 8; ++i) {
    from_first |= at[i] - at[0];
    from_row |= at[i] - at[0] - 4 * i;
  }
  return {from_first == 0, from_row == 0};
#endif
}
// d[i] = the word at base + offsets[i]. In tiles of shared memory eight lanes often read one word, or eight in a row.
inline void gather_words(u32* d, const std::byte* base, const u32* offsets) {
  for (unsigned first = 0; first < kLanes; first += 8) {
    const u32* at = offsets + first;
    const Pattern pattern = pattern_of(at);
    if (pattern.row) {
      std::memcpy(d + first, base + at[0], 32);
    } else if (pattern.same) {
      const u32 word = read_as<u32>(base + at[0]);
      for (unsigned i = 0; i < 8; ++i) d[first + i] = word;
    } else {
      for (unsigned i = 0; i < 8; ++i) d[first + i] = read_as<u32>(base + at[i]);
    }
  }
}
// Loads of words by all lanes from the CTA's own shared memory. False: it is not that simple.
inline bool load_shared_words(Warp& warp, const Op& op, const MemoryExtra& x) {
  alignas(64) u32 offsets[kLanes];
  if (!shared_offsets(warp, op, x, kAllLanes, offsets)) return false;
  const std::byte* base = warp.cta->shared.data();
  for (const Ref ref : x.registers) {
    if (ref != kNoRef) gather_words(warp.at<u32>(ref), base, offsets);
    base += 4;
  }
  return true;
}

// T: the element as it is in memory, signed if it is sign-extended; C: the register's cell.
template <Where kWhere, class T, class C, bool kNarrowRegister>
[[gnu::noinline]] Flow load_any(Warp& warp, const Op& op, const MemoryExtra& x, Mask mask) {
  std::byte* pointers[kLanes];
  pointers_of<kWhere>(warp, op, x, mask, Access::kRead, pointers);
  if constexpr (sizeof(T) == 4 && sizeof(C) == 4) {
    if (x.registers.size() == 1 && x.registers[0] != kNoRef && consecutive(pointers, mask)) {
      std::memcpy(warp.at<C>(x.registers[0]), pointers[0], sizeof(C) * kLanes);
      return Flow::kNext;
    }
  }
  for (std::size_t e = 0; e < x.registers.size(); ++e) {
    if (x.registers[e] == kNoRef) continue;
    C* d = warp.at<C>(x.registers[e]);
    load_element<C, T>(d, pointers, u32(e * sizeof(T)), mask);
    if constexpr (kNarrowRegister) PTXBENCH_LANES d[i] &= C(0xffff);
  }
  return Flow::kNext;
}
template <Where kWhere, class T, class C, bool kNarrowRegister>
Flow load(Warp& warp, const Op& op, Mask mask) {
  const auto& x = static_cast<const MemoryExtra&>(*op.extra);
  if (x.strong) warp.poll(kStrongPoll);
  if constexpr (kWhere == Where::kShared && sizeof(T) == 4 && sizeof(C) == 4)
    if (mask == kAllLanes && load_shared_words(warp, op, x)) [[likely]]
      return Flow::kNext;
  return load_any<kWhere, T, C, kNarrowRegister>(warp, op, x, mask);
}
template <Where kWhere>
Flow load128(Warp& warp, const Op& op, Mask mask) {
  const auto& x = static_cast<const MemoryExtra&>(*op.extra);
  std::byte* pointers[kLanes];
  pointers_of<kWhere>(warp, op, x, mask, Access::kRead, pointers);
  for (std::size_t e = 0; e < x.registers.size(); ++e) {
    if (x.registers[e] == kNoRef) continue;
    u64* d = warp.at<u64>(x.registers[e]);
    load_element<u64, u64>(d, pointers, u32(16 * e), mask);
    load_element<u64, u64>(d + kLanes, pointers, u32(16 * e + 8), mask);
  }
  return Flow::kNext;
}
template <Where kWhere, class T, class C>
Flow store(Warp& warp, const Op& op, Mask mask) {
  const auto& x = static_cast<const MemoryExtra&>(*op.extra);
  std::byte* pointers[kLanes];
  pointers_of<kWhere>(warp, op, x, mask, Access::kWrite, pointers);
  if constexpr (sizeof(T) == 4 && sizeof(C) == 4) {
    if (x.registers.size() == 1 && consecutive(pointers, mask)) {
      std::memcpy(pointers[0], warp.at<C>(x.registers[0]), sizeof(C) * kLanes);
      return Flow::kNext;
    }
  }
  for (std::size_t e = 0; e < x.registers.size(); ++e) {
    const C* s = warp.at<C>(x.registers[e]);
    for (Mask m = mask; m != 0; m &= m - 1) {
      const auto i = unsigned(std::countr_zero(m));
      write_as<T>(pointers[i] + e * sizeof(T), T(s[i]));
    }
  }
  return Flow::kNext;
}
template <Where kWhere>
Flow store128(Warp& warp, const Op& op, Mask mask) {
  const auto& x = static_cast<const MemoryExtra&>(*op.extra);
  std::byte* pointers[kLanes];
  pointers_of<kWhere>(warp, op, x, mask, Access::kWrite, pointers);
  for (std::size_t e = 0; e < x.registers.size(); ++e) {
    const u64* s = warp.at<u64>(x.registers[e]);
    for (Mask m = mask; m != 0; m &= m - 1) {
      const auto i = unsigned(std::countr_zero(m));
      write_as<u64>(pointers[i] + 16 * e, s[i]);
      write_as<u64>(pointers[i] + 16 * e + 8, s[i + kLanes]);
    }
  }
  return Flow::kNext;
}

template <Where kWhere>
ExecFn load_for(const MemoryExtra& x) {
  const bool wide = x.register_bytes == 8, narrow = x.register_bytes == 2;
  switch (x.bytes) {
    case 1:
      if (x.sign_extend)
        return wide     ? load<kWhere, std::int8_t, u64, false>
               : narrow ? load<kWhere, std::int8_t, u32, true>
                        : load<kWhere, std::int8_t, u32, false>;
      return wide ? load<kWhere, u8, u64, false> : load<kWhere, u8, u32, false>;
    case 2:
      if (x.sign_extend)
        return wide     ? load<kWhere, std::int16_t, u64, false>
               : narrow ? load<kWhere, std::int16_t, u32, true>
                        : load<kWhere, std::int16_t, u32, false>;
      return wide ? load<kWhere, u16, u64, false> : load<kWhere, u16, u32, false>;
    case 4:
      if (wide) return x.sign_extend ? load<kWhere, std::int32_t, u64, false> : load<kWhere, u32, u64, false>;
      return load<kWhere, u32, u32, false>;
    case 8: return load<kWhere, u64, u64, false>;
    case 16: return load128<kWhere>;
    default: return nullptr;
  }
}
template <Where kWhere>
ExecFn store_for(const MemoryExtra& x) {
  const bool wide = x.register_bytes == 8;
  switch (x.bytes) {
    case 1: return wide ? store<kWhere, u8, u64> : store<kWhere, u8, u32>;
    case 2: return wide ? store<kWhere, u16, u64> : store<kWhere, u16, u32>;
    case 4: return wide ? store<kWhere, u32, u64> : store<kWhere, u32, u32>;
    case 8: return store<kWhere, u64, u64>;
    case 16: return store128<kWhere>;
    default: return nullptr;
  }
}

#define PTXBENCH_BY_SPACE(function)                                 \
  switch (x.space) {                                                \
    case Space::kShared:                                            \
    case Space::kSharedCta:                                         \
    case Space::kSharedCluster: return function<Where::kShared>(x); \
    case Space::kGlobal:                                            \
    case Space::kConst: return function<Where::kGlobal>(x);         \
    case Space::kLocal: return function<Where::kLocal>(x);          \
    case Space::kGeneric: return function<Where::kGeneric>(x);      \
    default: return function<Where::kOther>(x);                     \
  }

enum class Shuffle : u8 { kUp, kDown, kButterfly, kIndex };

// op.a value, op.b lane, op.c clamp and segment mask, op.small membermask, op.imm second destination (predicate).
template <Shuffle kMode>
Flow shuffle(Warp& warp, const Op& op, Mask mask) {
  const u32* member = warp.at<u32>(op.small);
  Mask needed = 0, outsiders = 0;
  for (Mask m = mask; m != 0; m &= m - 1) {
    const auto i = unsigned(std::countr_zero(m));
    needed |= member[i];
    outsiders |= ~member[i] & Mask{1} << i;
  }
  if (outsiders != 0)
    trap(TrapKind::kInvalidOperand, u32(std::countr_zero(outsiders)),
         fmt::format("lanes {:#010x} execute shfl.sync but are not in their own membermask", outsiders),
         "the membermask names every thread that executes the instruction, the executing one included");
  Flow flow;
  if (!warp.gather(mask, needed, flow)) return flow;
  const u32 *a = warp.at<u32>(op.a), *b = warp.at<u32>(op.b), *c = warp.at<u32>(op.c);
  alignas(64) u32 result[kLanes];
  Mask in_range = 0;
  for (unsigned lane = 0; lane < kLanes; ++lane) {
    const u32 bval = b[lane] & 0x1f, cval = c[lane] & 0x1f, segment = c[lane] >> 8 & 0x1f;
    const u32 max_lane = (lane & segment) | (cval & ~segment), min_lane = lane & segment;
    std::int32_t j;
    bool inside;
    switch (kMode) {
      case Shuffle::kUp:
        j = std::int32_t(lane) - std::int32_t(bval);
        inside = j >= std::int32_t(max_lane);
        break;
      case Shuffle::kDown:
        j = std::int32_t(lane + bval);
        inside = j <= std::int32_t(max_lane);
        break;
      case Shuffle::kButterfly:
        j = std::int32_t(lane ^ bval);
        inside = j <= std::int32_t(max_lane);
        break;
      default:
        j = std::int32_t(min_lane | (bval & ~segment));
        inside = j <= std::int32_t(max_lane);
        break;
    }
    result[lane] = a[inside ? u32(j) & 31 : lane];
    in_range |= Mask(inside) << lane;
  }
  if (op.d != kNoRef) for_lanes(warp.at<u32>(op.d), mask, [&](unsigned i) { return result[i]; });
  set_predicate(warp, Ref(op.imm), mask, in_range);
  return Flow::kNext;
}

}  // namespace

ExecFn load_function(const MemoryExtra& x) { PTXBENCH_BY_SPACE(load_for); }
ExecFn store_function(const MemoryExtra& x) { PTXBENCH_BY_SPACE(store_for); }

ExecFn shuffle_function(const ptx::Instruction& i) {
  switch (i.slot(Slot::kOp)) {
    case Mod::kUp: return shuffle<Shuffle::kUp>;
    case Mod::kDown: return shuffle<Shuffle::kDown>;
    case Mod::kBfly: return shuffle<Shuffle::kButterfly>;
    default: return shuffle<Shuffle::kIndex>;
  }
}

// Kernel parameters are the same for all lanes. op.imm: offset, checked by the decoder.
Flow load_param(Warp& warp, const Op& op, Mask mask) {
  const auto& x = static_cast<const MemoryExtra&>(*op.extra);
  const std::byte* source = warp.worker->launch.params.data() + op.imm;
  for (Ref ref : x.registers) {
    u64 low = 0, high = 0;
    std::memcpy(&low, source, x.bytes < 8 ? x.bytes : 8);
    if (x.bytes == 16) std::memcpy(&high, source + 8, 8);
    source += x.bytes;
    if (ref == kNoRef) continue;
    if (x.sign_extend && x.bytes < 8) low = u64(std::int64_t(low << (64 - 8 * x.bytes)) >> (64 - 8 * x.bytes));
    if (x.register_bytes == 2) low &= 0xffff;
    if (x.register_bytes >= 8) {
      for_lanes(warp.at<u64>(ref), mask, [=](unsigned) { return low; });
      if (x.register_bytes == 16) for_lanes(warp.at<u64>(ref) + kLanes, mask, [=](unsigned) { return high; });
    } else {
      for_lanes(warp.at<u32>(ref), mask, [=](unsigned) { return u32(low); });
    }
  }
  return Flow::kNext;
}

Flow move32(Warp& warp, const Op& op, Mask mask) {
  const u32* a = warp.at<u32>(op.a);
  for_lanes(warp.at<u32>(op.d), mask, [=](unsigned i) { return a[i]; });
  return Flow::kNext;
}
Flow move64(Warp& warp, const Op& op, Mask mask) {
  const u64* a = warp.at<u64>(op.a);
  for_lanes(warp.at<u64>(op.d), mask, [=](unsigned i) { return a[i]; });
  return Flow::kNext;
}
Flow move_predicate(Warp& warp, const Op& op, Mask mask) {
  set_predicate(warp, op.d, mask, warp.predicate(op.a));
  return Flow::kNext;
}

}  // namespace ptxbench::emu::PTXBENCH_EXEC_NAMESPACE
