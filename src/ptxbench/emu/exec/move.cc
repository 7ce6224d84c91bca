// Packing, address windows and the like.
#include <cstring>

#include "ptxbench/emu/exec/lanes_active.h"
#include "ptxbench/emu/exec/operations.h"
#include "ptxbench/emu/trap.h"
#include "ptxbench/emu/worker.h"

namespace ptxbench::emu::exec {
namespace {

using u32 = std::uint32_t;
using u64 = std::uint64_t;
using isa::Space;

// Register `ref` of `bits` bits as up to two 64-bit words.
u64 read_word(const Warp& warp, Ref ref, unsigned bits, unsigned lane, unsigned word = 0) {
  if (bits <= 32) return warp.at<u32>(ref)[lane];
  return warp.at<u64>(ref)[lane + kLanes * word];
}
void write_word(Warp& warp, Ref ref, unsigned bits, unsigned lane, u64 value, unsigned word = 0) {
  if (ref == kNoRef) return;
  if (bits <= 32) {
    warp.at<u32>(ref)[lane] = bits < 32 ? u32(value) & ((1u << bits) - 1) : u32(value);
  } else {
    warp.at<u64>(ref)[lane + kLanes * word] = value;
  }
}

Window window_of_space(Space space) {
  switch (space) {
    case Space::kShared:
    case Space::kSharedCta:
    case Space::kSharedCluster: return Window::kShared;
    case Space::kLocal: return Window::kLocal;
    case Space::kParam: return Window::kParam;
    default: return Window::kGlobal;
  }
}

}  // namespace

Flow move128(Warp& warp, const Op& op, Mask mask) {
  const u64* a = warp.at<u64>(op.a);
  u64* d = warp.at<u64>(op.d);
  for_active(mask, [&](unsigned i) {
    d[i] = a[i];
    d[i + kLanes] = a[i + kLanes];
  });
  return Flow::kNext;
}

Flow pack(Warp& warp, const Op& op, Mask mask) {
  const auto& x = static_cast<const ComplexExtra&>(*op.extra);
  const auto element = unsigned(x.imm[0]), whole = unsigned(x.imm[1]);
  for_active(mask, [&](unsigned lane) {
    u64 words[2] = {0, 0};
    for (std::size_t e = 0; e < x.a.size(); ++e) {
      u64 value = read_word(warp, x.a[e], element, lane);
      if (element < 64) value &= (u64{1} << element) - 1;
      const unsigned bit = unsigned(e) * element;
      words[bit / 64] |= value << bit % 64;
    }
    write_word(warp, op.d, whole, lane, words[0]);
    if (whole == 128) write_word(warp, op.d, whole, lane, words[1], 1);
  });
  return Flow::kNext;
}

Flow unpack(Warp& warp, const Op& op, Mask mask) {
  const auto& x = static_cast<const ComplexExtra&>(*op.extra);
  const auto element = unsigned(x.imm[0]), whole = unsigned(x.imm[1]);
  for_active(mask, [&](unsigned lane) {
    const u64 words[2] = {read_word(warp, op.a, whole, lane), whole == 128 ? read_word(warp, op.a, whole, lane, 1) : 0};
    for (std::size_t e = 0; e < x.d.size(); ++e) {
      const unsigned bit = unsigned(e) * element;
      u64 value = words[bit / 64] >> bit % 64;
      if (element < 64) value &= (u64{1} << element) - 1;
      write_word(warp, x.d[e], element, lane, value);
    }
  });
  return Flow::kNext;
}

// cvta: global and const addresses are the same in both forms. Null stays null only in global; a null shared pointer becomes
// the window's base, as on the hardware.
Flow add_window(Warp& warp, const Op& op, Mask mask) {
  const u64* a = warp.at<u64>(op.a);
  u64* d = warp.at<u64>(op.d);
  for_active(mask, [&](unsigned i) { d[i] = a[i] + u64(op.imm); });
  return Flow::kNext;
}
Flow sub_window(Warp& warp, const Op& op, Mask mask) {
  const u64* a = warp.at<u64>(op.a);
  u64* d = warp.at<u64>(op.d);
  for_active(mask, [&](unsigned i) { d[i] = a[i] - u64(op.imm); });
  return Flow::kNext;
}

Flow shared_symbol(Warp& warp, const Op& op, Mask mask) {
  const u64 address = u64(op.imm) + warp.cta->shared_base();
  for_active(mask, [&](unsigned i) { write_word(warp, op.d, op.small, i, address); });
  return Flow::kNext;
}

Flow lop3_bool(Warp& warp, const Op& op, Mask mask) {  // d|p: p = (result != 0) bool q
  const auto& x = static_cast<const ComplexExtra&>(*op.extra);
  const u32 *a = warp.at<u32>(op.a), *b = warp.at<u32>(op.b), *c = warp.at<u32>(op.c);
  const Mask q = warp.predicate(x.a[0]);
  Mask p = 0;
  for_active(mask, [&](unsigned i) {
    u32 r = 0;
    for (unsigned k = 0; k < 8; ++k)
      if ((op.imm >> k & 1) != 0)
        r |= ((k & 4) != 0 ? a[i] : ~a[i]) & ((k & 2) != 0 ? b[i] : ~b[i]) & ((k & 1) != 0 ? c[i] : ~c[i]);
    if (op.d != kNoRef) warp.at<u32>(op.d)[i] = r;
    const bool set = r != 0, other = (q >> i & 1) != 0;
    p |= Mask(x.operation == isa::Mod::kAnd ? set && other : set || other) << i;
  });
  if (op.small != kNoRef) {
    Mask& out = *warp.at<Mask>(op.small);
    out = (out & ~mask) | (p & mask);
  }
  return Flow::kNext;
}

// op.d, op.a address, op.b CTA rank; op.small: bits of the address.
Flow mapa(Warp& warp, const Op& op, Mask mask) {
  const auto& x = static_cast<const ComplexExtra&>(*op.extra);
  const u64 size = warp.cta->cluster->ctas.size();
  for_active(mask, [&](unsigned i) {
    const u32 rank = warp.at<u32>(op.b)[i];
    if (rank >= size)
      trap(TrapKind::kInvalidOperand, i, fmt::format("mapa to CTA rank {} of a cluster of {}", rank, size),
           "the rank of mapa is below %cluster_nctarank; launch the kernel with the cluster size that it is written "
           "for");
    const u64 address = op.a == kNoRef ? u64(op.imm) + warp.cta->shared_base() : read_word(warp, op.a, op.small, i);
    const SharedPlace place = locate_shared(warp, x.flag ? Space::kSharedCluster : Space::kGeneric, address, i);
    const u64 base = x.flag ? 0 : window_base(Window::kShared);
    write_word(warp, op.d, op.small, i, base + (u64{rank} << kRankShift) + place.offset);
  });
  return Flow::kNext;
}

Flow getctarank(Warp& warp, const Op& op, Mask mask) {
  const auto& x = static_cast<const ComplexExtra&>(*op.extra);
  for_active(mask, [&](unsigned i) {
    const u64 address = op.a == kNoRef ? u64(op.imm) + warp.cta->shared_base() : read_word(warp, op.a, op.small, i);
    warp.at<u32>(op.d)[i] = locate_shared(warp, x.flag ? Space::kSharedCluster : Space::kGeneric, address, i).cta->rank;
  });
  return Flow::kNext;
}

Flow isspacep(Warp& warp, const Op& op, Mask mask) {
  const auto& x = static_cast<const ComplexExtra&>(*op.extra);
  const auto space = Space(x.imm[0]);
  Mask p = 0;
  for_active(mask, [&](unsigned i) {
    const u64 address = warp.at<u64>(op.a)[i];
    bool inside = Window(window_of(address)) == window_of_space(space);
    if (space == Space::kShared || space == Space::kSharedCta)
      inside &= (address & 0xffffffffu) >> kRankShift == warp.cta->rank;
    if (space == Space::kGlobal && Window(window_of(address)) == Window::kParam)
      inside = true;  // as an H200 answers
    else if (space == Space::kConst || space == Space::kGlobal) {
      const Allocation* allocation = inside ? warp.worker->launch.memory->find(address) : nullptr;
      inside &= (allocation != nullptr && allocation->read_only) == (space == Space::kConst);
    }
    p |= Mask(inside) << i;
  });
  Mask& out = *warp.at<Mask>(op.d);
  out = (out & ~mask) | p;
  return Flow::kNext;
}

Flow set_result(Warp& warp, const Op& op, Mask mask) {
  const Mask low = warp.predicate(op.a), high = op.b == kNoRef ? 0 : warp.predicate(op.b);
  const auto yes = u32(op.imm);
  for_active(mask, [&](unsigned i) {
    warp.at<u32>(op.d)[i] = ((low >> i & 1) != 0 ? yes : 0) | ((high >> i & 1) != 0 ? yes << 16 : 0);
  });
  return Flow::kNext;
}

Flow copy_local(Warp& warp, const Op& op, Mask mask) {
  const auto& x = static_cast<const ComplexExtra&>(*op.extra);
  const u64 stride = (u64{warp.program->local_bytes} + 15) / 16 * 16;
  for_active(mask, [&](unsigned lane) {
    std::byte* base = warp.local + lane * stride;
    std::memmove(base + x.imm[0], base + x.imm[1], std::size_t(x.imm[2]));
  });
  return Flow::kNext;
}

// prefetch of a tensor map checks that it is one; other prefetches may point anywhere and do nothing.
Flow prefetch(Warp& warp, const Op& op, Mask mask) {
  const auto& x = static_cast<const ComplexExtra&>(*op.extra);
  if (!x.flag) return Flow::kNext;
  const unsigned lane = first_lane(mask);
  const std::byte* p =
      resolve_lane(warp, x.address[0].space, x.address[0].of(warp, lane), 128, 64, Access::kRead, lane);
  if (auto map = decode_tensor_map({p, kTensorMapBytes}); !map) trap(map.error(), lane);
  return Flow::kNext;
}

}  // namespace ptxbench::emu::exec
