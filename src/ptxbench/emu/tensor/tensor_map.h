// CUtensorMap (128 opaque bytes, 64-byte aligned). The driver keeps its encoding private; so this is ours: a magic word,
// the fields, a check sum, so that bytes which no encoder wrote are refused instead of read.
// Rules: CUDA Driver API, cuTensorMapEncodeTiled, and what the driver of an H200 takes (tests/captures/tensor_map_rules). Enumerators have the values of the driver's enums.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string_view>

#include "ptxbench/base/result.h"
#include "ptxbench/emu/tensor/fault.h"
#include "ptxbench/emu/tensor/swizzle.h"

namespace ptxbench::emu {

enum class TensorDataType : uint8_t {
  kU8 = 0,
  kU16,
  kU32,
  kS32,
  kU64,
  kS64,
  kF16,
  kF32,
  kF64,
  kBF16,
  kF32Ftz,
  kTF32,
  kTF32Ftz,
  k16U4Align8B,
  k16U4Align16B,
  k16U6Align16B,  // sub-byte types, sm_100: refused by name
};
std::string_view to_string(TensorDataType type);
uint32_t element_bytes(TensorDataType type);  // 0 for the sub-byte types

enum class OobFill : uint8_t { kZeros = 0, kNanRequestZeroFma = 1 };

constexpr unsigned kMaxTensorRank = 5;
constexpr size_t kTensorMapBytes = 128;
using TensorMapBytes = std::array<std::byte, kTensorMapBytes>;

// The arguments of cuTensorMapEncodeTiled as the caller gave them: enum arguments as raw integers, to be checked here.
// Dimension 0 is the innermost. global_strides are bytes, [i] is the stride of dimension i + 1.
struct TiledDescription {
  uint32_t data_type = 0;
  uint32_t rank = 0;
  uint64_t global_address = 0;
  std::array<uint64_t, kMaxTensorRank> global_dims{};
  std::array<uint64_t, kMaxTensorRank - 1> global_strides{};
  std::array<uint32_t, kMaxTensorRank> box_dims{};
  std::array<uint32_t, kMaxTensorRank> element_strides{};
  uint32_t interleave = 0;
  uint32_t swizzle = 0;
  uint32_t l2_promotion = 0;
  uint32_t oob_fill = 0;
};

// A decoded map.
struct TensorMap {
  TensorDataType type = TensorDataType::kU8;
  uint8_t rank = 1;
  Swizzle swizzle = Swizzle::kNone;
  OobFill oob_fill = OobFill::kZeros;
  uint8_t l2_promotion = 0;
  uint64_t global_address = 0;
  std::array<uint64_t, kMaxTensorRank> dims{};             // elements; dims above rank are 1
  std::array<uint64_t, kMaxTensorRank> strides{};          // bytes; [0] = element size; strides above rank are 0
  std::array<uint32_t, kMaxTensorRank> box{};              // as given; above rank 1
  std::array<uint32_t, kMaxTensorRank> element_strides{};  // as given; [0] changes nothing

  uint32_t element_size() const { return element_bytes(type); }
  // Elements that one tile holds along dimension i: ceil(box / element stride).
  uint32_t tile_dim(unsigned i) const {
    return i == 0 ? box[0] : (box[i] + element_strides[i] - 1) / element_strides[i];
  }
  uint32_t tile_rows() const {
    uint32_t rows = 1;
    for (unsigned i = 1; i < rank; ++i) rows *= tile_dim(i);
    return rows;
  }
  // Bytes of one row of the tile (dimension 0), a multiple of 16.
  uint32_t row_bytes() const { return box[0] * element_size(); }
  // Bytes that one tile moves and complete_tx counts, out-of-bounds elements included.
  uint32_t tile_bytes() const { return row_bytes() * tile_rows(); }
  // Distance of two rows in shared memory: a swizzled row has the swizzle's width even if the box is narrower.
  uint32_t row_pitch() const { return swizzle == Swizzle::kNone ? row_bytes() : swizzle_row_bytes(swizzle); }
  // Bytes of shared memory that one tile covers.
  uint32_t shared_bytes() const { return row_pitch() * tile_rows(); }
};

// Errors: kInvalidInput names the argument, what it is and the rule (the driver: CUDA_ERROR_INVALID_VALUE);
// kUnsupported what this encoder refuses: interleaved layouts, sub-byte types, the swizzle variants with larger atoms.
Result<TensorMapBytes> encode_tensor_map(const TiledDescription& description);

// Reads a map and checks its fields by the rules above. bytes.size() must be kTensorMapBytes (checked).
// Fault kBadDescriptor if no encoder of ours wrote the bytes, or if replaced fields broke a rule.
Checked<TensorMap> decode_tensor_map(std::span<const std::byte> bytes);

// For tensormap.replace and cuTensorMapReplaceAddress, which may leave a map that is wrong until the next field is
// replaced: fields in and out without their rules. Unpacking still refuses bytes that no encoder of ours wrote.
Checked<TensorMap> unpack_tensor_map(std::span<const std::byte> bytes);
TensorMapBytes pack_tensor_map(const TensorMap& map);

}  // namespace ptxbench::emu
