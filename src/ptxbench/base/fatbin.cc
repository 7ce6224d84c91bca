#include "ptxbench/base/fatbin.h"

#include <fmt/format.h>
#include <lz4.h>
#include <zstd.h>

#include <algorithm>
#include <cstring>

namespace ptxbench {

namespace {

constexpr std::size_t kContainerHeader = 16;
constexpr std::size_t kSmallestEntryHeader = 64;
constexpr std::uint64_t kFlagLz4 = std::uint64_t{1} << 13;
constexpr std::uint64_t kFlagZstd = std::uint64_t{1} << 15;

template <class T>
T load(std::span<const std::byte> data, std::size_t offset) {  // the caller has checked the bounds
  T value;
  std::memcpy(&value, data.data() + offset, sizeof(T));
  return value;
}

tl::unexpected<Error> malformed(std::string what) {
  return fail(ErrorKind::kInvalidInput, "fat binary: " + std::move(what), "embed device code with nvcc, unchanged");
}

struct Header {
  std::uint16_t kind;
  std::size_t header_bytes, payload_bytes;
  std::uint32_t compressed_bytes;
  std::uint64_t flags, plain_bytes;
};

Result<Header> read_header(std::span<const std::byte> rest) {
  if (rest.size() < kSmallestEntryHeader)
    return malformed(fmt::format("{} bytes left, an entry needs 64", rest.size()));
  const auto header_bytes = load<std::uint32_t>(rest, 4);
  const auto payload_bytes = load<std::uint64_t>(rest, 8);
  if (header_bytes < kSmallestEntryHeader || header_bytes > rest.size())
    return malformed(fmt::format("an entry header of {} bytes", header_bytes));
  if (payload_bytes > rest.size() - header_bytes)
    return malformed(fmt::format("an entry of {} bytes where {} are left", payload_bytes, rest.size() - header_bytes));
  const Header header{load<std::uint16_t>(rest, 0),
                      header_bytes,
                      static_cast<std::size_t>(payload_bytes),
                      load<std::uint32_t>(rest, 16),
                      load<std::uint64_t>(rest, 40),
                      load<std::uint64_t>(rest, 56)};
  if (header.kind != 1 && header.kind != 2) return malformed(fmt::format("an entry of unknown kind {}", header.kind));
  if (header.compressed_bytes > header.payload_bytes)
    return malformed(
        fmt::format("{} compressed bytes in an entry of {}", header.compressed_bytes, header.payload_bytes));
  return header;
}

Result<std::string> decompress(const Header& header, std::span<const std::byte> payload, std::uint64_t max_bytes) {
  if (header.compressed_bytes == 0) {
    if (payload.size() > max_bytes)
      return fail(ErrorKind::kTooLarge,
                  fmt::format("fat binary: an entry of {} bytes, the limit is {}", payload.size(), max_bytes));
    return std::string(reinterpret_cast<const char*>(payload.data()), payload.size());
  }
  if (header.plain_bytes > max_bytes)
    return fail(ErrorKind::kTooLarge,
                fmt::format("fat binary: an entry of {} bytes, the limit is {}", header.plain_bytes, max_bytes));
  std::string plain(static_cast<std::size_t>(header.plain_bytes), '\0');
  const auto* source = reinterpret_cast<const char*>(payload.data());
  if (header.flags & kFlagZstd) {
    const std::size_t got = ZSTD_decompress(plain.data(), plain.size(), source, header.compressed_bytes);
    if (ZSTD_isError(got)) return malformed(fmt::format("broken zstd data: {}", ZSTD_getErrorName(got)));
    if (got != plain.size()) return malformed(fmt::format("zstd gave {} bytes, {} were announced", got, plain.size()));
    return plain;
  }
  if (header.flags & kFlagLz4) {
    const int got = LZ4_decompress_safe(source, plain.data(), static_cast<int>(header.compressed_bytes),
                                        static_cast<int>(std::min<std::size_t>(plain.size(), LZ4_MAX_INPUT_SIZE)));
    if (got < 0 || static_cast<std::size_t>(got) != plain.size()) return malformed("broken LZ4 data");
    return plain;
  }
  return malformed(fmt::format("an unknown compression (flags {:#x})", header.flags));
}

}  // namespace

Result<std::size_t> fatbin_container_size(std::span<const std::byte> data) {
  if (data.size() < kContainerHeader) return malformed("shorter than its header");
  if (load<std::uint32_t>(data, 0) != kFatbinMagic)
    return malformed(
        fmt::format("starts with {:#010x}, expected {:#010x}", load<std::uint32_t>(data, 0), kFatbinMagic));
  const auto version = load<std::uint16_t>(data, 4);
  const auto header_bytes = load<std::uint16_t>(data, 6);
  if (version != 1) return malformed(fmt::format("version {}, only 1 is known", version));
  if (header_bytes < kContainerHeader || header_bytes > data.size())
    return malformed(fmt::format("a header of {} bytes", header_bytes));
  const auto entries = load<std::uint64_t>(data, 8);
  if (entries > data.size() - header_bytes)
    return malformed(fmt::format("{} bytes of entries where {} are left", entries, data.size() - header_bytes));
  return header_bytes + static_cast<std::size_t>(entries);
}

Result<std::vector<FatbinEntry>> read_fatbin(std::span<const std::byte> data, std::uint64_t max_bytes) {
  PTXBENCH_TRY(const std::size_t total, fatbin_container_size(data));
  std::span<const std::byte> rest = data.subspan(0, total).subspan(load<std::uint16_t>(data, 6));
  std::vector<FatbinEntry> entries;
  while (!rest.empty()) {
    PTXBENCH_TRY(const Header header, read_header(rest));
    PTXBENCH_TRY(std::string bytes,
                 decompress(header, rest.subspan(header.header_bytes, header.payload_bytes), max_bytes));
    FatbinEntry entry;
    entry.kind = header.kind == 1 ? FatbinKind::kPtx : FatbinKind::kCubin;
    entry.version_minor = load<std::uint16_t>(rest, 24);
    entry.version_major = load<std::uint16_t>(rest, 26);
    entry.sm = load<std::uint32_t>(rest, 28);
    if (entry.kind == FatbinKind::kPtx) {
      const std::size_t end = bytes.find('\0');
      if (end != std::string::npos) bytes.resize(end);
    }
    entry.bytes = std::move(bytes);
    entries.push_back(std::move(entry));
    rest = rest.subspan(header.header_bytes + header.payload_bytes);
  }
  return entries;
}

}  // namespace ptxbench
