#include <gtest/gtest.h>

#include <algorithm>
#include <fstream>
#include <map>
#include <set>
#include <sstream>

#include "ptxbench/isa/match.h"
#include "ptxbench/isa/operands.h"
#include "ptxbench/isa/rules.h"

namespace ptxbench::isa {
namespace {

OpcodeMatch match(std::string_view opcode) {
  std::vector<std::string_view> words;
  while (true) {
    const auto dot = opcode.find('.');
    words.push_back(opcode.substr(0, dot));
    if (dot == std::string_view::npos) break;
    opcode.remove_prefix(dot + 1);
  }
  return match_opcode(words);
}

TEST(TableTest, EveryOpcodeSeenInRealCodeHasAForm) {
  std::ifstream file(PTXBENCH_SOURCE_DIR "/tests/isa/opcodes.txt");
  ASSERT_TRUE(file.is_open());
  std::size_t count = 0;
  for (std::string line; std::getline(file, line);) {
    if (line.empty() || line[0] == '#') continue;
    std::istringstream words(line);
    std::string head;
    words >> head;
    const bool refused = head[0] == '!';
    head = head.substr(refused, head.size() - 1 - refused);
    for (std::string modifiers; words >> modifiers; ++count) {
      const std::string opcode = modifiers == "-" ? head : head + "." + modifiers;
      const OpcodeMatch found = match(opcode);
      ASSERT_FALSE(found.candidates.empty()) << opcode << ": " << found.problem;
      EXPECT_EQ(form(found.candidates[0].form).status == FormStatus::kRefused, refused) << opcode;
    }
  }
  EXPECT_EQ(count, 2006u);
}

TEST(TableTest, CanonicalSpellingFindsItsForm) {
  for (const Form& row : forms()) {
    if (row.modifiers == "*") continue;
    ModList mods{};
    const auto elements = modifier_elements(row.id);
    for (std::size_t i = 0; i < elements.size(); ++i) {
      if (elements[i].slot == Slot::kFlag) {
        mods[i] = elements[i].word;
        continue;
      }
      for (std::size_t word = 1; word < kModCount && mods[i] == Mod::kNone; ++word) {
        if (elements[i].words->test(word)) mods[i] = static_cast<Mod>(word);
      }
    }
    const std::string opcode = opcode_text(row.id, mods);
    const OpcodeMatch found = match(opcode);
    EXPECT_TRUE(std::any_of(found.candidates.begin(), found.candidates.end(),
                            [&](const OpcodeCandidate& c) { return c.form == row.id && c.mods == mods; }))
        << row.name << ": " << opcode << ": " << found.problem;
  }
}

TEST(TableTest, NoRowTwice) {
  std::map<std::string, std::string_view> seen;
  for (const Form& row : forms()) {
    const std::string key = std::string(row.head) + " " + std::string(row.modifiers) + " " + std::string(row.operands);
    const auto [place, is_new] = seen.emplace(key, row.name);
    EXPECT_TRUE(is_new) << row.name << " and " << place->second;
  }
}

TEST(TableTest, RowsAreSound) {
  for (const Form& row : forms()) {
    EXPECT_FALSE(row.anchor.empty()) << row.name;
    EXPECT_EQ(row.status == FormStatus::kRefused, !row.refused_why.empty()) << row.name;
    EXPECT_FALSE(target_rule(row.id).alternatives.empty()) << row.name;
    EXPECT_FALSE(broken_rule(row.id, ModList{}, {9, 0}, {90, 'a'}).has_value() && row.modifiers.empty()) << row.name;
  }
}

// ptxas takes modifiers in any order, but not the words of a head, nor types and state spaces.
TEST(MatchTest, ModifiersAreASet) {
  for (const char* good : {"add.rn.f32", "add.f32.rn", "ld.global.volatile.f32", "wgmma.fence.aligned.sync",
                           "cp.async.bulk.tensor.2d.cta_group::2.shared::cluster.global.mbarrier::complete_tx::bytes",
                           "ldmatrix.sync.aligned.x4.trans.m8n8.shared.b16", "vote.ballot.sync.b32"}) {
    EXPECT_FALSE(match(good).candidates.empty()) << good << ": " << match(good).problem;
  }
}

TEST(MatchTest, WhatDoesNotFitIsNamed) {
  EXPECT_EQ(match("frobnicate.b32").problem, "'frobnicate' is not a PTX instruction");
  EXPECT_EQ(match("add.foo.s32").problem, "'.foo' is not a modifier of 'add'");
  EXPECT_EQ(match("add.foo.s32").bad_word, 1u);
  EXPECT_EQ(match("fence.async.proxy").problem, "'.async' is not a modifier of 'fence'");
  EXPECT_EQ(match("add.rn.rn.f32").problem, "'.rn' does not fit here in 'add'");
  EXPECT_EQ(match("shl").problem, "'shl' lacks '.type'");
  EXPECT_TRUE(match("cvt.rn.f32.tf32").candidates.empty());
  EXPECT_TRUE(match("cp.async.bulk.global.shared::cluster.bulk_group").candidates.empty());
}

// The direction of a copy is told by the order of the state spaces alone.
TEST(MatchTest, SpacesAreASequence) {
  const auto load = match("cp.async.bulk.shared::cta.global.mbarrier::complete_tx::bytes");
  const auto store = match("cp.async.bulk.global.shared::cta.bulk_group");
  ASSERT_EQ(load.candidates.size(), 1u);
  ASSERT_EQ(store.candidates.size(), 1u);
  EXPECT_EQ(load.candidates[0].form, FormId::kCpAsyncBulkG2SCta);
  EXPECT_EQ(store.candidates[0].form, FormId::kCpAsyncBulkS2G);
}

// Registers per thread: PTX manual, "Matrix Fragments for mma.m16n8k16 ...", "wgmma: Register Fragments", "tcgen05.ld".
TEST(VectorLengthTest, FragmentsOfTheManual) {
  const auto length = [](std::string_view opcode, std::string_view count) {
    const OpcodeMatch found = match(opcode);
    return found.candidates.empty() ? 0 : vector_length(found.candidates[0].form, found.candidates[0].mods, count);
  };
  const std::string_view bf16 = "mma.sync.aligned.m16n8k16.row.col.f32.bf16.bf16.f32";
  EXPECT_EQ(length(bf16, "frag_a"), 4u);
  EXPECT_EQ(length(bf16, "frag_b"), 2u);
  EXPECT_EQ(length(bf16, "frag_c"), 4u);
  EXPECT_EQ(length("mma.sync.aligned.m16n8k16.row.col.f16.f16.f16.f16", "frag_d"), 2u);
  EXPECT_EQ(length("mma.sync.aligned.m16n8k32.row.col.s32.s8.s8.s32", "frag_a"), 4u);
  EXPECT_EQ(length("mma.sync.aligned.m8n8k16.row.col.s32.s8.s8.s32", "frag_b"), 1u);
  EXPECT_EQ(length("mma.sync.aligned.m8n8k4.row.col.f64.f64.f64.f64", "frag_c"), 2u);
  EXPECT_EQ(length("wgmma.mma_async.sync.aligned.m64n256k16.f32.bf16.bf16", "wgmma_d"), 128u);
  EXPECT_EQ(length("wgmma.mma_async.sync.aligned.m64n64k16.f16.f16.f16", "wgmma_d"), 16u);
  EXPECT_EQ(length("tcgen05.ld.sync.aligned.32x32b.x16.b32", "tmem"), 16u);
  EXPECT_EQ(length("tcgen05.ld.sync.aligned.16x256b.x16.b32", "tmem"), 64u);
  EXPECT_EQ(length("tcgen05.st.sync.aligned.16x128b.x16.b32", "tmem"), 32u);
  EXPECT_EQ(length("ldmatrix.sync.aligned.m8n8.x4.shared.b16", "num"), 4u);
}

TEST(FamilyTest, EvidenceFamilies) {
  const auto family = [](std::string_view opcode) { return form(match(opcode).candidates.at(0).form).family; };
  EXPECT_EQ(family("wgmma.mma_async.sync.aligned.m64n64k16.f32.bf16.bf16"), Family::kWgmma);
  EXPECT_EQ(family("cp.async.bulk.tensor.2d.shared::cluster.global.mbarrier::complete_tx::bytes"), Family::kTma);
  EXPECT_EQ(family("cp.reduce.async.bulk.tensor.2d.global.shared::cta.add.bulk_group"), Family::kTma);
  EXPECT_EQ(family("tcgen05.mma.cta_group::2.kind::f16"), Family::kTcgen05Mma);
  EXPECT_EQ(family("mma.sync.aligned.m16n8k16.row.col.f32.bf16.bf16.f32"), Family::kMma);
  EXPECT_EQ(family("add.f32"), Family::kNone);
}

}  // namespace
}  // namespace ptxbench::isa
