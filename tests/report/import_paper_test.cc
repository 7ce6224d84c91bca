// Malformed tables: every error names file and line, and nothing is imported.
#include "ptxbench/report/import_paper.h"

#include <gtest/gtest.h>

#include <zlib.h>
#include <algorithm>

#include <fstream>
#include <map>

#include "ptxbench/base/file.h"

namespace ptxbench::report {
namespace {

namespace fs = std::filesystem;

// One run of four trajectories, the smallest whole import.
const std::map<std::string, std::string> kTables = {
    {"experiments.csv", "model,arch,definition,workload,exp_dir\nM,hopper,gemm_x,w-1,run-1\n"},
    {"model_release_dates.csv", "model,date\nM,2026-0131\n"},
    {"correctness_rate_by_release_date.csv",
     "model,definition,exp_dir,turn_limit,n_trajectories,correct\nM,gemm_x,run-1,1,4,0\nM,gemm_x,run-1,8,4,1\n"},
    {"arch_instruction_correctness_by_release_date.csv",
     "model,definition,exp_dir,turn_limit,n_trajectories,correct_with_arch,n_unknown_correct_turns\nM,gemm_x,run-1,8,4,"
     "1,0\n"},
    {"best_speedup_by_release_date.csv",
     "model,definition,exp_dir,turn_limit,n_trajectories,best_speedup\nM,gemm_x,run-1,8,4,0.5\n"},
    {"reasoning_tokens_vs_performance.csv",
     "model,definition,exp_dir,trajectory_id,turn,reasoning_tokens,correctness,speedup,correct_with_arch\n"
     "M,gemm_x,run-1,exp_000,0,10,Compilation error,0.0,0\n"
     "M,gemm_x,run-1,exp_000,1,20,Correct,0.5,1\n"},
};

class ImportPaper : public testing::Test {
 protected:
  void SetUp() override {
    auto made = TempDir::create();
    ASSERT_TRUE(made);
    folder_.emplace(std::move(*made));
    for (const auto& [name, text] : kTables) write(name, text);
  }
  void write(const std::string& name, const std::string& text) { std::ofstream(folder_->path() / name) << text; }
  void replace(const std::string& name, const std::string& from, const std::string& to) {
    std::string text = kTables.at(name);
    const std::size_t at = text.rfind(from);
    ASSERT_NE(at, std::string::npos) << from;
    write(name, text.replace(at, from.size(), to));
  }
  // The import fails at this line of this file, and says this.
  void expect_error(const std::string& name, int line, const std::string& words) {
    const auto imported = import_paper({folder_->path()});
    ASSERT_FALSE(imported);
    EXPECT_EQ(fs::path(imported.error().where.file).filename(), name);
    EXPECT_EQ(imported.error().where.line, line);
    EXPECT_NE(imported.error().format().find(words), std::string::npos) << imported.error().format();
  }
  std::optional<TempDir> folder_;
};

TEST_F(ImportPaper, ReadsTheSmallestTables) {
  const auto imported = import_paper({folder_->path()});
  ASSERT_TRUE(imported) << imported.error().format();
  ASSERT_EQ(imported->turns.size(), 2u);
  EXPECT_EQ(imported->trajectories.size(), 4u);
  EXPECT_EQ(imported->cells[0].model_date, "2026-01-31");
  EXPECT_EQ(imported->turns[1].status, schema::TurnStatus::kPassed);
  EXPECT_EQ(imported->turns[1].turn, 2);
  EXPECT_EQ(imported->turns[1].speedup, 0.5);
  EXPECT_FALSE(imported->turns[1].correct_strict);
  EXPECT_EQ(imported->published[1].target_correct, 1);
}

TEST_F(ImportPaper, MissingColumn) {
  replace("experiments.csv", "workload,", "size,");
  expect_error("experiments.csv", 1, "column workload missing");
}
TEST_F(ImportPaper, MissingFile) {
  fs::remove(folder_->path() / "experiments.csv");
  const auto imported = import_paper({folder_->path()});
  ASSERT_FALSE(imported);
  EXPECT_NE(imported.error().message.find("experiments.csv"), std::string::npos);
}
TEST_F(ImportPaper, NanSpeedup) {
  replace("reasoning_tokens_vs_performance.csv", "0.5,1", "nan,1");
  expect_error("reasoning_tokens_vs_performance.csv", 3, "speedup: found 'nan', expected a finite number");
}
TEST_F(ImportPaper, SpeedupOfAFailure) {
  replace("reasoning_tokens_vs_performance.csv", "0.0,0", "0.3,0");
  expect_error("reasoning_tokens_vs_performance.csv", 2, "labelled 'Compilation error' has speedup 0.3");
}
TEST_F(ImportPaper, TurnTwice) {
  replace("reasoning_tokens_vs_performance.csv", "exp_000,1,20", "exp_000,0,20");
  expect_error("reasoning_tokens_vs_performance.csv", 3, "turn 0 of 'exp_000' in run 'run-1' stands twice");
}
TEST_F(ImportPaper, UnknownLabel) {
  replace("reasoning_tokens_vs_performance.csv", "Correct", "correct");
  expect_error("reasoning_tokens_vs_performance.csv", 3, "found 'correct'");
}
TEST_F(ImportPaper, TrajectoryThatWasNotRun) {
  replace("reasoning_tokens_vs_performance.csv", "exp_000,1", "exp_004,1");
  expect_error("reasoning_tokens_vs_performance.csv", 3, "has 4 trajectories");
}
TEST_F(ImportPaper, BothDateFormsAndNoOther) {
  replace("model_release_dates.csv", "2026-0131", "2026-01-31");
  EXPECT_TRUE(import_paper({folder_->path()}));
  replace("model_release_dates.csv", "2026-0131", "2026-0231");
  expect_error("model_release_dates.csv", 2, "found '2026-0231'");
}
TEST_F(ImportPaper, TooFewFields) {
  replace("best_speedup_by_release_date.csv", ",0.5", "");
  expect_error("best_speedup_by_release_date.csv", 2, "5 fields, expected 6");
}
// 0.25 cut to 0.2 is a number too.
TEST_F(ImportPaper, CutInTheMiddleOfALine) {
  const std::string whole = kTables.at("best_speedup_by_release_date.csv");
  write("best_speedup_by_release_date.csv", whole.substr(0, whole.size() - 2));
  expect_error("best_speedup_by_release_date.csv", static_cast<int>(std::count(whole.begin(), whole.end(), '\n')),
               "ends in the middle of a line");
}
TEST_F(ImportPaper, OpenQuote) {
  replace("experiments.csv", "w-1", "\"w-1");
  expect_error("experiments.csv", 2, "inside a quoted field");
}
TEST_F(ImportPaper, QuotedFieldOverTwoLinesKeepsTheCount) {
  replace("experiments.csv", "M,hopper", "\"M\nN\",hopper");
  expect_error("correctness_rate_by_release_date.csv", 2, "does not belong to run 'run-1'");
}
TEST_F(ImportPaper, GzippedAndTruncated) {
  const std::string name = "reasoning_tokens_vs_performance.csv";
  const fs::path zipped = folder_->path() / (name + ".gz");
  fs::remove(folder_->path() / name);
  gzFile out = gzopen(zipped.c_str(), "wb");
  gzwrite(out, kTables.at(name).data(), static_cast<unsigned>(kTables.at(name).size()));
  gzclose(out);
  EXPECT_TRUE(import_paper({folder_->path()}));
  fs::resize_file(zipped, fs::file_size(zipped) - 12);
  const auto imported = import_paper({folder_->path()});
  ASSERT_FALSE(imported);
  EXPECT_EQ(imported.error().where.file, zipped.string());
  EXPECT_NE(imported.error().message.find("end in the middle"), std::string::npos) << imported.error().format();
}
TEST_F(ImportPaper, EmptyFile) {
  write("experiments.csv", "");
  expect_error("experiments.csv", 1, "the file is empty");
}

}  // namespace
}  // namespace ptxbench::report
