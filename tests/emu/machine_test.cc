// The machine's own functions: memory, modules, launch checks, printf.
#include "support.h"

namespace ptxbench::emu {
namespace {

TEST(Memory, AllocationsAreBoundedAndReused) {
  Machine machine({Target::kHopper, 1 << 20, 1});
  auto a = machine.alloc(1000);
  ASSERT_TRUE(a.has_value());
  EXPECT_EQ(*a % 256, 0u);
  EXPECT_FALSE(machine.alloc(1 << 20).has_value());  // over the limit
  std::vector<std::byte> bytes(1000);
  EXPECT_TRUE(machine.write(*a, bytes).has_value());
  EXPECT_FALSE(machine.write(*a + 1, bytes).has_value());  // one byte past the end
  EXPECT_FALSE(machine.read(*a - 1, bytes).has_value());
  EXPECT_FALSE(machine.free(*a + 8).has_value());
  EXPECT_TRUE(machine.free(*a).has_value());
  EXPECT_FALSE(machine.read(*a, bytes).has_value());
  EXPECT_EQ(machine.memory_in_use(), 0u);
  for (int i = 0; i < 1000; ++i) {
    auto b = machine.alloc(500'000);
    ASSERT_TRUE(b.has_value()) << i;
    ASSERT_TRUE(machine.free(*b).has_value());
  }
}

TEST(Memory, FillAndCopy) {
  Machine machine({Target::kHopper, 1 << 20, 1});
  const auto a = *machine.alloc(64), b = *machine.alloc(64);
  EXPECT_TRUE(machine.fill(a, 0xabcd, 2, 32).has_value());
  EXPECT_TRUE(machine.copy(b, a, 64).has_value());
  std::vector<std::uint16_t> out(32);
  EXPECT_TRUE(machine.read(b, std::as_writable_bytes(std::span(out))).has_value());
  for (auto v : out) EXPECT_EQ(v, 0xabcd);
  EXPECT_FALSE(machine.fill(a, 0, 2, 33).has_value());
  EXPECT_FALSE(machine.fill(a, 0, 3, 1).has_value());
}

TEST(Module, GlobalsWithInitialisersAndAddresses) {
  Bench bench;
  const auto out = bench.buffer(std::vector<std::uint64_t>(3));
  bench.run_clean(module_with(R"(
    .reg .b64 %o, %p, %v; .reg .b32 %r;
    ld.param.u64 %o, [p0]; ld.global.u64 %p, [pointer]; ld.u32 %r, [%p]; cvt.u64.u32 %v, %r; st.global.u64 [%o], %v;
    ld.const.u32 %r, [limit]; cvt.u64.u32 %v, %r; st.global.u64 [%o+8], %v; ret;)",
                              2,
                              ".global .align 4 .u32 table[3] = {10, 20, 30};\n.global .align 8 .u64 pointer = "
                              "generic(table)+8;\n.const .align 4 .u32 limit = 77;"),
                  {out, 0}, threads(1));
  const auto values = bench.read<std::uint64_t>(out, 2);
  EXPECT_EQ(values[0], 30u);
  EXPECT_EQ(values[1], 77u);
}

TEST(Launch, ConfigurationIsChecked) {
  Bench bench;
  const std::string text = module_with("ret;", 1, "", ".maxntid 128, 1, 1");
  EXPECT_EQ(bench.run(text, {0}, threads(129)).trap->kind, TrapKind::kLaunchConfig);
  EXPECT_EQ(bench.run(text, {0}, threads(0)).trap->kind, TrapKind::kLaunchConfig);
  EXPECT_EQ(bench.run(text, {0, 0}, threads(1)).trap->kind, TrapKind::kLaunchConfig);
  LaunchConfig shared = threads(32);
  shared.dynamic_shared = 227 * 1024 + 1;
  EXPECT_EQ(bench.run(text, {0}, shared).trap->kind, TrapKind::kLaunchConfig);
  shared.dynamic_shared = 227 * 1024;
  EXPECT_FALSE(bench.run(text, {0}, shared).trap.has_value());
  LaunchConfig cluster = threads(32, 3);
  cluster.cluster = {2, 1, 1};
  EXPECT_EQ(bench.run(text, {0}, cluster).trap->kind, TrapKind::kLaunchConfig);
  LaunchConfig unknown = threads(32);
  unknown.function = "nobody";
  EXPECT_EQ(bench.run(text, {0}, unknown).trap->kind, TrapKind::kLaunchConfig);
}

TEST(Launch, FunctionInfo) {
  Machine machine({Target::kHopper, 1 << 20, 1});
  const auto module = *machine.load_module(
      ".version 8.6\n.target sm_90a\n.address_size 64\n.extern .shared .align 1024 .b8 dyn[];\n"
      ".visible .entry k(.param .u32 a, .param .align 64 .b8 b[128], .param .u8 c) .reqntid 64 {\n"
      ".shared .align 16 .b8 s[100]; .reg .b32 %r; mov.u32 %r, s; mov.u32 %r, dyn; ret; }\n");
  const FunctionInfo& info = **machine.function(module, "k");
  ASSERT_EQ(info.params.size(), 3u);
  EXPECT_EQ(info.params[1].offset, 64u);
  EXPECT_EQ(info.params[2].offset, 192u);
  EXPECT_EQ(info.param_bytes, 193u);
  EXPECT_EQ(info.static_shared, 1024u);  // 100 bytes, up to the alignment of the dynamic part
  EXPECT_EQ(info.required_block.x, 64u);
}

TEST(Launch, PrintfIsCaptured) {
  Bench bench;
  const auto result = bench.run_clean(
      module_with(R"(
    .reg .b64 %f, %a; .reg .b32 %t; .local .align 8 .b8 args[16]; .reg .b64 %l;
    mov.u64 %l, args; cvta.local.u64 %a, %l; mov.u32 %t, %tid.x; st.local.u32 [args], %t; st.local.f64 [args+8], 0d3FF8000000000000;
    mov.u64 %f, text; cvta.global.u64 %f, %f;
    { .param .b64 x0; .param .b64 x1; .param .b32 r0; st.param.b64 [x0], %f; st.param.b64 [x1], %a; call.uni (r0), vprintf, (x0, x1); }
    ret;)",
                  1,
                  ".extern .func (.param .b32 r) vprintf(.param .b64 a, .param .b64 b);\n.global .align 1 .b8 text[14] "
                  "= {108, 97, 110, 101, 32, 37, 100, 32, 37, 46, 50, 102, 10, 0};"),
      {0}, threads(2));
  EXPECT_EQ(result.printf_output, "lane 0 1.50\nlane 1 1.50\n");
}

}  // namespace
}  // namespace ptxbench::emu
