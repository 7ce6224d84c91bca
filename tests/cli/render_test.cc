// What a person reads of the tools' records.
#include "ptxbench/cli/render.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace ptxbench::cli {
namespace {

using ::testing::HasSubstr;

schema::VerdictFields failed() {
  schema::VerdictFields fields;
  fields.status = schema::VerdictStatus::kRuntimeError;
  fields.message = fields.correct.message = "memcheck: Invalid write";
  fields.task = "t", fields.workload_uuid = "u", fields.artifact_hash = "a";
  fields.compile.state = schema::LayerState::kPassed;
  fields.correct.state = schema::LayerState::kFailed;
  fields.correct.failure = schema::RunFailure{"sanitizer", "memcheck: Invalid write", {}, {}};
  return fields;
}

std::string text_of(const schema::VerdictFields& fields) {
  const auto verdict = schema::Verdict::create(fields);
  EXPECT_TRUE(verdict) << verdict.error().format();
  return verdict ? render(*verdict, false) : "";
}

TEST(Render, FindingsOfASanitizer) {
  schema::VerdictFields fields = failed();
  fields.correct.sanitizers = {
      {"memcheck", true, "", 0.52, {{"out of bounds", "error", "Invalid write", "fill", "fill.cu", 5, 0x7f00, 1200}}},
      {"racecheck", true, "", 2.7, {}},
      {"synccheck", false, "'compute-sanitizer' is not on PATH", 0, {}}};
  const std::string text = text_of(fields);
  EXPECT_THAT(text, HasSubstr("memcheck: 1 finding in 0.5 s\n"));
  EXPECT_THAT(text,
              HasSubstr("error (out of bounds): Invalid write, kernel fill, fill.cu:5, address 0x7f00, 1,200 times\n"));
  EXPECT_THAT(text, HasSubstr("racecheck: nothing found in 2.7 s\n"));
  // Not to be taken for a clean one.
  EXPECT_THAT(text, HasSubstr("synccheck: NOT COMPLETE: 'compute-sanitizer' is not on PATH\n"));
}

TEST(Render, RowsOfAnAudit) {
  schema::VerdictFields fields = failed();
  fields.executed.audit = schema::Audit{"ncu", "2025.3.1", true, "", 3.1, {{"wgmma", 40960, 40960}}};
  std::string text = text_of(fields);
  EXPECT_THAT(text, HasSubstr("audit by ncu 2025.3.1: agrees (3.1 s)\n"));
  EXPECT_THAT(text, HasSubstr("wgmma    40,960 counted, 40,960 audited\n"));
  fields.executed.audit = schema::Audit{"ncu", "", false, "wgmma: 1 counted, ncu says 2", 3.1, {{"wgmma", 1, 2}}};
  text = text_of(fields);
  EXPECT_THAT(text, HasSubstr("audit by ncu: DISAGREES: wgmma: 1 counted, ncu says 2\n"));
  EXPECT_THAT(text, HasSubstr("wgmma    1 counted, 2 audited  DIFFERS\n"));
  fields.executed.audit = schema::Audit{"ncu", "", false, "'ncu' is not on PATH", 0, {}};
  EXPECT_THAT(text_of(fields), HasSubstr("audit by ncu: NOT DONE: 'ncu' is not on PATH\n"));
}

}  // namespace
}  // namespace ptxbench::cli
