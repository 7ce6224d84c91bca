// Reader for the fat binaries that nvcc embeds in host code (section .nv_fatbin, reached through the 24-byte wrapper
// that __cudaRegisterFatBinary receives). Layout found by inspecting nvcc 12.8 and 13.0 output; all fields little-endian:
//   container  u32 0xBA55ED50, u16 version 1, u16 header bytes 16, u64 bytes of all entries; then the entries
//   entry      +0 u16 kind (1 PTX, 2 ELF), +4 u32 header bytes, +8 u64 payload bytes with padding, +16 u32 compressed
//              bytes (0: stored), +24 u32 version, +28 u32 sm, +40 u64 flags (bit 13 LZ4, bit 15 zstd),
//              +56 u64 bytes after decompression; the payload follows the header
// Input is hostile: every offset is checked, sizes are limited, anything unknown is refused.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "ptxbench/base/result.h"

namespace ptxbench {

enum class FatbinKind { kPtx, kCubin };

struct FatbinEntry {
  FatbinKind kind;
  std::uint32_t sm = 0;  // 90, 100 ...; 'a' variants are not told apart here (the PTX text's .target does)
  std::uint16_t version_major = 0, version_minor = 0;  // PTX ISA for kPtx
  std::string bytes;                                   // decompressed: PTX text without trailing NULs, or an ELF image
};

inline constexpr std::uint32_t kFatbinMagic = 0xBA55ED50;
inline constexpr std::uint32_t kFatbinWrapperMagic = 0x466243B1;

// Bytes of the container that starts at data[0], header included. kInvalidInput if it does not fit in data.
Result<std::size_t> fatbin_container_size(std::span<const std::byte> data);

// The entries of the container that starts at data[0]; empty for the empty container of the device link step.
// max_bytes limits each decompressed entry (kTooLarge).
Result<std::vector<FatbinEntry>> read_fatbin(std::span<const std::byte> data,
                                             std::uint64_t max_bytes = std::uint64_t{64} << 20);

}  // namespace ptxbench
