// A candidate as TVM FFI's own users write it.
#include <cuda_runtime.h>
#include <tvm/ffi/container/tensor.h>
#include <tvm/ffi/extra/c_env_api.h>
#include <tvm/ffi/function.h>
#include <tvm/ffi/optional.h>

__global__ void add(int* p, int n, int v) {
  for (int i = 0; i < n; ++i) p[i] += v;
}

void run(tvm::ffi::TensorView in, tvm::ffi::TensorView out, int64_t v) {
  TVM_FFI_ICHECK_EQ(in.ndim(), 1) << "rank";
  if (v == 13) TVM_FFI_THROW(ValueError) << "thirteen is refused";
  const auto stream = static_cast<cudaStream_t>(TVMFFIEnvGetStream(out.device().device_type, out.device().device_id));
  cudaMemcpyAsync(out.data_ptr(), in.data_ptr(), static_cast<size_t>(in.size(0)) * 4, cudaMemcpyDeviceToDevice, stream);
  add<<<1, 1, 0, stream>>>(static_cast<int*>(out.data_ptr()), static_cast<int>(out.size(0)), static_cast<int>(v));
}
TVM_FFI_DLL_EXPORT_TYPED_FUNC(run, run);
