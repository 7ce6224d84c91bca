#include "ptxbench/judge/device_comparison.h"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <span>

namespace ptxbench::judge {
namespace {

// An evaluation that ended in an infrastructure error is the smallest verdict there is.
schema::Verdict verdict(const std::string& device, std::uint64_t threads) {
  schema::VerdictFields fields;
  fields.status = schema::VerdictStatus::kInfraError;
  fields.message = "none";
  fields.task = fields.full_task = "t";
  fields.workload_uuid = "w";
  fields.target = "hopper";
  fields.device = device;
  schema::InstructionCount wgmma, mbarrier;
  wgmma.family = "wgmma", wgmma.thread_instructions = threads, wgmma.flops = 64 * threads;
  mbarrier.family = "mbarrier", mbarrier.thread_instructions = device.size();  // differs, and may
  fields.executed.families = {wgmma, mbarrier};
  auto made = schema::Verdict::create(fields);
  EXPECT_TRUE(made) << made.error().format();
  return *made;
}

std::vector<std::byte> floats(const std::vector<float>& values) {
  const auto bytes = std::as_bytes(std::span(values));
  return {bytes.begin(), bytes.end()};
}

schema::Definition definition() {
  schema::Definition definition;
  schema::TensorSpec lse;
  lse.name = "LSE";
  lse.dtype = schema::DType::kFloat32;
  definition.outputs = {lse};
  return definition;
}

schema::DeviceComparison compared(const std::vector<float>& gpu, const std::vector<float>& emu,
                                  std::uint64_t emu_threads = 128) {
  const auto joined = add_comparison(verdict("gpu: one", 128), {{floats(gpu)}}, verdict("emu", emu_threads),
                                     {{floats(emu)}}, definition());
  EXPECT_TRUE(joined) << joined.error().format();
  return *(*joined)->comparison;
}

TEST(DeviceComparison, EqualRunsAgreeAlthoughTheyWaitedDifferently) {
  const auto found = compared({3, 4}, {3, 4});
  EXPECT_TRUE(found.agrees) << found.message;
  ASSERT_EQ(found.counts.size(), 2u);  // wgmma: instructions and FLOPs
}

TEST(DeviceComparison, OutputsHaveALimit) {
  const auto near = compared({3, 4}, {3, 4.0001f});  // 1e-4 / 5
  EXPECT_TRUE(near.agrees) << near.message;
  const auto far = compared({3, 4}, {3, 4.01f});
  EXPECT_FALSE(far.agrees);
  EXPECT_NEAR(far.outputs[0].rel_l2, 0.002, 1e-5);
  EXPECT_NE(far.message.find("LSE differs"), std::string::npos);
}

TEST(DeviceComparison, ANanOnOneSideNeverAgrees) {
  const auto found = compared({3, 4}, {3, std::numeric_limits<float>::quiet_NaN()});
  EXPECT_FALSE(found.agrees);
  EXPECT_TRUE(std::isnan(found.outputs[0].max_abs_error));
}

TEST(DeviceComparison, CountsMustBeEqual) {
  const auto found = compared({3, 4}, {3, 4}, 127);
  EXPECT_FALSE(found.agrees);
  EXPECT_NE(found.message.find("128 thread instructions of wgmma here, 127 on emu"), std::string::npos)
      << found.message;
}

}  // namespace
}  // namespace ptxbench::judge
