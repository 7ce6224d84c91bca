// Barriers: named, mbarrier, cluster; setmaxnreg.
#include "support.h"

namespace ptxbench::emu {
namespace {

const char* kStart =
    ".reg .b64 %o, %x, %st; .reg .b32 %t, %r, %s, %b; .reg .pred %p, %q;\nld.param.u64 %o, [p0]; mov.u32 %t, %tid.x;\n";
const char* kStore = "\nmad.wide.u32 %x, %t, 4, %o; st.global.u32 [%x], %r; ret;";

std::vector<std::uint32_t> run32(const std::string& body, LaunchConfig config) {
  Bench bench;
  const auto out = bench.buffer(std::vector<std::uint32_t>(config.block.x));
  bench.run_clean(module_with(std::string(kStart) + body + kStore), {out, 0}, config);
  return bench.read<std::uint32_t>(out, config.block.x);
}
TrapKind trap_of(const std::string& body, LaunchConfig config, std::string* message = nullptr) {
  Bench bench;
  const auto out = bench.buffer(std::vector<std::uint32_t>(1024));
  const auto result = bench.run(module_with(std::string(kStart) + body + kStore), {out, 0}, config);
  EXPECT_TRUE(result.trap.has_value());
  if (!result.trap) return TrapKind::kAssert;
  if (message != nullptr) *message = result.trap->message;
  return result.trap->kind;
}

TEST(Barrier, ProducersAndConsumersWithNamedBarriers) {
  // Warp 0 fills the buffer twice; warps 1 and 2 read it each time. Barrier 1: full, barrier 2: empty, 96 threads each.
  const auto v = run32(R"(
    .shared .align 4 .b8 buf[128]; mov.u32 %b, buf; setp.ge.u32 %p, %t, 32; @%p bra CONSUMER;
    mad.lo.u32 %b, %t, 4, %b; add.u32 %s, %t, 10; st.shared.u32 [%b], %s; bar.arrive 1, 96; bar.sync 2, 96;
    add.u32 %s, %t, 1000; st.shared.u32 [%b], %s; bar.arrive 1, 96; mov.u32 %r, 0; bra DONE;
    CONSUMER: and.b32 %s, %t, 31; mad.lo.u32 %b, %s, 4, %b; bar.sync 1, 96; ld.shared.u32 %r, [%b]; bar.arrive 2, 96; bar.sync 1, 96;
    ld.shared.u32 %s, [%b]; add.u32 %r, %r, %s; DONE:)",
                       threads(96));
  for (std::uint32_t t = 32; t < 96; ++t) EXPECT_EQ(v[t], 2 * (t & 31) + 1010);
}

TEST(Barrier, Reductions) {
  // A reduction right behind a barrier at which the warp has waited.
  for (std::uint32_t v : run32("bar.sync 0; setp.lt.u32 %p, %t, 40; bar.red.popc.u32 %r, 0, %p;", threads(96)))
    EXPECT_EQ(v, 40u);
  EXPECT_EQ(run32("setp.lt.u32 %p, %t, 100; bar.red.popc.u32 %r, 0, %p;", threads(45))[44], 45u);
  const auto popc = run32("setp.lt.u32 %p, %t, 40; bar.red.popc.u32 %r, 0, %p;", threads(96));
  const auto all = run32(
      "setp.lt.u32 %p, %t, 96; bar.red.and.pred %q, 0, %p; selp.u32 %r, 1, 0, %q; setp.gt.u32 %p, %t, 94; "
      "bar.red.or.pred %q, 0, %p; selp.u32 %s, 2, 0, %q; add.u32 %r, %r, %s; "
      "bar.red.and.pred %q, 0, %p; selp.u32 %s, 4, 0, %q; add.u32 %r, %r, %s;",
      threads(96));
  for (std::uint32_t t = 0; t < 96; ++t) {
    EXPECT_EQ(popc[t], 40u);
    EXPECT_EQ(all[t], 3u);
  }
}

// CUDA's grid barrier finds its counter through %envreg1 and 2: 4 bytes behind the address there, 0 at the start of each
// launch. Here each of 40 CTAs adds one to it and waits until all have.
TEST(Barrier, ACooperativeLaunchHasAGridBarrier) {
  const char* kBody = R"(
    .reg .b32 %lo, %hi; .reg .b64 %w; mov.u32 %hi, %envreg1; mov.u32 %lo, %envreg2; mov.b64 %w, {%lo, %hi};
    atom.add.release.gpu.global.u32 %s, [%w+4], 1;
    AGAIN: ld.acquire.gpu.global.u32 %r, [%w+4]; setp.ne.u32 %p, %r, 40; @%p bra AGAIN; mov.u32 %t, %ctaid.x;)";
  Bench bench;
  LaunchConfig config = threads(1);
  config.grid = {40, 1, 1};
  config.cooperative = true;
  const std::string text = module_with(std::string(kStart) + kBody + kStore);
  for (int launch = 0; launch < 2; ++launch) {
    const auto out = bench.buffer(std::vector<std::uint32_t>(40));
    bench.run_clean(text, {out, 0}, config);
    EXPECT_EQ(bench.read<std::uint32_t>(out, 40), std::vector<std::uint32_t>(40, 40));
  }
}

TEST(Barrier, OtherLaunchesHaveNone) {
  EXPECT_EQ(run32("mov.u32 %r, %envreg1; mov.u32 %s, %envreg2; or.b32 %r, %r, %s;", threads(1))[0], 0u);
}

TEST(Barrier, MisuseIsNamed) {
  EXPECT_EQ(trap_of("mov.u32 %r, 16; bar.sync %r;", threads(32)), TrapKind::kBarrierMisuse);
  EXPECT_EQ(trap_of("mov.u32 %r, 33; bar.sync 1, %r;", threads(64)), TrapKind::kBarrierMisuse);
  EXPECT_EQ(trap_of("setp.lt.u32 %p, %t, 32; @%p bar.sync 1, 64; @!%p bar.sync 1, 96;", threads(64)),
            TrapKind::kBarrierMisuse);
}

const char* kBar =
    ".shared .align 8 .b8 bar[8]; .shared .align 16 .b8 buf[256]; mov.u32 %b, bar; setp.ne.u32 %p, %t, 0; @!%p "
    "mbarrier.init.shared::cta.b64 [%b], COUNT; bar.sync 0;\n";
std::string with_count(const std::string& body, int count) {
  std::string text = std::string(kBar) + body;
  text.replace(text.find("COUNT"), 5, std::to_string(count));
  return text;
}

TEST(Mbarrier, PhasesAndParity) {
  // Warp 1 waits for 32 arrivals of warp 0, twice; each arrival publishes a value.
  const auto v = run32(with_count(R"(
    mov.u32 %r, 0; setp.ge.u32 %p, %t, 32; @%p bra WAITER;
    st.shared.u32 [buf], 7; mbarrier.arrive.shared::cta.b64 %st, [%b]; bar.sync 1, 64; st.shared.u32 [buf], 9; mbarrier.arrive.shared::cta.b64 %st, [%b]; bra DONE;
    WAITER: W0: mbarrier.try_wait.parity.shared::cta.b64 %q, [%b], 0; @!%q bra W0; ld.shared.u32 %r, [buf]; bar.sync 1, 64;
    W1: mbarrier.try_wait.parity.shared::cta.b64 %q, [%b], 1; @!%q bra W1; ld.shared.u32 %s, [buf]; mad.lo.u32 %r, %r, 10, %s; DONE:)",
                                  32),
                       threads(64));
  for (std::uint32_t t = 32; t < 64; ++t) EXPECT_EQ(v[t], 79u);
}

TEST(Mbarrier, StateFormAndTestWait) {
  const auto v = run32(with_count(R"(
    mbarrier.arrive.shared::cta.b64 %st, [%b]; W: mbarrier.test_wait.shared::cta.b64 %q, [%b], %st; @!%q bra W; mov.u32 %r, 1;
    mbarrier.test_wait.parity.shared::cta.b64 %q, [%b], 1; selp.u32 %s, 2, 0, %q; add.u32 %r, %r, %s;)",
                                  64),
                       threads(64));
  // After one completed phase the current one is of parity 1: it is not complete.
  for (std::uint32_t t = 0; t < 64; ++t) EXPECT_EQ(v[t], 1u);
}

TEST(Mbarrier, UninitialisedOverwrittenAndOverArrived) {
  EXPECT_EQ(trap_of(".shared .align 8 .b8 bar[8]; mbarrier.arrive.shared::cta.b64 %st, [bar];", threads(32)),
            TrapKind::kBarrierNotInitialised);
  std::string message;
  EXPECT_EQ(trap_of(with_count("st.shared.u32 [%b+4], %t; mbarrier.arrive.shared::cta.b64 %st, [%b];", 32), threads(32),
                    &message),
            TrapKind::kBarrierNotInitialised);
  EXPECT_NE(message.find("overwritten"), std::string::npos);
  EXPECT_EQ(trap_of(with_count("mbarrier.arrive.shared::cta.b64 %st, [%b], 2;", 33), threads(32)),
            TrapKind::kBarrierMisuse);
  EXPECT_EQ(trap_of(with_count("mbarrier.inval.shared::cta.b64 [%b]; mbarrier.arrive.shared::cta.b64 %st, [%b];", 1),
                    threads(1)),
            TrapKind::kBarrierNotInitialised);
  EXPECT_EQ(trap_of(".shared .align 8 .b8 bar[8]; mbarrier.init.shared::cta.b64 [bar], 0;", threads(1)),
            TrapKind::kBarrierMisuse);
}

TEST(Mbarrier, DeadlockTellsWhatIsMissing) {
  std::string message;
  EXPECT_EQ(trap_of(with_count("mbarrier.arrive.expect_tx.shared::cta.b64 %st, [%b], 4096; W: "
                               "mbarrier.try_wait.parity.shared::cta.b64 %q, [%b], 0; @!%q bra W;",
                               1),
                    threads(1), &message),
            TrapKind::kDeadlock);
  EXPECT_NE(message.find("0 of 1 arrivals missing, 4096 bytes of expect_tx not copied"), std::string::npos) << message;
}

TEST(Mbarrier, TransactionCountOutOfRange) {
  EXPECT_EQ(trap_of(with_count("mbarrier.expect_tx.relaxed.cta.shared::cta.b64 [%b], 1048576;", 1), threads(1)),
            TrapKind::kTransactionCount);
}

TEST(Mbarrier, TryWaitMayReturnFalseWhenNothingElseRuns) {
  // One warp peeks at a barrier that it completes itself afterwards: the peek must come back.
  const auto v =
      run32(with_count("mbarrier.try_wait.parity.shared::cta.b64 %q, [%b], 0; selp.u32 %r, 1, 0, %q; "
                       "mbarrier.arrive.shared::cta.b64 %st, [%b]; "
                       "W: mbarrier.try_wait.parity.shared::cta.b64 %q, [%b], 0; @!%q bra W; add.u32 %r, %r, 4;",
                       32),
            threads(32));
  EXPECT_EQ(v[0], 4u);
}

TEST(Setmaxnreg, IncreaseWaitsForADecrease) {
  // 256 threads start with 248 registers each (the most a launch gives); warpgroup 1 can only grow after warpgroup 0 has shrunk.
  const auto v = run32(
      "setp.lt.u32 %p, %t, 128; @%p bra SMALL; setmaxnreg.inc.sync.aligned.u32 256; mov.u32 %r, 2; bra DONE; SMALL: "
      "setmaxnreg.dec.sync.aligned.u32 40; mov.u32 %r, 1; DONE:",
      threads(256));
  EXPECT_EQ(v[0], 1u);
  EXPECT_EQ(v[200], 2u);
  EXPECT_EQ(trap_of("setmaxnreg.inc.sync.aligned.u32 256;", threads(256)), TrapKind::kRegisterBudget);
}

TEST(Cluster, BarrierAndDistributedSharedMemory) {
  // Each CTA writes its rank into the next CTA's shared memory; after the cluster barrier everyone reads its own.
  LaunchConfig config = threads(32, 8);
  config.cluster = {4, 1, 1};
  Bench bench;
  const auto out = bench.buffer(std::vector<std::uint32_t>(8));
  bench.run_clean(module_with(R"(
    .reg .b64 %o, %x; .reg .b32 %t, %rank, %n, %next, %a, %r, %c; .reg .pred %p; .shared .align 4 .b8 slot[4];
    barrier.cluster.arrive.release.aligned; barrier.cluster.wait.acquire.aligned;
    ld.param.u64 %o, [p0]; mov.u32 %rank, %cluster_ctarank; mov.u32 %n, %cluster_nctarank; mov.u32 %c, %ctaid.x;
    add.u32 %next, %rank, 1; rem.u32 %next, %next, %n; mov.u32 %a, slot; mapa.shared::cluster.u32 %a, %a, %next;
    mov.u32 %t, %tid.x; setp.eq.u32 %p, %t, 0; mad.lo.u32 %r, %c, 100, %rank; @%p st.shared::cluster.u32 [%a], %r;
    barrier.cluster.arrive.release.aligned; barrier.cluster.wait.acquire.aligned; ld.shared.u32 %r, [slot];
    mad.wide.u32 %x, %c, 4, %o; @%p st.global.u32 [%x], %r; ret;)"),
                  {out, 0}, config);
  const auto v = bench.read<std::uint32_t>(out, 8);
  for (std::uint32_t c = 0; c < 8; ++c) {
    const std::uint32_t from = c / 4 * 4 + (c + 3) % 4;
    EXPECT_EQ(v[c], from * 100 + from % 4);
  }
}

TEST(Cluster, SharedAddressOfAnotherCtaNeedsTheClusterSpace) {
  LaunchConfig config = threads(32, 2);
  config.cluster = {2, 1, 1};
  EXPECT_EQ(trap_of(".shared .align 4 .b8 slot[4]; mov.u32 %b, slot; mov.u32 %s, %cluster_ctarank; xor.b32 %s, %s, 1; "
                    "mapa.shared::cluster.u32 %b, %b, %s; ld.shared.u32 %r, [%b];",
                    config),
            TrapKind::kOutOfBounds);
}

}  // namespace
}  // namespace ptxbench::emu
