// Element types of tensors, as FlashInfer Trace names them.
#pragma once

#include <cstdint>
#include <optional>
#include <string_view>

namespace ptxbench::schema {

enum class DType {
  kFloat32,
  kFloat16,
  kBFloat16,
  kFloat8E4M3,  // "float8_e4m3fn"
  kFloat8E5M2,  // "float8_e5m2"
  kFloat4E2M1,  // "float4_e2m1"
  kInt64,
  kInt32,
  kInt16,
  kInt8,
  kBool,
};

std::string_view to_string(DType dtype);
std::optional<DType> dtype_from(std::string_view name);
int bit_width(DType dtype);  // 4 for float4_e2m1, 8 for bool

}  // namespace ptxbench::schema
