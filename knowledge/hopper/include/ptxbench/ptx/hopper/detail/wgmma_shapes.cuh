// Written by scripts/generate_wgmma_shapes: the asm statements of wgmma.cuh for N = 8, 16, ... 256.
// PTXBENCH_LIST_n and PTXBENCH_SUMS_n are the first n sum registers as text and as operands; each builds on the one before.
#pragma once

#include <cstdint>

#define PTXBENCH_LIST_4 "%0, %1, %2, %3"
#define PTXBENCH_SUMS_4 "+f"(d[0]), "+f"(d[1]), "+f"(d[2]), "+f"(d[3])
#define PTXBENCH_LIST_8 PTXBENCH_LIST_4 ", %4, %5, %6, %7"
#define PTXBENCH_SUMS_8 PTXBENCH_SUMS_4, "+f"(d[4]), "+f"(d[5]), "+f"(d[6]), "+f"(d[7])
#define PTXBENCH_LIST_12 PTXBENCH_LIST_8 ", %8, %9, %10, %11"
#define PTXBENCH_SUMS_12 PTXBENCH_SUMS_8, "+f"(d[8]), "+f"(d[9]), "+f"(d[10]), "+f"(d[11])
#define PTXBENCH_LIST_16 PTXBENCH_LIST_12 ", %12, %13, %14, %15"
#define PTXBENCH_SUMS_16 PTXBENCH_SUMS_12, "+f"(d[12]), "+f"(d[13]), "+f"(d[14]), "+f"(d[15])
#define PTXBENCH_LIST_20 PTXBENCH_LIST_16 ", %16, %17, %18, %19"
#define PTXBENCH_SUMS_20 PTXBENCH_SUMS_16, "+f"(d[16]), "+f"(d[17]), "+f"(d[18]), "+f"(d[19])
#define PTXBENCH_LIST_24 PTXBENCH_LIST_20 ", %20, %21, %22, %23"
#define PTXBENCH_SUMS_24 PTXBENCH_SUMS_20, "+f"(d[20]), "+f"(d[21]), "+f"(d[22]), "+f"(d[23])
#define PTXBENCH_LIST_28 PTXBENCH_LIST_24 ", %24, %25, %26, %27"
#define PTXBENCH_SUMS_28 PTXBENCH_SUMS_24, "+f"(d[24]), "+f"(d[25]), "+f"(d[26]), "+f"(d[27])
#define PTXBENCH_LIST_32 PTXBENCH_LIST_28 ", %28, %29, %30, %31"
#define PTXBENCH_SUMS_32 PTXBENCH_SUMS_28, "+f"(d[28]), "+f"(d[29]), "+f"(d[30]), "+f"(d[31])
#define PTXBENCH_LIST_36 PTXBENCH_LIST_32 ", %32, %33, %34, %35"
#define PTXBENCH_SUMS_36 PTXBENCH_SUMS_32, "+f"(d[32]), "+f"(d[33]), "+f"(d[34]), "+f"(d[35])
#define PTXBENCH_LIST_40 PTXBENCH_LIST_36 ", %36, %37, %38, %39"
#define PTXBENCH_SUMS_40 PTXBENCH_SUMS_36, "+f"(d[36]), "+f"(d[37]), "+f"(d[38]), "+f"(d[39])
#define PTXBENCH_LIST_44 PTXBENCH_LIST_40 ", %40, %41, %42, %43"
#define PTXBENCH_SUMS_44 PTXBENCH_SUMS_40, "+f"(d[40]), "+f"(d[41]), "+f"(d[42]), "+f"(d[43])
#define PTXBENCH_LIST_48 PTXBENCH_LIST_44 ", %44, %45, %46, %47"
#define PTXBENCH_SUMS_48 PTXBENCH_SUMS_44, "+f"(d[44]), "+f"(d[45]), "+f"(d[46]), "+f"(d[47])
#define PTXBENCH_LIST_52 PTXBENCH_LIST_48 ", %48, %49, %50, %51"
#define PTXBENCH_SUMS_52 PTXBENCH_SUMS_48, "+f"(d[48]), "+f"(d[49]), "+f"(d[50]), "+f"(d[51])
#define PTXBENCH_LIST_56 PTXBENCH_LIST_52 ", %52, %53, %54, %55"
#define PTXBENCH_SUMS_56 PTXBENCH_SUMS_52, "+f"(d[52]), "+f"(d[53]), "+f"(d[54]), "+f"(d[55])
#define PTXBENCH_LIST_60 PTXBENCH_LIST_56 ", %56, %57, %58, %59"
#define PTXBENCH_SUMS_60 PTXBENCH_SUMS_56, "+f"(d[56]), "+f"(d[57]), "+f"(d[58]), "+f"(d[59])
#define PTXBENCH_LIST_64 PTXBENCH_LIST_60 ", %60, %61, %62, %63"
#define PTXBENCH_SUMS_64 PTXBENCH_SUMS_60, "+f"(d[60]), "+f"(d[61]), "+f"(d[62]), "+f"(d[63])
#define PTXBENCH_LIST_68 PTXBENCH_LIST_64 ", %64, %65, %66, %67"
#define PTXBENCH_SUMS_68 PTXBENCH_SUMS_64, "+f"(d[64]), "+f"(d[65]), "+f"(d[66]), "+f"(d[67])
#define PTXBENCH_LIST_72 PTXBENCH_LIST_68 ", %68, %69, %70, %71"
#define PTXBENCH_SUMS_72 PTXBENCH_SUMS_68, "+f"(d[68]), "+f"(d[69]), "+f"(d[70]), "+f"(d[71])
#define PTXBENCH_LIST_76 PTXBENCH_LIST_72 ", %72, %73, %74, %75"
#define PTXBENCH_SUMS_76 PTXBENCH_SUMS_72, "+f"(d[72]), "+f"(d[73]), "+f"(d[74]), "+f"(d[75])
#define PTXBENCH_LIST_80 PTXBENCH_LIST_76 ", %76, %77, %78, %79"
#define PTXBENCH_SUMS_80 PTXBENCH_SUMS_76, "+f"(d[76]), "+f"(d[77]), "+f"(d[78]), "+f"(d[79])
#define PTXBENCH_LIST_84 PTXBENCH_LIST_80 ", %80, %81, %82, %83"
#define PTXBENCH_SUMS_84 PTXBENCH_SUMS_80, "+f"(d[80]), "+f"(d[81]), "+f"(d[82]), "+f"(d[83])
#define PTXBENCH_LIST_88 PTXBENCH_LIST_84 ", %84, %85, %86, %87"
#define PTXBENCH_SUMS_88 PTXBENCH_SUMS_84, "+f"(d[84]), "+f"(d[85]), "+f"(d[86]), "+f"(d[87])
#define PTXBENCH_LIST_92 PTXBENCH_LIST_88 ", %88, %89, %90, %91"
#define PTXBENCH_SUMS_92 PTXBENCH_SUMS_88, "+f"(d[88]), "+f"(d[89]), "+f"(d[90]), "+f"(d[91])
#define PTXBENCH_LIST_96 PTXBENCH_LIST_92 ", %92, %93, %94, %95"
#define PTXBENCH_SUMS_96 PTXBENCH_SUMS_92, "+f"(d[92]), "+f"(d[93]), "+f"(d[94]), "+f"(d[95])
#define PTXBENCH_LIST_100 PTXBENCH_LIST_96 ", %96, %97, %98, %99"
#define PTXBENCH_SUMS_100 PTXBENCH_SUMS_96, "+f"(d[96]), "+f"(d[97]), "+f"(d[98]), "+f"(d[99])
#define PTXBENCH_LIST_104 PTXBENCH_LIST_100 ", %100, %101, %102, %103"
#define PTXBENCH_SUMS_104 PTXBENCH_SUMS_100, "+f"(d[100]), "+f"(d[101]), "+f"(d[102]), "+f"(d[103])
#define PTXBENCH_LIST_108 PTXBENCH_LIST_104 ", %104, %105, %106, %107"
#define PTXBENCH_SUMS_108 PTXBENCH_SUMS_104, "+f"(d[104]), "+f"(d[105]), "+f"(d[106]), "+f"(d[107])
#define PTXBENCH_LIST_112 PTXBENCH_LIST_108 ", %108, %109, %110, %111"
#define PTXBENCH_SUMS_112 PTXBENCH_SUMS_108, "+f"(d[108]), "+f"(d[109]), "+f"(d[110]), "+f"(d[111])
#define PTXBENCH_LIST_116 PTXBENCH_LIST_112 ", %112, %113, %114, %115"
#define PTXBENCH_SUMS_116 PTXBENCH_SUMS_112, "+f"(d[112]), "+f"(d[113]), "+f"(d[114]), "+f"(d[115])
#define PTXBENCH_LIST_120 PTXBENCH_LIST_116 ", %116, %117, %118, %119"
#define PTXBENCH_SUMS_120 PTXBENCH_SUMS_116, "+f"(d[116]), "+f"(d[117]), "+f"(d[118]), "+f"(d[119])
#define PTXBENCH_LIST_124 PTXBENCH_LIST_120 ", %120, %121, %122, %123"
#define PTXBENCH_SUMS_124 PTXBENCH_SUMS_120, "+f"(d[120]), "+f"(d[121]), "+f"(d[122]), "+f"(d[123])
#define PTXBENCH_LIST_128 PTXBENCH_LIST_124 ", %124, %125, %126, %127"
#define PTXBENCH_SUMS_128 PTXBENCH_SUMS_124, "+f"(d[124]), "+f"(d[125]), "+f"(d[126]), "+f"(d[127])

// The numbers are those of the operands behind the sums. Shared: descriptors of A and B, accumulate, A and B MN-major.
// Registers: the fragment of A, descriptor of B, accumulate, B MN-major. The two ones are the signs of A and B.
#define PTXBENCH_WGMMA(n, sums, p0, p1, p2, p3, p4, p5, p6)                                                \
  template <int kMajorA, int kMajorB>                                                                      \
  __device__ __forceinline__ void wgmma_shared(float (&d)[sums], uint64_t a, uint64_t b, int accumulate) { \
    asm volatile("{\n.reg .pred p;\nsetp.ne.b32 p, %" #p2                                                  \
                 ", 0;\nwgmma.mma_async.sync.aligned.m64n" #n                                              \
                 "k16.f32.bf16.bf16 {" PTXBENCH_LIST_##sums "}, %" #p0 ", %" #p1 ", p, 1, 1, %" #p3         \
                 ", %" #p4 ";\n}\n"                                                                        \
                 : PTXBENCH_SUMS_##sums                                                                    \
                 : "l"(a), "l"(b), "r"(accumulate), "n"(kMajorA), "n"(kMajorB));                           \
  }                                                                                                        \
  template <int kMajorB>                                                                                   \
  __device__ __forceinline__ void wgmma_registers(float (&d)[sums], const uint32_t* a, uint64_t b,         \
                                                  int accumulate) {                                        \
    asm volatile("{\n.reg .pred p;\nsetp.ne.b32 p, %" #p5                                                  \
                 ", 0;\nwgmma.mma_async.sync.aligned.m64n" #n                                              \
                 "k16.f32.bf16.bf16 {" PTXBENCH_LIST_##sums "}, {%" #p0 ", %" #p1 ", %" #p2 ", %" #p3       \
                 "}, %" #p4 ", p, 1, 1, %" #p6 ";\n}\n"                                                    \
                 : PTXBENCH_SUMS_##sums                                                                    \
                 : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "l"(b), "r"(accumulate), "n"(kMajorB));     \
  }

namespace ptxbench::ptx::detail {

PTXBENCH_WGMMA(8, 4, 4, 5, 6, 7, 8, 9, 10)
PTXBENCH_WGMMA(16, 8, 8, 9, 10, 11, 12, 13, 14)
PTXBENCH_WGMMA(24, 12, 12, 13, 14, 15, 16, 17, 18)
PTXBENCH_WGMMA(32, 16, 16, 17, 18, 19, 20, 21, 22)
PTXBENCH_WGMMA(40, 20, 20, 21, 22, 23, 24, 25, 26)
PTXBENCH_WGMMA(48, 24, 24, 25, 26, 27, 28, 29, 30)
PTXBENCH_WGMMA(56, 28, 28, 29, 30, 31, 32, 33, 34)
PTXBENCH_WGMMA(64, 32, 32, 33, 34, 35, 36, 37, 38)
PTXBENCH_WGMMA(72, 36, 36, 37, 38, 39, 40, 41, 42)
PTXBENCH_WGMMA(80, 40, 40, 41, 42, 43, 44, 45, 46)
PTXBENCH_WGMMA(88, 44, 44, 45, 46, 47, 48, 49, 50)
PTXBENCH_WGMMA(96, 48, 48, 49, 50, 51, 52, 53, 54)
PTXBENCH_WGMMA(104, 52, 52, 53, 54, 55, 56, 57, 58)
PTXBENCH_WGMMA(112, 56, 56, 57, 58, 59, 60, 61, 62)
PTXBENCH_WGMMA(120, 60, 60, 61, 62, 63, 64, 65, 66)
PTXBENCH_WGMMA(128, 64, 64, 65, 66, 67, 68, 69, 70)
PTXBENCH_WGMMA(136, 68, 68, 69, 70, 71, 72, 73, 74)
PTXBENCH_WGMMA(144, 72, 72, 73, 74, 75, 76, 77, 78)
PTXBENCH_WGMMA(152, 76, 76, 77, 78, 79, 80, 81, 82)
PTXBENCH_WGMMA(160, 80, 80, 81, 82, 83, 84, 85, 86)
PTXBENCH_WGMMA(168, 84, 84, 85, 86, 87, 88, 89, 90)
PTXBENCH_WGMMA(176, 88, 88, 89, 90, 91, 92, 93, 94)
PTXBENCH_WGMMA(184, 92, 92, 93, 94, 95, 96, 97, 98)
PTXBENCH_WGMMA(192, 96, 96, 97, 98, 99, 100, 101, 102)
PTXBENCH_WGMMA(200, 100, 100, 101, 102, 103, 104, 105, 106)
PTXBENCH_WGMMA(208, 104, 104, 105, 106, 107, 108, 109, 110)
PTXBENCH_WGMMA(216, 108, 108, 109, 110, 111, 112, 113, 114)
PTXBENCH_WGMMA(224, 112, 112, 113, 114, 115, 116, 117, 118)
PTXBENCH_WGMMA(232, 116, 116, 117, 118, 119, 120, 121, 122)
PTXBENCH_WGMMA(240, 120, 120, 121, 122, 123, 124, 125, 126)
PTXBENCH_WGMMA(248, 124, 124, 125, 126, 127, 128, 129, 130)
PTXBENCH_WGMMA(256, 128, 128, 129, 130, 131, 132, 133, 134)

}  // namespace ptxbench::ptx::detail

#undef PTXBENCH_WGMMA
#undef PTXBENCH_LIST_4
#undef PTXBENCH_SUMS_4
#undef PTXBENCH_LIST_8
#undef PTXBENCH_SUMS_8
#undef PTXBENCH_LIST_12
#undef PTXBENCH_SUMS_12
#undef PTXBENCH_LIST_16
#undef PTXBENCH_SUMS_16
#undef PTXBENCH_LIST_20
#undef PTXBENCH_SUMS_20
#undef PTXBENCH_LIST_24
#undef PTXBENCH_SUMS_24
#undef PTXBENCH_LIST_28
#undef PTXBENCH_SUMS_28
#undef PTXBENCH_LIST_32
#undef PTXBENCH_SUMS_32
#undef PTXBENCH_LIST_36
#undef PTXBENCH_SUMS_36
#undef PTXBENCH_LIST_40
#undef PTXBENCH_SUMS_40
#undef PTXBENCH_LIST_44
#undef PTXBENCH_SUMS_44
#undef PTXBENCH_LIST_48
#undef PTXBENCH_SUMS_48
#undef PTXBENCH_LIST_52
#undef PTXBENCH_SUMS_52
#undef PTXBENCH_LIST_56
#undef PTXBENCH_SUMS_56
#undef PTXBENCH_LIST_60
#undef PTXBENCH_SUMS_60
#undef PTXBENCH_LIST_64
#undef PTXBENCH_SUMS_64
#undef PTXBENCH_LIST_68
#undef PTXBENCH_SUMS_68
#undef PTXBENCH_LIST_72
#undef PTXBENCH_SUMS_72
#undef PTXBENCH_LIST_76
#undef PTXBENCH_SUMS_76
#undef PTXBENCH_LIST_80
#undef PTXBENCH_SUMS_80
#undef PTXBENCH_LIST_84
#undef PTXBENCH_SUMS_84
#undef PTXBENCH_LIST_88
#undef PTXBENCH_SUMS_88
#undef PTXBENCH_LIST_92
#undef PTXBENCH_SUMS_92
#undef PTXBENCH_LIST_96
#undef PTXBENCH_SUMS_96
#undef PTXBENCH_LIST_100
#undef PTXBENCH_SUMS_100
#undef PTXBENCH_LIST_104
#undef PTXBENCH_SUMS_104
#undef PTXBENCH_LIST_108
#undef PTXBENCH_SUMS_108
#undef PTXBENCH_LIST_112
#undef PTXBENCH_SUMS_112
#undef PTXBENCH_LIST_116
#undef PTXBENCH_SUMS_116
#undef PTXBENCH_LIST_120
#undef PTXBENCH_SUMS_120
#undef PTXBENCH_LIST_124
#undef PTXBENCH_SUMS_124
#undef PTXBENCH_LIST_128
#undef PTXBENCH_SUMS_128
