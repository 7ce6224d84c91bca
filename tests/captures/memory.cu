// Loads, stores and atomics: vectors, sign and zero extension, all state spaces and generic addresses, parameters as
// structs, device globals with initialisers, cp.async with zero fill, atomics of all types with their returned values.
#include <algorithm>

#include "capture.h"

using namespace capture;

std::vector<uint32_t> random_words(size_t words, uint64_t seed) {
  Random random(seed);
  std::vector<uint32_t> data(words);
  for (uint32_t& w : data) w = random.word();
  return data;
}

// ---- loads and stores -----------------------------------------------------------------------------------------------

// One thread walks 64 bytes of memory with every width and vector form; results are hashed in order.
#define LOADS(NAME, SPACE, ADDRESS, CONSTRAINT)                                                                        \
  __device__ void loads_##NAME(ADDRESS at, uint64_t* out) {                                                            \
    uint32_t a, b, c, d, i = 0;                                                                                        \
    uint64_t x, y;                                                                                                     \
    uint16_t h, k;                                                                                                     \
    asm volatile("ld" SPACE ".u8 %0, [%1+1];" : "=r"(a) : CONSTRAINT(at));                                             \
    out[i++] = a;                                                                                                      \
    asm volatile("ld" SPACE ".s8 %0, [%1+3];" : "=r"(a) : CONSTRAINT(at));                                             \
    out[i++] = a;                                                                                                      \
    asm volatile("ld" SPACE ".s8 %0, [%1+5];" : "=l"(x) : CONSTRAINT(at));                                             \
    out[i++] = x;                                                                                                      \
    asm volatile("ld" SPACE ".b8 %0, [%1+7];" : "=h"(h) : CONSTRAINT(at));                                             \
    out[i++] = h;                                                                                                      \
    asm volatile("ld" SPACE ".u16 %0, [%1+2];" : "=r"(a) : CONSTRAINT(at));                                            \
    out[i++] = a;                                                                                                      \
    asm volatile("ld" SPACE ".s16 %0, [%1+6];" : "=r"(a) : CONSTRAINT(at));                                            \
    out[i++] = a;                                                                                                      \
    asm volatile("ld" SPACE ".s16 %0, [%1+10];" : "=l"(x) : CONSTRAINT(at));                                           \
    out[i++] = x;                                                                                                      \
    asm volatile("ld" SPACE ".b16 %0, [%1+12];" : "=h"(h) : CONSTRAINT(at));                                           \
    out[i++] = h;                                                                                                      \
    asm volatile("ld" SPACE ".u32 %0, [%1+16];" : "=l"(x) : CONSTRAINT(at));                                           \
    out[i++] = x;                                                                                                      \
    asm volatile("ld" SPACE ".s32 %0, [%1+20];" : "=l"(x) : CONSTRAINT(at));                                           \
    out[i++] = x;                                                                                                      \
    asm volatile("ld" SPACE ".f32 %0, [%1+24];" : "=r"(a) : CONSTRAINT(at));                                           \
    out[i++] = a;                                                                                                      \
    asm volatile("ld" SPACE ".b64 %0, [%1+32];" : "=l"(x) : CONSTRAINT(at));                                           \
    out[i++] = x;                                                                                                      \
    asm volatile("ld" SPACE ".f64 %0, [%1+40];" : "=l"(x) : CONSTRAINT(at));                                           \
    out[i++] = x;                                                                                                      \
    asm volatile("ld" SPACE ".v2.u8 {%0, %1}, [%2+2];" : "=h"(h), "=h"(k) : CONSTRAINT(at));                           \
    out[i++] = h << 16 | k;                                                                                            \
    asm volatile("ld" SPACE ".v4.u8 {%0, %1, %2, %3}, [%4+4];" : "=r"(a), "=r"(b), "=r"(c), "=r"(d) : CONSTRAINT(at)); \
    out[i++] = uint64_t(a) << 48 | uint64_t(b) << 32 | c << 16 | d;                                                    \
    asm volatile("ld" SPACE ".v4.s8 {%0, %1, %2, %3}, [%4+8];" : "=r"(a), "=r"(b), "=r"(c), "=r"(d) : CONSTRAINT(at)); \
    out[i++] = uint64_t(a ^ b) << 32 | (c ^ d);                                                                        \
    asm volatile("ld" SPACE ".v2.s16 {%0, %1}, [%2+12];" : "=r"(a), "=r"(b) : CONSTRAINT(at));                         \
    out[i++] = uint64_t(a) << 32 | b;                                                                                  \
    asm volatile("ld" SPACE ".v4.b16 {%0, %1, _, _}, [%2+16];" : "=h"(h), "=h"(k) : CONSTRAINT(at));                   \
    out[i++] = h << 16 | k;                                                                                            \
    asm volatile("ld" SPACE ".v2.b32 {%0, %1}, [%2+24];" : "=r"(a), "=r"(b) : CONSTRAINT(at));                         \
    out[i++] = uint64_t(a) << 32 | b;                                                                                  \
    asm volatile("ld" SPACE ".v4.b32 {%0, %1, %2, %3}, [%4+48];"                                                       \
                 : "=r"(a), "=r"(b), "=r"(c), "=r"(d)                                                                  \
                 : CONSTRAINT(at));                                                                                    \
    out[i++] = uint64_t(a ^ c) << 32 | (b ^ d);                                                                        \
    asm volatile("ld" SPACE ".v2.b64 {%0, %1}, [%2+32];" : "=l"(x), "=l"(y) : CONSTRAINT(at));                         \
    out[i++] = x + 3 * y;                                                                                              \
  }
LOADS(generic, "", const void*, "l")
LOADS(global, ".global", const void*, "l")
LOADS(global_nc, ".global.nc", const void*, "l")
LOADS(global_ca, ".global.ca", const void*, "l")
LOADS(global_cg, ".global.cg", const void*, "l")
LOADS(global_volatile, ".volatile.global", const void*, "l")
LOADS(global_relaxed, ".relaxed.gpu.global", const void*, "l")
LOADS(shared, ".shared", uint32_t, "r")
LOADS(shared_cta, ".shared::cta", uint32_t, "r")
LOADS(shared_volatile, ".volatile.shared", uint32_t, "r")
constexpr uint32_t kLoads = 21;

__constant__ uint32_t constant_words[16];

__global__ void load_kernel(const uint32_t* in, uint64_t* out) {
  __shared__ __align__(16) uint32_t shared[16];
  for (int i = 0; i < 16; ++i) shared[i] = in[i];
  __align__(16) uint32_t local[16];
  for (int i = 0; i < 16; ++i) local[i] = in[15 - i];
  loads_generic(in, out);
  loads_generic(shared, out + kLoads);
  loads_generic(local, out + 2 * kLoads);
  loads_global(in, out + 3 * kLoads);
  loads_global_nc(in, out + 4 * kLoads);
  loads_global_ca(in, out + 5 * kLoads);
  loads_global_cg(in, out + 6 * kLoads);
  loads_global_volatile(in, out + 7 * kLoads);
  loads_global_relaxed(in, out + 8 * kLoads);
  loads_shared(shared_address(shared), out + 9 * kLoads);
  loads_shared_cta(shared_address(shared), out + 10 * kLoads);
  loads_shared_volatile(shared_address(shared), out + 11 * kLoads);
  loads_generic(constant_words, out + 12 * kLoads);
}

// Stores of every width into poisoned memory.
#define STORES(NAME, SPACE, ADDRESS, CONSTRAINT)                                                                       \
  __device__ void stores_##NAME(ADDRESS at, const uint32_t* in) {                                                      \
    uint64_t x = uint64_t(in[0]) << 32 | in[1], y = uint64_t(in[2]) << 32 | in[3];                                     \
    uint16_t h = uint16_t(in[4]);                                                                                      \
    asm volatile("st" SPACE ".u8 [%0+1], %1;" ::CONSTRAINT(at), "r"(in[5]) : "memory");                                \
    asm volatile("st" SPACE ".b8 [%0+3], %1;" ::CONSTRAINT(at), "h"(h) : "memory");                                    \
    asm volatile("st" SPACE ".b16 [%0+6], %1;" ::CONSTRAINT(at), "h"(h) : "memory");                                   \
    asm volatile("st" SPACE ".u16 [%0+8], %1;" ::CONSTRAINT(at), "r"(in[6]) : "memory");                               \
    asm volatile("st" SPACE ".b32 [%0+12], %1;" ::CONSTRAINT(at), "r"(in[7]) : "memory");                              \
    asm volatile("st" SPACE ".u32 [%0+16], %1;" ::CONSTRAINT(at), "l"(x) : "memory");                                  \
    asm volatile("st" SPACE ".b64 [%0+24], %1;" ::CONSTRAINT(at), "l"(y) : "memory");                                  \
    asm volatile("st" SPACE ".v2.b8 [%0+32], {%1, %2};" ::CONSTRAINT(at), "h"(h), "h"(h) : "memory");                  \
    asm volatile("st" SPACE ".v4.u8 [%0+36], {%1, %2, %3, %4};" ::CONSTRAINT(at), "r"(in[8]), "r"(in[9]), "r"(in[10]), \
                 "r"(in[11])                                                                                           \
                 : "memory");                                                                                          \
    asm volatile("st" SPACE ".v2.b16 [%0+40], {%1, %2};" ::CONSTRAINT(at), "h"(h), "h"(h) : "memory");                 \
    asm volatile("st" SPACE ".v4.u16 [%0+48], {%1, %2, %3, %4};" ::CONSTRAINT(at), "r"(in[1]), "r"(in[2]), "r"(in[3]), \
                 "r"(in[4])                                                                                            \
                 : "memory");                                                                                          \
    asm volatile("st" SPACE ".v2.b32 [%0+64], {%1, %2};" ::CONSTRAINT(at), "r"(in[12]), "r"(in[13]) : "memory");       \
    asm volatile("st" SPACE ".v4.b32 [%0+80], {%1, %2, %3, %4};" ::CONSTRAINT(at), "r"(in[4]), "r"(in[5]), "r"(in[6]), \
                 "r"(in[7])                                                                                            \
                 : "memory");                                                                                          \
    asm volatile("st" SPACE ".v2.b64 [%0+96], {%1, %2};" ::CONSTRAINT(at), "l"(x), "l"(y) : "memory");                 \
  }
STORES(generic, "", void*, "l")
STORES(global, ".global", void*, "l")
STORES(global_wt, ".global.wt", void*, "l")
STORES(global_volatile, ".volatile.global", void*, "l")
STORES(global_release, ".release.gpu.global", void*, "l")
STORES(shared, ".shared", uint32_t, "r")

__global__ void store_kernel(const uint32_t* in, uint32_t* out) {
  __shared__ __align__(16) uint32_t shared[32];
  __align__(16) uint32_t local[32];
  for (int i = 0; i < 32; ++i) shared[i] = local[i] = 0xA5A5A5A5;
  stores_generic(out, in);
  stores_global(out + 32, in);
  stores_global_wt(out + 64, in);
  stores_global_volatile(out + 96, in);
  stores_global_release(out + 128, in);
  stores_shared(shared_address(shared), in);
  stores_generic(local, in + 1);
  for (int i = 0; i < 32; ++i) out[160 + i] = shared[i], out[192 + i] = local[i];
  stores_generic(shared, in + 2);
  for (int i = 0; i < 32; ++i) out[224 + i] = shared[i];
}

// Which space a generic address names.
__global__ void spaces(const uint32_t* in, uint32_t* out, const __grid_constant__ uint64_t parameter) {
  __shared__ uint32_t shared;
  uint32_t local = in[0];
  const void* pointers[] = {in, &shared, &local, constant_words, &parameter};
  for (int i = 0; i < 5; ++i) {
    uint32_t bits;
    asm volatile(
        "{.reg .pred a, b, c, d; .reg .b32 x, y;\n\t"
        "isspacep.global a, %1; isspacep.shared b, %1; isspacep.local c, %1; isspacep.const d, %1;\n\t"
        "selp.u32 x, 1, 0, a; selp.u32 y, 2, 0, b; or.b32 x, x, y; selp.u32 y, 4, 0, c; or.b32 x, x, y;\n\t"
        "selp.u32 y, 8, 0, d; or.b32 %0, x, y;}"
        : "=r"(bits)
        : "l"(pointers[i]));
    out[i] = bits;
  }
  shared = in[1];
  out[5] = *static_cast<const volatile uint32_t*>(pointers[1]);
  out[6] = *static_cast<const uint32_t*>(pointers[2]);
  out[7] = *static_cast<const uint32_t*>(pointers[4]);
}

// ---- parameters and globals -----------------------------------------------------------------------------------------

struct Inner {
  uint8_t a;
  uint64_t b;
  uint16_t c[3];
};
struct alignas(16) Parameters {
  uint8_t first;
  Inner inner[2];
  float f;
  double d;
  uint32_t table[9];
};
__global__ void parameters(uint8_t small, const __grid_constant__ Parameters p, uint16_t mid, Parameters q,
                           uint32_t index, uint32_t* out) {
  Parameters copy = p;  // local memory, indexed at run time
  copy.table[index % 9] += 1;
  out[0] = small | mid << 8;
  out[1] = p.first + uint32_t(p.inner[1].b) + p.inner[index & 1].c[index % 3];
  out[2] = __float_as_uint(q.f);
  out[3] = __double2loint(q.d);
  out[4] = copy.table[(index + threadIdx.x) % 9] + copy.inner[0].a;
  out[5] = reinterpret_cast<const uint8_t*>(&p)[index % sizeof(p)];
  out[6] = q.table[8] ^ q.table[index % 9];
  out[7] = uint32_t(q.inner[0].b >> 32);
}

__device__ uint32_t global_scalar = 0x12345678;
__device__ uint16_t global_halves[5] = {1, 2, 0xFFFF, 4, 5};
__device__ double global_double = 3.25;
__device__ uint8_t global_zero[7];
struct Node {
  uint32_t value;
  Node* next;
  const char* text;
};
__device__ Node second_node = {9, nullptr, "second node"};
__device__ Node first_node = {7, &second_node, "first"};
__constant__ uint32_t constant_table[4] = {11, 22, 33, 44};
__global__ void globals(uint32_t* out) {
  out[0] = global_scalar;
  out[1] = global_halves[2] + global_halves[4];
  out[2] = uint32_t(global_double * 100);
  out[3] = global_zero[6];
  out[4] = first_node.next->value + first_node.value * 100 + (first_node.next->next == nullptr) * 10000;
  out[5] = first_node.text[4] | second_node.text[10] << 8;
  out[6] = constant_table[out[8] & 3];
  global_scalar += 1;
  out[7] = global_scalar;
}

// ---- cp.async -------------------------------------------------------------------------------------------------------

__global__ void cp_async(const uint32_t* in, uint32_t* out) {
  __shared__ __align__(16) uint32_t shared[128];
  uint32_t t = threadIdx.x;
  for (uint32_t i = t; i < 128; i += 32) shared[i] = 0xA5A5A5A5;
  __syncwarp();
  uint32_t base = shared_address(shared);
  asm volatile("cp.async.ca.shared.global [%0], [%1], 4;" ::"r"(base + 4 * t), "l"(in + t) : "memory");
  asm volatile("cp.async.commit_group;" ::: "memory");
  if (t < 8)
    asm volatile("cp.async.ca.shared.global [%0], [%1], 8;" ::"r"(base + 128 + 8 * t), "l"(in + 32 + 2 * t) : "memory");
  if (t >= 8 && t < 16)
    asm volatile("cp.async.cg.shared.global.L2::128B [%0], [%1], 16;" ::"r"(base + 192 + 16 * (t - 8)),
                 "l"(in + 64 + 4 * t)
                 : "memory");
  asm volatile("cp.async.commit_group;" ::: "memory");
  // Zero fill: src-size below cp-size, and the ignore-src predicate.
  if (t < 5)
    asm volatile("cp.async.cg.shared.global [%0], [%1], 16, %2;" ::"r"(base + 320 + 16 * t), "l"(in + 4 * t), "r"(4 * t)
                 : "memory");
  if (t >= 5 && t < 8)
    asm volatile(
        "{.reg .pred p; setp.ne.u32 p, %2, 6; cp.async.ca.shared.global [%0], [%1], 16, p;}" ::"r"(base + 320 + 16 * t),
        "l"(in + 4 * t), "r"(t)
        : "memory");
  if (t >= 8 && t < 11)
    asm volatile("cp.async.ca.shared.global [%0], [%1], 8, %2;" ::"r"(base + 448 + 8 * (t - 8)), "l"(in + 4 * t),
                 "r"(t - 8)
                 : "memory");
  asm volatile("cp.async.commit_group;" ::: "memory");
  asm volatile("cp.async.wait_group 1;" ::: "memory");
  __syncwarp();
  uint32_t early = shared[(t + 1) % 32] + shared[48 + t % 8];
  asm volatile("cp.async.wait_all;" ::: "memory");
  __syncwarp();
  for (uint32_t i = t; i < 128; i += 32) out[i] = shared[i];
  out[128 + t] = early;
}

// Static and dynamic shared memory side by side.
__global__ void dynamic_shared(const uint32_t* in, uint32_t* out) {
  extern __shared__ uint32_t dynamic[];
  __shared__ uint32_t fixed[64];
  fixed[threadIdx.x] = in[threadIdx.x];
  for (int i = 0; i < 4; ++i) dynamic[threadIdx.x + 64 * i] = in[threadIdx.x] * (i + 2);
  __syncthreads();
  out[threadIdx.x] = fixed[63 - threadIdx.x] + dynamic[255 - threadIdx.x] + dynamic[threadIdx.x ^ 9];
}

// ---- atomics --------------------------------------------------------------------------------------------------------

// Thread 0 alone applies the operation 12 times to one word: the returned values are in program order. TYPE_* as in PTX.
#define ATOMIC(NAME, R, T, OP)                                                                             \
  __global__ void atom_global_##NAME(const uint64_t* in, uint64_t* out) {                                  \
    T value[1] = {T(in[12])};                                                                              \
    T* memory = reinterpret_cast<T*>(out + 13);                                                            \
    *memory = value[0];                                                                                    \
    for (int i = 0; i < 12; ++i) {                                                                         \
      T old;                                                                                               \
      asm volatile("atom.global." OP " %0, [%1], %2;" : "=" R(old) : "l"(memory), R(T(in[i])) : "memory"); \
      out[i] = old;                                                                                        \
    }                                                                                                      \
    asm volatile("red.relaxed.gpu.global." OP " [%0], %1;" ::"l"(memory), R(T(in[3])) : "memory");         \
    out[12] = *const_cast<volatile T*>(memory);                                                            \
    out[13] = 0;                                                                                           \
  }                                                                                                        \
  __global__ void atom_shared_##NAME(const uint64_t* in, uint64_t* out) {                                  \
    __shared__ __align__(8) T memory[2];                                                                   \
    memory[0] = T(in[12]), memory[1] = T(in[0]);                                                           \
    for (int i = 0; i < 12; ++i) {                                                                         \
      T old;                                                                                               \
      asm volatile("atom.acq_rel.cta.shared::cta." OP " %0, [%1], %2;"                                     \
                   : "=" R(old)                                                                            \
                   : "r"(shared_address(memory)), R(T(in[i]))                                              \
                   : "memory");                                                                            \
      out[i] = old;                                                                                        \
    }                                                                                                      \
    asm volatile("red.shared." OP " [%0], %1;" ::"r"(shared_address(memory)), R(T(in[3])) : "memory");     \
    out[12] = *const_cast<volatile T*>(memory);                                                            \
    out[13] = memory[1];                                                                                   \
  }
#define FOR_EACH_ATOMIC(X)                                                                                        \
  X(add_u32, "r", uint32_t, "add.u32")                                                                            \
  X(add_s32, "r", uint32_t, "add.s32") X(add_u64, "l", uint64_t, "add.u64") X(add_f32, "r", uint32_t, "add.f32")  \
      X(add_f64, "l", uint64_t, "add.f64") X(add_f16, "h", uint16_t, "add.noftz.f16")                             \
          X(add_f16x2, "r", uint32_t, "add.noftz.f16x2") X(add_bf16, "h", uint16_t, "add.noftz.bf16")             \
              X(add_bf16x2, "r", uint32_t, "add.noftz.bf16x2") X(min_u32, "r", uint32_t, "min.u32")               \
                  X(min_s32, "r", uint32_t, "min.s32") X(min_u64, "l", uint64_t, "min.u64")                       \
                      X(min_s64, "l", uint64_t, "min.s64") X(max_u32, "r", uint32_t, "max.u32")                   \
                          X(max_s32, "r", uint32_t, "max.s32") X(max_u64, "l", uint64_t, "max.u64")               \
                              X(max_s64, "l", uint64_t, "max.s64") X(inc_u32, "r", uint32_t, "inc.u32")           \
                                  X(dec_u32, "r", uint32_t, "dec.u32") X(and_b32, "r", uint32_t, "and.b32")       \
                                      X(and_b64, "l", uint64_t, "and.b64") X(or_b32, "r", uint32_t, "or.b32")     \
                                          X(or_b64, "l", uint64_t, "or.b64") X(xor_b32, "r", uint32_t, "xor.b32") \
                                              X(xor_b64, "l", uint64_t, "xor.b64")
FOR_EACH_ATOMIC(ATOMIC)

// exch and cas have no red form.
template <class T>
__global__ void exchange(const uint64_t* in, uint64_t* out) {
  __shared__ T memory;
  memory = T(in[12]);
  for (int i = 0; i < 6; ++i) {
    T old;
    if constexpr (sizeof(T) == 4) {
      asm volatile("atom.shared.exch.b32 %0, [%1], %2;"
                   : "=r"(old)
                   : "r"(shared_address(&memory)), "r"(T(in[i]))
                   : "memory");
    } else {
      asm volatile("atom.exch.b64 %0, [%1], %2;" : "=l"(old) : "l"(&memory), "l"(T(in[i])) : "memory");
    }
    out[i] = old;
    T expected = i % 2 ? T(in[i]) : T(in[i + 1]);
    if constexpr (sizeof(T) == 4) {
      asm volatile("atom.shared.cas.b32 %0, [%1], %2, %3;"
                   : "=r"(old)
                   : "r"(shared_address(&memory)), "r"(expected), "r"(T(i))
                   : "memory");
    } else {
      asm volatile("atom.relaxed.cta.cas.b64 %0, [%1], %2, %3;"
                   : "=l"(old)
                   : "l"(&memory), "l"(expected), "l"(T(i))
                   : "memory");
    }
    out[6 + i] = old;
  }
  out[12] = memory;
  uint16_t half;
  asm volatile("atom.global.cas.b16 %0, [%1], %2, %3;"
               : "=h"(half)
               : "l"(out), "h"(uint16_t(out[0])), "h"(uint16_t(0x1234))
               : "memory");
  out[13] = half;
}

__global__ void vector_atomics(const uint32_t* in, uint32_t* out) {
  float a, b, c, d;
  asm volatile("atom.global.v2.f32.add {%0, %1}, [%2], {%3, %4};"
               : "=f"(a), "=f"(b)
               : "l"(out), "f"(1.5f), "f"(-2.0f)
               : "memory");
  out[8] = __float_as_uint(a), out[9] = __float_as_uint(b);
  asm volatile("atom.global.v4.f32.add {%0, %1, %2, %3}, [%4], {%5, %6, %7, %8};"
               : "=f"(a), "=f"(b), "=f"(c), "=f"(d)
               : "l"(out), "f"(1.0f), "f"(2.0f), "f"(3.0f), "f"(4.0f)
               : "memory");
  out[10] = __float_as_uint(a + b), out[11] = __float_as_uint(c + d);
  (void)in;
}

// All threads of two blocks on few words: the final values are fixed, and so is the multiset of returned values.
__global__ void contended(const uint32_t* in, uint32_t* out) {
  uint32_t t = blockIdx.x * blockDim.x + threadIdx.x;
  out[64 + t] = atomicAdd(&out[0], 1);
  atomicMax(&out[1], in[t & 63]);
  atomicXor(&out[2], in[t & 63] * (t + 1));
  out[64 + 256 + t] = atomicInc(&out[3], 49);
  atomicAdd(reinterpret_cast<float*>(&out[4]), float(t));
  atomicAdd(reinterpret_cast<unsigned long long*>(&out[6]), (unsigned long long)t << 28);
  atomicMin(&out[8], in[t & 63]);
}

void atomics() {
  struct {
    const char* name;
    void (*kernel)(const uint64_t*, uint64_t*);
  } const cases[] = {
#define ROW(NAME, R, T, OP) {"atom_global_" #NAME, atom_global_##NAME}, {"atom_shared_" #NAME, atom_shared_##NAME},
      FOR_EACH_ATOMIC(ROW){"exchange_b32", exchange<uint32_t>}, {"exchange_b64", exchange<uint64_t>}};
  for (const auto& c : cases) {
    if (!begin(c.name)) continue;
    Random random(5);
    std::vector<uint64_t> in(16);
    bool f = std::strstr(c.name, "_f16") || std::strstr(c.name, "bf16") || std::strstr(c.name, "_f32") ||
             std::strstr(c.name, "_f64");
    for (size_t i = 0; i < 16; ++i) {
      in[i] = random.next();
      if (f && std::strstr(c.name, "_f64"))
        in[i] = (in[i] & 0x800FFFFFFFFFFFFF) | uint64_t(1020 + random.below(8)) << 52;
      if (f && std::strstr(c.name, "_f32")) in[i] = (in[i] & 0x807FFFFF) | (124 + random.below(8)) << 23;
      if (f && std::strstr(c.name, "f16"))
        in[i] = (in[i] & 0x83FF83FF) | (12 + random.below(6)) << 26 | (12 + random.below(6)) << 10;
      if (std::strstr(c.name, "inc") || std::strstr(c.name, "dec")) in[i] = i == 12 ? 3 : 2 + i % 4;
    }
    Buffer<uint64_t> din(in), out(14);
    out.fill(0);
    c.kernel<<<1, 1>>>(din.get(), out.get());
    sync();
    print_bulk(out.download(), 2, 1);
  }
  auto words = random_words(64, 6);
  Buffer<uint32_t> in(words);
  if (begin("atom_vector")) {
    std::vector<uint32_t> start(12);
    for (int i = 0; i < 4; ++i) start[i] = 0x3F800000 + (i << 23);
    Buffer<uint32_t> out(start);
    vector_atomics<<<1, 1>>>(in.get(), out.get());
    sync();
    print_all(out.download());
  }
  if (begin("atom_contended")) {
    std::vector<uint32_t> start(64 + 512);
    start[8] = 0xFFFFFFFF;
    Buffer<uint32_t> out(start);
    contended<<<2, 128>>>(in.get(), out.get());
    sync();
    auto result = out.download();
    std::sort(result.begin() + 64, result.begin() + 320);
    std::sort(result.begin() + 320, result.end());
    print_bulk(result, 9, 4);
  }
}

int main(int argc, char** argv) {
  init(argc, argv);
  CHECK_CUDA(cudaFree(nullptr));
  auto words = random_words(64, 7);
  Buffer<uint32_t> in(words);
  CHECK_CUDA(cudaMemcpyToSymbol(constant_words, words.data(), sizeof(constant_words)));
  if (begin("loads")) {
    Buffer<uint64_t> out(13 * kLoads);
    load_kernel<<<1, 1>>>(in.get(), out.get());
    sync();
    print_bulk(out.download(), kLoads, 13);
  }
  if (begin("stores")) {
    Buffer<uint32_t> out(256);
    out.fill(0xA5);
    store_kernel<<<1, 1>>>(in.get(), out.get());
    sync();
    print_bulk(out.download(), 32, 8);
  }
  if (begin("address_spaces")) {
    Buffer<uint32_t> out(8);
    spaces<<<1, 1>>>(in.get(), out.get(), 0x1122334455667788);
    sync();
    print_all(out.download());
  }
  for (uint32_t index : {0u, 4u, 17u}) {
    if (!begin("parameters_" + std::to_string(index))) continue;
    Parameters p;
    std::memset(&p, 0, sizeof(p));
    auto bytes = random_words(sizeof(p) / 4, 10);
    std::memcpy(static_cast<void*>(&p), bytes.data(), sizeof(p));
    Parameters q = p;
    q.f = 1.5f, q.d = -2.75, q.inner[0].b = 0x9988776655443322;
    Buffer<uint32_t> out(8);
    parameters<<<1, 1>>>(0xAB, p, 0xCDEF, q, index, out.get());
    sync();
    print_all(out.download());
  }
  if (begin("globals")) {
    Buffer<uint32_t> out(9);
    out.fill(0);
    globals<<<1, 1>>>(out.get());
    globals<<<1, 1>>>(out.get());
    sync();
    uint32_t scalar = 0;
    CHECK_CUDA(cudaMemcpyFromSymbol(&scalar, global_scalar, 4));
    auto result = out.download();
    result.push_back(scalar);
    print_all(result);
  }
  if (begin("cp_async")) {
    Buffer<uint32_t> source(random_words(256, 8)), out(160);
    cp_async<<<1, 32>>>(source.get(), out.get());
    sync();
    print_bulk(out.download(), 8, 10);
  }
  if (begin("dynamic_shared")) {
    Buffer<uint32_t> out(64);
    dynamic_shared<<<1, 64, 1024>>>(in.get(), out.get());
    sync();
    print_bulk(out.download(), 8, 2);
  }
  atomics();
}
