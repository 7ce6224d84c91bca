// f16, bf16 and their packed pairs over 512 operand triples: special values, near values, random bits.
// Source: PTX ISA "Half Precision Floating-Point Instructions", "Mixed Precision".
#include "scalar.h"

using namespace capture;

// clang-format off

#define ONE(NAME, R, OP) CASE(NAME, R, R, R, R, OP " %0, %1;")
#define TWO(NAME, R, OP) CASE(NAME, R, R, R, R, OP " %0, %1, %2;")
#define THREE(NAME, R, OP) CASE(NAME, R, R, R, R, OP " %0, %1, %2, %3;")

// What both widths of a type have.
#define F16(T, R)                                                                                            \
  TWO(add_##T, R, "add." #T) TWO(add_rn_##T, R, "add.rn." #T) TWO(add_ftz_##T, R, "add.ftz." #T)             \
  TWO(add_sat_##T, R, "add.sat." #T) TWO(sub_##T, R, "sub." #T) TWO(sub_ftz_sat_##T, R, "sub.ftz.sat." #T)   \
  TWO(mul_##T, R, "mul." #T) TWO(mul_ftz_##T, R, "mul.ftz." #T) TWO(mul_sat_##T, R, "mul.sat." #T)           \
  THREE(fma_##T, R, "fma.rn." #T) THREE(fma_ftz_##T, R, "fma.rn.ftz." #T)                                    \
  THREE(fma_sat_##T, R, "fma.rn.sat." #T) THREE(fma_relu_##T, R, "fma.rn.relu." #T)                          \
  THREE(fma_ftz_relu_##T, R, "fma.rn.ftz.relu." #T)                                                          \
  ONE(neg_##T, R, "neg." #T) ONE(neg_ftz_##T, R, "neg.ftz." #T) ONE(abs_##T, R, "abs." #T)                   \
  ONE(abs_ftz_##T, R, "abs.ftz." #T)                                                                         \
  TWO(min_##T, R, "min." #T) TWO(max_##T, R, "max." #T) TWO(min_ftz_##T, R, "min.ftz." #T)                   \
  TWO(max_ftz_##T, R, "max.ftz." #T) TWO(min_nan_##T, R, "min.NaN." #T) TWO(max_nan_##T, R, "max.NaN." #T)   \
  TWO(max_ftz_nan_##T, R, "max.ftz.NaN." #T) TWO(min_xorsign_##T, R, "min.xorsign.abs." #T)                  \
  TWO(max_nan_xorsign_##T, R, "max.NaN.xorsign.abs." #T)
F16(f16, h) F16(f16x2, r)

#define BF16(T, R)                                                                                           \
  TWO(add_##T, R, "add." #T) TWO(add_rn_##T, R, "add.rn." #T) TWO(sub_##T, R, "sub." #T)                     \
  TWO(mul_##T, R, "mul." #T) THREE(fma_##T, R, "fma.rn." #T) THREE(fma_relu_##T, R, "fma.rn.relu." #T)       \
  ONE(neg_##T, R, "neg." #T) ONE(abs_##T, R, "abs." #T) TWO(min_##T, R, "min." #T) TWO(max_##T, R, "max." #T) \
  TWO(min_nan_##T, R, "min.NaN." #T) TWO(max_nan_##T, R, "max.NaN." #T)                                      \
  TWO(min_xorsign_##T, R, "min.xorsign.abs." #T) TWO(max_nan_xorsign_##T, R, "max.NaN.xorsign.abs." #T)
BF16(bf16, h) BF16(bf16x2, r)

#define COMPARE_16(OP, T)                                                                                           \
  CASE(setp_##OP##_##T, r, h, h, h, ".reg .pred p; setp." #OP "." #T " p, %1, %2; selp.u32 %0, 1, 0, p;")
#define COMPARE_32(OP, T)                                                                                           \
  CASE(setp_##OP##_##T, r, r, r, r, ".reg .pred p, q; .reg .b32 x, y; setp." #OP "." #T " p|q, %1, %2; selp.u32 x, 1, 0, p; selp.u32 y, 2, 0, q; or.b32 %0, x, y;")
#define EVERY_COMPARISON(X, T) X(eq, T) X(ne, T) X(lt, T) X(le, T) X(gt, T) X(ge, T) X(equ, T) X(neu, T) X(ltu, T) X(leu, T) X(gtu, T) X(geu, T) X(num, T) X(nan, T)
EVERY_COMPARISON(COMPARE_16, f16) EVERY_COMPARISON(COMPARE_16, bf16)
EVERY_COMPARISON(COMPARE_32, f16x2) EVERY_COMPARISON(COMPARE_32, bf16x2)
CASE(set_lt_f16_f16, h, h, h, h, "set.lt.f16.f16 %0, %1, %2;")
CASE(set_nan_f16_f16, h, h, h, h, "set.nan.f16.f16 %0, %1, %2;")
CASE(set_ge_u32_f16, r, h, h, h, "set.ge.u32.f16 %0, %1, %2;")
CASE(set_gt_f16x2_f16x2, r, r, r, r, "set.gt.f16x2.f16x2 %0, %1, %2;")
CASE(set_eq_bf16x2, r, r, r, r, "set.eq.bf16x2.bf16x2 %0, %1, %2;")
CASE(setp_eq_ftz_f16, r, h, h, h, ".reg .pred p; setp.eq.ftz.f16 p, %1, %2; selp.u32 %0, 1, 0, p;")

#define APPROX(MARK, NAME, R, OP) APPROXIMATE(MARK, NAME, R, R, R, R, OP " %0, %1;")
APPROX("~rel2e-3~abs1e-7", ex2_f16, h, "ex2.approx.f16") APPROX("~rel1e-2", ex2_bf16, h, "ex2.approx.ftz.bf16")
APPROX("~rel2e-3", tanh_f16, h, "tanh.approx.f16") APPROX("~rel1e-2", tanh_bf16, h, "tanh.approx.bf16")

    // clang-format on

    std::vector<uint64_t> triples() {
  const uint16_t edges[] = {0x0000, 0x8000, 0x3C00, 0xBC00, 0x3F80, 0xBF80, 0x3C01, 0x3F81, 0x0001, 0x8001,
                            0x03FF, 0x83FF, 0x0400, 0x007F, 0x807F, 0x0080, 0x7BFF, 0xFBFF, 0x7C00, 0xFC00,
                            0x7C01, 0x7E00, 0xFE00, 0x7E55, 0xFFFF, 0x7FFF, 0x7F7F, 0xFF7F, 0x7F80, 0xFF80,
                            0x7F81, 0x7FC0, 0xFFC0, 0x7FC5, 0x3800, 0x3F00, 0x4000, 0x4200, 0x4040, 0x6400};
  Random random(3);
  std::vector<uint64_t> table;
  for (int i = 0; i < 512; ++i) {
    uint16_t half[3][2];
    for (auto& pair : half)
      for (uint16_t& v : pair) {
        // The first 96 are moderate in both formats: |f16| about 2^-4..2^4, |bf16| below 2.
        v = i < 96    ? uint16_t((random.word() & 0x83FF) | (11 + random.below(8)) << 10)
            : i < 384 ? edges[random.below(40)]
                      : uint16_t(random.word());
      }
    if (i >= 384 && i < 448)
      for (int k = 0; k < 2; ++k) half[1][k] = half[0][k] ^ (random.word() & 0x8FFF);
    for (auto& pair : half) table.push_back(pair[0] | uint64_t{pair[1]} << 16);
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
