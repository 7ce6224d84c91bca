#include "ptxbench/schema/trace.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <functional>

#include "ptxbench/schema/solution.h"

namespace ptxbench::schema {
namespace {

using ::testing::HasSubstr;

constexpr const char* kSolution = R"({"name": "s", "definition": "g", "author": "a",
  "spec": {"language": "cuda", "target_hardware": ["H200"], "entry_point": "k.cu::run", "dependencies": [],
           "destination_passing_style": true, "binding": "tvm-ffi", "note": 1},
  "sources": [{"path": "k.cu", "content": "int x;"}, {"path": "inc/h.cuh", "content": ""}]})";

std::string changed(std::string text, std::string_view from, std::string_view to) {
  EXPECT_NE(text.find(from), std::string::npos) << from;
  return text.replace(text.find(from), from.size(), to);
}

TEST(Solution, RoundTripsWithUnknownFields) {
  const auto solution = solution_from_json(kSolution, "s.json");
  ASSERT_TRUE(solution) << solution.error().format();
  ASSERT_EQ(solution->unknown.size(), 1u);
  EXPECT_EQ(solution->unknown[0].pointer, "/spec/note");
  const std::string text = to_json(*solution);
  const auto again = solution_from_json(text, "s.json");
  ASSERT_TRUE(again) << again.error().format();
  EXPECT_EQ(to_json(*again), text);
}

TEST(Solution, ErrorsNameThePath) {
  const std::tuple<const char*, const char*, const char*> cases[] = {
      {"\"k.cu\", \"content\"", "\"../k.cu\", \"content\"", "s.json: sources[0].path: '../k.cu' must be relative"},
      {"\"k.cu\", \"content\"", "\"/k.cu\", \"content\"", "sources[0].path"},
      {"inc/h.cuh", "k.cu", "sources[1].path: 'k.cu' stands twice"},
      {"\"cuda\"", "\"fortran\"", "spec.language: 'fortran' is not one of"},
      {"[\"H200\"]", "[]", "spec.target_hardware: expected at least one"},
      {"k.cu::run", "k.cu", "spec.entry_point: found 'k.cu', expected 'file::symbol'"},
      {"k.cu::run", "x.cu::run", "spec.entry_point: 'x.cu' is not one of the sources"},
      {"tvm-ffi", "ctypes", "spec.binding: found 'ctypes'"},
      {"\"author\": \"a\",", "", "author: missing"},
  };
  for (const auto& [from, to, message] : cases) {
    const auto solution = solution_from_json(changed(kSolution, from, to), "s.json");
    ASSERT_FALSE(solution) << to;
    EXPECT_THAT(solution.error().format(), HasSubstr(message));
  }
}

TEST(Solution, TheHashTellsEveryFieldApart) {
  const Solution base = *solution_from_json(kSolution, "s.json");
  const std::function<void(Solution&)> changes[] = {
      [](Solution& s) { s.definition = "h"; },
      [](Solution& s) { s.destination_passing_style = false; },
      [](Solution& s) { s.target_hardware = {"B200"}; },
      [](Solution& s) { s.sources[0].content = "int y;"; },
      // The same bytes, cut differently.
      [](Solution& s) { s.sources[0].path = "k.cui", s.sources[0].content = "nt x;"; },
      [](Solution& s) {
        s.dependencies = {"a", "b"};
      },
      [](Solution& s) { s.dependencies = {"ab"}; },
  };
  std::vector<std::string> hashes = {base.content_hash()};
  for (const auto& change : changes) {
    Solution other = base;
    change(other);
    EXPECT_THAT(hashes, ::testing::Not(::testing::Contains(other.content_hash())));
    hashes.push_back(other.content_hash());
  }
  Solution renamed = base;
  renamed.name = "t", renamed.author = "b";
  EXPECT_EQ(renamed.content_hash(), hashes[0]);
}

Definition gemm() {
  return *definition_from_json(R"({"name": "g", "op_type": "gemm", "axes": {"M": {"type": "var"}},
    "inputs": {"A": {"shape": ["M"], "dtype": "bfloat16"}}, "outputs": {"C": {"shape": ["M"], "dtype": "bfloat16"}},
    "reference": "def run(A):\n    return A\n"})",
                               "g.json");
}

constexpr const char* kTrace = R"({"definition": "g", "workload": {"uuid": "u", "axes": {"M": 4},
  "inputs": {"A": {"type": "random"}}}, "solution": "s", "evaluation": {"status": "PASSED",
  "environment": {"hardware": "H100", "libs": {"torch": "2.9"}}, "timestamp": "2026-01-01T00:00:00", "log": "",
  "correctness": {"max_relative_error": 0.5, "max_absolute_error": "nan"},
  "performance": {"latency_ms": 1.0, "reference_latency_ms": 2.0, "speedup_factor": 2.0}}, "extra": true})";

TEST(Trace, ReadsWhatOtherToolsWrite) {
  const auto trace = trace_from_json(kTrace, gemm(), "t.jsonl", 3);
  ASSERT_TRUE(trace) << trace.error().format();
  EXPECT_EQ(trace->solution, "s");
  EXPECT_EQ(trace->evaluation->libs.at("torch"), "2.9");
  EXPECT_TRUE(std::isnan(trace->evaluation->correctness->max_absolute_error));
  EXPECT_EQ(trace->evaluation->performance->speedup_factor, 2);
  ASSERT_EQ(trace->unknown.size(), 1u);
  const std::string text = to_json(*trace);
  const auto again = trace_from_json(text, gemm(), "t.jsonl", 1);
  ASSERT_TRUE(again) << again.error().format();
  EXPECT_EQ(to_json(*again), text);
}

TEST(Trace, StatusAndFiguresMustAgree) {
  const std::tuple<const char*, const char*, const char*> cases[] = {
      {"\"PASSED\"", "\"FINE\"", "t.jsonl:3: evaluation.status: 'FINE' is not a status"},
      {"\"PASSED\"", "\"TIMEOUT\"", "evaluation.correctness: present with status TIMEOUT"},
      {"\"PASSED\"", "\"INCORRECT_NUMERICAL\"", "evaluation.performance: present with status INCORRECT_NUMERICAL"},
      {"\"solution\": \"s\"", "\"solution\": null", "solution: missing"},
      {"\"M\": 4", "\"M\": \"4\"", "workload.axes.M: found a string"},
  };
  for (const auto& [from, to, message] : cases) {
    const auto trace = trace_from_json(changed(kTrace, from, to), gemm(), "t.jsonl", 3);
    ASSERT_FALSE(trace) << to;
    EXPECT_THAT(trace.error().format(), HasSubstr(message));
  }
}

TEST(Trace, VerdictsBecomeTraces) {
  VerdictFields fields;
  fields.status = VerdictStatus::kCompileError;
  fields.message = fields.compile.message = "k.cu:1: no";
  fields.compile.state = LayerState::kFailed;
  fields.task = "g";
  fields.workload_uuid = "u";
  fields.device = "emu";
  fields.timestamp = "2026-01-01T00:00:00Z";
  const Workload workload = trace_from_json(kTrace, gemm(), "t.jsonl")->workload;
  const auto trace = trace_of(*Verdict::create(fields), workload, "s");
  ASSERT_TRUE(trace);
  EXPECT_EQ(trace->evaluation->status, TraceStatus::kCompileError);
  EXPECT_FALSE(trace->evaluation->correctness);
  const std::string line = to_json(*trace);
  EXPECT_EQ(line.find('\n'), std::string::npos);
  const auto read = trace_from_json(line, gemm(), "t.jsonl");
  ASSERT_TRUE(read) << read.error().format();
  EXPECT_TRUE(verdict_from_json(read->verdict_json));
  fields.status = VerdictStatus::kInfraError;
  fields.compile.state = LayerState::kNotReached;
  EXPECT_FALSE(trace_of(*Verdict::create(fields), workload, "s"));
}

}  // namespace
}  // namespace ptxbench::schema
