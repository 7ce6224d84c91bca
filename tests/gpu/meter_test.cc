// From CUPTI's records to the times of commands: a record too many, too few or of another kind voids the measurement.
#include "ptxbench/gpu/meter.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "ptxbench/gpu/activity.h"
#include "ptxbench/gpu/nvml.h"

namespace ptxbench::gpu {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;
using wire::CommandKind;

constexpr CommandKind kLaunch = CommandKind::kLaunch, kFill = CommandKind::kFill;

// Flush, fill, launch, launch.
const std::vector<Activity> kRecords = {
    {10, kFill, 1000, 2000}, {11, kFill, 2100, 2200}, {13, kLaunch, 2300, 5300}, {14, kLaunch, 5400, 5500}};

std::vector<std::uint64_t> durations(const wire::MeasureReport& report) {
  std::vector<std::uint64_t> out;
  for (const wire::CommandTime& time : report.times) out.push_back(time.end_ns - time.start_ns);
  return out;
}

TEST(MatchTimes, TheFlushIsNotMeasured) {
  const std::vector<Meter::Command> commands = {{kFill, 0}, {kLaunch, 0}, {kLaunch, 1}};
  const wire::MeasureReport report = match_times(kRecords, 1, &commands, 4000);
  EXPECT_THAT(report.void_reason, IsEmpty());
  EXPECT_THAT(durations(report), ElementsAre(100u, 3000u, 100u));
  EXPECT_EQ(report.times[0].kind, kFill);
  EXPECT_EQ(report.times[2].launch, 1u);
  EXPECT_EQ(report.wall_ns, 4000u);
}

TEST(MatchTimes, ARecordMissingOrTooManyVoidsTheMeasurement) {
  const std::vector<Meter::Command> fewer = {{kFill, 0}, {kLaunch, 0}};
  const std::vector<Meter::Command> more = {{kFill, 0}, {kLaunch, 0}, {kLaunch, 1}, {kLaunch, 2}};
  for (const auto* commands : {&fewer, &more}) {
    const wire::MeasureReport report = match_times(kRecords, 1, commands, 4000);
    EXPECT_THAT(report.times, IsEmpty());
    EXPECT_THAT(report.void_reason, HasSubstr("4 activity records"));
  }
  EXPECT_FALSE(match_times({}, 1, &fewer, 4000).void_reason.empty());
  EXPECT_FALSE(match_times({}, 1, nullptr, 4000).void_reason.empty());
}

TEST(MatchTimes, ARecordOfAnotherKindVoidsTheMeasurement) {
  const std::vector<Meter::Command> commands = {{kLaunch, 0}, {kFill, 0}, {kLaunch, 1}};
  const wire::MeasureReport report = match_times(kRecords, 1, &commands, 4000);
  EXPECT_THAT(report.times, IsEmpty());
  EXPECT_THAT(report.void_reason, HasSubstr("another kind"));
}

TEST(MatchTimes, ALibrarysKernelsAreNumberedAsTheyCome) {
  const wire::MeasureReport report = match_times(kRecords, 1, nullptr, 4000);
  ASSERT_EQ(report.times.size(), 3u);
  EXPECT_EQ(report.times[1].launch, 0u);
  EXPECT_EQ(report.times[2].launch, 1u);
}

TEST(InCallOrder, PiecesOfOneCallAreOne) {
  // Two pieces of a copy (call 7) around a later kernel's record: CUPTI delivers in no particular order.
  const auto ordered = in_call_order(
      {{9, kLaunch, 500, 900}, {7, CommandKind::kHostWrite, 300, 400}, {7, CommandKind::kHostWrite, 100, 200}});
  ASSERT_EQ(ordered.size(), 2u);
  EXPECT_EQ(ordered[0].correlation, 7u);
  EXPECT_EQ(ordered[0].start_ns, 100u);
  EXPECT_EQ(ordered[0].end_ns, 400u);
  EXPECT_EQ(ordered[1].kind, kLaunch);
}

// NVML API reference, nvmlClocksEventReasons: the numbers are its constants.
TEST(Nvml, ThrottleReasonsHaveNames) {
  EXPECT_THAT(throttle_reasons(0), IsEmpty());
  EXPECT_THAT(throttle_reasons(0x1), IsEmpty());  // idle
  EXPECT_THAT(throttle_reasons(0x4), ElementsAre(HasSubstr("power cap")));
  EXPECT_THAT(throttle_reasons(0x60), ElementsAre(HasSubstr("software thermal"), HasSubstr("hardware thermal")));
  EXPECT_THAT(throttle_reasons(0x8000), ElementsAre(HasSubstr("0x8000")));
}

}  // namespace
}  // namespace ptxbench::gpu
