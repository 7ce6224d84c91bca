// Divergence, independent progress, calls, counters.
#include <numeric>

#include "support.h"

namespace ptxbench::emu {
namespace {

TEST(Control, DivergentLoopsMeetAgain) {
  // Each lane loops tid times; after the loop all lanes are together again (activemask is full).
  Bench bench;
  const auto out = bench.buffer(std::vector<std::uint32_t>(64));
  bench.run_clean(module_with(R"(
    .reg .b64 %o; .reg .b32 %t, %n, %s, %m; .reg .pred %p;
    ld.param.u64 %o, [p0]; mov.u32 %t, %tid.x; mov.u32 %n, %t; mov.u32 %s, 0;
    setp.eq.u32 %p, %n, 0; @%p bra END;
    LOOP: add.u32 %s, %s, %n; sub.u32 %n, %n, 1; setp.ne.u32 %p, %n, 0; @%p bra LOOP;
    END: activemask.b32 %m;
    mad.wide.u32 %o, %t, 8, %o; st.global.v2.u32 [%o], {%s, %m}; ret;)"),
                  {out, 0}, threads(32));
  const auto values = bench.read<std::uint32_t>(out, 64);
  for (std::uint32_t t = 0; t < 32; ++t) {
    EXPECT_EQ(values[2 * t], t * (t + 1) / 2);
    EXPECT_EQ(values[2 * t + 1], 0xffffffffu);
  }
}

TEST(Control, NestedBranchesGiveEachLaneItsOwnPath) {
  Bench bench;
  const auto out = bench.buffer(std::vector<std::uint32_t>(32));
  bench.run_clean(module_with(R"(
    .reg .b64 %o; .reg .b32 %t, %r, %x; .reg .pred %p, %q;
    ld.param.u64 %o, [p0]; mov.u32 %t, %tid.x;
    and.b32 %x, %t, 1; setp.eq.u32 %p, %x, 0; and.b32 %x, %t, 2; setp.eq.u32 %q, %x, 0;
    @%p bra EVEN;
    @%q bra ODD0; mov.u32 %r, 300; bra JOIN_ODD; ODD0: mov.u32 %r, 100; JOIN_ODD: add.u32 %r, %r, 1; bra JOIN;
    EVEN: @%q bra EVEN0; mov.u32 %r, 200; bra JOIN; EVEN0: mov.u32 %r, 0;
    JOIN: add.u32 %r, %r, %t; mad.wide.u32 %o, %t, 4, %o; st.global.u32 [%o], %r; ret;)"),
                  {out, 0}, threads(32));
  const auto values = bench.read<std::uint32_t>(out, 32);
  for (std::uint32_t t = 0; t < 32; ++t) {
    const std::uint32_t base[4] = {0, 101, 200, 301};
    EXPECT_EQ(values[t], base[t % 4] + t);
  }
}

TEST(Control, PerLaneSpinLockEnds) {
  // The lane that holds the lock must leave the spin loop before its siblings do.
  Bench bench;
  const auto data = bench.buffer(std::vector<std::uint32_t>(2));
  bench.run_clean(module_with(R"(
    .reg .b64 %o; .reg .b32 %r, %v; .reg .pred %p;
    ld.param.u64 %o, [p0];
    SPIN: atom.global.cas.b32 %r, [%o], 0, 1; setp.ne.u32 %p, %r, 0; @%p bra SPIN;
    ld.volatile.global.u32 %v, [%o+4]; add.u32 %v, %v, 1; st.volatile.global.u32 [%o+4], %v;
    membar.gl; atom.global.exch.b32 %r, [%o], 0; ret;)"),
                  {data, 0}, threads(96, 3));
  EXPECT_EQ(bench.read<std::uint32_t>(data, 2)[1], 288u);
}

TEST(Control, ConsumerThatSpinsDoesNotStarveItsProducer) {
  // Warp 0 polls a flag that warp 1 sets; CTA 0 polls one that the last CTA sets.
  Bench bench;
  const auto flag = bench.buffer(std::vector<std::uint32_t>(4));
  bench.run_clean(module_with(R"(
    .reg .b64 %o; .reg .b32 %t, %c, %r; .reg .pred %p;
    ld.param.u64 %o, [p0]; mov.u32 %t, %tid.x; mov.u32 %c, %ctaid.x;
    setp.ge.u32 %p, %t, 32; @%p bra PRODUCER;
    WAIT: ld.acquire.gpu.global.u32 %r, [%o]; setp.lt.u32 %p, %r, 256; @%p bra WAIT;
    bra DONE;
    PRODUCER: atom.global.add.u32 %r, [%o], 1;
    DONE: atom.global.add.u32 %r, [%o+4], 1; ret;)"),
                  {flag, 0}, threads(64, 8));
  EXPECT_EQ(bench.read<std::uint32_t>(flag, 2)[1], 512u);
}

TEST(Control, EarlyExitOfSomeLanes) {
  Bench bench;
  const auto out = bench.buffer(std::vector<std::uint32_t>(32, 7));
  const auto result = bench.run_clean(module_with(R"(
    .reg .b64 %o; .reg .b32 %t, %m; .reg .pred %p;
    ld.param.u64 %o, [p0]; mov.u32 %t, %tid.x; setp.ge.u32 %p, %t, 10; @%p exit;
    bar.sync 0; activemask.b32 %m; mad.wide.u32 %o, %t, 4, %o; st.global.u32 [%o], %m; ret;)"),
                                      {out, 0}, threads(32));
  const auto values = bench.read<std::uint32_t>(out, 32);
  for (std::uint32_t t = 0; t < 32; ++t) EXPECT_EQ(values[t], t < 10 ? 0x3ffu : 7u);
  // Exact counts: 4 instructions for 32 threads, then the exit for 22, then 5 for 10 threads.
  EXPECT_EQ(result.thread_instructions, 3u * 32 + 22 + 5 * 10);
}

TEST(Control, FunctionCallsWithParameters) {
  const std::string functions = R"(
    .func (.param .b32 ret0) triple(.param .b32 x0) { .reg .b32 %a; ld.param.b32 %a, [x0]; mul.lo.s32 %a, %a, 3; st.param.b32 [ret0], %a; ret; }
    .func (.reg .b32 r) add_reg(.reg .b32 a, .reg .b32 b) { add.s32 r, a, b; ret; })";
  Bench bench;
  const auto out = bench.buffer(std::vector<std::uint32_t>(32));
  bench.run_clean(module_with(R"(
    .reg .b64 %o; .reg .b32 %t, %r; .reg .pred %p;
    ld.param.u64 %o, [p0]; mov.u32 %t, %tid.x; mov.u32 %r, 5; setp.lt.u32 %p, %t, 16; @!%p bra SKIP;
    { .param .b32 in; .param .b32 res; st.param.b32 [in], %t; call (res), triple, (in); ld.param.b32 %r, [res]; }
    SKIP: call (%r), add_reg, (%r, 1000);
    mad.wide.u32 %o, %t, 4, %o; st.global.u32 [%o], %r; ret;)",
                              2, functions),
                  {out, 0}, threads(32));
  const auto values = bench.read<std::uint32_t>(out, 32);
  for (std::uint32_t t = 0; t < 32; ++t) EXPECT_EQ(values[t], (t < 16 ? 3 * t : 5) + 1000);
}

TEST(Control, IndexedBranch) {
  Bench bench;
  const auto out = bench.buffer(std::vector<std::uint32_t>(32));
  bench.run_clean(module_with(R"(
    .reg .b64 %o; .reg .b32 %t, %i, %r;
    ld.param.u64 %o, [p0]; mov.u32 %t, %tid.x; rem.u32 %i, %t, 3;
    TABLE: .branchtargets A, B, C;
    brx.idx %i, TABLE;
    A: mov.u32 %r, 10; bra END; B: mov.u32 %r, 20; bra END; C: mov.u32 %r, 30;
    END: mad.wide.u32 %o, %t, 4, %o; st.global.u32 [%o], %r; ret;)"),
                  {out, 0}, threads(32));
  const auto values = bench.read<std::uint32_t>(out, 32);
  for (std::uint32_t t = 0; t < 32; ++t) EXPECT_EQ(values[t], 10 * (t % 3 + 1));
}

TEST(Control, CountsArePredicateTrueThreads) {
  Bench bench;
  const auto out = bench.buffer(std::vector<std::uint32_t>(32));
  const auto result = bench.run_clean(module_with(R"(
    .reg .b64 %o; .reg .b32 %t, %r; .reg .pred %p, %never;
    ld.param.u64 %o, [p0]; mov.u32 %t, %tid.x; setp.lt.u32 %p, %t, 5; setp.gt.u32 %never, %t, 100;
    @%p add.u32 %r, %t, 1; @%never add.u32 %r, %t, 2; ret;)"),
                                      {out, 0}, threads(64, 2));
  const std::vector<std::uint64_t> threads_per{128, 128, 128, 128, 10, 0, 128}, warps_per{4, 4, 4, 4, 2, 0, 4};
  ASSERT_EQ(result.instructions.size(), 7u);
  for (std::size_t i = 0; i < 7; ++i) {
    EXPECT_EQ(result.instructions[i].thread_instructions, threads_per[i]) << i;
    EXPECT_EQ(result.instructions[i].warp_instructions, warps_per[i]) << i;
  }
  EXPECT_EQ(result.thread_instructions, 5u * 128 + 10);
}

TEST(Control, ResultsDoNotDependOnWorkers) {
  std::vector<std::vector<std::uint32_t>> seen;
  for (unsigned workers : {1u, 2u, 3u}) {
    Bench bench(workers);
    const auto out = bench.buffer(std::vector<std::uint32_t>(64 * 37));
    bench.run_clean(module_with(R"(
      .reg .b64 %o; .reg .b32 %t, %c, %r;
      ld.param.u64 %o, [p0]; mov.u32 %t, %tid.x; mov.u32 %c, %ctaid.x; mad.lo.u32 %t, %c, 64, %t;
      mul.lo.u32 %r, %t, 2654435761; mad.wide.u32 %o, %t, 4, %o; st.global.u32 [%o], %r; ret;)"),
                    {out, 0}, threads(64, 37));
    seen.push_back(bench.read<std::uint32_t>(out, 64 * 37));
    for (std::uint32_t i = 0; i < 64 * 37; ++i) ASSERT_EQ(seen.back()[i], i * 2654435761u);
  }
}

}  // namespace
}  // namespace ptxbench::emu
