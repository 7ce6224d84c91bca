#include "ptxbench/schema/inventory.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace ptxbench::schema {
namespace {

using testing::HasSubstr;

TEST(Inventory, WhatWasWrittenIsRead) {
  Inventory inventory;
  inventory.pieces = {
      {"GPUs", "driver", "CUDA", PieceState::kFound, "CUDA 13.0", "/lib/libcuda.so.1", {"a note"}, "", "", ""},
      {"Tools", "nvcc", "compiles", PieceState::kMissing, "", "", {}, "nowhere", "install it", ""},
      {"Tools", "ncu", "audits", PieceState::kAbsent, "", "", {}, "\xff no UTF-8", "install it", "all"}};
  const auto read = inventory_from_json(to_json(inventory), "x");
  ASSERT_TRUE(read) << read.error().format();
  EXPECT_EQ(read->pieces[0], inventory.pieces[0]);
  EXPECT_EQ(read->pieces[1], inventory.pieces[1]);
  EXPECT_THAT(read->pieces[2].problem, HasSubstr(" no UTF-8"));
  EXPECT_EQ(read->missing(), 1);
}

TEST(Inventory, OtherTextIsRefusedWithItsPlace) {
  const auto error_of = [](std::string_view text) {
    const auto read = inventory_from_json(text, "probe");
    return read ? std::string("none") : read.error().message;
  };
  EXPECT_THAT(error_of(R"({"schema": "ptxbench.inventory.v2", "pieces": []})"), HasSubstr("ptxbench.inventory.v1"));
  EXPECT_THAT(error_of(R"({"schema": "ptxbench.inventory.v1", "pieces": [{"name": 3}]})"), HasSubstr("pieces[0]"));
  EXPECT_THAT(error_of(R"({"schema": "ptxbench.inventory.v1"})"), HasSubstr("pieces: missing"));
  EXPECT_NE(error_of("no JSON"), "none");
}

}  // namespace
}  // namespace ptxbench::schema
