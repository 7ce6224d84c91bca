#include "ptxbench/judge/time_rules.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <functional>

#include "ptxbench/judge/peak.h"

namespace ptxbench::judge {
namespace {

using schema::LayerState;
using ::testing::Contains;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

wire::MeasureReport call_of(std::vector<std::pair<double, double>> milliseconds, double wall_ms) {
  wire::MeasureReport call;
  for (std::size_t i = 0; i < milliseconds.size(); ++i) {
    wire::CommandTime time;
    time.launch = static_cast<std::uint32_t>(i);
    time.start_ns = 1'000'000'000 + static_cast<std::uint64_t>(milliseconds[i].first * 1e6);
    time.end_ns = 1'000'000'000 + static_cast<std::uint64_t>(milliseconds[i].second * 1e6);
    call.times.push_back(time);
  }
  call.wall_ns = static_cast<std::uint64_t>(wall_ms * 1e6);
  return call;
}

// Ten warm-ups of 9 ms, which must not count, then the samples.
Calls calls_of(const std::vector<double>& samples) {
  Calls calls(10, call_of({{0, 9}}, 9.01));
  for (const double ms : samples) calls.push_back(call_of({{0, ms}}, ms + 0.01));
  return calls;
}

wire::Telemetry healthy() {
  wire::Telemetry state;
  state.device_name = "NVIDIA H200";
  state.sm_mhz = 1980, state.max_sm_mhz = 1980, state.memory_mhz = 3201;
  state.power_w = 600;
  return state;
}

// A GEMM of M=8192 N=7168 K=5120 in 1.4 ms beside 0.8 ms: figures as an H200 gave them.
TimingData gemm() {
  TimingData data;
  data.warm_ups = 10;
  data.candidate = calls_of({1.40, 1.38, 1.42, 1.39, 1.41});
  data.baselines = {{{"other", "1", "p", 0}, 1, calls_of({0.9, 0.9, 0.9, 0.9, 0.9})},
                    {{"cuBLASLt", "13.1.0", "heuristic 2", 0}, 8, calls_of({0.80, 0.80, 0.79, 0.81, 0.80})}};
  data.kernels = {"gemm_kernel"};
  data.verified_calls = 15, data.verified_rows = 60;
  data.before = data.after = healthy();
  data.required_flops = 2ull * 8192 * 7168 * 5120;
  data.input_bytes = 2ull * (8192 + 7168) * 5120;
  data.compulsory_bytes = data.input_bytes + 2ull * 8192 * 7168;
  return data;
}

TEST(TimeRules, AnHonestMeasurementPasses) {
  const schema::FastLayer layer = judge_times(gemm());
  EXPECT_EQ(layer.state, LayerState::kPassed) << layer.message;
  EXPECT_THAT(layer.void_reasons, IsEmpty());
  EXPECT_DOUBLE_EQ(layer.candidate->median_ms, 1.40);
  EXPECT_DOUBLE_EQ(layer.candidate->min_ms, 1.38);
  EXPECT_DOUBLE_EQ(layer.candidate->max_ms, 1.42);
  EXPECT_NEAR(layer.candidate->p10_ms, 1.384, 1e-9) << "linear between the two lowest";
  EXPECT_NEAR(layer.candidate->p90_ms, 1.416, 1e-9);
  EXPECT_NEAR(layer.candidate->wall_median_ms, 1.41, 1e-9);
  EXPECT_THAT(layer.candidate->samples_ms, ElementsAre(1.40, 1.38, 1.42, 1.39, 1.41)) << "in their order";
  ASSERT_EQ(layer.baselines.size(), 2u);
  EXPECT_EQ(layer.strongest()->library, "cuBLASLt");
  EXPECT_EQ(layer.baselines[0].plans, 8);
  EXPECT_FALSE(layer.baselines[1].chosen);
  EXPECT_NEAR(*layer.speedup, 0.8 / 1.4, 1e-9);
  EXPECT_NEAR(*layer.tflops, 429.5, 0.05) << "601.3 GFLOP in 1.4 ms";
  ASSERT_EQ(layer.kernels.size(), 1u);
  EXPECT_EQ(layer.kernels[0].kernel, "gemm_kernel");
  EXPECT_EQ(layer.kernels[0].launches, 1);
}

// 601.3 GFLOP at 989.5 TFLOP/s are 0.6077 ms; 274.7 MB at 4.8 TB/s are 0.0572 ms.
TEST(TimeRules, TheRooflineIsTheDataSheets) {
  const schema::FastLayer layer = judge_times(gemm());
  ASSERT_TRUE(layer.roofline);
  EXPECT_NEAR(layer.roofline->flop_floor_ms, 0.60766, 1e-4);
  EXPECT_NEAR(layer.roofline->byte_floor_ms, 0.05724, 1e-4);
  EXPECT_NEAR(layer.roofline->share, 0.60766 / 1.4, 1e-4);
  // At its highest clock, 1980 MHz, an H200 does 132 x 4096 x 1.98e9 = 1070.5 TFLOP/s.
  EXPECT_NEAR(flop_floor_ms(*peak_figures("NVIDIA H200"), 1'070'530'560'000, 1980), 1.0, 1e-3);
  EXPECT_EQ(peak_figures("NVIDIA GeForce RTX 4090"), nullptr);
}

TEST(TimeRules, SeveralKernelsGiveOneSpanAndTheirShares) {
  TimingData data = gemm();
  for (wire::MeasureReport& call : data.candidate) {
    call = call_of({{0.0, 0.5}, {0.6, 1.3}, {1.3, 1.5}}, 1.51);
    call.times[2].launch = 0;
  }
  data.kernels = {"first", "second"};
  const schema::FastLayer layer = judge_times(data);
  EXPECT_EQ(layer.state, LayerState::kPassed) << layer.message;
  EXPECT_NEAR(layer.candidate->median_ms, 1.5, 1e-9) << "gaps count";
  ASSERT_EQ(layer.kernels.size(), 2u);
  EXPECT_EQ(layer.kernels[0].launches, 2);
  EXPECT_NEAR(layer.kernels[0].median_ms, 0.7, 1e-6);
  EXPECT_NEAR(layer.kernels[1].median_ms, 0.7, 1e-6);
}

TEST(TimeRules, EveryMissingOrContradictingStepIsVoid) {
  struct Case {
    const char* reason;
    std::function<void(TimingData&)> change;
  };
  const Case cases[] = {
      {"call 12 has no times: CUPTI is busy",
       [](TimingData& d) { d.candidate[12] = {}, d.candidate[12].void_reason = "CUPTI is busy"; }},
      {"warm-up call 3 has no times: x", [](TimingData& d) { d.candidate[3].void_reason = "x"; }},
      {"the candidate: no call was timed", [](TimingData& d) { d.candidate.resize(10); }},
      {"call 11 brought times of 0 commands", [](TimingData& d) { d.candidate[11].times.clear(); }},
      {"call 14 brought times of 2 commands, the first one of 1",
       [](TimingData& d) { d.candidate[14].times.push_back(d.candidate[14].times[0]); }},
      {"the activity records span 1.4000 ms, the events around them 1.0000 ms",
       [](TimingData& d) {
         for (auto& call : d.candidate) call.wall_ns = 1'000'000;
       }},
      {"busy for 3.0000 ms and its activity records explain 1.4000 ms",
       [](TimingData& d) {
         for (auto& call : d.candidate) call.wall_ns = 3'000'000;
       }},
      {"a call took 0.5000 ms, and no NVIDIA H200 can do the task in less than 0.5616 ms",
       [](TimingData& d) {
         d.candidate[12] = call_of({{0, 0.5}}, 0.5);
       }},
      {"the card was throttled: HW thermal slowdown",
       [](TimingData& d) { d.after.throttle_reasons = {"HW thermal slowdown"}; }},
      {"the memory clock went from 3201 to 2619 MHz", [](TimingData& d) { d.after.memory_mhz = 2619; }},
      {"could not be read: NVML: not found",
       [](TimingData& d) { d.before.sm_mhz = 0, d.before.missing = {"NVML: not found"}; }},
      {"the outputs of 14 of 15 calls were verified", [](TimingData& d) { d.verified_calls = 14; }},
      {"there is no baseline: no cuBLASLt",
       [](TimingData& d) { d.baselines.clear(), d.baseline_problem = "no cuBLASLt"; }},
      {"baseline cuBLASLt: call 10 has no times: y", [](TimingData& d) { d.baselines[1].calls[10].void_reason = "y"; }},
      {"the candidate: the samples scatter by",
       [](TimingData& d) {
         d.candidate = calls_of({1, 1, 1.5, 2, 2});
       }},
  };
  for (const Case& c : cases) {
    TimingData data = gemm();
    c.change(data);
    const schema::FastLayer layer = judge_times(data);
    EXPECT_EQ(layer.state, LayerState::kVoid) << c.reason;
    EXPECT_THAT(layer.void_reasons, Contains(HasSubstr(c.reason)));
    EXPECT_THAT(layer.message, HasSubstr(c.reason));
  }
}

// What strikes both sides alike is told and does not void.
TEST(TimeRules, NotesDoNotVoid) {
  struct Case {
    const char* note;
    std::function<void(TimingData&)> change;
  };
  const Case cases[] = {
      {"clocks were limited: power cap", [](TimingData& d) { d.after.throttle_reasons = {"power cap"}; }},
      {"clock went from 1980 to 1755 MHz", [](TimingData& d) { d.after.sm_mhz = 1755; }},
      {"peak figures of 'NVIDIA X' are not known", [](TimingData& d) { d.before.device_name = "NVIDIA X"; }},
      {"scatter by 14 %",
       [](TimingData& d) {
         d.candidate = calls_of({1.3, 1.3, 1.4, 1.5, 1.5});
       }},
      {"a MIG slice: clocks, power", [](TimingData& d) { d.before.mig = true; }},
      {"a library is missing: no FlashInfer", [](TimingData& d) { d.baseline_problem = "no FlashInfer"; }},
  };
  for (const Case& c : cases) {
    TimingData data = gemm();
    c.change(data);
    const schema::FastLayer layer = judge_times(data);
    EXPECT_EQ(layer.state, LayerState::kPassed) << layer.message;
    EXPECT_THAT(layer.notes, Contains(HasSubstr(c.note)));
  }
}

}  // namespace
}  // namespace ptxbench::judge
