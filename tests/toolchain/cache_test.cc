#include "ptxbench/toolchain/cache.h"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <signal.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "ptxbench/base/file.h"
#include "ptxbench/base/hash.h"

namespace ptxbench::toolchain {
namespace {

namespace fs = std::filesystem;

class CacheTest : public testing::Test {
 protected:
  void SetUp() override {
    auto made = TempDir::create("ptxbench");
    ASSERT_TRUE(made);
    folder_.emplace(std::move(*made));
    fs::create_directory(folder_->path() / "work");
    for (const char* name : {"kernel.cu", "kernel.so", "kernel.ptx", "kernel.cubin"})
      ASSERT_TRUE(write_file_atomic(folder_->path() / "work" / name, std::string(100'000, name[7])));
  }
  ArtifactCache cache() const { return ArtifactCache::open(folder_->path() / "cache").value(); }
  schema::Artifact record(const std::string& hash) const {
    schema::Artifact artifact;
    artifact.hash = hash;
    artifact.library_sha256 = sha256_hex(std::string(100'000, 's'));
    artifact.ptx_sha256 = sha256_hex(std::string(100'000, 'p'));
    artifact.cubin_sha256 = sha256_hex(std::string(100'000, 'c'));
    return artifact;
  }
  fs::path work() const { return folder_->path() / "work"; }

  std::optional<TempDir> folder_;
};

TEST_F(CacheTest, FindsWhatWasPublished) {
  EXPECT_FALSE(cache().find("aa"));
  ASSERT_TRUE(cache().publish(record("aa"), work()));
  const auto found = cache().find("aa");
  ASSERT_TRUE(found);
  EXPECT_EQ(read_file(found->artifact.library()).value(), std::string(100'000, 's'));
}

TEST_F(CacheTest, DamagedOrHalfRemovedEntriesCountAsMissing) {
  ASSERT_TRUE(cache().publish(record("aa"), work()));
  ASSERT_TRUE(write_file_atomic(folder_->path() / "cache/artifacts/aa/kernel.ptx", "other"));
  EXPECT_FALSE(cache().find("aa"));
  EXPECT_FALSE(fs::exists(folder_->path() / "cache/artifacts/aa"));
  ASSERT_TRUE(cache().publish(record("aa"), work()));
  fs::remove(folder_->path() / "cache/artifacts/aa/artifact.json");
  EXPECT_FALSE(cache().find("aa"));
  ASSERT_TRUE(cache().publish(record("aa"), work()));
  ASSERT_TRUE(write_file_atomic(folder_->path() / "cache/artifacts/aa/artifact.json", "{}"));
  EXPECT_FALSE(cache().find("aa"));
}

TEST_F(CacheTest, EvictsTheLeastRecentlyUsedFirst) {
  for (const char* hash : {"aa", "bb", "cc"}) ASSERT_TRUE(cache().publish(record(hash), work()));
  const auto used_at = [&](const char* hash, time_t when) {
    const timespec times[2] = {{when, 0}, {when, 0}};
    ASSERT_EQ(::utimensat(AT_FDCWD, (folder_->path() / "cache/artifacts" / hash / "artifact.json").c_str(), times, 0),
              0);
  };
  used_at("aa", 3000);
  used_at("bb", 1000);
  used_at("cc", 2000);
  cache().evict(1'000'000, "");  // room for two
  EXPECT_TRUE(cache().find("aa"));
  EXPECT_FALSE(cache().find("bb"));
  EXPECT_TRUE(cache().find("cc"));
}

TEST_F(CacheTest, KeepsWhatIsInUseAndWhatWasJustMade) {
  auto in_use = cache().publish(record("aa"), work());
  ASSERT_TRUE(in_use);
  ASSERT_TRUE(cache().publish(record("bb"), work()));
  cache().evict(1, "bb");
  EXPECT_TRUE(fs::exists(in_use->artifact.library()));
  EXPECT_TRUE(cache().find("bb"));
  in_use->lease.reset();
  cache().evict(1, "bb");
  EXPECT_FALSE(fs::exists(in_use->artifact.library()));
}

TEST_F(CacheTest, ClearsWhatKilledProcessesLeft) {
  const pid_t gone = ::fork();
  if (gone == 0) ::_exit(0);
  ::waitpid(gone, nullptr, 0);
  const auto left = [&](pid_t owner) {
    return folder_->path() / "cache/artifacts" / (".new." + std::to_string(owner) + ".abcdef");
  };
  (void)cache();
  fs::create_directory(left(gone));
  fs::create_directory(left(::getpid()));
  cache().evict(1'000'000'000, "");
  EXPECT_FALSE(fs::exists(left(gone)));
  EXPECT_TRUE(fs::exists(left(::getpid())));
}

}  // namespace
}  // namespace ptxbench::toolchain
