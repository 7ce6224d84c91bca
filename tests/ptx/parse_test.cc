#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "ptxbench/ptx/parse.h"
#include "ptxbench/ptx/print.h"
#include "ptxbench/ptx/validate.h"

namespace ptxbench::ptx {
namespace {

using isa::FormId;
using isa::Mod;
using isa::Slot;

Module parse_body(const std::string& body, const std::string& before = {}) {
  auto module = parse(".version 8.0\n.target sm_90a\n.address_size 64\n" + before +
                          "\n.visible .entry k(.param .u64 p0)\n{\n" + body + "\n}\n",
                      "t.ptx");
  EXPECT_TRUE(module.has_value()) << module.error().format();
  return module ? std::move(*module) : Module{};
}

TEST(ParseTest, SlotsOfAnInstruction) {
  const Module m = parse_body(".reg .f32 f<3>;\nfma.rz.sat.ftz.f32 f0, f1, f2, f0;");
  const Function& k = m.functions.at(0);
  const Instruction& fma = k.instructions.at(0);
  EXPECT_EQ(fma.form, FormId::kFmaF32);
  EXPECT_EQ(fma.slot(Slot::kRnd), Mod::kRz);
  EXPECT_EQ(fma.type(Slot::kType), isa::Type::kF32);
  EXPECT_TRUE(fma.has(Mod::kFtz));
  EXPECT_TRUE(fma.has(Mod::kSat));
  EXPECT_EQ(print(m, k, fma), "fma.rz.ftz.sat.f32 f0, f1, f2, f0;");
}

TEST(ParseTest, NamesOfInnerBlocksHideAndEnd) {
  const Module m = parse_body(".reg .b32 x;\nmov.b32 x, 1;\n{ .reg .f32 x; mov.f32 x, 0f00000000; }\nmov.b32 x, 2;");
  const Function& k = m.functions.at(0);
  ASSERT_EQ(k.registers.size(), 2u);
  const auto destination = [&](std::size_t i) { return k.operands(k.instructions.at(i))[0].reg; };
  EXPECT_EQ(destination(0), destination(2));
  EXPECT_NE(destination(0), destination(1));
  EXPECT_EQ(k.registers[destination(1)].type, isa::Type::kF32);
}

TEST(ParseTest, EachBlockHasItsOwnLabels) {
  const Module m = parse_body(".reg .pred p;\n{ L: @p bra L; bra END; }\n{ L: @!p bra L; }\nEND: ret;");
  const Function& k = m.functions.at(0);
  const auto target = [&](std::size_t i) { return k.operands(k.instructions.at(i))[0].value; };
  EXPECT_EQ(target(0), 0);
  EXPECT_EQ(target(1), 3);
  EXPECT_EQ(target(2), 2);
  EXPECT_TRUE(k.instructions[2].predicate.negated);
}

TEST(ParseTest, OnlyUsedRegistersGetIds) {
  const Module m = parse_body(".reg .b32 %r<1000000>;\nadd.s32 %r5, %r999999, 3;");
  EXPECT_EQ(m.functions.at(0).registers.size(), 2u);
}

TEST(ParseTest, EntryParametersLieAtTheirNaturalOffsets) {
  auto m = parse(
      ".version 8.0\n.target sm_90\n.address_size 64\n.entry k(.param .u32 a, .param .u64 b, .param .u8 c, .param "
      ".align 64 .b8 map[128], .param .f32 d) { ret; }",
      "t");
  ASSERT_TRUE(m.has_value()) << m.error().format();
  std::vector<std::uint64_t> offsets;
  for (const Param& param : m->functions.at(0).params) offsets.push_back(param.offset);
  EXPECT_THAT(offsets, testing::ElementsAre(0, 8, 16, 64, 192));
  EXPECT_EQ(m->functions[0].param_bytes(), 196u);
}

TEST(ParseTest, InitialisersAreBytesAndAddresses) {
  const Module m = parse_body("ret;",
                              ".global .align 4 .f32 f[2] = {1.5, 0fBF800000};\n.global .u16 h[2][2] = {{1}, {2, "
                              "0xffff}};\n.global .u64 g = generic(f)+4;");
  const Variable& f = *m.variable("f");
  EXPECT_EQ(f.size, 8u);
  EXPECT_EQ(f.init, (std::vector<std::byte>{std::byte{0}, std::byte{0}, std::byte{0xc0}, std::byte{0x3f}, std::byte{0},
                                            std::byte{0}, std::byte{0x80}, std::byte{0xbf}}));
  const Variable& h = *m.variable("h");
  EXPECT_EQ(h.size, 8u);
  EXPECT_EQ(h.init, (std::vector<std::byte>{std::byte{1}, std::byte{0}, std::byte{0}, std::byte{0}, std::byte{2},
                                            std::byte{0}, std::byte{0xff}, std::byte{0xff}}));
  const Variable& g = *m.variable("g");
  ASSERT_EQ(g.addresses.size(), 1u);
  EXPECT_TRUE(g.addresses[0].generic);
  EXPECT_EQ(g.addresses[0].addend, 4);
  EXPECT_EQ(m.variables.at(g.addresses[0].symbol.index).name, "f");
}

TEST(ParseTest, Immediates) {
  const Module m = parse_body(
      ".reg .b64 d; .reg .f64 x; .reg .f32 f; mov.b64 d, -1; mov.b64 d, 0xffffffffffffffff; mov.b64 d, 017; mov.b64 d, "
      "0b101; mov.f64 x, 1.5; mov.f32 f, 0fBF800000; mov.u64 d, 4294967295U;");
  const Function& k = m.functions.at(0);
  const auto value = [&](std::size_t i) { return k.operands(k.instructions.at(i))[1].value; };
  EXPECT_EQ(value(0), -1);
  EXPECT_EQ(value(1), -1);
  EXPECT_EQ(value(2), 15);
  EXPECT_EQ(value(3), 5);
  EXPECT_EQ(k.operands(k.instructions[4])[1].as_f64(), 1.5);
  EXPECT_EQ(k.operands(k.instructions[5])[1].as_f64(), -1.0);
  EXPECT_EQ(value(6), 4294967295);
}

TEST(ParseTest, InlinedCodeBelongsToTheLineThatCallsIt) {
  const Module m = parse_body(
      ".reg .b32 r; .loc 1 20 3\nmov.b32 r, 1;\n.loc 2 7 1, function_name $L__a, inlined_at 1 20 3\nmov.b32 r, "
      "2;\n.loc 3 9 1, function_name $L__b+4, inlined_at 2 7 1\nmov.b32 r, 3;",
      ".file 1 \"kernel.cu\"\n.file 2 \"lib.h\"\n.file 3 \"deep.h\"");
  const Function& k = m.functions.at(0);
  EXPECT_EQ(m.locs.at(k.instructions.at(2).loc).line, 9u);
  for (std::size_t i = 0; i < 3; ++i) {
    const SourceLoc* user = m.user_location(k.instructions.at(i));
    ASSERT_NE(user, nullptr);
    EXPECT_EQ(m.file(user->file), "kernel.cu");
    EXPECT_EQ(user->line, 20u);
  }
}

TEST(ParseTest, AddressesAndVectors) {
  const Module m = parse_body(
      ".reg .b32 r<4>; .reg .b64 d<2>; ld.shared.v2.b32 {r0, _}, [buf+12]; ld.global.b32 r1, [d0+-8];\n.reg .b16 "
      "h;\ncp.async.bulk.tensor.3d.shared::cluster.global.im2col.mbarrier::complete_tx::bytes [r0], [d0, {r1, r2, 7}], "
      "[r3], {h};",
      ".shared .align 8 .b8 buf[64];");
  const Function& k = m.functions.at(0);
  const auto load = k.operands(k.instructions.at(0));
  EXPECT_EQ(load[0].kind, OperandKind::kVector);
  EXPECT_EQ(k.elements(load[0])[1].kind, OperandKind::kSink);
  EXPECT_EQ(load[1].base, AddressBase::kSymbol);
  EXPECT_EQ(load[1].value, 12);
  EXPECT_EQ(k.operands(k.instructions.at(1))[1].value, -8);
  const auto copy = k.operands(k.instructions.at(2));
  ASSERT_EQ(copy.size(), 4u);
  ASSERT_EQ(copy[1].count, 3u);
  EXPECT_EQ(k.elements(copy[1])[2].value, 7);
}

// The text that nvcc embeds in fat binaries has no comments, no indentation and ends with a NUL.
TEST(ParseTest, EmbeddedTextEndsWithNul) {
  std::string text = "\n\n\n.version 9.0\n.target sm_90a\n.address_size 64\n.visible .entry k()\n{\nret;\n}\n";
  text.push_back('\0');
  text += "\x01\x02garbage";
  const auto m = parse(text, "embedded");
  ASSERT_TRUE(m.has_value()) << m.error().format();
  EXPECT_EQ(m->functions.size(), 1u);
}

TEST(ParseTest, ErrorsAreCollectedAndLimited) {
  std::string body;
  for (int i = 0; i < 100; ++i) body += "bad.b32 r;\n";
  const ParseOutcome outcome =
      parse_all(".version 8.0\n.target sm_90\n.address_size 64\n.entry k() {\n" + body + "}", "many.ptx");
  EXPECT_EQ(outcome.errors.size(), kMaxErrors);
  EXPECT_EQ(outcome.errors[0].where.line, 5);
  EXPECT_EQ(outcome.errors[19].where.line, 24);
}

TEST(ParseTest, DeepNestingIsRefused) {
  const std::string text = ".version 8.0\n.target sm_90\n.address_size 64\n.entry k() " + std::string(100000, '{');
  EXPECT_FALSE(parse_all(text, "deep.ptx").errors.empty());
  std::string init = ".version 8.0\n.target sm_90\n.global .u8 x[4] = " + std::string(100000, '{');
  EXPECT_FALSE(parse_all(init, "deep.ptx").errors.empty());
}

TEST(ParseTest, EveryPrefixOfAModuleIsAnErrorOrAModule) {
  const std::string text =
      ".version 8.0\n.target sm_90a\n.address_size 64\n.global .u32 g[2] = {1, 2};\n.entry k(.param .u64 p)\n{\n.reg "
      ".pred q; .reg .b32 r<3>;\nL: @q add.s32 r0, r1, 0x10;\nst.shared.v2.b32 [r2+4], {r0, r1};\n@!q bra "
      "L;\nret;\n}\n";
  for (std::size_t length = 0; length <= text.size(); ++length) {
    const ParseOutcome outcome = parse_all(std::string_view(text).substr(0, length), "prefix.ptx");
    if (outcome.errors.empty()) print(outcome.module);
  }
}

TEST(ValidateTest, TargetsAndVersions) {
  const auto problem = [](const std::string& target, const std::string& instruction) {
    auto m = parse(".version 9.0\n.target " + target + "\n.address_size 64\n.entry k() { .reg .b32 r<4>; " +
                       instruction + " ret; }",
                   "t.ptx");
    EXPECT_TRUE(m.has_value()) << m.error().format();
    const Status status = validate(*m);
    return status ? std::string() : status.error().message;
  };
  EXPECT_EQ(problem("sm_90a", "wgmma.fence.sync.aligned;"), "");
  EXPECT_EQ(problem("sm_90", "wgmma.fence.sync.aligned;"),
            "'wgmma.fence' needs exactly sm_90a, but the module's target is sm_90");
  EXPECT_NE(problem("sm_100a", "wgmma.fence.sync.aligned;"), "");
  EXPECT_EQ(problem("sm_103a", "tcgen05.wait::ld.sync.aligned;"), "");
  EXPECT_NE(problem("sm_120a", "tcgen05.wait::ld.sync.aligned;"), "");
}

}  // namespace
}  // namespace ptxbench::ptx
