#include "ptxbench/emu/tensor/tensor_map.h"

#include <fmt/format.h>

#include <cstring>
#include <optional>

#include "ptxbench/base/check.h"

namespace ptxbench::emu {
namespace {

constexpr uint64_t kMagic = 0x70614d726f736e54;
// Recorded on an H200: 128 KB is taken, 256 KB refused.
constexpr uint32_t kMostBoxBytes = 227 * 1024;
constexpr uint32_t kInterleaveModes = 3, kSwizzleModes = 7, kL2Promotions = 4, kOobFills = 2, kDataTypes = 16;

// The bytes of a map in guest memory.
struct Packed {
  uint64_t magic;
  uint64_t check;  // of everything below
  uint64_t global_address;
  uint64_t dims[kMaxTensorRank];  // up to 2^32 inclusive
  uint64_t strides[kMaxTensorRank - 1];
  uint16_t box[kMaxTensorRank];
  uint8_t element_strides[kMaxTensorRank];
  uint8_t type, rank, swizzle, oob_fill, l2_promotion;
  uint8_t unused[12];
};
static_assert(sizeof(Packed) == kTensorMapBytes);

// FNV-1a, so that a damaged or hand-made map is not taken for ours.
uint64_t check_sum(const Packed& packed) {
  constexpr size_t kStart = offsetof(Packed, global_address);
  const auto* bytes = reinterpret_cast<const unsigned char*>(&packed);
  uint64_t hash = 0xcbf29ce484222325;
  for (size_t i = kStart; i < sizeof packed; ++i) hash = (hash ^ bytes[i]) * 0x100000001b3;
  return hash;
}

bool is_float(TensorDataType type) {
  switch (type) {
    case TensorDataType::kF16:
    case TensorDataType::kF32:
    case TensorDataType::kF64:
    case TensorDataType::kBF16:
    case TensorDataType::kF32Ftz:
    case TensorDataType::kTF32:
    case TensorDataType::kTF32Ftz: return true;
    default: return false;
  }
}

tl::unexpected<Error> invalid(std::string message, std::string rule) {
  return fail(ErrorKind::kInvalidInput, "cuTensorMapEncodeTiled: " + std::move(message), std::move(rule));
}

tl::unexpected<Error> unsupported(std::string message) {
  return fail(ErrorKind::kUnsupported, "cuTensorMapEncodeTiled: " + std::move(message) + " is not emulated",
              "use interleave NONE, swizzle NONE, 32B, 64B or 128B, and element types of whole bytes");
}

// The enum arguments: outside the driver's enums is the caller's mistake, inside but not emulated is refused by name.
Status check_enums(const TiledDescription& d) {
  if (d.data_type >= kDataTypes)
    return invalid(fmt::format("tensorDataType is {}", d.data_type), "one of CUtensorMapDataType");
  if (d.interleave >= kInterleaveModes)
    return invalid(fmt::format("interleave is {}", d.interleave), "one of CUtensorMapInterleave");
  if (d.swizzle >= kSwizzleModes) return invalid(fmt::format("swizzle is {}", d.swizzle), "one of CUtensorMapSwizzle");
  if (d.l2_promotion >= kL2Promotions) {
    return invalid(fmt::format("l2Promotion is {}", d.l2_promotion), "one of CUtensorMapL2promotion");
  }
  if (d.oob_fill >= kOobFills)
    return invalid(fmt::format("oobFill is {}", d.oob_fill), "one of CUtensorMapFloatOOBfill");
  const auto type = static_cast<TensorDataType>(d.data_type);
  if (element_bytes(type) == 0) return unsupported(fmt::format("tensorDataType {}", to_string(type)));
  if (d.interleave != 0) return unsupported(fmt::format("interleave {}", d.interleave == 1 ? "16B" : "32B"));
  constexpr const char* kAtoms[] = {"128B_ATOM_32B", "128B_ATOM_32B_FLIP_8B", "128B_ATOM_64B"};
  if (d.swizzle >= 4) return unsupported(fmt::format("swizzle {}", kAtoms[d.swizzle - 4]));
  return {};
}

Status check_dimension(const TensorMap& map, unsigned i) {
  const uint64_t dim = map.dims[i];
  if (dim == 0 || dim > uint64_t{1} << 32) {
    return invalid(fmt::format("globalDim[{}] is {}", i, dim), "each dimension is 1 to 2^32 elements");
  }
  if (map.box[i] == 0 || map.box[i] > 256) {
    return invalid(fmt::format("boxDim[{}] is {}", i, map.box[i]), "each box dimension is 1 to 256 elements");
  }
  // Without interleave the copies ignore elementStrides[0], but the driver checks it.
  if (map.element_strides[i] == 0 || map.element_strides[i] > 8) {
    return invalid(fmt::format("elementStrides[{}] is {}", i, map.element_strides[i]), "each element stride is 1 to 8");
  }
  if (i == 0) return {};
  const uint64_t stride = map.strides[i];
  if (stride % 16 != 0 || stride >= uint64_t{1} << 40) {
    return invalid(fmt::format("globalStrides[{}] is {} bytes", i - 1, stride),
                   "strides are multiples of 16 below 2^40");
  }
  return {};
}

Status check_map(const TensorMap& map) {
  if (map.rank == 0 || map.rank > kMaxTensorRank) return invalid(fmt::format("tensorRank is {}", map.rank), "1 to 5");
  if (map.global_address % 16 != 0) {
    return invalid(fmt::format("globalAddress is {:#x}", map.global_address), "a multiple of 16");
  }
  for (unsigned i = 0; i < map.rank; ++i) PTXBENCH_TRY_STATUS(check_dimension(map, i));
  uint64_t box_bytes = map.element_size();
  for (unsigned i = 0; i < map.rank; ++i) box_bytes *= map.box[i];
  if (box_bytes > kMostBoxBytes) {
    return invalid(fmt::format("the box has {} bytes", box_bytes), "a box fits the shared memory of a CTA, 227 KB");
  }
  const uint32_t inner = map.box[0] * map.element_size();
  if (inner % 16 != 0) {
    return invalid(fmt::format("boxDim[0] is {} elements of {} bytes, {} bytes", map.box[0], map.element_size(), inner),
                   "the inner box dimension is a multiple of 16 bytes");
  }
  if (const uint32_t span = swizzle_row_bytes(map.swizzle); span != 0 && inner > span) {
    return invalid(fmt::format("boxDim[0] is {} bytes with swizzle {}B", inner, span),
                   "the inner box dimension is at most the swizzle's size");
  }
  if (map.oob_fill == OobFill::kNanRequestZeroFma && !is_float(map.type)) {
    return invalid(fmt::format("oobFill NAN_REQUEST_ZERO_FMA with tensorDataType {}", to_string(map.type)),
                   "NaN fill needs a floating-point type");
  }
  return {};
}

}  // namespace

std::string_view to_string(TensorDataType type) {
  constexpr std::string_view kNames[] = {"UINT8",        "UINT16",       "UINT32",        "INT32",
                                         "UINT64",       "INT64",        "FLOAT16",       "FLOAT32",
                                         "FLOAT64",      "BFLOAT16",     "FLOAT32_FTZ",   "TFLOAT32",
                                         "TFLOAT32_FTZ", "16U4_ALIGN8B", "16U4_ALIGN16B", "16U6_ALIGN16B"};
  const auto index = static_cast<size_t>(type);
  return index < std::size(kNames) ? kNames[index] : "?";
}

uint32_t element_bytes(TensorDataType type) {
  constexpr uint8_t kBytes[kDataTypes] = {1, 2, 4, 4, 8, 8, 2, 4, 8, 2, 4, 4, 4, 0, 0, 0};
  const auto index = static_cast<size_t>(type);
  return index < kDataTypes ? kBytes[index] : 0;
}

Result<TensorMapBytes> encode_tensor_map(const TiledDescription& d) {
  PTXBENCH_TRY_STATUS(check_enums(d));
  if (d.rank == 0 || d.rank > kMaxTensorRank) return invalid(fmt::format("tensorRank is {}", d.rank), "1 to 5");
  TensorMap map;
  map.type = static_cast<TensorDataType>(d.data_type);
  map.rank = static_cast<uint8_t>(d.rank);
  map.swizzle = static_cast<Swizzle>(d.swizzle);
  map.oob_fill = static_cast<OobFill>(d.oob_fill);
  map.l2_promotion = static_cast<uint8_t>(d.l2_promotion);
  map.global_address = d.global_address;
  map.dims.fill(1);
  map.box.fill(1);
  map.element_strides.fill(1);
  map.strides[0] = map.element_size();
  for (unsigned i = 0; i < d.rank; ++i) {
    map.dims[i] = d.global_dims[i];
    map.box[i] = d.box_dims[i];
    map.element_strides[i] = d.element_strides[i];
    if (i > 0) map.strides[i] = d.global_strides[i - 1];
  }
  PTXBENCH_TRY_STATUS(check_map(map));
  return pack_tensor_map(map);
}

TensorMapBytes pack_tensor_map(const TensorMap& map) {
  Packed packed{};
  packed.magic = kMagic;
  packed.global_address = map.global_address;
  for (unsigned i = 0; i < kMaxTensorRank; ++i) {
    packed.dims[i] = map.dims[i];
    if (i > 0) packed.strides[i - 1] = map.strides[i];
    packed.box[i] = static_cast<uint16_t>(map.box[i]);
    packed.element_strides[i] = static_cast<uint8_t>(map.element_strides[i]);
  }
  packed.type = static_cast<uint8_t>(map.type);
  packed.rank = map.rank;
  packed.swizzle = static_cast<uint8_t>(map.swizzle);
  packed.oob_fill = static_cast<uint8_t>(map.oob_fill);
  packed.l2_promotion = map.l2_promotion;
  packed.check = check_sum(packed);
  TensorMapBytes bytes;
  std::memcpy(bytes.data(), &packed, sizeof packed);
  return bytes;
}

Checked<TensorMap> unpack_tensor_map(std::span<const std::byte> bytes) {
  PTXBENCH_CHECK(bytes.size() == kTensorMapBytes, "a tensor map of {} bytes", bytes.size());
  Packed packed;
  std::memcpy(&packed, bytes.data(), sizeof packed);
  constexpr const char* kRule = "the operand is the address of a CUtensorMap made by cuTensorMapEncodeTiled";
  if (packed.magic != kMagic) {
    return fault(FaultKind::kBadDescriptor, kRule,
                 fmt::format("the 128 bytes are no tensor map: they begin with {:#018x}", packed.magic));
  }
  if (packed.check != check_sum(packed) || packed.type >= kDataTypes || packed.swizzle > 3 ||
      packed.oob_fill >= kOobFills) {
    return fault(FaultKind::kBadDescriptor, kRule, "the tensor map was damaged after it was made");
  }
  TensorMap map;
  map.type = static_cast<TensorDataType>(packed.type);
  map.rank = packed.rank;
  map.swizzle = static_cast<Swizzle>(packed.swizzle);
  map.oob_fill = static_cast<OobFill>(packed.oob_fill);
  map.l2_promotion = packed.l2_promotion;
  map.global_address = packed.global_address;
  map.strides[0] = map.element_size();
  for (unsigned i = 0; i < kMaxTensorRank; ++i) {
    map.dims[i] = packed.dims[i];
    if (i > 0) map.strides[i] = packed.strides[i - 1];
    map.box[i] = packed.box[i];
    map.element_strides[i] = packed.element_strides[i];
  }
  return map;
}

Checked<TensorMap> decode_tensor_map(std::span<const std::byte> bytes) {
  Checked<TensorMap> map = unpack_tensor_map(bytes);
  if (!map) return map;
  if (auto status = check_map(*map); !status) {
    return fault(FaultKind::kBadDescriptor,
                 "a tensor map keeps the rules of cuTensorMapEncodeTiled: " + status.error().hint,
                 status.error().message);
  }
  return map;
}

}  // namespace ptxbench::emu
