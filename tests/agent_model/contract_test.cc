// The clients against a server that misbehaves in known ways: what comes out is typed, exact, and free of the key.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <thread>

#include "ptxbench/agent/model/client.h"
#include "server.h"

namespace ptxbench::agent {
namespace {

using std::chrono::milliseconds;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::Not;

constexpr const char* kKey = "sk-test-0123456789abcdefghijklmnopqrstuvwxyz";

class Contract : public ::testing::Test {
 protected:
  void SetUp() override {
    ASSERT_NE(server_.port(), 0) << "python3 tests/agent_model/misbehaving_server.py did not start";
    ::setenv("PTXBENCH_TEST_KEY", kKey, 1);
    config_.name = "test";
    config_.model = "m";
    config_.key_variable = "PTXBENCH_TEST_KEY";
    config_.limits = {milliseconds(5000), milliseconds(10000), milliseconds(10000), milliseconds(60000)};
    config_.retry = {3, 1, milliseconds(10), milliseconds(5000)};
    config_.prices = {10.0, 1.0, 12.5, 100.0, {}};
  }

  ModelReply ask(const std::string& scenario, std::stop_token cancel = {}) {
    if (config_.base_url.empty()) config_.base_url = server_.url(scenario);
    auto client = make_client(config_);
    if (!client) throw std::runtime_error(client.error().format());
    ModelReply reply = (*client)->complete({{{Role::kSystem, "be brief"}, {Role::kUser, "hi"}}, std::move(cancel)});
    expect_no_key(reply);
    return reply;
  }

  static void expect_no_key(const ModelReply& reply) {
    std::string everything =
        reply.detail + reply.text + reply.reasoning_text + reply.finish_reason + reply.served_model;
    for (const Attempt& attempt : reply.attempts) everything += attempt.detail + attempt.request_id;
    for (std::size_t i = 0; i + 8 <= std::string_view(kKey).size(); ++i)
      EXPECT_THAT(everything, Not(HasSubstr(std::string(kKey).substr(i, 8))));
  }

  static std::vector<Outcome> outcomes(const ModelReply& reply) {
    std::vector<Outcome> list;
    for (const Attempt& attempt : reply.attempts) list.push_back(attempt.outcome);
    return list;
  }

  testing::MisbehavingServer server_;
  ModelConfig config_;
};

TEST_F(Contract, AnAnswerWithUsageAndCost) {
  const ModelReply reply = ask("ok");
  EXPECT_EQ(reply.outcome, Outcome::kAnswer);
  EXPECT_EQ(reply.detail, "");
  EXPECT_EQ(reply.text, "Hello, world.");
  EXPECT_EQ(reply.finish_reason, "stop");
  EXPECT_EQ(reply.served_model, "served-1");
  EXPECT_EQ(reply.usage.input, 10);
  EXPECT_EQ(reply.usage.cached_input, 4);
  EXPECT_EQ(reply.usage.output, 7);
  EXPECT_EQ(reply.usage.reasoning, 5);
  // 6 fresh at 10, 4 cached at 1, 7 output at 100 dollars a million.
  EXPECT_NEAR(reply.cost_usd.value(), (6 * 10 + 4 * 1 + 7 * 100) * 1e-6, 1e-12);
  EXPECT_FALSE(reply.cost_is_lower_bound);
  ASSERT_EQ(reply.attempts.size(), 1u);
  EXPECT_EQ(reply.attempts[0].http_status, 200);
  EXPECT_EQ(reply.attempts[0].request_id, "req-1");
  EXPECT_FALSE(reply.attempts[0].may_be_charged);
  EXPECT_TRUE(reply.timings.connected_s && reply.timings.first_byte_s && reply.timings.first_token_s);
}

TEST_F(Contract, UnknownPriceMeansUnknownCost) {
  config_.prices.cached_input.reset();
  EXPECT_EQ(ask("ok").cost_usd, std::nullopt);
}

TEST_F(Contract, NoUsageMeansUnknownCost) { EXPECT_EQ(ask("byte_by_byte").cost_usd, std::nullopt); }

struct Plain {
  const char* scenario;
  Outcome outcome;
  const char* text;
  std::size_t attempts;
  const char* detail;  // part of it
};

class Scenario : public Contract, public ::testing::WithParamInterface<Plain> {};

TEST_P(Scenario, EndsAsItShould) {
  const Plain& expected = GetParam();
  const ModelReply reply = ask(expected.scenario);
  EXPECT_EQ(to_string(reply.outcome), to_string(expected.outcome)) << reply.detail;
  EXPECT_EQ(reply.text, expected.text);
  EXPECT_EQ(reply.attempts.size(), expected.attempts);
  EXPECT_THAT(reply.detail, HasSubstr(expected.detail));
}

constexpr Plain kPlain[] = {
    {"whole_json", Outcome::kAnswer, "Hello, world.", 1, ""},
    {"gzip", Outcome::kAnswer, "Hello, world.", 1, ""},
    {"byte_by_byte", Outcome::kAnswer, "Grüße, 世界 🚀", 1, ""},
    {"lingers", Outcome::kAnswer, "Hello, world.", 1, ""},
    {"half_utf8", Outcome::kAnswer, "a🚀b", 1, ""},
    {"half_surrogates", Outcome::kAnswer, "a🚀b", 1, ""},
    {"lost_half", Outcome::kAnswer, "a\uFFFD\uFFFDb", 1, ""},
    // Waiting helps.
    {"429_then_ok", Outcome::kAnswer, "Hello, world.", 3, ""},
    {"500_then_ok", Outcome::kAnswer, "Hello, world.", 2, ""},
    {"cut_before_a_token_then_ok", Outcome::kAnswer, "Hello, world.", 2, ""},
    {"cut_then_ok", Outcome::kAnswer, "Hello, world.", 2, ""},
    // Waiting does not help.
    {"429_always", Outcome::kRateLimited, "", 3, "HTTP 429: Rate limit reached"},
    {"429_an_hour", Outcome::kRateLimited, "", 1, "HTTP 429"},
    {"no_money", Outcome::kQuota, "", 1, "exceeded your current quota"},
    {"503_always", Outcome::kServerError, "", 3, "HTTP 503: <html>upstream is down</html>"},
    {"401_quotes_the_key", Outcome::kAuthentication, "", 1, "Incorrect API key provided: [key], or"},
    {"404", Outcome::kRefusedRequest, "", 1, "The model `m` does not exist"},
    {"redirect", Outcome::kRefusedRequest, "", 1, "redirects to 'http://127.0.0.1:1/elsewhere'"},
    // One paid repeat, then no more.
    {"cut", Outcome::kTransport, "Hello, ", 2, "the connection broke"},
    {"ends_early", Outcome::kTransport, "Hello, ", 2, "the stream ended before the answer did"},
    {"ends_inside_an_event", Outcome::kTransport, "Hello, ", 2, "the stream ended before the answer did"},
    {"no_answer", Outcome::kTransport, "", 2, "the connection broke"},
    {"malformed_event", Outcome::kMalformed, "Hello, ", 2, "\"{\"choices\": [{\"delta\": {\"content\": \""},
    {"event_is_a_number", Outcome::kMalformed, "", 2, "\"42\""},
    {"error_event", Outcome::kServerError, "Hello", 2, "engine is dead"},
    // Nonsense that stays nonsense.
    {"html", Outcome::kMalformed, "", 1, "'text/html', expected 'text/event-stream': \"<!DOCTYPE html>"},
    {"not_http", Outcome::kMalformed, "", 1, "not HTTP as it should be"},
    {"huge_headers", Outcome::kMalformed, "", 1, "not HTTP as it should be"},
    {"bad_gzip", Outcome::kMalformed, "", 1, "not HTTP as it should be"},
    // Ways an answer can end.
    {"length", Outcome::kTruncated, "Hello", 1, "ended with \"length\""},
    {"filtered", Outcome::kContentFilter, "Hello", 1, "ended with \"content_filter\""},
    {"refused", Outcome::kRefusal, "I can't help with that.", 1, ""},
    {"nothing_said", Outcome::kEmpty, "  \n", 1, "finished (stop) without an answer"},
    {"only_reasoning", Outcome::kEmpty, "", 1, "after reasoning"},
    {"echoes_the_key", Outcome::kAnswer, "your key is [key]", 1, ""},
};
INSTANTIATE_TEST_SUITE_P(All, Scenario, ::testing::ValuesIn(kPlain),
                         [](const auto& info) { return info.param.scenario; });

TEST_F(Contract, AConnectionThatDiedBetweenRequestsIsNoFault) {
  config_.base_url = server_.url("promises_to_stay");
  auto client = make_client(config_);
  ASSERT_TRUE(client);
  for (int i = 0; i < 3; ++i) {
    const ModelReply reply = (*client)->complete({{{Role::kUser, "hi"}}, {}});
    EXPECT_EQ(reply.outcome, Outcome::kAnswer) << reply.detail;
    EXPECT_EQ(reply.attempts.size(), 1u);
  }
}

TEST_F(Contract, NoProxyOnTheWayToThisMachine) {
  const std::string nowhere = "http://127.0.0.1:" + std::to_string(testing::closed_port());
  ::setenv("http_proxy", nowhere.c_str(), 1);
  EXPECT_EQ(ask("ok").outcome, Outcome::kAnswer);
  ::unsetenv("http_proxy");
}

TEST_F(Contract, BrokenBytesAreCounted) { EXPECT_EQ(ask("lost_half").repaired_bytes, 2u); }
TEST_F(Contract, JoinedHalvesAreNotBroken) { EXPECT_EQ(ask("half_utf8").repaired_bytes, 0u); }

TEST_F(Contract, FiveMegabytes) {
  EXPECT_EQ(ask("five_megabytes").text, std::string(5242880, 'x'));
  config_.base_url = server_.url("five_megabytes_in_one_event");
  EXPECT_EQ(ask("").text, std::string(5242880, 'x'));
}

// A server that ignores max_output_tokens is not read to its end, nor kept whole.
TEST_F(Contract, MoreTextThanTheTokensCanBeIsCut) {
  config_.max_output_tokens = 8000;  // 256,000 bytes; the least bound is 1 MiB
  for (const char* scenario : {"five_megabytes", "five_megabytes_in_one_event"}) {
    const ModelReply reply = ask(scenario);
    EXPECT_EQ(reply.outcome, Outcome::kTruncated) << scenario;
    EXPECT_EQ(reply.text, std::string(1 << 20, 'x')) << scenario;
    EXPECT_NE(reply.detail.find("more than max_output_tokens can be"), std::string::npos) << reply.detail;
  }
}

TEST_F(Contract, RetryAfterInSecondsIsKept) {
  const ModelReply reply = ask("429_seconds_then_ok");
  ASSERT_THAT(outcomes(reply), ElementsAre(Outcome::kRateLimited, Outcome::kAnswer));
  EXPECT_EQ(reply.attempts[0].retry_after_s, 1.0);
  EXPECT_GE(reply.attempts[0].wait_s, 1.0);
  EXPECT_GE(reply.attempts[1].started_unix_ms - reply.attempts[0].started_unix_ms, 1000);
}

TEST_F(Contract, RetryAfterAsADateIsKept) {
  const ModelReply reply = ask("429_date_then_ok");
  ASSERT_THAT(outcomes(reply), ElementsAre(Outcome::kRateLimited, Outcome::kAnswer));
  // The date is the whole second two seconds ahead: 1 or 2 of them are left, fewer on a machine that stalls.
  ASSERT_TRUE(reply.attempts[0].retry_after_s);
  EXPECT_LE(*reply.attempts[0].retry_after_s, 2.0);
  EXPECT_GE(reply.attempts[0].wait_s, *reply.attempts[0].retry_after_s);
}

TEST_F(Contract, ALongerRetryAfterThanAllowedIsLeftToTheCaller) {
  const ModelReply reply = ask("429_an_hour");
  ASSERT_EQ(reply.attempts.size(), 1u);
  EXPECT_EQ(reply.attempts[0].retry_after_s, 3600.0);
  EXPECT_TRUE(may_pass_later(reply.outcome));
}

TEST_F(Contract, ALostAttemptMakesTheCostALowerBound) {
  const ModelReply reply = ask("cut_then_ok");
  ASSERT_THAT(outcomes(reply), ElementsAre(Outcome::kTransport, Outcome::kAnswer));
  EXPECT_TRUE(reply.attempts[0].may_be_charged);
  EXPECT_TRUE(reply.cost_is_lower_bound);
  EXPECT_TRUE(reply.cost_usd);
}

// Anthropic's first event counts one output token; an answer that breaks off after it costs more than that.
TEST_F(Contract, TheCostOfAnAnswerThatBreaksOffIsALowerBound) {
  config_.api = Api::kAnthropic;
  config_.max_output_tokens = 100;
  config_.retry.paid_repeats = 0;
  const ModelReply reply = ask("anthropic_cut");
  EXPECT_EQ(reply.outcome, Outcome::kTransport);
  EXPECT_EQ(reply.text, "Hel");
  EXPECT_TRUE(reply.cost_is_lower_bound);
}

TEST_F(Contract, NoPaidRepeatsWhenForbidden) {
  config_.retry.paid_repeats = 0;
  EXPECT_THAT(outcomes(ask("cut_then_ok")), ElementsAre(Outcome::kTransport));
}

TEST_F(Contract, AFreeRepeatLeavesTheCostExact) { EXPECT_FALSE(ask("500_then_ok").cost_is_lower_bound); }

// ---- time-outs: each with the others far away ----

TEST_F(Contract, NoAnswerAtAllIsAFirstTokenTimeout) {
  config_.limits.first_token = milliseconds(150);
  const ModelReply reply = ask("silent_from_the_start");
  EXPECT_THAT(outcomes(reply), ElementsAre(Outcome::kTimeoutFirstToken, Outcome::kTimeoutFirstToken));
  EXPECT_TRUE(reply.attempts[0].may_be_charged);
}

TEST_F(Contract, HeadersAloneAreNoToken) {
  config_.limits.first_token = milliseconds(150);
  EXPECT_EQ(ask("silent_after_head").outcome, Outcome::kTimeoutFirstToken);
}

TEST_F(Contract, CommentsAreNoToken) {
  config_.limits.first_token = milliseconds(150);
  EXPECT_EQ(ask("only_comments").outcome, Outcome::kTimeoutFirstToken);
}

TEST_F(Contract, SilenceInsideAnAnswer) {
  config_.limits.silence = milliseconds(150);
  const ModelReply reply = ask("silent_after_a_token");
  EXPECT_THAT(outcomes(reply), ElementsAre(Outcome::kTimeoutSilence, Outcome::kTimeoutSilence));
  EXPECT_EQ(reply.text, "Hello, ");
}

TEST_F(Contract, ADripEndsAtTheTotal) {
  config_.limits.total = milliseconds(300);
  const ModelReply reply = ask("drip");
  EXPECT_THAT(outcomes(reply), ElementsAre(Outcome::kTimeoutTotal));
  EXPECT_THAT(reply.text, ::testing::StartsWith("x"));
}

TEST_F(Contract, WaitsCountToTheTotal) {
  config_.limits.total = milliseconds(200);
  config_.retry.first_wait = milliseconds(5000);
  const ModelReply reply = ask("429_always");
  EXPECT_THAT(outcomes(reply), ElementsAre(Outcome::kRateLimited));  // at once: the wait would not fit
}

TEST_F(Contract, ConnectTimeout) {
  // A listener that accepts nothing: its queue of one is full, so the kernel drops further SYNs.
  const testing::FullListener full;
  config_.base_url = full.url();
  config_.limits.connect = milliseconds(150);
  config_.retry.attempts = 2;
  EXPECT_THAT(outcomes(ask("")), ElementsAre(Outcome::kTimeoutConnect, Outcome::kTimeoutConnect));
}

TEST_F(Contract, ConnectionRefusedIsRetriedFreely) {
  config_.base_url = "http://127.0.0.1:" + std::to_string(testing::closed_port());
  const ModelReply reply = ask("");
  EXPECT_THAT(outcomes(reply), ElementsAre(Outcome::kTransport, Outcome::kTransport, Outcome::kTransport));
  EXPECT_FALSE(reply.attempts[0].may_be_charged);
  EXPECT_EQ(reply.attempts[0].http_status, 0);
}

// ---- cancelling ----

TEST_F(Contract, CancelEndsARunningRequest) {
  std::stop_source source;
  std::jthread later([&] {
    std::this_thread::sleep_for(milliseconds(100));
    source.request_stop();
  });
  config_.limits = {milliseconds(600000), milliseconds(600000), milliseconds(600000), milliseconds(600000)};
  const ModelReply reply = ask("silent_after_a_token", source.get_token());
  EXPECT_THAT(outcomes(reply), ElementsAre(Outcome::kCancelled));
}

TEST_F(Contract, CancelEndsTheWaitBetweenAttempts) {
  std::stop_source source;
  std::jthread later([&] {
    std::this_thread::sleep_for(milliseconds(100));
    source.request_stop();
  });
  config_.retry.first_wait = config_.retry.longest_wait = milliseconds(50000);
  const ModelReply reply = ask("429_always", source.get_token());
  EXPECT_EQ(reply.outcome, Outcome::kCancelled);
  EXPECT_THAT(outcomes(reply), ElementsAre(Outcome::kRateLimited));
}

TEST_F(Contract, CancelledBeforeItStartsAsksNothing) {
  std::stop_source source;
  source.request_stop();
  EXPECT_EQ(ask("ok", source.get_token()).outcome, Outcome::kCancelled);
  EXPECT_EQ(server_.requests().size(), 0u);
}

// ---- many at once ----

TEST_F(Contract, SixtyFourAtOnce) {
  config_.base_url = server_.url("slow");
  auto client = make_client(config_);
  ASSERT_TRUE(client);
  std::vector<ModelReply> replies(64);
  {
    std::vector<std::jthread> threads;
    for (ModelReply& reply : replies)
      threads.emplace_back([&] { reply = (*client)->complete({{{Role::kUser, "hi"}}, {}}); });
  }
  for (const ModelReply& reply : replies) {
    EXPECT_EQ(reply.outcome, Outcome::kAnswer) << reply.detail;
    EXPECT_EQ(reply.text, std::string(4000, 'x'));
  }
}

// ---- messages that no provider takes ----

TEST_F(Contract, BadMessagesAreRefusedWithoutAsking) {
  config_.base_url = server_.url("ok");
  auto client = make_client(config_);
  ASSERT_TRUE(client);
  EXPECT_EQ((*client)->complete({{}, {}}).outcome, Outcome::kRefusedRequest);
  EXPECT_THAT((*client)->complete({{{Role::kUser, ""}}, {}}).detail, HasSubstr("message 0 (user) is empty"));
  EXPECT_THAT((*client)->complete({{{Role::kUser, "a"}, {Role::kAssistant, "b"}}, {}}).detail,
              HasSubstr("the last message is not the user's"));
  EXPECT_EQ(server_.requests().size(), 0u);
}

// ---- TLS ----

TEST(ContractTls, AnUnknownCertificateIsRefusedOnceAndATrustedOneTaken) {
  const testing::SelfSigned certificate;
  ASSERT_TRUE(certificate.ok()) << "openssl (package openssl) could not make a certificate";
  const testing::MisbehavingServer server(certificate.certificate(), certificate.key());
  ASSERT_NE(server.port(), 0);
  ModelConfig config;
  config.model = "m";
  config.base_url = "https://localhost:" + std::to_string(server.port()) + "/ok/t";
  auto client = make_client(config);
  ASSERT_TRUE(client);
  const ModelRequest request{{{Role::kUser, "hi"}}, {}};
  const ModelReply refused = (*client)->complete(request);
  EXPECT_EQ(refused.outcome, Outcome::kTransport);
  EXPECT_THAT(refused.detail, ::testing::StartsWith("TLS: "));
  EXPECT_EQ(refused.attempts.size(), 1u);
  ::setenv("SSL_CERT_FILE", certificate.certificate().c_str(), 1);
  EXPECT_EQ((*client)->complete(request).text, "Hello, world.");
  ::unsetenv("SSL_CERT_FILE");
}

}  // namespace
}  // namespace ptxbench::agent
