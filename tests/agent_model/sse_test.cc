// Server-sent events by the WHATWG HTML standard (9.2.6), plus what servers do beside it.
#include "ptxbench/agent/model/sse.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <vector>

namespace ptxbench::agent {
namespace {

using ::testing::ElementsAre;

// "name|data" of each event, fed in pieces of that size (0: at once).
std::vector<std::string> parse(std::string_view text, std::size_t piece) {
  std::vector<std::string> events;
  SseParser parser([&](const SseEvent& event) { events.push_back(event.name + "|" + event.data); });
  if (piece == 0) piece = text.size() + 1;
  for (std::size_t i = 0; i < text.size(); i += piece) parser.feed(text.substr(i, piece));
  parser.finish();
  return events;
}

class Sse : public ::testing::TestWithParam<std::size_t> {};
INSTANTIATE_TEST_SUITE_P(Pieces, Sse, ::testing::Values(0, 1, 2, 3, 7));

TEST_P(Sse, LineEndings) {
  EXPECT_THAT(parse("data: a\n\ndata: b\n\n", GetParam()), ElementsAre("|a", "|b"));
  EXPECT_THAT(parse("data: a\r\n\r\ndata: b\r\n\r\n", GetParam()), ElementsAre("|a", "|b"));
  EXPECT_THAT(parse("data: a\r\rdata: b\r\r", GetParam()), ElementsAre("|a", "|b"));
  EXPECT_THAT(parse("data: a\r\n\ndata: b\n\r\n", GetParam()), ElementsAre("|a", "|b"));
}

TEST_P(Sse, FieldsAndComments) {
  EXPECT_THAT(parse(": hello\n\nevent: x\nid: 7\nretry: 10\ndata: a\n\n", GetParam()), ElementsAre("x|a"));
  EXPECT_THAT(parse("data:a\n\ndata:  a\n\ndata\n\n", GetParam()), ElementsAre("|a", "| a", "|"));
  EXPECT_THAT(parse("event: lonely\n\ndata: a\n\n", GetParam()),
              ElementsAre("|a"));  // no data, no event; the name goes
  EXPECT_THAT(parse("data: {\ndata:  \"a\": 1\ndata: }\n\n", GetParam()), ElementsAre("|{\n \"a\": 1\n}"));
}

TEST_P(Sse, ByteOrderMark) {
  EXPECT_THAT(parse("\xEF\xBB\xBF"
                    "data: a\n\n",
                    GetParam()),
              ElementsAre("|a"));
}

TEST_P(Sse, MissingEnd) {
  EXPECT_THAT(parse("data: a\n\ndata: b", GetParam()), ElementsAre("|a", "|b"));
  EXPECT_THAT(parse("data: a\n\ndata: b\n", GetParam()), ElementsAre("|a", "|b"));
  EXPECT_THAT(parse("data: a\n\ndata: b\r", GetParam()), ElementsAre("|a", "|b"));
}

TEST_P(Sse, SplitCharactersComeTogether) { EXPECT_THAT(parse("data: 世界🚀\n\n", GetParam()), ElementsAre("|世界🚀")); }

TEST_P(Sse, ErrorFieldOfLlamaCpp) {
  EXPECT_THAT(parse("error: {\"code\": 500}\n\n", GetParam()), ElementsAre("error|{\"code\": 500}"));
}

}  // namespace
}  // namespace ptxbench::agent
