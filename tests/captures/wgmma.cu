// wgmma.mma_async of bf16 and f16: every N, f32 and f16 accumulators, A from shared memory and from registers, both majors,
// negation, scale-d. Inputs are small integers, so every result is exact and a hash must agree.
#include "wgmma_kernels.h"

using namespace capture;

#define FOUR_OF(N, R32, R16)                                          \
  WGMMA_SS(ss_bf16_n##N, N, R32, "k16.f32.bf16.bf16", ", 1, 1, 0, 0") \
  WGMMA_SS(ss_f16_n##N, N, R32, "k16.f32.f16.f16", ", 1, 1, 0, 0")    \
  WGMMA_SS(ss_f16f16_n##N, N, R16, "k16.f16.f16.f16", ", 1, 1, 0, 0") \
  WGMMA_RS(rs_bf16_n##N, N, R32, "k16.f32.bf16.bf16", ", 1, 1, 0")
FOR_EACH_N(FOUR_OF)

struct Entry {
  uint32_t n, registers;
  WgmmaKernel kernel;
};

#define ROW_BF16(N, R32, R16) {N, R32, ss_bf16_n##N},
#define ROW_F16(N, R32, R16) {N, R32, ss_f16_n##N},
#define ROW_F16F16(N, R32, R16) {N, R16, ss_f16f16_n##N},
#define ROW_RS(N, R32, R16) {N, R32, rs_bf16_n##N},
const Entry kSsBf16[] = {FOR_EACH_N(ROW_BF16)};
const Entry kSsF16[] = {FOR_EACH_N(ROW_F16)};
const Entry kSsF16F16[] = {FOR_EACH_N(ROW_F16F16)};
const Entry kRsBf16[] = {FOR_EACH_N(ROW_RS)};

// Majors (transposed operands), negation and the remaining register forms at chosen N.
#define VARIANTS(N, R32, R16)                                               \
  WGMMA_SS(ss_bf16_mn_k_n##N, N, R32, "k16.f32.bf16.bf16", ", 1, 1, 1, 0")  \
  WGMMA_SS(ss_bf16_k_mn_n##N, N, R32, "k16.f32.bf16.bf16", ", 1, 1, 0, 1")  \
  WGMMA_SS(ss_bf16_mn_mn_n##N, N, R32, "k16.f32.bf16.bf16", ", 1, 1, 1, 1") \
  WGMMA_SS(ss_f16_mn_mn_n##N, N, R32, "k16.f32.f16.f16", ", 1, 1, 1, 1")    \
  WGMMA_SS(ss_f16f16_k_mn_n##N, N, R16, "k16.f16.f16.f16", ", 1, 1, 0, 1")  \
  WGMMA_SS(ss_bf16_nega_n##N, N, R32, "k16.f32.bf16.bf16", ", -1, 1, 0, 0") \
  WGMMA_SS(ss_bf16_negb_n##N, N, R32, "k16.f32.bf16.bf16", ", 1, -1, 0, 0") \
  WGMMA_SS(ss_f16_negab_n##N, N, R32, "k16.f32.f16.f16", ", -1, -1, 0, 0")  \
  WGMMA_SS(ss_f16f16_nega_n##N, N, R16, "k16.f16.f16.f16", ", -1, 1, 0, 0") \
  WGMMA_RS(rs_bf16_mn_n##N, N, R32, "k16.f32.bf16.bf16", ", 1, 1, 1")       \
  WGMMA_RS(rs_bf16_nega_n##N, N, R32, "k16.f32.bf16.bf16", ", -1, 1, 0")    \
  WGMMA_RS(rs_f16_n##N, N, R32, "k16.f32.f16.f16", ", 1, 1, 0")             \
  WGMMA_RS(rs_f16f16_mn_n##N, N, R16, "k16.f16.f16.f16", ", 1, 1, 1")
#define FOR_CHOSEN_N(X) X(8, 4, 2) X(64, 32, 16) X(96, 48, 24) X(256, 128, 64)
FOR_CHOSEN_N(VARIANTS)

struct Variant {
  const char* name;
  uint32_t n, registers;
  Half type;
  bool f16_accumulators, a_in_registers, mn_a, mn_b;
  WgmmaKernel kernel;
};
#define ROW_VARIANTS(N, R32, R16)                                                        \
  {"ss-bf16-mn-k", N, R32, kBf16, false, false, true, false, ss_bf16_mn_k_n##N},         \
      {"ss-bf16-k-mn", N, R32, kBf16, false, false, false, true, ss_bf16_k_mn_n##N},     \
      {"ss-bf16-mn-mn", N, R32, kBf16, false, false, true, true, ss_bf16_mn_mn_n##N},    \
      {"ss-f16-mn-mn", N, R32, kF16, false, false, true, true, ss_f16_mn_mn_n##N},       \
      {"ss-f16f16-k-mn", N, R16, kF16, true, false, false, true, ss_f16f16_k_mn_n##N},   \
      {"ss-bf16-neg-a", N, R32, kBf16, false, false, false, false, ss_bf16_nega_n##N},   \
      {"ss-bf16-neg-b", N, R32, kBf16, false, false, false, false, ss_bf16_negb_n##N},   \
      {"ss-f16-neg-ab", N, R32, kF16, false, false, false, false, ss_f16_negab_n##N},    \
      {"ss-f16f16-neg-a", N, R16, kF16, true, false, false, false, ss_f16f16_nega_n##N}, \
      {"rs-bf16-mn", N, R32, kBf16, false, true, false, true, rs_bf16_mn_n##N},          \
      {"rs-bf16-neg-a", N, R32, kBf16, false, true, false, false, rs_bf16_nega_n##N},    \
      {"rs-f16", N, R32, kF16, false, true, false, false, rs_f16_n##N},                  \
      {"rs-f16f16-mn", N, R16, kF16, true, true, false, true, rs_f16f16_mn_n##N},
const Variant kVariants[] = {FOR_CHOSEN_N(ROW_VARIANTS)};

constexpr uint32_t kImageWords = 56 * 1024 / 4;
constexpr uint32_t kBAddress = 16 * 1024;

struct Layout {
  const char* name;
  uint32_t swizzle, leading, stride;
};
// K-major: the leading offset counts only without swizzle. MN-major: both do.
const Layout kKMajor[] = {{"sw128", 1, 16, 1024}, {"none", 0, 128, 256}};
const Layout kMnMajor[] = {
    {"sw128", 1, 4096, 1024}, {"sw64", 2, 2048, 512}, {"sw32", 3, 1024, 256}, {"none", 0, 256, 128}};

Descriptor descriptor(uint32_t address, const Layout& layout) {
  return {address, layout.leading, layout.stride, 0, layout.swizzle};
}

std::vector<uint32_t> accumulators(uint32_t registers, bool f16, uint64_t seed) {
  return f16 ? integer_pairs(128 * registers, kF16, 100, seed) : integer_floats(128 * registers, 1000, seed);
}

void every_n(const char* name, const Entry* entries, size_t count, Half type, bool f16_accumulators) {
  auto image = integer_pairs(kImageWords, type, 7, 1);
  auto a = integer_pairs(512, type, 7, 2);
  for (size_t i = 0; i < count; ++i) {
    const Entry& entry = entries[i];
    for (const Layout& layout : kKMajor) {
      for (uint32_t scale_d : {0u, 1u}) {
        if (scale_d == 0 && entry.n % 64 != 0) continue;
        if (!begin(std::string(name) + "-n" + std::to_string(entry.n) + "-" + layout.name + "-d" +
                   std::to_string(scale_d)))
          continue;
        auto c = accumulators(entry.registers, f16_accumulators, entry.n);
        if (scale_d == 0) c.assign(c.size(), 0x7FC07FC0u);  // NaN accumulators must not show
        print_bulk(run_wgmma(entry.kernel, entry.registers, image, descriptor(0, layout), descriptor(kBAddress, layout),
                             scale_d, c, a),
                   2);
      }
    }
  }
}

void variants() {
  for (const Variant& v : kVariants) {
    auto image = integer_pairs(kImageWords, v.type, 7, 3);
    auto a = integer_pairs(512, v.type, 7, 4);
    auto c = accumulators(v.registers, v.f16_accumulators, v.n);
    const Layout* a_layouts = v.mn_a ? kMnMajor : kKMajor;
    const Layout* b_layouts = v.mn_b ? kMnMajor : kKMajor;
    for (size_t i = 0; i < (v.mn_b ? 4u : 2u); ++i) {
      const Layout& la = a_layouts[v.mn_a ? i : i % 2];
      const Layout& lb = b_layouts[i];
      if (!begin(std::string(v.name) + "-n" + std::to_string(v.n) + "-" + lb.name)) continue;
      print_bulk(run_wgmma(v.kernel, v.registers, image, descriptor(0, la), descriptor(kBAddress, lb), 1, c, a), 2, 2);
    }
  }
}

// ---- chains: four k-steps of one tile, two accumulators in flight, two warpgroups -----------------------------------

struct ChainArgs {
  WgmmaArgs base;
  uint64_t step_a, step_b;  // descriptor advance of one k-step
};

#define CHAIN_MMA(A, B) \
  "wgmma.mma_async.sync.aligned.m64n64k16.f32.bf16.bf16 {" REGS_32 "}, " A ", " B ", s, 1, 1, 0, 0;\n\t"

__global__ void chain_kernel(ChainArgs args) {
  uint64_t base = stage_image(args.base);
  uint64_t a = args.base.desc_a + base + (threadIdx.x / 128) * 512;  // 64 rows of 128 bytes further on
  uint64_t b = args.base.desc_b + base;
  asm volatile(WGMMA_BEGIN(32) CHAIN_MMA("%3", "%7") "setp.eq.b32 s, 0, 0;\n\t" CHAIN_MMA("%4", "%8")
                   CHAIN_MMA("%5", "%9") CHAIN_MMA("%6", "%10") WGMMA_END(32)::"l"(args.base.c + threadIdx.x * 32),
               "l"(args.base.d + threadIdx.x * 32), "r"(args.base.scale_d), "l"(a), "l"(a + args.step_a),
               "l"(a + 2 * args.step_a), "l"(a + 3 * args.step_a), "l"(b), "l"(b + args.step_b),
               "l"(b + 2 * args.step_b), "l"(b + 3 * args.step_b)
               : "memory");
}

// Two groups in flight: the first result is used while the second group still runs.
__global__ void groups_kernel(WgmmaArgs args) {
  uint64_t base = stage_image(args);
  float x[4] = {1, 2, 3, 4}, y[4] = {5, 6, 7, 8};
  asm volatile("wgmma.fence.sync.aligned;"
               : "+f"(x[0]), "+f"(x[1]), "+f"(x[2]), "+f"(x[3]), "+f"(y[0]), "+f"(y[1]), "+f"(y[2]),
                 "+f"(y[3])::"memory");
  asm volatile("wgmma.mma_async.sync.aligned.m64n8k16.f32.bf16.bf16 {%0, %1, %2, %3}, %4, %5, 1, 1, 1, 0, 0;"
               : "+f"(x[0]), "+f"(x[1]), "+f"(x[2]), "+f"(x[3])
               : "l"(args.desc_a + base), "l"(args.desc_b + base));
  asm volatile("wgmma.commit_group.sync.aligned;" ::: "memory");
  asm volatile("wgmma.mma_async.sync.aligned.m64n8k16.f32.bf16.bf16 {%0, %1, %2, %3}, %4, %5, 1, 1, 1, 0, 0;"
               : "+f"(y[0]), "+f"(y[1]), "+f"(y[2]), "+f"(y[3])
               : "l"(args.desc_a + base), "l"(args.desc_b + base + 64));
  asm volatile("wgmma.commit_group.sync.aligned;" ::: "memory");
  asm volatile("wgmma.wait_group.sync.aligned 1;" : "+f"(x[0]), "+f"(x[1]), "+f"(x[2]), "+f"(x[3])::"memory");
  for (int i = 0; i < 4; ++i) args.d[threadIdx.x * 8 + i] = __float_as_uint(x[i]);
  asm volatile("wgmma.wait_group.sync.aligned 0;" : "+f"(y[0]), "+f"(y[1]), "+f"(y[2]), "+f"(y[3])::"memory");
  for (int i = 0; i < 4; ++i) args.d[threadIdx.x * 8 + 4 + i] = __float_as_uint(y[i]);
}

void chains() {
  auto image = integer_pairs(kImageWords, kBf16, 7, 5);
  for (uint32_t warpgroups : {1u, 2u}) {
    if (!begin("chain-4-steps-warpgroups" + std::to_string(warpgroups))) continue;
    Buffer<uint32_t> device_image(image), c(integer_floats(256 * 32, 1000, 6)), d(256 * 32);
    d.fill(0xEE);
    Layout k128 = kKMajor[0];
    ChainArgs args{{reinterpret_cast<const uint4*>(device_image.get()), kImageWords * 4, descriptor(0, k128).bits(),
                    descriptor(kBAddress, k128).bits(), nullptr, c.get(), d.get(), 1},
                   2,
                   2};
    allow_shared(chain_kernel, kImageWords * 4 + 1024);
    chain_kernel<<<1, 128 * warpgroups, kImageWords * 4 + 1024>>>(args);
    sync();
    print_bulk(d.download(), 4, 4);
  }
  if (begin("groups-in-flight")) {
    print_bulk(run_wgmma(groups_kernel, 8, image, descriptor(0, kKMajor[0]), descriptor(kBAddress, kKMajor[0]), 1,
                         std::vector<uint32_t>(1024)),
               8, 4);
  }
}

int main(int argc, char** argv) {
  init(argc, argv);
  CHECK_CUDA(cudaFree(nullptr));
  every_n("ss-bf16", kSsBf16, 32, kBf16, false);
  every_n("ss-f16", kSsF16, 32, kF16, false);
  every_n("ss-f16f16", kSsF16F16, 32, kF16, true);
  every_n("rs-bf16", kRsBf16, 32, kBf16, false);
  variants();
  chains();
}
