// The judge's own kernels, on a trusted emulated device, against the references on the CPU. Both are FP64, so they agree
// to the rounding of sums in another order.
#include "ptxbench/judge/workbench.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <bit>
#include <cmath>
#include <cstdlib>
#include <cstring>
#include <functional>

#include "ptxbench/base/file.h"
#include "ptxbench/base/subprocess.h"
#include "ptxbench/judge/bf16.h"
#include "ptxbench/judge/compare.h"
#include "ptxbench/judge/workbench_calls.h"
#include "ptxbench/wire/device_environment.h"

namespace ptxbench::judge {
namespace {

using schema::Operation;

constexpr std::uint64_t kSeed = 20261201;
constexpr int kControlFd = 3, kAnswerMs = 60'000;

// One emulator process for all tests of a suite.
class WorkbenchTest : public testing::Test {
 public:
  static void SetUpTestSuite() {
    // On a machine with a GPU the same tests run there: PTXBENCH_TEST_DEVICE=.../ptxbench-device-gpu.
    const char* other = std::getenv("PTXBENCH_TEST_DEVICE");
    auto program = other != nullptr ? Result<std::filesystem::path>(other) : find_companion("ptxbench-device-emu");
    ASSERT_TRUE(program.has_value()) << program.error().format();
    wire::Connection ours, theirs;
    ASSERT_TRUE(wire::make_pair(ours, theirs));
    Command command;
    command.argv = {program->string(), "--control-fd", std::to_string(kControlFd)};
    command.environment = wire::device_environment();
    command.stderr_to = OutputTo::inherit();
    command.inherited = {{theirs.fd(), kControlFd}};
    auto child = Child::start(command);
    ASSERT_TRUE(child.has_value()) << child.error().format();
    device = new Child(std::move(*child));
    ours.set_timeout(kAnswerMs);
    client = new wire::Client(std::move(ours));
    const auto file = locate_trusted_kernels();
    ASSERT_TRUE(file.has_value()) << file.error().format();
    const auto image = read_file(*file);
    ASSERT_TRUE(image.has_value());
    queue = new CommandQueue(*client);
    auto created = DeviceWorkbench::create(*queue, std::as_bytes(std::span(*image)));
    ASSERT_TRUE(created.has_value()) << created.error().format();
    bench = created->release();
  }
  static void TearDownTestSuite() {
    delete bench;
    if (client != nullptr) static_cast<void>(client->call(wire::Shutdown{}));
    delete queue;
    delete client;
    delete device;
  }

  static inline Child* device = nullptr;
  static inline wire::Client* client = nullptr;
  static inline CommandQueue* queue = nullptr;
  static inline DeviceWorkbench* bench = nullptr;
};

InputSet inputs_of(const Problem& problem, Family family) {
  return make_inputs(problem, {wire::Schedule::kLatest, std::vector<Family>(problem.units(), family)}, kSeed, 0, 1);
}

// Largest difference of an output over its largest value.
void expect_equal(const std::vector<std::vector<double>>& got, const std::vector<std::vector<double>>& expected) {
  ASSERT_EQ(got.size(), expected.size());
  for (std::size_t output = 0; output < got.size(); ++output) {
    ASSERT_EQ(got[output].size(), expected[output].size());
    double scale = 0, worst = 0;
    for (std::size_t i = 0; i < got[output].size(); ++i) {
      ASSERT_TRUE(std::isfinite(got[output][i])) << "output " << output << " element " << i;
      scale = std::max(scale, std::fabs(expected[output][i]));
      worst = std::max(worst, std::fabs(got[output][i] - expected[output][i]));
    }
    EXPECT_GT(scale, 0) << "output " << output << " is all zeros: nothing is compared";
    EXPECT_LE(worst, 1e-12 * scale) << "output " << output;
  }
}

void compare_with_cpu(DeviceWorkbench& bench, const Problem& problem, Family family) {
  const InputSet inputs = inputs_of(problem, family);
  const auto got = bench.reference(problem, inputs);
  ASSERT_TRUE(got.has_value()) << got.error().format();
  expect_equal(*got, *CpuWorkbench(1).reference(problem, inputs));
}

Problem gemm(std::int64_t m, std::int64_t n, std::int64_t k) {
  Problem problem;
  problem.m = m, problem.n = n, problem.k = k;
  return problem;
}

Problem attention(Operation operation, AttentionShape shape) {
  Problem problem;
  problem.operation = operation;
  problem.attention = shape;
  return problem;
}

TEST_F(WorkbenchTest, GemmOfWholeTilesAndOfRemainders) {
  compare_with_cpu(*bench, gemm(64, 128, 32), Family::kNormal);
  compare_with_cpu(*bench, gemm(67, 131, 37), Family::kSpikes);
}

TEST_F(WorkbenchTest, IntegersAreExact) {
  const Problem problem = gemm(33, 40, 50);
  const InputSet inputs = inputs_of(problem, Family::kInteger);
  const auto got = bench->reference(problem, inputs);
  ASSERT_TRUE(got.has_value()) << got.error().format();
  EXPECT_EQ((*got)[0], (*CpuWorkbench(1).reference(problem, inputs))[0]);
}

TEST_F(WorkbenchTest, AttentionForward) {
  for (const bool causal : {false, true})
    compare_with_cpu(*bench, attention(Operation::kAttentionForward, {2, 2, 2, 48, 64, causal}), Family::kNormal);
  compare_with_cpu(*bench, attention(Operation::kAttentionForward, {1, 2, 1, 40, 96, true}), Family::kWide);
}

TEST_F(WorkbenchTest, AttentionForwardWithSharedHeads) {
  compare_with_cpu(*bench, attention(Operation::kAttentionForward, {2, 4, 2, 33, 64, true}), Family::kOffset);
}

TEST_F(WorkbenchTest, AttentionBackward) {
  for (const bool causal : {false, true})
    compare_with_cpu(*bench, attention(Operation::kAttentionBackward, {1, 2, 2, 40, 64, causal}), Family::kNormal);
  compare_with_cpu(*bench, attention(Operation::kAttentionBackward, {1, 1, 1, 24, 128, true}), Family::kImpulse);
}

TEST_F(WorkbenchTest, AttentionBackwardWithSharedHeads) {
  compare_with_cpu(*bench, attention(Operation::kAttentionBackward, {2, 4, 2, 33, 64, true}), Family::kOffset);
}

// With memory for one group of heads the batch is walked group by group; the result is the same.
TEST_F(WorkbenchTest, LittleMemoryForScoresOnlyMeansMoreSteps) {
  bench->set_score_bytes(1);
  compare_with_cpu(*bench, attention(Operation::kAttentionForward, {2, 4, 2, 20, 64, false}), Family::kNormal);
  compare_with_cpu(*bench, attention(Operation::kAttentionBackward, {2, 4, 2, 20, 64, false}), Family::kNormal);
  bench->set_score_bytes(std::uint64_t{8} << 30);
}

// Everything but the sums of squares, which depend on the order, is equal to the CPU's.
void expect_same(const schema::OutputFigures& got, const schema::OutputFigures& cpu) {
  EXPECT_EQ(got.elements, cpu.elements);
  EXPECT_EQ(got.rows, cpu.rows);
  EXPECT_EQ(got.non_finite, cpu.non_finite);
  EXPECT_EQ(got.never_written, cpu.never_written);
  EXPECT_EQ(got.first_never_written, cpu.first_never_written);
  EXPECT_EQ(got.paper_failing, cpu.paper_failing);
  EXPECT_EQ(got.allclose_failing, cpu.allclose_failing);
  EXPECT_EQ(got.strict_measure, cpu.strict_measure);
  EXPECT_EQ(got.strict_failing, cpu.strict_failing);
  EXPECT_EQ(std::isnan(got.strict_worst), std::isnan(cpu.strict_worst));
  EXPECT_EQ(std::isnan(got.rel_l2), std::isnan(cpu.rel_l2));
  if (!std::isnan(cpu.rel_l2)) {
    EXPECT_NEAR(got.rel_l2, cpu.rel_l2, 1e-9);
    EXPECT_NEAR(got.max_abs_error, cpu.max_abs_error, 1e-9);
    EXPECT_NEAR(got.max_rel_error, cpu.max_rel_error, 1e-6 * cpu.max_rel_error);
  }
  if (!std::isnan(cpu.strict_worst)) {
    EXPECT_NEAR(got.strict_worst, cpu.strict_worst, 1e-9);
  }
  ASSERT_EQ(got.worst.has_value(), cpu.worst.has_value());
  if (cpu.worst) {
    EXPECT_EQ(got.worst->index, cpu.worst->index);
  }
}

// The outputs of an honest kernel, to be spoilt.
struct Outputs {
  std::vector<std::vector<std::uint16_t>> narrow;
  std::vector<float> lse;
  std::vector<RunOutput> views(const Problem& problem) {
    const AttentionShape& s = problem.attention;
    const std::vector<std::int64_t> query = {s.batch, s.heads, s.length, s.dim};
    std::vector<RunOutput> list;
    if (problem.operation == Operation::kGemmNt) {
      list.push_back({{"C", schema::DType::kBFloat16, {problem.m, problem.n}}, std::as_bytes(std::span(narrow[0]))});
    } else {
      list.push_back({{"O", schema::DType::kBFloat16, query}, std::as_bytes(std::span(narrow[0]))});
      list.push_back({{"LSE", schema::DType::kFloat32, {s.batch, s.heads, s.length}}, std::as_bytes(std::span(lse))});
    }
    return list;
  }
};

Outputs honest(const Problem& problem, const InputSet& inputs) {
  const auto exact = make_reference(problem, inputs, 1);
  Outputs outputs;
  for (const double value : exact[0]) {
    if (outputs.narrow.empty()) outputs.narrow.emplace_back();
    outputs.narrow[0].push_back(bf16_from(value));
  }
  if (exact.size() > 1) outputs.lse.assign(exact[1].begin(), exact[1].end());
  return outputs;
}

using Spoil = std::function<void(Outputs&)>;

// A named fault, whether the strict rules must see it, and both workbenches' figures, which must be the same.
void compare_both(DeviceWorkbench& bench, const Problem& problem, const RunPlan& plan, const char* what,
                  const Spoil& spoil, bool good) {
  SCOPED_TRACE(what);
  const InputSet inputs = make_inputs(problem, plan, kSeed, 0, 1);
  Outputs outputs = honest(problem, inputs);
  spoil(outputs);
  const auto got = bench.compare(problem, plan, inputs, outputs.views(problem), 0);
  ASSERT_TRUE(got.has_value()) << got.error().format();
  const auto cpu = CpuWorkbench(1).compare(problem, plan, inputs, outputs.views(problem), 0);
  ASSERT_EQ(got->size(), cpu->size());
  bool passed = true;
  for (std::size_t family = 0; family < got->size(); ++family) {
    passed &= (*got)[family].strict_passed;
    EXPECT_EQ((*got)[family].strict_passed, (*cpu)[family].strict_passed);
    EXPECT_EQ((*got)[family].hints, (*cpu)[family].hints);
    for (std::size_t output = 0; output < (*got)[family].outputs.size(); ++output)
      expect_same((*got)[family].outputs[output], (*cpu)[family].outputs[output]);
  }
  EXPECT_EQ(passed, good);
}

void scale_by(std::vector<std::uint16_t>& values, double factor) {
  for (std::uint16_t& value : values) value = bf16_from(bf16_value(value) * factor);
}

TEST_F(WorkbenchTest, FaultsInGemmAreSeenAsOnTheCpu) {
  const Problem problem = gemm(16, 150, 64);
  RunPlan plan{wire::Schedule::kLatest, std::vector<Family>(problem.m, Family::kNormal)};
  for (std::int64_t row = 0; row < problem.m; row += 3) plan.family_of_unit[row] = Family::kScaled;
  compare_both(
      *bench, problem, plan, "honest", [](Outputs&) {}, true);
  compare_both(
      *bench, problem, plan, "one wrong element", [](Outputs& o) { o.narrow[0][701] ^= 0x0200; }, false);
  compare_both(
      *bench, problem, plan, "poison left", [](Outputs& o) { o.narrow[0][1999] = kPoison & 0xffff; }, false);
  compare_both(
      *bench, problem, plan, "NaN", [](Outputs& o) { o.narrow[0][140] = 0x7fff; }, false);
  compare_both(
      *bench, problem, plan, "scale", [](Outputs& o) { scale_by(o.narrow[0], 1.02); }, false);
  const RunPlan integers{wire::Schedule::kLatest, std::vector<Family>(problem.m, Family::kInteger)};
  compare_both(
      *bench, problem, integers, "exact", [](Outputs&) {}, true);
  compare_both(
      *bench, problem, integers, "last bit", [](Outputs& o) { o.narrow[0][77] ^= 1; }, false);
}

TEST_F(WorkbenchTest, FaultsInAttentionAreSeenAsOnTheCpu) {
  const Problem problem = attention(Operation::kAttentionForward, {1, 4, 2, 24, 64, true});
  const RunPlan plan{wire::Schedule::kLatest, {Family::kNormal, Family::kWide}};
  compare_both(
      *bench, problem, plan, "honest", [](Outputs&) {}, true);
  compare_both(
      *bench, problem, plan, "LSE in base 2",
      [](Outputs& o) {
        for (float& value : o.lse) value = static_cast<float>(value / std::log(2.0));
      },
      false);
  compare_both(
      *bench, problem, plan, "scale", [](Outputs& o) { scale_by(o.narrow[0], 1.02); }, false);
  compare_both(
      *bench, problem, plan, "a row of a head with another K and V",
      [](Outputs& o) { std::copy_n(o.narrow[0].begin() + 2 * 24 * 64, 64, o.narrow[0].begin()); }, false);
}

TEST_F(WorkbenchTest, LargeOutputsAreComparedWithoutHintsAndSayIt) {
  const Problem problem = gemm(4, 8, 16);
  const RunPlan plan{wire::Schedule::kLatest, std::vector<Family>(problem.m, Family::kNormal)};
  const InputSet inputs = make_inputs(problem, plan, kSeed, 0, 1);
  Outputs outputs = honest(problem, inputs);
  outputs.narrow[0][9] = 0x7fff;
  bench->set_hint_elements(31);
  const auto got = bench->compare(problem, plan, inputs, outputs.views(problem), 0);
  bench->set_hint_elements(std::int64_t{1} << 22);
  ASSERT_TRUE(got.has_value()) << got.error().format();
  EXPECT_FALSE((*got)[0].strict_passed);
  ASSERT_EQ((*got)[0].hints.size(), 1u);
  EXPECT_THAT((*got)[0].hints[0], testing::HasSubstr("no pattern was looked for: the outputs have 32 elements"));
}

// A fault is found exactly when its row is among those recomputed.
TEST_F(WorkbenchTest, SampledRowsShowFaultsInThemAndNoOthers) {
  const Problem problem = gemm(32, 24, 64);
  const InputSet inputs = inputs_of(problem, Family::kNormal);
  const auto exact = (*CpuWorkbench(1).reference(problem, inputs))[0];
  const std::vector<std::uint32_t> rows = {30, 3, 17};
  const auto sampled = bench->gemm_rows(problem, inputs, rows);
  ASSERT_TRUE(sampled.has_value()) << sampled.error().format();
  const auto failing_with_fault_in = [&](std::int64_t faulty) {
    std::vector<std::uint16_t> output;
    for (const std::uint32_t row : rows)
      for (std::int64_t column = 0; column < problem.n; ++column)
        output.push_back(bf16_from(exact[row * problem.n + column] * (row == faulty && column == 5 ? 1.5 : 1)));
    const OutputView view{"C", schema::DType::kBFloat16, {3, problem.n}, std::as_bytes(std::span(output)), *sampled};
    return figures_of(view, {{0, 3}}, false).strict_failing;
  };
  EXPECT_EQ(failing_with_fault_in(-1), 0);
  EXPECT_EQ(failing_with_fault_in(3), 1);
  EXPECT_EQ(failing_with_fault_in(4), 0);  // not sampled
}

TEST_F(WorkbenchTest, SampledRowsOutsideOfTheMatrixAreRefused) {
  const Problem problem = gemm(4, 8, 16);
  const std::vector<std::uint32_t> rows = {4};
  EXPECT_FALSE(bench->gemm_rows(problem, inputs_of(problem, Family::kNormal), rows).has_value());
}

TEST_F(WorkbenchTest, ScanFindsEveryUnwrittenAndNonFiniteElement) {
  std::vector<std::uint16_t> narrow(70'001, 0x3f80);
  narrow[0] = narrow[70'000] = kPoison & 0xffff;
  narrow[12'345] = 0x7f80;  // infinity
  std::vector<float> wide(777, 1.0f);
  wide[776] = std::bit_cast<float>(kPoison);
  wide[3] = NAN;
  CpuWorkbench cpu(1);
  for (Workbench* each : {static_cast<Workbench*>(bench), static_cast<Workbench*>(&cpu)}) {
    const auto bf16 = each->scan(schema::DType::kBFloat16, std::as_bytes(std::span(narrow)));
    ASSERT_TRUE(bf16.has_value()) << bf16.error().format();
    EXPECT_EQ(bf16->never_written, 2u);
    EXPECT_EQ(bf16->non_finite, 3u);
    const auto f32 = each->scan(schema::DType::kFloat32, std::as_bytes(std::span(wide)));
    ASSERT_TRUE(f32.has_value()) << f32.error().format();
    EXPECT_EQ(f32->never_written, 1u);
    EXPECT_EQ(f32->non_finite, 2u);
  }
}

// What timed calls use: tensors that lie on the device.
class TimedCallsTest : public WorkbenchTest {
 protected:
  static std::uint64_t alloc(std::uint64_t bytes) { return queue->call(wire::Alloc{bytes})->address; }
  template <class T>
  static std::uint64_t place(const std::vector<T>& values) {
    const auto bytes = std::as_bytes(std::span(values));
    const std::uint64_t address = alloc(bytes.size());
    EXPECT_TRUE(queue->call(wire::WriteMemory{address, bytes.size(), 0}, bytes).has_value());
    return address;
  }
  static void poke(std::uint64_t address, std::uint16_t bits) {
    EXPECT_TRUE(queue->call(wire::WriteMemory{address, 2, 0}, std::as_bytes(std::span(&bits, 1))).has_value());
  }
  static DeviceWorkbench::CallCheck checked(const Problem& problem, const std::vector<std::uint64_t>& inputs,
                                            const std::vector<OutputShape>& shapes,
                                            const std::vector<std::uint64_t>& outputs, const PhiloxStream& draw) {
    const auto check = bench->check_call(problem, inputs, shapes, outputs, draw);
    EXPECT_TRUE(check.has_value()) << check.error().format();
    EXPECT_TRUE(queue->flush());
    return (*check)->finish();
  }
  static std::vector<std::uint16_t> rounded(const std::vector<double>& values) {
    std::vector<std::uint16_t> bits;
    for (const double value : values) bits.push_back(bf16_from(value));
    return bits;
  }
};

RunPlan plan_of(const Problem& problem, Family family) {
  return {wire::Schedule::kLatest, std::vector<Family>(problem.units(), family)};
}

std::vector<std::uint64_t> room_for(const InputSet& inputs) {
  std::vector<std::uint64_t> addresses;
  for (const HostTensor& tensor : inputs.tensors) {
    const auto block = WorkbenchTest::queue->call(wire::Alloc{tensor.bytes.size()});
    EXPECT_TRUE(block.has_value());
    addresses.push_back(block ? block->address : 0);
  }
  return addresses;
}

// Bit for bit what the CPU draws, save for O and L of attention backward.
void expect_drawn(DeviceWorkbench& bench, const Problem& problem, const RunPlan& plan) {
  SCOPED_TRACE(std::string(to_string(plan.family_of_unit.back())));
  const InputSet cpu = make_inputs(problem, plan, kSeed, 7, 1);
  const std::vector<std::uint64_t> addresses = room_for(cpu);
  ASSERT_TRUE(bench.draw_inputs(problem, plan, addresses, kSeed, 7).has_value());
  for (std::size_t i = 0; i < addresses.size(); ++i) {
    std::vector<std::byte> got(cpu.tensors[i].bytes.size());
    ASSERT_TRUE(WorkbenchTest::queue->call(wire::ReadMemory{addresses[i], got.size(), 0}, {}, got).has_value());
    if (i == 3 || i == 5) continue;
    EXPECT_EQ(got, cpu.tensors[i].bytes) << "tensor " << i;
  }
  for (const std::uint64_t address : addresses)
    EXPECT_TRUE(WorkbenchTest::queue->call(wire::Free{address}).has_value());
}

TEST_F(TimedCallsTest, DrawnInputsAreThoseOfTheCpu) {
  const Problem problem = gemm(12, 10, 40);
  for (const Family family :
       {Family::kNormal, Family::kInteger, Family::kOffset, Family::kSpikes, Family::kScaled, Family::kSignature}) {
    RunPlan plan = plan_of(problem, family);
    expect_drawn(*bench, problem, plan);
    if (family == Family::kInteger) continue;  // it has a run to itself
    for (std::size_t i = 0; i < plan.family_of_unit.size(); i += 3) plan.family_of_unit[i] = Family::kNormal;
    expect_drawn(*bench, problem, plan);
  }
}

TEST_F(TimedCallsTest, DrawnInputsOfAttentionAreThoseOfTheCpu) {
  for (const bool causal : {false, true})
    for (const Operation operation : {Operation::kAttentionForward, Operation::kAttentionBackward}) {
      const Problem problem = attention(operation, {2, 4, 2, 24, 64, causal});
      for (const Family family :
           {Family::kNormal, Family::kOffset, Family::kSpikes, Family::kWide, Family::kSignature, Family::kImpulse}) {
        if (family == Family::kImpulse && operation == Operation::kAttentionForward) continue;
        RunPlan plan = plan_of(problem, family);
        plan.family_of_unit[0] = Family::kNormal;
        expect_drawn(*bench, problem, plan);
      }
    }
}

// The O and L of backward's inputs: the device's FP64 forward pass, rounded once; the CPU's sums are in another order.
TEST_F(TimedCallsTest, ForwardOutputsAreComputedForBackward) {
  const Problem problem = attention(Operation::kAttentionBackward, {1, 4, 2, 24, 64, true});
  const InputSet cpu = make_inputs(problem, plan_of(problem, Family::kNormal), kSeed, 7, 1);
  const std::vector<std::uint64_t> addresses = room_for(cpu);
  ASSERT_TRUE(bench->draw_inputs(problem, plan_of(problem, Family::kNormal), addresses, kSeed, 7).has_value());
  std::vector<std::uint16_t> o(cpu.tensors[3].bf16().size());
  std::vector<float> lse(cpu.tensors[5].f32().size());
  ASSERT_TRUE(queue->read(addresses[3], std::as_writable_bytes(std::span(o))));
  ASSERT_TRUE(queue->read(addresses[5], std::as_writable_bytes(std::span(lse))));
  ASSERT_TRUE(queue->flush());
  for (std::size_t i = 0; i < o.size(); ++i)
    EXPECT_NEAR(bf16_value(o[i]), bf16_value(cpu.tensors[3].bf16()[i]), 1.0 / 256 * std::fabs(bf16_value(o[i])));
  for (std::size_t i = 0; i < lse.size(); ++i) EXPECT_FLOAT_EQ(lse[i], cpu.tensors[5].f32()[i]);
}

TEST_F(TimedCallsTest, ChecksSampledRowsOfAGemmAndScansTheRest) {
  const Problem problem = gemm(4, 24, 40);
  const std::vector<std::uint64_t> inputs = {alloc(4 * 40 * 2), alloc(24 * 40 * 2)};
  ASSERT_TRUE(bench->draw_inputs(problem, plan_of(problem, Family::kNormal), inputs, kSeed, 3).has_value());
  const InputSet cpu =
      make_inputs(problem, {wire::Schedule::kLatest, std::vector<Family>(4, Family::kNormal)}, kSeed, 3, 1);
  const auto expected = *CpuWorkbench(1).reference(problem, cpu);
  const std::vector<std::uint64_t> outputs = {place(rounded(expected[0]))};
  const std::vector<OutputShape> shapes = {{"C", schema::DType::kBFloat16, {4, 24}}};
  const auto check = [&] { return checked(problem, inputs, shapes, outputs, PhiloxStream(kSeed, 99)); };
  EXPECT_EQ(check().rows, 64);
  EXPECT_EQ(check().figures[0].strict_failing, 0);
  // 64 draws from 4 rows miss none of them: a wrong element must be seen.
  poke(outputs[0] + (2 * 24 + 5) * 2, 0x42c8);  // 100
  EXPECT_GT(check().figures[0].strict_failing, 0);
  poke(outputs[0] + (2 * 24 + 5) * 2, kPoison & 0xffff);
  EXPECT_EQ(check().figures[0].never_written, 1);
  EXPECT_GT(check().figures[0].strict_failing, 0);
  EXPECT_GT(check().figures[0].paper_failing, 0);
}

TEST_F(TimedCallsTest, ChecksOneHeadOfAttention) {
  const Problem problem = attention(Operation::kAttentionForward, {1, 2, 1, 24, 64, true});
  const RunPlan plan{wire::Schedule::kLatest, {Family::kNormal}};
  const InputSet cpu = make_inputs(problem, plan, kSeed, 5, 1);
  std::vector<std::uint64_t> inputs;
  for (const HostTensor& tensor : cpu.tensors) inputs.push_back(alloc(tensor.bytes.size()));
  ASSERT_TRUE(bench->draw_inputs(problem, plan_of(problem, Family::kNormal), inputs, kSeed, 5).has_value());
  const auto expected = *CpuWorkbench(1).reference(problem, cpu);
  std::vector<float> lse(expected[1].begin(), expected[1].end());
  const std::vector<std::uint64_t> outputs = {place(rounded(expected[0])), place(lse)};
  const std::vector<OutputShape> shapes = {{"O", schema::DType::kBFloat16, {1, 2, 24, 64}},
                                           {"L", schema::DType::kFloat32, {1, 2, 24}}};
  const auto check = [&] { return checked(problem, inputs, shapes, outputs, PhiloxStream(kSeed, 1)); };
  EXPECT_EQ(check().rows, 48);
  EXPECT_EQ(check().figures[0].strict_failing, 0);
  EXPECT_EQ(check().figures[1].strict_failing, 0);
  const float wrong = lse[7] + 0.01f;
  ASSERT_TRUE(
      queue->call(wire::WriteMemory{outputs[1] + 7 * 4, 4, 0}, std::as_bytes(std::span(&wrong, 1))).has_value());
  EXPECT_EQ(check().figures[1].strict_failing, 1);
  poke(outputs[0] + (30 * 64 + 3) * 2, 0x4120);  // 10
  EXPECT_EQ(check().figures[0].strict_failing, 1);
}

TEST_F(TimedCallsTest, ChecksOneHeadOfAttentionBackward) {
  const Problem problem = attention(Operation::kAttentionBackward, {1, 2, 1, 24, 64, true});
  const InputSet cpu = make_inputs(problem, plan_of(problem, Family::kNormal), kSeed, 5, 1);
  std::vector<std::uint64_t> inputs, outputs;
  for (const HostTensor& tensor : cpu.tensors) inputs.push_back(place(tensor.bytes));
  const auto expected = *CpuWorkbench(1).reference(problem, cpu);
  for (const std::vector<double>& values : expected) outputs.push_back(place(rounded(values)));
  const std::vector<OutputShape> shapes = {{"dQ", schema::DType::kBFloat16, {1, 2, 24, 64}},
                                           {"dK", schema::DType::kBFloat16, {1, 1, 24, 64}},
                                           {"dV", schema::DType::kBFloat16, {1, 1, 24, 64}}};
  const auto check = [&] { return checked(problem, inputs, shapes, outputs, PhiloxStream(kSeed, 1)); };
  ASSERT_EQ(check().figures.size(), 3u);
  EXPECT_EQ(check().rows, 48);  // of dQ
  for (const schema::OutputFigures& figures : check().figures) EXPECT_EQ(figures.strict_failing, 0) << figures.output;
  for (std::size_t i = 0; i < 3; ++i) {
    poke(outputs[i] + (20 * 64 + 3) * 2, 0x4120);  // 10
    EXPECT_EQ(check().figures[i].strict_failing, 1) << shapes[i].name;
  }
}

TEST_F(TimedCallsTest, RowsOfBrokenBlocksAreRefusedByName) {
  const Problem problem = gemm(4, 8, 36);
  EXPECT_FALSE(DeviceWorkbench::can_draw(problem));
  EXPECT_EQ(bench->draw_inputs(problem, plan_of(problem, Family::kNormal), {}, kSeed, 0).error().kind,
            ErrorKind::kUnsupported);
}

}  // namespace
}  // namespace ptxbench::judge
