// Loading folders for a report: whole ones, and what is said of broken ones. Nothing is read half.
#include <gtest/gtest.h>

#include <fstream>

#include "ptxbench/base/file.h"
#include "ptxbench/report/from_run.h"
#include "ptxbench/report/on_all_cores.h"
#include "ptxbench/report/page.h"

namespace ptxbench::report {
namespace {

namespace fs = std::filesystem;

constexpr char kRun[] = R"({
  "schema": "ptxbench.run.v1",
  "created": "2026-12-01T07:00:00.000Z",
  "experiment": {
    "name": "x", "tasks": ["gemm"], "targets": ["hopper"], "models": ["m"], "packs": ["L1"],
    "trajectories": 1,
    "turns": 3,
    "context": "full", "rules": "strict", "workload": "emu", "device": "emu"
  },
  "models": [{"name": "m", "api": "openai", "model": "m-1", "settings_sha256": "00", "recording": false}],
  "packs": [],
  "versions": [],
  "seed": 1,
  "trajectories": [
    {"id": "001", "task": "gemm", "target": "hopper", "model": "m", "pack": "L1", "repeat": 1, "judged_task": "gemm",
     "workloads": ["w"], "system_sha256": "00", "task_sha256": "00"}
  ]
}
)";

// One turn without a kernel; the trajectory goes on.
constexpr char kEvents[] =
    R"({"event":"start","schema":"ptxbench.events.v1","id":"001","at":"t"}
{"event":"request","turn":1,"messages_sha256":"00","messages":2,"bytes":9,"at":"t"}
{"event":"reply","turn":1,"outcome":"answer","is_turn":true,"detail":"","text":"no","reasoning_text":"","finish_reason":"stop","served_model":"m","usage":{"reasoning":5},"cost_is_lower_bound":false,"attempts":1,"seconds":1.5,"at":"t"}
{"event":"judged","turn":1,"extraction":"no block","source_sha256":"","version":0,"verdicts":[],"feedback":"f","wait_seconds":0,"judge_seconds":0.5,"at":"t"}
)";

constexpr char kObservations[] = R"({
 "schema": "ptxbench.observations.v2", "source": "s", "notes": [], "published": [], "references": [],
 "cells": [{"run": "r", "model": "m", "target": "hopper", "task": "gemm", "workload": "w", "language": "cuda",
            "model_date": "", "date_kind": "", "recording": false}],
 "trajectories": [
  {"id": "0", "cell": 0, "pack": "L1", "planned_turns": 2, "open": false}]
}
)";
constexpr char kTurns[] =
    R"({"trajectory":0,"turn":1,"status":"COMPILE_ERROR","correct_paper":false,"correct_strict":false}
{"trajectory":0,"turn":2,"status":"PASSED","correct_paper":true,"speedup":0.5}
)";

class Load : public testing::Test {
 protected:
  void SetUp() override {
    auto made = TempDir::create();
    ASSERT_TRUE(made);
    place_.emplace(std::move(*made));
    write("run/run.json", kRun);
    write(kLog, kEvents);
    write("imported/observations.json", kObservations);
    write("imported/turns.jsonl", kTurns);
  }
  fs::path at(const std::string& name) const { return place_->path() / name; }
  void write(const std::string& name, const std::string& text) {
    fs::create_directories(at(name).parent_path());
    std::ofstream(at(name)) << text;
  }
  static std::string with(std::string text, const std::string& from, const std::string& to) {
    const std::size_t place = text.find(from);
    EXPECT_NE(place, std::string::npos) << from;
    return text.replace(place, from.size(), to);
  }
  void expect_error(const std::string& folder, const std::string& name, int line, const std::string& words) {
    const auto loaded = load({at(folder)});
    ASSERT_FALSE(loaded);
    EXPECT_EQ(loaded.error().where.file, at(name).string()) << loaded.error().format();
    EXPECT_EQ(loaded.error().where.line, line) << loaded.error().format();
    EXPECT_NE(loaded.error().format().find(words), std::string::npos) << loaded.error().format();
  }
  static constexpr char kLog[] = "run/trajectories/001/events.jsonl";
  std::optional<TempDir> place_;
};

TEST_F(Load, BothKindsTogetherInTheOrderNamed) {
  const auto loaded = load({at("imported"), at("run")});
  ASSERT_TRUE(loaded) << loaded.error().format();
  const schema::Observations& data = loaded->observations;
  ASSERT_EQ(data.turns.size(), 3u);
  EXPECT_EQ(data.turns[1].speedup, 0.5);
  EXPECT_EQ(data.turns[2].status, schema::TurnStatus::kNoKernel);
  EXPECT_EQ(data.turns[2].reasoning_tokens, 5);
  EXPECT_EQ(data.turns[2].seconds, 2.0);
  ASSERT_EQ(loaded->details.size(), 2u);
  EXPECT_FALSE(loaded->details[0]);
  ASSERT_TRUE(loaded->details[1]);
  EXPECT_NE(loaded->details[1]()->find("\"answer\":\"no\""), std::string::npos);
  EXPECT_TRUE(data.trajectories[1].open);
}

// A process that died while it wrote: what was whole counts, and the report says what does not.
TEST_F(Load, LogCutInTheMiddleOfItsLastLine) {
  write(kLog, std::string(kEvents).substr(0, std::string(kEvents).size() - 40));
  const auto loaded = load({at("run")});
  ASSERT_TRUE(loaded) << loaded.error().format();
  EXPECT_TRUE(loaded->observations.turns.empty());
  EXPECT_EQ(loaded->observations.notes.back(),
            at(kLog).string() + ":4: the line is cut off, expected a newline at its end; it is left out");
}
// Logs are read at the same time: the error is still that of the first.
TEST(OnAllCores, EachOnceAndTheFirstError) {
  std::vector<int> seen(1000, 0);
  EXPECT_TRUE(on_all_cores(seen.size(), [&](std::size_t i) -> Status {
    ++seen[i];
    return {};
  }));
  EXPECT_EQ(seen, std::vector<int>(1000, 1));
  for (int round = 0; round < 100; ++round) {
    const Status done = on_all_cores(50, [](std::size_t i) -> Status {
      if (i < 3) return {};
      return fail(ErrorKind::kInvalidInput, std::to_string(i));
    });
    ASSERT_FALSE(done);
    EXPECT_EQ(done.error().message, "3");
  }
}
TEST_F(Load, LogWithAHoleInALine) {
  write(kLog, with(kEvents, "\"is_turn\":true,\"detail\"", "\"is_turn\":tr"));
  expect_error("run", kLog, 3, "not valid JSON");
}
TEST_F(Load, LogWithAnEventTwice) {
  const std::string text = kEvents;
  write(kLog, text + text.substr(text.find("{\"event\":\"judged\"")));
  expect_error("run", kLog, 5, "a judgement without a reply");
}
TEST_F(Load, LogWithoutAnEvent) {
  write(kLog,
        with(kEvents,
             "{\"event\":\"request\",\"turn\":1,\"messages_sha256\":\"00\",\"messages\":2,\"bytes\":9,\"at\":\"t\"}\n",
             ""));
  expect_error("run", kLog, 2, "reply");
}
TEST_F(Load, LogWithABrokenVerdict) {
  write(kLog, with(kEvents, "\"verdicts\":[]", "\"verdicts\":[{\"schema\":\"ptxbench.verdict.v0\"}]"));
  expect_error("run", kLog, 4, "verdicts[0]: schema: found 'ptxbench.verdict.v0', expected");
}
TEST_F(Load, LogWithAnUnknownEvent) {
  write(kLog, with(kEvents, "\"event\":\"request\"", "\"event\":\"question\""));
  expect_error("run", kLog, 2, "found 'question', expected start, request");
}
TEST_F(Load, PlanCutInTheMiddleOfALine) {
  write("run/run.json", std::string(kRun).substr(0, std::string(kRun).find("\"repeat\"")));
  expect_error("run", "run/run.json", 15, "not valid JSON");
}
TEST_F(Load, PlanWithoutAField) {
  write("run/run.json", with(kRun, "\"pack\": \"L1\", \"repeat\"", "\"repeat\""));
  expect_error("run", "run/run.json", 15, "trajectories[0].pack: missing");
}
TEST_F(Load, PlanWithAnotherKindOfValue) {
  write("run/run.json", with(kRun, "\"turns\": 3", "\"turns\": \"3\""));
  expect_error("run", "run/run.json", 7, "experiment.turns: found a string, expected an integer");
}
TEST_F(Load, PlanOfAnotherVersion) {
  write("run/run.json", with(kRun, "run.v1", "run.v9"));
  expect_error("run", "run/run.json", 2, "found 'ptxbench.run.v9', expected 'ptxbench.run.v1'");
}

TEST_F(Load, TurnsCutInTheMiddleOfALine) {
  write("imported/turns.jsonl", std::string(kTurns).substr(0, std::string(kTurns).size() - 9));
  expect_error("imported", "imported/turns.jsonl", 2, "expected a newline");
}
TEST_F(Load, TurnTwice) {
  write("imported/turns.jsonl", with(kTurns, "\"turn\":2", "\"turn\":1"));
  expect_error("imported", "imported/turns.jsonl", 2, "expected each turn once and in order");
}
TEST_F(Load, SpeedupThatIsNoNumber) {
  write("imported/turns.jsonl", with(kTurns, "\"speedup\":0.5", "\"speedup\":\"nan\""));
  expect_error("imported", "imported/turns.jsonl", 2, "speedup: found nan, expected a finite number above 0");
  write("imported/turns.jsonl", with(kTurns, "\"speedup\":0.5", "\"speedup\":NaN"));
  expect_error("imported", "imported/turns.jsonl", 2, "not valid JSON");
}
TEST_F(Load, TurnZeroAndNegativeTokens) {
  write("imported/turns.jsonl", with(kTurns, "\"turn\":1", "\"turn\":0"));
  expect_error("imported", "imported/turns.jsonl", 1, "turn: found 0, expected 1 or more");
  write("imported/turns.jsonl", with(kTurns, "\"speedup\":0.5", "\"input_tokens\":-1"));
  expect_error("imported", "imported/turns.jsonl", 2, "input_tokens: found -1");
}
TEST_F(Load, TrajectoryOfNoCell) {
  write("imported/observations.json", with(kObservations, "\"cell\": 0", "\"cell\": 7"));
  expect_error("imported", "imported/observations.json", 6, "trajectories[0].cell: found 7, expected less than 1");
}
TEST_F(Load, ObservationsOfTheVersionBefore) {
  write("imported/observations.json", with(kObservations, "observations.v2", "observations.v1"));
  expect_error("imported", "imported/observations.json", 2, "expected 'ptxbench.observations.v2'");
}
TEST_F(Load, FolderOfNeitherKind) {
  fs::create_directories(at("empty"));
  const auto loaded = load({at("empty")});
  ASSERT_FALSE(loaded);
  EXPECT_NE(loaded.error().message.find("holds neither run.json nor observations.json"), std::string::npos);
}

// A transcript that is broken is found before the page is touched.
TEST_F(Load, BrokenTranscriptWritesNoPage) {
  write("imported/transcripts/0.json", "{\"schema\": \"ptxbench.transcript.v1\",\n \"turns\": [");
  const auto loaded = load({at("imported")});
  ASSERT_TRUE(loaded) << loaded.error().format();
  const Status written = write_page(*loaded, at("page.html"));
  ASSERT_FALSE(written);
  EXPECT_EQ(written.error().where.file, at("imported/transcripts/0.json").string()) << written.error().format();
  EXPECT_EQ(written.error().where.line, 2) << written.error().format();
  for (const auto& entry : fs::directory_iterator(place_->path()))
    EXPECT_FALSE(entry.path().filename().string().starts_with("page.html")) << entry.path();
}

}  // namespace
}  // namespace ptxbench::report
