#include "ptxbench/agent/model/utf8.h"

#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

namespace ptxbench::agent {
namespace {

// Each piece is one JSON string, as a server sends it; the texts are joined as a client joins deltas.
Repaired through_json(std::initializer_list<std::string> pieces) {
  std::string joined;
  for (const std::string& piece : pieces)
    joined += nlohmann::json::parse(shelter_broken_utf8(piece)).get<std::string>();
  return join_sheltered(joined);
}

TEST(Utf8, WholeTextIsUntouched) {
  const std::string text = "\"a \\n \\u00e9 \\ud83d\\ude80 é 世 🚀 \\\\ud83d\"";
  EXPECT_EQ(shelter_broken_utf8(text), text);
  EXPECT_EQ(through_json({text}).text, "a \n é 🚀 é 世 🚀 \\ud83d");
  EXPECT_EQ(through_json({text}).broken_bytes, 0u);
}

TEST(Utf8, EverySplitOfACharacterComesTogether) {
  for (const std::string character : {"é", "世", "🚀"}) {
    for (std::size_t cut = 1; cut < character.size(); ++cut) {
      const Repaired repaired =
          through_json({"\"a" + character.substr(0, cut) + "\"", "\"" + character.substr(cut) + "b\""});
      EXPECT_EQ(repaired.text, "a" + character + "b") << cut;
      EXPECT_EQ(repaired.broken_bytes, 0u);
    }
  }
}

TEST(Utf8, SurrogateHalvesComeTogether) {
  EXPECT_EQ(through_json({"\"a\\ud83d\"", "\"\\ude80b\""}).text, "a🚀b");
  EXPECT_EQ(through_json({"\"a\\uD83D\"", "\"\\uDE80b\""}).text, "a🚀b");
}

TEST(Utf8, WhatFindsNoPartnerIsReplacedAndCounted) {
  EXPECT_EQ(through_json({"\"a\xC3\"", "\"b\""}).text, "a\uFFFDb");
  EXPECT_EQ(through_json({"\"a\xC3\"", "\"b\""}).broken_bytes, 1u);
  EXPECT_EQ(through_json({"\"a\\ud83d\"", "\"b\""}).text, "a\uFFFDb");
  EXPECT_EQ(through_json({"\"a\\ude80\""}).text, "a\uFFFD");
  EXPECT_EQ(through_json({"\"\\ud83d\""}).broken_bytes, 1u);
  // Overlong, a surrogate in UTF-8, beyond U+10FFFF (RFC 3629): not one of their bytes is a character.
  EXPECT_EQ(through_json({"\"\xC0\xAF\""}).broken_bytes, 2u);
  EXPECT_EQ(through_json({"\"\xED\xA0\x80\""}).broken_bytes, 3u);
  EXPECT_EQ(through_json({"\"\xF4\x90\x80\x80\""}).broken_bytes, 4u);
}

}  // namespace
}  // namespace ptxbench::agent
