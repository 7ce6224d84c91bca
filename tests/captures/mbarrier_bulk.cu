// mbarrier objects (documented properties only, never the opaque bits) and the bulk copies that complete on them or on bulk
// groups: cp.async.bulk in every direction of one CTA, cp.reduce.async.bulk, commit and wait.
// Source: PTX ISA "mbarrier", "cp.async.bulk", "cp.reduce.async.bulk".
#include "capture.h"

using namespace capture;

// ---- mbarrier -------------------------------------------------------------------------------------------------------

__device__ uint64_t arrive(uint32_t bar) {
  uint64_t state;
  asm volatile("mbarrier.arrive.shared::cta.b64 %0, [%1];" : "=l"(state) : "r"(bar) : "memory");
  return state;
}
__device__ uint64_t arrive_n(uint32_t bar, uint32_t n) {
  uint64_t state;
  asm volatile("mbarrier.arrive.release.cta.shared::cta.b64 %0, [%1], %2;" : "=l"(state) : "r"(bar), "r"(n) : "memory");
  return state;
}
__device__ uint64_t arrive_no_complete(uint32_t bar, uint32_t n) {
  uint64_t state;
  asm volatile("mbarrier.arrive.noComplete.shared::cta.b64 %0, [%1], %2;" : "=l"(state) : "r"(bar), "r"(n) : "memory");
  return state;
}
__device__ uint64_t arrive_drop(uint32_t bar, uint32_t n) {
  uint64_t state;
  asm volatile("mbarrier.arrive_drop.shared::cta.b64 %0, [%1], %2;" : "=l"(state) : "r"(bar), "r"(n) : "memory");
  return state;
}
__device__ void expect_tx(uint32_t bar, uint32_t bytes) {
  asm volatile("mbarrier.expect_tx.relaxed.cta.shared::cta.b64 [%0], %1;" ::"r"(bar), "r"(bytes) : "memory");
}
__device__ void complete_tx(uint32_t bar, uint32_t bytes) {
  asm volatile("mbarrier.complete_tx.relaxed.cta.shared::cta.b64 [%0], %1;" ::"r"(bar), "r"(bytes) : "memory");
}
__device__ uint32_t pending(uint64_t state) {
  uint32_t n;
  asm volatile("mbarrier.pending_count.b64 %0, %1;" : "=r"(n) : "l"(state));
  return n;
}
__device__ uint32_t test_parity(uint32_t bar, uint32_t parity) {
  uint32_t done;
  asm volatile("{.reg .pred p; mbarrier.test_wait.parity.shared::cta.b64 p, [%1], %2; selp.u32 %0, 1, 0, p;}"
               : "=r"(done)
               : "r"(bar), "r"(parity)
               : "memory");
  return done;
}
__device__ uint32_t test_state(uint32_t bar, uint64_t state) {
  uint32_t done;
  asm volatile("{.reg .pred p; mbarrier.test_wait.shared::cta.b64 p, [%1], %2; selp.u32 %0, 1, 0, p;}"
               : "=r"(done)
               : "r"(bar), "l"(state)
               : "memory");
  return done;
}
__device__ uint32_t try_state(uint32_t bar, uint64_t state) {
  uint32_t done;
  asm volatile("{.reg .pred p; mbarrier.try_wait.shared::cta.b64 p, [%1], %2, 0x100; selp.u32 %0, 1, 0, p;}"
               : "=r"(done)
               : "r"(bar), "l"(state)
               : "memory");
  return done;
}
// Both parities as a two-bit number: bit 0 answers "phase 0 done?", bit 1 "phase 1 done?".
__device__ uint32_t parities(uint32_t bar) { return test_parity(bar, 0) | test_parity(bar, 1) << 1; }

struct Log {
  uint32_t* out;
  __device__ void put(uint32_t word) { *out++ = word; }
};

#define MBARRIER_CASE(NAME)                                           \
  __device__ void NAME##_body(uint32_t bar, Log& log);                \
  __global__ void NAME(uint32_t* out) {                               \
    __shared__ __align__(8) uint64_t storage;                         \
    Log log{out};                                                     \
    if (threadIdx.x == 0) NAME##_body(shared_address(&storage), log); \
  }                                                                   \
  __device__ void NAME##_body(uint32_t bar, Log& log)

MBARRIER_CASE(count_3) {
  mbarrier_init(bar, 3);
  for (int i = 0; i < 9; ++i) {
    log.put(parities(bar));
    uint64_t state = arrive(bar);
    log.put(pending(state));
    log.put(test_state(bar, state));
  }
  log.put(parities(bar));
}

MBARRIER_CASE(count_1) {
  mbarrier_init(bar, 1);
  for (int i = 0; i < 5; ++i) {
    log.put(parities(bar));
    uint64_t state = arrive(bar);
    log.put(pending(state) << 8 | test_state(bar, state) << 4 | try_state(bar, state));
  }
}

MBARRIER_CASE(arrive_counts) {
  mbarrier_init(bar, 10);
  for (uint32_t n : {4u, 5u, 1u, 10u, 3u, 7u}) {
    uint64_t state = arrive_n(bar, n);
    log.put(pending(state) << 8 | test_state(bar, state) << 4 | parities(bar));
  }
}

MBARRIER_CASE(no_complete) {
  mbarrier_init(bar, 8);
  uint64_t first = arrive_no_complete(bar, 3), second = arrive_no_complete(bar, 4);
  log.put(pending(first));
  log.put(pending(second));
  log.put(parities(bar));
  uint64_t last = arrive(bar);
  log.put(pending(last) << 8 | test_state(bar, last) << 4 | parities(bar));
  log.put(test_state(bar, first));
}

MBARRIER_CASE(drop) {
  mbarrier_init(bar, 5);
  uint64_t a = arrive_drop(bar, 2);
  log.put(pending(a) << 4 | parities(bar));
  uint64_t b = arrive_n(bar, 3);
  log.put(pending(b) << 4 | parities(bar));
  // The next phase expects 3 arrivals.
  for (int i = 0; i < 6; ++i) {
    uint64_t c = arrive(bar);
    log.put(pending(c) << 4 | parities(bar));
  }
}

MBARRIER_CASE(transactions) {
  mbarrier_init(bar, 1);
  expect_tx(bar, 64);
  log.put(parities(bar));
  uint64_t state = arrive(bar);
  log.put(parities(bar) << 4 | test_state(bar, state));
  complete_tx(bar, 48);
  log.put(parities(bar));
  complete_tx(bar, 16);
  log.put(parities(bar) << 4 | test_state(bar, state));
  // Transactions before the arrival, in the second phase.
  expect_tx(bar, 1048575 - 15);
  complete_tx(bar, 1048575 - 15);
  log.put(parities(bar));
  arrive(bar);
  log.put(parities(bar));
  // arrive.expect_tx in one.
  mbarrier_arrive_expect_tx(bar, 32);
  log.put(parities(bar));
  complete_tx(bar, 32);
  log.put(parities(bar));
  // Completion ahead of its expectation, within one phase.
  complete_tx(bar, 8);
  log.put(parities(bar));
  expect_tx(bar, 8);
  log.put(parities(bar));
  arrive(bar);
  log.put(parities(bar));
}

MBARRIER_CASE(invalidate_and_reuse) {
  mbarrier_init(bar, 2);
  arrive(bar);
  asm volatile("mbarrier.inval.shared::cta.b64 [%0];" ::"r"(bar) : "memory");
  mbarrier_init(bar, 1);
  log.put(parities(bar));
  arrive(bar);
  log.put(parities(bar));
}

MBARRIER_CASE(largest_count) {
  const uint32_t most = (1u << 20) - 1;
  mbarrier_init(bar, most);
  uint64_t a = arrive_n(bar, most - 1);
  log.put(pending(a));
  log.put(parities(bar));
  arrive(bar);
  log.put(parities(bar));
}

// Whole warps arrive, phase after phase. (The states are not shown: the hardware counts a warp's arrivals as one step, so
// all lanes of a warp get the same pending count; PTX promises neither that nor one step each.)
__global__ void many_threads(uint32_t* out) {
  __shared__ __align__(8) uint64_t storage;
  uint32_t bar = shared_address(&storage);
  if (threadIdx.x == 0) mbarrier_init(bar, blockDim.x);
  __syncthreads();
  for (uint32_t phase = 0; phase < 3; ++phase) {
    arrive(bar);
    mbarrier_wait(bar, phase & 1);
    __syncthreads();
    if (threadIdx.x == 0) out[phase] = parities(bar);
    __syncthreads();
  }
}

// One producer warp and three consumer warps around a ring of four stages, with full and empty barriers.
__global__ void ring(const uint32_t* in, uint32_t* out, uint32_t chunks) {
  __shared__ __align__(16) uint32_t stages[4][64];
  __shared__ __align__(8) uint64_t full[4], empty[4];
  if (threadIdx.x == 0)
    for (int i = 0; i < 4; ++i) {
      mbarrier_init(shared_address(&full[i]), 1);
      mbarrier_init(shared_address(&empty[i]), 96);
    }
  fence_proxy_async();
  __syncthreads();
  if (threadIdx.x < 32) {
    if (threadIdx.x == 0)
      for (uint32_t i = 0; i < chunks; ++i) {
        uint32_t stage = i % 4, use = i / 4;
        mbarrier_wait(shared_address(&empty[stage]), (use & 1) ^ 1);
        mbarrier_arrive_expect_tx(shared_address(&full[stage]), 256);
        asm volatile("cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes [%0], [%1], 256, [%2];" ::"r"(
                         shared_address(stages[stage])),
                     "l"(in + i * 64), "r"(shared_address(&full[stage]))
                     : "memory");
      }
  } else {
    uint32_t t = threadIdx.x - 32, hash = t;
    for (uint32_t i = 0; i < chunks; ++i) {
      uint32_t stage = i % 4, use = i / 4;
      mbarrier_wait(shared_address(&full[stage]), use & 1);
      hash = hash * 31 + stages[stage][t % 64];
      arrive(shared_address(&empty[stage]));
    }
    out[t] = hash;
  }
}

// cp.async completing on an mbarrier, with and without its own arrival counted.
__global__ void cp_async_arrive(const uint4* in, uint4* out, uint32_t* flags) {
  __shared__ __align__(16) uint4 data[64];
  __shared__ __align__(8) uint64_t storage[2];
  uint32_t bar = shared_address(&storage[0]), bar2 = shared_address(&storage[1]);
  if (threadIdx.x == 0) {
    mbarrier_init(bar, 32);   // 32 plain arrivals; each asynchronous one adds and takes its own
    mbarrier_init(bar2, 32);  // .noinc: only the asynchronous arrivals
  }
  __syncthreads();
  asm volatile("cp.async.cg.shared.global [%0], [%1], 16;" ::"r"(shared_address(&data[threadIdx.x])),
               "l"(in + threadIdx.x)
               : "memory");
  asm volatile("cp.async.mbarrier.arrive.shared::cta.b64 [%0];" ::"r"(bar) : "memory");
  arrive(bar);
  mbarrier_wait(bar, 0);
  out[threadIdx.x] = data[31 - threadIdx.x];
  asm volatile("cp.async.ca.shared.global [%0], [%1], 16;" ::"r"(shared_address(&data[32 + threadIdx.x])),
               "l"(in + 32 + threadIdx.x)
               : "memory");
  asm volatile("cp.async.mbarrier.arrive.noinc.shared::cta.b64 [%0];" ::"r"(bar2) : "memory");
  mbarrier_wait(bar2, 0);
  out[32 + threadIdx.x] = data[32 + 31 - threadIdx.x];
  __syncwarp();
  if (threadIdx.x == 0) {
    flags[0] = parities(bar);
    flags[1] = parities(bar2);
  }
}

void barriers() {
  struct {
    const char* name;
    void (*kernel)(uint32_t*);
    uint32_t threads, words;
  } const cases[] = {{"count-3", count_3, 32, 28},
                     {"count-1", count_1, 32, 10},
                     {"arrive-counts", arrive_counts, 32, 6},
                     {"no-complete", no_complete, 32, 5},
                     {"drop", drop, 32, 8},
                     {"transactions", transactions, 32, 11},
                     {"invalidate-and-reuse", invalidate_and_reuse, 32, 2},
                     {"largest-count", largest_count, 32, 3},
                     {"many-threads", many_threads, 160, 3}};
  for (const auto& c : cases) {
    if (!begin(std::string("mbarrier-") + c.name)) continue;
    Buffer<uint32_t> out(c.words);
    c.kernel<<<1, c.threads>>>(out.get());
    sync();
    print_all(out.download());
  }
  Random random(1);
  std::vector<uint32_t> data(64 * 40);
  for (uint32_t& w : data) w = random.word();
  for (uint32_t chunks : {1u, 4u, 5u, 37u}) {
    if (!begin("mbarrier-ring-" + std::to_string(chunks))) continue;
    Buffer<uint32_t> in(data), out(96);
    ring<<<1, 128>>>(in.get(), out.get(), chunks);
    sync();
    print_bulk(out.download(), 4, 3);
  }
  if (begin("mbarrier-cp-async-arrive")) {
    Buffer<uint32_t> in(data), out(256), flags(2);
    cp_async_arrive<<<1, 32>>>(reinterpret_cast<uint4*>(in.get()), reinterpret_cast<uint4*>(out.get()), flags.get());
    sync();
    auto words = flags.download(), rest = out.download();
    words.insert(words.end(), rest.begin(), rest.end());
    print_bulk(words, 4, 2);
  }
}

// ---- bulk copies ----------------------------------------------------------------------------------------------------

constexpr uint32_t kWords = 4096;  // of shared memory

struct BulkArgs {
  const uint32_t* image;  // first contents of shared memory
  char* global;
  uint32_t* out;  // last contents of shared memory
  uint32_t to, from, bytes;
};

// A copy from shared to shared memory is an illegal instruction in a kernel that was not launched as a cluster (one block
// is enough), so these kernels have an explicit cluster of one.
#define BULK_KERNEL(NAME, BODY) BULK_KERNEL_WITH(, NAME, BODY)
#define BULK_CLUSTER_KERNEL(NAME, BODY) BULK_KERNEL_WITH(__cluster_dims__(1), NAME, BODY)
#define BULK_KERNEL_WITH(ATTRIBUTES, NAME, BODY)                                          \
  __global__ void ATTRIBUTES NAME(BulkArgs args) {                                        \
    __shared__ __align__(128) uint32_t image[kWords];                                     \
    __shared__ __align__(8) uint64_t storage;                                             \
    uint32_t bar = shared_address(&storage), base = shared_address(image);                \
    for (uint32_t i = threadIdx.x; i < kWords; i += blockDim.x) image[i] = args.image[i]; \
    if (threadIdx.x == 0) mbarrier_init(bar, 1);                                          \
    fence_proxy_async();                                                                  \
    __syncthreads();                                                                      \
    BODY;                                                                                 \
    __syncthreads();                                                                      \
    for (uint32_t i = threadIdx.x; i < kWords; i += blockDim.x) args.out[i] = image[i];   \
    (void)bar, (void)base;                                                                \
  }
#define ON_BARRIER(ASM, ...)                                         \
  if (threadIdx.x == 0) {                                            \
    mbarrier_arrive_expect_tx(bar, args.bytes);                      \
    asm volatile(ASM ::"r"(base + args.to), __VA_ARGS__ : "memory"); \
  }                                                                  \
  mbarrier_wait(bar, 0)
#define ON_GROUP(ASM)                                                                                  \
  if (threadIdx.x == 0) {                                                                              \
    asm volatile(ASM ::"l"(args.global + args.to), "r"(base + args.from), "r"(args.bytes) : "memory"); \
    asm volatile("cp.async.bulk.commit_group;\n\tcp.async.bulk.wait_group 0;" ::: "memory");           \
  }

BULK_KERNEL(g2s, ON_BARRIER("cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes [%0], [%1], %2, [%3];",
                            "l"(args.global + args.from), "r"(args.bytes), "r"(bar)))
BULK_CLUSTER_KERNEL(
    s2s, ON_BARRIER("cp.async.bulk.shared::cluster.shared::cta.mbarrier::complete_tx::bytes [%0], [%1], %2, [%3];",
                    "r"(base + args.from), "r"(args.bytes), "r"(bar)))
BULK_KERNEL(s2g, ON_GROUP("cp.async.bulk.global.shared::cta.bulk_group [%0], [%1], %2;"))

__device__ uint64_t policy() {
  uint64_t bits;
  asm volatile("createpolicy.fractional.L2::evict_last.b64 %0, 0.5;" : "=l"(bits));
  return bits;
}
BULK_KERNEL(
    g2s_hint, asm volatile("cp.async.bulk.prefetch.L2.global [%0], %1;" ::"l"(args.global + args.from), "r"(args.bytes)
                           : "memory");
    ON_BARRIER(
        "cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes.L2::cache_hint [%0], [%1], %2, [%3], %4;",
        "l"(args.global + args.from), "r"(args.bytes), "r"(bar), "l"(policy())))

// Three groups; the source of the first is overwritten once it has been read, the last two are waited for at the end.
BULK_KERNEL(
    groups, if (threadIdx.x == 0) {
      for (uint32_t i = 0; i < 3; ++i) {
        asm volatile("cp.async.bulk.global.shared::cta.bulk_group [%0], [%1], 512;" ::"l"(args.global + i * 512),
                     "r"(base + i * 512)
                     : "memory");
        asm volatile("cp.async.bulk.commit_group;" ::: "memory");
      }
      asm volatile("cp.async.bulk.wait_group.read 2;" ::: "memory");
      for (uint32_t i = 0; i < 128; ++i) image[i] = 0x11111111 * i;
      fence_proxy_async();
      asm volatile("cp.async.bulk.global.shared::cta.bulk_group [%0], [%1], 512;" ::"l"(args.global + 3 * 512),
                   "r"(base)
                   : "memory");
      asm volatile("cp.async.bulk.commit_group;" ::: "memory");
      asm volatile("cp.async.bulk.commit_group;" ::: "memory");  // an empty group counts too
      asm volatile("cp.async.bulk.wait_group 0;" ::: "memory");
    })

#define REDUCE_KERNEL(NAME, OP) \
  BULK_KERNEL(NAME, ON_GROUP("cp.reduce.async.bulk.global.shared::cta.bulk_group." OP " [%0], [%1], %2;"))
#define REDUCE_SHARED_KERNEL(NAME, OP)                                                                               \
  BULK_CLUSTER_KERNEL(NAME,                                                                                          \
                      ON_BARRIER("cp.reduce.async.bulk.shared::cluster.shared::cta.mbarrier::complete_tx::bytes." OP \
                                 " [%0], [%1], %2, [%3];",                                                           \
                                 "r"(base + args.from), "r"(args.bytes), "r"(bar)))

#define FOR_GLOBAL_REDUCTIONS(X)                                                                            \
  X(add_u32, "add.u32")                                                                                     \
  X(add_s32, "add.s32")                                                                                     \
  X(add_u64, "add.u64") X(add_f32, "add.f32") X(add_f64, "add.f64") X(add_f16, "add.noftz.f16")             \
      X(add_bf16, "add.noftz.bf16") X(min_u32, "min.u32") X(min_s32, "min.s32") X(min_u64, "min.u64")       \
          X(min_s64, "min.s64") X(min_f16, "min.f16") X(min_bf16, "min.bf16") X(max_u32, "max.u32")         \
              X(max_s32, "max.s32") X(max_u64, "max.u64") X(max_s64, "max.s64") X(max_f16, "max.f16")       \
                  X(max_bf16, "max.bf16") X(inc_u32, "inc.u32") X(dec_u32, "dec.u32") X(and_b32, "and.b32") \
                      X(and_b64, "and.b64") X(or_b32, "or.b32") X(or_b64, "or.b64") X(xor_b32, "xor.b32")   \
                          X(xor_b64, "xor.b64")
#define FOR_SHARED_REDUCTIONS(X)                                                                                \
  X(add_u32, "add.u32")                                                                                         \
  X(add_s32, "add.s32")                                                                                         \
  X(add_u64, "add.u64") X(min_u32, "min.u32") X(min_s32, "min.s32") X(max_u32, "max.u32") X(max_s32, "max.s32") \
      X(inc_u32, "inc.u32") X(dec_u32, "dec.u32") X(and_b32, "and.b32") X(or_b32, "or.b32") X(xor_b32, "xor.b32")
#define DEFINE_GLOBAL(NAME, OP) REDUCE_KERNEL(reduce_##NAME, OP)
#define DEFINE_SHARED(NAME, OP) REDUCE_SHARED_KERNEL(reduce_shared_##NAME, OP)
FOR_GLOBAL_REDUCTIONS(DEFINE_GLOBAL)
FOR_SHARED_REDUCTIONS(DEFINE_SHARED)

std::vector<uint32_t> random_words(size_t words, uint64_t seed) {
  Random random(seed);
  std::vector<uint32_t> data(words);
  for (uint32_t& w : data) w = random.word();
  return data;
}

// Words whose 32-bit, 64-bit and 16-bit float readings are ordinary numbers (top bits of each half kept small).
std::vector<uint32_t> plain_floats(size_t words, uint64_t seed, bool wide) {
  Random random(seed);
  std::vector<uint32_t> data(words);
  for (size_t i = 0; i < words; ++i) {
    uint32_t w = random.word();
    if (wide) {
      data[i] = i % 2 ? (w & 0x800FFFFF) | 0x3FF00000u + (random.below(8) << 20) : w;
    } else {
      data[i] = (w & 0x83FF83FF) | (random.below(8) + 12) << 26 | (random.below(8) + 12) << 10;
    }
  }
  return data;
}

void bulk(const std::string& name, void (*kernel)(BulkArgs), uint32_t to, uint32_t from, uint32_t bytes,
          const std::vector<uint32_t>& shared, const std::vector<uint32_t>& global) {
  if (!begin(name)) return;
  Buffer<uint32_t> image(shared), memory(global), out(kWords);
  kernel<<<1, 64>>>(BulkArgs{image.get(), reinterpret_cast<char*>(memory.get()), out.get(), to, from, bytes});
  sync();
  auto words = memory.download(), rest = out.download();
  words.insert(words.end(), rest.begin(), rest.end());
  std::vector<uint32_t> sample;  // first words at the destination, then hashes of both memories
  bool into_shared = name.find("s2g") == std::string::npos && name.find("global") == std::string::npos;
  size_t at = to / 4 + (into_shared ? global.size() : 0);
  for (size_t i = 0; i < 4; ++i) sample.push_back(words[at + i]);
  sample.insert(sample.end(), words.begin(), words.end());
  print_bulk(sample, 4, 3);
}

void copies() {
  auto shared = random_words(kWords, 2), global = random_words(kWords, 3);
  for (uint32_t bytes : {16u, 48u, 128u, 1008u, 8192u}) {
    for (uint32_t shift : {0u, 16u, 112u}) {
      std::string tail = "-" + std::to_string(bytes) + "-at" + std::to_string(shift);
      bulk("bulk-g2s" + tail, g2s, 1024 + shift, 256 - shift, bytes, shared, global);
      bulk("bulk-s2g" + tail, s2g, 512 + shift, 128 + shift, bytes, shared, global);
      if (bytes <= 4096) bulk("bulk-s2s" + tail, s2s, 8192 + shift, 128 + shift, bytes, shared, global);
    }
  }
  bulk("bulk-g2s-hint", g2s_hint, 64, 32, 256, shared, global);
  bulk("bulk-s2g-groups", groups, 0, 0, 0, shared, global);
}

void reductions() {
  auto shared = random_words(kWords, 4), global = random_words(kWords, 5);
  // inc and dec compare with the operand: make near values likely.
  for (uint32_t i = 0; i < kWords; ++i)
    if (i % 3 == 0) shared[i] = global[i] + (i % 9) / 3 - 1;
#define RUN_GLOBAL(NAME, OP)                                                                         \
  {                                                                                                  \
    bool f = std::strstr(OP, "f16") || std::strstr(OP, "f32") || std::strstr(OP, "f64");             \
    bool wide = std::strstr(OP, "f64");                                                              \
    bulk("reduce-global-" OP, reduce_##NAME, 0, 0, 1024, f ? plain_floats(kWords, 6, wide) : shared, \
         f ? plain_floats(kWords, 7, wide) : global);                                                \
    if (f) bulk("reduce-global-random-bits-" OP, reduce_##NAME, 64, 64, 4096, shared, global);       \
  }
  FOR_GLOBAL_REDUCTIONS(RUN_GLOBAL)
#define RUN_SHARED(NAME, OP) bulk("reduce-shared-" OP, reduce_shared_##NAME, 8192, 256, 1024, near, global);
  auto near = shared;
  for (uint32_t i = 0; i < 256; ++i)
    if (i % 3 == 0) near[64 + i] = near[2048 + i] + (i % 9) / 3 - 1;
  FOR_SHARED_REDUCTIONS(RUN_SHARED)
}

int main(int argc, char** argv) {
  init(argc, argv);
  CHECK_CUDA(cudaFree(nullptr));
  barriers();
  copies();
  reductions();
}
