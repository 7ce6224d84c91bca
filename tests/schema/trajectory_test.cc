#include "ptxbench/schema/trajectory.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>

#include "ptxbench/base/file.h"
#include "ptxbench/schema/quick_json.h"
#include "ptxbench/schema/run_folder.h"

namespace ptxbench::schema {
namespace {

using ::testing::HasSubstr;

ReplyEvent reply() {
  ReplyEvent event;
  event.turn = 1;
  event.outcome = "truncated";
  event.is_turn = true;
  event.text = "a \"quoted\" \xE2\x82\xAC line\nand another";
  event.usage = {10, 4, std::nullopt, 20, 15};
  event.cost_usd = 0.125;
  event.first_token_seconds = 0.5;
  return event;
}

JudgedEvent judged() {
  VerdictFields fields;
  fields.status = VerdictStatus::kCompileError;
  fields.message = "no";
  fields.task = "t";
  fields.workload_uuid = "u";
  fields.compile.state = LayerState::kFailed;
  fields.compile.message = "no";
  fields.seed = 9007199254740993;  // 2^53 + 1: not a double
  JudgedEvent event;
  event.turn = 1;
  event.source = "__global__";
  event.version = 1;
  event.verdicts = {*Verdict::create(fields)};
  return event;
}

TEST(Events, AreOneLineAndComeBack) {
  const std::vector<Event> events = {
      StartEvent{"001", "t"},           RequestEvent{1, "h", 2, 30, 0.5, "t"},         reply(), judged(),
      SuspendEvent{"budget", "x", "t"}, FinishEvent{FinishReason::kTurnsUsed, "", "t"}};
  for (const Event& event : events) {
    const std::string line = to_json(event);
    EXPECT_EQ(line.find('\n'), std::string::npos);
    const auto back = event_from_json(line);
    ASSERT_TRUE(back) << back.error().format();
    EXPECT_EQ(back->index(), event.index());
    EXPECT_EQ(to_json(*back), line);
  }
  const auto back = event_from_json(to_json(Event(judged())));
  EXPECT_EQ(std::get<JudgedEvent>(*back).verdicts.at(0)->seed, 9007199254740993U);
}

TEST(Events, WhatIsUnknownIsRefused) {
  EXPECT_THAT(event_from_json(R"({"event":"nap"})", "e.jsonl", 4).error().format(), HasSubstr("e.jsonl:4"));
  EXPECT_THAT(event_from_json(R"({"event":"suspend","reason":"","detail":"","at":"","more":1})").error().format(),
              HasSubstr("more: unknown field"));
  EXPECT_THAT(event_from_json(R"({"event":"start","schema":"ptxbench.events.v9","id":"","at":""})").error().format(),
              HasSubstr("expected 'ptxbench.events.v1'"));
  EXPECT_FALSE(event_from_json("[]"));
}

// Every kind of field of a record is read quickly, and as the strict reader reads it.
TEST(Events, QuicklyReadAreTheSame) {
  JudgedEvent full = judged();
  VerdictFields fields = full.verdicts[0].fields();
  fields.axes = {{"M", 128}, {"K", -1}};
  fields.phases = {{"inputs", 0.1}, {"candidate", 3}};
  fields.compile.kernels = {{"k", 168, 0, 0, 0, 0}};
  fields.comparison = DeviceComparison{};
  fields.comparison->outputs = {{"C", std::nan(""), -HUGE_VAL, HUGE_VAL}};
  full.verdicts = {*Verdict::create(fields)};
  simdjson::dom::parser parser;
  for (const Event& event :
       {Event(StartEvent{"001", "t"}), Event(RequestEvent{1, "h", 2, 1LL << 40, 0.5, "t"}), Event(reply()), Event(full),
        Event(SuspendEvent{"budget", "x", "t"}), Event(FinishEvent{FinishReason::kTurnsUsed, "", "t"})}) {
    const simdjson::padded_string line(to_json(event));
    const auto quick = quick_event(parser.parse(line), std::string::npos);
    ASSERT_TRUE(quick) << line;
    EXPECT_EQ(to_json(*quick), to_json(event));
  }
}

// The quick reader gives up where the strict one has to look: on other orders, and on what is wrong.
TEST(Events, NotReadQuickly) {
  const auto quick = [](std::string_view text) {
    simdjson::dom::parser parser;
    const simdjson::padded_string padded(text);
    return quick_event(parser.parse(padded), std::string::npos).has_value();
  };
  EXPECT_TRUE(quick(R"({"event":"suspend","reason":"","detail":"","at":""})"));
  EXPECT_FALSE(quick(R"({"event":"suspend","detail":"","reason":"","at":""})"));
  EXPECT_FALSE(quick(R"({"event":"suspend","reason":"","detail":"","at":"","at":""})"));
  EXPECT_FALSE(quick(R"({"event":"suspend","reason":"","detail":"","at":"","more":1})"));
  EXPECT_FALSE(quick(R"({"event":"suspend","reason":"","detail":""})"));
  EXPECT_FALSE(quick(R"({"event":"suspend","reason":1,"detail":"","at":""})"));
  EXPECT_FALSE(quick(R"({"event":"start","schema":"ptxbench.events.v9","id":"","at":""})"));
  EXPECT_FALSE(quick(R"({"event":"finish","reason":"bored","detail":"","at":""})"));
  EXPECT_FALSE(quick("[]"));
  std::string contradiction = to_json(Event(judged()));
  const std::string status = "\"COMPILE_ERROR\"";
  EXPECT_TRUE(quick(contradiction));
  EXPECT_FALSE(quick(contradiction.replace(contradiction.find(status), status.size(), "\"PASSED\"")));
}

TEST(Events, BeginningsOfTexts) {
  const TempDir folder = std::move(*TempDir::create());
  ReplyEvent long_reply = reply();
  long_reply.text = std::string(64, 'a') + "b";
  const std::string swapped = R"({"event":"suspend","detail":"","reason":"r","at":""})";
  ASSERT_TRUE(write_file_atomic(folder.path() / "e.jsonl", to_json(Event(long_reply)) + "\n" + swapped + "\n"));
  const auto whole = read_events(folder.path() / "e.jsonl");
  const auto begun = read_events(folder.path() / "e.jsonl", Texts::kBeginnings);
  ASSERT_TRUE(whole && begun);
  EXPECT_EQ(std::get<ReplyEvent>(whole->events[0]).text, long_reply.text);
  EXPECT_EQ(std::get<ReplyEvent>(begun->events[0]).text, std::string(64, 'a'));
  EXPECT_EQ(std::get<SuspendEvent>(begun->events[1]).reason, "r");
}

TEST(Events, AnUnfinishedLastLineIsLeftOut) {
  const TempDir folder = std::move(*TempDir::create());
  const std::string whole = to_json(Event(StartEvent{"001", "t"})) + "\n";
  ASSERT_TRUE(write_file_atomic(folder.path() / "e.jsonl", whole + "{\"event\":\"re"));
  const auto log = read_events(folder.path() / "e.jsonl");
  ASSERT_TRUE(log);
  EXPECT_EQ(log->events.size(), 1U);
  EXPECT_EQ(log->whole_bytes, whole.size());
  EXPECT_EQ(read_events(folder.path() / "none.jsonl")->events.size(), 0U);
}

TEST(Assemble, CountsWhatWasLost) {
  TrajectoryPlan plan;
  plan.id = "001";
  const RequestEvent request{1, "h", 2, 30, 0.5, "t"};
  ReplyEvent failed = reply();
  failed.is_turn = false;
  failed.cost_usd.reset();
  const auto trajectory =
      assemble(plan, {StartEvent{"001", "t"}, request, request, failed, SuspendEvent{}, request, reply(), judged(), [] {
                        RequestEvent second{2, "h", 2, 30, 0.25, "t"};
                        return second;
                      }()});
  ASSERT_TRUE(trajectory) << trajectory.error().format();
  EXPECT_EQ(trajectory->turns.size(), 1U);
  EXPECT_EQ(trajectory->turns[0].result(), "COMPILE_ERROR");
  EXPECT_EQ(trajectory->lost_requests.size(), 2U);  // the first, and the last that has no reply yet
  EXPECT_DOUBLE_EQ(trajectory->possible_cost_usd, 0.75);
  EXPECT_EQ(trajectory->failed_requests, 1);
  EXPECT_DOUBLE_EQ(trajectory->cost_usd, 0.125);
  EXPECT_EQ(trajectory->unpriced_replies, 1);
  EXPECT_FALSE(trajectory->suspended);
}

TEST(Manifest, ComesBack) {
  RunManifest manifest;
  manifest.experiment.name = "n";
  manifest.experiment.target_speedup = 1.2;
  manifest.experiment.context = ContextPolicy::kLatestPair;
  manifest.models = {{"m", "openai", "x", "hash", true}};
  manifest.packs = {{"hopper", "L3", "hash", 20000}};
  manifest.versions = {{"nvcc", "13.0"}};
  manifest.seed = 9007199254740993;
  manifest.trajectories = {{"001", "t", "hopper", "m", "L3", 1, "t", {"u1", "u2"}, "s", "k"}};
  const auto back = run_manifest_from_json(to_json(manifest));
  ASSERT_TRUE(back) << back.error().format();
  EXPECT_EQ(to_json(*back), to_json(manifest));
  EXPECT_EQ(back->seed, manifest.seed);
  EXPECT_EQ(back->trajectories[0], manifest.trajectories[0]);
  EXPECT_FALSE(run_manifest_from_json("{}"));
}

}  // namespace
}  // namespace ptxbench::schema
