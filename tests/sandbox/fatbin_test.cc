// Containers are put together here from the layout as described in fatbin.h, which was found by looking at nvcc's output;
// tests/toolchain reads nvcc's own.
#include "ptxbench/base/fatbin.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <lz4.h>
#include <zstd.h>

#include <cstring>

namespace ptxbench {
namespace {

using testing::HasSubstr;

struct EntrySpec {
  std::uint16_t kind = 1;
  std::string payload;           // as stored
  std::uint32_t compressed = 0;  // 0: stored
  std::uint64_t flags = 0x100011;
  std::uint64_t plain = 0;
};

template <class T>
void put(std::string& bytes, std::size_t offset, T value) {
  std::memcpy(bytes.data() + offset, &value, sizeof(T));
}

std::string entry(EntrySpec spec) {
  while (spec.payload.size() % 8) spec.payload.push_back('\0');
  std::string header(spec.kind == 1 ? 80 : 64, '\0');
  put<std::uint16_t>(header, 0, spec.kind);
  put<std::uint16_t>(header, 2, 0x0101);
  put<std::uint32_t>(header, 4, static_cast<std::uint32_t>(header.size()));
  put<std::uint64_t>(header, 8, spec.payload.size());
  put<std::uint32_t>(header, 16, spec.compressed);
  put<std::uint32_t>(header, 24, 0x00090000);
  put<std::uint32_t>(header, 28, 90);
  put<std::uint64_t>(header, 40, spec.flags);
  put<std::uint64_t>(header, 56, spec.plain);
  return header + spec.payload;
}

std::string container(const std::string& entries) {
  std::string header(16, '\0');
  put<std::uint32_t>(header, 0, kFatbinMagic);
  put<std::uint16_t>(header, 4, 1);
  put<std::uint16_t>(header, 6, 16);
  put<std::uint64_t>(header, 8, entries.size());
  return header + entries;
}

Result<std::vector<FatbinEntry>> read(const std::string& bytes, std::uint64_t limit = 1 << 20) {
  return read_fatbin(std::as_bytes(std::span(bytes)), limit);
}

const std::string kPtx = "\n.version 9.0\n.target sm_90a\n.address_size 64\n" + std::string(2000, 'x');

TEST(Fatbin, ReadsStoredZstdAndLz4) {
  std::string zstd(ZSTD_compressBound(kPtx.size()), '\0');
  zstd.resize(ZSTD_compress(zstd.data(), zstd.size(), kPtx.data(), kPtx.size(), 3));
  std::string lz4(static_cast<std::size_t>(LZ4_compressBound(static_cast<int>(kPtx.size()))), '\0');
  lz4.resize(static_cast<std::size_t>(
      LZ4_compress_default(kPtx.data(), lz4.data(), static_cast<int>(kPtx.size()), static_cast<int>(lz4.size()))));
  const auto bytes = container(entry({2,
                                      "\x7f"
                                      "ELF",
                                      0, 0x100011, 0}) +
                               entry({1, kPtx, 0, 0x100011, 0}) +
                               entry({1, zstd, static_cast<std::uint32_t>(zstd.size()), 0x108011, kPtx.size()}) +
                               entry({1, lz4, static_cast<std::uint32_t>(lz4.size()), 0x102011, kPtx.size()}));
  const auto entries = read(bytes);
  ASSERT_TRUE(entries) << entries.error().format();
  ASSERT_EQ(entries->size(), 4u);
  EXPECT_EQ(entries->at(0).kind, FatbinKind::kCubin);
  EXPECT_THAT(entries->at(0).bytes, testing::StartsWith("\x7f"
                                                        "ELF"));
  for (int i = 1; i < 4; ++i) {
    EXPECT_EQ(entries->at(i).kind, FatbinKind::kPtx);
    EXPECT_EQ(entries->at(i).bytes, kPtx);
    EXPECT_EQ(entries->at(i).sm, 90u);
    EXPECT_EQ(entries->at(i).version_major, 9);
    EXPECT_EQ(entries->at(i).version_minor, 0);
  }
}

TEST(Fatbin, EmptyContainerOfTheDeviceLink) {
  const auto entries = read(container(""));
  ASSERT_TRUE(entries);
  EXPECT_TRUE(entries->empty());
}

TEST(Fatbin, SizeIsThatOfTheFirstContainer) {
  const std::string bytes = container(entry({1, kPtx, 0, 0x100011, 0}));
  const std::string both = bytes + "rest";
  EXPECT_EQ(fatbin_container_size(std::as_bytes(std::span(both))).value(), bytes.size());
}

TEST(Fatbin, RefusesWhatItDoesNotKnow) {
  EXPECT_THAT(read(container(entry({7, "x", 0, 0, 0}))).error().message, HasSubstr("unknown kind 7"));
  EXPECT_THAT(read(container(entry({1, "x", 1, 0x100011, 4}))).error().message, HasSubstr("unknown compression"));
  EXPECT_THAT(read(std::string(16, 'x')).error().message, HasSubstr("0xba55ed50"));
  EXPECT_THAT(read(container(entry({1, "junk", 4, 0x108011, 100}))).error().message, HasSubstr("zstd"));
  EXPECT_THAT(read(container(entry({1, "\xff\xff\xff", 3, 0x102011, 100}))).error().message, HasSubstr("LZ4"));
}

TEST(Fatbin, RefusesABombBeforeUnpackingIt) {
  const auto result = read(container(entry({1, "junk", 4, 0x108011, std::uint64_t{1} << 40})));
  ASSERT_FALSE(result);
  EXPECT_EQ(result.error().kind, ErrorKind::kTooLarge);
}

// Every cut and every changed header byte is answered, never followed out of bounds (the sanitizers watch).
TEST(Fatbin, SurvivesDamage) {
  std::string zstd(ZSTD_compressBound(kPtx.size()), '\0');
  zstd.resize(ZSTD_compress(zstd.data(), zstd.size(), kPtx.data(), kPtx.size(), 3));
  const auto bytes = container(entry({1, zstd, static_cast<std::uint32_t>(zstd.size()), 0x108011, kPtx.size()}));
  for (std::size_t cut = 0; cut < bytes.size(); ++cut) EXPECT_FALSE(read(bytes.substr(0, cut))) << cut;
  for (std::size_t at = 0; at < 96; ++at)
    for (int value : {0x00, 0x01, 0x7f, 0x80, 0xff}) {
      std::string damaged = bytes;
      damaged[at] = static_cast<char>(value);
      const auto result = read(damaged);
      if (!result) continue;
      for (const FatbinEntry& one : *result) EXPECT_LE(one.bytes.size(), std::size_t{1} << 20);
    }
}

}  // namespace
}  // namespace ptxbench
