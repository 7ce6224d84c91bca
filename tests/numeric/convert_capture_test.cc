// Conversions to and from narrow floats against recordings of an H200: tests/captures/convert.cu with the same operands.
#include <gtest/gtest.h>

#include <bit>
#include <fstream>
#include <functional>
#include <sstream>
#include <string>
#include <vector>

#include "../emu_tensor/capture_replay.h"
#include "ptxbench/numeric/format.h"
#include "ptxbench/numeric/half.h"

namespace ptxbench::numeric {
namespace {

using emu::test::CaptureRandom;

constexpr size_t kTriples = 512;

// The numbers of the table `name` in the capture's source.
std::vector<uint64_t> table(const std::string& name) {
  std::ifstream file(std::string(PTXBENCH_SOURCE_DIR) + "/tests/captures/convert.cu");
  std::stringstream text;
  text << file.rdbuf();
  const std::string source = text.str();
  std::vector<uint64_t> numbers;
  size_t at = source.find(name + "[] = {");
  const size_t end = source.find("};", at);
  while (at < end && (at = source.find("0x", at)) < end) {
    numbers.push_back(std::strtoull(source.c_str() + at, nullptr, 16));
    at += 2;
  }
  return numbers;
}

std::vector<uint64_t> operands() {
  const std::vector<uint64_t> edges32 = table("edges32");
  const auto count32 = static_cast<uint32_t>(edges32.size()), count64 = static_cast<uint32_t>(table("edges64").size());
  std::vector<uint64_t> made;
  CaptureRandom random(4);
  for (uint32_t i = 0; i < kTriples * 3; ++i) {
    const uint32_t exponent = random.below(80) + 87;
    const uint32_t moderate = (random.word() & 0x807fffff) | exponent << 23;
    random.next(), random.below(150);  // of the 64-bit operands, which are not compared here
    // The recording's compiler evaluated the value before the shift.
    const uint32_t word = random.word();
    const uint32_t bits = word >> random.below(32);
    random.next(), random.below(64);
    made.push_back(i % 3 == 0 && i / 3 < count32 ? edges32[i / 3]
                   : i < 900                     ? edges32[random.below(count32)]
                   : i % 2 != 0                  ? moderate
                                                 : bits);
    if (!(i % 3 == 0 && i / 3 < count64) && i < 600) random.below(count64);
  }
  return made;
}

class ConvertCapture : public testing::Test {
 protected:
  // compute(a, b, c) gives the result's bits.
  template <class Result>
  void compare(const std::string& name, const std::function<Result(uint64_t, uint64_t)>& compute) {
    const auto found = cases_.find(name);
    ASSERT_NE(found, cases_.end()) << name;
    const std::vector<uint64_t>& in = operands_;
    std::vector<Result> results;
    for (size_t i = 0; i < kTriples; ++i) results.push_back(compute(in[3 * i], in[3 * i + 1]));
    EXPECT_TRUE(found->second.matches(results)) << name << std::hex << " begins " << +results[0] << ' ' << +results[1]
                                                << ' ' << +results[2] << ", recorded " << found->second.text;
  }

  static float as_f32(uint64_t bits) { return std::bit_cast<float>(static_cast<uint32_t>(bits)); }

  const std::map<std::string, emu::test::Recorded> cases_ = emu::test::recorded_cases("convert");
  const std::vector<uint64_t> operands_ = operands();
};

constexpr struct {
  const char* name;
  Rounding rounding;
} kRoundings[] = {
    {"rn", Rounding::kNearestEven}, {"rz", Rounding::kTowardZero}, {"rm", Rounding::kDown}, {"rp", Rounding::kUp}};

TEST_F(ConvertCapture, SixteenBits) {
  const auto half = [&](const std::string& name, Format format, ConvertOptions options) {
    compare<uint16_t>(name, [=](uint64_t a, uint64_t) { return f32_to_half(format, as_f32(a), options); });
  };
  for (const auto& [name, rounding] : kRoundings) {
    const std::string rnd = name;
    half("f16_" + rnd + "_f32", Format::kF16, {rounding});
    half("f16_" + rnd + "_ftz_f32", Format::kF16, {.rounding = rounding, .ftz = true});
    if (rounding != Rounding::kNearestEven && rounding != Rounding::kTowardZero) continue;
    half("bf16_" + rnd + "_f32", Format::kBF16, {rounding});
    half("bf16_" + rnd + "_relu_f32", Format::kBF16, {rounding, false, true});
    half("f16_" + rnd + "_relu_f32", Format::kF16, {rounding, false, true});
    half("f16_" + rnd + "_satfinite_f32", Format::kF16, {rounding, true});
    half("bf16_" + rnd + "_satfinite_f32", Format::kBF16, {rounding, true});
  }
  compare<uint16_t>("bf16_rn_f32", [](uint64_t a, uint64_t) { return f32_to_bf16(as_f32(a)); });
  compare<uint16_t>("f16_rn_f32", [](uint64_t a, uint64_t) { return f32_to_f16(as_f32(a)); });
}

TEST_F(ConvertCapture, Tf32) {
  const struct {
    const char* name;
    ConvertOptions options;
  } rows[] = {{"tf32_rna", {Rounding::kNearestAway}},
              {"tf32_rn", {}},
              {"tf32_rz", {Rounding::kTowardZero}},
              {"tf32_rn_relu", {.relu = true}},
              {"tf32_rz_relu", {.rounding = Rounding::kTowardZero, .relu = true}}};
  for (const auto& row : rows) {
    compare<uint32_t>(row.name, [&](uint64_t a, uint64_t) { return f32_to_tf32(as_f32(a), row.options); });
  }
}

TEST_F(ConvertCapture, EightBits) {
  for (Format format : {Format::kE4M3, Format::kE5M2}) {
    const std::string type = format == Format::kE4M3 ? "e4m3x2" : "e5m2x2";
    for (bool relu : {false, true}) {
      const std::string tail = relu ? "_relu" : "";
      const ConvertOptions options{.satfinite = true, .relu = relu};
      // The first operand becomes the high byte.
      compare<uint16_t>(type + tail + "_f32", [=](uint64_t a, uint64_t b) {
        return static_cast<uint16_t>(encode(format, as_f32(a), options) << 8 | encode(format, as_f32(b), options));
      });
      compare<uint16_t>(type + tail + "_f16x2", [=](uint64_t a, uint64_t) {
        const auto low = f16_to_f32(static_cast<uint16_t>(a)), high = f16_to_f32(static_cast<uint16_t>(a >> 16));
        return static_cast<uint16_t>(encode(format, high, options) << 8 | encode(format, low, options));
      });
      compare<uint32_t>("f16x2" + tail + "_" + type, [=](uint64_t a, uint64_t) {
        const ConvertOptions to_half{.relu = relu};
        const uint32_t low = encode(Format::kF16, decode(format, a & 0xff), to_half);
        return low | encode(Format::kF16, decode(format, a >> 8 & 0xff), to_half) << 16;
      });
    }
  }
}

}  // namespace
}  // namespace ptxbench::numeric
