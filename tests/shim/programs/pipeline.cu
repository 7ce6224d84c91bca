// A program with two translation units' worth of work: several kernels, shared memory, constants, streams, events, printf.
#include <cuda_runtime.h>

#include <cstdio>
#include <vector>

__constant__ float scale[2];
__device__ unsigned total;

__global__ void saxpy(const float* x, float* y, int n) {
  const int i = static_cast<int>(blockIdx.x * blockDim.x + threadIdx.x);
  if (i < n) y[i] = scale[0] * x[i] + scale[1] * y[i];
}
__global__ void reduce(const float* x, float* sum, int n) {
  extern __shared__ float part[];
  const int i = static_cast<int>(blockIdx.x * blockDim.x + threadIdx.x);
  part[threadIdx.x] = i < n ? x[i] : 0.0f;
  for (unsigned half = blockDim.x / 2; half > 0; half /= 2) {
    __syncthreads();
    if (threadIdx.x < half) part[threadIdx.x] += part[threadIdx.x + half];
  }
  if (threadIdx.x == 0) {
    atomicAdd(sum, part[0]);
    atomicAdd(&total, 1u);
  }
}
__global__ void report(const float* sum) { printf("device says %.1f\n", static_cast<double>(*sum)); }

int main(int argc, char** argv) {
  const int n = 1000;
  std::vector<float> x(n), y(n, 1.0f);
  for (int i = 0; i < n; ++i) x[static_cast<std::size_t>(i)] = static_cast<float>(i % 10);
  float *dx, *dy, *sum;
  cudaMalloc(&dx, n * 4);
  cudaMalloc(&dy, n * 4);
  cudaMalloc(&sum, 4);
  const float factors[2] = {2.0f, 3.0f};
  cudaMemcpyToSymbol(scale, factors, sizeof factors);
  cudaStream_t stream;
  cudaStreamCreate(&stream);
  cudaMemcpyAsync(dx, x.data(), n * 4, cudaMemcpyHostToDevice, stream);
  cudaMemcpyAsync(dy, y.data(), n * 4, cudaMemcpyHostToDevice, stream);
  cudaMemsetAsync(sum, 0, 4, stream);
  cudaEvent_t start, stop;
  cudaEventCreate(&start);
  cudaEventCreate(&stop);
  cudaEventRecord(start, stream);
  saxpy<<<(n + 127) / 128, 128, 0, stream>>>(dx, dy, n);
  reduce<<<(n + 127) / 128, 128, 512, stream>>>(dy, sum, n);
  cudaEventRecord(stop, stream);
  cudaEventSynchronize(stop);
  float ms = 0, result = 0;
  cudaEventElapsedTime(&ms, start, stop);
  unsigned blocks = 0;
  cudaMemcpy(&result, sum, 4, cudaMemcpyDeviceToHost);
  cudaMemcpyFromSymbol(&blocks, total, 4);
  // 2 * 4500 + 3 * 1000
  std::printf("%d arguments, sum %.1f of %u blocks, time passes %d\n", argc - 1, static_cast<double>(result), blocks, ms > 0);
  report<<<1, 1>>>(sum);
  const cudaError_t error = cudaDeviceSynchronize();
  std::printf("%s %s\n", cudaGetErrorName(error), argc > 1 ? argv[1] : "");
  return result == 12000.0f && blocks == 8 && error == cudaSuccess ? 7 : 1;
}
