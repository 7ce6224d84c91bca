// Loading of knowledge packs: levels add up, counts belong to contents, mistakes in a manifest are named.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>

#include "ptxbench/agent/packs.h"
#include "ptxbench/base/file.h"
#include "ptxbench/base/hash.h"

namespace ptxbench::agent {
namespace {

namespace fs = std::filesystem;
using testing::ElementsAre;
using testing::HasSubstr;

constexpr const char* kManifest = R"(
target = "toy"
[[level]]
name = "L0"
title = "nothing"
[[level]]
name = "L1"
title = "one document"
documents = ["one.md"]
[[level]]
name = "L2"
title = "headers"
include = "include"
headers = ["toy/a.cuh"]
support = ["toy/b.cuh"]
)";

class Packs : public testing::Test {
 protected:
  void SetUp() override {
    write("toy/pack.toml", kManifest);
    write("toy/one.md", "One.\n");
    write("toy/include/toy/a.cuh", "#pragma once\n");
    write("toy/include/toy/b.cuh", "// b\n");
    count("toy/one.md", "One.\n", 4, "toy/include/toy/a.cuh", "#pragma once\n", 30);
  }

  void write(const std::string& name, std::string_view text) {
    fs::create_directories((root() / name).parent_path());
    ASSERT_TRUE(write_file_atomic(root() / name, text));
  }
  void count(const std::string& name, const std::string& text, int tokens, const std::string& other,
             const std::string& other_text, int other_tokens) {
    const auto entry = [](const std::string& file, const std::string& bytes, int n) {
      return "\"" + file + "\": {\"sha256\": \"" + sha256_hex(bytes) + "\", \"tokens\": " + std::to_string(n) + "}";
    };
    write("tokens.json", "{\"tokenizer\": \"toy\", \"files\": {" + entry(name, text, tokens) + ", " +
                             entry(other, other_text, other_tokens) + "}}");
  }
  std::string error() {
    const auto set = load_packs(root());
    return set ? "no error" : set.error().format();
  }
  fs::path root() const { return folder_->path(); }

 private:
  Result<TempDir> folder_ = TempDir::create();
};

TEST_F(Packs, LevelsAddUp) {
  const auto set = load_packs(root());
  ASSERT_TRUE(set) << set.error().format();
  const auto zero = set->prompt("toy", "L0");
  ASSERT_TRUE(zero);
  EXPECT_EQ(zero->text, "");
  EXPECT_TRUE(zero->include_folders.empty());
  const auto one = set->prompt("toy", "L1");
  ASSERT_TRUE(one);
  EXPECT_EQ(one->text, "One.\n");
  EXPECT_EQ(one->tokens, 4);
  EXPECT_TRUE(one->include_folders.empty());
  const auto two = set->prompt("toy", "L2");
  ASSERT_TRUE(two);
  EXPECT_EQ(two->text, "One.\n\n#include <toy/a.cuh>\n```cuda\n#pragma once\n```\n");
  EXPECT_EQ(two->tokens, 34);
  EXPECT_EQ(two->sha256, sha256_hex(two->text));
  EXPECT_THAT(two->include_names, ElementsAre("toy/a.cuh"));
  EXPECT_THAT(two->include_folders, ElementsAre(root() / "toy/include"));
}

TEST_F(Packs, ACountIsGoneWhenTheFileChanges) {
  write("toy/one.md", "Two.\n");
  const auto set = load_packs(root());
  ASSERT_TRUE(set) << set.error().format();
  EXPECT_EQ(set->prompt("toy", "L1")->tokens, std::nullopt);
  EXPECT_THAT(to_json(*set), HasSubstr("\"tokens\": null"));
}

TEST_F(Packs, WhatIsMissingIsNamed) {
  const auto set = load_packs(root());
  ASSERT_TRUE(set);
  EXPECT_THAT(set->prompt("toy", "L7").error().format(), HasSubstr("L0, L1, L2"));
  EXPECT_THAT(set->prompt("gpu", "L1").error().format(), HasSubstr("toy"));
  fs::remove(root() / "toy/one.md");
  EXPECT_THAT(error(), HasSubstr("one.md"));
  EXPECT_EQ(load_packs(root() / "nowhere").error().kind, ErrorKind::kNotFound);
}

TEST_F(Packs, AHeaderThatTheManifestDoesNotListIsRefused) {
  write("toy/include/toy/hidden.cuh", "// a level below must not see this\n");
  EXPECT_THAT(error(), HasSubstr("toy/hidden.cuh"));
}

TEST_F(Packs, MistakesInAManifestAreNamed) {
  const auto with = [&](std::string_view text) {
    write("toy/pack.toml", text);
    return error();
  };
  EXPECT_THAT(with("target = \"toy\"\n[[level]]\nname = \"L1\"\ntitle = \"t\"\n"), HasSubstr("'L0' comes next"));
  EXPECT_THAT(with("target = \"other\"\n"), HasSubstr("must agree"));
  EXPECT_THAT(with("target = \"toy\"\n[[level]]\nname = \"L0\"\ntitle = \"t\"\nfiles = []\n"), HasSubstr("'files'"));
  EXPECT_THAT(with("target = \"toy\"\n[[level]]\nname = \"L0\"\ntitle = \"t\"\nheaders = [\"a\"]\n"),
              HasSubstr("no 'include'"));
  EXPECT_THAT(with("target = \"toy\"\n[[level]]\nname = \"L0\"\ntitle = \"t\"\ndocuments = [1]\n"),
              HasSubstr("list of files"));
  EXPECT_THAT(with("target = \"toy\"\n[[level]]\nname = \"L0\"\n"), HasSubstr("no title"));
  EXPECT_THAT(with("target = \"toy\"\n"), HasSubstr("no [[level]]"));
  EXPECT_THAT(with("target = \n"), HasSubstr("pack.toml:1"));
}

TEST(Knowledge, OursLoadsAndHopperHasAllLevels) {
  const auto set = load_packs(PTXBENCH_SOURCE_DIR "/knowledge");
  ASSERT_TRUE(set) << set.error().format();
  const auto hopper = set->find("hopper");
  ASSERT_TRUE(hopper);
  std::string below;
  for (const char* level : {"L0", "L1", "L2", "L3", "L4"}) {
    const auto prompt = (*hopper)->prompt(level);
    ASSERT_TRUE(prompt) << prompt.error().format();
    EXPECT_THAT(prompt->text, testing::StartsWith(below.substr(0, below.size() - (below.empty() ? 0 : 1)))) << level;
    EXPECT_GT(prompt->text.size(), below.size()) << level;
    EXPECT_EQ(prompt->include_folders.size(), level[1] >= '2' ? 1u : 0u) << level;
    below = prompt->text;
  }
  EXPECT_TRUE(set->prompt("blackwell", "L1"));
}

}  // namespace
}  // namespace ptxbench::agent
