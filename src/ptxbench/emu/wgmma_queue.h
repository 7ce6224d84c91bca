// WgmmaQueue: the wgmma.mma_async instructions of one warpgroup that have been issued and not executed.
//
// Each of the four warps issues an instruction at its own time; it can be executed once all four have, and the schedule says
// when: at the last issue, or when a warp waits for the group that holds it.
#pragma once

#include <array>
#include <cstdint>
#include <deque>
#include <vector>

#include "ptxbench/emu/program.h"
#include "ptxbench/emu/tensor/wgmma.h"

namespace ptxbench::emu {

struct Cta;

// The decoded operands of one wgmma.mma_async.
struct WgmmaExtra : OpExtra {
  WgmmaForm form;
  std::vector<Ref> d;
  std::array<Ref, kWgmmaARegisters> a{kNoRef, kNoRef, kNoRef, kNoRef};
  Ref a_descriptor = kNoRef, b_descriptor = kNoRef;
  Ref scale_d = kNoRef;  // predicate; kNoRef: scale_d_value
  bool scale_d_value = true;
  std::uint64_t flops = 0;
};

struct WgmmaQueue {
  struct Issue {
    const WgmmaExtra* extra = nullptr;
    std::uint32_t site = 0;
    WgmmaStep step;
    unsigned arrived = 0;          // a bit per warp
    std::vector<std::uint32_t> a;  // registers A at issue: [warp][register][lane]
  };
  std::deque<Issue> issues;                         // not executed, oldest first
  std::uint64_t executed = 0;                       // number of the first one in `issues`
  std::uint64_t events = 0;                         // moves with each issue
  std::array<std::uint64_t, 4> issued{};            // by each warp
  std::array<std::deque<std::uint64_t>, 4> groups;  // committed groups of each warp: number of issues up to their end

  // Executes all issues before number `until`, which all four warps have issued.
  void execute(Cta& cta, std::uint32_t first_warp, std::uint64_t until);
  // True if all four warps have issued every instruction before number `until`.
  bool ready(std::uint64_t until) const;
};

}  // namespace ptxbench::emu
