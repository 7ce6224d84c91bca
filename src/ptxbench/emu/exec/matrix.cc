// ldmatrix, stmatrix, movmatrix, mma.sync, wgmma. The arithmetic is in emu/tensor.
#include "ptxbench/emu/exec/lanes_active.h"
#include "ptxbench/emu/exec/operations.h"
#include "ptxbench/emu/tensor/matrix_move.h"
#include "ptxbench/emu/trap.h"
#include "ptxbench/emu/wgmma_queue.h"
#include "ptxbench/emu/worker.h"

namespace ptxbench::emu::exec {
namespace {

using u32 = std::uint32_t;
using u64 = std::uint64_t;

void count_flops(Warp& warp, const Op& op, u64 flops) {
  warp.worker->counters.flops[std::size_t(warp.program->sites[op.site].family)] += flops;
}

// Row addresses of all lanes as offsets in the CTA's shared memory.
void row_addresses(Warp& warp, const AddressOperand& operand, unsigned lanes, u32* addresses) {
  for (unsigned i = 0; i < lanes; ++i) addresses[i] = shared_place(warp, operand.space, operand.of(warp, i), i).offset;
}

u64 uniform(Warp& warp, Ref ref, Mask mask, const char* what) {
  const u64* values = warp.at<u64>(ref);
  const u64 value = values[first_lane(mask)];
  for_active(mask, [&](unsigned i) {
    if (values[i] != value)
      trap(TrapKind::kInvalidOperand, i,
           fmt::format("{} differs between lanes: {:#x} and {:#x}", what, value, values[i]),
           "matrix descriptors and scale-d of wgmma are the same in all threads of the warpgroup");
  });
  return value;
}

}  // namespace

// ComplexExtra: d registers, address[0], flag: .trans
Flow ldmatrix(Warp& warp, const Op& op, Mask mask) {
  const auto& x = static_cast<const ComplexExtra&>(*op.extra);
  Flow flow;
  if (!warp.gather(mask, warp.live, flow)) return flow;
  u32 addresses[kLanes], *d[4] = {};
  alignas(64) u32 unused[4][kLanes];
  row_addresses(warp, x.address[0], 8 * unsigned(x.d.size()), addresses);
  for (std::size_t i = 0; i < x.d.size(); ++i) d[i] = x.d[i] == kNoRef ? unused[i] : warp.at<u32>(x.d[i]);
  if (auto done = emu::ldmatrix(warp.cta->shared_view(), addresses, unsigned(x.d.size()), x.flag, d); !done)
    trap(done.error(), first_lane(mask));
  (void)op;
  return Flow::kNext;
}
Flow stmatrix(Warp& warp, const Op& op, Mask mask) {
  const auto& x = static_cast<const ComplexExtra&>(*op.extra);
  Flow flow;
  if (!warp.gather(mask, warp.live, flow)) return flow;
  u32 addresses[kLanes];
  const u32* s[4] = {};
  row_addresses(warp, x.address[0], 8 * unsigned(x.a.size()), addresses);
  for (std::size_t i = 0; i < x.a.size(); ++i) s[i] = warp.at<u32>(x.a[i]);
  if (auto done = emu::stmatrix(warp.cta->shared_view(), addresses, unsigned(x.a.size()), x.flag, s); !done)
    trap(done.error(), first_lane(mask));
  return Flow::kNext;
}
Flow movmatrix(Warp& warp, const Op& op, Mask mask) {
  Flow flow;
  if (!warp.gather(mask, warp.live, flow)) return flow;
  alignas(64) u32 result[kLanes];
  emu::movmatrix(warp.at<u32>(op.a), result);
  for_active(mask, [&](unsigned i) { warp.at<u32>(op.d)[i] = result[i]; });
  return Flow::kNext;
}

Flow mma(Warp& warp, const Op& op, Mask mask) {
  const auto& x = static_cast<const MmaExtra&>(*op.extra);
  Flow flow;
  if (!warp.gather(mask, warp.live, flow)) return flow;
  const u32 *a[8], *b[8], *c[8];
  u32* d[8];
  for (std::size_t i = 0; i < x.a.size(); ++i) a[i] = warp.at<u32>(x.a[i]);
  for (std::size_t i = 0; i < x.b.size(); ++i) b[i] = warp.at<u32>(x.b[i]);
  for (std::size_t i = 0; i < x.c.size(); ++i) c[i] = warp.at<u32>(x.c[i]);
  for (std::size_t i = 0; i < x.d.size(); ++i) d[i] = warp.at<u32>(x.d[i]);
  mma_sync(x.form, a, b, c, d);
  count_flops(warp, op, x.flops);
  return Flow::kNext;
}

Flow mma_f64(Warp& warp, const Op& op, Mask mask) {
  const auto& x = static_cast<const MmaF64Extra&>(*op.extra);
  Flow flow;
  if (!warp.gather(mask, warp.live, flow)) return flow;
  const double *a[8], *b[8], *c[8];
  double* d[8];
  for (std::size_t i = 0; i < x.a.size(); ++i) a[i] = warp.at<double>(x.a[i]);
  for (std::size_t i = 0; i < x.b.size(); ++i) b[i] = warp.at<double>(x.b[i]);
  for (std::size_t i = 0; i < x.c.size(); ++i) c[i] = warp.at<double>(x.c[i]);
  for (std::size_t i = 0; i < x.d.size(); ++i) d[i] = warp.at<double>(x.d[i]);
  emu::mma_f64(x.shape, a, b, c, d);
  count_flops(warp, op, x.flops);
  return Flow::kNext;
}

Flow wgmma(Warp& warp, const Op& op, Mask mask) {
  const auto& x = static_cast<const WgmmaExtra&>(*op.extra);
  Flow flow;
  if (!warp.gather(mask, warp.live, flow)) return flow;
  const unsigned place = warp.index % 4;
  WgmmaQueue& queue = *warp.wgmma;
  if (warp.cta->warps.size() < (warp.index / 4 + 1) * 4 || mask != kAllLanes)
    trap(TrapKind::kDivergentCollective, first_lane(mask),
         fmt::format("wgmma in warp {}, whose warpgroup has {} warps, with lanes {:#010x}", warp.index,
                     warp.cta->warps.size() - warp.index / 4 * 4, mask),
         "all 128 threads of a warpgroup (four warps, the first one's number a multiple of 4) execute wgmma together");
  WgmmaStep step;
  if (!x.form.a_in_registers) step.a_descriptor = uniform(warp, x.a_descriptor, mask, "the descriptor of A");
  step.b_descriptor = uniform(warp, x.b_descriptor, mask, "the descriptor of B");
  step.scale_d = x.scale_d_value;
  if (x.scale_d != kNoRef) {
    const Mask scale = warp.predicate(x.scale_d) & mask;
    if (scale != 0 && scale != mask)
      trap(TrapKind::kInvalidOperand, first_lane(mask), fmt::format("scale-d is true only in lanes {:#010x}", scale),
           "matrix descriptors and scale-d of wgmma are the same in all threads of the warpgroup");
    step.scale_d = scale != 0;
  }
  const std::uint64_t number = queue.issued[place]++;
  ++queue.events;
  ++warp.cta->progress;
  ++warp.wgmma_in_flight;
  if (number - queue.executed >= queue.issues.size()) {
    queue.issues.push_back({&x, op.site, step, 0, {}});
    if (x.form.a_in_registers) queue.issues.back().a.resize(4 * kWgmmaARegisters * kLanes);
  }
  WgmmaQueue::Issue& issue = queue.issues[number - queue.executed];
  if (issue.extra != &x || issue.step.b_descriptor != step.b_descriptor ||
      issue.step.a_descriptor != step.a_descriptor || issue.step.scale_d != step.scale_d)
    trap(
        TrapKind::kDivergentCollective, first_lane(mask),
        issue.extra != &x
            ? fmt::format("warp {} issues this wgmma where another warp of its warpgroup issued the one at PTX line {}",
                          warp.index, warp.program->ptx_line(issue.site))
            : fmt::format("warp {} issues wgmma with descriptors {:#x}, {:#x}, scale-d {}; another warp of the "
                          "warpgroup with {:#x}, {:#x}, {}",
                          warp.index, step.a_descriptor, step.b_descriptor, step.scale_d, issue.step.a_descriptor,
                          issue.step.b_descriptor, issue.step.scale_d),
        "the four warps of a warpgroup execute the same wgmma with the same descriptors");
  issue.arrived |= 1u << place;
  if (x.form.a_in_registers)
    for (unsigned r = 0; r < kWgmmaARegisters; ++r)
      std::copy_n(warp.at<u32>(x.a[r]), kLanes, issue.a.data() + (place * kWgmmaARegisters + r) * kLanes);
  if (place == 0) count_flops(warp, op, x.flops);  // once per warpgroup
  if (issue.arrived == 0xf && warp.worker->launch.schedule == Schedule::kEarliest)
    queue.execute(*warp.cta, warp.index / 4 * 4, number + 1);
  return Flow::kNext;
}

Flow wgmma_commit(Warp& warp, const Op&, Mask mask) {
  Flow flow;
  if (!warp.gather(mask, warp.live, flow)) return flow;
  if (warp.wgmma == nullptr) return Flow::kNext;
  warp.wgmma->groups[warp.index % 4].push_back(warp.wgmma->issued[warp.index % 4]);
  return Flow::kNext;
}

namespace {

// Executes the warpgroup's instructions before number `until`; waits for the other warps to issue them first.
bool complete(Warp& warp, u64 until, Flow& flow) {
  WgmmaQueue& queue = *warp.wgmma;
  if (queue.executed >= until) return true;
  if (!queue.ready(until)) {
    flow = warp.block(Wait{WaitKind::kWarpgroup, &queue.events, queue.events, 0, 0}, true);
    return false;
  }
  queue.execute(*warp.cta, warp.index / 4 * 4, until);
  return true;
}

}  // namespace

Flow wgmma_wait(Warp& warp, const Op& op, Mask mask) {
  Flow flow;
  if (!warp.gather(mask, warp.live, flow)) return flow;
  if (warp.wgmma == nullptr) return Flow::kNext;
  auto& groups = warp.wgmma->groups[warp.index % 4];
  while (groups.size() > u64(op.imm)) {
    if (!complete(warp, groups.front(), flow)) return flow;
    groups.pop_front();
  }
  return Flow::kNext;
}

Flow aligned_nothing(Warp& warp, const Op&, Mask mask) {
  Flow flow;
  return warp.gather(mask, warp.live, flow) ? Flow::kNext : flow;
}

Flow guard_accumulator(Warp& warp, const Op& op, Mask mask) {
  const auto& x = static_cast<const AccumulatorExtra&>(*op.extra);
  if (warp.wgmma_in_flight != 0) [[unlikely]] {
    WgmmaQueue& queue = *warp.wgmma;
    u64 needed = 0;  // issues up to the last one that touches these registers
    for (std::size_t i = 0; i < queue.issues.size(); ++i) {
      if ((queue.issues[i].arrived >> warp.index % 4 & 1) == 0) continue;
      for (Ref ref : x.touched)
        if (std::find(queue.issues[i].extra->d.begin(), queue.issues[i].extra->d.end(), ref) !=
            queue.issues[i].extra->d.end())
          needed = queue.executed + i + 1;
    }
    if (needed != 0) {
      if (!x.is_move)
        trap(TrapKind::kRegisterInFlight, first_lane(mask),
             fmt::format("this instruction uses an accumulator register of the wgmma at PTX line {}, which has not "
                         "been waited for",
                         warp.program->ptx_line(queue.issues[needed - 1 - queue.executed].site)),
             "accumulators of wgmma.mma_async may be read or written only after wgmma.commit_group and a "
             "wgmma.wait_group that covers them");
      Flow flow;
      if (!complete(warp, needed, flow)) return flow;
    }
  }
  return x.inner.fn(warp, x.inner, mask);
}

}  // namespace ptxbench::emu::exec
