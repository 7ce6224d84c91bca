// Every way to launch a kernel; each kernel (native in the fake device) copies its parameters to memory.
#include <cuda.h>
#include <cuda_runtime.h>

#include <cstdio>
#include <cstring>

struct Odd {
  char a;
  short b;
  char c[5];
};
__global__ void echo(unsigned char* out, int a, char b, double c, Odd odd, float d) {
  if (a == 99) out[0] = static_cast<unsigned char>(b + c + odd.b + d);
}
__global__ void echo_map(unsigned char* out, const __grid_constant__ CUtensorMap map) {
  if (blockIdx.x == 99) out[0] = reinterpret_cast<const unsigned char*>(&map)[threadIdx.x];
}
__global__ void __cluster_dims__(2, 1, 1) echo_cluster(unsigned char* out) { out[0] = 1; }

static unsigned char* device = nullptr;
static unsigned char host[256];

static bool check(const char* what, cudaError_t error, std::size_t bytes, int a) {
  const cudaError_t copied = cudaMemcpy(host, device, sizeof host, cudaMemcpyDeviceToHost);
  bool good = error == cudaSuccess && copied == cudaSuccess && std::memcmp(host, &device, 8) == 0;
  if (bytes > 8) good = good && std::memcmp(host + 8, &a, 4) == 0;
  for (std::size_t i = bytes; i < sizeof host; ++i) good = good && host[i] == 0xEE;
  std::printf("%s %s\n", what, good ? "ok" : "BAD");
  cudaMemset(device, 0xEE, sizeof host);
  return good;
}

int main() {
  cudaMalloc(&device, sizeof host);
  cudaMemset(device, 0xEE, sizeof host);
  Odd odd = {1, 2, {3, 4, 5, 6, 7}};
  int a = 41;
  char b = 'b';
  double c = 2.5;
  float d = 7.25f;
  // Offsets by the C ABI: pointer 0, int 8, char 12, double 16, Odd (size 10, align 2) 24, float 36; 40 bytes.
  echo<<<1, 32>>>(device, a, b, c, odd, d);
  bool all = check("chevrons", cudaGetLastError(), 40, a);
  double c_back;
  float d_back;
  echo<<<dim3(2, 3, 4), dim3(8, 4, 2), 128>>>(device, ++a, b, c, odd, d);
  cudaMemcpy(host, device, sizeof host, cudaMemcpyDeviceToHost);
  std::memcpy(&c_back, host + 16, 8);
  std::memcpy(&d_back, host + 36, 4);
  std::printf("arguments %d\n", host[12] == 'b' && c_back == c && d_back == d && std::memcmp(host + 24, &odd, 10) == 0);
  all = check("chevrons 3d", cudaGetLastError(), 40, a) && all;

  void* args[] = {&device, &a, &b, &c, &odd, &d};
  ++a;
  all = check("cudaLaunchKernel", cudaLaunchKernel(reinterpret_cast<const void*>(echo), 1, 32, args, 0, 0), 40, a) && all;
  ++a;
  all = check("cooperative", cudaLaunchCooperativeKernel(reinterpret_cast<const void*>(echo), 1, 32, args, 0, 0), 40, a) && all;
  cudaStream_t stream;
  cudaStreamCreate(&stream);
  cudaLaunchAttribute attributes[3] = {};
  attributes[0].id = cudaLaunchAttributeClusterDimension;
  attributes[0].val.clusterDim = {4, 1, 1};
  attributes[1].id = cudaLaunchAttributeProgrammaticStreamSerialization;
  attributes[1].val.programmaticStreamSerializationAllowed = 1;
  cudaLaunchConfig_t config = {};
  config.gridDim = 8, config.blockDim = 64, config.dynamicSmemBytes = 1024, config.stream = stream;
  config.attrs = attributes, config.numAttrs = 2;
  ++a;
  all = check("cudaLaunchKernelEx", cudaLaunchKernelEx(&config, echo, device, a, b, c, odd, d), 40, a) && all;
  attributes[2].id = cudaLaunchAttributeDeviceUpdatableKernelNode;
  config.numAttrs = 3;
  std::printf("unknown attribute %d\n", cudaLaunchKernelEx(&config, echo, device, a, b, c, odd, d));
  cudaGetLastError();

  cudaKernel_t kernel;
  cudaGetKernel(&kernel, reinterpret_cast<const void*>(echo));
  ++a;
  all = check("cudaKernel_t", cudaLaunchKernel(reinterpret_cast<const void*>(kernel), 1, 32, args, 0, stream), 40, a) && all;

  CUfunction function = reinterpret_cast<CUfunction>(kernel);
  ++a;
  all = check("cuLaunchKernel", static_cast<cudaError_t>(cuLaunchKernel(function, 1, 1, 1, 32, 1, 1, 0, stream, args, nullptr)),
              40, a) && all;
  unsigned char packed[40] = {};
  std::memcpy(packed, &device, 8);
  std::memcpy(packed + 8, &++a, 4);
  std::size_t bytes = sizeof packed;
  void* extra[] = {CU_LAUNCH_PARAM_BUFFER_POINTER, packed, CU_LAUNCH_PARAM_BUFFER_SIZE, &bytes, CU_LAUNCH_PARAM_END};
  all = check("packed", static_cast<cudaError_t>(cuLaunchKernel(function, 1, 1, 1, 32, 1, 1, 0, stream, nullptr, extra)), 40, a) && all;

  CUtensorMap map;
  void* entry = nullptr;
  cudaDriverEntryPointQueryResult found;
  cudaGetDriverEntryPointByVersion("cuTensorMapEncodeTiled", &entry, 12000, cudaEnableDefault, &found);
  const cuuint64_t dims[2] = {64, 32}, strides[1] = {128};
  const cuuint32_t box[2] = {64, 16}, steps[2] = {1, 1};
  const CUresult encoded = reinterpret_cast<decltype(&cuTensorMapEncodeTiled)>(entry)(
      &map, CU_TENSOR_MAP_DATA_TYPE_BFLOAT16, 2, device, dims, strides, box, steps, CU_TENSOR_MAP_INTERLEAVE_NONE,
      CU_TENSOR_MAP_SWIZZLE_128B, CU_TENSOR_MAP_L2_PROMOTION_NONE, CU_TENSOR_MAP_FLOAT_OOB_FILL_NONE);
  std::printf("encode %d linked the same %d\n", encoded, reinterpret_cast<void*>(&cuTensorMapEncodeTiled) == entry);
  echo_map<<<1, 32>>>(device, map);
  cudaMemcpy(host, device, sizeof host, cudaMemcpyDeviceToHost);
  // __grid_constant__ of an aligned type: at offset 64 or 128 (by nvcc's version), whole.
  const bool whole = std::memcmp(host + 64, &map, 128) == 0 || std::memcmp(host + 128, &map, 128) == 0;
  std::printf("tensor map %s\n", whole ? "ok" : "BAD");
  cudaMemset(device, 0xEE, sizeof host);
  echo_cluster<<<4, 32>>>(device);
  all = check("cluster dims", cudaGetLastError(), 8, 0) && all;
  CUtensorMap im2col;
  std::printf("im2col %d\n", cuTensorMapEncodeIm2col(&im2col, CU_TENSOR_MAP_DATA_TYPE_BFLOAT16, 3, device, dims, strides, nullptr,
                                                     nullptr, 1, 1, steps, CU_TENSOR_MAP_INTERLEAVE_NONE,
                                                     CU_TENSOR_MAP_SWIZZLE_NONE, CU_TENSOR_MAP_L2_PROMOTION_NONE,
                                                     CU_TENSOR_MAP_FLOAT_OOB_FILL_NONE));
  cudaGraph_t graph;
  const cudaError_t refused = cudaGraphCreate(&graph, 0);
  std::printf("graph %d %s\n", refused, cudaGetErrorName(cudaGetLastError()));
  return all && whole ? 0 : 1;
}
