#include "ptxbench/toolchain/source_text.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace ptxbench::toolchain {
namespace {

TEST(SourceText, StripsCommentsAndLiteralsKeepingPlaces) {
  EXPECT_EQ(strip_comments_and_strings("a // b\nc"), "a     \nc");
  EXPECT_EQ(strip_comments_and_strings("a /* b\n */ c"), "a     \n    c");
  EXPECT_EQ(strip_comments_and_strings("f(\"x\\\"y\")"), "f(\"    \")");
  EXPECT_EQ(strip_comments_and_strings("'\"' b"), "' ' b");
  EXPECT_EQ(strip_comments_and_strings("// a \\\n b\nc"), "      \n  \nc");
  EXPECT_EQ(strip_comments_and_strings("R\"x(a\" //)x\" b"), "R            b");
  EXPECT_EQ(strip_comments_and_strings("1'000 + 2"), "1'000 + 2");
  EXPECT_EQ(strip_comments_and_strings("#include \"a//b.h\""), "#include \"a//b.h\"");
}

TEST(SourceText, FindsCallsAsWholeWords) {
  EXPECT_EQ(line_of_call("a\nfork ()\n", "fork"), 2);
  EXPECT_EQ(line_of_call("my_fork()\nfork_it()\nfork;\n", "fork"), 0);
}

TEST(SourceText, RefusesWhatIsNoText) {
  EXPECT_TRUE(check_text("int x; // \u00e4\u4e2d\U0001F600\n", "a.cu"));
  EXPECT_THAT(check_text("", "a.cu").error().format(), testing::HasSubstr("a.cu:1: error: the file is empty"));
  EXPECT_THAT(check_text(" \n\t", "a.cu").error().message, testing::HasSubstr("empty"));
  EXPECT_THAT(check_text(std::string("int\n\0x", 6), "a.cu").error().format(),
              testing::HasSubstr("a.cu:2: error: the file is binary"));
  for (const char* bad : {"\xff", "\xc0\xaf", "\xed\xa0\x80", "\xe4\xb8", "\xf5\x80\x80\x80", "\x80"})
    EXPECT_THAT(check_text(bad, "a.cu").error().message, testing::HasSubstr("not UTF-8"));
}

}  // namespace
}  // namespace ptxbench::toolchain
