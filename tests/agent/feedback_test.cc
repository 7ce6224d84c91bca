// Feedback on verdicts that no quick run on the emulator gives. The texts stand in docs/feedback.md as examples;
// PTXBENCH_REBASE=1 writes them there.
#include "ptxbench/agent/feedback.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdlib>
#include <filesystem>

#include "ptxbench/base/file.h"

namespace ptxbench::agent {
namespace {

using schema::LayerState;
using schema::VerdictFields;
using schema::VerdictStatus;
using testing::HasSubstr;
using testing::Not;

const std::string kSource = "__global__ void wait_for(volatile int* flag) {\n  while (*flag == 0) {\n  }\n}\n";

// Judged up to layer 1, on a workload of GEMM.
VerdictFields judged() {
  VerdictFields fields;
  fields.task = fields.full_task = "gemm_n7168_k5120";
  fields.workload_uuid = "d75affcf-d6a1-5f17-ac4c-579587617373";
  fields.axes = {{"M", 128}, {"N", 7168}, {"K", 5120}};
  fields.target = "hopper";
  fields.device = "emu";
  fields.seed = 424242;
  fields.compile.state = LayerState::kPassed;
  fields.artifact_hash = std::string(64, 'a');
  fields.correct.runs.push_back({"latest", 3.0, 1});
  return fields;
}

VerdictFields correct() {
  VerdictFields fields = judged();
  fields.device = "gpu: NVIDIA H200";
  schema::FamilyFigures family;
  family.family = "normal", family.part = "all";
  family.paper_applies = family.paper_passed = family.strict_passed = true;
  fields.correct.families = {family};
  fields.correct.state = LayerState::kPassed;
  fields.correct.strict_passed = fields.correct.paper_passed = true;
  return fields;
}

std::string text_of(VerdictFields fields) {
  auto verdict = schema::Verdict::create(std::move(fields));
  EXPECT_TRUE(verdict) << verdict.error().format();
  FeedbackRequest request;
  request.turn = 3;
  request.extraction.source = kSource;
  request.extraction.as_asked = true;
  request.verdicts = {*verdict};
  return feedback(request);
}

// The example under this heading is this text.
void expect_in_the_page(const std::string& status, const std::string& text) {
  const std::filesystem::path file = std::filesystem::path(PTXBENCH_SOURCE_DIR) / "docs/feedback.md";
  std::string page = *read_file(file);
  const std::size_t heading = page.find("## " + status + "\n");
  ASSERT_NE(heading, std::string::npos) << "docs/feedback.md has no section " << status;
  const std::string open = "````text\n", close = "````\n";
  const std::size_t begin = page.find(open, heading) + open.size(), end = page.find(close, begin);
  ASSERT_NE(end, std::string::npos);
  if (std::getenv("PTXBENCH_REBASE") != nullptr) {
    ASSERT_TRUE(write_file_atomic(file, page.replace(begin, end - begin, text)));
    return;
  }
  EXPECT_EQ(page.substr(begin, end - begin), text) << "run this test with PTXBENCH_REBASE=1";
}

TEST(Feedback, TimeoutNamesTheLimitAndTheLine) {
  VerdictFields fields = judged();
  fields.status = VerdictStatus::kTimeout;
  fields.message = fields.correct.message = "the kernel was still running after 60 s";
  fields.correct.state = LayerState::kFailed;
  schema::TrapRecord trap;
  trap.kind = "deadline";
  trap.kernel = "wait_for(int volatile*)";
  trap.message = "the kernel was still running after 60 s; this warp was in a loop that changes nothing";
  trap.cta = {0, 0, 0};
  trap.rule = "a kernel must end: look for a wait on something that never happens, or an endless loop";
  trap.source_file = "kernel.cu", trap.source_line = 2;
  trap.instruction = "ld.volatile.global.u32 %r1, [%rd2];";
  fields.correct.failure = schema::RunFailure{"timeout", fields.message, trap, {}};
  const std::string text = text_of(std::move(fields));
  EXPECT_THAT(text, HasSubstr("TIMEOUT: the kernel did not come to an end in time"));
  EXPECT_THAT(text, HasSubstr("while (*flag == 0)"));
  EXPECT_THAT(text, Not(HasSubstr("424242"))) << "the seed is the judge's own";
  expect_in_the_page("TIMEOUT", text);
}

TEST(Feedback, AVoidMeasurementSaysThatTheResultsAreRight) {
  VerdictFields fields = correct();
  fields.status = VerdictStatus::kMeasurementVoid;
  schema::InstructionCount wgmma;
  wgmma.family = "wgmma", wgmma.target = true;
  wgmma.thread_instructions = 2293760, wgmma.flops = 9395240960;
  fields.executed.state = LayerState::kPassed;
  fields.executed.required_flops = 9395240960;
  fields.executed.flops_formula = "2*M*N*K";
  fields.executed.families = {wgmma};
  fields.executed.paper_passed = fields.executed.strict_passed = true;
  fields.fast.state = LayerState::kVoid;
  fields.fast.void_reasons = {"the card was throttled: hardware thermal slowdown"};
  fields.fast.message = fields.fast.void_reasons.front();
  fields.message = "the time could not be measured: " + fields.fast.message;
  const std::string text = text_of(std::move(fields));
  EXPECT_THAT(text, HasSubstr("the results are right; the time could not be measured"));
  EXPECT_THAT(text, HasSubstr("thermal slowdown"));
  expect_in_the_page("MEASUREMENT_VOID", text);
}

TEST(Feedback, AnInfrastructureErrorBlamesNobody) {
  VerdictFields fields = judged();
  fields.status = VerdictStatus::kInfraError;
  fields.message = "the emulated GPU does not execute this instruction yet";
  schema::TrapRecord trap;
  trap.kind = "unsupported";
  trap.kernel = "wait_for(int volatile*)";
  trap.cta = {0, 0, 0};
  trap.message = "tex.2d.v4.f32.f32 is not executed by the emulator";
  trap.source_file = "kernel.cu", trap.source_line = 1;
  fields.correct.failure = schema::RunFailure{"trap", fields.message, trap, {}};
  const std::string text = text_of(std::move(fields));
  EXPECT_THAT(text, HasSubstr("this says nothing about the kernel's results"));
  expect_in_the_page("INFRA_ERROR", text);
}

}  // namespace
}  // namespace ptxbench::agent
