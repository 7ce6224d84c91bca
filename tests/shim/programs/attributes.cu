// Prints what the runtime says of device 0. The recorded text (attributes.expected) is a real H200's.
#include <cuda_runtime.h>

#include <cstdio>

int main() {
  for (int a = 1; a <= 160; ++a) {
    int value = 0;
    const cudaError_t error = cudaDeviceGetAttribute(&value, static_cast<cudaDeviceAttr>(a), 0);
    if (error == cudaSuccess) std::printf("attribute %d %d\n", a, value);
    else std::printf("attribute %d error %d\n", a, static_cast<int>(error));
    cudaGetLastError();
  }
  cudaDeviceProp p;
  cudaGetDeviceProperties(&p, 0);
#define SHOW(f) std::printf("%s %lld\n", #f, static_cast<long long>(p.f))
#define SHOW2(f) std::printf("%s %d %d\n", #f, p.f[0], p.f[1])
#define SHOW3(f) std::printf("%s %d %d %d\n", #f, p.f[0], p.f[1], p.f[2])
  std::printf("name %s\n", p.name);
  SHOW(totalGlobalMem); SHOW(sharedMemPerBlock); SHOW(regsPerBlock); SHOW(warpSize); SHOW(memPitch);
  SHOW(maxThreadsPerBlock); SHOW3(maxThreadsDim); SHOW3(maxGridSize); SHOW(totalConstMem); SHOW(major); SHOW(minor);
  SHOW(textureAlignment); SHOW(texturePitchAlignment); SHOW(multiProcessorCount); SHOW(integrated);
  SHOW(canMapHostMemory); SHOW(maxTexture1D); SHOW(maxTexture1DMipmap); SHOW2(maxTexture2D); SHOW2(maxTexture2DMipmap);
  SHOW3(maxTexture2DLinear); SHOW2(maxTexture2DGather); SHOW3(maxTexture3D); SHOW3(maxTexture3DAlt);
  SHOW(maxTextureCubemap); SHOW2(maxTexture1DLayered); SHOW3(maxTexture2DLayered); SHOW2(maxTextureCubemapLayered);
  SHOW(maxSurface1D); SHOW2(maxSurface2D); SHOW3(maxSurface3D); SHOW2(maxSurface1DLayered); SHOW3(maxSurface2DLayered);
  SHOW(maxSurfaceCubemap); SHOW2(maxSurfaceCubemapLayered); SHOW(surfaceAlignment); SHOW(concurrentKernels);
  SHOW(ECCEnabled); SHOW(tccDriver); SHOW(asyncEngineCount); SHOW(unifiedAddressing); SHOW(memoryBusWidth);
  SHOW(l2CacheSize); SHOW(persistingL2CacheMaxSize); SHOW(maxThreadsPerMultiProcessor); SHOW(streamPrioritiesSupported);
  SHOW(globalL1CacheSupported); SHOW(localL1CacheSupported); SHOW(sharedMemPerMultiprocessor);
  SHOW(regsPerMultiprocessor); SHOW(managedMemory); SHOW(isMultiGpuBoard); SHOW(hostNativeAtomicSupported);
  SHOW(pageableMemoryAccess); SHOW(concurrentManagedAccess); SHOW(computePreemptionSupported);
  SHOW(canUseHostPointerForRegisteredMem); SHOW(cooperativeLaunch); SHOW(sharedMemPerBlockOptin);
  SHOW(pageableMemoryAccessUsesHostPageTables); SHOW(directManagedMemAccessFromHost); SHOW(maxBlocksPerMultiProcessor);
  SHOW(accessPolicyMaxWindowSize); SHOW(reservedSharedMemPerBlock); SHOW(hostRegisterSupported);
  SHOW(sparseCudaArraySupported); SHOW(hostRegisterReadOnlySupported); SHOW(timelineSemaphoreInteropSupported);
  SHOW(memoryPoolsSupported); SHOW(gpuDirectRDMASupported); SHOW(gpuDirectRDMAFlushWritesOptions);
  SHOW(gpuDirectRDMAWritesOrdering); SHOW(memoryPoolSupportedHandleTypes); SHOW(deferredMappingCudaArraySupported);
  SHOW(ipcEventSupported); SHOW(clusterLaunch); SHOW(unifiedFunctionPointers); SHOW(deviceNumaConfig);
  SHOW(deviceNumaId); SHOW(mpsEnabled); SHOW(hostNumaId); SHOW(hostNumaMultinodeIpcSupported);
  int driver = 0, runtime = 0;
  cudaDriverGetVersion(&driver);
  cudaRuntimeGetVersion(&runtime);
  std::printf("driver %d runtime %d\n", driver, runtime);
  return 0;
}
