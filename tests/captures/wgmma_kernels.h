// Kernels around one wgmma each, for any descriptor: shared memory is filled from a host image, accumulators come from and
// go to global memory in fragment order (thread-major), so a result depends on the instruction alone.
#pragma once

#include "capture.h"
#include "wgmma_registers.h"

struct WgmmaArgs {
  const uint4* image;    // shared memory contents from a 1024-byte aligned base
  uint32_t image_bytes;  // multiple of 16
  uint64_t desc_a;       // matrix descriptors whose address field is relative to that base
  uint64_t desc_b;
  const uint32_t* a;  // A fragments [thread][4], register form only
  const uint32_t* c;  // accumulators in [thread][registers]
  uint32_t* d;        // accumulators out
  uint32_t scale_d;   // 0: D = A*B, 1: D = A*B + D
};

// Descriptor fields, all but the swizzle in bytes (PTX ISA "Matrix descriptor format").
struct Descriptor {
  uint32_t address = 0, leading = 0, stride = 0, base_offset = 0, swizzle = 0;  // swizzle: 0 none, 1 128B, 2 64B, 3 32B
  uint64_t bits() const {
    return uint64_t{address >> 4 & 0x3FFF} | uint64_t{leading >> 4 & 0x3FFF} << 16 |
           uint64_t{stride >> 4 & 0x3FFF} << 32 | uint64_t{base_offset & 7} << 49 | uint64_t{swizzle & 3} << 62;
  }
};

// Copies the image and returns the base's address in descriptor units.
__device__ inline uint64_t stage_image(const WgmmaArgs& args) {
  extern __shared__ unsigned char raw[];
  uint4* base = reinterpret_cast<uint4*>(raw + (1024 - shared_address(raw) % 1024) % 1024);
  for (uint32_t i = threadIdx.x; i < args.image_bytes / 16; i += blockDim.x) base[i] = args.image[i];
  fence_proxy_async();
  __syncthreads();
  return shared_address(base) >> 4;
}

#define WGMMA_BEGIN(R)  \
  "{\n\t"               \
  ".reg .b32 d<" #R     \
  ">;\n\t"              \
  ".reg .b64 p, q;\n\t" \
  ".reg .pred s;\n\t"   \
  "mov.b64 p, %0;\n\t"  \
  "mov.b64 q, %1;\n\t"  \
  "setp.ne.b32 s, %2, 0;\n\t" LOAD_##R "wgmma.fence.sync.aligned;\n\t"
#define WGMMA_END(R)                     \
  "wgmma.commit_group.sync.aligned;\n\t" \
  "wgmma.wait_group.sync.aligned 0;\n\t" STORE_##R "}"

// D[64][N] = A (shared) x B (shared). R: 32-bit registers of the accumulator, SHAPE: "k16.f32.bf16.bf16",
// IMMEDIATES: ", scale_a, scale_b, major_a, major_b" as the shape takes them.
#define WGMMA_SS(NAME, N, R, SHAPE, IMMEDIATES)                                                                     \
  __global__ void NAME(WgmmaArgs args) {                                                                            \
    uint64_t base = stage_image(args);                                                                              \
    asm volatile(WGMMA_BEGIN(R) "wgmma.mma_async.sync.aligned.m64n" #N SHAPE " {" REGS_##R                          \
                 "}, %3, %4, s" IMMEDIATES ";\n\t" WGMMA_END(R)::"l"(args.c + threadIdx.x * R),                     \
                 "l"(args.d + threadIdx.x * R), "r"(args.scale_d), "l"(args.desc_a + base), "l"(args.desc_b + base) \
                 : "memory");                                                                                       \
  }

// D[64][N] = A (registers) x B (shared).
#define WGMMA_RS(NAME, N, R, SHAPE, IMMEDIATES)                                                                \
  __global__ void NAME(WgmmaArgs args) {                                                                       \
    uint64_t base = stage_image(args);                                                                         \
    const uint32_t* a = args.a + threadIdx.x * 4;                                                              \
    asm volatile(WGMMA_BEGIN(R) "wgmma.mma_async.sync.aligned.m64n" #N SHAPE " {" REGS_##R                     \
                 "}, {%3, %4, %5, %6}, %7, s" IMMEDIATES ";\n\t" WGMMA_END(R)::"l"(args.c + threadIdx.x * R),  \
                 "l"(args.d + threadIdx.x * R), "r"(args.scale_d), "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), \
                 "l"(args.desc_b + base)                                                                       \
                 : "memory");                                                                                  \
  }

using WgmmaKernel = void (*)(WgmmaArgs);

// Runs one kernel over host data; `registers` counts 32-bit accumulator registers per thread.
inline std::vector<uint32_t> run_wgmma(WgmmaKernel kernel, uint32_t registers, const std::vector<uint32_t>& image,
                                       const Descriptor& a, const Descriptor& b, uint32_t scale_d,
                                       const std::vector<uint32_t>& accumulators,
                                       const std::vector<uint32_t>& a_registers = std::vector<uint32_t>(512)) {
  capture::Buffer<uint32_t> device_image(image), device_c(accumulators), device_a(a_registers), d(128 * registers);
  d.fill(0xEE);
  WgmmaArgs args{reinterpret_cast<const uint4*>(device_image.get()),
                 uint32_t(image.size() * 4),
                 a.bits(),
                 b.bits(),
                 device_a.get(),
                 device_c.get(),
                 d.get(),
                 scale_d};
  size_t shared = image.size() * 4 + 1024;
  capture::allow_shared(kernel, shared);
  kernel<<<1, 128, shared>>>(args);
  capture::sync();
  return d.download();
}

// Small integers as bf16 or f16 pairs: every sum of products below is exact.
inline uint16_t integer_bf16(int value) {
  float f = float(value);
  uint32_t bits;
  std::memcpy(&bits, &f, 4);
  return uint16_t(bits >> 16);
}
inline uint16_t integer_f16(int value) {
  if (value == 0) return 0;
  float f = float(value);
  uint32_t bits;
  std::memcpy(&bits, &f, 4);
  return uint16_t(bits >> 31 << 15 | (((bits >> 23 & 255) - 112) << 10) | (bits >> 13 & 1023));
}
inline uint32_t integer_f32(int value) {
  float f = float(value);
  uint32_t bits;
  std::memcpy(&bits, &f, 4);
  return bits;
}

enum Half { kBf16, kF16 };

inline std::vector<uint32_t> integer_pairs(size_t words, Half type, int limit, uint64_t seed) {
  capture::Random random(seed);
  std::vector<uint32_t> data(words);
  auto one = [&] {
    int value = int(random.below(2 * limit + 1)) - limit;
    return type == kBf16 ? integer_bf16(value) : integer_f16(value);
  };
  for (uint32_t& w : data) {
    uint32_t low = one();
    w = low | uint32_t(one()) << 16;
  }
  return data;
}

inline std::vector<uint32_t> integer_floats(size_t words, int limit, uint64_t seed) {
  capture::Random random(seed);
  std::vector<uint32_t> data(words);
  for (uint32_t& w : data) w = integer_f32(int(random.below(2 * limit + 1)) - limit);
  return data;
}
