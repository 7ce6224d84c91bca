#include "ptxbench/agent/model/secret.h"

#include <gtest/gtest.h>

namespace ptxbench::agent {
namespace {

TEST(Secret, WholeKey) {
  const Secret secret("sk-abcdefghijklmnop");
  EXPECT_EQ(secret.redact("a sk-abcdefghijklmnop b sk-abcdefghijklmnop"), "a [key] b [key]");
  EXPECT_EQ(secret.redact_pieces("sk-abcdefghijklmnopsk-abcdefghijklmnop"), "[key][key]");
}

TEST(Secret, PiecesOfEight) {
  const Secret secret("sk-abcdefghijklmnop");
  EXPECT_EQ(secret.redact_pieces("key sk-abcde***ijklmnop is wrong"), "key [key]***[key] is wrong");
  EXPECT_EQ(secret.redact_pieces("sk-abcd is short enough"), "sk-abcd is short enough");
}

TEST(Secret, PlaceholdersStay) {
  EXPECT_EQ(Secret("EMPTY").redact("the queue is EMPTY"), "the queue is EMPTY");
  EXPECT_EQ(Secret("EMPTY").redact_pieces("the queue is EMPTY"), "the queue is EMPTY");
  EXPECT_EQ(Secret().redact("text"), "text");
}

}  // namespace
}  // namespace ptxbench::agent
