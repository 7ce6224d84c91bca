// f32 and f64 instructions over 512 operand triples: special values against each other, near values that cancel, random
// bits. All exact but those that PTX calls approximate, which carry a tolerance in ulps or an absolute one.
// Source: PTX ISA "Floating-Point Instructions".
#include "scalar.h"

using namespace capture;

// clang-format off

#define F32_2(NAME, OP) CASE(NAME, r, r, r, r, OP " %0, %1, %2;")
#define F32_3(NAME, OP) CASE(NAME, r, r, r, r, OP " %0, %1, %2, %3;")
#define F32_1(NAME, OP) CASE(NAME, r, r, r, r, OP " %0, %1;")
#define F64_2(NAME, OP) CASE(NAME, l, l, l, l, OP " %0, %1, %2;")
#define F64_3(NAME, OP) CASE(NAME, l, l, l, l, OP " %0, %1, %2, %3;")
#define F64_1(NAME, OP) CASE(NAME, l, l, l, l, OP " %0, %1;")

#define ROUNDED_32(RND)                                       \
  F32_2(add_##RND, "add." #RND ".f32")                        \
  F32_2(sub_##RND, "sub." #RND ".f32")                        \
  F32_2(mul_##RND, "mul." #RND ".f32")                        \
  F32_3(fma_##RND, "fma." #RND ".f32")                        \
  F32_2(add_##RND##_ftz, "add." #RND ".ftz.f32")              \
  F32_2(mul_##RND##_ftz, "mul." #RND ".ftz.f32")              \
  F32_3(fma_##RND##_ftz, "fma." #RND ".ftz.f32")              \
  F32_2(add_##RND##_sat, "add." #RND ".sat.f32")              \
  F32_2(mul_##RND##_ftz_sat, "mul." #RND ".ftz.sat.f32")      \
  F32_3(fma_##RND##_sat, "fma." #RND ".sat.f32")              \
  F32_2(div_##RND, "div." #RND ".f32")                        \
  F32_1(rcp_##RND, "rcp." #RND ".f32")                        \
  F32_1(sqrt_##RND, "sqrt." #RND ".f32")
ROUNDED_32(rn) ROUNDED_32(rz) ROUNDED_32(rm) ROUNDED_32(rp)
F32_2(sub_rn_ftz_sat, "sub.rn.ftz.sat.f32")
F32_2(div_rn_ftz, "div.rn.ftz.f32") F32_1(rcp_rn_ftz, "rcp.rn.ftz.f32") F32_1(sqrt_rn_ftz, "sqrt.rn.ftz.f32")
F32_3(mad_rn, "mad.rn.f32")
F32_2(add_default, "add.f32") F32_2(mul_default, "mul.f32")

#define ROUNDED_64(RND)                        \
  F64_2(add_f64_##RND, "add." #RND ".f64")     \
  F64_2(sub_f64_##RND, "sub." #RND ".f64")     \
  F64_2(mul_f64_##RND, "mul." #RND ".f64")     \
  F64_3(fma_f64_##RND, "fma." #RND ".f64")     \
  F64_2(div_f64_##RND, "div." #RND ".f64")     \
  F64_1(rcp_f64_##RND, "rcp." #RND ".f64")     \
  F64_1(sqrt_f64_##RND, "sqrt." #RND ".f64")
ROUNDED_64(rn) ROUNDED_64(rz) ROUNDED_64(rm) ROUNDED_64(rp)

#define MINMAX(OP)                                                     \
  F32_2(OP##_f32, #OP ".f32")                                          \
  F32_2(OP##_ftz, #OP ".ftz.f32")                                      \
  F32_2(OP##_nan, #OP ".NaN.f32")                                      \
  F32_2(OP##_ftz_nan, #OP ".ftz.NaN.f32")                              \
  F32_2(OP##_xorsign, #OP ".xorsign.abs.f32")                          \
  F32_2(OP##_nan_xorsign, #OP ".NaN.xorsign.abs.f32")                  \
  F64_2(OP##_f64, #OP ".f64")
MINMAX(min) MINMAX(max)
F32_1(abs_f32, "abs.f32") F32_1(abs_ftz, "abs.ftz.f32") F64_1(abs_f64, "abs.f64")
F32_1(neg_f32, "neg.f32") F32_1(neg_ftz, "neg.ftz.f32") F64_1(neg_f64, "neg.f64")
F32_2(copysign_f32, "copysign.f32") F64_2(copysign_f64, "copysign.f64")

#define TESTP(WHAT)                                                                                            \
  CASE(testp_##WHAT##_f32, r, r, r, r, ".reg .pred p; testp." #WHAT ".f32 p, %1; selp.u32 %0, 1, 0, p;")       \
  CASE(testp_##WHAT##_f64, r, l, l, l, ".reg .pred p; testp." #WHAT ".f64 p, %1; selp.u32 %0, 1, 0, p;")
TESTP(finite) TESTP(infinite) TESTP(number) TESTP(notanumber) TESTP(normal) TESTP(subnormal)

#define COMPARE(OP)                                                                                                  \
  CASE(setp_##OP##_f32, r, r, r, r, ".reg .pred p; setp." #OP ".f32 p, %1, %2; selp.u32 %0, 1, 0, p;")               \
  CASE(setp_##OP##_ftz, r, r, r, r, ".reg .pred p, q; .reg .b32 x, y; setp." #OP ".ftz.f32 p, %1, %2; selp.u32 x, 1, 0, p; setp." #OP ".f32 q, %2, %3; selp.u32 y, 2, 0, q; or.b32 %0, x, y;") \
  CASE(setp_##OP##_f64, r, l, l, l, ".reg .pred p; setp." #OP ".f64 p, %1, %2; selp.u32 %0, 1, 0, p;")
COMPARE(eq) COMPARE(ne) COMPARE(lt) COMPARE(le) COMPARE(gt) COMPARE(ge) COMPARE(equ) COMPARE(neu) COMPARE(ltu)
COMPARE(leu) COMPARE(gtu) COMPARE(geu) COMPARE(num) COMPARE(nan)
CASE(set_lt_f32_f32, r, r, r, r, "set.lt.f32.f32 %0, %1, %2;")
CASE(set_geu_u32_f32, r, r, r, r, "set.geu.u32.f32 %0, %1, %2;")
CASE(set_le_u32_f64, r, l, l, l, "set.le.u32.f64 %0, %1, %2;")
CASE(slct_ftz_f32, r, r, r, r, "slct.ftz.u32.f32 %0, %1, %2, %3;")

// Approximate: the operand table begins with moderate values (the first 96 results are printed).
#define APPROX(MARK, NAME, OP) APPROXIMATE(MARK, NAME, r, r, r, r, OP " %0, %1;")
APPROX("~ulp2", ex2_approx, "ex2.approx.f32") APPROX("~ulp2", ex2_approx_ftz, "ex2.approx.ftz.f32")
APPROX("~ulp4~abs3e-7", lg2_approx, "lg2.approx.f32") APPROX("~ulp4~abs3e-7", lg2_approx_ftz, "lg2.approx.ftz.f32")
APPROX("~ulp1", rcp_approx, "rcp.approx.f32") APPROX("~ulp1", rcp_approx_ftz, "rcp.approx.ftz.f32")
APPROX("~ulp3", rsqrt_approx, "rsqrt.approx.f32") APPROX("~ulp3", rsqrt_approx_ftz, "rsqrt.approx.ftz.f32")
APPROX("~ulp3", sqrt_approx, "sqrt.approx.f32") APPROX("~ulp3", sqrt_approx_ftz, "sqrt.approx.ftz.f32")
#define TRIGONOMETRIC(OP)                                                                                               \
  APPROXIMATE("~abs1e-6", OP##_approx_small, r, r, r, r,                                                                \
              ".reg .b32 x; .reg .pred p; abs.f32 x, %1; setp.lt.f32 p, x, 0f40490FDB; selp.b32 x, %1, 0, p; " #OP      \
              ".approx.f32 %0, x;")
TRIGONOMETRIC(sin) TRIGONOMETRIC(cos)
APPROX("~rel1e-3", tanh_approx, "tanh.approx.f32")
APPROXIMATE("~ulp2", div_approx, r, r, r, r, "div.approx.f32 %0, %1, %2;")
APPROXIMATE("~ulp2", div_approx_ftz, r, r, r, r, "div.approx.ftz.f32 %0, %1, %2;")
APPROXIMATE("~ulp2", div_full, r, r, r, r, "div.full.f32 %0, %1, %2;")
APPROXIMATE("~ulp2", div_full_ftz, r, r, r, r, "div.full.ftz.f32 %0, %1, %2;")
APPROXIMATE("~rel1e-6", rcp_approx_f64, l, l, l, l, "rcp.approx.ftz.f64 %0, %1;")
APPROXIMATE("~rel1e-6", rsqrt_approx_f64, l, l, l, l, "rsqrt.approx.ftz.f64 %0, %1;")
// The special operands of the same instructions, whose results are exact by the manual's tables.
#define SPECIAL(NAME, OP)                                                                                                \
  CASE(special_##NAME, r, r, r, r,                                                                                       \
       ".reg .pred p; .reg .b32 x, m; and.b32 m, %1, 0x7FFFFFFF; setp.ge.u32 p, m, 0x7F800000; setp.eq.or.u32 p, m, 0, p; " \
       "selp.b32 x, %1, 0x7F800001, p; " OP " %0, x;")
SPECIAL(ex2, "ex2.approx.f32") SPECIAL(lg2, "lg2.approx.f32") SPECIAL(rcp, "rcp.approx.f32") SPECIAL(rsqrt, "rsqrt.approx.f32")
SPECIAL(sqrt, "sqrt.approx.f32") SPECIAL(sin, "sin.approx.f32") SPECIAL(cos, "cos.approx.f32") SPECIAL(tanh, "tanh.approx.f32")
SPECIAL(ex2_ftz, "ex2.approx.ftz.f32") SPECIAL(rcp_ftz, "rcp.approx.ftz.f32")

    // clang-format on

    // f32 triples in `narrow`, f64 triples in `wide`.
    void make_triples(std::vector<uint64_t>& narrow, std::vector<uint64_t>& wide) {
  const uint32_t edges32[] = {0x00000000, 0x80000000, 0x3F800000, 0xBF800000, 0x3F800001, 0x3F7FFFFF, 0x40000000,
                              0x3F000000, 0x40400000, 0x3EAAAAAB, 0x00000001, 0x80000001, 0x007FFFFF, 0x807FFFFF,
                              0x00800000, 0x80800000, 0x00400000, 0x7F7FFFFF, 0xFF7FFFFF, 0x7F800000, 0xFF800000,
                              0x7FC00000, 0xFFC00000, 0x7F800001, 0x7FA00000, 0xFFFFFFFF, 0x7FFFFFFF, 0x7FC12345,
                              0x4B000000, 0x4B800000, 0x4F000000, 0x5F000000, 0x40490FDB, 0x34000000, 0x33800000,
                              0x33000000, 0x0C000000, 0x7E800000, 0x00FFFFFF, 0x3FFFFFFF};
  const uint64_t edges64[] = {0x0000000000000000, 0x8000000000000000, 0x3FF0000000000000, 0xBFF0000000000000,
                              0x3FF0000000000001, 0x3FEFFFFFFFFFFFFF, 0x4000000000000000, 0x3FE0000000000000,
                              0x0000000000000001, 0x800FFFFFFFFFFFFF, 0x0010000000000000, 0x7FEFFFFFFFFFFFFF,
                              0x7FF0000000000000, 0xFFF0000000000000, 0x7FF8000000000000, 0x7FF0000000000001,
                              0xFFFFFFFFFFFFFFFF, 0x7FF8123456789ABC, 0x4330000000000000, 0x3CA0000000000000};
  Random random(2);
  for (int i = 0; i < 512; ++i) {
    uint64_t twice[3];
    uint32_t single[3];
    for (int k = 0; k < 3; ++k) {
      if (i < 96) {  // moderate: exponents -8..8
        single[k] = (random.word() & 0x807FFFFF) | (119 + random.below(16)) << 23;
        twice[k] = (random.next() & 0x800FFFFFFFFFFFFF) | uint64_t(1015 + random.below(16)) << 52;
      } else if (i < 320) {
        single[k] = edges32[random.below(40)];
        twice[k] = edges64[random.below(20)];
      } else {
        single[k] = random.word();
        twice[k] = random.next();
      }
    }
    if (i >= 320 && i < 420) {  // near exponents: rounding and cancellation
      single[1] = (single[0] & 0x7F800000) ^ (random.word() & 0x81FFFFFF);
      twice[1] = (twice[0] & 0x7FF0000000000000) ^ (random.next() & 0x803FFFFFFFFFFFFF);
    }
    if (i >= 420 && i < 466) {  // c close to -a*b
      float a, b;
      std::memcpy(&a, &single[0], 4);
      std::memcpy(&b, &single[1], 4);
      float c = -a * b;
      std::memcpy(&single[2], &c, 4);
      if ((single[2] & 0x7F800000) == 0x7F800000) single[2] = 0x7FC00000;  // hosts differ in the NaN they make
      single[2] += random.below(3);
      double d, e;
      std::memcpy(&d, &twice[0], 8);
      std::memcpy(&e, &twice[1], 8);
      double f = -d * e;
      std::memcpy(&twice[2], &f, 8);
      if ((twice[2] & 0x7FF0000000000000) == 0x7FF0000000000000) twice[2] = 0x7FF8000000000000;
      twice[2] += random.below(3);
    }
    if (i >= 466 && i < 470) {  // a sum that f64 arithmetic would round twice
      const uint32_t sign = i & 1 ? 0x80000000 : 0;
      single[0] = 0x39800008 ^ sign, single[1] = 0x397FFFF0, single[2] = (i < 468 ? 0x3F800001 : 0x3F800003) ^ sign;
    }
    for (int k = 0; k < 3; ++k) {
      narrow.push_back(single[k]);
      wide.push_back(twice[k]);
    }
  }
}

int main(int argc, char** argv) {
  init(argc, argv);
  CHECK_CUDA(cudaFree(nullptr));
  std::vector<uint64_t> narrow, wide;
  make_triples(narrow, wide);
  if (g_dump) print_triples(narrow);
  run_scalar_cases(narrow, wide);
}
