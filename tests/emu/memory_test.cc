// State spaces, vectors, atomics, warp exchange.
#include <numeric>

#include "support.h"

namespace ptxbench::emu {
namespace {

const char* kStart =
    ".reg .b64 %o, %i, %x; .reg .b32 %t, %r, %s; .reg .pred %p;\nld.param.u64 %o, [p0]; ld.param.u64 %i, [p1]; mov.u32 "
    "%t, %tid.x;\n";

std::vector<std::uint32_t> run32(const std::string& body,
                                 const std::vector<std::uint32_t>& in = std::vector<std::uint32_t>(32),
                                 const std::string& globals = "", LaunchConfig config = threads(32)) {
  Bench bench;
  const auto out = bench.buffer(std::vector<std::uint32_t>(config.block.x)), input = bench.buffer(in);
  bench.run_clean(module_with(std::string(kStart) + body + "\nmad.wide.u32 %x, %t, 4, %o; st.global.u32 [%x], %r; ret;",
                              2, globals),
                  {out, input}, config);
  return bench.read<std::uint32_t>(out, config.block.x);
}

TEST(Memory, SharedThroughEveryPath) {
  const auto values = run32(R"(
    .shared .align 16 .b8 buf[256]; .reg .b32 %a; .reg .b64 %g;
    mov.u32 %a, buf; mad.lo.u32 %a, %t, 4, %a; xor.b32 %s, %t, 31; st.shared.u32 [%a], %s; bar.sync 0;
    cvt.u64.u32 %g, %a; cvta.shared.u64 %g, %g; ld.u32 %r, [%g]; st.u32 [%g], %t; bar.sync 0; cvta.to.shared.u64 %g, %g;
    ld.shared.u32 %s, [%g]; mad.lo.u32 %r, %r, 100, %s;)");
  for (std::uint32_t t = 0; t < 32; ++t) EXPECT_EQ(values[t], (t ^ 31) * 100 + t);
}

// Words that lie in a row, are one for several lanes, or are scattered are read in different ways; the address register
// is also the destination. Word w of the buffer holds 1000 + w.
TEST(Memory, SharedLoadsOfEveryPattern) {
  struct Pattern {
    const char* ptx;  // makes the word index %s out of the lane %t
    std::uint32_t (*word)(std::uint32_t lane);
  };
  const Pattern patterns[] = {
      {"mov.u32 %s, %t;", [](std::uint32_t t) { return t; }},
      {"add.u32 %s, %t, 3;", [](std::uint32_t t) { return t + 3; }},
      {"mov.u32 %s, 7;", [](std::uint32_t) { return 7u; }},
      {"shr.u32 %s, %t, 4;", [](std::uint32_t t) { return t >> 4; }},
      {"and.b32 %s, %t, 15;", [](std::uint32_t t) { return t & 15; }},
      {"xor.b32 %s, %t, 31;", [](std::uint32_t t) { return t ^ 31; }},
      {"mul.lo.u32 %s, %t, 5; and.b32 %s, %s, 31;", [](std::uint32_t t) { return t * 5 & 31; }},
      {"mov.u32 %s, %t; setp.eq.u32 %p, %t, 17; @%p mov.u32 %s, 2;", [](std::uint32_t t) { return t == 17 ? 2 : t; }},
  };
  for (const Pattern& pattern : patterns) {
    const std::string fill =
        ".shared .align 16 .b8 buf[256]; .reg .b32 %a, %v; mov.u32 %a, buf; mad.lo.u32 %a, %t, 4, %a; add.u32 %v, %t, "
        "1000; st.shared.u32 [%a], %v; add.u32 %v, %v, 32; st.shared.u32 [%a+128], %v; bar.sync 0;\n";
    const std::string address = "mov.u32 %a, buf; mad.lo.u32 %a, %s, 4, %a;\n";
    const auto all = run32(fill + pattern.ptx + address + "ld.shared.u32 %a, [%a]; mov.u32 %r, %a;");
    const auto some =
        run32(fill + pattern.ptx + address + "mov.u32 %r, 0; setp.lt.u32 %p, %t, 20; @%p ld.shared.u32 %r, [%a+4];");
    for (std::uint32_t t = 0; t < 32; ++t) {
      EXPECT_EQ(all[t], 1000 + pattern.word(t)) << pattern.ptx << " lane " << t;
      EXPECT_EQ(some[t], t < 20 ? 1001 + pattern.word(t) : 0) << pattern.ptx << " lane " << t;
    }
  }
  // Vectors: lanes 16 apart read the same 16 bytes.
  const auto vectors = run32(R"(
    .shared .align 16 .b8 buf[256]; .reg .b32 %a, %v<5>; mov.u32 %a, buf; mad.lo.u32 %a, %t, 8, %a; add.u32 %v0, %t, %t;
    add.u32 %v1, %v0, 1; st.shared.v2.u32 [%a], {%v0, %v1}; bar.sync 0; and.b32 %s, %t, 15; mov.u32 %a, buf;
    mad.lo.u32 %a, %s, 16, %a; ld.shared.v4.u32 {%v1, %v2, %v3, %v4}, [%a];
    mad.lo.u32 %r, %v1, 100, %v4; sub.u32 %v2, %v3, %v2; add.u32 %r, %r, %v2;)");
  for (std::uint32_t t = 0; t < 32; ++t) EXPECT_EQ(vectors[t], (t & 15) * 400 + (t & 15) * 4 + 3 + 1);
}

TEST(Memory, SharedStartsPoisoned) {
  const auto values = run32(".shared .align 4 .b8 buf[4]; ld.shared.u32 %r, [buf];");
  EXPECT_EQ(values[0], 0xffffffffu);
}

TEST(Memory, DynamicSharedLiesAfterTheStaticPart) {
  LaunchConfig config = threads(32);
  config.dynamic_shared = 64;
  const auto values = run32(".shared .align 4 .b8 st[20]; mov.u32 %r, dyn; mov.u32 %s, st; sub.u32 %r, %r, %s;",
                            std::vector<std::uint32_t>(32), ".extern .shared .align 128 .b8 dyn[];", config);
  EXPECT_EQ(values[0], 128u);
}

TEST(Memory, LocalIsPrivate) {
  const auto values = run32(R"(
    .local .align 8 .b8 mine[32]; .reg .b64 %l, %g; and.b32 %s, %t, 7;
    mov.u64 %l, mine; mad.wide.u32 %g, %s, 4, %l; st.local.u32 [%g], %t; cvta.local.u64 %g, %g; ld.u32 %r, [%g]; add.u32 %r, %r, 1;)");
  for (std::uint32_t t = 0; t < 32; ++t) EXPECT_EQ(values[t], t + 1);
}

TEST(Memory, NarrowAndVectorAccesses) {
  std::vector<std::uint32_t> in(128);
  std::iota(in.begin(), in.end(), 0x80);
  const auto values = run32(R"(
    .reg .b32 %a, %b, %c, %d; .reg .b16 %h; mad.wide.u32 %x, %t, 16, %i; ld.global.v4.u32 {%a, %b, %c, %d}, [%x];
    add.u32 %r, %a, %b; add.u32 %r, %r, %c; add.u32 %r, %r, %d; ld.global.s8 %a, [%x]; add.u32 %r, %r, %a; ld.global.u8 %h, [%x+1]; cvt.u32.u16 %a, %h; add.u32 %r, %r, %a;)",
                            in);
  for (std::uint32_t t = 0; t < 32; ++t) {
    const std::uint32_t first = 0x80 + 4 * t;
    EXPECT_EQ(values[t], 4 * first + 6 + std::uint32_t(std::int32_t(std::int8_t(first & 0xff))) + (first >> 8 & 0xff));
  }
}

TEST(Memory, Atomics) {
  Bench bench;
  const auto cells = bench.buffer(std::vector<std::uint32_t>{0, 0, 0xffffffff, 0, 5, 0, 0, 0});
  bench.run_clean(module_with(std::string(kStart) + R"(
    .reg .f32 %f; .reg .b64 %w; atom.global.add.u32 %r, [%o], %t; red.global.max.u32 [%o+4], %t; atom.global.min.u32 %r, [%o+8], %t;
    mov.f32 %f, 0f3F000000; red.global.add.f32 [%o+12], %f; atom.global.inc.u32 %r, [%o+16], 9; mov.u64 %w, 1; red.global.add.u64 [%o+24], %w; ret;)"),
                  {cells, 0}, threads(64, 2));
  const auto v = bench.read<std::uint32_t>(cells, 8);
  EXPECT_EQ(v[0], 2u * 64 * 63 / 2);
  EXPECT_EQ(v[1], 63u);
  EXPECT_EQ(v[2], 0u);
  EXPECT_EQ(v[3], 0x42800000u);      // 128 * 0.5 = 64.0
  EXPECT_EQ(v[4], (5 + 128) % 10u);  // inc wraps after 9
  EXPECT_EQ(v[6], 128u);
}

TEST(Warp, ShufflesFollowTheManual) {
  auto shuffle = [](const std::string& instruction) { return run32(instruction); };
  const auto up =
      shuffle("shfl.sync.up.b32 %r|%p, %t, 3, 0, 0xffffffff; selp.u32 %s, 1000, 0, %p; add.u32 %r, %r, %s;");
  const auto down =
      shuffle("shfl.sync.down.b32 %r|%p, %t, 5, 31, 0xffffffff; selp.u32 %s, 1000, 0, %p; add.u32 %r, %r, %s;");
  const auto segmented = shuffle("shfl.sync.idx.b32 %r, %t, 2, 0x181f, 0xffffffff;");  // segments of 8 lanes
  for (std::uint32_t t = 0; t < 32; ++t) {
    EXPECT_EQ(up[t], t >= 3 ? t - 3 + 1000 : t);
    EXPECT_EQ(down[t], t + 5 < 32 ? t + 5 + 1000 : t);
    EXPECT_EQ(segmented[t], (t & 24) + 2);
  }
}

TEST(Warp, VoteMatchReduxElect) {
  const auto ballot = run32("setp.lt.u32 %p, %t, 5; vote.sync.ballot.b32 %r, %p, 0xffffffff;");
  const auto match = run32("and.b32 %s, %t, 3; match.any.sync.b32 %r, %s, 0xffffffff;");
  const auto sum = run32("redux.sync.add.s32 %r, %t, 0xffffffff;");
  const auto elect = run32("elect.sync %s|%p, 0xffffffff; selp.u32 %r, 1, 0, %p;");
  const auto halves =
      run32("setp.lt.u32 %p, %t, 16; selp.u32 %s, 0xffff, 0xffff0000, %p; redux.sync.max.u32 %r, %t, %s;");
  for (std::uint32_t t = 0; t < 32; ++t) {
    EXPECT_EQ(ballot[t], 0x1fu);
    EXPECT_EQ(match[t], 0x11111111u << (t & 3));
    EXPECT_EQ(sum[t], 496u);
    EXPECT_EQ(elect[t], t == 0 ? 1u : 0u);
    EXPECT_EQ(halves[t], t < 16 ? 15u : 31u);
  }
}

TEST(Warp, SpecialRegisters) {
  LaunchConfig config = threads(64);
  config.block = {8, 4, 2};
  Bench bench;
  const auto out = bench.buffer(std::vector<std::uint32_t>(64));
  bench.run_clean(module_with(R"(
    .reg .b64 %o, %x; .reg .b32 %t, %a, %b, %c, %l; ld.param.u64 %o, [p0]; mov.u32 %a, %tid.x; mov.u32 %b, %tid.y; mov.u32 %c, %tid.z; mov.u32 %l, %laneid;
    mad.lo.u32 %t, %b, 8, %a; mad.lo.u32 %t, %c, 32, %t; mad.wide.u32 %x, %t, 4, %o; shl.b32 %l, %l, 16; add.u32 %t, %t, %l; st.global.u32 [%x], %t; ret;)"),
                  {out, 0}, config);
  const auto v = bench.read<std::uint32_t>(out, 64);
  for (std::uint32_t t = 0; t < 64; ++t) EXPECT_EQ(v[t], t + ((t & 31) << 16));
}

}  // namespace
}  // namespace ptxbench::emu
