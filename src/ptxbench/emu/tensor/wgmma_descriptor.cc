#include "ptxbench/emu/tensor/wgmma_descriptor.h"

#include <fmt/format.h>

namespace ptxbench::emu {
namespace {

constexpr uint64_t kField14 = 0x3fff;
constexpr uint64_t kReserved = ~(kField14 | kField14 << 16 | kField14 << 32 | uint64_t{7} << 49 | uint64_t{3} << 62);

constexpr uint32_t field_bytes(uint64_t bits, unsigned shift) {
  return static_cast<uint32_t>((bits >> shift) & kField14) << 4;
}

}  // namespace

Checked<MatrixDescriptor> decode_matrix_descriptor(uint64_t bits) {
  if ((bits & kReserved) != 0) {
    return fault(
        FaultKind::kBadDescriptor, "bits 14-15, 30-31, 46-48 and 52-61 of a matrix descriptor are zero",
        fmt::format("the matrix descriptor is {:#018x}; reserved bits {:#018x} are set", bits, bits & kReserved));
  }
  constexpr Swizzle kModes[] = {Swizzle::kNone, Swizzle::k128B, Swizzle::k64B, Swizzle::k32B};
  return MatrixDescriptor{field_bytes(bits, 0), field_bytes(bits, 16), field_bytes(bits, 32), kModes[bits >> 62],
                          static_cast<uint32_t>(bits >> 49 & 7)};
}

CoreMatrix core_matrix(const MatrixDescriptor& d, Major major, uint32_t outer, uint32_t k) {
  const uint32_t width = swizzle_row_bytes(d.swizzle);
  if (width == 0) {
    // Both majors: LBO steps along k, SBO along m or n; the lines of a core matrix are 16 bytes apart.
    return {d.start_address + outer * d.stride_byte_offset + k * d.leading_byte_offset, 16};
  }
  if (major == Major::kK) return {d.start_address + outer * d.stride_byte_offset + k * 16, width};
  const uint32_t across = width / 16;  // core matrices side by side in one swizzle atom
  return {d.start_address + outer / across * d.leading_byte_offset + outer % across * 16 + k * d.stride_byte_offset,
          width};
}

}  // namespace ptxbench::emu
