// What faults on the hardware: each case is a kernel that breaks one rule, so the context is lost and the program ends after
// the case's line (`--after` goes on behind it). The error's name is the hardware's; a fault of any name matches, since
// an emulator may well name the rule better. The launch cases at the end are refused by the API without a fault.
#include <cassert>

#include "capture.h"
#include "tensor_map.h"

using namespace capture;

#define SHARED_PROLOGUE                                                   \
  extern __shared__ __align__(1024) unsigned char shared[];               \
  __shared__ __align__(16) uint64_t barriers[4];                          \
  uint32_t base = shared_address(shared), bar = shared_address(barriers); \
  if (threadIdx.x == 0) mbarrier_init(bar, 1);                            \
  fence_proxy_async();                                                    \
  __syncthreads();                                                        \
  if (threadIdx.x != 0) return;

#define TRAP(NAME, ...)                         \
  __global__ void NAME(unsigned char* global) { \
    SHARED_PROLOGUE __VA_ARGS__;                \
    (void)base, (void)bar;                      \
  }
#define LOAD(SPACE, TYPE, CONSTRAINT, ADDRESS)                                               \
  uint32_t x;                                                                                \
  asm volatile("ld" SPACE "." TYPE " %0, [%1];" : "=r"(x) : CONSTRAINT(ADDRESS) : "memory"); \
  *reinterpret_cast<volatile uint32_t*>(global) = x
#define LOAD_VECTOR(SPACE, CONSTRAINT, ADDRESS)             \
  uint32_t x, y, z, w;                                      \
  asm volatile("ld" SPACE ".v4.b32 {%0, %1, %2, %3}, [%4];" \
               : "=r"(x), "=r"(y), "=r"(z), "=r"(w)         \
               : CONSTRAINT(ADDRESS)                        \
               : "memory");                                 \
  *reinterpret_cast<volatile uint32_t*>(global) = x + y + z + w

TRAP(load_global_misaligned_4, LOAD(".global", "b32", "l", global + 2))
TRAP(load_global_misaligned_16, LOAD_VECTOR(".global", "l", global + 8))
TRAP(load_shared_misaligned_4, LOAD(".shared", "b32", "r", base + 1))
TRAP(load_shared_misaligned_16, LOAD_VECTOR(".shared", "r", base + 8))
TRAP(load_null, LOAD(".global", "b32", "l", (char*)nullptr))
TRAP(load_generic_wild, LOAD("", "b32", "l", (char*)0x7fffffff0000ull))
TRAP(load_shared_far_outside, LOAD(".shared", "b32", "r", base + 300 * 1024))
TRAP(store_global_misaligned_8, asm volatile("st.global.b64 [%0], %1;" ::"l"(global + 4), "l"(1ull) : "memory"))
TRAP(store_wild, asm volatile("st.global.b32 [%0], %1;" ::"l"((char*)16), "r"(1) : "memory"))
TRAP(atom_misaligned, asm volatile("red.global.add.u32 [%0], %1;" ::"l"(global + 2), "r"(1) : "memory"))
TRAP(mbarrier_misaligned, mbarrier_init(bar + 4, 1))
TRAP(trap_instruction, asm volatile("trap;"))
TRAP(assertion, assert(global == nullptr))
#define G2S(DST, SRC, BYTES)                                                                                         \
  mbarrier_arrive_expect_tx(bar, BYTES);                                                                             \
  asm volatile("cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes [%0], [%1], %2, [%3];" ::"r"(DST), \
               "l"(SRC), "r"(BYTES), "r"(bar)                                                                        \
               : "memory");                                                                                          \
  mbarrier_wait_bounded(bar, 0)
TRAP(bulk_bytes_not_16, G2S(base, global, 24))
TRAP(bulk_shared_misaligned, G2S(base + 8, global, 32))
TRAP(bulk_global_misaligned, G2S(base, global + 8, 32))
TRAP(bulk_global_wild, G2S(base, (char*)nullptr, 32))
TRAP(bulk_shared_to_shared_without_cluster, mbarrier_arrive_expect_tx(bar, 32);
     asm volatile("cp.async.bulk.shared::cluster.shared::cta.mbarrier::complete_tx::bytes [%0], [%1], 32, [%2];" ::"r"(
                      base + 128),
                  "r"(base), "r"(bar)
                  : "memory");
     mbarrier_wait_bounded(bar, 0))
TRAP(cp_async_misaligned, asm volatile("cp.async.cg.shared.global [%0], [%1], 16;" ::"r"(base + 8), "l"(global)
                                       : "memory");
     asm volatile("cp.async.wait_all;" ::
                      : "memory"))

__global__ void ldmatrix_misaligned(unsigned char* global) {
  extern __shared__ __align__(1024) unsigned char shared[];
  uint32_t x;
  asm volatile("ldmatrix.sync.aligned.m8n8.x1.shared.b16 {%0}, [%1];"
               : "=r"(x)
               : "r"(shared_address(shared) + 16 * threadIdx.x + 8));
  reinterpret_cast<uint32_t*>(global)[threadIdx.x] = x;
}

// Tensor copies: `x`, `y` and the shared offset come from the host, so one kernel serves all.
__global__ void tensor_load(const __grid_constant__ CUtensorMap map, int x, int y, uint32_t offset, uint32_t bytes) {
  SHARED_PROLOGUE
  mbarrier_arrive_expect_tx(bar, bytes);
  asm volatile(
      "cp.async.bulk.tensor.2d.shared::cluster.global.mbarrier::complete_tx::bytes [%0], [%1, {%2, %3}], [%4];" ::"r"(
          base + offset),
      "l"(&map), "r"(x), "r"(y), "r"(bar)
      : "memory");
  mbarrier_wait_bounded(bar, 0);
}
__global__ void tensor_load_3d(const __grid_constant__ CUtensorMap map, int x, int y, uint32_t offset, uint32_t bytes) {
  SHARED_PROLOGUE
  mbarrier_arrive_expect_tx(bar, bytes);
  asm volatile(
      "cp.async.bulk.tensor.3d.shared::cluster.global.mbarrier::complete_tx::bytes [%0], [%1, {%2, %3, %3}], [%4];" ::
          "r"(base + offset),
      "l"(&map), "r"(x), "r"(y), "r"(bar)
      : "memory");
  mbarrier_wait_bounded(bar, 0);
}
__global__ void tensor_store(const __grid_constant__ CUtensorMap map, int x, int y, uint32_t offset, uint32_t bytes) {
  SHARED_PROLOGUE(void) bar, (void)bytes;
  asm volatile("cp.async.bulk.tensor.2d.global.shared::cta.bulk_group [%0, {%2, %3}], [%1];" ::"l"(&map),
               "r"(base + offset), "r"(x), "r"(y)
               : "memory");
  asm volatile("cp.async.bulk.commit_group;\n\tcp.async.bulk.wait_group 0;" ::: "memory");
}
__global__ void tensor_reduce(const __grid_constant__ CUtensorMap map, int x, int y, uint32_t offset, uint32_t bytes) {
  SHARED_PROLOGUE(void) bar, (void)bytes;
  asm volatile("cp.reduce.async.bulk.tensor.2d.global.shared::cta.add.bulk_group [%0, {%2, %3}], [%1];" ::"l"(&map),
               "r"(base + offset), "r"(x), "r"(y)
               : "memory");
  asm volatile("cp.async.bulk.commit_group;\n\tcp.async.bulk.wait_group 0;" ::: "memory");
}

struct TrapCase {
  const char* name;
  void (*kernel)(unsigned char*);
};
#define ROW(NAME) \
  { #NAME, NAME }
const TrapCase kTraps[] = {ROW(load_global_misaligned_4),
                           ROW(load_global_misaligned_16),
                           ROW(load_shared_misaligned_4),
                           ROW(load_shared_misaligned_16),
                           ROW(load_null),
                           ROW(load_generic_wild),
                           ROW(load_shared_far_outside),
                           ROW(store_global_misaligned_8),
                           ROW(store_wild),
                           ROW(atom_misaligned),
                           ROW(mbarrier_misaligned),
                           ROW(trap_instruction),
                           ROW(assertion),
                           ROW(bulk_bytes_not_16),
                           ROW(bulk_shared_misaligned),
                           ROW(bulk_global_misaligned),
                           ROW(bulk_global_wild),
                           ROW(bulk_shared_to_shared_without_cluster),
                           ROW(cp_async_misaligned),
                           ROW(ldmatrix_misaligned)};

struct TensorTrap {
  const char* name;
  void (*kernel)(CUtensorMap, int, int, uint32_t, uint32_t);
  int x, y;
  uint32_t offset;
};
const TensorTrap kTensorTraps[] = {
    {"tensor_load_x_4_bytes", tensor_load, 1, 0, 0},
    {"tensor_load_x_8_bytes", tensor_load, 2, 0, 0},
    {"tensor_load_x_minus_8_bytes", tensor_load, -2, 0, 0},
    {"tensor_load_shared_at_16", tensor_load, 0, 0, 16},
    {"tensor_load_shared_at_64", tensor_load, 0, 0, 64},
    {"tensor_load_outside_shared", tensor_load, 0, 0, 240 * 1024},
    {"tensor_load_rank_3_of_2", tensor_load_3d, 0, 0, 0},
    {"tensor_store_x_4_bytes", tensor_store, 1, 0, 0},
    {"tensor_store_x_negative", tensor_store, -4, 0, 0},
    {"tensor_store_y_negative", tensor_store, 0, -1, 0},
    {"tensor_store_shared_at_16", tensor_store, 0, 0, 16},
    {"tensor_reduce_y_negative", tensor_reduce, 0, -1, 0},
};

void report_survival() {
  sync();
  std::printf("%s: survived\n", g_case.c_str());
}

int main(int argc, char** argv) {
  init(argc, argv);
  CHECK_CUDA(cudaFree(nullptr));
  Buffer<unsigned char> global(65536);
  global.fill(0);
  for (const TrapCase& c : kTraps) {
    if (!begin(c.name)) continue;
    c.kernel<<<1, 32, 4096>>>(global.get());
    report_survival();
  }
  for (const TensorTrap& c : kTensorTraps) {
    if (!begin(c.name)) continue;
    TensorSpec spec;
    spec.type = CU_TENSOR_MAP_DATA_TYPE_FLOAT32;
    spec.rank = 2;
    spec.dims[0] = 64, spec.dims[1] = 16;
    spec.box[0] = 8, spec.box[1] = 4;
    pack_strides(spec);
    CUtensorMap map;
    if (encode(&map, spec, global.get()) != CUDA_SUCCESS) continue;
    c.kernel<<<1, 32, 4096>>>(map, c.x, c.y, c.offset, box_bytes(spec));
    report_survival();
  }
  // Refused launches: no fault, the context lives on.
  auto refused = [](const char* name, dim3 grid, dim3 block, size_t shared) {
    if (!begin(name)) return;
    trap_instruction<<<grid, block, shared>>>(nullptr);
    const char* first = cudaGetErrorName(cudaGetLastError());
    std::printf("%s: %s then %s\n", name, first, cudaGetErrorName(cudaGetLastError()));
  };
  refused("launch_no_blocks", dim3(0), dim3(32), 0);
  refused("launch_no_threads", dim3(1), dim3(0), 0);
  refused("launch_1025_threads", dim3(1), dim3(1025), 0);
  refused("launch_grid_y_65536", dim3(1, 65536), dim3(32), 0);
  refused("launch_block_z_65", dim3(1), dim3(1, 1, 65), 0);
  refused("launch_shared_50000", dim3(1), dim3(32), 50000);
  if (begin("attribute_shared_300000"))
    std::printf(
        "attribute_shared_300000: %s\n",
        cudaGetErrorName(cudaFuncSetAttribute(trap_instruction, cudaFuncAttributeMaxDynamicSharedMemorySize, 300000)));
}
