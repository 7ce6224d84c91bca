// Asynchronous copies and wgmma under both schedules. Operands are small integers: every sum is exact.
#include <cmath>

#include "ptxbench/emu/tensor/tensor_map.h"
#include "support.h"

namespace ptxbench::emu {
namespace {

// A kernel that copies 512 bytes with cp.async.bulk, waits (or not) and writes what it finds in shared memory.
std::string bulk_kernel(const std::string& expect, const std::string& wait, const std::string& tail = "") {
  return module_with(R"(
    .reg .b64 %o, %i, %x, %st; .reg .b32 %t, %r, %b, %s; .reg .pred %p, %q; .shared .align 8 .b8 bar[8]; .shared .align 128 .b8 buf[512];
    ld.param.u64 %o, [p0]; ld.param.u64 %i, [p1]; mov.u32 %t, %tid.x; mov.u32 %b, bar; mov.u32 %s, buf; setp.eq.u32 %p, %t, 0;
    @%p mbarrier.init.shared::cta.b64 [%b], 1; bar.sync 0; @!%p bra WAIT;
    )" + expect + R"(
    cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes [%s], [%i], 512, [%b];
    WAIT: )" + wait + R"(
    mad.lo.u32 %s, %t, 4, %s; ld.shared.u32 %r, [%s]; mad.wide.u32 %x, %t, 4, %o; st.global.u32 [%x], %r; )" +
                     tail + " ret;");
}
const char* kExpect = "mbarrier.arrive.expect_tx.shared::cta.b64 %st, [%b], 512;";
const char* kWait = "W: mbarrier.try_wait.parity.shared::cta.b64 %q, [%b], 0; @!%q bra W;";

std::vector<std::uint32_t> sequence(std::uint32_t count) {
  std::vector<std::uint32_t> v(count);
  for (std::uint32_t i = 0; i < count; ++i) v[i] = i + 1;
  return v;
}

TEST(Bulk, WaitedCopyArrivesUnderBothSchedules) {
  for (Schedule schedule : {Schedule::kLatest, Schedule::kEarliest}) {
    Bench bench;
    const auto out = bench.buffer(std::vector<std::uint32_t>(128)), in = bench.buffer(sequence(128));
    LaunchConfig config = threads(128);
    config.schedule = schedule;
    const auto result = bench.run_clean(bulk_kernel(kExpect, kWait), {out, in}, config);
    EXPECT_EQ(bench.read<std::uint32_t>(out, 128), sequence(128));
    for (const auto& family : result.families)
      if (family.bytes != 0) {
        EXPECT_EQ(family.bytes, 512u);
        EXPECT_EQ(family.thread_instructions, 1u);
      }
  }
}

TEST(Bulk, MissingWaitIsFoundUnderTheLatestSchedule) {
  Bench bench;
  const auto out = bench.buffer(std::vector<std::uint32_t>(128)), in = bench.buffer(sequence(128));
  const auto result = bench.run(bulk_kernel(kExpect, "bar.sync 0;"), {out, in}, threads(128));
  ASSERT_TRUE(result.trap.has_value());
  EXPECT_EQ(result.trap->kind, TrapKind::kCopyInFlight);
  EXPECT_NE(result.trap->instruction.find("cp.async.bulk"), std::string::npos);
  EXPECT_EQ(bench.read<std::uint32_t>(out, 1)[0], 0xffffffffu);  // the poison, not the data
}

TEST(Bulk, WrongTransactionCounts) {
  Bench bench;
  const auto out = bench.buffer(std::vector<std::uint32_t>(128)), in = bench.buffer(sequence(128));
  const auto few = bench.run(bulk_kernel("mbarrier.arrive.expect_tx.shared::cta.b64 %st, [%b], 256;", kWait), {out, in},
                             threads(128));
  ASSERT_TRUE(few.trap.has_value());
  EXPECT_EQ(few.trap->kind, TrapKind::kTransactionCount);
  const auto many = bench.run(bulk_kernel("mbarrier.arrive.expect_tx.shared::cta.b64 %st, [%b], 1024;", kWait),
                              {out, in}, threads(128));
  ASSERT_TRUE(many.trap.has_value());
  EXPECT_EQ(many.trap->kind, TrapKind::kDeadlock);
  EXPECT_NE(many.trap->message.find("512 bytes of expect_tx not copied"), std::string::npos) << many.trap->message;
}

TEST(Bulk, StoreReadsSharedMemoryAtTheWait) {
  // The buffer is overwritten between commit and wait: a race that the latest schedule shows; waiting first is right.
  auto kernel = [](const std::string& order) {
    return module_with(R"(
      .reg .b64 %o; .reg .b32 %t, %s, %a; .reg .pred %p; .shared .align 128 .b8 buf[128];
      ld.param.u64 %o, [p0]; mov.u32 %t, %tid.x; mov.u32 %s, buf; mad.lo.u32 %a, %t, 4, %s; st.shared.u32 [%a], %t; fence.proxy.async.shared::cta; bar.sync 0;
      setp.ne.u32 %p, %t, 0; @%p bra END; cp.async.bulk.global.shared::cta.bulk_group [%o], [%s], 128; cp.async.bulk.commit_group; )" +
                       order + " END: ret;");
  };
  for (bool right : {true, false}) {
    Bench bench;
    const auto out = bench.buffer(std::vector<std::uint32_t>(32));
    const std::string wait = "cp.async.bulk.wait_group.read 0;", write = "mov.u32 %t, 99; st.shared.u32 [%s+8], %t;";
    bench.run_clean(kernel(right ? wait + write : write + wait), {out, 0}, threads(32));
    EXPECT_EQ(bench.read<std::uint32_t>(out, 32)[2], right ? 2u : 99u);
  }
}

TEST(CpAsync, GroupsCompleteAtTheirWait) {
  auto kernel = [](int keep) {
    return module_with(
        R"(
      .reg .b64 %o, %i, %x; .reg .b32 %t, %s, %r, %q; .shared .align 16 .b8 buf[1024];
      ld.param.u64 %o, [p0]; ld.param.u64 %i, [p1]; mov.u32 %t, %tid.x; mov.u32 %s, buf; mad.lo.u32 %s, %t, 16, %s; mad.wide.u32 %x, %t, 16, %i;
      cp.async.cg.shared.global [%s], [%x], 16; cp.async.commit_group; cp.async.ca.shared.global [%s+512], [%x], 8, 4; cp.async.commit_group;
      cp.async.wait_group )" +
        std::to_string(keep) +
        R"(; ld.shared.u32 %r, [%s]; ld.shared.u32 %q, [%s+512]; mad.wide.u32 %x, %t, 8, %o; st.global.v2.u32 [%x], {%r, %q}; ret;)");
  };
  for (int keep : {0, 1}) {
    Bench bench;
    const auto out = bench.buffer(std::vector<std::uint32_t>(64)), in = bench.buffer(sequence(128));
    bench.run_clean(kernel(keep), {out, in}, threads(32));
    const auto v = bench.read<std::uint32_t>(out, 64);
    for (std::uint32_t t = 0; t < 32; ++t) {
      EXPECT_EQ(v[2 * t], 4 * t + 1);
      EXPECT_EQ(v[2 * t + 1], keep == 0 ? 4 * t + 1 : 0xffffffffu);
    }
  }
}

std::uint16_t bf16(int v) { return std::uint16_t(std::bit_cast<std::uint32_t>(float(v)) >> 16); }

// D = A * B with one m64n8k16 on unswizzled K-major tiles: core matrices of 8 rows x 16 bytes, 128 bytes each, in the order
// (row block, k block) for A [stride between row blocks 256, between k blocks 128], the same for B.
std::string wgmma_kernel(const std::string& after_issue, const std::string& wait = "wgmma.wait_group.sync.aligned 0;") {
  return module_with(R"(
    .reg .b64 %o, %a, %b, %x, %da, %db, %k; .reg .b32 %t, %r, %s, %i; .reg .f32 %f<4>, %g; .reg .pred %p; .shared .align 1024 .b8 sa[2048]; .shared .align 1024 .b8 sb[256];
    ld.param.u64 %o, [p0]; ld.param.u64 %a, [p1]; ld.param.u64 %b, [p2]; mov.u32 %t, %tid.x;
    mad.wide.u32 %x, %t, 16, %a; mov.u32 %s, sa; mad.lo.u32 %s, %t, 16, %s; .reg .b32 %v<4>; ld.global.v4.u32 {%v0, %v1, %v2, %v3}, [%x]; st.shared.v4.u32 [%s], {%v0, %v1, %v2, %v3};
    setp.lt.u32 %p, %t, 16; mad.wide.u32 %x, %t, 16, %b; mov.u32 %s, sb; mad.lo.u32 %s, %t, 16, %s;
    @%p ld.global.v4.u32 {%v0, %v1, %v2, %v3}, [%x]; @%p st.shared.v4.u32 [%s], {%v0, %v1, %v2, %v3}; fence.proxy.async.shared::cta; bar.sync 0;
    mov.u32 %s, sa; shr.u32 %s, %s, 4; cvt.u64.u32 %da, %s; or.b64 %da, %da, 0x0000001000080000; mov.u32 %s, sb; shr.u32 %s, %s, 4; cvt.u64.u32 %db, %s; or.b64 %db, %db, 0x0000001000080000;
    mov.f32 %f0, 0f00000000; mov.f32 %f1, 0f00000000; mov.f32 %f2, 0f00000000; mov.f32 %f3, 0f00000000;
    wgmma.fence.sync.aligned;
    wgmma.mma_async.sync.aligned.m64n8k16.f32.bf16.bf16 {%f0, %f1, %f2, %f3}, %da, %db, 1, 1, 1, 0, 0;
    )" + after_issue + "\nwgmma.commit_group.sync.aligned;\n" +
                         wait + R"(
    mad.wide.u32 %x, %t, 16, %o; st.global.v4.f32 [%x], {%f0, %f1, %f2, %f3}; ret;)",
                     3);
}

struct WgmmaData {
  std::vector<std::uint16_t> a = std::vector<std::uint16_t>(64 * 16), b = std::vector<std::uint16_t>(8 * 16);
  std::vector<float> d = std::vector<float>(64 * 8);
  WgmmaData() {
    auto place = [](int row, int k) { return std::size_t(row / 8 * 128 + k / 8 * 64 + row % 8 * 8 + k % 8); };
    auto va = [](int m, int k) { return (m * 3 + k * 5) % 7 - 3; };
    auto vb = [](int n, int k) { return (n + 2 * k) % 5 - 2; };
    for (int m = 0; m < 64; ++m)
      for (int k = 0; k < 16; ++k) a[place(m, k)] = bf16(va(m, k));
    for (int n = 0; n < 8; ++n)
      for (int k = 0; k < 16; ++k) b[place(n, k)] = bf16(vb(n, k));
    for (int m = 0; m < 64; ++m)
      for (int n = 0; n < 8; ++n) {
        int sum = 0;
        for (int k = 0; k < 16; ++k) sum += va(m, k) * vb(n, k);
        d[std::size_t(m * 8 + n)] = float(sum);
      }
  }
};

TEST(Wgmma, ExactProductAndCounters) {
  for (Schedule schedule : {Schedule::kLatest, Schedule::kEarliest}) {
    Bench bench;
    const WgmmaData data;
    const auto out = bench.buffer(std::vector<float>(512)), a = bench.buffer(data.a), b = bench.buffer(data.b);
    LaunchConfig config = threads(128);
    config.schedule = schedule;
    const auto result = bench.run_clean(wgmma_kernel(""), {out, a, b}, config);
    const auto v = bench.read<float>(out, 512);
    for (std::uint32_t t = 0; t < 128; ++t)
      for (std::uint32_t r = 0; r < 4; ++r) {  // PTX manual, figure of the accumulator fragment of wgmma .m64nNk16
        const std::uint32_t row = t / 32 * 16 + t % 32 / 4 + r / 2 * 8, column = t % 4 * 2 + r % 2;
        EXPECT_EQ(v[t * 4 + r], data.d[row * 8 + column]) << t << " " << r;
      }
    bool found = false;
    for (const auto& family : result.families)
      if (family.family == "wgmma") {
        found = true;
        EXPECT_EQ(family.static_count, 1u);
        EXPECT_EQ(family.warp_instructions, 4u);
        EXPECT_EQ(family.thread_instructions, 128u);
        EXPECT_EQ(family.flops, 2u * 64 * 8 * 16);
      }
    EXPECT_TRUE(found);
  }
}

TEST(Wgmma, AccumulatorReadWhilePending) {
  Bench bench;
  const WgmmaData data;
  const auto out = bench.buffer(std::vector<float>(512)), a = bench.buffer(data.a), b = bench.buffer(data.b);
  const auto result = bench.run(wgmma_kernel("add.f32 %g, %f1, %f1;"), {out, a, b}, threads(128));
  ASSERT_TRUE(result.trap.has_value());
  EXPECT_EQ(result.trap->kind, TrapKind::kRegisterInFlight) << result.trap->format();
  const auto missing = bench.run(wgmma_kernel("", ""), {out, a, b}, threads(128));
  ASSERT_TRUE(missing.trap.has_value());
  EXPECT_EQ(missing.trap->kind, TrapKind::kRegisterInFlight);
  EXPECT_NE(missing.trap->instruction.find("st.global.v4.f32"), std::string::npos);
}

TEST(Wgmma, CopyOfAPendingAccumulatorIsNoFalseAlarm) {
  Bench bench;
  const WgmmaData data;
  const auto out = bench.buffer(std::vector<float>(512)), a = bench.buffer(data.a), b = bench.buffer(data.b);
  bench.run_clean(wgmma_kernel("mov.f32 %g, %f1; mov.f32 %f1, %g;"), {out, a, b}, threads(128));
  EXPECT_EQ(bench.read<float>(out, 2)[1], data.d[1]);
}

TEST(Wgmma, NeedsAWholeWarpgroup) {
  Bench bench;
  const WgmmaData data;
  const auto out = bench.buffer(std::vector<float>(512)), a = bench.buffer(std::vector<std::uint16_t>(4096)),
             b = bench.buffer(data.b);
  const auto result = bench.run(wgmma_kernel(""), {out, a, b}, threads(96));
  ASSERT_TRUE(result.trap.has_value());
  EXPECT_EQ(result.trap->kind, TrapKind::kDivergentCollective);
}

TEST(Tensor, LoadAndStoreOfATile) {
  // A 40 x 24 matrix of u32 (row pitch 160 bytes); the 8 x 8 box at column 36, row 20 hangs over both edges.
  for (Schedule schedule : {Schedule::kLatest, Schedule::kEarliest}) {
    Bench bench;
    const auto in = bench.buffer(sequence(40 * 24)), out = bench.buffer(std::vector<std::uint32_t>(40 * 24));
    TiledDescription map;
    map.data_type = 2;  // CU_TENSOR_MAP_DATA_TYPE_UINT32
    map.rank = 2;
    map.global_dims = {40, 24};
    map.global_strides = {160};
    map.box_dims = {8, 8};
    map.element_strides = {1, 1};
    map.global_address = in;
    auto load = encode_tensor_map(map);
    map.global_address = out;
    auto store = encode_tensor_map(map);
    ASSERT_TRUE(load.has_value() && store.has_value());
    std::vector<std::byte> params(256);
    std::memcpy(params.data(), load->data(), 128);
    std::memcpy(params.data() + 128, store->data(), 128);
    auto module = bench.machine().load_module(R"(.version 8.6
.target sm_90a
.address_size 64
.visible .entry k(.param .align 64 .b8 load[128], .param .align 64 .b8 store[128]) {
    .reg .b64 %l, %s, %st; .reg .b32 %t, %b, %a, %x, %y; .reg .pred %p, %q; .shared .align 8 .b8 bar[8]; .shared .align 128 .b8 buf[256];
    mov.b64 %l, load; cvta.param.u64 %l, %l; mov.b64 %s, store; cvta.param.u64 %s, %s; prefetch.tensormap [%l]; mov.u32 %b, bar; mov.u32 %a, buf;
    mbarrier.init.shared::cta.b64 [%b], 1; mov.u32 %x, 36; mov.u32 %y, 20;
    mbarrier.arrive.expect_tx.shared::cta.b64 %st, [%b], 256;
    cp.async.bulk.tensor.2d.shared::cluster.global.tile.mbarrier::complete_tx::bytes [%a], [%l, {%x, %y}], [%b];
    W: mbarrier.try_wait.parity.shared::cta.b64 %q, [%b], 0; @!%q bra W;
    ld.shared.u32 %t, [%a+16]; setp.ne.u32 %p, %t, 0; @%p trap;
    mov.u32 %x, 0; mov.u32 %y, 0; cp.async.bulk.tensor.2d.global.shared::cta.tile.bulk_group [%s, {%x, %y}], [%a];
    cp.async.bulk.commit_group; cp.async.bulk.wait_group 0; ret; })");
    ASSERT_TRUE(module.has_value()) << module.error().format();
    LaunchConfig config = threads(1);
    config.module = *module;
    config.function = "k";
    config.schedule = schedule;
    const auto result = bench.machine().launch(config, params);
    ASSERT_FALSE(result.trap.has_value()) << result.trap->format();
    const auto v = bench.read<std::uint32_t>(out, 40 * 24);
    for (std::uint32_t y = 0; y < 8; ++y)
      for (std::uint32_t x = 0; x < 8; ++x)
        EXPECT_EQ(v[y * 40 + x], x < 4 && y < 4 ? (20 + y) * 40 + 36 + x + 1 : 0u) << x << "," << y;
    for (const auto& family : result.families)
      if (family.family == "tma") {
        EXPECT_EQ(family.static_count, 2u);
        EXPECT_EQ(family.bytes, 512u);
      }
  }
}

}  // namespace
}  // namespace ptxbench::emu
