// What the API answers to right and wrong calls, one line each. The recorded text (api_errors.expected) is a real H200's.
#include <cuda.h>
#include <cuda_runtime.h>

#include <cstdint>
#include <cstdio>
#include <vector>

__device__ int table[16];
__constant__ float weights[4];
__global__ void plain(int* out) { if (out) out[threadIdx.x] = static_cast<int>(threadIdx.x); }
__global__ void __launch_bounds__(256) bounded(int* out) { if (out) out[threadIdx.x] = 1; }
__global__ void __cluster_dims__(2, 1, 1) clustered(int* out) { if (out) out[blockIdx.x] = 1; }
__global__ void with_static(int* out) {
  __shared__ int s[4096];
  s[threadIdx.x] = 1;
  __syncthreads();
  if (out) out[threadIdx.x] = s[threadIdx.x ^ 1];
}
__global__ void from_symbols(int* out) { out[threadIdx.x] = table[threadIdx.x % 16] + static_cast<int>(weights[threadIdx.x % 4]); }

static void show(const char* what, cudaError_t e) {
  std::printf("%s: %d %s\n", what, static_cast<int>(e), cudaGetErrorName(e));
  cudaGetLastError();
}

template <class K>
static cudaError_t launch(K kernel, dim3 grid, dim3 block, size_t shared, dim3 cluster, bool cooperative = false) {
  cudaLaunchConfig_t config = {};
  cudaLaunchAttribute attributes[2];
  config.gridDim = grid, config.blockDim = block, config.dynamicSmemBytes = shared, config.attrs = attributes;
  if (cluster.x) {
    attributes[config.numAttrs].id = cudaLaunchAttributeClusterDimension;
    attributes[config.numAttrs].val.clusterDim = {cluster.x, cluster.y, cluster.z};
    ++config.numAttrs;
  }
  if (cooperative) {
    attributes[config.numAttrs].id = cudaLaunchAttributeCooperative;
    attributes[config.numAttrs].val.cooperative = 1;
    ++config.numAttrs;
  }
  const cudaError_t e = cudaLaunchKernelEx(&config, kernel, static_cast<int*>(nullptr));
  const cudaError_t later = cudaDeviceSynchronize();
  return e != cudaSuccess ? e : later;
}

static void launches() {
  show("launch plain", launch(plain, 1, 32, 0, 0));
  show("block of 2048", launch(plain, 1, 2048, 0, 0));
  show("block z of 65", launch(plain, 1, dim3(1, 1, 65), 0, 0));
  show("grid of 0", launch(plain, 0, 32, 0, 0));
  show("block of 0", launch(plain, 1, 0, 0, 0));
  show("grid y of 65536", launch(plain, dim3(1, 65536, 1), 32, 0, 0));
  show("over launch bounds", launch(bounded, 1, 512, 0, 0));
  show("dynamic shared 49152", launch(plain, 1, 32, 49152, 0));
  show("dynamic shared 49153", launch(plain, 1, 32, 49153, 0));
  show("dynamic 32768 with static 16384", launch(with_static, 1, 32, 32768, 0));
  show("dynamic 32769 with static 16384", launch(with_static, 1, 32, 32769, 0));
  show("attribute 232448", cudaFuncSetAttribute(plain, cudaFuncAttributeMaxDynamicSharedMemorySize, 232448));
  show("dynamic shared 232448", launch(plain, 1, 32, 232448, 0));
  show("attribute 232449", cudaFuncSetAttribute(plain, cudaFuncAttributeMaxDynamicSharedMemorySize, 232449));
  show("attribute 216064 with static", cudaFuncSetAttribute(with_static, cudaFuncAttributeMaxDynamicSharedMemorySize, 216064));
  show("attribute 216065 with static", cudaFuncSetAttribute(with_static, cudaFuncAttributeMaxDynamicSharedMemorySize, 216065));
  show("attribute -1", cudaFuncSetAttribute(plain, cudaFuncAttributeMaxDynamicSharedMemorySize, -1));
  show("cluster 2", launch(plain, 4, 32, 0, 2));
  show("cluster 8", launch(plain, 8, 32, 0, 8));
  show("cluster 16", launch(plain, 16, 32, 0, 16));
  show("non-portable", cudaFuncSetAttribute(plain, cudaFuncAttributeNonPortableClusterSizeAllowed, 1));
  show("cluster 16 non-portable", launch(plain, 16, 32, 0, 16));
  show("cluster 32 non-portable", launch(plain, 32, 32, 0, 32));
  show("grid 3 cluster 2", launch(plain, 3, 32, 0, 2));
  show("cluster dims kernel", launch(clustered, 4, 32, 0, 0));
  show("cluster dims kernel, same attribute", launch(clustered, 4, 32, 0, 2));
  show("cluster dims kernel, other attribute", launch(clustered, 4, 32, 0, 4));
  show("cluster dims kernel, grid 3", launch(clustered, 3, 32, 0, 0));
  show("cooperative 132", launch(plain, 132, 1024, 0, 0, true));
  show("cooperative 265", launch(plain, 265, 1024, 0, 0, true));
  void* args[1] = {nullptr};
  int* null = nullptr;
  args[0] = &null;
  show("cooperative kernel", cudaLaunchCooperativeKernel(reinterpret_cast<void*>(plain), 1, 32, args, 0, 0));
  show("host function as kernel", cudaLaunchKernel(reinterpret_cast<void*>(show), 1, 32, args, 0, 0));
  show("null kernel", cudaLaunchKernel(nullptr, 1, 32, args, 0, 0));
}

static void memory() {
  void* p = reinterpret_cast<void*>(1);
  show("malloc 0", cudaMalloc(&p, 0));
  std::printf("malloc 0 gives null: %d\n", p == nullptr);
  show("malloc null", cudaMalloc(nullptr, 16));
  show("malloc too much", cudaMalloc(&p, size_t{1} << 50));
  show("free null", cudaFree(nullptr));
  show("free bad", cudaFree(reinterpret_cast<void*>(0x1234)));
  int host[64] = {};
  int* d = nullptr;
  show("malloc 256", cudaMalloc(&d, 256));
  show("h2d", cudaMemcpy(d, host, 256, cudaMemcpyHostToDevice));
  show("h2d default", cudaMemcpy(d, host, 256, cudaMemcpyDefault));
  show("d2h default", cudaMemcpy(host, d, 256, cudaMemcpyDefault));
  show("h2h", cudaMemcpy(host, host + 32, 64, cudaMemcpyHostToHost));
  show("zero bytes", cudaMemcpy(d, host, 0, cudaMemcpyHostToDevice));
  show("direction 9", cudaMemcpy(d, host, 16, static_cast<cudaMemcpyKind>(9)));
  show("memset", cudaMemset(d, 0x5a, 256));
  show("d2h", cudaMemcpy(host, d, 256, cudaMemcpyDeviceToHost));
  std::printf("memset gives %x\n", host[63]);
  cudaPointerAttributes a;
  show("attributes device", cudaPointerGetAttributes(&a, d + 3));
  std::printf("type %d device %d same %d\n", a.type, a.device, a.devicePointer == d + 3);
  show("attributes host", cudaPointerGetAttributes(&a, host));
  std::printf("type %d\n", a.type);
  void* pinned = nullptr;
  show("host alloc", cudaHostAlloc(&pinned, 4096, cudaHostAllocDefault));
  show("attributes pinned", cudaPointerGetAttributes(&a, pinned));
  std::printf("type %d\n", a.type);
  show("free host", cudaFreeHost(pinned));
  show("free host twice", cudaFreeHost(pinned));
  show("free", cudaFree(d));
  show("free twice", cudaFree(d));
  void* pitched = nullptr;
  size_t pitch = 0;
  show("malloc pitch", cudaMallocPitch(&pitched, &pitch, 100, 4));
  std::printf("pitch %zu\n", pitch);
  show("memset 2d", cudaMemset2D(pitched, pitch, 1, 100, 4));
  show("memcpy 2d", cudaMemcpy2D(host, 50, pitched, pitch, 50, 4, cudaMemcpyDeviceToHost));
  show("async malloc", cudaMallocAsync(&p, 1024, 0));
  show("async free", cudaFreeAsync(p, 0));
}

static void symbols() {
  int values[16];
  for (int i = 0; i < 16; ++i) values[i] = i * i;
  const float w[4] = {1, 2, 3, 4};
  show("to symbol", cudaMemcpyToSymbol(table, values, sizeof values));
  show("to constant", cudaMemcpyToSymbol(weights, w, sizeof w));
  show("to symbol too long", cudaMemcpyToSymbol(table, values, 4, 64));
  show("to host variable", cudaMemcpyToSymbol(&values, values, 4));
  void* address = nullptr;
  size_t size = 0;
  show("symbol address", cudaGetSymbolAddress(&address, table));
  show("symbol size", cudaGetSymbolSize(&size, table));
  std::printf("size %zu\n", size);
  int* d = nullptr;
  cudaMalloc(&d, 64);
  from_symbols<<<1, 16>>>(d);
  show("launch", cudaGetLastError());
  int out[16], back[16];
  show("d2h", cudaMemcpy(out, d, 64, cudaMemcpyDeviceToHost));
  show("from symbol", cudaMemcpyFromSymbol(back, table, 64));
  std::printf("%d %d %d\n", out[5], out[15], back[7]);
}

static void streams() {
  cudaStream_t s = nullptr;
  cudaEvent_t a, b, off;
  show("stream", cudaStreamCreateWithFlags(&s, cudaStreamNonBlocking));
  unsigned flags = 9;
  show("stream flags", cudaStreamGetFlags(s, &flags));
  std::printf("flags %u\n", flags);
  int least = 9, greatest = 9;
  show("priorities", cudaDeviceGetStreamPriorityRange(&least, &greatest));
  std::printf("least %d greatest %d\n", least, greatest);
  show("event", cudaEventCreate(&a));
  show("event", cudaEventCreate(&b));
  show("event", cudaEventCreateWithFlags(&off, cudaEventDisableTiming));
  float ms = -1;
  show("elapsed unrecorded", cudaEventElapsedTime(&ms, a, b));
  show("record", cudaEventRecord(a, s));
  plain<<<1, 32, 0, s>>>(nullptr);
  show("record", cudaEventRecord(b, s));
  show("wait", cudaStreamWaitEvent(nullptr, b, 0));
  show("synchronize", cudaEventSynchronize(b));
  show("query", cudaEventQuery(b));
  show("stream query", cudaStreamQuery(s));
  show("elapsed", cudaEventElapsedTime(&ms, a, b));
  std::printf("elapsed is positive: %d\n", ms > 0);
  cudaEventRecord(off, s);
  cudaEventSynchronize(off);
  show("elapsed without timing", cudaEventElapsedTime(&ms, a, off));
  show("destroy", cudaEventDestroy(a));
  show("stream destroy", cudaStreamDestroy(s));
  show("set device 0", cudaSetDevice(0));
  show("set device 7", cudaSetDevice(7));
  show("set device -1", cudaSetDevice(-1));
  int value = 0;
  show("attribute of device 7", cudaDeviceGetAttribute(&value, cudaDevAttrWarpSize, 7));
}

static void functions() {
  cudaFuncAttributes f;
  show("attributes", cudaFuncGetAttributes(&f, with_static));
  std::printf("shared %zu local %zu threads %d dynamic %d binary %d ptx %d\n", f.sharedSizeBytes, f.localSizeBytes,
              f.maxThreadsPerBlock, f.maxDynamicSharedSizeBytes, f.binaryVersion, f.ptxVersion);
  show("attributes bounded", cudaFuncGetAttributes(&f, bounded));
  std::printf("threads %d dynamic %d\n", f.maxThreadsPerBlock, f.maxDynamicSharedSizeBytes);
  show("attributes clustered", cudaFuncGetAttributes(&f, clustered));
  std::printf("cluster %d %d %d must %d\n", f.requiredClusterWidth, f.requiredClusterHeight, f.requiredClusterDepth,
              f.clusterDimMustBeSet);
  for (const int threads : {32, 64, 128, 256, 384, 512, 768, 1024}) {
    for (const int shared : {0, 1000, 20000, 48000, 100000, 113000, 200000}) {
      int blocks = -1;
      const cudaError_t e = cudaOccupancyMaxActiveBlocksPerMultiprocessor(&blocks, plain, threads, shared);
      std::printf("occupancy %d %d: %d %d\n", threads, shared, static_cast<int>(e), blocks);
    }
  }
  for (const unsigned size : {1u, 2u, 4u, 8u, 16u}) {
    cudaLaunchConfig_t config = {};
    cudaLaunchAttribute attribute;
    attribute.id = cudaLaunchAttributeClusterDimension;
    attribute.val.clusterDim = {size, 1, 1};
    config.gridDim = 64, config.blockDim = 128, config.dynamicSmemBytes = 150000, config.attrs = &attribute, config.numAttrs = 1;
    int clusters = -1;
    const cudaError_t e = cudaOccupancyMaxActiveClusters(&clusters, plain, &config);
    std::printf("clusters of %u: %d %d\n", size, static_cast<int>(e), clusters);
  }
  int grid = 0, block = 0;
  show("potential", cudaOccupancyMaxPotentialBlockSize(&grid, &block, plain, 0, 0));
  std::printf("grid %d block %d\n", grid, block);
  show("potential bounded", cudaOccupancyMaxPotentialBlockSize(&grid, &block, bounded, 0, 0));
  std::printf("grid %d block %d\n", grid, block);
  void* entry = nullptr;
  cudaDriverEntryPointQueryResult result;
  show("entry point", cudaGetDriverEntryPointByVersion("cuTensorMapEncodeTiled", &entry, 12000, cudaEnableDefault, &result));
  std::printf("found %d result %d\n", entry != nullptr, result);
  show("entry point unknown", cudaGetDriverEntryPointByVersion("cuNoSuchThing", &entry, 12000, cudaEnableDefault, &result));
  std::printf("found %d result %d\n", entry != nullptr, result);
  const char* text = nullptr;
  std::printf("cu name %d", static_cast<int>(cuGetErrorName(CUDA_ERROR_INVALID_VALUE, &text)));
  std::printf(" %s\n", text);
  std::printf("cu name %d\n", static_cast<int>(cuGetErrorName(static_cast<CUresult>(123456), &text)));
  for (const int code : {0, 1, 2, 9, 13, 98, 209, 400, 700, 702, 710, 715, 716, 719, 720, 801, 912, 999, 12345}) {
    std::printf("name %d %s\n", code, cudaGetErrorName(static_cast<cudaError_t>(code)));
  }
}

int main() {
  cuInit(0);
  launches();
  memory();
  symbols();
  streams();
  functions();
  return 0;
}
