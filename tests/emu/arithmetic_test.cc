// Lane-wise instructions against values from the PTX manual's definitions and exact arithmetic.
#include <bit>
#include <cmath>

#include "support.h"

namespace ptxbench::emu {
namespace {

using Rows = std::vector<std::array<std::uint64_t, 3>>;
std::uint64_t bits(float x) { return std::bit_cast<std::uint32_t>(x); }
float value(std::uint64_t cell) { return std::bit_cast<float>(std::uint32_t(cell)); }

void expect(const std::string& instruction, const std::string& d, const std::string& a, const Rows& rows,
            const std::vector<std::uint64_t>& wanted, const std::string& c = "") {
  const auto got = compute(instruction, d, a, rows, c);
  for (std::size_t i = 0; i < wanted.size(); ++i)
    EXPECT_EQ(got[i], wanted[i]) << instruction << " row " << i << std::hex << " got " << got[i] << " wanted "
                                 << wanted[i];
}

TEST(Integer, AddSubMulWrap) {
  expect("add.u32 %d, %a, %b;", "u32", "u32", {{0xffffffff, 1, 0}, {5, 7, 0}}, {0, 12});
  expect("sub.s64 %d, %a, %b;", "s64", "s64", {{0, 1, 0}}, {~0ull});
  expect("add.s16 %d, %a, %b;", "s16", "s16", {{0x7fff, 1, 0}}, {0x8000});
  expect("add.sat.s32 %d, %a, %b;", "s32", "s32", {{0x7fffffff, 1, 0}, {0x80000000, 0xffffffff, 0}},
         {0x7fffffff, 0x80000000});
  expect("mul.lo.s32 %d, %a, %b;", "s32", "s32", {{0x10001, 0x10001, 0}}, {0x20001});
  expect("mul.hi.u32 %d, %a, %b;", "u32", "u32", {{0xffffffff, 0xffffffff, 0}}, {0xfffffffe});
  expect("mul.hi.s32 %d, %a, %b;", "s32", "s32", {{0x80000000, 2, 0}}, {0xffffffff});
  expect("mul.hi.u64 %d, %a, %b;", "u64", "u64", {{~0ull, ~0ull, 0}}, {~0ull - 1});
  expect("mul.wide.s32 %d, %a, %b;", "s64", "s32", {{0xffffffff, 3, 0}}, {std::uint64_t(-3)});
  expect("mul.wide.u16 %d, %a, %b;", "u32", "u16", {{0xffff, 0xffff, 0}}, {0xfffe0001});
  expect("mad.lo.u32 %d, %a, %b, %c;", "u32", "u32", {{3, 4, 5}}, {17});
  expect("mad.wide.u32 %d, %a, %b, %c;", "u64", "u32", {{0xffffffff, 2, 3}}, {0x200000001ull}, "u64");
  expect("mul24.lo.u32 %d, %a, %b;", "u32", "u32", {{0xff000002, 3, 0}}, {6});
  expect("sad.u32 %d, %a, %b, %c;", "u32", "u32", {{3, 10, 1}, {10, 3, 1}}, {8, 8});
}

TEST(Integer, DivisionAndRemainder) {
  expect("div.s32 %d, %a, %b;", "s32", "s32", {{std::uint32_t(-7), 2, 0}, {0x80000000, 0xffffffff, 0}, {7, 0, 0}},
         {std::uint32_t(-3), 0x80000000, 0xffffffff});
  expect("rem.s32 %d, %a, %b;", "s32", "s32", {{std::uint32_t(-7), 2, 0}, {0x80000000, 0xffffffff, 0}},
         {std::uint32_t(-1), 0});
  expect("div.u64 %d, %a, %b;", "u64", "u64", {{~0ull, 3, 0}}, {0x5555555555555555ull});
  expect("rem.u32 %d, %a, %b;", "u32", "u32", {{100, 7, 0}}, {2});
}

TEST(Integer, MinMaxAbsNeg) {
  expect("min.s32 %d, %a, %b;", "s32", "s32", {{std::uint32_t(-1), 1, 0}}, {0xffffffff});
  expect("min.u32 %d, %a, %b;", "u32", "u32", {{0xffffffff, 1, 0}}, {1});
  expect("max.s64 %d, %a, %b;", "s64", "s64", {{std::uint64_t(-5), 2, 0}}, {2});
  expect("abs.s32 %d, %a;", "s32", "s32", {{std::uint32_t(-9), 0, 0}, {0x80000000, 0, 0}}, {9, 0x80000000});
  expect("neg.s16 %d, %a;", "s16", "s16", {{1, 0, 0}}, {0xffff});
}

TEST(Integer, Bits) {
  expect("popc.b64 %d, %a;", "b32", "b64", {{~0ull, 0, 0}, {0x8001, 0, 0}}, {64, 2});
  expect("clz.b32 %d, %a;", "b32", "b32", {{0, 0, 0}, {1, 0, 0}}, {32, 31});
  expect("bfind.u32 %d, %a;", "u32", "u32", {{0, 0, 0}, {0x10, 0, 0}}, {0xffffffff, 4});
  expect("bfind.s32 %d, %a;", "u32", "s32", {{0xffffffff, 0, 0}, {0xfffffff0, 0, 0}}, {0xffffffff, 3});
  expect("bfind.shiftamt.u32 %d, %a;", "u32", "u32", {{0x10, 0, 0}}, {27});
  expect("brev.b32 %d, %a;", "b32", "b32", {{1, 0, 0}}, {0x80000000});
  expect("bfe.u32 %d, %a, %b, %c;", "u32", "u32", {{0x12345678, 8, 8}, {0xffffffff, 28, 8}, {5, 0, 0}}, {0x56, 0xf, 0});
  expect("bfe.s32 %d, %a, %b, %c;", "s32", "s32", {{0x0000ff00, 8, 8}, {0x80000000, 28, 8}}, {0xffffffff, 0xfffffff8});
  expect("bfi.b32 %d, %a, %b, 8, 8;", "b32", "b32", {{0xab, 0x11111111, 0}}, {0x1111ab11});
  expect("bmsk.clamp.b32 %d, %a, %b;", "b32", "b32", {{4, 8, 0}, {0, 32, 0}, {32, 1, 0}}, {0xff0, 0xffffffff, 0});
  expect("fns.b32 %d, %a, %b, %c;", "b32", "b32",
         {{0xaaaaaaaa, 0, 1}, {0xaaaaaaaa, 0, 3}, {0xaaaaaaaa, 31, std::uint32_t(-2)}}, {1, 5, 29});
  expect("prmt.b32 %d, %a, %b, %c;", "b32", "b32", {{0x03020100, 0x07060504, 0x7531}, {0x80, 0, 0x0008}},
         {0x07050301, 0x808080ff});
  expect("lop3.b32 %d, %a, %b, %c, 0x96;", "b32", "b32", {{0xf0f0, 0xcccc, 0xaaaa}}, {0xf0f0 ^ 0xcccc ^ 0xaaaa});
  expect("lop3.b32 %d, %a, %b, %c, 0xd8;", "b32", "b32", {{0xffff0000, 0x12345678, 0x9abcdef0}},
         {(0x12345678u & 0x9abcdef0u) | (0xffff0000u & ~0x9abcdef0u)});
  expect("dp4a.s32.s32 %d, %a, %b, %c;", "b32", "b32", {{0x01ff0302, 0x01010101, 10}},
         {std::uint32_t(1 - 1 + 3 + 2 + 10)});
}

TEST(Integer, Shifts) {
  expect("shl.b32 %d, %a, %b;", "b32", "b32", {{1, 31, 0}, {1, 32, 0}, {1, 0xffffffff, 0}}, {0x80000000, 0, 0});
  expect("shr.u32 %d, %a, %b;", "u32", "u32", {{0x80000000, 31, 0}, {0x80000000, 32, 0}}, {1, 0});
  expect("shr.s32 %d, %a, %b;", "s32", "s32", {{0x80000000, 40, 0}}, {0xffffffff});
  expect("shr.s64 %d, %a, 4;", "s64", "s64", {{0x8000000000000000ull, 0, 0}}, {0xf800000000000000ull});
  expect("shf.l.wrap.b32 %d, %a, %b, %c;", "b32", "b32", {{0x80000000, 1, 1}, {1, 2, 33}}, {3, 4});
  expect("shf.r.clamp.b32 %d, %a, %b, %c;", "b32", "b32", {{0x10, 0x2, 4}, {1, 2, 40}}, {0x20000001, 2});
}

TEST(Integer, CarryChain) {
  expect("{ .reg .b32 %lo; add.cc.u32 %lo, %a, %b; addc.u32 %d, %c, 0; }", "u32", "u32",
         {{0xffffffff, 1, 7}, {1, 1, 7}}, {8, 7});
  expect("{ .reg .b32 %lo; sub.cc.u32 %lo, %a, %b; subc.u32 %d, %c, 0; }", "u32", "u32", {{0, 1, 7}, {1, 1, 7}},
         {6, 7});
}

TEST(Float, ArithmeticRoundsOnce) {
  expect("fma.rn.f32 %d, %a, %b, %c;", "f32", "f32",
         {{bits(0x1p-12f * (1 + 0x1p-20f)), bits(0x1p-12f * (1 - 0x1p-20f)), bits(1 + 0x1p-23f)}},
         {bits(1 + 0x1p-23f)});
  expect("add.f32 %d, %a, %b;", "f32", "f32",
         {{bits(1e-40f), bits(1e-40f), 0}, {bits(NAN), bits(1), 0}, {bits(INFINITY), bits(-INFINITY), 0}},
         {bits(1e-40f + 1e-40f), 0x7fffffff, 0x7fffffff});
  expect("add.ftz.f32 %d, %a, %b;", "f32", "f32", {{bits(1e-40f), bits(-1e-40f), 0}}, {0});
  expect("add.sat.f32 %d, %a, %b;", "f32", "f32",
         {{bits(2), bits(3), 0}, {bits(-2), bits(1), 0}, {bits(NAN), bits(1), 0}}, {bits(1), 0, 0});
  expect("mul.f32 %d, %a, %b;", "f32", "f32", {{bits(3), bits(0.5f), 0}}, {bits(1.5f)});
  expect("add.rz.f32 %d, %a, %b;", "f32", "f32", {{bits(1), bits(0x1.8p-24f), 0}}, {bits(1)});
  expect("add.rp.f32 %d, %a, %b;", "f32", "f32", {{bits(1), bits(0x1p-30f), 0}}, {bits(1 + 0x1p-23f)});
  expect("div.rn.f32 %d, %a, %b;", "f32", "f32", {{bits(1), bits(3), 0}}, {bits(1.0f / 3.0f)});
}

TEST(Float, MinMaxRules) {
  expect("min.f32 %d, %a, %b;", "f32", "f32",
         {{bits(NAN), bits(1), 0}, {bits(0.0f), bits(-0.0f), 0}, {bits(NAN), bits(NAN), 0}},
         {bits(1), bits(-0.0f), 0x7fffffff});
  expect("max.f32 %d, %a, %b;", "f32", "f32", {{bits(-0.0f), bits(0.0f), 0}, {bits(2), bits(-3), 0}}, {0, bits(2)});
  expect("max.NaN.f32 %d, %a, %b;", "f32", "f32", {{bits(NAN), bits(1), 0}}, {0x7fffffff});
}

TEST(Float, Exp2IsExactForIntegersAndClose) {
  Rows rows{{bits(0), 0, 0},    {bits(1), 0, 0},    {bits(-126), 0, 0}, {bits(127), 0, 0},      {bits(128), 0, 0},
            {bits(-149), 0, 0}, {bits(-200), 0, 0}, {bits(NAN), 0, 0},  {bits(-INFINITY), 0, 0}};
  for (float x = -20.3f; x < 20; x += 2.37f) rows.push_back({bits(x), 0, 0});
  const auto got = compute("ex2.approx.f32 %d, %a;", "f32", "f32", rows);
  EXPECT_EQ(value(got[0]), 1.0f);
  EXPECT_EQ(value(got[1]), 2.0f);
  EXPECT_EQ(value(got[2]), 0x1p-126f);
  EXPECT_EQ(value(got[3]), 0x1p127f);
  EXPECT_EQ(value(got[4]), INFINITY);
  EXPECT_EQ(value(got[5]), 0x1p-149f);
  EXPECT_EQ(value(got[6]), 0.0f);
  EXPECT_EQ(got[7], 0x7fffffffu);
  EXPECT_EQ(value(got[8]), 0.0f);
  for (std::size_t i = 9; i < rows.size(); ++i) {  // the manual: relative error at most 2^-22.5 over the full range
    const double exact = std::exp2(double(value(rows[i][0])));
    EXPECT_LE(std::fabs(double(value(got[i])) / exact - 1), 0x1p-22) << value(rows[i][0]);
  }
}

TEST(Float, ApproximationsKeepTheManualsBounds) {
  Rows rows;
  for (float x : {0.1f, 1.0f, 3.7f, 100.0f, 1e-3f}) rows.push_back({bits(x), 0, 0});
  const auto lg2 = compute("lg2.approx.f32 %d, %a;", "f32", "f32", rows),
             rsqrt = compute("rsqrt.approx.f32 %d, %a;", "f32", "f32", rows);
  const auto sine = compute("sin.approx.f32 %d, %a;", "f32", "f32", rows),
             tanh = compute("tanh.approx.f32 %d, %a;", "f32", "f32", rows);
  for (std::size_t i = 0; i < rows.size(); ++i) {
    const double x = double(value(rows[i][0]));
    EXPECT_NEAR(double(value(lg2[i])), std::log2(x), 0x1p-22 * std::max(1.0, std::fabs(std::log2(x))));
    EXPECT_NEAR(double(value(rsqrt[i])) * std::sqrt(x), 1, 0x1p-22);
    EXPECT_NEAR(double(value(sine[i])), std::sin(x), 0x1p-20);
    EXPECT_NEAR(double(value(tanh[i])), std::tanh(x), 0x1p-11);
  }
}

TEST(Half, PackedArithmetic) {
  // 1.5 + 2 = 3.5, 65504 + 65504 overflows; bf16: 1 + 2^-8 rounds to even.
  expect("add.f16x2 %d, %a, %b;", "b32", "b32", {{0x3e007bff, 0x40007bff, 0}}, {0x43007c00});
  expect("fma.rn.bf16x2 %d, %a, %b, %c;", "b32", "b32", {{0x40403f80, 0x40003f80, 0x3f803b80}}, {0x40e03f80});
  expect("mul.bf16 %d, %a, %b;", "b16", "b16", {{0x4040, 0x4040, 0}}, {0x4110});
  expect("max.f16 %d, %a, %b;", "b16", "b16", {{0x7e00, 0x3c00, 0}}, {0x3c00});
  expect("neg.f16x2 %d, %a;", "b32", "b32", {{0x3c00bc00, 0, 0}}, {0xbc003c00});
}

TEST(Convert, Integers) {
  expect("cvt.s64.s32 %d, %a;", "s64", "s32", {{0xffffffff, 0, 0}}, {~0ull});
  expect("cvt.u64.u32 %d, %a;", "u64", "u32", {{0xffffffff, 0, 0}}, {0xffffffff});
  expect("cvt.u32.u64 %d, %a;", "u32", "u64", {{0x123456789abcull, 0, 0}}, {0x56789abc});
  expect("cvt.s32.s8 %d, %a;", "s32", "b32", {{0x80, 0, 0}}, {0xffffff80});
  expect("cvt.u16.u32 %d, %a;", "u16", "u32", {{0x12345, 0, 0}}, {0x2345});
  expect("cvt.sat.u8.s32 %d, %a;", "u32", "s32", {{300, 0, 0}, {std::uint32_t(-3), 0, 0}}, {255, 0});
}

TEST(Convert, FloatToIntegerSaturatesAndNanIsZero) {
  expect("cvt.rzi.s32.f32 %d, %a;", "s32", "f32", {{bits(-1.9f), 0, 0}, {bits(3e9f), 0, 0}, {bits(NAN), 0, 0}},
         {0xffffffff, 0x7fffffff, 0});
  expect("cvt.rni.s32.f32 %d, %a;", "s32", "f32", {{bits(2.5f), 0, 0}, {bits(3.5f), 0, 0}}, {2, 4});
  expect("cvt.rpi.s32.f32 %d, %a;", "s32", "f32", {{bits(-1.5f), 0, 0}}, {0xffffffff});
  expect("cvt.rzi.u32.f32 %d, %a;", "u32", "f32", {{bits(-5), 0, 0}, {bits(4e9f), 0, 0}}, {0, 4000000000u});
  expect("cvt.rzi.u64.f32 %d, %a;", "u64", "f32", {{bits(0x1p40f), 0, 0}}, {1ull << 40});
  expect("cvt.rzi.s32.f64 %d, %a;", "s32", "f64", {{std::bit_cast<std::uint64_t>(-7.5), 0, 0}}, {std::uint32_t(-7)});
}

TEST(Convert, FloatFormats) {
  expect("cvt.rn.f32.s32 %d, %a;", "f32", "s32", {{16777217, 0, 0}}, {bits(16777216.0f)});
  expect("cvt.rz.f32.s32 %d, %a;", "f32", "s32", {{16777219, 0, 0}}, {bits(16777218.0f)});
  expect("cvt.rn.bf16x2.f32 %d, %a, %b;", "b32", "f32", {{bits(1), bits(-2), 0}, {bits(1 + 0x1p-8f), bits(NAN), 0}},
         {0x3f80c000, 0x3f807fff});
  expect("cvt.rn.f16x2.f32 %d, %a, %b;", "b32", "f32", {{bits(1), bits(65520), 0}}, {0x3c007c00});
  expect("cvt.f32.f16 %d, %a;", "f32", "b16", {{0x3c00, 0, 0}, {1, 0, 0}}, {bits(1), bits(0x1p-24f)});
  expect("cvt.f32.bf16 %d, %a;", "f32", "b16", {{0x3f80, 0, 0}}, {bits(1)});
  expect("cvt.rn.f16.f32 %d, %a;", "b16", "f32", {{bits(0.1f), 0, 0}}, {0x2e66});
  expect("cvt.rn.f32.f64 %d, %a;", "f32", "f64", {{std::bit_cast<std::uint64_t>(0.1), 0, 0}}, {bits(0.1f)});
  expect("cvt.rna.tf32.f32 %d, %a;", "b32", "f32", {{bits(1 + 0x1p-11f), 0, 0}}, {bits(1 + 0x1p-10f)});
  expect("cvt.rn.satfinite.e4m3x2.f32 %d, %a, %b;", "b16", "f32", {{bits(1), bits(1000), 0}}, {0x387e});
  expect("cvt.rmi.f32.f32 %d, %a;", "f32", "f32", {{bits(-1.5f), 0, 0}}, {bits(-2)});
  expect("cvt.sat.f32.f32 %d, %a;", "f32", "f32", {{bits(1.5f), 0, 0}, {bits(0.25f), 0, 0}}, {bits(1), bits(0.25f)});
}

TEST(Compare, UnorderedAndBoolean) {
  const std::string select = " selp.u32 %d, 1, 0, %p;";
  expect("setp.ltu.f32 %p, %a, %b;" + select, "u32", "f32", {{bits(NAN), bits(1), 0}, {bits(2), bits(1), 0}}, {1, 0});
  expect("setp.ne.f32 %p, %a, %b;" + select, "u32", "f32", {{bits(NAN), bits(1), 0}, {bits(2), bits(1), 0}}, {0, 1});
  expect("setp.neu.f32 %p, %a, %b;" + select, "u32", "f32", {{bits(NAN), bits(1), 0}}, {1});
  expect("setp.num.f32 %p, %a, %b;" + select, "u32", "f32", {{bits(NAN), bits(1), 0}, {bits(0), bits(1), 0}}, {0, 1});
  expect("setp.lt.s32 %p, %a, %b;" + select, "u32", "s32", {{0xffffffff, 0, 0}}, {1});
  expect("setp.lo.u32 %p, %a, %b;" + select, "u32", "u32", {{0xffffffff, 0, 0}, {0, 1, 0}}, {0, 1});
  expect("setp.eq.s32 %q, %a, %a; setp.lt.and.s32 %p|%q, %a, %b, %q; selp.u32 %d, 1, 0, %q;", "u32", "s32",
         {{1, 2, 0}, {2, 1, 0}}, {0, 1});
  expect("set.gt.u32.f32 %d, %a, %b;", "u32", "f32", {{bits(2), bits(1), 0}, {bits(0), bits(1), 0}}, {0xffffffff, 0});
  expect("set.gt.f32.f32 %d, %a, %b;", "f32", "f32", {{bits(2), bits(1), 0}}, {bits(1)});
  expect("slct.b32.s32 %d, %a, %b, %c;", "b32", "b32", {{1, 2, 0x80000000}, {1, 2, 5}}, {2, 1}, "s32");
  expect("testp.notanumber.f32 %p, %a;" + select, "u32", "f32", {{bits(NAN), 0, 0}, {bits(1), 0, 0}}, {1, 0});
  expect("copysign.f32 %d, %a, %b;", "f32", "f32", {{bits(-1), bits(2), 0}}, {bits(-2)});
}

TEST(Move, PackAndUnpack) {
  expect("{ .reg .b32 %x, %y; mov.b64 {%x, %y}, %a; mov.b64 %d, {%y, %x}; }", "b64", "b64",
         {{0x1111222233334444ull, 0, 0}}, {0x3333444411112222ull});
  expect("{ .reg .b16 %x, %y; mov.b32 {%x, %y}, %a; mov.b32 %d, {%y, %x}; }", "b32", "b32", {{0x12345678, 0, 0}},
         {0x56781234});
}

}  // namespace
}  // namespace ptxbench::emu
