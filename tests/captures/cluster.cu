// Clusters: launch by attribute and by __cluster_dims__, ranks, distributed shared memory (mapa, ld, st, atom), cluster
// barriers, remote mbarrier arrivals, bulk copies between blocks, multicast tensor copies, st.async, red.async.
#include "capture.h"
#include "tensor_map.h"

using namespace capture;

__device__ uint32_t map_to(uint32_t address, uint32_t rank) {
  uint32_t mapped;
  asm volatile("mapa.shared::cluster.u32 %0, %1, %2;" : "=r"(mapped) : "r"(address), "r"(rank));
  return mapped;
}
__device__ void cluster_sync() {
  asm volatile("barrier.cluster.arrive.release.aligned;\n\tbarrier.cluster.wait.acquire.aligned;" ::: "memory");
}
__device__ uint32_t cluster_rank() {
  uint32_t rank;
  asm volatile("mov.u32 %0, %%cluster_ctarank;" : "=r"(rank));
  return rank;
}

__global__ void ranks(uint32_t* out) {
  uint32_t rank = cluster_rank(), size, x, y, z, nx, ny, nz, cx, cy, cz, ncx, explicit_cluster;
  asm volatile("mov.u32 %0, %%cluster_nctarank;" : "=r"(size));
  asm volatile("mov.u32 %0, %%cluster_ctaid.x;\n\tmov.u32 %1, %%cluster_ctaid.y;\n\tmov.u32 %2, %%cluster_ctaid.z;"
               : "=r"(x), "=r"(y), "=r"(z));
  asm volatile("mov.u32 %0, %%cluster_nctaid.x;\n\tmov.u32 %1, %%cluster_nctaid.y;\n\tmov.u32 %2, %%cluster_nctaid.z;"
               : "=r"(nx), "=r"(ny), "=r"(nz));
  asm volatile("mov.u32 %0, %%clusterid.x;\n\tmov.u32 %1, %%clusterid.y;\n\tmov.u32 %2, %%clusterid.z;"
               : "=r"(cx), "=r"(cy), "=r"(cz));
  asm volatile("mov.u32 %0, %%nclusterid.x;" : "=r"(ncx));
  asm volatile("{.reg .pred p; mov.pred p, %%is_explicit_cluster; selp.u32 %0, 1, 0, p;}" : "=r"(explicit_cluster));
  if (threadIdx.x == 0) {
    uint32_t* o = out + 4 * (blockIdx.x + gridDim.x * (blockIdx.y + gridDim.y * blockIdx.z));
    o[0] = rank | size << 8 | explicit_cluster << 16 | ncx << 24;
    o[1] = x | y << 8 | z << 16;
    o[2] = nx | ny << 8 | nz << 16;
    o[3] = cx | cy << 8 | cz << 16;
  }
}

// Every block reads, writes and adds in its neighbour's shared memory.
__global__ void remote_access(const uint32_t* in, uint32_t* out) {
  __shared__ __align__(16) uint32_t data[64];
  __shared__ uint32_t counter, written[32];
  uint32_t rank = cluster_rank(), t = threadIdx.x, size;
  asm volatile("mov.u32 %0, %%cluster_nctarank;" : "=r"(size));
  data[t] = in[t] + rank;
  data[t + 32] = in[t + 32] * (rank + 1);
  if (t == 0) counter = 0;
  cluster_sync();
  uint32_t next = (rank + 1) % size, a, b, c, d, old;
  asm volatile("ld.shared::cluster.u32 %0, [%1];" : "=r"(a) : "r"(map_to(shared_address(&data[31 - t]), next)));
  asm volatile("ld.shared::cluster.v2.u32 {%0, %1}, [%2];"
               : "=r"(b), "=r"(c)
               : "r"(map_to(shared_address(&data[32 + 2 * (t / 2)]), next)));
  uint64_t generic;
  asm volatile("{.reg .b64 g; cvta.shared.u64 g, %1; mapa.u64 %0, g, %2;}"
               : "=l"(generic)
               : "l"(uint64_t(shared_address(&data[t]))), "r"(next));
  asm volatile("ld.u32 %0, [%1];" : "=r"(d) : "l"(generic));
  asm volatile("atom.shared::cluster.add.u32 %0, [%1], %2;"
               : "=r"(old)
               : "r"(map_to(shared_address(&counter), next)), "r"(t + 1)
               : "memory");
  asm volatile("st.shared::cluster.u32 [%0], %1;" ::"r"(map_to(shared_address(&written[t]), next)), "r"(a ^ rank)
               : "memory");
  uint32_t owner;
  asm volatile("getctarank.shared::cluster.u32 %0, %1;" : "=r"(owner) : "r"(map_to(shared_address(&counter), next)));
  cluster_sync();
  uint32_t* o = out + (blockIdx.x * 32 + t) * 8;
  o[0] = a, o[1] = b, o[2] = c, o[3] = d, o[4] = written[t], o[5] = counter, o[6] = owner, o[7] = rank;
  // The order of the additions is open, their sum is not: count only that each returned less than the total.
  if (old > 528) o[5] = 0xBAD;
}

// All blocks arrive at block 0's mbarrier; block 0 waits, then tells the others through theirs.
__global__ void remote_arrive(uint32_t* out) {
  __shared__ __align__(8) uint64_t gather, release;
  uint32_t rank = cluster_rank(), size;
  asm volatile("mov.u32 %0, %%cluster_nctarank;" : "=r"(size));
  if (threadIdx.x == 0) {
    mbarrier_init(shared_address(&gather), size * 32);
    mbarrier_init(shared_address(&release), 1);
  }
  asm volatile("fence.mbarrier_init.release.cluster;" ::: "memory");
  cluster_sync();
  asm volatile("mbarrier.arrive.release.cluster.shared::cluster.b64 _, [%0];" ::"r"(map_to(shared_address(&gather), 0))
               : "memory");
  if (rank == 0) {
    mbarrier_wait(shared_address(&gather), 0);
    if (threadIdx.x < size)
      asm volatile("mbarrier.arrive.release.cluster.shared::cluster.b64 _, [%0], 1;" ::"r"(
                       map_to(shared_address(&release), threadIdx.x))
                   : "memory");
  }
  mbarrier_wait(shared_address(&release), 0);
  if (threadIdx.x == 0) out[blockIdx.x] = rank + 100;
  cluster_sync();
}

// Bulk copy of a block's shared memory to its neighbour, completing on the neighbour's mbarrier.
__global__ void bulk_to_peer(const uint32_t* in, uint32_t* out) {
  __shared__ __align__(128) uint32_t source[64], target[64];
  __shared__ __align__(8) uint64_t barrier;
  uint32_t rank = cluster_rank(), t = threadIdx.x, size;
  asm volatile("mov.u32 %0, %%cluster_nctarank;" : "=r"(size));
  source[t] = in[t] ^ rank, source[t + 32] = in[t + 32] + rank;
  target[t] = target[t + 32] = 0xA5A5A5A5;
  if (t == 0) {
    mbarrier_init(shared_address(&barrier), 1);
    mbarrier_arrive_expect_tx(shared_address(&barrier), 192);
  }
  fence_proxy_async();
  cluster_sync();
  if (t == 0)
    asm volatile("cp.async.bulk.shared::cluster.shared::cta.mbarrier::complete_tx::bytes [%0], [%1], 192, [%2];" ::"r"(
                     map_to(shared_address(target), (rank + 1) % size)),
                 "r"(shared_address(source) + 64), "r"(map_to(shared_address(&barrier), (rank + 1) % size))
                 : "memory");
  mbarrier_wait(shared_address(&barrier), 0);
  out[blockIdx.x * 64 + t] = target[t], out[blockIdx.x * 64 + t + 32] = target[t + 32];
  cluster_sync();
}

// st.async and red.async into the neighbour.
__global__ void async_stores(const uint32_t* in, uint32_t* out) {
  __shared__ __align__(16) uint32_t data[16];
  __shared__ __align__(8) uint64_t barrier;
  uint32_t rank = cluster_rank(), t = threadIdx.x, size;
  asm volatile("mov.u32 %0, %%cluster_nctarank;" : "=r"(size));
  if (t < 16) data[t] = 1000 + t;
  if (t == 0) {
    mbarrier_init(shared_address(&barrier), 1);
    mbarrier_arrive_expect_tx(shared_address(&barrier), 4 + 8 + 16 + 4 + 4);
  }
  cluster_sync();
  uint32_t next = (rank + 1) % size, bar = map_to(shared_address(&barrier), next),
           to = map_to(shared_address(data), next);
  if (t == 0) {
    asm volatile("st.async.weak.shared::cluster.mbarrier::complete_tx::bytes.b32 [%0], %1, [%2];" ::"r"(to),
                 "r"(in[0] + rank), "r"(bar)
                 : "memory");
    asm volatile("st.async.shared::cluster.mbarrier::complete_tx::bytes.v2.b32 [%0], {%1, %2}, [%3];" ::"r"(to + 8),
                 "r"(in[1]), "r"(in[2]), "r"(bar)
                 : "memory");
    asm volatile(
        "st.async.shared::cluster.mbarrier::complete_tx::bytes.v4.b32 [%0], {%1, %2, %3, %4}, [%5];" ::"r"(to + 16),
        "r"(in[3]), "r"(in[4]), "r"(in[5]), "r"(in[6]), "r"(bar)
        : "memory");
    asm volatile(
        "red.async.relaxed.cluster.shared::cluster.mbarrier::complete_tx::bytes.add.u32 [%0], %1, [%2];" ::"r"(to + 40),
        "r"(7u + rank), "r"(bar)
        : "memory");
    asm volatile(
        "red.async.relaxed.cluster.shared::cluster.mbarrier::complete_tx::bytes.max.s32 [%0], %1, [%2];" ::"r"(to + 44),
        "r"(5000u), "r"(bar)
        : "memory");
  }
  mbarrier_wait(shared_address(&barrier), 0);
  if (t < 16) out[blockIdx.x * 16 + t] = data[t];
  cluster_sync();
}

// Block 0 loads a tile for a set of blocks; every block waits on its own mbarrier at the same offset.
__global__ void multicast(const __grid_constant__ CUtensorMap map, uint32_t mask, uint32_t* out) {
  extern __shared__ unsigned char raw[];
  __shared__ __align__(8) uint64_t barrier;
  uint32_t* tile = reinterpret_cast<uint32_t*>(raw + (1024 - shared_address(raw) % 1024) % 1024);
  uint32_t rank = cluster_rank(), t = threadIdx.x;
  for (uint32_t i = t; i < 256; i += 32) tile[i] = 0xA5A5A5A5;
  if (t == 0) {
    mbarrier_init(shared_address(&barrier), 1);
    mbarrier_arrive_expect_tx(shared_address(&barrier), (mask >> rank & 1) ? 1024 : 0);
  }
  fence_proxy_async();
  cluster_sync();
  if (rank == 0 && t == 0)
    asm volatile(
        "cp.async.bulk.tensor.2d.shared::cluster.global.mbarrier::complete_tx::bytes.multicast::cluster [%0], [%1, "
        "{%2, %3}], [%4], %5;" ::"r"(shared_address(tile)),
        "l"(&map), "r"(32), "r"(3), "r"(shared_address(&barrier)), "h"(uint16_t(mask))
        : "memory");
  mbarrier_wait(shared_address(&barrier), 0);
  cluster_sync();
  for (uint32_t i = t; i < 256; i += 32) out[blockIdx.x * 256 + i] = tile[i];
}

// Plain bulk multicast, each block sending a quarter to everybody.
__global__ void bulk_multicast(const uint32_t* in, uint32_t* out) {
  __shared__ __align__(128) uint32_t data[128];
  __shared__ __align__(8) uint64_t barrier;
  uint32_t rank = cluster_rank(), t = threadIdx.x, size;
  asm volatile("mov.u32 %0, %%cluster_nctarank;" : "=r"(size));
  for (uint32_t i = t; i < 128; i += 32) data[i] = 0;
  if (t == 0) {
    mbarrier_init(shared_address(&barrier), 1);
    mbarrier_arrive_expect_tx(shared_address(&barrier), 128 * size);
  }
  fence_proxy_async();
  cluster_sync();
  if (t == 0)
    asm volatile(
        "cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes.multicast::cluster [%0], [%1], 128, [%2], "
        "%3;" ::"r"(shared_address(data) + 128 * rank),
        "l"(in + 32 * rank), "r"(shared_address(&barrier)), "h"(uint16_t((1u << size) - 1))
        : "memory");
  mbarrier_wait(shared_address(&barrier), 0);
  for (uint32_t i = t; i < 128; i += 32) out[blockIdx.x * 128 + i] = data[i];
  cluster_sync();
}

__global__ void __cluster_dims__(2, 1, 1) fixed_dims(uint32_t* out) {
  if (threadIdx.x == 0) out[blockIdx.x] = cluster_rank() + 10 * blockIdx.x;
}

// The cluster's blocks as a split barrier: work between arrive and wait, by warps that have not converged.
__global__ void split_barrier(uint32_t* out) {
  __shared__ uint32_t box;
  uint32_t rank = cluster_rank(), seen = 0;
  if (threadIdx.x == 0) box = rank * 11 + 1;
  asm volatile("barrier.cluster.arrive.release;" ::: "memory");
  uint32_t local = threadIdx.x * 3;
  asm volatile("barrier.cluster.wait.acquire;" ::: "memory");
  asm volatile("ld.shared::cluster.u32 %0, [%1];" : "=r"(seen) : "r"(map_to(shared_address(&box), rank ^ 1)));
  asm volatile("barrier.cluster.arrive.relaxed;\n\tbarrier.cluster.wait;" ::: "memory");
  out[blockIdx.x * blockDim.x + threadIdx.x] = seen * 1000 + local;
}

template <class... Formals, class... Actuals>
void launch(void (*kernel)(Formals...), dim3 grid, dim3 cluster, uint32_t threads, uint32_t shared,
            Actuals... actuals) {
  cudaLaunchConfig_t config = {};
  config.gridDim = grid;
  config.blockDim = threads;
  config.dynamicSmemBytes = shared;
  cudaLaunchAttribute attribute[1];
  attribute[0].id = cudaLaunchAttributeClusterDimension;
  attribute[0].val.clusterDim.x = cluster.x;
  attribute[0].val.clusterDim.y = cluster.y;
  attribute[0].val.clusterDim.z = cluster.z;
  config.attrs = attribute;
  config.numAttrs = 1;
  CHECK_CUDA(cudaLaunchKernelEx(&config, kernel, Formals(actuals)...));
  sync();
}

int main(int argc, char** argv) {
  init(argc, argv);
  CHECK_CUDA(cudaFree(nullptr));
  Random random(12);
  std::vector<uint32_t> words(256);
  for (uint32_t& w : words) w = random.word();
  Buffer<uint32_t> in(words);
  const dim3 shapes[] = {{1, 1, 1}, {2, 1, 1}, {1, 2, 1}, {2, 2, 1}, {1, 2, 2}, {8, 1, 1}};
  for (dim3 cluster : shapes) {
    if (!begin("ranks-" + std::to_string(cluster.x) + "x" + std::to_string(cluster.y) + "x" +
               std::to_string(cluster.z)))
      continue;
    dim3 grid(cluster.x * 2, cluster.y * 2, cluster.z);
    Buffer<uint32_t> out(4 * grid.x * grid.y * grid.z);
    launch(ranks, grid, cluster, 32, 0, out.get());
    print_bulk(out.download(), 16, 2);
  }
  if (begin("ranks-no-cluster")) {
    Buffer<uint32_t> out(4 * 4);
    ranks<<<dim3(2, 2), 32>>>(out.get());
    sync();
    print_all(out.download());
  }
  if (begin("fixed-dims")) {
    Buffer<uint32_t> out(4);
    fixed_dims<<<4, 32>>>(out.get());
    sync();
    print_all(out.download());
  }
  for (uint32_t size : {1u, 2u, 4u}) {
    std::string tail = "-" + std::to_string(size);
    auto run = [&](const char* name, uint32_t words_per_block, auto start) {
      if (!begin(name + tail)) return;
      Buffer<uint32_t> out(2 * size * words_per_block);
      out.fill(0xEE);
      start(out.get());
      print_bulk(out.download(), 8, 4);
    };
    run("remote-access", 256, [&](uint32_t* out) { launch(remote_access, 2 * size, size, 32, 0, in.get(), out); });
    run("remote-arrive", 1, [&](uint32_t* out) { launch(remote_arrive, 2 * size, size, 32, 0, out); });
    run("bulk-to-peer", 64, [&](uint32_t* out) { launch(bulk_to_peer, 2 * size, size, 32, 0, in.get(), out); });
    run("async-stores", 16, [&](uint32_t* out) { launch(async_stores, 2 * size, size, 32, 0, in.get(), out); });
    run("bulk-multicast", 128, [&](uint32_t* out) { launch(bulk_multicast, 2 * size, size, 32, 0, in.get(), out); });
    if (size == 2) run("split-barrier", 64, [&](uint32_t* out) { launch(split_barrier, 2 * size, size, 64, 0, out); });
  }
  for (uint32_t mask : {1u, 2u, 5u, 15u}) {
    if (!begin("multicast-mask" + std::to_string(mask))) continue;
    TensorSpec spec;
    spec.type = CU_TENSOR_MAP_DATA_TYPE_BFLOAT16;
    spec.rank = 2;
    spec.dims[0] = 128, spec.dims[1] = 16;
    spec.box[0] = 64, spec.box[1] = 8;
    spec.swizzle = CU_TENSOR_MAP_SWIZZLE_128B;
    pack_strides(spec);
    std::vector<uint32_t> data(1024);
    for (uint32_t& w : data) w = random.word();
    Buffer<uint32_t> tensor(data), out(4 * 256);
    CUtensorMap map;
    if (encode(&map, spec, tensor.get()) != CUDA_SUCCESS) continue;
    launch(multicast, 4, 4, 32, 2048, map, mask, out.get());
    print_bulk(out.download(), 4, 4);
  }
}
