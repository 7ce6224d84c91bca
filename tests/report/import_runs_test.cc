// Run folders of the paper's implementation, written by hand after its published code (no run of it is public), and what is
// wrong with broken ones. Expected figures are counted by hand.
#include "ptxbench/report/import_runs.h"

#include <gtest/gtest.h>

#include <fstream>
#include <map>

#include "ptxbench/base/file.h"
#include "ptxbench/report/import_paper.h"
#include "ptxbench/report/metrics.h"
#include "ptxbench/report/paper_labels.h"

namespace ptxbench::report {
namespace {

namespace fs = std::filesystem;
using schema::TurnStatus;

// Two planned trajectories of three turns.
constexpr char kPlan[] = R"({
 "config": "configs/x.json",
 "plan": [
  {"exp_index": 0, "num_trajectories": 1, "num_turns": 3, "target_speedup": 1.2, "prompt_tag": "hopper-no-hint",
   "definition": "gemm_x", "test_path": "envs/gemm_x_94920358-01a8-4c5b-9209-3103fd490e94.py"},
  {"exp_index": 1, "num_trajectories": 1, "num_turns": 3, "target_speedup": 1.2, "prompt_tag": "hopper-05",
   "definition": "gemm_x", "test_path": "envs/gemm_x_94920358-01a8-4c5b-9209-3103fd490e94.py"}
 ]
}
)";

// A compile error, then a kernel that passes, then one that passes and is slower on a second workload.
constexpr char kFirst[] = R"({
 "info": {"model_stats": {"instance_cost": 0.6, "api_calls": 3},
          "config": {"model": {"model_name": "anthropic/claude-opus-4-8"}, "agent": {}},
          "exit_status": "LimitsExceeded", "submission": ""},
 "messages": [
  {"role": "system", "content": "You write kernels. You are targeting NVIDIA Hopper architecture GPUs."},
  {"role": "user", "content": "the task"},
  {"role": "assistant", "content": "First.\n```cpp\n__global__ void k() {}\n```\n", "reasoning_content": "hm",
   "extra": {"cost": 0.1, "timestamp": 100.0,
             "response": {"usage": {"input_tokens": 1000, "output_tokens": 50, "output_tokens_details": {"thinking_tokens": 40}}}}},
  {"role": "user", "content": "<returncode>1</returncode>\n<output>\ntest.py failed (returncode 1):\nFailed to compile kernel\n</output>",
   "extra": {"event": "test_failed", "traces": null, "timestamp": 110.0, "raw_output": "", "returncode": 1}},
  {"role": "assistant", "content": "```cpp\nint helper;\n```\nthen\n```cpp\n__global__ void good() {}\n```\n```cpp\n// notes\n```",
   "extra": {"cost": 0.2, "timestamp": 150.0,
             "response": {"usage": {"prompt_tokens": 2000, "completion_tokens": 60, "completion_tokens_details": {"reasoning_tokens": 30}}}}},
  {"role": "user", "content": "<returncode>0</returncode>\n<output>\n[0] PASSED speedup 0.500\n</output>",
   "extra": {"event": "evaluation", "all_passed": true, "min_speedup": 0.5, "target_met": false, "timestamp": 160.0,
             "traces": [{"workload": {"uuid": "w-a", "axes": {}}, "evaluation": {"status": "PASSED", "log": "",
                         "performance": {"latency_ms": 2.0, "reference_latency_ms": 1.0, "speedup_factor": 0.5}}}]}},
  {"role": "assistant", "content": "```cpp\n__global__ void better() {}", "extra": {"cost": 0.3, "timestamp": 190.0}},
  {"role": "user", "content": "<returncode>0</returncode>\n<output>\n[0] PASSED\n[1] PASSED\n</output>",
   "extra": {"event": "evaluation", "all_passed": true, "min_speedup": 0.25, "target_met": false, "timestamp": 200.0,
             "traces": [{"workload": {"uuid": "w-a"}, "evaluation": {"status": "PASSED", "performance": {"speedup_factor": 0.75}}},
                        {"workload": {"uuid": "w-b"}, "evaluation": {"status": "PASSED", "performance": {"speedup_factor": 0.25}}}]}},
  {"role": "exit", "content": "LimitsExceeded", "extra": {"exit_status": "LimitsExceeded", "submission": ""}}
 ],
 "trajectory_format": "mini-swe-agent-1.1"
}
)";

// A refused library, then a wrong result beside the word that the paper's rule looks for, then the provider fails.
constexpr char kSecond[] = R"({
 "info": {"config": {"model": {"model_name": "anthropic/claude-opus-4-8"}}, "exit_status": "APIError"},
 "messages": [
  {"role": "system", "content": "You are targeting NVIDIA Hopper architecture GPUs."},
  {"role": "user", "content": "the task"},
  {"role": "assistant", "content": "```cpp\n__global__ void k() { cublasCreate(0); }\n```"},
  {"role": "user", "content": "cuBLAS is banned.", "extra": {"event": "cublas_banned"}},
  {"role": "assistant", "content": "no code"},
  {"role": "user", "content": "the kernel printed PASSED\n[0] INCORRECT_NUMERICAL",
   "extra": {"event": "evaluation", "all_passed": false, "min_speedup": 0.0,
             "traces": [{"workload": {"uuid": "w-a"}, "evaluation": {"status": "INCORRECT_NUMERICAL"}}]}},
  {"role": "exit", "content": "boom", "extra": {"exit_status": "APIError"}}
 ],
 "trajectory_format": "mini-swe-agent-1.1"
}
)";

// Turn 1 of exp_000 ran the target's instructions, turn 2 did not; nobody looked at exp_001.
constexpr char kEvidence[] =
    "trajectory_id,turn,correctness,speedup,sass_arch_tag,sass_verification_status\n"
    "exp_000,0,Compilation error,,,not_requested\n"
    "exp_000,1,Correct,0.5,\"H, A\",dynamic_present\n"
    "exp_000,2,Correct,0.75,,cubin_sass_absent\n";

class ImportRuns : public testing::Test {
 protected:
  void SetUp() override {
    auto made = TempDir::create();
    ASSERT_TRUE(made);
    place_.emplace(std::move(*made));
    write("plan.json", kPlan);
    write("trajectories/exp_000.json", kFirst);
    write("trajectories/exp_001.json", kSecond);
    write("figures/turn_correctness_sass_arch.csv", kEvidence);
  }
  fs::path run() const { return place_->path() / "opus48-gemm"; }
  void write(const std::string& name, const std::string& text) {
    fs::create_directories((run() / name).parent_path());
    std::ofstream(run() / name) << text;
  }
  void replace(const std::string& name, std::string text, const std::string& from, const std::string& to) {
    const std::size_t at = text.find(from);
    ASSERT_NE(at, std::string::npos) << from;
    write(name, text.replace(at, from.size(), to));
  }
  void expect_error(const std::string& name, int line, const std::string& words) {
    const auto imported = import_paper({run()});
    ASSERT_FALSE(imported);
    EXPECT_EQ(imported.error().where.file, (run() / name).string()) << imported.error().format();
    EXPECT_EQ(imported.error().where.line, line) << imported.error().format();
    EXPECT_NE(imported.error().format().find(words), std::string::npos) << imported.error().format();
  }
  std::optional<TempDir> place_;
};

TEST_F(ImportRuns, ReadsWhatTheRunSays) {
  std::map<std::uint32_t, schema::Transcript> said;
  const auto imported = import_paper({run()}, [&](std::uint32_t number, const schema::Transcript& transcript) {
    said[number] = transcript;
    return Status();
  });
  ASSERT_TRUE(imported) << imported.error().format();
  ASSERT_EQ(imported->cells.size(), 1u);
  const schema::Cell& cell = imported->cells[0];
  EXPECT_EQ(cell.run, "opus48-gemm");
  EXPECT_EQ(cell.model, "anthropic/claude-opus-4-8");
  EXPECT_EQ(cell.target, "hopper");
  EXPECT_EQ(cell.language, "cuda");
  EXPECT_EQ(cell.task, "gemm_x");
  EXPECT_EQ(cell.workload, "w-a+w-b");
  ASSERT_EQ(imported->trajectories.size(), 2u);
  EXPECT_EQ(imported->trajectories[0].pack, "no-hint");
  EXPECT_FALSE(imported->trajectories[0].open);
  EXPECT_EQ(imported->trajectories[1].pack, "05");
  EXPECT_TRUE(imported->trajectories[1].open);  // resuming would go on after APIError

  ASSERT_EQ(imported->turns.size(), 5u);
  const auto& turns = imported->turns;
  EXPECT_EQ(turns[0].status, TurnStatus::kCompileError);
  EXPECT_EQ(turns[0].reasoning_tokens, 40);
  EXPECT_EQ(turns[0].cost_usd, 0.1);
  EXPECT_FALSE(turns[0].seconds);  // the first message bears no time
  EXPECT_EQ(turns[1].speedup, 0.5);
  EXPECT_EQ(turns[1].target_paper, true);
  EXPECT_EQ(turns[1].seconds, 50);  // 110 to 160
  EXPECT_EQ(turns[1].input_tokens, 2000);
  EXPECT_EQ(turns[1].output_tokens, 60);
  EXPECT_EQ(turns[1].reasoning_tokens, 30);
  EXPECT_EQ(turns[2].speedup, 0.75);  // the paper's export takes the largest
  EXPECT_EQ(turns[2].target_paper, false);
  EXPECT_FALSE(turns[2].correct_strict);
  EXPECT_EQ(turns[3].status, TurnStatus::kPolicyViolation);
  EXPECT_EQ(turns[3].correct_strict, false);
  EXPECT_EQ(turns[4].correct_paper, true);  // fooled by a printed word, as the paper's rule is
  EXPECT_EQ(turns[4].correct_strict, false);
  EXPECT_FALSE(turns[4].target_paper);

  EXPECT_EQ(said.size(), 2u);
  EXPECT_EQ(said[0].turns[1].source, "__global__ void good() {}\n");
  EXPECT_EQ(said[0].turns[2].source, "__global__ void better() {}");  // the fence need not be closed
  EXPECT_FALSE(said[1].turns[1].source);
  EXPECT_EQ(said[0].turns[0].reasoning, "hm");
  EXPECT_EQ(said[0].turns[2].verdicts.size(), 2u);
  EXPECT_NE(said[0].turns[0].feedback.find("Failed to compile kernel"), std::string::npos);
}

// exp_000: wrong, right by target, right. exp_001: wrong, right by the paper's rule, and a third turn that may still come.
TEST_F(ImportRuns, Rates) {
  const auto imported = import_paper({run()});
  ASSERT_TRUE(imported) << imported.error().format();
  MetricsRequest request;
  request.by = {Attribute::kRun};
  const auto groups = measure(*imported, request);
  ASSERT_EQ(groups.size(), 1u);
  const WithinTurns& one = groups[0].within[0];
  EXPECT_EQ(one.trajectory_correct.successes, 0);
  EXPECT_EQ(one.trajectory_correct.n, 2);
  const WithinTurns& three = groups[0].within[2];
  EXPECT_EQ(three.planned_turns, 6);
  EXPECT_EQ(three.present_turns, 5);
  EXPECT_EQ(three.turn_correct.successes, 3);
  EXPECT_EQ(three.turn_correct.n, 5);
  EXPECT_EQ(three.turn_correct.unknown, 1);
  EXPECT_EQ(three.trajectory_correct.successes, 2);
  EXPECT_EQ(three.trajectory_target.successes, 1);
  EXPECT_EQ(three.trajectory_target.unknown, 1);
  EXPECT_EQ(three.best_speedup, 0.75);
  EXPECT_EQ(three.best_target_speedup, 0.5);
}

TEST_F(ImportRuns, WhatToKnowIsNoted) {
  const auto imported = import_paper({run()});
  ASSERT_TRUE(imported) << imported.error().format();
  std::string notes;
  for (const std::string& note : imported->notes) notes += note + "\n";
  EXPECT_NE(notes.find("1 trajectories ended with 'APIError'"), std::string::npos) << notes;
  EXPECT_NE(notes.find("1 turns are 'Correct' by the paper's rule"), std::string::npos) << notes;
}

TEST_F(ImportRuns, PlannedWithoutAFileIsNotKnown) {
  fs::remove(run() / "trajectories/exp_001.json");
  const auto imported = import_paper({run()});
  ASSERT_TRUE(imported) << imported.error().format();
  ASSERT_EQ(imported->trajectories.size(), 2u);
  EXPECT_TRUE(imported->trajectories[1].open);
  EXPECT_EQ(imported->cells.size(), 1u);
  EXPECT_NE(imported->notes.front().find("1 of 2 planned trajectories have no file"), std::string::npos);
}

TEST_F(ImportRuns, WithoutEvidenceTheTargetIsNotKnown) {
  fs::remove_all(run() / "figures");
  const auto imported = import_paper({run()});
  ASSERT_TRUE(imported) << imported.error().format();
  for (const schema::TurnRecord& turn : imported->turns) EXPECT_FALSE(turn.target_paper);
  EXPECT_NE(imported->notes.front().find("no figures/turn_correctness_sass_arch.csv"), std::string::npos);
}

TEST_F(ImportRuns, EvidenceOfAnotherTurnIsNotUsed) {
  replace("figures/turn_correctness_sass_arch.csv", kEvidence, "exp_000,1,Correct", "exp_000,1,Runtime error");
  const auto imported = import_paper({run()});
  ASSERT_TRUE(imported) << imported.error().format();
  EXPECT_FALSE(imported->turns[1].target_paper);
  EXPECT_NE(imported->notes.front().find("turn_correctness_sass_arch.csv:3: the label is another"), std::string::npos);
}

TEST_F(ImportRuns, SettingsFromTheTagOrTheFirstMessage) {
  replace("plan.json", kPlan, "hopper-05", "triton-blackwell-011");
  auto imported = import_paper({run()});
  ASSERT_TRUE(imported) << imported.error().format();
  ASSERT_EQ(imported->cells.size(), 2u);
  EXPECT_EQ(imported->cells[1].target, "blackwell");
  EXPECT_EQ(imported->cells[1].language, "triton");
  EXPECT_EQ(imported->trajectories[1].pack, "011");
  replace("plan.json", kPlan, "hopper-05", "my-own");
  imported = import_paper({run()});
  ASSERT_TRUE(imported) << imported.error().format();
  EXPECT_EQ(imported->cells[0].target, "hopper");
  EXPECT_EQ(imported->trajectories[1].pack, "my-own");
}

TEST_F(ImportRuns, AFolderOfRunFolders) {
  fs::copy(run(), place_->path() / "opus48-again", fs::copy_options::recursive);
  const auto imported = import_paper({place_->path()});
  ASSERT_TRUE(imported) << imported.error().format();
  EXPECT_EQ(imported->trajectories.size(), 4u);
  ASSERT_EQ(imported->cells.size(), 2u);
  EXPECT_EQ(imported->cells[0].run, "opus48-again");
  EXPECT_EQ(imported->cells[1].run, "opus48-gemm");
  const auto twice = import_paper({place_->path(), run()});
  ASSERT_FALSE(twice);
  EXPECT_NE(twice.error().message.find("named twice"), std::string::npos);
}

TEST_F(ImportRuns, AFolderOfNeitherKind) {
  const auto imported = import_paper({run() / "figures"});
  ASSERT_FALSE(imported);
  EXPECT_NE(imported.error().message.find("holds neither experiments.csv, nor plan.json"), std::string::npos);
}

// The paper's tables of the same run and of another: the run is taken from its folder, what was published stays.
TEST_F(ImportRuns, BesideTheTables) {
  const fs::path tables = place_->path() / "tables";
  fs::create_directories(tables);
  const auto table = [&](const char* name, const char* text) { std::ofstream(tables / name) << text; };
  table("experiments.csv",
        "model,arch,definition,workload,exp_dir\nClaude,hopper,gemm_x,w-a,opus48-gemm\nGLM,hopper,gemm_x,w-a,glm\n");
  table("model_release_dates.csv", "model,date,kind\nClaude,2026-0131,knowledge\nGLM,2026-06-13,release\n");
  table("correctness_rate_by_release_date.csv",
        "model,definition,exp_dir,turn_limit,n_trajectories,correct\nClaude,gemm_x,opus48-gemm,8,1,1\n"
        "GLM,gemm_x,glm,8,1,0\n");
  table("arch_instruction_correctness_by_release_date.csv",
        "model,definition,exp_dir,turn_limit,n_trajectories,correct_with_arch,n_unknown_correct_turns\n");
  table("best_speedup_by_release_date.csv", "model,definition,exp_dir,turn_limit,n_trajectories,best_speedup\n");
  // As the folder has it, but for turn 1's speed-up; turn 2 and all of exp_001 are not in the tables.
  table("reasoning_tokens_vs_performance.csv",
        "model,definition,exp_dir,trajectory_id,turn,reasoning_tokens,correctness,speedup,correct_with_arch\n"
        "GLM,gemm_x,glm,exp_000,0,7,Runtime error,0.0,0\n"
        "Claude,gemm_x,opus48-gemm,exp_000,0,40,Compilation error,0.0,0\n"
        "Claude,gemm_x,opus48-gemm,exp_000,1,30,Correct,0.4,1\n");
  const auto imported = import_paper({tables, run()});
  ASSERT_TRUE(imported) << imported.error().format();
  ASSERT_EQ(imported->cells.size(), 2u);
  EXPECT_EQ(imported->cells[0].model, "Claude");
  EXPECT_EQ(imported->cells[0].model_date, "2026-01-31");
  EXPECT_EQ(imported->cells[0].date_kind, "knowledge");
  EXPECT_EQ(imported->cells[1].date_kind, "release");
  ASSERT_EQ(imported->trajectories.size(), 3u);
  EXPECT_EQ(imported->trajectories[0].cell, 0u);
  EXPECT_EQ(imported->trajectories[2].cell, 1u);
  ASSERT_EQ(imported->turns.size(), 6u);
  EXPECT_EQ(imported->turns[1].speedup, 0.5);
  EXPECT_EQ(imported->turns[5].trajectory, 2u);
  EXPECT_EQ(imported->published.size(), 2u);
  std::string notes;
  for (const std::string& note : imported->notes) notes += note + "\n";
  EXPECT_NE(notes.find("opus48-gemm: taken from its folder; 4 turns are not as in the tables"), std::string::npos)
      << notes;
}

// ---- Broken folders ----

TEST_F(ImportRuns, TrajectoryCutInTheMiddleOfALine) {
  const std::string text = kFirst;
  write("trajectories/exp_000.json", text.substr(0, text.find("\"raw_output\"")));
  expect_error("trajectories/exp_000.json", 12, "not valid JSON");
}
TEST_F(ImportRuns, PlanCutInTheMiddleOfALine) {
  const std::string text = kPlan;
  write("plan.json", text.substr(0, text.find("num_turns")));
  expect_error("plan.json", 4, "not valid JSON");
}
TEST_F(ImportRuns, PlanWithoutAField) {
  replace("plan.json", kPlan, "\"prompt_tag\": \"hopper-05\",", "");
  expect_error("plan.json", 6, "plan[1].prompt_tag: missing");
}
TEST_F(ImportRuns, PlanWithAnIndexTwice) {
  replace("plan.json", kPlan, "\"exp_index\": 1", "\"exp_index\": 0");
  expect_error("plan.json", 6, "plan[1].exp_index: found 0 twice, expected each once");
}
TEST_F(ImportRuns, TrajectoryThatWasNotPlanned) {
  write("trajectories/exp_002.json", kSecond);
  const auto imported = import_paper({run()});
  ASSERT_FALSE(imported);
  EXPECT_NE(imported.error().message.find("exp_002.json' is not in plan.json"), std::string::npos);
}
TEST_F(ImportRuns, SpeedupThatIsNoNumber) {
  replace("trajectories/exp_000.json", kFirst, "\"speedup_factor\": 0.75", "\"speedup_factor\": NaN");
  expect_error("trajectories/exp_000.json", 23, "not valid JSON");
  replace("trajectories/exp_000.json", kFirst, "\"speedup_factor\": 0.75", "\"speedup_factor\": \"nan\"");
  expect_error("trajectories/exp_000.json", 23,
               "messages[7].extra.traces[0].evaluation.performance.speedup_factor: found a string, expected a finite "
               "number");
}
TEST_F(ImportRuns, TurnWithoutAnAnswer) {
  replace("trajectories/exp_001.json", kSecond, "{\"role\": \"assistant\", \"content\": \"no code\"}",
          "{\"role\": \"user\", \"content\": \"again\"}");
  expect_error("trajectories/exp_001.json", 8, "messages[4].role: found 'user', expected 'assistant'");
}
TEST_F(ImportRuns, AnotherFormat) {
  replace("trajectories/exp_001.json", kSecond, "mini-swe-agent-1.1", "openhands");
  expect_error("trajectories/exp_001.json", 14, "trajectory_format: found 'openhands'");
}
TEST_F(ImportRuns, TargetThatNothingNames) {
  replace("plan.json", kPlan, "hopper-05", "my-own");
  replace("trajectories/exp_001.json", kSecond, "Hopper", "Volta");
  expect_error("plan.json", 6, "prompt_tag: found 'my-own'");
}
TEST_F(ImportRuns, EvidenceTwice) {
  write("figures/turn_correctness_sass_arch.csv", std::string(kEvidence) + "exp_000,2,Correct,0.75,,dynamic_present\n");
  expect_error("figures/turn_correctness_sass_arch.csv", 5, "turn 2 of 'exp_000' stands twice");
}
TEST_F(ImportRuns, EvidenceWithoutAColumn) {
  replace("figures/turn_correctness_sass_arch.csv", kEvidence, "trajectory_id", "trajectory");
  expect_error("figures/turn_correctness_sass_arch.csv", 1, "column trajectory_id missing");
}

// ---- Labels ----

TEST(PaperLabels, FirstRuleThatFits) {
  EXPECT_EQ(paper_label("[0] PASSED, but Failed to compile kernel"), "Correct");
  EXPECT_EQ(paper_label("Result is incorrect; Failed to compile kernel"), "Numerical error");
  EXPECT_EQ(paper_label("Failed to compile kernel; CUDA error"), "Compilation error");
  EXPECT_EQ(paper_label("Timed out after 120s waiting for sanitize"), "Sanitize Timeout");
  EXPECT_EQ(paper_label("Timed out after 120.5s waiting for sanitize"), "Sanitize Timeout");
  EXPECT_EQ(paper_label("Timed out after 120.s waiting for sanitize"), "Other error");
  EXPECT_EQ(paper_label("test.py failed (returncode 137): Kernel execution timed out"), "Profiling Service Timeout");
  EXPECT_EQ(paper_label("[w]\n TIMEOUT"), "Kernel Execution Timeout");
  EXPECT_EQ(paper_label("] TIMEOUTS"), "Other error");
  EXPECT_EQ(paper_label("]TIMEOUT"), "Other error");
  EXPECT_EQ(paper_label("Could not extract; CUDA error"), "Extraction error");
  EXPECT_EQ(paper_label("CU error 700"), "Runtime error");
  EXPECT_EQ(paper_label(""), "Other error");
}

}  // namespace
}  // namespace ptxbench::report
