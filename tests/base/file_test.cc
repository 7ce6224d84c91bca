#include "ptxbench/base/file.h"

#include <gtest/gtest.h>

#include <fstream>

namespace {
using namespace ptxbench;

TEST(ReadFile, NamesWhatIsWrong) {
  auto dir = TempDir::create();
  ASSERT_TRUE(dir);
  auto missing = read_file(dir->path() / "nothing");
  ASSERT_FALSE(missing);
  EXPECT_EQ(missing.error().kind, ErrorKind::kNotFound);
  EXPECT_NE(missing.error().format().find("nothing"), std::string::npos);
  auto folder = read_file(dir->path());
  ASSERT_FALSE(folder);
  EXPECT_EQ(folder.error().kind, ErrorKind::kInvalidInput);
  ASSERT_TRUE(write_file_atomic(dir->path() / "big", std::string(100, 'x')));
  auto big = read_file(dir->path() / "big", 99);
  ASSERT_FALSE(big);
  EXPECT_EQ(big.error().kind, ErrorKind::kTooLarge);
}

TEST(WriteFile, ReplacesWholeFilesOnly) {
  auto dir = TempDir::create();
  ASSERT_TRUE(dir);
  ASSERT_TRUE(write_file_atomic(dir->path() / "f", "one"));
  ASSERT_TRUE(write_file_atomic(dir->path() / "f", std::string("two\0three", 9)));
  EXPECT_EQ(*read_file(dir->path() / "f"), std::string("two\0three", 9));
  EXPECT_FALSE(write_file_atomic(dir->path() / "no/such/folder", "x"));
  int entries = 0;
  for (auto& entry : std::filesystem::directory_iterator(dir->path())) entries += entry.exists();
  EXPECT_EQ(entries, 1);
}

TEST(TempDir, RemovesItselfAndWhatDeadProcessesLeft) {
  std::filesystem::path kept;
  {
    auto dir = TempDir::create();
    ASSERT_TRUE(dir);
    kept = dir->path();
    std::ofstream(kept / "f") << "x";
  }
  EXPECT_FALSE(std::filesystem::exists(kept));
  // Process ids end at 2^22 on Linux, so this owner cannot exist.
  const auto stale = kept.parent_path() / "ptxbench.99999999.abcdef";
  std::filesystem::create_directories(stale);
  auto live = TempDir::create();
  remove_stale_temp_dirs();
  EXPECT_FALSE(std::filesystem::exists(stale));
  EXPECT_TRUE(std::filesystem::exists(live->path()));
}

TEST(PartialFolder, TakesItsPlaceWholeOrLeavesNothing) {
  auto dir = TempDir::create();
  ASSERT_TRUE(dir);
  const auto place = dir->path() / "out";
  const auto stale = dir->path() / "out.partial-99999999.abcdef";
  std::filesystem::create_directories(stale);
  std::ofstream(stale / "f") << "left by a killed process";
  {
    auto given_up = PartialFolder::create(place);
    ASSERT_TRUE(given_up);
    ASSERT_TRUE(write_file_atomic(given_up->path() / "f", "x"));
  }
  EXPECT_TRUE(std::filesystem::is_empty(dir->path()));
  for (const char* text : {"one", "two"}) {  // a new place, then one that is taken
    auto made = PartialFolder::create(place / "");
    ASSERT_TRUE(made);
    ASSERT_TRUE(write_file_atomic(made->path() / text, text));
    ASSERT_TRUE(made->take_place());
    EXPECT_EQ(*read_file(place / text), text);
  }
  EXPECT_FALSE(std::filesystem::exists(place / "one"));
  int entries = 0;
  for (auto& entry : std::filesystem::directory_iterator(dir->path())) entries += entry.exists();
  EXPECT_EQ(entries, 1);
}

}  // namespace
