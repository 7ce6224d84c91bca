// Ready questions and the dates behind one of them. Days are counted by the calendar, p by hand.
#include "ptxbench/report/studies.h"

#include <gtest/gtest.h>

#include <fstream>

#include "ptxbench/base/file.h"
#include "ptxbench/report/dates.h"

namespace ptxbench::report {
namespace {

namespace fs = std::filesystem;
using schema::Observations;

// A base, what was trained from it, and another model; four trajectories of one turn each on one task. All of the trained
// model's are right, none of the others'.
Observations three_models() {
  Observations data;
  for (const char* model : {"base", "base-s1", "other"}) {
    const auto cell = static_cast<std::uint32_t>(data.cells.size());
    data.cells.push_back({model, model, "hopper", "mha_bwd_d128", "w", "cuda", "", "", false});
    for (int i = 0; i < 4; ++i) {
      const auto trajectory = static_cast<std::uint32_t>(data.trajectories.size());
      data.trajectories.push_back({std::to_string(i), cell, i < 2 ? "no-hint" : "012", 1, false});
      schema::TurnRecord turn;
      turn.trajectory = trajectory;
      turn.turn = 1;
      turn.correct_paper = std::string(model) == "base-s1";
      turn.status = *turn.correct_paper ? schema::TurnStatus::kPassed : schema::TurnStatus::kRuntimeError;
      if (*turn.correct_paper) turn.target_paper = true;
      data.turns.push_back(turn);
    }
  }
  return data;
}

const Study& study(std::string_view name) {
  for (const Study& one : studies())
    if (one.name == name) return one;
  ADD_FAILURE() << name;
  return studies().front();
}

TEST(Studies, AllAreThere) {
  for (const char* name : {"models", "ablation", "languages", "generalisation", "training", "time"})
    EXPECT_EQ(study(name).name, name);
}

TEST(Studies, TrainingComparesAModelWithItsBase) {
  const Observations data = three_models();
  const auto pairs = study("training").pairs(data);
  ASSERT_EQ(pairs.size(), 1u);
  EXPECT_EQ(pairs[0].a, "base-s1");
  EXPECT_EQ(pairs[0].b, "base");
  MetricsRequest request;
  request.where = study("training").only(data);
  EXPECT_EQ(measure(data, request).size(), 2u);  // "other" has no base here
  const auto compared = compare(data, request, pairs[0], 8, false);
  ASSERT_TRUE(compared);
  // 4 of 4 against 0 of 4: the two extreme tables of C(8, 4) = 70.
  EXPECT_NEAR(compared->p, 2.0 / 70, 1e-12);
  EXPECT_EQ(compared->warnings.size(), 1u);  // few trajectories
}

// Packs are compared within a model: base and other are always wrong, base-s1 is always right, so packs do not differ.
TEST(Studies, AblationComparesWithinAModel) {
  Observations data = three_models();
  data.trajectories[4].pack = data.trajectories[5].pack = "012";  // base-s1 ran one pack only
  const auto pairs = study("ablation").pairs(data);
  ASSERT_EQ(pairs.size(), 1u);
  EXPECT_EQ(pairs[0].a, "012");
  EXPECT_EQ(pairs[0].b, "no-hint");
  const auto compared = compare(data, {}, pairs[0], 8, false);
  ASSERT_TRUE(compared);
  EXPECT_EQ(compared->shared.size(), 2u);
  EXPECT_EQ(compared->left_out_a, 4);
  EXPECT_EQ(compared->a.successes, 0);
  EXPECT_EQ(compared->p, 1);
}

TEST(Studies, GeneralisationComparesHeadDimensionsWithinAFamily) {
  Observations data = three_models();
  data.cells[2].task = "mha_bwd_d64";
  data.cells[2].model = "base-s1";
  const auto pairs = study("generalisation").pairs(data);
  ASSERT_EQ(pairs.size(), 1u);
  EXPECT_EQ(pairs[0].a, "64");
  const auto compared = compare(data, {}, pairs[0], 8, false);
  ASSERT_TRUE(compared);
  EXPECT_EQ(compared->a.n, 4);
  EXPECT_EQ(compared->b.n, 4);
  EXPECT_EQ(compared->left_out_b, 4);  // base ran d128 only
  data.cells[0].task = "gemm";
  const auto attention = study("generalisation").only(data);
  ASSERT_EQ(attention.size(), 1u);
  EXPECT_EQ(attention[0].values, (std::vector<std::string>{"128", "64"}));
}

class DatesTest : public testing::Test {
 protected:
  void SetUp() override {
    auto made = TempDir::create();
    ASSERT_TRUE(made);
    place_.emplace(std::move(*made));
  }
  void write(const char* name, const char* text) { std::ofstream(place_->path() / name) << text; }
  std::optional<TempDir> place_;
};

TEST_F(DatesTest, TimeCountsDaysFromTheInstructions) {
  write("model_release_dates.csv", "model,date\nbase,2022-1006\nbase-s1,2025-01-31\n");
  write("ptx_release_dates.csv", "arch,date\nhopper,2022-1005\nblackwell,2025-0131\n");
  const auto dates = read_dates(place_->path());
  ASSERT_TRUE(dates) << dates.error().format();
  Observations data = three_models();
  add_dates(data, *dates);
  EXPECT_EQ(data.references.size(), 2u);
  EXPECT_EQ(data.cells[0].date_kind, "not stated");
  MetricsRequest request;
  request.by = study("time").by;
  auto groups = measure(data, request);
  std::swap(groups[0], groups[2]);
  sort_by_date(groups, data);
  const schema::Table table = time_table(data, groups, request);
  ASSERT_EQ(table.rows.size(), 3u);
  EXPECT_EQ(table.columns[5].name, "days_after");
  EXPECT_EQ(table.rows[0][5], schema::TableValue(std::int64_t{1}));
  EXPECT_EQ(table.rows[1][5], schema::TableValue(std::int64_t{849}));  // 87 + 365 + 366 + 31 days
  EXPECT_EQ(table.rows[2][1], schema::TableValue(std::string("other")));
  EXPECT_EQ(table.rows[2][5], schema::TableValue());  // no date is known
}

// The paper's table of FlashAttention holds 2025-0631.
TEST_F(DatesTest, AReferenceDayThatDoesNotExistIsTheMonthsLast) {
  write("fa_release_dates.csv", "version,arch,dates\nfa3,hopper,2024-0711\nfa4,blackwell,2025-0631\nfa5,x,2024-0230\n");
  const auto dates = read_dates(place_->path());
  ASSERT_TRUE(dates) << dates.error().format();
  ASSERT_EQ(dates->references.size(), 3u);
  EXPECT_EQ(dates->references[0].date, "2024-07-11");
  EXPECT_EQ(dates->references[1].date, "2025-06-30");
  EXPECT_EQ(dates->references[2].date, "2024-02-29");
  ASSERT_EQ(dates->notes.size(), 2u);
  EXPECT_NE(dates->notes[0].find("2025-0631 is no date"), std::string::npos);
}

TEST_F(DatesTest, AModelsDayThatDoesNotExistIsAnError) {
  write("model_release_dates.csv", "model,date\nm,2025-0631\n");
  const auto dates = read_dates(place_->path());
  ASSERT_FALSE(dates);
  EXPECT_EQ(dates.error().where.line, 2);
}

TEST_F(DatesTest, WhatIsWrongIsNamed) {
  const auto expect = [this](const char* name, const char* text, int line, const char* words) {
    write(name, text);
    const auto dates = read_dates(place_->path());
    ASSERT_FALSE(dates);
    EXPECT_EQ(dates.error().where.line, line);
    EXPECT_NE(dates.error().format().find(words), std::string::npos) << dates.error().format();
  };
  const auto nothing = read_dates(place_->path());
  ASSERT_FALSE(nothing);
  EXPECT_EQ(nothing.error().kind, ErrorKind::kNotFound);
  expect("model_release_dates.csv", "model,date\nm,31.01.2025\n", 2,
         "found '31.01.2025', expected a date as 2026-01-31");
  expect("model_release_dates.csv", "model,date\nm,2025-1301\n", 2, "found '2025-1301'");
  expect("model_release_dates.csv", "model,date\nm,2025-0101\nm,2025-0102\n", 3, "'m' stands twice");
  expect("model_release_dates.csv", "model,date,kind\nm,2025-0101,guess\n", 2, "expected knowledge or release");
  expect("model_release_dates.csv", "model\nm\n", 1, "column date missing");
}

}  // namespace
}  // namespace ptxbench::report
