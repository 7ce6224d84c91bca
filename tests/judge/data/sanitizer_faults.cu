// faults NAME: one fault for a checker to find.
#include <cstdio>
#include <cstring>
#include <cuda_runtime.h>
__global__ void write_behind(int* p, int n) { p[n + threadIdx.x] = 1; }
__global__ void misaligned(char* p) { *reinterpret_cast<int*>(p + 1) = threadIdx.x; }
__global__ void shared_race(int* p) {
  __shared__ int s[64];
  s[threadIdx.x] = threadIdx.x;
  p[threadIdx.x] = s[63 - threadIdx.x];
}
__global__ void divergent_barrier(int* p) {
  if (threadIdx.x < 16) __syncthreads();
  p[threadIdx.x] = 1;
}
__global__ void read_unset(const int* p, int* q) { q[threadIdx.x] = p[threadIdx.x]; }
__global__ void shared_behind(int* p, int i) {
  __shared__ int s[32];
  s[threadIdx.x + i] = 1;
  p[threadIdx.x] = s[threadIdx.x];
}
int main(int argc, char** argv) {
  const char* w = argc > 1 ? argv[1] : "clean";
  int *p, *q;
  cudaMalloc(&p, 256), cudaMalloc(&q, 256);
  if (!strcmp(w, "write_behind")) write_behind<<<2, 32>>>(p, 64);
  if (!strcmp(w, "misaligned")) misaligned<<<1, 4>>>(reinterpret_cast<char*>(p));
  if (!strcmp(w, "shared_race")) shared_race<<<1, 64>>>(p);
  if (!strcmp(w, "divergent_barrier")) divergent_barrier<<<1, 32>>>(p);
  if (!strcmp(w, "read_unset")) read_unset<<<1, 32>>>(q, p);
  if (!strcmp(w, "shared_behind")) shared_behind<<<1, 32>>>(p, 100000);
  printf("%s: %s\n", w, cudaGetErrorString(cudaDeviceSynchronize()));
}
