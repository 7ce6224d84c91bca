#include "ptxbench/emu/wgmma_queue.h"

#include "ptxbench/emu/cta.h"
#include "ptxbench/emu/trap.h"

namespace ptxbench::emu {

namespace {

bool same_form(const WgmmaForm& a, const WgmmaForm& b) {
  return a.a_type == b.a_type && a.b_type == b.b_type && a.accumulator == b.accumulator && a.n == b.n &&
         a.a_in_registers == b.a_in_registers && a.negate_a == b.negate_a && a.negate_b == b.negate_b &&
         a.transpose_a == b.transpose_a && a.transpose_b == b.transpose_b && a.saturate == b.saturate;
}

}  // namespace

bool WgmmaQueue::ready(std::uint64_t until) const {
  for (std::uint64_t count : issued)
    if (count < until) return false;
  return true;
}

void WgmmaQueue::execute(Cta& cta, std::uint32_t first_warp, std::uint64_t until) {
  std::vector<WgmmaStep> steps;
  while (executed < until) {
    const Issue& head = issues.front();
    const WgmmaExtra& extra = *head.extra;
    // Instructions on the same accumulators with A in shared memory go together: D is loaded and stored once.
    std::size_t count = 1;
    if (!extra.form.a_in_registers)
      while (executed + count < until && issues[count].extra->d == extra.d &&
             same_form(issues[count].extra->form, extra.form))
        ++count;
    std::array<std::vector<std::uint32_t*>, 4> d;
    std::array<std::array<const std::uint32_t*, kWgmmaARegisters>, 4> a{};
    std::array<WgmmaWarp, 4> warps;
    for (unsigned w = 0; w < 4; ++w) {
      const Warp& warp = *cta.warps[first_warp + w];
      d[w].reserve(extra.d.size());
      for (Ref ref : extra.d) d[w].push_back(warp.at<std::uint32_t>(ref));
      if (extra.form.a_in_registers)
        for (unsigned r = 0; r < kWgmmaARegisters; ++r) a[w][r] = head.a.data() + (w * kWgmmaARegisters + r) * kLanes;
      warps[w] = {d[w].data(), a[w].data()};
    }
    steps.clear();
    for (std::size_t i = 0; i < count; ++i) steps.push_back(issues[i].step);
    const auto result = extra.form.a_in_registers ? wgmma_compute(extra.form, steps.front(), warps, cta.shared_view())
                                                  : wgmma_compute_chain(extra.form, steps, warps, cta.shared_view());
    if (!result) trap(result.error(), 0, head.site);
    for (std::size_t i = 0; i < count; ++i) issues.pop_front();
    executed += count;
    for (unsigned w = 0; w < 4; ++w) cta.warps[first_warp + w]->wgmma_in_flight -= std::uint32_t(count);
  }
  ++events;
}

}  // namespace ptxbench::emu
