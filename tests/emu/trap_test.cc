// Broken rules end the launch with a trap that says where and what to change.
#include <fmt/format.h>

#include "support.h"

namespace ptxbench::emu {
namespace {

const char* kAddress =
    ".reg .b64 %o, %x; .reg .b32 %t, %r; .reg .pred %p;\nld.param.u64 %o, [p0]; mov.u32 %t, %tid.x;\n";

TEST(Trap, OutOfBoundsNamesTheAllocationAndTheDistance) {
  Bench bench;
  const auto out = bench.buffer(std::vector<std::uint32_t>(16));
  const auto result =
      bench.run(module_with(std::string(kAddress) + "mad.wide.u32 %x, %t, 4, %o;\nst.global.u32 [%x], %t;\nret;"),
                {out, 0}, threads(32));
  ASSERT_TRUE(result.trap.has_value());
  EXPECT_EQ(result.trap->kind, TrapKind::kOutOfBounds);
  EXPECT_EQ(result.trap->lane, 16u);
  EXPECT_EQ(result.trap->address, out + 64);
  EXPECT_EQ(result.trap->ptx_line, 10u);
  EXPECT_NE(result.trap->message.find("0 bytes past the end"), std::string::npos) << result.trap->message;
  EXPECT_NE(result.trap->instruction.find("st.global.u32"), std::string::npos) << result.trap->instruction;
}

TEST(Trap, MisalignedAndNull) {
  Bench bench;
  const auto out = bench.buffer(std::vector<std::uint32_t>(64));
  EXPECT_EQ(
      bench.run(module_with(std::string(kAddress) + "ld.global.u32 %r, [%o+2]; ret;"), {out, 0}, threads(1)).trap->kind,
      TrapKind::kMisaligned);
  EXPECT_EQ(bench
                .run(module_with(std::string(kAddress) + "ld.global.v4.u32 {%r,%r,%r,%r}, [%o+8]; ret;"), {out, 0},
                     threads(1))
                .trap->kind,
            TrapKind::kMisaligned);
  EXPECT_EQ(bench.run(module_with(std::string(kAddress) + "mov.u64 %o, 0; ld.u32 %r, [%o]; ret;"), {out, 0}, threads(1))
                .trap->kind,
            TrapKind::kOutOfBounds);
  EXPECT_EQ(
      bench
          .run(module_with(std::string(kAddress) + "mov.u32 %r, 0; ld.shared.u32 %r, [%r]; ret;"), {out, 0}, threads(1))
          .trap->kind,
      TrapKind::kOutOfBounds);
}

TEST(Trap, ConstantMemoryIsReadOnly) {
  Bench bench;
  EXPECT_EQ(bench
                .run(module_with(std::string(kAddress) + "mov.u64 %o, c; st.u32 [%o], %t; ret;", 2,
                                 ".const .align 4 .u32 c = 1;"),
                     {0, 0}, threads(1))
                .trap->kind,
            TrapKind::kReadOnly);
}

TEST(Trap, DivergentBarrier) {
  Bench bench;
  const auto result =
      bench.run(module_with(std::string(kAddress) +
                            "setp.lt.u32 %p, %t, 16; @!%p bra END;\nbar.sync 0;\nEND: st.global.u32 [%o], %t; ret;"),
                {0, 0}, threads(32));
  ASSERT_TRUE(result.trap.has_value());
  EXPECT_EQ(result.trap->kind, TrapKind::kDivergentCollective) << result.trap->format();
  EXPECT_EQ(result.trap->ptx_line, 10u);
}

TEST(Trap, ShuffleOfLanesThatDoNotCome) {
  Bench bench;
  const auto result =
      bench.run(module_with(std::string(kAddress) +
                            "setp.lt.u32 %p, %t, 16; @%p shfl.sync.bfly.b32 %r, %t, 1, 31, 0xffffffff; ret;"),
                {0, 0}, threads(32));
  ASSERT_TRUE(result.trap.has_value());
  EXPECT_EQ(result.trap->kind, TrapKind::kDivergentCollective);
}

TEST(Trap, DeadlockNamesEveryWaitingWarp) {
  Bench bench;
  const auto result =
      bench.run(module_with(std::string(kAddress) +
                            "setp.lt.u32 %p, %t, 32; @%p bra A;\nbar.sync 1, 96; ret; A: bar.sync 2, 64; ret;"),
                {0, 0}, threads(64));
  ASSERT_TRUE(result.trap.has_value());
  EXPECT_EQ(result.trap->kind, TrapKind::kDeadlock);
  EXPECT_NE(result.trap->message.find("barrier 1: 32 of 96"), std::string::npos) << result.trap->message;
  EXPECT_NE(result.trap->message.find("barrier 2: 32 of 64"), std::string::npos) << result.trap->message;
}

TEST(Trap, WorkLimitAndDeadline) {
  Bench bench;
  LaunchConfig config = threads(32);
  config.work_limit = 100'000;
  EXPECT_EQ(bench.run(module_with("L: bra L;"), {0, 0}, config).trap->kind, TrapKind::kWorkLimit);
  config.work_limit = ~0ull;
  config.deadline = std::chrono::milliseconds(20);
  EXPECT_EQ(bench.run(module_with("L: bra L;"), {0, 0}, config).trap->kind, TrapKind::kDeadline);
}

// CUDA C++ Programming Guide, "Distributed Shared Memory": a CTA must not exit before the others have made their last access
// to its shared memory. An H200 lets most of it pass, and stops the kernel (launch failure) when the timing is another.
TEST(Trap, AccessToACtaThatHasExited) {
  const auto remote = [](unsigned rank) {
    return fmt::format(
        ".reg .b32 %c, %a; .reg .b64 %s; .shared .align 8 .b64 bar; .reg .pred %p, %q; mov.u32 %c, %tid.x;\n"
        "setp.eq.u32 %q, %c, 0; mov.u32 %a, bar; @%q mbarrier.init.shared::cta.b64 [%a], 3;\n"
        "barrier.cluster.arrive.release; barrier.cluster.wait.acquire;\n"
        "mov.u32 %c, %cluster_ctarank; setp.eq.u32 %p, %c, {0}; mapa.shared::cluster.u32 %a, %a, {0};\n",
        rank);
  };
  LaunchConfig config = threads(32, 2);
  config.cluster = {2, 1, 1};
  struct Case {
    const char* access;
    bool ok;
  };
  for (const Case& c : {Case{"mbarrier.arrive.release.cluster.shared::cluster.b64 _, [%a];", false},
                        Case{"ld.shared::cluster.u64 %s, [%a];", false}, Case{"st.shared::cluster.u64 [%a], 0;", false},
                        Case{"atom.shared::cluster.add.u32 %c, [%a], 1;", false},
                        // An address is no access.
                        Case{"mapa.shared::cluster.u32 %a, %a, 0;", true}})
    for (const unsigned leaves : {0u, 1u}) {
      Bench bench;
      const std::string body = remote(leaves);
      // One CTA leaves at once, the other looks back. One of the two schedules lets the first go first.
      config.schedule = leaves == 0 ? Schedule::kLatest : Schedule::kEarliest;
      const auto early = bench.run(module_with(body + "@%p ret;\n@%q " + c.access + "\nret;"), {0, 0}, config);
      ASSERT_EQ(early.trap.has_value(), !c.ok) << c.access << (early.trap ? early.trap->format() : "");
      if (!c.ok) {
        EXPECT_EQ(early.trap->kind, TrapKind::kExitedCta) << c.access;
        EXPECT_EQ(early.trap->cta.x, 1 - leaves);
        EXPECT_NE(early.trap->rule.find("barrier.cluster"), std::string::npos);
      }
      for (const Schedule schedule : {Schedule::kLatest, Schedule::kEarliest}) {  // the first waits for the second
        config.schedule = schedule;
        bench.run_clean(module_with(body + "@%p bra END;\n@%q " + c.access +
                                    "\nEND: barrier.cluster.arrive.release; barrier.cluster.wait.acquire; ret;"),
                        {0, 0}, config);
      }
    }
}

// The same section: a CTA must have begun. compute-sanitizer's racecheck says of such a store "block that might not have
// entered yet".
TEST(Trap, AccessToACtaThatHasNotBegun) {
  const auto store = [](unsigned to, bool after_barrier) {
    return module_with(
        fmt::format(".reg .b32 %c, %a; .reg .pred %p; .shared .align 8 .b64 x; mov.u32 %a, x; mapa.shared::cluster.u32 "
                    "%a, %a, {};\n"
                    "mov.u32 %c, %cluster_ctarank; setp.eq.u32 %p, %c, {};\n{}\n@!%p st.shared::cluster.u32 [%a], 1;\n"
                    "barrier.cluster.arrive.release; barrier.cluster.wait.acquire; ret;",
                    to, to, after_barrier ? "barrier.cluster.arrive.release; barrier.cluster.wait.acquire;" : ""));
  };
  Bench bench;
  LaunchConfig config = threads(32, 2);
  config.cluster = {2, 1, 1};
  for (const unsigned to : {0u, 1u}) {
    config.schedule = to == 1 ? Schedule::kLatest : Schedule::kEarliest;  // the other CTA goes first
    const auto result = bench.run(store(to, false), {0, 0}, config);
    ASSERT_TRUE(result.trap) << to;
    EXPECT_EQ(result.trap->kind, TrapKind::kUnstartedCta);
    EXPECT_NE(result.trap->rule.find("barrier.cluster"), std::string::npos);
    bench.run_clean(store(to, true), {0, 0}, config);
  }
}

// With one host thread CTA 0 runs first; with several its fault comes last and is reported all the same.
TEST(Trap, TheFirstCtaInOrderIsReported) {
  const std::string body =
      ".reg .u32 %c, %n; .reg .pred %p;\nmov.u32 %c, %ctaid.x; mov.u32 %n, 3000;\nsetp.ne.u32 %p, %c, 0; @%p bra T;\n"
      "L: sub.u32 %n, %n, 1; setp.ne.u32 %p, %n, 0; @%p bra L;\nT: trap;";
  for (const unsigned workers : {1u, 2u, 4u}) {
    Bench bench(workers);
    for (int repeat = 0; repeat < 20; ++repeat) {
      const auto result = bench.run(module_with(body), {0, 0}, threads(32, 8));
      ASSERT_TRUE(result.trap.has_value());
      EXPECT_EQ(result.trap->kind, TrapKind::kTrapInstruction);
      EXPECT_EQ(result.trap->cta.x, 0u) << workers << " workers, launch " << repeat;
    }
  }
}

// CTAs before it that never end, perhaps because they wait for it, are not waited for.
TEST(Trap, AFaultEndsALaunchWhoseOtherCtasSpin) {
  Bench bench(2);
  LaunchConfig config = threads(32, 2);
  config.work_limit = ~0ull;
  const auto result = bench.run(
      module_with(".reg .u32 %c; .reg .pred %p;\nmov.u32 %c, %ctaid.x; setp.eq.u32 %p, %c, 0;\nL: @%p bra L;\ntrap;"),
      {0, 0}, config);
  ASSERT_TRUE(result.trap.has_value());
  EXPECT_EQ(result.trap->kind, TrapKind::kTrapInstruction);
  EXPECT_EQ(result.trap->cta.x, 1u);
}

TEST(Trap, TrapInstructionAndUnsupportedForms) {
  Bench bench;
  EXPECT_EQ(bench.run(module_with("trap;"), {0, 0}, threads(1)).trap->kind, TrapKind::kTrapInstruction);
  // A form that is not executed only matters when it is reached.
  const std::string call =
      ".reg .b64 %f; .reg .b32 %r; .reg .pred %p; mov.u32 %r, %tid.x; setp.gt.u32 %p, %r, 100; @%p bra X; ret;\nX: "
      "{ .param .b64 a; .param .b64 r; call (r), malloc, (a); } ret;";
  const std::string decl = ".extern .func (.param .b64 r) malloc(.param .b64 a);";
  EXPECT_FALSE(bench.run(module_with(call, 2, decl), {0, 0}, threads(32)).trap.has_value());
  const auto reached = bench.run(module_with(call, 2, decl), {0, 0}, threads(128));
  ASSERT_TRUE(reached.trap.has_value());
  EXPECT_EQ(reached.trap->kind, TrapKind::kUnsupported);
  EXPECT_NE(reached.trap->message.find("malloc"), std::string::npos);
}

TEST(Trap, RecursionIsRefusedByName) {
  Bench bench;
  const std::string f =
      ".func rec(.param .b32 x) { .reg .b32 %a; ld.param.b32 %a, [x]; { .param .b32 y; st.param.b32 [y], %a; call rec, "
      "(y); } ret; }";
  const auto result = bench.run(
      module_with("{ .param .b32 y; .reg .b32 %a; mov.b32 %a, 1; st.param.b32 [y], %a; call rec, (y); } ret;", 2, f),
      {0, 0}, threads(1));
  ASSERT_TRUE(result.trap.has_value());
  EXPECT_EQ(result.trap->kind, TrapKind::kUnsupported);
  EXPECT_NE(result.trap->message.find("recursive"), std::string::npos);
}

TEST(Trap, SourceLineFromLoc) {
  Bench bench;
  const auto result = bench.run(
      module_with(
          ".loc 1 42 7\n.reg .b64 %o; mov.u64 %o, 16; .reg .b32 %r;\n.loc 1 43 7\nld.global.u32 %r, [%o]; ret;\n", 2) +
          ".file 1 \"kernel.cu\"\n",
      {0, 0}, threads(1));
  ASSERT_TRUE(result.trap.has_value());
  EXPECT_EQ(result.trap->source.file, "kernel.cu");
  EXPECT_EQ(result.trap->source.line, 43u);
}

}  // namespace
}  // namespace ptxbench::emu
