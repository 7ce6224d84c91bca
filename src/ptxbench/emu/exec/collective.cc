// vote, match, redux, elect. PTX ISA 9.7.13. All lanes of the membermask come together first (Warp::gather).
#include "ptxbench/emu/exec/lanes_active.h"
#include "ptxbench/emu/exec/operations.h"
#include "ptxbench/emu/trap.h"

namespace ptxbench::emu::exec {
namespace {

using isa::FormId;
using isa::Mod;
using u32 = std::uint32_t;
using u64 = std::uint64_t;

// Gathers the lanes and calls body(group) for each set of lanes with the same membermask.
template <class F>
Flow for_groups(Warp& warp, Ref members, Mask mask, F body) {
  const u32* member = warp.at<u32>(members);
  Mask needed = 0;
  for_active(mask, [&](unsigned i) {
    needed |= member[i];
    if ((member[i] >> i & 1) == 0)
      trap(TrapKind::kInvalidOperand, i, fmt::format("lane {} is not in its own membermask {:#010x}", i, member[i]),
           "the membermask names every thread that executes the instruction, the executing one included");
  });
  Flow flow;
  if (!warp.gather(mask, needed, flow)) return flow;
  for (Mask rest = mask; rest != 0;) {
    const u32 key = member[first_lane(rest)];
    Mask group = 0;
    for_active(rest, [&](unsigned i) { group |= Mask(member[i] == key) << i; });
    body(group);
    rest &= ~group;
  }
  return Flow::kNext;
}

void set_predicate(Warp& warp, Ref ref, Mask lanes, Mask value) {
  if (ref == kNoRef) return;
  Mask& p = *warp.at<Mask>(ref);
  p = (p & ~lanes) | (value & lanes);
}

}  // namespace

Flow vote(Warp& warp, const Op& op, Mask mask) {
  const auto& x = static_cast<const ComplexExtra&>(*op.extra);
  return for_groups(warp, op.b, mask, [&](Mask group) {
    const Mask votes = warp.predicate(op.a) & group;
    switch (x.operation) {
      case Mod::kAll: return set_predicate(warp, op.d, group, votes == group ? group : 0);
      case Mod::kAny: return set_predicate(warp, op.d, group, votes != 0 ? group : 0);
      case Mod::kUni: return set_predicate(warp, op.d, group, votes == group || votes == 0 ? group : 0);
      default: break;
    }
    for_active(group, [&](unsigned i) { warp.at<u32>(op.d)[i] = votes; });
  });
}

Flow match(Warp& warp, const Op& op, Mask mask) {
  const auto& x = static_cast<const ComplexExtra&>(*op.extra);
  auto value = [&](unsigned i) { return x.imm[0] == 64 ? warp.at<u64>(op.a)[i] : u64{warp.at<u32>(op.a)[i]}; };
  return for_groups(warp, op.b, mask, [&](Mask group) {
    Mask equal[kLanes] = {};
    bool all = true;
    for_active(group, [&](unsigned i) {
      for_active(group, [&](unsigned k) { equal[i] |= Mask(value(i) == value(k)) << k; });
      all &= equal[i] == group;
    });
    const bool any_form = x.form == FormId::kMatchAny;
    if (op.d != kNoRef)
      for_active(group, [&](unsigned i) { warp.at<u32>(op.d)[i] = any_form ? equal[i] : all ? group : 0u; });
    set_predicate(warp, op.small, group, all ? group : 0);
  });
}

namespace {

u32 reduce_step(const ComplexExtra& x, u32 a, u32 b) {
  using isa::Type;
  switch (x.operation) {
    case Mod::kAdd: return a + b;
    case Mod::kAnd: return a & b;
    case Mod::kOr: return a | b;
    case Mod::kXor: return a ^ b;
    case Mod::kMin: return x.type == Type::kS32 ? u32(std::min(std::int32_t(a), std::int32_t(b))) : std::min(a, b);
    default: return x.type == Type::kS32 ? u32(std::max(std::int32_t(a), std::int32_t(b))) : std::max(a, b);
  }
}

}  // namespace

Flow redux(Warp& warp, const Op& op, Mask mask) {
  const auto& x = static_cast<const ComplexExtra&>(*op.extra);
  return for_groups(warp, op.b, mask, [&](Mask group) {
    const u32* a = warp.at<u32>(op.a);
    u32 r = a[first_lane(group)];
    for_active(group & (group - 1), [&](unsigned i) { r = reduce_step(x, r, a[i]); });
    for_active(group, [&](unsigned i) { warp.at<u32>(op.d)[i] = r; });
  });
}

// The leader is the lowest lane; the manual leaves the choice open, but the same threads always get the same one.
Flow elect(Warp& warp, const Op& op, Mask mask) {
  return for_groups(warp, op.b, mask, [&](Mask group) {
    const unsigned leader = first_lane(group);
    if (op.d != kNoRef) for_active(group, [&](unsigned i) { warp.at<u32>(op.d)[i] = leader; });
    set_predicate(warp, op.small, group, Mask{1} << leader);
  });
}

Flow activemask(Warp& warp, const Op& op, Mask mask) {
  for_active(mask, [&](unsigned i) { warp.at<u32>(op.d)[i] = mask; });
  return Flow::kNext;
}

Flow warp_sync(Warp& warp, const Op& op, Mask mask) {
  const u32* member = warp.at<u32>(op.a);
  return warp.warp_barrier(mask, member[first_lane(mask)]);
}

}  // namespace ptxbench::emu::exec
