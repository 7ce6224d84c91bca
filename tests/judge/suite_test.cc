#include "ptxbench/judge/suite.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>

#include "ptxbench/base/file.h"
#include "ptxbench/judge/inputs.h"
#include "ptxbench/judge/problem.h"
#include "ptxbench/schema/expression.h"

namespace ptxbench::judge {
namespace {

namespace fs = std::filesystem;
using ::testing::HasSubstr;

const fs::path kRoot = fs::path(PTXBENCH_SOURCE_DIR) / "suites";

TEST(Suite, HeadlineTasksWithTheirPublicUuids) {
  const auto suite = load_suite(kRoot);
  ASSERT_TRUE(suite) << suite.error().format();
  const std::pair<const char*, const char*> headline[] = {
      {"gemm_n7168_k5120", "94920358-01a8-4c5b-9209-3103fd490e94"},
      {"mha_with_lse_d128", "bc38b351-d595-451b-9153-8e225702e53b"},
      {"mha_with_lse_d128_causal", "6d2f67a7-225a-4af5-87d3-cbb99b496325"},
      {"mha_bwd_d128", "38c3b07c-f006-5f5e-9860-ba214c805a6b"},
      {"mha_bwd_d128_causal", "c119b3f0-c051-5e96-9c2a-2268d992fe1a"},
  };
  for (const auto& [name, uuid] : headline) {
    const auto chosen = suite->choose(name, uuid);
    ASSERT_TRUE(chosen) << chosen.error().format();
    ASSERT_EQ(chosen->size(), 1u);
    EXPECT_FALSE(chosen->front().workload->emulator);
    EXPECT_TRUE(chosen->front().task->definition.extension->headline);
  }
  for (int i = 0; i < 5; ++i)
    EXPECT_TRUE(suite->tasks[i].definition.extension->headline) << "headline tasks come first";
}

// Everything that the suite names must be something that the judge can do.
TEST(Suite, EveryTaskCanBeJudgedAndHasAnEmulatorWorkload) {
  const auto suite = load_suite(kRoot);
  ASSERT_TRUE(suite) << suite.error().format();
  EXPECT_GE(suite->tasks.size(), 40u);
  for (const Task& task : suite->tasks) {
    EXPECT_TRUE(task.definition.unknown.empty()) << task.definition.name;
    const auto small = suite->choose(task.definition.name, "emu");
    ASSERT_TRUE(small) << small.error().format();
    for (const schema::Workload& workload : task.workloads) {
      const auto axes = schema::resolve_axes(task.definition, workload);
      ASSERT_TRUE(axes) << axes.error().format();
      const auto problem = problem_from(task.definition, *axes);
      ASSERT_TRUE(problem) << problem.error().format();
      EXPECT_TRUE(plan_runs(*problem, task.definition.extension->families, 1)) << task.definition.name;
      const auto required = schema::evaluate_expression(task.definition.extension->required_flops, *axes);
      ASSERT_TRUE(required) << required.error().format();
      EXPECT_GT(*required, 0);
    }
  }
}

TEST(Suite, EmulatorSiblingsShareTheConstantAxes) {
  const auto suite = load_suite(kRoot);
  const auto chosen = suite->choose("mha_with_lse_d128_causal", "emu");
  ASSERT_TRUE(chosen);
  ASSERT_EQ(chosen->size(), 1u);
  const schema::Definition& small = chosen->front().task->definition;
  EXPECT_EQ(small.extension->full_sibling, "mha_with_lse_d128_causal");
  EXPECT_EQ(small.axis("D")->constant, 128);
  EXPECT_EQ(small.axis("B")->constant, 1);
  EXPECT_TRUE(small.extension->causal);
}

TEST(Suite, MisspeltNamesGetSuggestions) {
  const auto suite = load_suite(kRoot);
  const auto task = suite->find_task("gemm_n7168_k512");
  ASSERT_FALSE(task);
  EXPECT_EQ(task.error().kind, ErrorKind::kNotFound);
  EXPECT_THAT(task.error().hint, HasSubstr("did you mean gemm_n7168_k5120"));
  EXPECT_THAT(suite->find_task("mha_d128").error().hint, HasSubstr("mha_"));
  EXPECT_THAT(suite->find_task("").error().hint, HasSubstr("ptxbench tasks"));
  EXPECT_FALSE(suite->find_task(std::string(100'000, 'x')));
}

TEST(Suite, UnknownWorkloadsListWhatThereIs) {
  const auto suite = load_suite(kRoot);
  const auto chosen = suite->choose("gemm_n7168_k5120", "nonsense");
  ASSERT_FALSE(chosen);
  EXPECT_THAT(chosen.error().hint, HasSubstr("94920358-01a8-4c5b-9209-3103fd490e94"));
  EXPECT_EQ(suite->choose("gemm_n7168_k5120", "all")->size(), 2u);
  EXPECT_EQ(suite->choose("gemm_n7168_k5120", "full")->size(), 1u);
}

// A suite of one definition, with a change.
Result<Suite> load_broken(const std::string& file_name, const std::string& definition, const std::string& workloads) {
  const TempDir folder = *TempDir::create();
  fs::create_directories(folder.path() / "definitions/gemm");
  fs::create_directories(folder.path() / "workloads/gemm");
  EXPECT_TRUE(write_file_atomic(folder.path() / "definitions/gemm" / file_name, definition));
  EXPECT_TRUE(write_file_atomic(folder.path() / "workloads/gemm/g.jsonl", workloads));
  return load_suite(folder.path());
}

TEST(Suite, BrokenFilesAreNamed) {
  const std::string good = R"({"name": "g", "op_type": "gemm", "axes": {"M": {"type": "var"}},
    "inputs": {"A": {"shape": ["M"], "dtype": "bfloat16"}}, "outputs": {"C": {"shape": ["M"], "dtype": "bfloat16"}},
    "reference": "def run(A):\n    return A\n"})";
  const std::string line = R"({"uuid": "u", "axes": {"M": 1}, "inputs": {"A": {"type": "random"}}})";
  EXPECT_TRUE(load_broken("g.json", good, line + "\n\n"));
  EXPECT_THAT(load_broken("h.json", good, "").error().message, HasSubstr("name: found 'g', expected 'h'"));
  EXPECT_THAT(load_broken("g.json", "{", "").error().format(), HasSubstr("g.json:1:2: error: not valid JSON"));
  EXPECT_THAT(load_broken("g.json", good, line + "\n" + line).error().message,
              HasSubstr("g.jsonl:2: workload.uuid: u stands twice"));
  EXPECT_THAT(load_broken("g.json", good, "{]").error().format(), HasSubstr("g.jsonl:1:2"));
  EXPECT_FALSE(load_suite("/nonexistent"));
}

TEST(Problem, RefusesWhatTheJudgeHasNoReferenceFor) {
  const auto suite = load_suite(kRoot);
  schema::Definition definition = (*suite->find_task("gemm_n7168_k5120"))->definition;
  const schema::AxisValues axes = {{"M", 8}, {"N", 7168}, {"K", 5120}};
  EXPECT_TRUE(problem_from(definition, axes));
  schema::Definition fp16 = definition;
  fp16.inputs[0].dtype = schema::DType::kFloat16;
  EXPECT_THAT(problem_from(fp16, axes).error().message,
              HasSubstr("tensor A is float16 [8, 5120], but as A of gemm_nt the judge expects bfloat16"));
  schema::Definition transposed = definition;
  transposed.inputs[1].shape = {{"K", "N"}};
  EXPECT_THAT(problem_from(transposed, axes).error().message, HasSubstr("expects bfloat16"));
  schema::Definition bare = definition;
  bare.extension.reset();
  EXPECT_THAT(problem_from(bare, axes).error().message, HasSubstr("no \"ptxbench\" part"));
  EXPECT_THAT(problem_from(definition, {{"M", 0}, {"N", 7168}, {"K", 5120}}).error().message,
              HasSubstr("1 to 2^33 elements"));
}

}  // namespace
}  // namespace ptxbench::judge
