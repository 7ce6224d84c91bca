#include "ptxbench/schema/dtype.h"

#include "ptxbench/schema/enum_text.h"

namespace ptxbench::schema {
namespace {

constexpr std::pair<DType, std::string_view> kDTypes[] = {
    {DType::kFloat32, "float32"},
    {DType::kFloat16, "float16"},
    {DType::kBFloat16, "bfloat16"},
    {DType::kFloat8E4M3, "float8_e4m3fn"},
    {DType::kFloat8E5M2, "float8_e5m2"},
    {DType::kFloat4E2M1, "float4_e2m1"},
    {DType::kInt64, "int64"},
    {DType::kInt32, "int32"},
    {DType::kInt16, "int16"},
    {DType::kInt8, "int8"},
    {DType::kBool, "bool"},
};

}  // namespace

std::string_view to_string(DType dtype) { return enum_to_text(kDTypes, dtype); }

std::optional<DType> dtype_from(std::string_view name) { return enum_from_text(kDTypes, name); }

int bit_width(DType dtype) {
  switch (dtype) {
    case DType::kInt64: return 64;
    case DType::kFloat32:
    case DType::kInt32: return 32;
    case DType::kFloat16:
    case DType::kBFloat16:
    case DType::kInt16: return 16;
    case DType::kFloat8E4M3:
    case DType::kFloat8E5M2:
    case DType::kInt8:
    case DType::kBool: return 8;
    case DType::kFloat4E2M1: return 4;
  }
  internal_error(__FILE__, __LINE__, "dtype in switch", "unknown dtype");
}

}  // namespace ptxbench::schema
