// Integer and logic instructions over 512 operand triples: edges against edges, then random values of random magnitude.
// Source: PTX ISA "Integer Arithmetic", "Extended-Precision Integer Arithmetic", "Comparison and Selection", "Logic and
// Shift".
#include "scalar.h"

using namespace capture;

// clang-format off

#define BINARY(OP, T, R) CASE(OP##_##T, R, R, R, R, #OP "." #T " %0, %1, %2;")
#define BINARY_AS(NAME, R, TEXT) CASE(NAME, R, R, R, R, TEXT " %0, %1, %2;")
#define UNARY(OP, T, R) CASE(OP##_##T, R, R, R, R, #OP "." #T " %0, %1;")

#define EVERY_TYPE(X, OP) X(OP, u16, h) X(OP, s16, h) X(OP, u32, r) X(OP, s32, r) X(OP, u64, l) X(OP, s64, l)
EVERY_TYPE(BINARY, add)
EVERY_TYPE(BINARY, sub)
EVERY_TYPE(BINARY, min)
EVERY_TYPE(BINARY, max)
UNARY(abs, s16, h) UNARY(abs, s32, r) UNARY(abs, s64, l)
UNARY(neg, s16, h) UNARY(neg, s32, r) UNARY(neg, s64, l)
BINARY_AS(add_sat_s32, r, "add.sat.s32") BINARY_AS(sub_sat_s32, r, "sub.sat.s32")
BINARY_AS(add_u16x2, r, "add.u16x2") BINARY_AS(add_s16x2, r, "add.s16x2")
BINARY_AS(min_u16x2, r, "min.u16x2") BINARY_AS(min_s16x2, r, "min.s16x2")
BINARY_AS(max_u16x2, r, "max.u16x2") BINARY_AS(max_s16x2, r, "max.s16x2")
BINARY_AS(min_relu_s16x2, r, "min.relu.s16x2") BINARY_AS(max_relu_s32, r, "max.relu.s32")

#define MULTIPLY(T, R)                                                \
  BINARY_AS(mul_lo_##T, R, "mul.lo." #T)                              \
  BINARY_AS(mul_hi_##T, R, "mul.hi." #T)                              \
  CASE(mad_lo_##T, R, R, R, R, "mad.lo." #T " %0, %1, %2, %3;")       \
  CASE(mad_hi_##T, R, R, R, R, "mad.hi." #T " %0, %1, %2, %3;")
MULTIPLY(u16, h) MULTIPLY(s16, h) MULTIPLY(u32, r) MULTIPLY(s32, r) MULTIPLY(u64, l) MULTIPLY(s64, l)
CASE(mul_wide_u16, r, h, h, r, "mul.wide.u16 %0, %1, %2;")
CASE(mul_wide_s16, r, h, h, r, "mul.wide.s16 %0, %1, %2;")
CASE(mul_wide_u32, l, r, r, l, "mul.wide.u32 %0, %1, %2;")
CASE(mul_wide_s32, l, r, r, l, "mul.wide.s32 %0, %1, %2;")
CASE(mad_wide_u16, r, h, h, r, "mad.wide.u16 %0, %1, %2, %3;")
CASE(mad_wide_s16, r, h, h, r, "mad.wide.s16 %0, %1, %2, %3;")
CASE(mad_wide_u32, l, r, r, l, "mad.wide.u32 %0, %1, %2, %3;")
CASE(mad_wide_s32, l, r, r, l, "mad.wide.s32 %0, %1, %2, %3;")
CASE(mad_hi_sat_s32, r, r, r, r, "mad.hi.sat.s32 %0, %1, %2, %3;")
CASE(mul24_lo_u32, r, r, r, r, "mul24.lo.u32 %0, %1, %2;")
CASE(mul24_hi_s32, r, r, r, r, "mul24.hi.s32 %0, %1, %2;")
CASE(mad24_lo_s32, r, r, r, r, "mad24.lo.s32 %0, %1, %2, %3;")

// Divisors other than zero; then zero alone, which PTX leaves open.
#define DIVIDE(T, R, BITS)                                                                                               \
  CASE(div_##T, R, R, R, R, ".reg .pred p; .reg ." #BITS " b; setp.eq." #T " p, %2, 0; selp." #BITS " b, 3, %2, p; div." #T \
                            " %0, %1, b;")                                                                                \
  CASE(rem_##T, R, R, R, R, ".reg .pred p; .reg ." #BITS " b; setp.eq." #T " p, %2, 0; selp." #BITS " b, 3, %2, p; rem." #T \
                            " %0, %1, b;")                                                                                \
  CASE(div_by_zero_##T, R, R, R, R, ".reg ." #BITS " b; xor." #BITS " b, %2, %2; div." #T " %0, %1, b;")                 \
  CASE(rem_by_zero_##T, R, R, R, R, ".reg ." #BITS " b; xor." #BITS " b, %2, %2; rem." #T " %0, %1, b;")
DIVIDE(u16, h, b16) DIVIDE(s16, h, b16) DIVIDE(u32, r, b32) DIVIDE(s32, r, b32) DIVIDE(u64, l, b64) DIVIDE(s64, l, b64)

#define EVERY_WIDTH(X, OP) X(OP, b16, h) X(OP, b32, r) X(OP, b64, l)
EVERY_WIDTH(BINARY, and) EVERY_WIDTH(BINARY, or) EVERY_WIDTH(BINARY, xor)
EVERY_WIDTH(UNARY, not) EVERY_WIDTH(UNARY, cnot)
#define SHIFT(OP, T, R) CASE(OP##_##T, R, R, r, R, #OP "." #T " %0, %1, %2;")
EVERY_WIDTH(SHIFT, shl) EVERY_TYPE(SHIFT, shr) EVERY_WIDTH(SHIFT, shr)
CASE(shf_l_wrap, r, r, r, r, "shf.l.wrap.b32 %0, %1, %2, %3;")
CASE(shf_l_clamp, r, r, r, r, "shf.l.clamp.b32 %0, %1, %2, %3;")
CASE(shf_r_wrap, r, r, r, r, "shf.r.wrap.b32 %0, %1, %2, %3;")
CASE(shf_r_clamp, r, r, r, r, "shf.r.clamp.b32 %0, %1, %2, %3;")

CASE(bfe_u32, r, r, r, r, "bfe.u32 %0, %1, %2, %3;")
CASE(bfe_s32, r, r, r, r, "bfe.s32 %0, %1, %2, %3;")
CASE(bfe_u64, l, l, r, r, "bfe.u64 %0, %1, %2, %3;")
CASE(bfe_s64, l, l, r, r, "bfe.s64 %0, %1, %2, %3;")
CASE(bfe_small_u32, r, r, r, r, ".reg .b32 p, n; and.b32 p, %2, 63; and.b32 n, %3, 63; bfe.u32 %0, %1, p, n;")
CASE(bfe_small_s32, r, r, r, r, ".reg .b32 p, n; and.b32 p, %2, 63; and.b32 n, %3, 63; bfe.s32 %0, %1, p, n;")
CASE(bfe_small_s64, l, l, r, r, ".reg .b32 p, n; and.b32 p, %2, 127; and.b32 n, %3, 127; bfe.s64 %0, %1, p, n;")
CASE(bfi_b32, r, r, r, r, ".reg .b32 p; and.b32 p, %3, 63; bfi.b32 %0, %1, %2, p, %3;")
CASE(bfi_len_b32, r, r, r, r, ".reg .b32 p, n; and.b32 p, %3, 31; shr.u32 n, %3, 8; and.b32 n, n, 63; bfi.b32 %0, %1, %2, p, n;")
CASE(bfi_b64, l, l, l, r, ".reg .b32 p, n; and.b32 p, %3, 63; shr.u32 n, %3, 8; and.b32 n, n, 127; bfi.b64 %0, %1, %2, p, n;")
#define FIND(T, A)                                                          \
  CASE(bfind_##T, r, A, r, r, "bfind." #T " %0, %1;")                       \
  CASE(bfind_shiftamt_##T, r, A, r, r, "bfind.shiftamt." #T " %0, %1;")
FIND(u32, r) FIND(s32, r) FIND(u64, l) FIND(s64, l)
CASE(brev_b32, r, r, r, r, "brev.b32 %0, %1;")
CASE(brev_b64, l, l, r, r, "brev.b64 %0, %1;")
CASE(clz_b32, r, r, r, r, "clz.b32 %0, %1;")
CASE(clz_b64, r, l, r, r, "clz.b64 %0, %1;")
CASE(popc_b32, r, r, r, r, "popc.b32 %0, %1;")
CASE(popc_b64, r, l, r, r, "popc.b64 %0, %1;")
CASE(fns_b32, r, r, r, r, ".reg .b32 b, n; and.b32 b, %2, 31; and.b32 n, %3, 15; sub.s32 n, n, 7; fns.b32 %0, %1, b, n;")
CASE(bmsk_clamp, r, r, r, r, "bmsk.clamp.b32 %0, %1, %2;")
CASE(bmsk_wrap, r, r, r, r, "bmsk.wrap.b32 %0, %1, %2;")
CASE(bmsk_small_clamp, r, r, r, r, ".reg .b32 p, n; and.b32 p, %2, 63; and.b32 n, %3, 63; bmsk.clamp.b32 %0, p, n;")
CASE(bmsk_small_wrap, r, r, r, r, ".reg .b32 p, n; and.b32 p, %2, 63; and.b32 n, %3, 63; bmsk.wrap.b32 %0, p, n;")
CASE(szext_clamp_u32, r, r, r, r, "szext.clamp.u32 %0, %1, %2;")
CASE(szext_clamp_s32, r, r, r, r, "szext.clamp.s32 %0, %1, %2;")
CASE(szext_wrap_u32, r, r, r, r, "szext.wrap.u32 %0, %1, %2;")
CASE(szext_wrap_s32, r, r, r, r, "szext.wrap.s32 %0, %1, %2;")

#define PERMUTE(NAME, MODE) CASE(prmt_##NAME, r, r, r, r, "prmt.b32" MODE " %0, %1, %2, %3;")
PERMUTE(generic, "") PERMUTE(f4e, ".f4e") PERMUTE(b4e, ".b4e") PERMUTE(rc8, ".rc8") PERMUTE(ecl, ".ecl")
PERMUTE(ecr, ".ecr") PERMUTE(rc16, ".rc16")
#define LOP3(LUT) CASE(lop3_##LUT, r, r, r, r, "lop3.b32 %0, %1, %2, %3, " #LUT ";")
LOP3(0) LOP3(1) LOP3(23) LOP3(106) LOP3(128) LOP3(150) LOP3(202) LOP3(226) LOP3(254) LOP3(255)
CASE(lop3_or_pred, r, r, r, r, ".reg .pred p, q; .reg .b32 x; setp.lt.u32 q, %1, %2; lop3.or.b32 x|p, %1, %2, %3, 150, q; selp.b32 %0, x, 77, p;")
CASE(lop3_and_pred, r, r, r, r, ".reg .pred p, q; .reg .b32 x; setp.lt.u32 q, %1, %2; lop3.and.b32 x|p, %1, %2, %3, 128, q; selp.b32 %0, x, 77, p;")

CASE(sad_u32, r, r, r, r, "sad.u32 %0, %1, %2, %3;")
CASE(sad_s32, r, r, r, r, "sad.s32 %0, %1, %2, %3;")
CASE(sad_u16, h, h, h, h, "sad.u16 %0, %1, %2, %3;")
CASE(sad_s16, h, h, h, h, "sad.s16 %0, %1, %2, %3;")
CASE(sad_u64, l, l, l, l, "sad.u64 %0, %1, %2, %3;")
CASE(sad_s64, l, l, l, l, "sad.s64 %0, %1, %2, %3;")
#define DOT(A, B)                                                                            \
  CASE(dp4a_##A##_##B, r, r, r, r, "dp4a." #A "." #B " %0, %1, %2, %3;")                     \
  CASE(dp2a_lo_##A##_##B, r, r, r, r, "dp2a.lo." #A "." #B " %0, %1, %2, %3;")               \
  CASE(dp2a_hi_##A##_##B, r, r, r, r, "dp2a.hi." #A "." #B " %0, %1, %2, %3;")
DOT(u32, u32) DOT(u32, s32) DOT(s32, u32) DOT(s32, s32)
CASE(vabsdiff4_add, r, r, r, r, "vabsdiff4.u32.u32.u32.add %0, %1, %2, %3;")
CASE(vabsdiff4, r, r, r, r, "vabsdiff4.u32.u32.u32 %0, %1, %2, %3;")

// Carry chains.
CASE(add_cc_chain, l, l, l, r, ".reg .b32 a0, a1, b0, b1, d0, d1; mov.b64 {a0, a1}, %1; mov.b64 {b0, b1}, %2; add.cc.u32 d0, a0, b0; addc.u32 d1, a1, b1; mov.b64 %0, {d0, d1};")
CASE(addc_cc_out, r, l, l, r, ".reg .b32 a0, a1, b0, b1, d0, d1; mov.b64 {a0, a1}, %1; mov.b64 {b0, b1}, %2; add.cc.u32 d0, a0, b0; addc.cc.u32 d1, a1, b1; addc.u32 %0, %3, 0;")
CASE(sub_cc_chain, l, l, l, r, ".reg .b32 a0, a1, b0, b1, d0, d1; mov.b64 {a0, a1}, %1; mov.b64 {b0, b1}, %2; sub.cc.u32 d0, a0, b0; subc.u32 d1, a1, b1; mov.b64 %0, {d0, d1};")
CASE(subc_cc_out, r, l, l, r, ".reg .b32 a0, a1, b0, b1, d0, d1; mov.b64 {a0, a1}, %1; mov.b64 {b0, b1}, %2; sub.cc.u32 d0, a0, b0; subc.cc.u32 d1, a1, b1; subc.u32 %0, %3, 0;")
CASE(add_cc_u64, l, l, l, l, ".reg .b64 x; add.cc.u64 x, %1, %2; addc.u64 %0, %3, 0;")
CASE(sub_cc_u64, l, l, l, l, ".reg .b64 x; sub.cc.u64 x, %1, %2; subc.u64 %0, %3, 0;")
CASE(mad_cc_chain, l, r, r, l, ".reg .b32 c0, c1, d0, d1; mov.b64 {c0, c1}, %3; mad.lo.cc.u32 d0, %1, %2, c0; madc.hi.u32 d1, %1, %2, c1; mov.b64 %0, {d0, d1};")
CASE(madc_cc_out, r, r, r, l, ".reg .b32 c0, c1, d0, d1; mov.b64 {c0, c1}, %3; mad.lo.cc.u32 d0, %1, %2, c0; madc.hi.cc.u32 d1, %1, %2, c1; addc.u32 %0, 5, 0;")
CASE(madc_lo_cc, r, r, r, l, ".reg .b32 c0, c1, d0, d1; mov.b64 {c0, c1}, %3; add.cc.u32 d0, %1, %2; madc.lo.cc.u32 d1, %1, %2, c1; addc.u32 %0, d1, 0;")

// Comparisons: both predicates of setp with a combining predicate, then set and selp.
#define COMPARE(OP, T, R)                                                                                              \
  CASE(setp_##OP##_##T, r, R, R, R, ".reg .pred p; setp." #OP "." #T " p, %1, %2; selp.u32 %0, 1, 0, p;")              \
  CASE(setp_##OP##_and_##T, r, R, R, R, ".reg .pred p, q, c; .reg .b32 x, y; setp.ne." #T " c, %3, 0; setp." #OP ".and." #T \
                                        " p|q, %1, %2, c; selp.u32 x, 1, 0, p; selp.u32 y, 2, 0, q; or.b32 %0, x, y;")
#define ORDERED(T, R) COMPARE(eq, T, R) COMPARE(ne, T, R) COMPARE(lt, T, R) COMPARE(le, T, R) COMPARE(gt, T, R) COMPARE(ge, T, R)
#define UNORDERED_NAMES(T, R) COMPARE(lo, T, R) COMPARE(ls, T, R) COMPARE(hi, T, R) COMPARE(hs, T, R)
ORDERED(u16, h) ORDERED(s16, h) ORDERED(u32, r) ORDERED(s32, r) ORDERED(u64, l) ORDERED(s64, l)
UNORDERED_NAMES(u32, r) UNORDERED_NAMES(u64, l)
COMPARE(eq, b16, h) COMPARE(ne, b16, h) COMPARE(eq, b32, r) COMPARE(ne, b32, r) COMPARE(eq, b64, l) COMPARE(ne, b64, l)
CASE(setp_or, r, r, r, r, ".reg .pred p, q, c; .reg .b32 x, y; setp.ge.s32 c, %3, 0; setp.lt.or.s32 p|q, %1, %2, !c; selp.u32 x, 1, 0, p; selp.u32 y, 2, 0, q; or.b32 %0, x, y;")
CASE(setp_xor, r, r, r, r, ".reg .pred p, q, c; .reg .b32 x, y; setp.ge.s32 c, %3, 0; setp.lt.xor.s32 p|q, %1, %2, c; selp.u32 x, 1, 0, p; selp.u32 y, 2, 0, q; or.b32 %0, x, y;")
CASE(set_u32_lt_s32, r, r, r, r, "set.lt.u32.s32 %0, %1, %2;")
CASE(set_f32_lt_u32, r, r, r, r, "set.lt.f32.u32 %0, %1, %2;")
CASE(set_u32_ge_u64, r, l, l, r, "set.ge.u32.u64 %0, %1, %2;")
CASE(set_and_s32, r, r, r, r, ".reg .pred c; setp.ge.s32 c, %3, 0; set.gt.and.s32.s32 %0, %1, %2, c;")
CASE(selp_b16, h, h, h, r, ".reg .pred c; setp.ge.s32 c, %3, 0; selp.b16 %0, %1, %2, c;")
CASE(selp_b32, r, r, r, r, ".reg .pred c; setp.ge.s32 c, %3, 0; selp.b32 %0, %1, %2, c;")
CASE(selp_b64, l, l, l, r, ".reg .pred c; setp.ge.s32 c, %3, 0; selp.b64 %0, %1, %2, c;")
CASE(slct_s32, r, r, r, r, "slct.u32.s32 %0, %1, %2, %3;")
CASE(slct_f32, r, r, r, r, "slct.b32.f32 %0, %1, %2, %3;")
CASE(pred_logic, r, r, r, r, ".reg .pred a, b, c, d; setp.lt.s32 a, %1, 0; setp.lt.s32 b, %2, 0; and.pred c, a, b; or.pred d, a, b; xor.pred c, c, d; not.pred d, c; selp.u32 %0, 10, 20, c; @d add.u32 %0, %0, 1; @!a add.u32 %0, %0, 100;")
CASE(mov_pack_b32, r, r, r, r, ".reg .b16 x, y; mov.b32 {x, y}, %1; mov.b32 %0, {y, x};")
CASE(mov_pack_b64, l, l, r, r, ".reg .b16 x, y, z, w; mov.b64 {x, y, z, w}, %1; mov.b64 %0, {w, x, z, y};")
CASE(mov_pack_b8, r, r, r, r, ".reg .b8 x, y, z, w; mov.b32 {x, y, z, w}, %1; mov.b32 %0, {w, x, z, y};")

    // clang-format on

    std::vector<uint64_t> triples() {
  const uint64_t edges[] = {0,
                            1,
                            2,
                            3,
                            4,
                            7,
                            8,
                            15,
                            16,
                            17,
                            24,
                            31,
                            32,
                            33,
                            63,
                            64,
                            65,
                            127,
                            128,
                            255,
                            256,
                            0x7FFF,
                            0x8000,
                            0x8001,
                            0xFFFF,
                            0x10000,
                            0x7FFFFFFF,
                            0x80000000,
                            0x80000001,
                            0xFFFFFFFE,
                            0xFFFFFFFF,
                            0x100000000,
                            0x3210,
                            0x7654,
                            0xBA98,
                            0xFEDC,
                            0x7FFFFFFFFFFFFFFF,
                            0x8000000000000000,
                            0x8000000000000001,
                            0xFFFFFFFFFFFFFFFE,
                            0xFFFFFFFFFFFFFFFF,
                            0x5555555555555555,
                            0xAAAAAAAAAAAAAAAA,
                            0x0123456789ABCDEF};
  const uint32_t count = sizeof(edges) / sizeof(edges[0]);
  Random random(1);
  std::vector<uint64_t> table;
  for (int i = 0; i < 512 * 3; ++i) {
    uint64_t value = random.next() >> random.below(64);
    if (random.below(4) == 0) value = ~value + 1;
    table.push_back(i < 320 * 3 ? edges[random.below(count)] : value);
  }
  return table;
}

int main(int argc, char** argv) {
  init(argc, argv);
  CHECK_CUDA(cudaFree(nullptr));
  auto table = triples();
  if (g_dump) print_triples(table);
  run_scalar_cases(table, table);
}
