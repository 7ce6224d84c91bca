// Host: tensor maps for bf16 (cuTensorMapEncodeTiled; "Tensor-map" in the PTX manual). Throws ptxbench::ffi::Failure.
#pragma once

#include <cuda.h>
#include <cuda_runtime.h>

#include <cstdint>

#include <ptxbench/ffi.h>

namespace ptxbench::ptx {

namespace detail {

// cuTensorMapEncodeTiled belongs to the driver; asking the runtime for it saves linking libcuda.
inline decltype(&cuTensorMapEncodeTiled) encode_tiled() {
  void* function = nullptr;
  cudaDriverEntryPointQueryResult found;
  const cudaError_t error =
      cudaGetDriverEntryPointByVersion("cuTensorMapEncodeTiled", &function, 12000, cudaEnableDefault, &found);
  if (error != cudaSuccess || found != cudaDriverEntryPointSuccess)
    throw ffi::Failure("RuntimeError", "no cuTensorMapEncodeTiled: %s", cudaGetErrorString(error));
  return reinterpret_cast<decltype(&cuTensorMapEncodeTiled)>(function);
}

template <int kRank>
CUtensorMap make_map(const void* data, const cuuint64_t (&sizes)[kRank], const cuuint32_t (&box)[kRank],
                     CUtensorMapSwizzle swizzle) {
  cuuint64_t stride_bytes[kRank];  // the innermost one is not passed: elements are adjacent
  cuuint32_t element_steps[kRank];
  for (int i = 0; i < kRank; ++i) {
    stride_bytes[i] = (i == 0 ? 2 : stride_bytes[i - 1]) * sizes[i];  // of dimension i + 1
    element_steps[i] = 1;
  }
  static const auto encode = encode_tiled();
  CUtensorMap map;
  const CUresult result = encode(&map, CU_TENSOR_MAP_DATA_TYPE_BFLOAT16, kRank, const_cast<void*>(data), sizes,
                                 stride_bytes, box, element_steps, CU_TENSOR_MAP_INTERLEAVE_NONE, swizzle,
                                 CU_TENSOR_MAP_L2_PROMOTION_L2_256B, CU_TENSOR_MAP_FLOAT_OOB_FILL_NONE);
  if (result != CUDA_SUCCESS)
    throw ffi::Failure("RuntimeError", "cuTensorMapEncodeTiled: error %d", static_cast<int>(result));
  return map;
}

}  // namespace detail

// A dense row-major [rows][columns] matrix and the box [box_rows][box_columns] that one copy moves. columns * 2 bytes must
// be a multiple of 16, data 16-byte aligned, box sides 1 .. 256, box_columns * 2 at most the swizzle's width.
inline CUtensorMap make_tensor_map_2d(const void* data, uint64_t rows, uint64_t columns, uint32_t box_rows,
                                      uint32_t box_columns, CUtensorMapSwizzle swizzle = CU_TENSOR_MAP_SWIZZLE_128B) {
  return detail::make_map<2>(data, {columns, rows}, {box_columns, box_rows}, swizzle);
}

// A dense [slices][rows][columns] tensor; the box lies in one slice, so it never reaches into the next one.
inline CUtensorMap make_tensor_map_3d(const void* data, uint64_t slices, uint64_t rows, uint64_t columns,
                                      uint32_t box_rows, uint32_t box_columns,
                                      CUtensorMapSwizzle swizzle = CU_TENSOR_MAP_SWIZZLE_128B) {
  return detail::make_map<3>(data, {columns, rows, slices}, {box_columns, box_rows, 1}, swizzle);
}

}  // namespace ptxbench::ptx
