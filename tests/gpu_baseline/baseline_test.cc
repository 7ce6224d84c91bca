// What does not need a GPU: the registry, refusals, and where libraries are looked for. What the libraries compute is
// checked on a GPU by scripts/hardware.
#include "ptxbench/gpu/baseline.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>

#include "ptxbench/gpu/vendor_library.h"

namespace ptxbench::gpu {
namespace {

using testing::HasSubstr;
namespace fs = std::filesystem;

BaselineTask gemm() {
  BaselineTask task;
  task.m = 8, task.n = 16, task.k = 32;
  task.tensors = {0x1000, 0x2000, 0x3000};
  return task;
}

// Offers `plans` plans and notes what is started.
class Scripted : public Baseline {
 public:
  Scripted(const std::string& name, std::vector<std::uint64_t> workspaces, std::vector<std::string>& started)
      : name_(name), started_(started) {
    for (std::uint64_t bytes : workspaces) plans_.push_back({name, "1", "plan", bytes});
  }
  Status enqueue(std::size_t plan, std::uint64_t workspace, CUstream_st*) override {
    started_.push_back(name_ + std::to_string(plan) + "@" + std::to_string(workspace));
    return {};
  }

 private:
  std::string name_;
  std::vector<std::string>& started_;
};

BaselineLibrary library(const std::string& name, std::vector<std::uint64_t> workspaces,
                        std::vector<std::string>& started) {
  return {name,
          {BaselineOperation::kGemmNt},
          [name, workspaces, &started](const BaselineTask&) -> Result<std::unique_ptr<Baseline>> {
            return std::make_unique<Scripted>(name, workspaces, started);
          }};
}

BaselineLibrary broken(std::string_view name, BaselineOperation operation) {
  return {name, {operation}, [](const BaselineTask&) -> Result<std::unique_ptr<Baseline>> {
            return fail(ErrorKind::kUnavailable, "it is not installed", "install it");
          }};
}

TEST(Baselines, PlansOfSeveralLibrariesAreOneList) {
  std::vector<std::string> started;
  const std::vector<BaselineLibrary> libraries = {
      library("a", {10, 0}, started), broken("b", BaselineOperation::kGemmNt),
      broken("c", BaselineOperation::kAttentionForward), library("d", {7}, started)};
  auto all = Baselines::prepare(gemm(), libraries);
  ASSERT_TRUE(all) << all.error().format();
  ASSERT_EQ(all->plans().size(), 3u);
  EXPECT_EQ(all->plans()[2].library, "d");
  EXPECT_EQ(all->workspace_bytes(), 10u);
  // b failed for this task; c was not asked.
  EXPECT_THAT(all->notes(), testing::ElementsAre("b: it is not installed; install it"));
  for (std::size_t plan = 0; plan < 3; ++plan) ASSERT_TRUE(all->enqueue(plan, 64, nullptr));
  EXPECT_THAT(started, testing::ElementsAre("a0@64", "a1@64", "d0@64"));
  EXPECT_FALSE(all->enqueue(3, 64, nullptr));
}

TEST(Baselines, NoneIsAnErrorThatNamesEachReason) {
  const std::vector<BaselineLibrary> libraries = {broken("one", BaselineOperation::kGemmNt),
                                                  broken("two", BaselineOperation::kGemmNt)};
  const auto none = Baselines::prepare(gemm(), libraries);
  ASSERT_FALSE(none);
  EXPECT_EQ(none.error().kind, ErrorKind::kUnavailable);
  EXPECT_THAT(none.error().format(),
              testing::AllOf(HasSubstr("one: it is not installed"), HasSubstr("two: it is not installed")));
  EXPECT_FALSE(Baselines::prepare(gemm(), {}));
}

TEST(Baselines, TasksThatMakeNoSenseAreRefusedFirst) {
  std::vector<std::string> started;
  const std::vector<BaselineLibrary> libraries = {library("a", {0}, started)};
  BaselineTask task = gemm();
  task.tensors.pop_back();
  EXPECT_THAT(Baselines::prepare(task, libraries).error().message, HasSubstr("2 tensors given, expected 3"));
  task = gemm();
  task.tensors[1] = 0;
  EXPECT_FALSE(Baselines::prepare(task, libraries));
  task = gemm();
  task.k = 0;
  EXPECT_FALSE(Baselines::prepare(task, libraries));
  task = BaselineTask{};
  task.operation = BaselineOperation::kAttentionForward;
  task.batch = task.seq_q = task.seq_kv = task.head_dim = 1, task.heads_q = 5, task.heads_kv = 2;
  task.tensors = {1, 2, 3, 4, 5};
  EXPECT_THAT(Baselines::prepare(task, libraries).error().message, HasSubstr("no multiple"));
}

TEST(Baselines, EveryOperationHasALibrary) {
  for (const auto operation :
       {BaselineOperation::kGemmNt, BaselineOperation::kAttentionForward, BaselineOperation::kAttentionBackward}) {
    const auto& all = baseline_libraries();
    EXPECT_TRUE(std::any_of(all.begin(), all.end(), [operation](const BaselineLibrary& entry) {
      return std::find(entry.operations.begin(), entry.operations.end(), operation) != entry.operations.end();
    }));
  }
}

class VendorLibraries : public testing::Test {
 protected:
  void SetUp() override {
    folder_ = fs::temp_directory_path() / ("ptxbench-vendor-" + std::to_string(::getpid()));
    fs::create_directories(folder_);
  }
  void TearDown() override {
    fs::remove_all(folder_);
    for (const char* name : {"PTXBENCH_NVIDIA_LIBRARIES", "CUDA_HOME", "VIRTUAL_ENV"}) ::unsetenv(name);
  }
  void put(const fs::path& file) {
    fs::create_directories(file.parent_path());
    std::ofstream(file) << "no library";
  }
  fs::path folder_;
};

TEST_F(VendorLibraries, WhatIsMissingSaysWhereItWasLookedFor) {
  ::setenv("CUDA_HOME", "/nowhere/cuda", 1);
  const auto none = VendorLibrary::open("libptxbench-none.so.13");
  ASSERT_FALSE(none);
  EXPECT_EQ(none.error().kind, ErrorKind::kUnavailable);
  EXPECT_THAT(none.error().format(),
              testing::AllOf(HasSubstr("libptxbench-none.so.13"), HasSubstr("/nowhere/cuda/lib64")));
}

TEST_F(VendorLibraries, WhatCannotBeLoadedSaysWhy) {
  ::setenv("PTXBENCH_NVIDIA_LIBRARIES", folder_.c_str(), 1);
  put(folder_ / "libptxbench-broken.so");
  EXPECT_THAT(VendorLibrary::open("libptxbench-broken.so").error().message, HasSubstr("file too short"));
}

TEST_F(VendorLibraries, PipPackagesOfAVirtualEnvironmentAreFound) {
  const fs::path packages = folder_ / "lib/python3.12/site-packages/nvidia";
  put(packages / "cudnn/lib/libcudnn.so.9");
  put(packages / "cu13/lib/libcublasLt.so.13");
  ::setenv("VIRTUAL_ENV", folder_.c_str(), 1);
  const auto folders = vendor_library_folders();
  EXPECT_THAT(folders, testing::IsSupersetOf({packages / "cudnn/lib", packages / "cu13/lib"}));
}

TEST_F(VendorLibraries, SymbolsAreBoundOrNamed) {
  const auto math = VendorLibrary::open("libm.so.6");
  ASSERT_TRUE(math) << math.error().format();
  double (*function)(double) = nullptr;
  ASSERT_TRUE(math->bind(function, "cbrt"));
  EXPECT_DOUBLE_EQ(function(27), 3);
  EXPECT_THAT(math->bind(function, "no_such_function").error().message, HasSubstr("no_such_function"));
  EXPECT_TRUE(math->path().filename().string().starts_with("libm"));
}

}  // namespace
}  // namespace ptxbench::gpu
