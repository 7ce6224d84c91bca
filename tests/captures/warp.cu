// Warp-wide instructions and barriers: shuffles, votes, match, redux, activemask, elect, divergence, locks per lane, bar.red,
// named barriers, barriers with partial warps. Every result is fixed by the PTX manual; 32 lanes print as words.
#include "capture.h"

using namespace capture;

// A case is a kernel of one warp (or `threads`) that writes `words` results; in[] holds seeded random words.
struct WarpCase {
  const char* name;
  void (*kernel)(const uint32_t* in, uint32_t* out);
  uint32_t threads, words;
};
std::vector<WarpCase>& warp_cases() {
  static std::vector<WarpCase> cases;
  return cases;
}
struct WarpRegistration {
  WarpRegistration(const WarpCase& c) { warp_cases().push_back(c); }
};
#define WARP_CASE(NAME, THREADS, WORDS)                                  \
  __global__ void NAME(const uint32_t* in, uint32_t* out);               \
  const WarpRegistration register_##NAME({#NAME, NAME, THREADS, WORDS}); \
  __global__ void NAME(const uint32_t* in, uint32_t* out)

// ---- shuffles -------------------------------------------------------------------------------------------------------

// b: lane operand, c: clamp and segment mask; the result word's bit 31 flips with the predicate so that both are seen.
#define SHUFFLE(NAME, MODE, B, C, MASK)                                                                      \
  WARP_CASE(shfl_##NAME, 32, 64) {                                                                           \
    uint32_t lane = threadIdx.x, a = in[lane], d = 0, p = 0, b = B, c = C;                                   \
    (void)lane;                                                                                              \
    asm volatile("{.reg .pred p; shfl.sync." MODE ".b32 %0|p, %2, %3, %4, " #MASK "; selp.u32 %1, 1, 0, p;}" \
                 : "=r"(d), "=r"(p)                                                                          \
                 : "r"(a), "r"(b), "r"(c));                                                                  \
    out[threadIdx.x] = d;                                                                                    \
    out[32 + threadIdx.x] = p;                                                                               \
  }
SHUFFLE(idx, "idx", lane * 7 + 3, 31, 0xffffffff)
SHUFFLE(idx_large, "idx", in[lane] >> 8, 31, 0xffffffff)
SHUFFLE(idx_segment8, "idx", lane + 5, 0x1807 | 31, 0xffffffff)
SHUFFLE(idx_segment8_clamp, "idx", lane, (24 << 8) | 3, 0xffffffff)
SHUFFLE(up, "up", lane % 4, 0, 0xffffffff)
SHUFFLE(up_segment16, "up", 3, 16 << 8, 0xffffffff)
SHUFFLE(up_clamp5, "up", 2, 5, 0xffffffff)
SHUFFLE(up_large, "up", 40, 0, 0xffffffff)
SHUFFLE(down, "down", lane % 5, 31, 0xffffffff)
SHUFFLE(down_segment4, "down", 1, (28 << 8) | 31, 0xffffffff)
SHUFFLE(down_clamp20, "down", 3, 20, 0xffffffff)
SHUFFLE(down_large, "down", 33, 31, 0xffffffff)
SHUFFLE(bfly, "bfly", 5, 31, 0xffffffff)
SHUFFLE(bfly_16, "bfly", 16, 31, 0xffffffff)
SHUFFLE(bfly_segment8, "bfly", 12, (24 << 8) | 31, 0xffffffff)
SHUFFLE(bfly_clamp, "bfly", 3, 17, 0xffffffff)
SHUFFLE(bfly_varying, "bfly", lane & 3, 31, 0xffffffff)

// A subset of lanes, named by the mask; the rest writes a mark.
WARP_CASE(shfl_half_warp, 32, 32) {
  uint32_t d = 0xDEAD;
  if (threadIdx.x & 1) d = __shfl_sync(0xAAAAAAAA, in[threadIdx.x], (threadIdx.x + 2) & 31);
  out[threadIdx.x] = d;
}
WARP_CASE(shfl_reduction, 32, 32) {
  uint32_t v = in[threadIdx.x];
  for (int offset = 16; offset; offset /= 2) v += __shfl_xor_sync(~0u, v, offset);
  for (int offset = 1; offset < 32; offset *= 2) {
    uint32_t other = __shfl_up_sync(~0u, v ^ threadIdx.x, offset);
    if (threadIdx.x >= offset) v += other;
  }
  out[threadIdx.x] = v;
}

// ---- votes, match, redux, elect -------------------------------------------------------------------------------------

WARP_CASE(votes, 32, 256) {
  uint32_t lane = threadIdx.x, v = in[lane];
  uint32_t* o = out + lane * 8;
  o[0] = __ballot_sync(~0u, v & 1);
  o[1] = __any_sync(~0u, v == in[9]);
  o[2] = __all_sync(~0u, v != 0);
  uint32_t uni;
  asm volatile("{.reg .pred p, q; setp.ne.u32 p, %1, 0; vote.sync.uni.pred q, p, 0xffffffff; selp.u32 %0, 1, 0, q;}"
               : "=r"(uni)
               : "r"(v & 1));
  o[3] = uni;
  asm volatile("{.reg .pred p, q; setp.ne.u32 p, %1, 0; vote.sync.all.pred q, !p, 0xffffffff; selp.u32 %0, 1, 0, q;}"
               : "=r"(uni)
               : "r"(v & 0));
  o[4] = uni;
  o[5] = lane < 20 ? __ballot_sync(0x000FFFFF, v & 2) : __ballot_sync(0xFFF00000, v & 4);
  o[6] = __activemask();
  o[7] = lane % 3 == 0 ? __ballot_sync(0x49249249, true) : 0;
}
WARP_CASE(match_any, 32, 96) {
  uint32_t lane = threadIdx.x;
  out[lane] = __match_any_sync(~0u, in[lane] % 5);
  out[32 + lane] = __match_any_sync(~0u, (unsigned long long)(in[lane] % 3) << 33 | (lane & 1));
  out[64 + lane] = lane < 10 ? __match_any_sync(0x3FF, lane / 4) : 0;
}
WARP_CASE(match_all, 32, 128) {
  uint32_t lane = threadIdx.x;
  int p, q;
  out[lane] = __match_all_sync(~0u, in[lane] & 0, &p) + p;
  out[32 + lane] = __match_all_sync(~0u, in[lane], &q) + q;
  out[64 + lane] = __match_all_sync(~0u, 1ull << 40, &p);
  out[96 + lane] = lane & 1 ? __match_all_sync(0xAAAAAAAA, lane & 1, &p) : 7;
}
WARP_CASE(redux, 32, 320) {
  uint32_t lane = threadIdx.x, v = in[lane];
  uint32_t* o = out + lane * 10;
  o[0] = __reduce_add_sync(~0u, v);
  o[1] = uint32_t(__reduce_add_sync(~0u, int(v)));
  o[2] = __reduce_min_sync(~0u, v);
  o[3] = uint32_t(__reduce_min_sync(~0u, int(v)));
  o[4] = __reduce_max_sync(~0u, v);
  o[5] = uint32_t(__reduce_max_sync(~0u, int(v)));
  o[6] = __reduce_and_sync(~0u, v | 0xFF00);
  o[7] = __reduce_or_sync(~0u, v & 0xFF00);
  o[8] = __reduce_xor_sync(~0u, v);
  o[9] = lane & 4 ? __reduce_add_sync(0xF0F0F0F0, v) : __reduce_max_sync(0x0F0F0F0F, v);
}
WARP_CASE(elect, 32, 96) {
  uint32_t lane = threadIdx.x, leader, p;
  asm volatile("{.reg .pred p; elect.sync %0|p, 0xffffffff; selp.u32 %1, 1, 0, p;}" : "=r"(leader), "=r"(p));
  out[lane] = leader << 8 | p;
  p = 9;
  if (lane >= 5 && lane < 21) {
    asm volatile("{.reg .pred p; elect.sync %0|p, 0x001fffe0; selp.u32 %1, 1, 0, p;}" : "=r"(leader), "=r"(p));
    p |= leader << 8;
  }
  out[32 + lane] = p;
  asm volatile("{.reg .pred p; elect.sync _|p, 0xffffffff; selp.u32 %0, 1, 0, p;}" : "=r"(p));
  out[64 + lane] = p;
}

// ---- divergence -----------------------------------------------------------------------------------------------------

WARP_CASE(divergent_loops, 64, 64) {
  uint32_t v = in[threadIdx.x & 31], steps = 0;
  while (v > 1 && steps < 60) {
    v = v & 1 ? (v >> 1) + 3 : v >> 1;
    ++steps;
    if ((v ^ threadIdx.x) % 7 == 0) continue;
    if (v % 11 == 3) break;
    v ^= steps;
  }
  __syncwarp();
  out[threadIdx.x] = v * 64 + steps;
}
__device__ __noinline__ uint32_t recurse(uint32_t n, uint32_t seed) {
  if (n == 0) return seed;
  uint32_t left = recurse(n - 1, seed * 3 + 1);
  return n & 1 ? left + recurse(n - 1, left) : left ^ n;
}
WARP_CASE(recursion, 32, 32) { out[threadIdx.x] = recurse(threadIdx.x % 7, in[threadIdx.x]); }
WARP_CASE(switch_table, 32, 32) {
  uint32_t v = in[threadIdx.x];
  switch (v % 9) {
    case 0: v += 1; break;
    case 1: v ^= 0x55; [[fallthrough]];
    case 2: v *= 3; break;
    case 3: v = __brev(v); break;
    case 4: v = __popc(v); break;
    case 6: v = ~v; [[fallthrough]];
    case 7: v >>= 3; break;
    default: v -= 7;
  }
  out[threadIdx.x] = v;
}
__device__ uint32_t double_it(uint32_t x) { return 2 * x; }
__device__ uint32_t negate_it(uint32_t x) { return 0 - x; }
__device__ uint32_t square_it(uint32_t x) { return x * x; }
WARP_CASE(indirect_calls, 32, 32) {
  uint32_t (*table[])(uint32_t) = {double_it, negate_it, square_it};
  out[threadIdx.x] = table[in[threadIdx.x] % 3](in[threadIdx.x]);
}
// Each lane takes the same lock in turn: needs forward progress inside one warp.
WARP_CASE(lock_per_lane, 96, 2) {
  __shared__ uint32_t lock, count, sum;
  if (threadIdx.x == 0) lock = count = sum = 0;
  __syncthreads();
  bool done = false;
  while (!done) {
    if (atomicCAS(&lock, 0, 1) == 0) {
      __threadfence_block();
      volatile uint32_t* c = &count;
      volatile uint32_t* s = &sum;
      *c = *c + 1;
      *s = *s + in[threadIdx.x & 31];
      __threadfence_block();
      atomicExch(&lock, 0);
      done = true;
    }
  }
  __syncthreads();
  if (threadIdx.x == 0) out[0] = count, out[1] = sum;
}
// A blocking spin: lanes wait for the lane above them, in plain code.
WARP_CASE(chain_of_lanes, 32, 32) {
  __shared__ volatile uint32_t ready[33];
  ready[threadIdx.x] = 0;
  if (threadIdx.x == 0) ready[32] = 5;
  __syncwarp();
  while (ready[threadIdx.x + 1] == 0) {
  }
  ready[threadIdx.x] = ready[threadIdx.x + 1] + in[threadIdx.x] % 16;
  __syncwarp();
  out[threadIdx.x] = ready[threadIdx.x];
}
WARP_CASE(syncwarp_subsets, 32, 32) {
  __shared__ uint32_t data[32];
  uint32_t lane = threadIdx.x;
  data[lane] = in[lane];
  if (lane < 16) {
    __syncwarp(0x0000FFFF);
    out[lane] = data[15 - lane];
    __syncwarp(0x0000FFFF);
  } else {
    __syncwarp(0xFFFF0000);
    out[lane] = data[47 - lane] + 1;
    __syncwarp(0xFFFF0000);
  }
}
WARP_CASE(early_exit, 64, 64) {
  if (threadIdx.x % 3 == 1) {
    out[threadIdx.x] = 0xE;
    return;
  }
  out[threadIdx.x] = threadIdx.x < 32 ? __ballot_sync(0x6DB6DB6Du, 1) : 1;
  __syncthreads();
  if (threadIdx.x == 0) out[63] = 0xF;
}

// ---- barriers -------------------------------------------------------------------------------------------------------

WARP_CASE(syncthreads_count, 160, 480) {
  uint32_t v = in[threadIdx.x & 31] >> (threadIdx.x & 7);
  out[3 * threadIdx.x] = __syncthreads_count(v & 1);
  out[3 * threadIdx.x + 1] = __syncthreads_and(v != 3) + 2 * __syncthreads_and(v & 1);
  out[3 * threadIdx.x + 2] = __syncthreads_or(v == 0) + 2 * __syncthreads_or(v & 2);
}
WARP_CASE(bar_red_named, 128, 128) {
  uint32_t d = 0, v = in[threadIdx.x & 31] & 1;
  if (threadIdx.x < 64) {
    asm volatile("{.reg .pred p; setp.ne.u32 p, %1, 0; bar.red.popc.u32 %0, 3, 64, p;}" : "=r"(d) : "r"(v) : "memory");
  } else {
    asm volatile(
        "{.reg .pred p, q; setp.ne.u32 p, %1, 0; barrier.cta.red.or.aligned.pred q, 4, 64, !p; selp.u32 %0, 5, 6, q;}"
        : "=r"(d)
        : "r"(v)
        : "memory");
  }
  out[threadIdx.x] = d;
}
// Producer and consumer warps over two named barriers, arrive on one side and sync on the other.
WARP_CASE(named_arrive_sync, 64, 32) {
  __shared__ uint32_t slot[32];
  uint32_t lane = threadIdx.x & 31, sum = 0;
  for (uint32_t round = 0; round < 6; ++round) {
    if (threadIdx.x < 32) {
      if (round) asm volatile("bar.sync 2, 64;" ::: "memory");
      slot[lane] = in[lane] * (round + 1);
      asm volatile("bar.arrive 1, 64;" ::: "memory");
    } else {
      asm volatile("bar.sync 1, 64;" ::: "memory");
      sum = sum * 5 + slot[31 - lane];
      if (round < 5) asm volatile("bar.arrive 2, 64;" ::: "memory");
    }
  }
  if (threadIdx.x >= 32) out[lane] = sum;
}
WARP_CASE(all_sixteen_barriers, 64, 64) {
  __shared__ uint32_t data[64];
  data[threadIdx.x] = in[threadIdx.x & 31];
  for (uint32_t id = 0; id < 16; ++id) {
    asm volatile("barrier.cta.sync %0, 64;" ::"r"(id) : "memory");
    uint32_t v = data[(threadIdx.x + id) & 63] + id;
    asm volatile("barrier.sync %0;" ::"r"((id + 1) & 15) : "memory");
    data[threadIdx.x] = v;
  }
  __syncthreads();
  out[threadIdx.x] = data[threadIdx.x];
}
WARP_CASE(partial_last_warp, 45, 45) {
  __shared__ uint32_t data[45];
  data[threadIdx.x] = in[threadIdx.x & 31];
  __syncthreads();
  uint32_t v = data[44 - threadIdx.x];
  out[threadIdx.x] = v + __syncthreads_count(v & 1) + (threadIdx.x >= 32 ? __ballot_sync(0x1FFF, v & 1) : 0);
}
// The two sides of a branch reach different barrier instructions with the same name.
WARP_CASE(barrier_in_branches, 64, 64) {
  __shared__ uint32_t data[64];
  data[threadIdx.x] = in[threadIdx.x & 31] + threadIdx.x;
  if (threadIdx.x < 32) {
    asm volatile("barrier.cta.sync 5, 64;" ::: "memory");
    out[threadIdx.x] = data[63 - threadIdx.x];
  } else {
    asm volatile("barrier.cta.sync 5, 64;" ::: "memory");
    out[threadIdx.x] = data[63 - threadIdx.x] * 2;
  }
}

// ---- special registers ----------------------------------------------------------------------------------------------

__global__ void special_registers(uint32_t* out) {
  uint32_t t = threadIdx.x + blockDim.x * (threadIdx.y + blockDim.y * threadIdx.z);
  uint32_t b = blockIdx.x + gridDim.x * (blockIdx.y + gridDim.y * blockIdx.z);
  uint32_t lane, eq, le, lt, ge, gt, dynamic, total, nwarp;
  asm volatile("mov.u32 %0, %%laneid;" : "=r"(lane));
  asm volatile("mov.u32 %0, %%lanemask_eq;" : "=r"(eq));
  asm volatile("mov.u32 %0, %%lanemask_le;" : "=r"(le));
  asm volatile("mov.u32 %0, %%lanemask_lt;" : "=r"(lt));
  asm volatile("mov.u32 %0, %%lanemask_ge;" : "=r"(ge));
  asm volatile("mov.u32 %0, %%lanemask_gt;" : "=r"(gt));
  asm volatile("mov.u32 %0, %%dynamic_smem_size;" : "=r"(dynamic));
  asm volatile("mov.u32 %0, %%nctaid.y;" : "=r"(total));
  asm volatile("mov.u32 %0, %%ntid.z;" : "=r"(nwarp));
  uint32_t* o = out + (b * 30 + t) * 10;
  o[0] = threadIdx.x | threadIdx.y << 8 | threadIdx.z << 16;
  o[1] = blockIdx.x | blockIdx.y << 8 | blockIdx.z << 16;
  o[2] = lane;
  o[3] = eq;
  o[4] = le ^ lt;
  o[5] = ge;
  o[6] = gt;
  o[7] = dynamic;
  o[8] = total | nwarp << 8;
  o[9] = lt;
}

int main(int argc, char** argv) {
  init(argc, argv);
  CHECK_CUDA(cudaFree(nullptr));
  Random random(8);
  std::vector<uint32_t> words(64);
  for (uint32_t& w : words) w = random.word();
  Buffer<uint32_t> in(words);
  for (const WarpCase& c : warp_cases()) {
    if (!begin(c.name)) continue;
    Buffer<uint32_t> out(c.words);
    out.fill(0xEE);
    c.kernel<<<1, c.threads>>>(in.get(), out.get());
    sync();
    auto result = out.download();
    if (c.words <= 64) {
      print_all(result);
    } else {
      print_bulk(result, 12, 4);
    }
  }
  if (begin("special_registers")) {
    Buffer<uint32_t> out(30 * 10 * 8);
    special_registers<<<dim3(2, 2, 2), dim3(5, 3, 2), 512>>>(out.get());
    sync();
    print_bulk(out.download(), 10, 8);
  }
}
