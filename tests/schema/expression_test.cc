#include "ptxbench/schema/expression.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace ptxbench::schema {
namespace {

using ::testing::HasSubstr;

const AxisValues kAxes = {{"M", 128}, {"N", 7168}, {"K", 5120}, {"S", 512}};

struct ValueCase {
  const char* text;
  std::int64_t value;  // what Python 3 prints for it with these axes
};

TEST(Expression, AgreesWithPython) {
  const ValueCase cases[] = {
      {"2*M*N*K", 9395240960},
      {"2*S*(S+64)", 589824},
      {"-7 // 2", -4},
      {"-7 % 3", 2},
      {"7 // -2", -4},
      {"7 % -3", -2},
      {"2 ** 10", 1024},
      {"-2 ** 2", -4},
      {"2 ** 3 ** 2", 512},
      {"S % 64 == 0 and S <= 16384", 1},
      {"not S % 64", 1},
      {"1 < 2 < 2", 0},
      {"M > 200 or N == 7168", 1},
      {"1 - 2 - 3", -4},
      {"(1 - (2 - 3))", 2},
  };
  for (const ValueCase& c : cases) {
    const auto value = evaluate_expression(c.text, kAxes);
    ASSERT_TRUE(value) << c.text << ": " << value.error().message;
    EXPECT_EQ(*value, c.value) << c.text;
  }
}

TEST(Expression, RefusesByNameAndPlace) {
  const std::pair<const char*, const char*> cases[] = {
      {"2*Q", "column 3: 'Q' is not an axis"},
      {"M / 2", "write '//'"},
      {"M +", "ends where a value should stand"},
      {"(M", "')' is missing"},
      {"M N", "unexpected 'N'"},
      {"M // 0", "division by zero"},
      {"1.5", "unexpected '.'"},
      {"10 ** 30", "does not fit in 64 bits"},
      {"99999999999999999999", "does not fit in 64 bits"},
      {"__import__('os')", "'__import__' is not an axis"},
      {"", "ends where a value should stand"},
  };
  for (const auto& [text, expected] : cases) {
    const auto value = evaluate_expression(text, kAxes);
    ASSERT_FALSE(value) << text;
    EXPECT_THAT(value.error().message, HasSubstr(expected)) << text;
  }
}

TEST(Expression, HostileNestingIsAnError) {
  EXPECT_FALSE(evaluate_expression(std::string(100'000, '('), kAxes));
  EXPECT_FALSE(evaluate_expression(std::string(100'000, '-') + "1", kAxes));
}

TEST(Expression, ChecksNamesWithoutValues) {
  const auto is_axis = [](std::string_view name) { return name == "M"; };
  EXPECT_TRUE(check_expression("128 // (M - 1) >= 0", is_axis));
  EXPECT_FALSE(check_expression("M * N", is_axis));
}

}  // namespace
}  // namespace ptxbench::schema
