// cvt among integer, float and packed types with every rounding, saturation and flush that PTX allows on sm_90.
// Source: PTX ISA "cvt", "cvt.pack".
#include "scalar.h"

using namespace capture;

// clang-format off

#define CONVERT(NAME, D, A, OP) CASE(NAME, D, A, A, A, "cvt." OP " %0, %1;")

// Integer to integer; 8-bit types travel in 16-bit registers, upper bits included.
#define TO_INTEGER(D, RD, S, RS) CONVERT(D##_##S, RD, RS, #D "." #S)
#define FROM_EACH(D, RD) \
  TO_INTEGER(D, RD, u16, h) TO_INTEGER(D, RD, s16, h) TO_INTEGER(D, RD, u32, r) TO_INTEGER(D, RD, s32, r) TO_INTEGER(D, RD, u64, l) TO_INTEGER(D, RD, s64, l)
FROM_EACH(u16, h) FROM_EACH(s16, h) FROM_EACH(u32, r) FROM_EACH(s32, r) FROM_EACH(u64, l) FROM_EACH(s64, l)
// ptxas takes .sat only where the value may not fit.
CONVERT(sat_u16_s16, h, h, "sat.u16.s16") CONVERT(sat_u16_u32, h, r, "sat.u16.u32")
CONVERT(sat_u16_s32, h, r, "sat.u16.s32") CONVERT(sat_u16_u64, h, l, "sat.u16.u64")
CONVERT(sat_u16_s64, h, l, "sat.u16.s64") CONVERT(sat_s16_u16, h, h, "sat.s16.u16")
CONVERT(sat_s16_u32, h, r, "sat.s16.u32") CONVERT(sat_s16_s32, h, r, "sat.s16.s32")
CONVERT(sat_s16_u64, h, l, "sat.s16.u64") CONVERT(sat_s16_s64, h, l, "sat.s16.s64")
CONVERT(sat_u32_s16, r, h, "sat.u32.s16") CONVERT(sat_u32_s32, r, r, "sat.u32.s32")
CONVERT(sat_u32_u64, r, l, "sat.u32.u64") CONVERT(sat_u32_s64, r, l, "sat.u32.s64")
CONVERT(sat_s32_u32, r, r, "sat.s32.u32") CONVERT(sat_s32_u64, r, l, "sat.s32.u64")
CONVERT(sat_s32_s64, r, l, "sat.s32.s64") CONVERT(sat_u64_s16, l, h, "sat.u64.s16")
CONVERT(sat_u64_s32, l, r, "sat.u64.s32") CONVERT(sat_u64_s64, l, l, "sat.u64.s64")
CONVERT(sat_s64_u64, l, l, "sat.s64.u64")
#define BYTES(D, RD) \
  CASE(D##_u8, RD, h, h, h, "cvt." #D ".u8 %0, %1;") CASE(D##_s8, RD, h, h, h, "cvt." #D ".s8 %0, %1;")
BYTES(u16, h) BYTES(s16, h) BYTES(u32, r) BYTES(s32, r) BYTES(u64, l) BYTES(s64, l)
#define TO_BYTES(S, RS)                                                                            \
  CASE(u8_##S, h, RS, RS, RS, "cvt.u8." #S " %0, %1;") CASE(s8_##S, h, RS, RS, RS, "cvt.s8." #S " %0, %1;") \
  CASE(sat_u8_##S, h, RS, RS, RS, "cvt.sat.u8." #S " %0, %1;") CASE(sat_s8_##S, h, RS, RS, RS, "cvt.sat.s8." #S " %0, %1;")
TO_BYTES(u16, h) TO_BYTES(s16, h) TO_BYTES(u32, r) TO_BYTES(s32, r) TO_BYTES(u64, l) TO_BYTES(s64, l)

// Integer to float.
#define TO_FLOAT(RND, S, RS)                                       \
  CONVERT(f32_##RND##_##S, r, RS, #RND ".f32." #S)                 \
  CONVERT(f64_##RND##_##S, l, RS, #RND ".f64." #S)                 \
  CONVERT(f16_##RND##_##S, h, RS, #RND ".f16." #S)
#define TO_FLOAT_ALL(RND) \
  TO_FLOAT(RND, u16, h) TO_FLOAT(RND, s16, h) TO_FLOAT(RND, u32, r) TO_FLOAT(RND, s32, r) TO_FLOAT(RND, u64, l) TO_FLOAT(RND, s64, l)
TO_FLOAT_ALL(rn) TO_FLOAT_ALL(rz) TO_FLOAT_ALL(rm) TO_FLOAT_ALL(rp)
CONVERT(f32_rn_u8, r, h, "rn.f32.u8") CONVERT(f32_rn_s8, r, h, "rn.f32.s8") CONVERT(f32_rn_sat_s32, r, r, "rn.sat.f32.s32")
CONVERT(bf16_rn_s32, h, r, "rn.bf16.s32") CONVERT(bf16_rz_u32, h, r, "rz.bf16.u32") CONVERT(bf16_rn_s64, h, l, "rn.bf16.s64")
CONVERT(bf16_rp_u16, h, h, "rp.bf16.u16")

// Float to integer.
#define FROM_FLOAT(RND, F, RF)                                                                                       \
  CONVERT(u32_##RND##_##F, r, RF, #RND ".u32." #F) CONVERT(s32_##RND##_##F, r, RF, #RND ".s32." #F)                  \
  CONVERT(u64_##RND##_##F, l, RF, #RND ".u64." #F) CONVERT(s64_##RND##_##F, l, RF, #RND ".s64." #F)                  \
  CONVERT(u16_##RND##_##F, h, RF, #RND ".u16." #F) CONVERT(s16_##RND##_##F, h, RF, #RND ".s16." #F)
#define FROM_FLOAT_ALL(RND) FROM_FLOAT(RND, f32, r) FROM_FLOAT(RND, f64, l) FROM_FLOAT(RND, f16, h) FROM_FLOAT(RND, bf16, h)
FROM_FLOAT_ALL(rni) FROM_FLOAT_ALL(rzi) FROM_FLOAT_ALL(rmi) FROM_FLOAT_ALL(rpi)
CONVERT(u8_rzi_f32, h, r, "rzi.u8.f32") CONVERT(s8_rni_f32, h, r, "rni.s8.f32") CONVERT(s32_rpi_ftz_f32, r, r, "rpi.ftz.s32.f32")
CONVERT(u32_rmi_ftz_f32, r, r, "rmi.ftz.u32.f32") CONVERT(u32_rzi_sat_f32, r, r, "rzi.sat.u32.f32")

// Float to float, the same type rounded to whole numbers included.
#define WHOLE(RND)                                                                                               \
  CONVERT(f32_##RND, r, r, #RND ".f32.f32") CONVERT(f32_##RND##_ftz, r, r, #RND ".ftz.f32.f32")                  \
  CONVERT(f64_##RND, l, l, #RND ".f64.f64") CONVERT(f16_##RND, h, h, #RND ".f16.f16")                            \
  CONVERT(bf16_##RND, h, h, #RND ".bf16.bf16")
WHOLE(rni) WHOLE(rzi) WHOLE(rmi) WHOLE(rpi)
#define NARROWER(RND)                                                                                            \
  CONVERT(f32_##RND##_f64, r, l, #RND ".f32.f64") CONVERT(f32_##RND##_ftz_f64, r, l, #RND ".ftz.f32.f64")        \
  CONVERT(f32_##RND##_sat_f64, r, l, #RND ".sat.f32.f64")                                                        \
  CONVERT(f16_##RND##_f32, h, r, #RND ".f16.f32") CONVERT(f16_##RND##_ftz_f32, h, r, #RND ".ftz.f16.f32")        \
  CONVERT(f16_##RND##_sat_f32, h, r, #RND ".sat.f16.f32") CONVERT(f16_##RND##_f64, h, l, #RND ".f16.f64")        \
  CONVERT(bf16_##RND##_f64, h, l, #RND ".bf16.f64")
NARROWER(rn) NARROWER(rz) NARROWER(rm) NARROWER(rp)
#define SIXTEEN(RND)                                                                                             \
  CONVERT(bf16_##RND##_f32, h, r, #RND ".bf16.f32") CONVERT(bf16_##RND##_relu_f32, h, r, #RND ".relu.bf16.f32")  \
  CONVERT(f16_##RND##_relu_f32, h, r, #RND ".relu.f16.f32")                                                      \
  CASE(f16x2_##RND##_f32, r, r, r, r, "cvt." #RND ".f16x2.f32 %0, %1, %2;")                                      \
  CASE(f16x2_##RND##_relu_f32, r, r, r, r, "cvt." #RND ".relu.f16x2.f32 %0, %1, %2;")                            \
  CASE(bf16x2_##RND##_f32, r, r, r, r, "cvt." #RND ".bf16x2.f32 %0, %1, %2;")                                    \
  CASE(bf16x2_##RND##_relu_f32, r, r, r, r, "cvt." #RND ".relu.bf16x2.f32 %0, %1, %2;")
SIXTEEN(rn) SIXTEEN(rz)
#define SATFINITE(RND)                                                                                           \
  CONVERT(f16_##RND##_satfinite_f32, h, r, #RND ".satfinite.f16.f32")                                            \
  CONVERT(bf16_##RND##_satfinite_f32, h, r, #RND ".satfinite.bf16.f32")                                          \
  CASE(f16x2_##RND##_satfinite_f32, r, r, r, r, "cvt." #RND ".satfinite.f16x2.f32 %0, %1, %2;")                  \
  CASE(bf16x2_##RND##_relu_satfinite_f32, r, r, r, r, "cvt." #RND ".relu.satfinite.bf16x2.f32 %0, %1, %2;")
SATFINITE(rn) SATFINITE(rz)
CONVERT(f64_f32, l, r, "f64.f32") CONVERT(f64_ftz_f32, l, r, "ftz.f64.f32") CONVERT(f32_f16, r, h, "f32.f16")
CONVERT(f32_ftz_f16, r, h, "ftz.f32.f16") CONVERT(f32_bf16, r, h, "f32.bf16") CONVERT(f64_f16, l, h, "f64.f16")
CONVERT(f64_bf16, l, h, "f64.bf16") CONVERT(f32_sat_f32, r, r, "sat.f32.f32") CONVERT(f64_sat_f64, l, l, "sat.f64.f64")
CONVERT(f16_sat_f16, h, h, "sat.f16.f16") CONVERT(f32_ftz_f32, r, r, "ftz.f32.f32")
CONVERT(f16_rn_bf16, h, h, "rn.f16.bf16") CONVERT(bf16_rn_f16, h, h, "rn.bf16.f16")
CONVERT(tf32_rna, r, r, "rna.tf32.f32") CONVERT(tf32_rn, r, r, "rn.tf32.f32") CONVERT(tf32_rz, r, r, "rz.tf32.f32")
CONVERT(tf32_rn_relu, r, r, "rn.relu.tf32.f32") CONVERT(tf32_rz_relu, r, r, "rz.relu.tf32.f32")
CONVERT(tf32_rna_satfinite, r, r, "rna.satfinite.tf32.f32")

// 8-bit floats in pairs.
#define FP8(T)                                                                                                    \
  CASE(T##x2_f32, h, r, r, r, "cvt.rn.satfinite." #T "x2.f32 %0, %1, %2;")                                        \
  CASE(T##x2_relu_f32, h, r, r, r, "cvt.rn.satfinite.relu." #T "x2.f32 %0, %1, %2;")                              \
  CASE(T##x2_f16x2, h, r, r, r, "cvt.rn.satfinite." #T "x2.f16x2 %0, %1;")                                        \
  CASE(T##x2_relu_f16x2, h, r, r, r, "cvt.rn.satfinite.relu." #T "x2.f16x2 %0, %1;")                              \
  CASE(f16x2_##T##x2, r, h, h, h, "cvt.rn.f16x2." #T "x2 %0, %1;")                                                \
  CASE(f16x2_relu_##T##x2, r, h, h, h, "cvt.rn.relu.f16x2." #T "x2 %0, %1;")
FP8(e4m3) FP8(e5m2)
CASE(pack_s16_s32, r, r, r, r, "cvt.pack.sat.s16.s32 %0, %1, %2;")
CASE(pack_u16_s32, r, r, r, r, "cvt.pack.sat.u16.s32 %0, %1, %2;")
CASE(pack_s8_s32_b32, r, r, r, r, "cvt.pack.sat.s8.s32.b32 %0, %1, %2, %3;")
CASE(pack_u8_s32_b32, r, r, r, r, "cvt.pack.sat.u8.s32.b32 %0, %1, %2, %3;")
CASE(pack_u4_s32_b32, r, r, r, r, "cvt.pack.sat.u4.s32.b32 %0, %1, %2, %3;")

    // clang-format on

    // One table for everything of at most 32 bits, one for 64: integers, floats of all widths and their rounding edges.
    void make_triples(std::vector<uint64_t>& narrow, std::vector<uint64_t>& wide) {
  const uint32_t edges32[] = {
      0x00000000, 0x80000000, 0x00000001, 0x80000001, 0x0000007F, 0x00000080, 0x000000FF, 0x0000FF80, 0x00007FFF,
      0x00008000, 0x0000FFFF, 0x00010000, 0x7FFFFFFF, 0x80000080, 0xFFFFFFFF, 0xFFFFFF80, 0xFFFF8000, 0xFFFF7FFF,
      0x01000001, 0x01000003, 0x3F000000, 0x3FC00000, 0x40200000, 0xBF000000, 0xBFC00000, 0x3F800000, 0x4F000000,
      0x4EFFFFFF, 0x4F800000, 0x4F7FFFFF, 0xCF000000, 0xCF000001, 0x5F000000, 0x5EFFFFFF, 0x5F800000, 0xDF000000,
      0x7F800000, 0xFF800000, 0x7FC00000, 0xFFC00001, 0x7F800001, 0x7F7FFFFF, 0xFF7FFFFF, 0x477FE000, 0x477FEFFF,
      0x477FF000, 0x33800000, 0x33000000, 0x33000001, 0x387FC000, 0x387FE000, 0x38800000, 0x3F801000, 0x3F803000,
      0x3F808000, 0x3F818000, 0x3F80FFFF, 0x7F7F8000, 0x7F7F7FFF, 0x43E00000, 0x43E80000, 0x43F00000, 0x47600000,
      0x47700000, 0x3B000000, 0x3A800000, 0x37800000, 0x36800000, 0x00400000, 0x00800000, 0x0040C000, 0x4B000000,
      0x4B000001, 0x3EFFFFFF, 0x43000000, 0x437F8000, 0xC3000000, 0xC3008000, 0x46FFFE00, 0xC7000000, 0x00007C00,
      0x00007C01, 0x00007E00, 0x0000FC00, 0x0000FE01, 0x00007F80, 0x00007F81, 0x0000FF80, 0x7BFFFBFF, 0x04008400};
  const uint64_t edges64[] = {
      0x0000000000000000, 0x8000000000000000, 0x0000000000000001, 0x7FFFFFFFFFFFFFFF, 0xFFFFFFFFFFFFFFFF,
      0x0020000000000001, 0x0020000000000003, 0x000000FFFFFFFFFF, 0x0000000100000000, 0x3FE0000000000000,
      0x3FF8000000000000, 0x4004000000000000, 0xBFE0000000000000, 0xBFF8000000000000, 0x41DFFFFFFFC00000,
      0x41E0000000000000, 0x41EFFFFFFFE00000, 0x41F0000000000000, 0xC1E0000000000000, 0xC1E0000000200000,
      0x43E0000000000000, 0x43DFFFFFFFFFFFFF, 0x43F0000000000000, 0xC3E0000000000000, 0x7FF0000000000000,
      0xFFF0000000000000, 0x7FF8000000000000, 0x7FF0000000000001, 0x7FEFFFFFFFFFFFFF, 0x47EFFFFFE0000000,
      0x47EFFFFFF0000000, 0x47EFFFFFEFFFFFFF, 0x3690000000000000, 0x36A0000000000000, 0x3810000000000000,
      0x380FFFFFFFFFFFFF, 0x40EFFC0000000000, 0x40EFFE0000000000, 0x40EFFDFFFFFFFFFF, 0x3E60000000000000,
      0x3E70000000000000, 0x3FF0000010000000, 0x3FF0000030000000, 0x3FF0020000000000, 0x3FF0060000000000,
      0x3FF0100000000000, 0x0010000000000000, 0x000FFFFFFFFFFFFF};
  const uint32_t count32 = sizeof(edges32) / 4, count64 = sizeof(edges64) / 8;
  Random random(4);
  for (uint32_t i = 0; i < 512 * 3; ++i) {
    uint32_t exponent = random.below(80) + 87;
    uint32_t moderate = (random.word() & 0x807FFFFF) | exponent << 23;
    uint64_t twice = (random.next() & 0x800FFFFFFFFFFFFF) | uint64_t(random.below(150) + 950) << 52;
    uint32_t bits = random.word() >> random.below(32);
    uint64_t bits64 = random.next() >> random.below(64);
    narrow.push_back(i % 3 == 0 && i / 3 < count32 ? edges32[i / 3]
                     : i < 900                     ? edges32[random.below(count32)]
                     : i % 2                       ? moderate
                                                   : bits);
    wide.push_back(i % 3 == 0 && i / 3 < count64 ? edges64[i / 3]
                   : i < 600                     ? edges64[random.below(count64)]
                   : i % 2                       ? twice
                                                 : bits64);
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
