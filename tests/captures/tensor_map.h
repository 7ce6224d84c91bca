// Tensor maps for the captures: a description with defaults, and names for its values.
#pragma once

#include <cuda.h>

#include <cstdint>
#include <string>

struct TensorSpec {
  CUtensorMapDataType type = CU_TENSOR_MAP_DATA_TYPE_UINT8;
  uint32_t rank = 1;
  uint64_t dims[5] = {1, 1, 1, 1, 1};   // elements, innermost first
  uint64_t strides[4] = {0, 0, 0, 0};   // bytes, of dimensions 1..4; 0 here means packed rows rounded up to 16
  uint32_t box[5] = {1, 1, 1, 1, 1};    // elements
  uint32_t steps[5] = {1, 1, 1, 1, 1};  // elementStrides
  CUtensorMapInterleave interleave = CU_TENSOR_MAP_INTERLEAVE_NONE;
  CUtensorMapSwizzle swizzle = CU_TENSOR_MAP_SWIZZLE_NONE;
  CUtensorMapL2promotion promotion = CU_TENSOR_MAP_L2_PROMOTION_NONE;
  CUtensorMapFloatOOBfill fill = CU_TENSOR_MAP_FLOAT_OOB_FILL_NONE;
};

inline uint32_t element_bytes(CUtensorMapDataType type) {
  switch (type) {
    case CU_TENSOR_MAP_DATA_TYPE_UINT8: return 1;
    case CU_TENSOR_MAP_DATA_TYPE_UINT16:
    case CU_TENSOR_MAP_DATA_TYPE_FLOAT16:
    case CU_TENSOR_MAP_DATA_TYPE_BFLOAT16: return 2;
    case CU_TENSOR_MAP_DATA_TYPE_UINT64:
    case CU_TENSOR_MAP_DATA_TYPE_INT64:
    case CU_TENSOR_MAP_DATA_TYPE_FLOAT64: return 8;
    default: return 4;
  }
}

inline std::string type_name(CUtensorMapDataType type) {
  switch (type) {
    case CU_TENSOR_MAP_DATA_TYPE_UINT8: return "u8";
    case CU_TENSOR_MAP_DATA_TYPE_UINT16: return "u16";
    case CU_TENSOR_MAP_DATA_TYPE_UINT32: return "u32";
    case CU_TENSOR_MAP_DATA_TYPE_INT32: return "s32";
    case CU_TENSOR_MAP_DATA_TYPE_UINT64: return "u64";
    case CU_TENSOR_MAP_DATA_TYPE_INT64: return "s64";
    case CU_TENSOR_MAP_DATA_TYPE_FLOAT16: return "f16";
    case CU_TENSOR_MAP_DATA_TYPE_FLOAT32: return "f32";
    case CU_TENSOR_MAP_DATA_TYPE_FLOAT64: return "f64";
    case CU_TENSOR_MAP_DATA_TYPE_BFLOAT16: return "bf16";
    case CU_TENSOR_MAP_DATA_TYPE_FLOAT32_FTZ: return "f32ftz";
    case CU_TENSOR_MAP_DATA_TYPE_TFLOAT32: return "tf32";
    case CU_TENSOR_MAP_DATA_TYPE_TFLOAT32_FTZ: return "tf32ftz";
    default: return "type" + std::to_string(int(type));
  }
}

inline std::string swizzle_name(CUtensorMapSwizzle swizzle) {
  switch (swizzle) {
    case CU_TENSOR_MAP_SWIZZLE_NONE: return "none";
    case CU_TENSOR_MAP_SWIZZLE_32B: return "32b";
    case CU_TENSOR_MAP_SWIZZLE_64B: return "64b";
    case CU_TENSOR_MAP_SWIZZLE_128B: return "128b";
    default: return "swizzle" + std::to_string(int(swizzle));
  }
}

// Fills in packed strides where the description leaves them 0.
inline void pack_strides(TensorSpec& spec) {
  uint64_t pitch = spec.dims[0] * element_bytes(spec.type);
  for (uint32_t i = 0; i + 1 < spec.rank; ++i) {
    pitch = (pitch + 15) / 16 * 16;
    if (spec.strides[i] == 0) spec.strides[i] = pitch;
    pitch = spec.strides[i] * spec.dims[i + 1];
  }
}

// Bytes from the tensor's first to its last element, as memory that must exist.
inline uint64_t tensor_bytes(const TensorSpec& spec) {
  return spec.rank == 1 ? spec.dims[0] * element_bytes(spec.type)
                        : spec.strides[spec.rank - 2] * spec.dims[spec.rank - 1];
}

inline uint32_t box_bytes(const TensorSpec& spec) {
  uint32_t bytes = element_bytes(spec.type);
  for (uint32_t i = 0; i < spec.rank; ++i) {
    uint32_t step = i == 0 ? 1 : spec.steps[i];  // dimension 0 has no stride without interleave
    bytes *= (spec.box[i] + step - 1) / step;
  }
  return bytes;
}

// Shared memory that the box takes: with a swizzle each row starts a new span (32, 64 or 128 bytes) however narrow the box
// is, though the transaction count stays box_bytes (seen on an H200).
inline uint32_t shared_bytes(const TensorSpec& spec) {
  if (spec.swizzle == CU_TENSOR_MAP_SWIZZLE_NONE) return box_bytes(spec);
  uint32_t row = spec.box[0] * element_bytes(spec.type), span = 16u << int(spec.swizzle);
  return box_bytes(spec) / row * span;
}

inline CUresult encode(CUtensorMap* map, const TensorSpec& spec, void* address) {
  return cuTensorMapEncodeTiled(map, spec.type, spec.rank, address, spec.dims, spec.strides, spec.box, spec.steps,
                                spec.interleave, spec.swizzle, spec.promotion, spec.fill);
}
